"""Token flow: put, take, settle. A firing settles once, and chooses its ways out before the first fact."""

from __future__ import annotations

from heapq import heappush
from typing import Any

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.ledger import add_to_ledger, book
from penstock.kernel.pool import free_place, queue_firing, take_place
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, EFFECT, FAILURE, INTERRUPTED, SKIPPED, Firing, Item, Scope, key
from penstock.kernel.sweep import abandon_undo, disarm, lose_item, stop_effect, sweep_children
from penstock.kernel.token import Envelope
from penstock.kernel.variables import hand_of, name_output, write_variables
from penstock.kernel.view import View
from penstock.net.compiled import EPOCH, LAST_EPOCH, SPLIT_ALL, SPLIT_FIRST, WORK, CEdge, CNode
from penstock.net.model import SPREAD

# what `run.deferred` may hold; the loop treats them first in, first out
JUDGE, ROOT_FAILED, UNDO_NEXT, UNDO_ANSWERED, BEGIN, FIRE_ENTRY, PLAN_UNDO, ESCALATE, REVIVE, CANCEL_RUN = range(10)
#: why the work item of a firing is lost that did not end well
_LOST = {FAILURE: "execution_failed", SKIPPED: "skipped", INTERRUPTED: "interrupted"}
#: the end of the year 9999 in milliseconds: nothing is due later, and every table holds it
LAST_MOMENT = 253_402_300_799_000


class NoMatch(Exception):
    """No way out could be chosen. Caught in `step`: the turn is thrown away and done again with this known."""

    def __init__(self, node: CNode) -> None:
        super().__init__(node.id)
        self.node = node


class ExpressionFailed(Exception):
    """An expression of the net failed while a firing settled; the firing fails with it."""

    def __init__(self, firing: Firing, failure: Failure) -> None:
        super().__init__(failure.message)
        self.firing, self.failure = firing, failure


def expr_failure(error: ExprError, node: CNode) -> Failure:
    return Failure(error.code, "validation", str(error), node.id)


def put(
    r: Run,
    edge: CEdge,
    scope: Scope,
    epoch: int,
    *,
    envelope: Envelope | None = None,
    path: Any = None,
    passed: Any = None,
) -> None:
    """Put what is in hand, or the envelope given, on an edge."""
    if edge.raises:
        epoch += 1
        if epoch > LAST_EPOCH:
            r.deferred.append(
                (ROOT_FAILED, Failure("EPOCH_LIMIT", "permanent", "the loop controller ran out of epochs", edge.src.id))
            )
            return
    st = r.st
    if edge.transform is not None:
        carried = envelope if envelope is not None else hand_of(r)
        try:
            body = _transformed(r, edge, scope, epoch, carried.body)
        except ExprError as error:  # a settling firing has tried it before; what a trigger puts has nobody to fail
            r.deferred.append((ROOT_FAILED, expr_failure(error, edge.src)))
            return
        envelope = Envelope(body, carried.node, carried.firing, carried.visit, carried.at, None, carried.meta)
        hand = st.hand
        if hand is not None:
            path, passed = path if path is not None else hand.path, passed if passed is not None else hand.passed
    place = edge.no + (epoch << EPOCH)
    seq = scope.seqs.get(place, 0) or scope.most_seqs.get(edge.no, 0)
    fresh = place not in scope.tokens
    r.record((F.PUT, edge.no, scope.no, epoch, seq, envelope, path, passed))
    if scope.owed and _pay_debt(r, edge, scope, epoch, seq, fresh):
        return
    if edge.ttl is not None:
        no = st.next_timer
        set_timer(r, r.now + edge.ttl, "token", 0, [scope.no, edge.no, epoch, seq])
        r.ttl[scope.no, place, seq] = no
    if fresh:
        r.mark(edge, scope, epoch)
    else:
        r.ask(edge.dst, scope, epoch)
    if edge.dst.spec.join_timeout_ms is not None:
        r.resting.add((scope.no, edge.dst.no, epoch))


def _transformed(r: Run, edge: CEdge, scope: Scope, epoch: int, body: Any, sets: dict[str, Any] | None = None) -> Any:
    assert edge.transform is not None
    view = View(r, scope, epoch, edge.src)
    view["body"] = view["default"] = r.resolve_blob(body)
    view.update(sets or {})
    return edge.transform(view)


def _forget_left_epochs(r: Run, scope: Scope, epoch: int) -> None:
    """Counters of epochs that nothing lives in any more go: a loop costs the same in round 10,000. Asked only after all
    tokens of a split are put and all starts have fired, or what stays in the epoch would count, and be named, from one
    again."""
    if r.starting:
        return
    mine = r.by_scope.get(scope.no)
    if mine and any(f.epoch < epoch for f in mine.values()):
        return
    limit = key(0, epoch)
    if any(place < limit for place in scope.tokens):
        return
    if any(at < limit for at in scope.visits):
        r.record((F.FORGOT, scope.no, epoch))


