"""Scopes: opening children, judging the parent after a child has ended, collecting what they made (KERNEL.md 5)."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import FIRE_ENTRY, ROOT_FAILED, ExpressionFailed, close, expr_failure, truth
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import CLOSED_DONE, CLOSED_FAILED, DONE, FAILURE, OPEN, SCOPE_STATUS, Firing, Scope
from penstock.kernel.sweep import sweep_children
from penstock.kernel.view import View, failure_view
from penstock.net.compiled import CNode
from penstock.net.model import Body

#: more children than these are a fan,
AT_ONCE = 100
#: which opens so many before what they do is looked at
OPENED_AT_ONCE = 10
#: C-23: how a branch ended; one that was cut off, because the others were enough, was skipped.
_WORD = {"done": "succeeded", "open": "skipped", "cancelled": "skipped"}


def view_of(r: Run, firing: Firing, node: CNode) -> View:
    return View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)


def named(body: Body, **values: Any) -> dict[str, Any]:
    """What the kernel tells of a scope's children, under the names that the net has chosen for it."""
    if body.names is None:
        return values
    return {name: values[value] for name, value in body.names.items() if value in values}


def item_of(node: CNode, child: Scope) -> Any:
    """What a child of this scope node was opened for."""
    body = node.spec.body
    names = None if body is None else body.names
    if names is None:
        return child.vars.get("item")
    return next((child.vars.get(name) for name, value in names.items() if value == "item"), None)


def open_child(
    r: Run,
    firing: Firing,
    node: CNode,
    name: str,
    index: int,
    entry: CNode,
    item: Any,
    required: bool | None,
    parallel: bool,
    again: int = 0,
) -> None:
    """`again`: the number of a child that is opened again after a retry: it keeps the keys of what it asks for."""
    body = node.spec.body
    assert body is not None, "only scopes have children"
    no = again or r.st.next_scope
    must = required if required is not None else body.need == 0
    locals_ = {**dict.fromkeys(body.locals), **named(body, item=item, index=index)}
    r.record((F.SCOPE_OPENED, no, firing.scope, firing.no, name, index, locals_, must))
    r.idle.add(no)
    path = r.forked(firing.path, r.firing_id(firing), index) if parallel and r.net.grouped else firing.path
    r.deferred.append((FIRE_ENTRY, (entry, no, path)))


def fan_out(r: Run, firing: Firing, node: CNode, items: list[list[Any]]) -> None:
    """Many children: what they are for is kept, and they are opened a few at a time."""
    r.record((F.FANNED, firing.no, items))
    r.fans.add(firing.no)
    open_more(r, firing, node)


def open_more(r: Run, firing: Firing, node: CNode) -> None:
    """The next children of a fan."""
    fan = firing.fan
    assert fan is not None and node.entry is not None, "only a fan has more to open"
    for index, item, again in fan.items[fan.at : fan.at + OPENED_AT_ONCE]:
        open_child(r, firing, node, str(index), index, node.entry, item, None, True, again)
    if firing.fan is None:
        r.fans.discard(firing.no)


def open_fans(r: Run) -> None:
    """Nothing else is ready: the oldest fan opens its next children."""
    no = min(r.fans)
    firing = r.st.firings.get(no)
    if firing is None or firing.fan is None:
        r.fans.discard(no)
    else:
        open_more(r, firing, r.net.nodes[firing.node])


def unopened(firing: Firing) -> int:
    """How many children it has still to open."""
    return 0 if firing.fan is None else len(firing.fan.items) - firing.fan.at


def judge(r: Run, scope: Scope) -> None:
    """A child has ended: is its parent done, failed, or still waiting?"""
    firing = r.st.firings.get(scope.firing)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    body = node.spec.body
    assert body is not None and firing.tally is not None, "a parent of children is a scope"
    try:
        if body.mode == "one":
            if scope.status == CLOSED_DONE:
                close(r, firing, DONE, scope.last)
            else:
                fail(r, firing, _failure(scope))
        elif body.mode in ("loop", "each_seq"):
            _judge_sequence(r, firing, node, scope)
        else:
            _judge_parallel(r, firing, node, scope)
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error


def _failure(scope: Scope) -> Failure:
    return scope.failure or Failure("BRANCH_FAILED", "permanent", f"branch «{scope.key}» was ended")


def _counts(r: Run, firing: Firing, node: CNode, scope: Scope) -> View:
    assert firing.tally is not None
    view = view_of(r, firing, node)
    body = node.spec.body
    assert body is not None
    done, failed, opened = firing.tally[:3]
    waiting = unopened(firing)
    total, opened = len(firing.kids or ()) + waiting, opened + waiting
    view.update(named(body, done=done, failed=failed, open=opened, total=total, planned=total))
    view.update(named(body, last=r.resolve_blob(scope.last), round=scope.index))
    return view


