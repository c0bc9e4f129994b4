"""Firing: a ready node takes its tokens and begins. A control node begins and ends in one fact."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprError
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import (
    BEGIN,
    ExpressionFailed,
    after_take,
    ask,
    close,
    consequences,
    expr_failure,
    leave_by,
    put_all,
    truth,
    ways_out,
)
from penstock.kernel.kinds import FIRE
from penstock.kernel.ready import debts
from penstock.kernel.retry import fail
from penstock.kernel.run import Run
from penstock.kernel.state import DONE, SKIPPED, Firing, Scope, key
from penstock.kernel.token import Taken, common, merged
from penstock.kernel.trigger import arm
from penstock.kernel.view import View
from penstock.net.compiled import EPOCH, START, TASK, CEdge, CNode


def fire(r: Run, node: CNode, scope: Scope, epoch: int, takes: list[int], *, relaxed: bool = False) -> None:
    """Take these tokens and begin."""
    visit = (scope.visits.get(node.no + (epoch << EPOCH), 0) or scope.most.get(node.no, 0)) + 1
    if node.pass_on and visit <= (most := r.net.net.max_visits) and epoch <= most:
        _fire_control(r, node, scope, epoch, visit, takes, -1, 0, relaxed)
        return
    begin(r, node, _take(r, node, scope, epoch, visit, takes, F.RELAXED if relaxed else 0))


def _take(r: Run, node: CNode, scope: Scope, epoch: int, visit: int, takes: list[int], how: int) -> Firing:
    flags, owed = _flags(r, node, scope, epoch, takes, visit)
    no = r.st.next_firing
    r.record((F.FIRED, no, node.no, scope.no, epoch, visit, takes, owed, flags | how, -1, None))
    if scope.dead and node.cond_mask:
        _clear_dead(r, node, scope, epoch)
    if takes:
        after_take(r, node, scope, epoch, takes)
    return r.st.firings[no]


def fire_by_hand(r: Run, node: CNode, scope: Scope, epoch: int, takes: list[int]) -> Firing:
    """An operator has a node take what lies before it, ready or not; it does no work of its own."""
    visit = (scope.visits.get(key(node.no, epoch), 0) or scope.most.get(node.no, 0)) + 1
    firing = _take(r, node, scope, epoch, visit, takes, 0)
    r.opened(firing, node.group)
    return firing


def _flags(r: Run, node: CNode, scope: Scope, epoch: int, takes: list[int], visit: int) -> tuple[int, list[int]]:
    flags, owed = 0, []
    if node.start_mask:
        edges = r.net.edges
        if any(edges[e].role == "start" for e in takes):
            flags |= F.USED_START
    if node.head:
        flags |= F.ENTERED
    if flags and flags & ~scope.used.get(node.no, 0):
        for _, _, other in [at for at in r.marks if at[0] == scope.no and at[1] == node.no and at[2] != epoch]:
            r.ask(node, scope, other)
    if node.absorb:
        flags |= F.ABSORBING
        owed = debts(r, node, scope, epoch, takes, visit)
    return flags, owed


def _clear_dead(r: Run, node: CNode, scope: Scope, epoch: int) -> None:
    """A decision for the other branch counts only until the node has fired."""
    if scope.dead and node.cond_mask:
        gone = [-key(e.no, epoch) - 1 for e in node.ins if key(e.no, epoch) in scope.dead]
        if gone:
            r.record((F.DEAD, scope.no, gone))


def fire_via(r: Run, edge: CEdge, scope: Scope, epoch: int) -> None:
    """A token is put on this edge and taken at once: one fact for both."""
    node, high = edge.dst, epoch << EPOCH
    visit = (scope.visits.get(node.no + high, 0) or scope.most.get(node.no, 0)) + 1
    seq = scope.seqs.get(edge.no + high, 0) or scope.most_seqs.get(edge.no, 0)
    no = r.st.next_firing
    flags = F.USED_START if edge.role == "start" else 0
    if node.pass_on and visit <= (most := r.net.net.max_visits) and epoch <= most:
        if node.plain_out is None or node.spec.value is not None or node.conditional:
            _fire_control(r, node, scope, epoch, visit, [], edge.no, seq, False)
            return
        if node.keep:
            flags |= F.KEEP
        r.record((F.PASSED, no, node.no, scope.no, epoch, visit, [], edge.no, seq, None, None, flags))
        if scope.dead and node.cond_mask:
            _clear_dead(r, node, scope, epoch)
        leave_by(r, node.plain_out, scope, epoch, True)
        return
    r.record((F.FIRED_VIA, no, node.no, scope.no, epoch, visit, edge.no, seq, flags))
    if scope.dead and node.cond_mask:
        _clear_dead(r, node, scope, epoch)
    begin(r, node, r.st.firings[no])


def begin(r: Run, node: CNode, firing: Firing) -> None:
    """Index, guard and start the work of a firing that has just come into being."""
    r.opened(firing, node.group)
    most = r.net.net.max_visits
    if (firing.epoch > most or firing.visit > most and _too_often(r, node, firing)) and firing.comp < 0:
        message = f"«{node.label}» fired more than {most} times"
        fail(r, firing, Failure("ITERATION_LIMIT", "permanent", message, node.id))
        return
    if node.only_if is not None and not _wanted(r, node, firing):
        close(r, firing, SKIPPED, None, meta={"skip_reason": "condition_false"})
        return
    if node.spec.triggers:
        arm(r, firing, node)
        r.deferred.append((BEGIN, firing.no))
    elif node.kind == TASK:
        ask(r, firing, firing.attempt)
    else:
        work(r, node, firing)


def _too_often(r: Run, node: CNode, firing: Firing) -> bool:
    """Has a node without a limit of its own gone round and round? What was before a restart does not count."""
    rounds = r.st.scopes[firing.scope].rounds(key(node.no, firing.epoch))
    return node.max_iter is None and rounds > r.net.net.max_visits


def _wanted(r: Run, node: CNode, firing: Firing) -> bool:
    assert node.only_if is not None
    try:
        return truth(node.only_if(View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)))
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error


def work(r: Run, node: CNode, firing: Firing) -> None:
    try:
        FIRE[node.kind](r, node, firing)
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error


def fire_entry(r: Run, node: CNode, scope: Scope, path: Any, *, fuse: bool = True) -> None:
    """The entry of a child scope, or a start node of the run: it takes nothing."""
    visit = (scope.visits.get(node.no, 0) or scope.most.get(node.no, 0)) + 1
    if node.pass_on and not scope.no:
        _fire_control(r, node, scope, 0, visit, [], -1, 0, False, fuse)
        return
    no = r.st.next_firing
    r.record((F.FIRED, no, node.no, scope.no, 0, visit, [], [], 0, -1, path))
    begin(r, node, r.st.firings[no])


def fire_undo(r: Run, node: CNode, entry: int) -> None:
    no = r.st.next_firing
    path = r.st.ledger[entry].path
    r.record((F.FIRED, no, node.no, 0, 0, 1, [], [], 0, entry, path))
    begin(r, node, r.st.firings[no])


def _fire_control(
    r: Run,
    node: CNode,
    scope: Scope,
    epoch: int,
    visit: int,
    takes: list[int],
    via: int,
    seq: int,
    relaxed: bool,
    fuse: bool = True,
) -> None:
    """start, route and plain end: fire and settle in one fact. The ways out are chosen before it is said."""
    owed: list[int] = []
    if via >= 0:
        flags = F.USED_START if r.net.edges[via].role == "start" else 0
    elif node.start_mask or node.head or node.absorb:
        flags, owed = _flags(r, node, scope, epoch, takes, visit)
    else:
        flags = 0
    if relaxed:
        flags |= F.RELAXED
    if node.keep:
        flags |= F.KEEP
    no = r.st.next_firing
    body: Any = None
    sets, port, outs = None, None, []
    current: Any = None
    shadow: Firing | None = None
    lasts = not node.outs and not node.sets and node.port is None
    if (lasts or node.plain_out is not None) and node.spec.value is None and not owed:
        if node.plain_out is not None:
            outs = [node.plain_out]
        if node.kind == START and via < 0 and not takes:
            flags |= F.FROM_INPUT
    else:
        shadow = Firing(no, node.no, scope.no, epoch, visit, r.now, _peek_tokens(r, scope, epoch, takes, via, seq))
        current = shadow.takes[-1].envelope.body if shadow.takes else None
        try:
            if node.spec.value is not None:
                body = current = node.value(View(r, scope, epoch, node, shadow))
                flags |= F.OWN_BODY
            elif node.kind == START and not shadow.takes:
                current = r.st.input
                flags |= F.FROM_INPUT
            sets, port, outs = ways_out(r, shadow, node, DONE, current, None, None)
        except ExprError as error:
            _fail_instead(r, node, scope, epoch, visit, takes, via, seq, expr_failure(error, node))
            return
    if owed:
        _record_both(r, node, scope, epoch, visit, takes, owed, flags, current, port)
    else:
        r.record((F.PASSED, no, node.no, scope.no, epoch, visit, takes, via, seq, body, port, flags))
    if scope.dead and node.cond_mask:
        _clear_dead(r, node, scope, epoch)
    if takes:
        after_take(r, node, scope, epoch, takes)
    if sets or node.spec.out or node.result is not None:
        firing = shadow or Firing(no, node.no, scope.no, epoch, visit, r.now, [])
        consequences(r, firing, node, DONE, sets)
    if scope.no and not scope.busy and not outs:
        r.idle.add(scope.no)
    put_all(r, node, scope, epoch, outs, fuse, port, _fork(r, node, scope, epoch, visit))


def _peek_tokens(r: Run, scope: Scope, epoch: int, takes: list[int], via: int, seq: int) -> list[Taken]:
    """The tokens a control node would take, before the fact is said."""
    if via >= 0:
        hand = r.st.hand
        assert hand is not None
        return [Taken(via, seq, hand.envelope)]
    out: list[Taken] = []
    counted: dict[int, int] = {}
    for edge in takes:
        n = counted.get(edge, 0)
        token = scope.tokens[key(edge, epoch)][n]
        counted[edge] = n + 1
        out.append(Taken(edge, token.seq, token.envelope))
    return out


def _record_both(
    r: Run,
    node: CNode,
    scope: Scope,
    epoch: int,
    visit: int,
    takes: list[int],
    owed: list[int],
    flags: int,
    body: Any,
    port: str | None,
) -> None:
    """An absorbing control node says its debts in a `fired` fact of its own."""
    no = r.st.next_firing
    kept = F.KEEP_RECORD if flags & F.KEEP else 0
    r.record((F.FIRED, no, node.no, scope.no, epoch, visit, takes, owed, flags & ~F.KEEP & ~F.OWN_BODY, -1, None))
    firing = r.st.firings[no]
    last = firing.takes[-1].envelope
    r.opened(firing, node.group)
    r.record((F.SETTLED, no, DONE, port, node.no, 1, r.now, body, last.content_type, last.meta, None, kept))
    r.ended.append((firing, DONE))
    r.closed(firing, node.group)


def _fail_instead(
    r: Run, node: CNode, scope: Scope, epoch: int, visit: int, takes: list[int], via: int, seq: int, failure: Failure
) -> None:
    """An expression of a control node failed: it fires as an ordinary firing, and fails."""
    no = r.st.next_firing
    if via >= 0:
        r.record((F.FIRED_VIA, no, node.no, scope.no, epoch, visit, via, seq, 0))
    else:
        r.record((F.FIRED, no, node.no, scope.no, epoch, visit, takes, [], 0, -1, None))
    firing = r.st.firings[no]
    r.opened(firing, node.group)
    if takes:
        after_take(r, node, scope, epoch, takes)
    fail(r, firing, failure)


def forward(r: Run, node: CNode, scope: Scope, epoch: int) -> None:
    """A node at its max_iter: its last output is forwarded once for the first token, later ones are absorbed."""
    at_key = key(node.no, epoch)
    first = at_key not in scope.spent and node.spec.at_max == "forward"
    lying = [t for e in node.ins for t in scope.tokens.get(key(e.no, epoch), ())]
    path, passed = common([t.path for t in lying]), merged([t.passed for t in lying])
    edges = tokens_at_all(node, scope, epoch)
    for edge, seqs in edges:
        r.record((F.ABSORBED, scope.no, edge, epoch, seqs, "max_iteration", 0, -1))
    after_take(r, node, scope, epoch, [edge for edge, _ in edges])
    if first:
        r.record((F.FORWARDED, scope.no, at_key, node.no, path, passed))
        assert r.st.hand is not None
        last = r.st.hand.envelope
        shadow = Firing(0, node.no, scope.no, epoch, last.visit, r.now, [])
        port: str | None = None
        try:
            _, port, outs = ways_out(r, shadow, node, DONE, last.body, None, None)
        except ExprError:
            outs = []
        put_all(r, node, scope, epoch, outs, False, port, _fork(r, node, scope, epoch, "max"))


def _fork(r: Run, node: CNode, scope: Scope, epoch: int, visit: int | str) -> str:
    return f"{r.place_id(node, scope.no, epoch)}#{visit}" if r.net.grouped else ""


def tokens_at_all(node: CNode, scope: Scope, epoch: int) -> list[tuple[int, list[int]]]:
    return [
        (e.no, [t.seq for t in scope.tokens[key(e.no, epoch)]]) for e in node.ins if key(e.no, epoch) in scope.tokens
    ]
