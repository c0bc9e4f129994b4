"""step(run, commands, now) -> facts: one turn of one run.

Each command is decided, then the run goes on to quiet: the first ready candidate fires, again and again; when none is
ready, debts are released, empty scopes closed, fans opened further, joins relaxed; then the run's status is concluded.
Deterministic: same inputs, same bytes out.

A turn ends when its slice is full (`Caps.slice`), quiet or not. What it has left over is done first in the next turn,
before any command but one that stops the run: commands are decided in a quiet run, sliced or not.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import NoBranch, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.condition import conditions_changed
from penstock.kernel.decide import DECIDE, block, record_started
from penstock.kernel.deferred import DEFERRED
from penstock.kernel.due_timers import fire_timer, next_due
from penstock.kernel.failure import Failure
from penstock.kernel.firing import fire, fire_via, forward
from penstock.kernel.flow import ExpressionFailed, NoMatch, ask
from penstock.kernel.pool import hold_candidate, hold_firing, next_for_place, queued_firing
from penstock.kernel.quiet import arm_joins, at_max, close_scopes, conclude, has_token, relax
from penstock.kernel.ready import has_room_ahead, ready, release_debts
from penstock.kernel.region import open_fans
from penstock.kernel.retry import fail, fail_scope
from penstock.kernel.run import UNDOING, Candidate, Run
from penstock.kernel.saga import finish_cancel, finish_failed
from penstock.kernel.state import COMPLETED, IN_QUEUE, OPEN, RUNNING, STATUS, WAITING, Scope, key
from penstock.net.compiled import UNDO, CNode

#: commands that are decided in a run whose slice was full, too
STOPS = frozenset({C.CANCEL, C.PAUSE})
#: instead of a command's place: what the turn before has left over
LEFT_OVER = -1


class Stuck(Exception):
    """No way out could be chosen: the caller drops the run's state, folds it again and says the command as blocked."""

    def __init__(self, index: int, node: str) -> None:
        super().__init__(node)
        self.index, self.node = index, node


def step(r: Run, commands: list[C.Command], now: int, blocked: frozenset[int] = frozenset()) -> list[F.Fact]:
    """One turn. It evolves the state it is given; when it raises, the caller drops that state and folds again. The
    caller gives the commands from `r.decided` on again, and a turn without any as long as there is `r.more` to do."""
    st = r.st
    before = st.n
    r.now = st.at = now
    r.facts = []
    if r.asks:  # whoever has taken them may keep them; what is empty serves again
        r.asks = []
    if r.ended:
        r.ended = []
    if r.stops:
        r.stops = []
    if r.tells:
        r.tells = []
    if r.loaded:
        _rebuild_candidates(r)
    most = r.caps.slice
    r.decided = len(commands)
    if r.more and not (commands and commands[0][0] in STOPS):
        _go_on(r)
    for index, command in enumerate(commands):
        if (r.more or len(r.facts) >= most) and command[0] not in STOPS:
            r.decided = index
            break
        r.strict = False
        try:
            if blocked and index in blocked:
                _record_blocked(r, command)
            else:
                _run_command(r, command)
        except NoMatch as no_match:
            if r.strict:
                raise NoBranch(node=no_match.node.id) from None
            raise Stuck(index, no_match.node.id) from None
        st.hand = None
        if command[0] == C.MIGRATE and index + 1 < len(commands):  # the others are for the run in its new net
            r.decided = index + 1
            break
    if st.n >= r.caps.facts_warning:
        _limit_facts(r, before)
    return r.facts


def _go_on(r: Run) -> None:
    """What the last turn has left over. Nobody waits for it, so what finds no branch stops the run and no command."""
    r.strict = False
    try:
        to_quiet(r)
    except NoMatch as no_match:
        raise Stuck(LEFT_OVER, no_match.node.id) from None
    r.st.hand = None


def _limit_facts(r: Run, before: int) -> None:
    """K22: a run that makes facts without end is paused, and says so long before."""
    st, caps = r.st, r.caps
    if st.status not in (RUNNING, WAITING):
        return
    if st.n >= caps.facts:
        if not st.paused:
            r.record((F.INCIDENT, "FACTS_LIMIT", "", {"facts": st.n, "limit": caps.facts}))
            r.record((F.PAUSED, True, "facts_limit"))
            r.more = False
            conclude(r)
    elif before < caps.facts_warning:
        r.record((F.INCIDENT, "FACTS_WARNING", "", {"facts": st.n, "limit": caps.facts}))


