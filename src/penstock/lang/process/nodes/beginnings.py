"""Where a process begins that may begin in several ways: who has begun it says in which."""

from __future__ import annotations

from penstock.lang.process.expression_names import quoted
from penstock.lang.process.graph import Alternative
from penstock.lang.process.nodes.contract import link
from penstock.lang.process.schema import Element
from penstock.net.model import Edge


def started_by(elements: tuple[Element, ...]) -> str:
    """The condition that one of these has begun the process. A schedule names no event: only one timer may."""
    named = [f"sys.trigger.start_event == {quoted(element.id)}" for element in elements]
    timed = any(_is_timed(element) for element in elements)
    return " || ".join([*named, *(["sys.trigger.type == 'schedule'"] if timed else [])])


def _is_timed(element: Element) -> bool:
    event = element.event
    return event is not None and "timer" in (event.trigger, *(one.trigger for one in event.triggers))


def first_choice(alternatives: list[Alternative]) -> Alternative:
    """The way that is taken where nobody says which: the first start event without a trigger, else the first of all."""
    plain = (one for one in alternatives if one.element.event is not None and one.element.event.trigger == "none")
    return next(plain, alternatives[0])


def choice_edges(source: str, ways: list[tuple[Alternative, str]]) -> list[Edge]:
    """The edges from where the process begins to each of its beginnings."""
    if len(ways) < 2:
        return [link(source, entry) for _, entry in ways]
    chosen = first_choice([alternative for alternative, _ in ways])
    return [
        Edge(
            id=f"{source}>{entry}", src=source, dst=entry, default=alternative is chosen,
            guard=None if alternative is chosen else started_by(alternative.begun_by),
        )
        for alternative, entry in ways
    ]  # fmt: skip
