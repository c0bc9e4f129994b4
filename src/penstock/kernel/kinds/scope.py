"""scope: opens its children and stays open until they are judged."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprError
from penstock.kernel.failure import Failure
from penstock.kernel.flow import ExpressionFailed, close, expr_failure, set_timer, truth
from penstock.kernel.region import AT_ONCE, fan_out, item_of, open_child, view_of, wants_first
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import CLOSED_DONE, DONE, Firing
from penstock.net.compiled import CNode

Child = tuple[str, CNode, Any, bool | None]


def fire(r: Run, node: CNode, firing: Firing) -> None:
    body = node.spec.body
    assert body is not None, "a scope has a body"
    try:
        children = _children(r, node, firing)
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error
    begin(r, node, firing)
    if children is None:
        return fail(r, firing, Failure("SCOPE_ITEMS", "validation", "what it is to be done for is no list", node.id))
    if isinstance(children, int):
        return fail(r, firing, _too_many(r, node, children))
    if body.mode == "each" and len(children) > AT_ONCE:
        return fan_out(r, firing, node, [[index, item, 0] for index, (_, _, item, _) in enumerate(children)])
    for index, (name, entry, item, required) in enumerate(children):
        open_child(r, firing, node, name, index, entry, item, required, len(children) > 1)
    if not children:
        close(r, firing, DONE, [] if body.collect in ("array", "outputs") else {} if body.collect == "object" else None)
    return None


def begin(r: Run, node: CNode, firing: Firing) -> None:
    body = node.spec.body
    assert body is not None
    if body.timeout_ms is not None:
        set_timer(r, r.now + body.timeout_ms, "join", firing.no)
    r.hold(firing, "scope")


def _too_many(r: Run, node: CNode, count: int) -> Failure:
    most = r.caps.fan_items
    message = f"«{node.label}» is to be done for {count} items, and {most} are the most"
    return Failure("FAN_LIMIT", "validation", message, node.id, {"items": count, "limit": most})


def _children(r: Run, node: CNode, firing: Firing) -> list[Child] | int | None:
    """None: there is no list. A number: there are more items than the host allows."""
    body = node.spec.body
    assert body is not None
    view = view_of(r, firing, node)
    if body.mode == "branches":
        return [(k, e, None, req) for k, e, guard, req in node.branches if guard is None or truth(guard(view))]
    assert node.entry is not None, "a scope without branches has an entry"
    if body.mode in ("each", "each_seq"):
        assert node.items is not None, "each needs items"
        items = node.items(view)
        if type(items) not in (list, tuple):
            return None
        if len(items) > r.caps.fan_items:
            return len(items)
        every: list[Child] = [(str(i), node.entry, item, None) for i, item in enumerate(items)]
        return every if body.mode == "each" else every[:1]
    if body.before and body.mode == "loop" and not wants_first(r, firing, node):
        return []
    return [("0", node.entry, None, None)]


def revive(r: Run, node: CNode, firing: Firing) -> None:
    """Retry by hand: finished children keep their results, the others are opened again."""
    body = node.spec.body
    assert body is not None
    if not firing.kids:
        return fire(r, node, firing)
    begin(r, node, firing)
    entries = {k: e for k, e, _, _ in node.branches}
    kids = [r.st.scopes[no] for no in firing.kids]
    again = [child for child in kids if child.status != CLOSED_DONE]
    fan = firing.fan
    if body.mode == "each" and (fan is not None or len(again) > AT_ONCE):
        items = [[child.index, item_of(node, child), child.no] for child in again]
        return fan_out(r, firing, node, items + (fan.items[fan.at :] if fan is not None else []))
    for child in again:
        entry = entries.get(child.key, node.entry)
        assert entry is not None
        parallel = len(kids) > 1 and body.mode in ("branches", "each")
        item = item_of(node, child)
        open_child(r, firing, node, child.key, child.index, entry, item, child.required, parallel, child.no)
    return None