def advance(r: Run, commands: list[C.Command], now: int, reload: Callable[[], Run]) -> tuple[Run, list[F.Fact]]:
    """`step`, done again from a fresh fold when an answer leads nowhere: then the answer is kept and the firing waits
    for an operator, and nothing else of the turn is lost."""
    blocked: frozenset[int] = frozenset()
    while True:
        try:
            return r, step(r, commands, now, blocked)
        except Stuck as stuck:
            if stuck.index in blocked:
                raise NoBranch(node=stuck.node) from None
            blocked |= {stuck.index}
            r = reload()
            if stuck.index == LEFT_OVER:
                _pause_stuck(r, now)
                return r, r.facts


def _run_command(r: Run, c: C.Command) -> None:
    st = r.st
    tag = c[0]
    if tag == C.GO_ON:
        to_quiet(r)
        return
    if st.status >= COMPLETED and tag != C.OUTCOME:
        if tag in (C.TICK, C.SIGNAL):
            r.record((F.IGNORED, C.NAMES[tag], "terminal", None))
            return
        if tag not in (C.RETRY, C.COMPENSATE, C.WORK, C.CANCEL, C.START):
            raise StatusConflict(
                what="run", status=STATUS[st.status], verb=C.NAMES[tag], allowed="a run that has not ended"
            )
    if tag == C.TICK:
        tick(r)
    else:
        try:
            DECIDE[tag](r, c)
        except ExpressionFailed as broken:
            _fail_broken(r, broken)
        if tag != C.MIGRATE:  # the caller goes on with the new net
            to_quiet(r)


def _rebuild_candidates(r: Run) -> None:
    """After a load everybody with a token is asked once without firing, so that a reload changes nothing: who waits
    for what is known again, and nobody is queued who would not have been."""
    r.loaded = False
    for firing in r.st.firings.values():
        if firing.phase == IN_QUEUE:
            hold_firing(r, firing)
    ready_still = []
    while (candidate := r.next()) is not None:
        if _may_fire(r, candidate) is not None:
            ready_still.append(candidate)
    for candidate in ready_still:
        node = r.net.nodes[candidate[2]]
        if node.pool and not _is_over(r, node, candidate):
            hold_candidate(r, node, candidate)
        else:
            r.queue(candidate)
    # the turn before the load may have been a slice: then something is ready, or nothing is and it is not concluded yet
    # (a deadlock without its name, a join without its timer), and the run is RUNNING, which a slice leaves behind
    left_over = r.st.status == RUNNING or r.st.status == WAITING and bool(r.heap or r.fans or r.idle)
    r.more = left_over and not r.st.paused


def _pause_stuck(r: Run, now: int) -> None:
    """What a slice has left over finds no branch, and no command can be refused for it."""
    r.now = r.st.at = now
    r.facts, r.decided, r.more = [], 0, False
    r.record((F.INCIDENT, "NO_MATCHING_BRANCH", "", "slice"))
    r.record((F.PAUSED, True, "no_matching_branch"))
    conclude(r)


def _record_blocked(r: Run, c: C.Command) -> None:
    """The second try of a command whose consequences found no branch."""
    if c[0] == C.OUTCOME:
        firing = r.st.firings[c[1]]
        node = r.net.nodes[firing.node]
        r.record((F.ANSWERED, firing.no, firing.attempt, firing.probe, "done", c[5], None))
        block(r, firing, "NO_MATCHING_BRANCH", c[5])
        r.record((F.INCIDENT, "NO_MATCHING_BRANCH", node.id, None))
        conclude(r)
    elif c[0] == C.START:
        record_started(r, c)
        failure = Failure("NO_MATCHING_BRANCH", "business", "no branch can be taken with this input")
        r.record((F.MOVED, "FAILED", "unrecoverable_error", failure))
    else:
        r.record((F.INCIDENT, "NO_MATCHING_BRANCH", "", C.NAMES[c[0]]))
        if not r.st.paused:
            r.record((F.PAUSED, True, "no_matching_branch"))


def _fail_broken(r: Run, broken: ExpressionFailed) -> None:
    """An expression failed: the firing that needed it fails with it. If the way it would then take is broken as well,
    its scope fails."""
    firing = broken.firing
    if firing.no not in r.st.firings:
        return
    try:
        fail(r, firing, broken.failure, again=False)
    except ExpressionFailed as twice:
        fail_scope(r, firing, twice.failure)