def _pay_debt(r: Run, edge: CEdge, scope: Scope, epoch: int, seq: int, fresh: bool) -> bool:
    """A late token on an owed edge is absorbed, unless it has itself passed this join since."""
    at = key(edge.dst.no, epoch)
    debts = scope.owed.get(at)
    if debts is None:
        return False
    token = scope.tokens[key(edge.no, epoch)][-1]
    been = (token.passed or {}).get(at, 0)
    for visit in sorted(debts):
        if edge.no in debts[visit] and been < visit:
            r.record((F.ABSORBED, scope.no, edge.no, epoch, [seq], "late", at, visit))
            return True
    return False


def join_timer(r: Run, node: CNode, scope: Scope, epoch: int) -> int:
    where = [scope.no, node.no, epoch]
    return next((no for no, t in r.st.timers.items() if t.why == "join_wait" and t.data == where), 0)


def set_timer(r: Run, due: int, why: str, firing: int, data: Any = None) -> int:
    no = r.st.next_timer
    due = min(due, LAST_MOMENT)
    r.record((F.TIMER_SET, no, due, why, firing, data))
    heappush(r.due, (due, no))
    return no


def after_take(r: Run, node: CNode, scope: Scope, epoch: int, edges: list[int]) -> None:
    """After a fact took tokens from these edges: places that are empty now are no longer marked."""
    if r.ttl:
        _stop_ttl(r, scope, epoch, edges)
    high = epoch << EPOCH
    all_edges = r.net.edges
    for no in edges:
        if no + high not in scope.tokens:
            r.unmark(all_edges[no], scope, epoch)
        elif r.owing:
            r.unsure += r.owing.pop((scope.no, no), ())
    if r.full:
        for no in edges:
            for candidate in r.full.pop((scope.no, no + high), ()):
                r.queue(candidate)
    if node.spec.join_timeout_ms is not None:
        timer = join_timer(r, node, scope, epoch)
        if timer:
            r.record((F.TIMER_GONE, timer, "fired"))
        r.resting.add((scope.no, node.no, epoch))
    left = node.ins[0].no + high in scope.tokens if node.lone else r.marks.get((scope.no, node.no, epoch))
    if left:
        r.ask(node, scope, epoch)


def after_removal(r: Run, edge: CEdge, scope: Scope, epoch: int) -> None:
    """After a fact took tokens away that their node has not taken: who waits for them, or for room, is asked again."""
    if r.ttl:
        _stop_ttl(r, scope, epoch, [edge.no])
    place, node = key(edge.no, epoch), edge.dst
    if place not in scope.tokens:
        r.unmark(edge, scope, epoch)
        rests = not node.lone and r.marks.get((scope.no, node.no, epoch))
        timer = join_timer(r, node, scope, epoch) if node.spec.join_timeout_ms is not None and not rests else 0
        if timer:
            r.record((F.TIMER_GONE, timer, "nothing rests"))
    elif r.owing:
        r.unsure += r.owing.pop((scope.no, edge.no), ())
    for candidate in r.full.pop((scope.no, place), ()):
        r.queue(candidate)


def _stop_ttl(r: Run, scope: Scope, epoch: int, edges: list[int]) -> None:
    for no in set(edges):
        place = key(no, epoch)
        left = {t.seq for t in scope.tokens.get(place, ())}
        for at in [k for k in r.ttl if k[0] == scope.no and k[1] == place and k[2] not in left]:
            timer = r.ttl.pop(at)
            if timer in r.st.timers:
                r.record((F.TIMER_GONE, timer, "taken"))


def choose(r: Run, node: CNode, outs: tuple[CEdge, ...], view: View) -> list[CEdge]:
    """The edges a settling firing leaves by. Raises NoMatch when there had to be one."""
    if node.split == SPLIT_ALL:
        return [e for e in outs if e.guard is None or e.default or e.guard.run(view) is True]
    chosen = []
    for edge in outs:
        if edge.default:
            continue
        if edge.guard is None or edge.guard.run(view) is True:
            chosen.append(edge)
            if node.split == SPLIT_FIRST:
                return chosen
    if not chosen:
        chosen = [e for e in outs if e.default][:1]
        if not chosen and outs and node.spec.no_match != "end":
            raise NoMatch(node)
    return chosen


def truth(value: Any) -> bool:
    return value is True


