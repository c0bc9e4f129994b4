"""Waits that others may end in their place: who has waited elsewhere, or has begun the process with it, goes past."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.beginnings import started_by
from penstock.lang.process.nodes.contract import Fragment, link
from penstock.net.model import MERGE, Node


def waited_already(context: LoweringContext) -> bool:
    """Is everybody who comes to it done with waiting?"""
    graph = context.shared.graph
    elsewhere = graph.after_event_gateway(context.id) or graph.instantiates(context.element)
    return elsewhere and not graph.reached_otherwise(context.id)


def came(id: str) -> str:
    """The node at which a wait goes on that others may end in its place: an event-based gateway before it, a person."""
    return f"{id}.came"


def with_way_past(fragment: Fragment, context: LoweringContext) -> Fragment:
    """A wait to which more than an event-based gateway leads: who comes from there has waited already. So has whoever
    begins the process with it."""
    graph = context.shared.graph
    beside = graph.begins_beside_others(context.id)
    if not (beside or graph.after_event_gateway(context.id) or graph.instantiates(context.element)):
        return fragment
    base: dict[str, Any] = {
        "origin": context.id, "label": context.element.name, "scope": context.scope, "join": MERGE,
    }  # fmt: skip
    after = Node(id=came(context.id), **base)
    edges = (*fragment.edges, link(fragment.exit, after.id))
    if not beside:
        return Fragment((*fragment.nodes, after), fragment.entry, after.id, fragment.core, fragment.host, edges)
    first = Node(id=f"{context.id}.begun", split="first", **base)
    here = link(first.id, after.id)
    edges = (
        *edges, msgspec.structs.replace(here, guard=started_by((context.element,))),
        msgspec.structs.replace(link(first.id, fragment.entry), default=True),
    )  # fmt: skip
    return Fragment((first, *fragment.nodes, after), first.id, after.id, fragment.core, fragment.host, edges)