def to_quiet(r: Run) -> None:
    st = r.st
    r.more = False
    while True:
        try:
            if r.deferred:
                code, what = r.deferred.pop(0)
                DEFERRED[code](r, what)
            elif r.via is not None:
                edge, scope, epoch = r.via
                r.via = None
                fire_via(r, edge, scope, epoch)
            elif st.status not in (RUNNING, WAITING) or st.paused:
                break
            elif st.draining:
                if st.asked:
                    break
                if st.draining == "fail":
                    assert st.failure is not None
                    finish_failed(r, st.failure)
                else:
                    finish_cancel(r, st.draining)
            elif len(r.facts) >= r.caps.slice and (r.heap and st.live or r.fans or r.idle):
                _leave_over(r)
                return
            elif r.heap:
                candidate = r.next()
                if candidate is not None:
                    consider(r, candidate)
            elif r.net.pools and (candidate := next_for_place(r)) is not None:
                _begin_in_pool(r, candidate)
            elif r.conditions and conditions_changed(r) or r.unsure and release_debts(r) or r.idle and close_scopes(r):
                continue  # conditions before scopes: one may interrupt a scope that would close
            elif r.fans:
                open_fans(r)
            elif st.firings or not relax(r):
                break
        except ExpressionFailed as broken:
            _fail_broken(r, broken)
    if r.resting:
        arm_joins(r)
    conclude(r)
    if r.deferred:
        to_quiet(r)


def _leave_over(r: Run) -> None:
    """The slice is full. Whoever finds the run in the store must see that it is not at rest."""
    r.more = True
    if r.st.status == WAITING:
        r.record((F.MOVED, "RUNNING", "resumed", None))


def consider(r: Run, candidate: Candidate) -> bool:
    """Ask one node with a token whether it is ready; if so, fire it."""
    _, _, no, scope_no, epoch = candidate
    node = r.net.nodes[no]
    takes = _may_fire(r, candidate)
    if takes is not None and node.pool and not _is_over(r, node, candidate):
        hold_candidate(r, node, candidate)
        return False
    if takes is not None:
        scope = r.st.scopes[scope_no]
        if node.max_iter is not None and at_max(node, scope, epoch):
            forward(r, node, scope, epoch)
        else:
            fire(r, node, scope, epoch, takes)
    elif scope_no:
        r.rests(scope_no)
    if node.group:  # whoever takes no room, or did not want it, lets the next one in
        r.admit(node.group)
    return takes is not None


def _is_over(r: Run, node: CNode, candidate: Candidate) -> bool:
    """It has fired as often as it may: what comes now needs no place."""
    return node.max_iter is not None and at_max(node, r.st.scopes[candidate[3]], candidate[4])


def _begin_in_pool(r: Run, candidate: Candidate) -> None:
    """There is a place for it: the firing that waits asks, or the node fires. It may be neither any more."""
    firing = queued_firing(r, candidate)
    if firing is not None:
        ask(r, firing, firing.attempt)
        return
    takes = _may_fire(r, candidate)
    if takes is not None:
        _, _, no, scope_no, epoch = candidate
        fire(r, r.net.nodes[no], r.st.scopes[scope_no], epoch, takes)


def _may_fire(r: Run, candidate: Candidate) -> list[int] | None:
    """What the node would take, or None; then it is known what it waits for. At its limit it takes all there is."""
    _, _, no, scope_no, epoch = candidate
    node = r.net.nodes[no]
    scope = r.st.scopes.get(scope_no)
    if scope is None or scope.status != OPEN or not has_token(r, node, scope, epoch):
        return None
    if node.max_iter is not None and at_max(node, scope, epoch):
        return [] if _may_forward(r, node, scope, epoch, candidate) else None
    if node.kind == UNDO and r.st.undo is not None:
        r.hold_back(UNDOING, candidate)  # one plan at a time
        return None
    if node.group and not r.room(node.group):
        r.hold_back(node.group, candidate)
        return None
    takes = ready(r, node, scope, epoch)
    if takes is None or node.capped and not has_room_ahead(r, node, scope, epoch, candidate):
        return None
    return takes


def _may_forward(r: Run, node: CNode, scope: Scope, epoch: int, candidate: Candidate) -> bool:
    """Not while the last firing of the node still works, and not onto a full edge."""
    for no, firing in r.by_scope.get(scope.no, {}).items():
        if firing.node == node.no and firing.epoch == epoch and firing.comp < 0:
            r.watch.setdefault(no, []).append(candidate)
            return False
    spent = key(node.no, epoch) in scope.spent
    return spent or not node.capped or has_room_ahead(r, node, scope, epoch, candidate)


def tick(r: Run) -> None:
    """Every due timer in order (due, deeper scope first, oldest first), with a run to quiet between two (C-72)."""
    fired = False
    while r.st.status < COMPLETED:
        due = next_due(r)
        if due is None:
            break
        fired = True
        try:
            fire_timer(r, due)
        except ExpressionFailed as broken:
            _fail_broken(r, broken)
        to_quiet(r)
        if r.more or len(r.facts) >= r.caps.slice:
            break  # those that are due still are due when the run is asked again
    if not fired:
        r.record((F.IGNORED, "tick", "nothing_due", None))