def settle(
    r: Run,
    firing: Firing,
    node: CNode,
    status: int,
    body: Any,
    *,
    content_type: str | None = None,
    meta: Any = None,
    failure: Failure | None = None,
    port: str | None = None,
    flags: int = 0,
    fuse: bool = False,
) -> None:
    """End a firing: choose its ways out, record the fact, put the tokens. `port` None is the node's own way: its port
    expression, else `done`."""
    st = r.st
    if firing.timers is not None or firing.waits is not None:
        disarm(r, firing)
    scope = st.scopes[firing.scope]
    no, comp = firing.no, firing.comp
    if node.flags:
        flags |= node.flags
    edge = node.plain_out
    if edge is not None and port is None and comp < 0 and not node.undo:
        r.record(
            (F.SETTLED, no, status, None, node.no, firing.attempt, firing.at, body, content_type, meta, failure, flags)
        )
        r.ended.append((firing, status))
        r.closed(firing, node.group if firing.phase <= 3 else "")
        leave_by(r, edge, scope, firing.epoch, fuse)
        return
    sets: dict[str, Any] | None = None
    outs: list[CEdge] = []
    if comp < 0:
        try:
            sets, port, outs = ways_out(r, firing, node, status, body, failure, port)
        except ExprError as error:
            raise ExpressionFailed(firing, expr_failure(error, node)) from error
    r.record(
        (F.SETTLED, no, status, port, node.no, firing.attempt, firing.at, body, content_type, meta, failure, flags)
    )
    r.ended.append((firing, status))
    r.closed(firing, node.group if firing.phase <= 3 else "")
    if comp >= 0:
        r.deferred.append((UNDO_ANSWERED, (comp, status, failure)))
        return
    consequences(r, firing, node, status, sets)
    put_all(r, node, scope, firing.epoch, outs, fuse, port, r.firing_id(firing) if r.net.grouped else "")


def ways_out(
    r: Run, firing: Firing, node: CNode, status: int, body: Any, failure: Failure | None, port: str | None
) -> tuple[dict[str, Any] | None, str | None, list[CEdge]]:
    view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing, (status, body, failure))
    sets = None
    if node.sets and status == DONE:
        sets = {}
        for name, run in node.sets:
            value = run(view)
            if name != SPREAD:
                sets[name] = value
            elif type(value) is dict:
                sets.update(value)
        view.update(sets)
    if port is None and node.port is not None:
        port = node.port.run(view)
    outs = node.ports.get("done" if port is None else port, ())
    chosen = choose(r, node, outs, view) if outs else []
    if node.transforms:
        scope = r.st.scopes[firing.scope]
        for edge in chosen:
            if edge.transform is not None:  # a value that cannot be made fails the firing
                _transformed(r, edge, scope, firing.epoch + edge.raises, body, sets)
    return sets, port, chosen


def consequences(r: Run, firing: Firing, node: CNode, status: int, sets: dict[str, Any] | None) -> None:
    """Names, variables, results and the ledger, after a firing has settled."""
    if node.spec.out and (status in (DONE, SKIPPED) or status == FAILURE and _has_output(r, node)):
        name_output(r, firing.scope, node.spec.out)
    if sets:
        if firing.scope:
            write_variables(r, firing.scope, sets)
        else:
            r.record((F.SETS, sets))
    if node.result is not None and (status in (DONE, SKIPPED) or status == FAILURE and node.spec.keeps_output):
        r.record((F.RESULT, node.result))
    if status == DONE and (node.undo or node.spec.work is not None):
        book(r, firing, node, hand_of(r).body)
    elif status == FAILURE and node.spec.undo_failed and node.undo:
        add_to_ledger(r, firing, node, None)


def _has_output(r: Run, node: CNode) -> bool:
    """Has a firing that failed an output all the same? C-34: of a vote that nobody has ended it is known how far it had
    come; C-57: a deployment that was taken back is known."""
    work = node.spec.work
    voted = work is not None and bool(work.quorum or work.all_of)
    return (voted or node.spec.keeps_output) and hand_of(r).body is not None


def put_all(
    r: Run,
    node: CNode,
    scope: Scope,
    epoch: int,
    outs: list[CEdge],
    fuse: bool,
    port: str | None = None,
    fork: str = "",
) -> None:
    """`fork` is the id of what puts them, wanted where compensation goes by groups."""
    hand = r.st.hand
    assert hand is not None, "a settled firing has something in hand"
    if node.conditional:
        _decided_against(r, node, scope, epoch, outs, port)
    if len(outs) == 1:
        leave_by(r, outs[0], scope, epoch, fuse)
    elif outs:
        for branch, edge in enumerate(outs):
            put(r, edge, scope, epoch, path=r.forked(hand.path, fork, branch))
        if any(edge.raises for edge in outs):
            _forget_left_epochs(r, scope, epoch + 1)


