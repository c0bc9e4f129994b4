"""Pictures of a net, and of a run in it after any of its facts: SVG, Mermaid, plain text."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.app.drawing.authored_net import authored_net
from penstock.app.drawing.run_graph import overlay_at
from penstock.app.runs.queries import Queries
from penstock.net.draw import Marks, mermaid, svg, terminal
from penstock.net.draw.theme import ThemeName
from penstock.net.model import Net

Form = Literal["svg", "mermaid", "text"]


class Subject(NamedTuple):
    """What is drawn: read from the store, so that the drawing itself needs nothing but time."""

    net: Net
    marks: Marks | None
    title: str


def of_definition(door: Queries, net: int) -> Subject:
    definition = door.net_of(door.hash_of(net)).net
    return Subject(definition, None, definition.name)


def of_run(door: Queries, run: str, at: int | None = None) -> Subject:
    """A run's picture after fact `at`, the last one by default."""
    timeline = door.timeline(run)
    if not timeline.count:  # accepted, and its first turn is still to come
        return of_definition(door, timeline.reading.row.net)._replace(marks=Marks())
    fold = overlay_at(door, timeline, timeline.checked(at)).fold
    assert fold.reader.net is not None, "a run's first fact names its net"
    net = fold.reader.net.net
    return Subject(net, fold.marks(), f"{net.name} · {fold.reader.st.run}")


def render(subject: Subject, form: Form, theme: ThemeName = "light") -> str:
    net, marks = authored_net(subject.net), subject.marks
    if form == "svg":
        return svg(net, marks, theme=theme, title=subject.title)
    if form == "mermaid":
        return mermaid(net, marks)
    return "\n".join(line.text for line in terminal(net, marks)) + "\n"
