"""transaction: a sub-process that is done as a whole, or is cancelled and undone as a whole (BPMN 10.3.5).

A cancel end event fails the inner scope by a code of its own. Outside of it, and still inside of this transaction and
of no other one, what was done in it is undone; then the outer scope fails by the same code, which leads to the cancel
boundary event. What ends without a cancel stays in the ledger like the work of any sub-process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.lang.process.lowering_context import LoweringContext, transaction_scope
from penstock.lang.process.nodes.contract import ElementType, Fragment, link
from penstock.lang.process.nodes.events import CANCELLED
from penstock.lang.process.nodes.multi_instance import scope_node
from penstock.lang.process.nodes.sub_process import level_body
from penstock.net.model import MERGE, Body, Node, OnError

_PORT = "cancelled"


def lower_transaction(context: LoweringContext) -> Fragment:
    id = context.id
    inner, undo, end = transaction_scope(id), f"{id}.undo_all", f"{id}.cancel"
    level = level_body(context, inner)
    within: dict[str, Any] = {"scope": id, "origin": id, "label": context.element.name}
    row = OnError(match=CANCELLED, action=f"port:{_PORT}")
    nodes = (
        scope_node(context, Body(mode="one", entry=inner, names={})),
        Node(id=inner, kind="scope", join=MERGE, body=level.body, sets=level.sets, on_error=(row,), **within),
        Node(id=undo, kind="undo", join=MERGE, **within),
        Node(id=end, kind="end", ends=f"error:{CANCELLED}", **within),
        *level.nodes,
    )
    fragment = Fragment(nodes, id, id, id, id, (link(inner, undo, port=_PORT), link(undo, end), *level.edges))
    return fragment if _caught(context) else _ending_in_silence(fragment, context)


def _caught(context: LoweringContext) -> bool:
    boundaries = context.shared.graph.boundaries.get(context.id, ())
    return any(boundary.event is not None and boundary.event.trigger == "cancel" for boundary in boundaries)


def _ending_in_silence(fragment: Fragment, context: LoweringContext) -> Fragment:
    """Nobody has drawn what follows a cancel: the path ends there."""
    end = Node(id=f"{context.id}.gone", kind="end", scope=context.scope, origin=context.id, join=MERGE)
    caught = fragment.changed(context.id, on_error=(OnError(match=CANCELLED, action=f"port:{_PORT}"),))
    more = link(context.id, end.id, port=_PORT)
    return replace(caught, nodes=(*caught.nodes, end), edges=(*caught.edges, more))


TRANSACTION = ElementType("transaction", lower_transaction, "Is done as a whole, or undone as a whole.")
