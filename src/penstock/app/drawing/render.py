"""Pictures of a net, and of a run in it after any of its facts: SVG, Mermaid, plain text."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.app.drawing.authored_net import authored_net
from penstock.app.drawing.run_graph import known_fact, turns_of
from penstock.app.runs.queries import Queries
from penstock.app.runs.run_view import RunFold
from penstock.host.blobs import Blobs
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
    found = door.net_of(door.hash_of(net)).net
    return Subject(found, None, found.name)


def of_run(door: Queries, run: str, at: int | None = None) -> Subject:
    """After fact `at`, the last one by default."""
    row = door.row(run)
    turns = turns_of(door, row)
    of = sum(len(facts) for _, facts in turns)
    if not of:  # accepted, and its first turn is still to come
        return of_definition(door, row.net)._replace(marks=Marks())
    left = known_fact(of if at is None else at, of)
    watcher = RunFold(door.net_of, Blobs(door.store).of(door.tenant))
    for time, facts in turns:
        if left > 0:
            watcher.turn(time, facts[:left])
        left -= len(facts)
    assert watcher.reader.net is not None, "a run's first fact names its net"
    net = watcher.reader.net.net
    return Subject(net, watcher.marks(), f"{net.name} · {watcher.reader.st.run}")


def render(subject: Subject, form: Form, theme: ThemeName = "light") -> str:
    net, marks = authored_net(subject.net), subject.marks
    if form == "svg":
        return svg(net, marks, theme=theme, title=subject.title)
    if form == "mermaid":
        return mermaid(net, marks)
    return "\n".join(line.text for line in terminal(net, marks)) + "\n"
