"""Why a run rests: every reason, the gravest first. People get sentences made of it; what is not known is None.

Ranks: 1 failed, 2 breaker, 3 no_worker, 4 dead_join, 5 backoff, 6 limit, 7 paused, 8 work, 9 event and job, 10 child,
11 timer.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.waiting.environment import Environment
from penstock.app.runs.waiting.joins import dead_joins, reported_joins
from penstock.app.runs.waiting.wait_context import MOST, Followup, WaitContext, WaitReason
from penstock.app.runs.waiting.wait_reasons import reasons_of_firing
from penstock.errors import RunAmbiguous, RunNotFound
from penstock.host.children import child_id
from penstock.kernel.state import COMPLETED, EFFECT, FAILED, PENDING, RUNNING, State
from penstock.net.compiled import MOST as PLACES
from penstock.net.compiled import Compiled

#: From this share of its time on a deadline is near enough to be told.
NEARLY = 0.9
#: Ranks of what does not go on by itself.
STUCK = 4


def why(door: Queries, reading: RunReading, environment: Environment) -> list[WaitReason]:
    """Of a run and of those that it has called: theirs name their `run`. Costs one fold of each of their journals."""
    fold, row = reading.fold, reading.row
    context = WaitContext(reading.state, reading.net, row.no, environment, fold, row.updated_at)
    all_reasons = reasons(context)
    for id in _called(context):
        try:
            called = door.row(id)
        except (RunNotFound, RunAmbiguous):
            continue
        if called.id == id and called.status < COMPLETED:
            theirs = why(door, door.reading(called), environment)
            all_reasons += [replace(reason, run=reason.run or id) for reason in theirs]
    return _ranked(all_reasons)


def why_listed(reading: RunReading, environment: Environment) -> list[WaitReason]:
    """The same for lists, from the folded state alone: see `why_state`."""
    return why_state(reading.state, reading.net, reading.row.no, environment, reading.row.updated_at)


def why_state(
    st: State, net: Compiled, no: int, environment: Environment, ended_at: int | None = None
) -> list[WaitReason]:
    """Times of waits are those of their firings, what attempts have failed with is not known, and called runs are not
    looked into."""
    return _ranked(reasons(WaitContext(st, net, no, environment, ended_at=ended_at)))


def lowest(ranked: list[WaitReason]) -> WaitReason | None:
    return ranked[0] if ranked else None


def is_stuck(wait_reasons: list[WaitReason], now: int) -> bool:
    """Does somebody have to look? Long waits within their deadline are not stuck."""
    return any(reason.rank <= STUCK or deadline_near(reason, now) for reason in wait_reasons)


def deadline_near(reason: WaitReason, now: int) -> bool:
    """Is the time of a person, of news or of a called run almost over?"""
    if reason.kind not in ("work", "event", "child") or reason.until is None or reason.since is None:
        return False
    return reason.until > reason.since and now - reason.since >= NEARLY * (reason.until - reason.since)


def _ranked(wait_reasons: list[WaitReason]) -> list[WaitReason]:
    wait_reasons.sort(key=lambda reason: (reason.rank, reason.until is None, reason.until or 0))
    return wait_reasons[:MOST]


def reasons(context: WaitContext) -> list[WaitReason]:
    """In no order. An ended run has none, unless it failed."""
    if context.st.status >= COMPLETED:
        return list(_failed(context)) if context.st.status == FAILED else []
    wait_reasons = [*_undriven(context), *dead_joins(context), *_again(context), *_full(context), *_paused(context)]
    wait_reasons += _not_admitted(context)
    for firing in context.st.firings.values():
        wait_reasons += reasons_of_firing(context, firing)
        if len(wait_reasons) > MOST:
            break
    return wait_reasons


def _failed(context: WaitContext) -> Iterator[WaitReason]:
    st, failure = context.st, context.st.failure
    since = context.moved_at()
    if failure is None:
        yield WaitReason(rank=1, kind="failed", since=since)
        return
    node = context.net.by_id.get(failure.node or "")
    again, tries = st.reopen, context.tries(node) if node is not None else None
    yield WaitReason(
        rank=1, kind="failed", node=context.author(node), label=context.label(node), since=since, code=failure.code,
        message=failure.message, attempt=tries,
        of=node.spec.retry.max + 1 if node is not None and tries is not None else None,
        move="retry" if again is not None else None,
    )  # fmt: skip
    if failure.code == "DEADLOCK":
        yield from reported_joins(context, failure.detail, since)


def _undriven(context: WaitContext) -> Iterator[WaitReason]:
    """Nobody drives the store: what could go on does not."""
    st, now = context.st, context.environment.now
    if context.environment.driven is not False or st.paused:
        return
    here = [f for f in st.firings.values() if f.phase == EFFECT and not context.net.nodes[f.node].calls]
    asked = [f for f in here if not context.net.nodes[f.node].job]  # those of workers outside say themselves who serves
    for firing in asked:
        node = context.net.nodes[firing.node]
        executor = node.effect.executor if node.effect is not None else None
        at = context.since(firing)
        yield WaitReason(
            rank=3, kind="no_worker", node=context.author(node), label=context.label(node), what=executor, since=at
        )
    late = [timer.due for timer in st.timers.values() if timer.due <= now]
    if not here and (late or st.status <= RUNNING and st.status != PENDING):
        yield WaitReason(rank=3, kind="no_worker", since=min(late, default=st.at or None))


def _again(context: WaitContext) -> Iterator[WaitReason]:
    """The run waits for its own retry."""
    st = context.st
    for timer in st.timers.values():
        if timer.why == "run_retry":
            failure = st.failure
            node = context.net.by_id.get(failure.node or "") if failure is not None else None
            yield WaitReason(
                rank=5, kind="backoff", node=context.author(node), label=context.label(node), since=context.moved_at(),
                until=timer.due, then=Followup("retry"), attempt=st.retries + 2, of=context.net.net.run_retry.max + 1,
                code=failure.code if failure is not None else None,
                message=failure.message if failure is not None else None,
            )  # fmt: skip


def _full(context: WaitContext) -> Iterator[WaitReason]:
    """Tokens before nodes of a group that has no room: they go on when another of it has ended."""
    st, net = context.st, context.net
    limits = {**net.limits, **st.options.get("limits", {})}
    if not limits or not st.live:
        return
    taken: dict[str, int] = {}
    for firing in st.firings.values():
        group = net.nodes[firing.node].group
        taken[group] = taken.get(group, 0) + 1
    for node in dict.fromkeys(net.edges[place & (PLACES - 1)].dst for s in st.scopes.values() for place in s.tokens):
        limit = limits.get(node.group)
        if node.group and limit is not None and taken.get(node.group, 0) >= limit:
            yield WaitReason(
                rank=6, kind="limit", node=context.author(node), label=context.label(node), what=node.group,
                then=Followup("continue"), of=limit,
            )  # fmt: skip


def _not_admitted(context: WaitContext) -> Iterator[WaitReason]:
    """It queues, and a limit has no place for it. What waits for its own retry is not in the queue yet."""
    st, net, places = context.st, context.net.net, context.environment.places
    if st.status != PENDING or not net.queued or places is None or st.paused:
        return
    if any(timer.why == "run_retry" for timer in st.timers.values()):
        return
    for limit in places.full(net):
        yield WaitReason(
            rank=6, kind="limit", what=limit.name, since=st.at or None, then=Followup("continue"), of=limit.places
        )


def _paused(context: WaitContext) -> Iterator[WaitReason]:
    """Who has paused it is not in the journal; why is."""
    if not context.st.paused:
        return
    past = context.fold.attempt_history.paused if context.fold is not None else None
    since, reason = past if past is not None else (None, None)
    if reason == "deadlock":
        for code, _, detail in context.st.incidents[-1:]:
            if code == "DEADLOCK":
                yield from reported_joins(context, detail, since)
    yield WaitReason(rank=7, kind="paused", what=reason, since=since, move="resume")


def _called(context: WaitContext) -> list[str]:
    """The ids of the runs that it has called and waits for."""
    if context.fold is None or context.st.status >= COMPLETED:
        return []
    keys, _ = context.fold.calls()
    return [child_id(key) for key in keys]