def wants_first(r: Run, firing: Firing, node: CNode) -> bool:
    """Does a loop that asks before every round want its first one?"""
    body = node.spec.body
    assert body is not None and node.again is not None
    view = view_of(r, firing, node)
    view.update(named(body, done=0, failed=0, open=0, total=0, planned=0, last=None, round=-1))
    return truth(node.again(view))


def _judge_sequence(r: Run, firing: Firing, node: CNode, scope: Scope) -> None:
    body = node.spec.body
    assert body is not None and node.entry is not None
    if scope.status == CLOSED_FAILED:
        return verdict(r, firing, node, _failure(scope))
    view = _counts(r, firing, node, scope)
    following = scope.index + 1
    item, more = None, False
    if body.mode == "each_seq":
        assert node.items is not None
        items = node.items(view_of(r, firing, node))
        view.update(named(body, planned=len(items)))
        stop = node.until is not None and truth(node.until(view))
        more = not stop and following < len(items)
        item = items[following] if more else None
    else:
        more = node.again is not None and truth(node.again(view))
    if not more:
        return close(r, firing, DONE, collect(r, firing, node))
    if body.collect == "last":
        r.record((F.SCOPE_FORGOTTEN, [scope.no]))
    again = _opened_before(r, firing, str(following)) if firing.base else 0
    open_child(r, firing, node, str(following), following, node.entry, item, None, False, again)


def _opened_before(r: Run, firing: Firing, name: str) -> int:
    """The number of the child that has this key since before a retry, or 0."""
    return next((no for no in firing.kids or () if r.st.scopes[no].key == name), 0)


def _judge_parallel(r: Run, firing: Firing, node: CNode, scope: Scope) -> None:
    body = node.spec.body
    assert body is not None and firing.tally is not None
    done, _, opened, owed, lost = firing.tally
    opened += unopened(firing)
    if node.until is not None and truth(node.until(_counts(r, firing, node, scope))):
        return close(r, firing, DONE, collect(r, firing, node))
    if body.need == 0:
        if lost and body.fail_fast:
            return verdict(r, firing, node, _first_failure(r, firing, required=True))
        if opened:
            return None
        if lost:
            return verdict(r, firing, node, _first_failure(r, firing, required=True))
        return close(r, firing, DONE, collect(r, firing, node))
    if lost or done + opened < body.need:
        return verdict(r, firing, node, _first_failure(r, firing, required=False))
    if done >= body.need and not owed:
        return close(r, firing, DONE, collect(r, firing, node))
    return None


def _first_failure(r: Run, firing: Firing, required: bool) -> Failure:
    for no in firing.kids or ():
        child = r.st.scopes[no]
        if child.status == CLOSED_FAILED and (child.required or not required):
            return _failure(child)
    return Failure("BRANCH_FAILED", "permanent", "not enough branches can still succeed")


def verdict(r: Run, firing: Firing, node: CNode, failure: Failure) -> None:
    """The scope has failed or timed out: what its author wants then."""
    body = node.spec.body
    assert body is not None
    if body.on_fail == "continue":
        close(r, firing, DONE, collect(r, firing, node), failure=failure)
    elif body.on_fail == "compensate":
        close(r, firing, FAILURE, None, failure=failure, port="-")
        r.deferred.append((ROOT_FAILED, (failure,)))
    else:
        sweep_children(r, firing, "timeout" if failure.code == "JOIN_TIMEOUT" else "sibling_failed")
        fail(r, firing, failure)


def collect(r: Run, firing: Firing, node: CNode) -> Any:
    body = node.spec.body
    assert body is not None
    kids = sorted((r.st.scopes[no] for no in firing.kids or ()), key=lambda s: s.index)
    how = body.collect
    if how == "last":
        return kids[-1].last if kids else None
    if how == "first":
        done = [k for k in kids if k.status == CLOSED_DONE]
        return min(done, key=lambda k: (k.ended, k.index)).last if done else None
    cut_off = [] if firing.fan is None else firing.fan.items[firing.fan.at :]
    if how == "outputs":
        return [k.last if k.status == CLOSED_DONE else None for k in kids] + [None] * len(cut_off)
    records = [_record(k, r.now) for k in kids] + [_never_opened(index) for index, _, _ in cut_off]
    return records if how == "array" else {record["branch_id"]: record for record in records}


def _never_opened(index: int) -> dict[str, Any]:
    """A child that the others were enough without, before its turn came."""
    return {"branch_id": str(index), "status": "skipped", "output": None, "error": None, "duration_ms": 0}


def _record(scope: Scope, now: int) -> dict[str, Any]:
    word = SCOPE_STATUS[scope.status]
    return {
        "branch_id": scope.key,
        "status": _WORD.get(word, word),
        "output": scope.last if scope.status == CLOSED_DONE else None,
        "error": None if scope.failure is None else failure_view(scope.failure),
        "duration_ms": (now if scope.status == OPEN else scope.ended) - scope.at,
    }