def _decided_against(r: Run, node: CNode, scope: Scope, epoch: int, outs: list[CEdge], port: str | None) -> None:
    """Remember, for diagram joins, which edges a condition has not chosen."""
    chosen = "done" if port is None else port
    against = [
        e
        for e in node.outs
        if e.role == "cond" and e not in outs and not e.dst.lone and (node.port is not None or e.port == chosen)
    ]
    if against:
        r.record((F.DEAD, scope.no, [key(e.no, epoch + 1 if e.raises else epoch) for e in against]))
        for edge in against:
            r.ask(edge.dst, scope, epoch + 1 if edge.raises else epoch)


def leave_by(r: Run, edge: CEdge, scope: Scope, epoch: int, fuse: bool) -> None:
    """One way out: if nobody else is to be asked first, the token is born and eaten in one fact."""
    dst, st = edge.dst, r.st
    if (
        fuse
        and dst.fused
        and not st.live  # only what the state says: a reload must not show in the facts
        and not r.deferred
        and not st.paused
        and not st.draining
        and edge.no + (epoch << EPOCH) not in scope.tokens
        and (not dst.group or r.room(dst.group))
        and (dst.max_iter is None or scope.rounds(key(dst.no, epoch)) < dst.max_iter)
        and not scope.owed
    ):
        r.via = (edge, scope, epoch)
    else:
        put(r, edge, scope, epoch)
        if edge.raises:
            _forget_left_epochs(r, scope, epoch + 1)


def close(
    r: Run,
    firing: Firing,
    status: int,
    body: Any,
    *,
    failure: Failure | None = None,
    port: str | None = None,
    content_type: str | None = None,
    meta: Any = None,
    flags: int = 0,
    fuse: bool = False,
    why: str = "",
) -> None:
    """End a firing together with what it holds: its work item, its effect, its children. `why` its item is lost, when
    the way it ended does not say it."""
    node = r.net.nodes[firing.node]
    undo = r.st.undo
    if undo is not None and undo.then == "firing" and undo.firing == firing.no:
        abandon_undo(r)
    item = r.st.items.get(firing.no)
    if item is not None and item.status not in ("DONE", "CANCELLED", "COMPENSATED"):
        if status == DONE:
            r.record(
                (
                    F.WORK_MOVED,
                    firing.no,
                    "DONE",
                    "submit" if item.status != "SUBMITTED" else "approve",
                    None,
                    None,
                    None,
                )
            )
        else:
            lose_item(r, firing.no, item, why or _LOST[status])
    if firing.kids:
        sweep_children(r, firing, "closed")
    kids = list(firing.kids or ())
    if firing.phase == EFFECT and status not in (DONE, FAILURE, SKIPPED):
        stop_effect(r, firing, "interrupted")
    settle(
        r,
        firing,
        node,
        status,
        body,
        content_type=content_type,
        meta=meta,
        failure=failure,
        port=port,
        flags=flags,
        fuse=fuse,
    )
    if kids and not flags & (F.REOPENABLE | F.PARKED):
        r.record((F.SCOPE_FORGOTTEN, scope_tree(r, kids)))


def scope_tree(r: Run, kids: list[int]) -> list[int]:
    """These scopes and all below them, innermost first."""
    below = [no for kid in kids for no in r.st.scopes[kid].below]
    return [*(scope_tree(r, below) if below else []), *kids]


def ask(r: Run, firing: Firing, attempt: int, probe: int = 0) -> None:
    """Ask the world for an effect. Literal arguments stay in the net; others are resolved now and journaled."""
    node = r.net.nodes[firing.node]
    args, place = None, ""
    if node.pool:
        free = free_place(r, node)
        if free is None:
            queue_firing(r, firing, attempt, firing.base, "place")
            return
        place = free
    if not node.args_static:
        try:
            view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
            view["attempt"], view["visit"] = attempt, firing.visit
            if firing.comp >= 0:
                view["undone"] = r.resolve_blob(r.st.ledger[firing.comp].output)
            if node.kind == WORK and (r.st.items[firing.no].mode or place):
                _tell_agent(r, view, r.st.items[firing.no])
            if place:
                view["place"] = place
            args = node.args(view)
        except ExprError as error:
            raise ExpressionFailed(firing, expr_failure(error, node)) from error
    if place:
        r.record((F.ASKED, firing.no, attempt, probe, args, place))
        take_place(r, node, firing, place)
    else:
        r.record((F.ASKED, firing.no, attempt, probe, args))
    r.asks.append(firing.no)


def _tell_agent(r: Run, view: View, item: Item) -> None:
    """P-X.14: one that is asked again is told what was wrong with its draft."""
    view["mode"], view["feedback"], view["draft"] = item.mode, item.comment, r.resolve_blob(item.draft)
