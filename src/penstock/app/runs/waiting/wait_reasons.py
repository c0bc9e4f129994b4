"""What one firing rests for: a breaker, its next try, room, a person, news, a called run, a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.app.access.candidates import targets_of
from penstock.app.runs.waiting.job_reasons import job_reason
from penstock.app.runs.waiting.wait_context import Followup, WaitContext, WaitReason
from penstock.kernel.state import BACKOFF, EFFECT, SUSPENDED, Firing, Item
from penstock.net.author import author
from penstock.net.compiled import WAIT, CNode
from penstock.net.model import Trigger

#: What a person can do with a work item, by the type of its node.
_MOVES = {"APPROVAL": "approve", "REVIEW": "judge"}


def reasons_of_firing(context: WaitContext, firing: Firing) -> Iterator[WaitReason]:
    """Nothing where it works."""
    node = context.net.nodes[firing.node]
    if firing.blocked:
        yield _of(
            context, node, 1, "failed", since=context.since(firing), code=_blocked_by(context, node), move="resolve"
        )
    elif firing.phase == BACKOFF:
        yield _backoff(context, firing, node)
    elif firing.phase == EFFECT:
        yield from _asked(context, firing, node)
    elif firing.phase == SUSPENDED:
        yield from _suspended(context, firing, node)


def _of(context: WaitContext, node: CNode, rank: int, kind: str, **more: Any) -> WaitReason:
    return WaitReason(rank=rank, kind=kind, node=author(node), label=context.label(node), **more)


def _blocked_by(context: WaitContext, node: CNode) -> str | None:
    """An effect in doubt, or an answer that no branch takes: the incident says it."""
    return next((code for code, at, _ in reversed(context.st.incidents) if at == node.id), None)


def _backoff(context: WaitContext, firing: Firing, node: CNode) -> WaitReason:
    due = next((t.due for t in _timers(context, firing) if t.why == "retry"), None)
    failed = context.failed(firing)
    tried = {
        "attempt": firing.attempt - firing.base + 1, "of": node.spec.retry.max + 1, "until": due,
        "then": Followup("retry"),
        "code": failed.code if failed is not None else None,
        "message": failed.message if failed is not None else None,
    }  # fmt: skip
    breaker = node.effect.breaker if node.effect is not None else None
    if breaker is not None and breaker.name in context.environment.breakers:
        since = context.environment.breakers[breaker.name]
        return _of(context, node, 2, "breaker", what=breaker.name, since=since, **tried)
    return _of(context, node, 5, "backoff", since=context.since(firing), move="skip", **tried)


def _asked(context: WaitContext, firing: Firing, node: CNode) -> Iterator[WaitReason]:
    if node.job:
        yield from job_reason(context, firing, node)
        return
    parked = context.environment.parked.get((context.no, firing.no))
    if node.calls and parked is None:
        due = None if node.spec.timeout_ms is None else context.since(firing) + node.spec.timeout_ms
        then = None if due is None else after_failure(node, "NODE_TIMEOUT", "timeout")
        yield _of(
            context, node, 10, "child", what=_child(context, firing), since=context.since(firing), until=due, then=then
        )
        return
    if parked is not None:
        what, until = parked
        limit = node.effect.concurrency.limit if node.effect is not None and node.effect.concurrency else None
        yield _of(
            context, node, 6, "limit", what=what or None, since=context.since(firing), until=until,
            then=Followup("continue"), of=limit,
        )  # fmt: skip


def _child(context: WaitContext, firing: Firing) -> str | None:
    from penstock.host.children import child_id

    id = context.id_of(firing)
    return None if id is None else child_id(f"{context.st.tenant}/{context.st.run}/{id}")


def _suspended(context: WaitContext, firing: Firing, node: CNode) -> Iterator[WaitReason]:
    since = context.since(firing)
    item = context.st.items.get(firing.no)
    until, then = deadline(context, firing, node)
    if item is not None:
        yield _of(
            context, node, 8, "work", who=targets_of(item.candidates), what=_title(context, firing), since=since,
            until=until, then=then,
            move="approve" if item.status == "SUBMITTED" else _MOVES.get(node.spec.type, "respond"),
        )  # fmt: skip
    elif firing.waits or node.conditions:
        for i in node.conditions:
            text = node.spec.triggers[i].match
            yield _of(context, node, 9, "event", what=text, since=since, until=until, then=then, move="edit_variable")
        for number in firing.waits or ():
            wait = context.st.waits[number]
            manual = wait.name.startswith("manual:")
            yield _of(
                context, node, 9, "event", what=wait.name, since=since, until=until, then=then, move="signal",
                who=["operator"] if manual else [], message=_filter(wait.filter),
            )  # fmt: skip
    else:
        yield from _timer(context, firing, node, since)


def _timer(context: WaitContext, firing: Firing, node: CNode, since: int) -> Iterator[WaitReason]:
    """A moment, or the next question of a poll."""
    timers = [t for t in _timers(context, firing) if t.why in ("trigger", "poll")]
    first = min(timers, key=lambda t: t.due, default=None)
    if first is None:
        return
    if first.why == "poll":
        yield _of(
            context, node, 11, "timer", what="poll", since=since, until=first.due, then=Followup("retry"), move="skip"
        )
        return
    then = followup_of(node, node.spec.triggers[first.data[0]], None)
    yield _of(context, node, 11, "timer", since=since, until=first.due, then=then, move="skip")


def _timers(context: WaitContext, firing: Firing) -> list[Any]:
    timers = context.st.timers
    return [timers[no] for no in firing.timers or () if no in timers]


def _title(context: WaitContext, firing: Firing) -> str | None:
    id = context.id_of(firing)
    prompt = None if context.fold is None or id is None else context.fold.prompts.get(id)
    title = prompt.get("title") if isinstance(prompt, dict) else prompt
    return title if isinstance(title, str) and title else None


def _filter(wanted: Any) -> str | None:
    """What the news must be about, as short text."""
    if not isinstance(wanted, dict) or not wanted:
        return None
    return ", ".join(f"{name} = {value}" for name, value in wanted.items())[:200]


# ---- what happens by itself ------------------------------------------------------------------------------------------


def deadline(context: WaitContext, firing: Firing, node: CNode) -> tuple[int | None, Followup | None]:
    """When its time is over, and what then. The first trigger of a wait is what it waits for, and no deadline."""
    deadlines = []
    for timer in _timers(context, firing):
        if timer.why != "trigger":
            continue
        i = timer.data[0]
        trigger = node.spec.triggers[i]
        if trigger.interrupting and not (node.kind == WAIT and i == 0):
            deadlines.append((timer.due, i))
    if not deadlines:
        return None, None
    due, i = min(deadlines)
    return due, followup_of(node, node.spec.triggers[i], context.st.items.get(firing.no))


def followup_of(node: CNode, trigger: Trigger, item: Item | None) -> Followup:
    """What a trigger does to its firing."""
    if trigger.action == "reopen" and item is not None:
        if item.level < trigger.times:
            return Followup("escalate", _names(trigger.value))
        if trigger.port in node.ports and trigger.port != "done":
            return _path(node, trigger.port)
    if trigger.action in ("fail", "reopen"):
        return (
            Followup("retry") if trigger.again and node.spec.retry.max else after_failure(node, trigger.code, "timeout")
        )
    if trigger.port != "done" and trigger.action in ("port", "value"):
        return _path(node, trigger.port)
    return Followup("continue")


def after_failure(node: CNode, code: str, category: str) -> Followup:
    """What the node's failure table does with it."""
    for row in node.spec.on_error:
        if row.match in (code, category, "*"):
            if row.action.startswith(("port:", "park:")):
                return _path(node, row.action.partition(":")[2])
            return Followup("fail") if row.action == "fail" else Followup("continue")
    return Followup("fail")


def _path(node: CNode, port: str) -> Followup:
    ways = node.ports.get(port, ())
    to = author(ways[0].dst) if ways else None
    return Followup("path", to if to != author(node) else port)


def _names(value: Any) -> str | None:
    """Those whom the document names; who comes out of an expression is not known yet."""
    targets = [target for target in targets_of(value) if "$" not in target]
    return ", ".join(targets) or None
