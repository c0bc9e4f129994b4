"""The watch: folds every committed turn beside the engine and holds it to the laws, one commit at a time.

It sees only what a store has committed. Laws about one fact are asked before the fact is folded, laws about a state
after its turn. The names are those of the invariants in docs and `penstock verify`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.host.children import child_id
from penstock.host.outbox import PUBLISHED
from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.run import Run
from penstock.kernel.state import (
    BACKOFF,
    COMPLETED,
    EFFECT,
    OPEN,
    PENDING,
    RUNNING,
    STATUS,
    WAITING,
    Firing,
    Scope,
    State,
    encode_state,
    key,
    new_state,
)
from penstock.kernel.token import SOLE
from penstock.lifecycle import MACHINES
from penstock.net.compiled import ALL, MOST, CNode, Compiled, K
from penstock.store.run_store import Batch
from tests.sim.faults import Violation

_RUN = MACHINES["run"]
_ITEM = MACHINES["work_item"]
_COMP = F.FIELDS[F.FIRED][1].index("comp") + 1
_META = F.FIELDS[F.SETTLED][1].index("meta") + 1


class Shadow:
    """One run as its journal tells it."""

    def __init__(self, no: int) -> None:
        self.no = no
        self.st: State = new_state()
        self.net: Compiled | None = None
        self.row: tuple[int, int | None] = (0, None)  # status, wake_at as the run's row says
        self.put: set[tuple[int, int, int, int]] = set()
        self.asked: set[tuple[int, int, int]] = set()
        self.failed: dict[int, list[int]] = {}  # firing → when each failed attempt may be followed by the next
        self.seen: set[str] = set()  # signal ids
        self.ignored: set[Any] = set()  # signals that were told they are not needed
        self.used: set[str] = set()
        self.kept: list[Any] = []  # payloads
        self.incidents: list[str] = []
        self.rung: set[tuple[int, str, str]] = set()  # firing, why, data
        self.reopened = False
        self.called: set[str] = set()
        self.visits: dict[tuple[int, int], int] = {}  # node, epoch → its last visit, in the root
        self.since: dict[tuple[int, int], int] = {}  # the same, at the last restart
        self.fired: set[tuple[int, int]] = set()  # node, epoch that have fired since then

    @property
    def over(self) -> bool:
        return self.st.status >= COMPLETED

    def firing(self, no: int) -> Firing | None:
        return self.st.firings.get(no)

    def calls(self) -> set[str]:
        """The runs that it has called and waits for."""
        assert self.net is not None
        waits = [f for f in self.st.firings.values() if f.phase == EFFECT and self.node(f).spec.kind == "call"]
        if not waits:
            return set()
        run = Run.load(self.net, self.st)
        return {child_id(run.effect_key(firing)) for firing in waits}

    def node(self, firing: Firing) -> Any:
        assert self.net is not None
        return self.net.nodes[firing.node]


class Watch:
    """`live` finds a run in the engine's memory, `sound` says whether a run may never get stuck, `cancels` whether a
    cancel waits for its turn; `index`: what the engine has worked out beside the state is worked out again, too."""

    def __init__(
        self, nets: dict[str, Compiled], live: Callable[[int], Run | None], sound: Callable[[Shadow], bool], *,
        cancels: Callable[[int], bool] = lambda no: False, index: bool = False,
    ) -> None:  # fmt: skip
        self.nets, self.live, self.sound, self.cancels, self.index = nets, live, sound, cancels, index
        self.runs: dict[int, Shadow] = {}
        self.facts = 0
        self.published: list[tuple[int, int]] = []
        self.left: dict[str, int] = {}  # runs whose caller waits for them no more → the caller

    # -- a commit -----------------------------------------------------------------------------------------------------

    def committed(self, batch: Batch, *, publish: bool) -> None:
        for row in batch.new:
            if row[0] in self.runs:
                raise Violation("H1", f"run {row[0]} was made twice")
            self.runs[row[0]] = Shadow(row[0])
            self.runs[row[0]].row = (row[5], row[9])
        told: list[tuple[int, int]] = []
        for no, first, last, at, body in batch.journal:
            self._turn(no, first, last, at, bytes(body), told)
        stepped = {row[0] for row in batch.journal}
        for status, _, wake, seq, checkpoint, _, no in batch.moved:
            self.runs[no].row = (status, wake)
            if no in stepped:
                self._checkpoint(self.runs[no], seq, bytes(checkpoint))
            else:
                raise Violation("K1", f"run {no} gets a checkpoint without a turn")
        for status, _, _, no in batch.ended:
            self.runs[no].row = (status, None)
        for row in batch.new:
            if row[12] is not None:
                self._checkpoint(self.runs[row[0]], row[11], bytes(row[12]))
        for no in sorted(stepped):
            run = self.live(no)
            after_a_turn(self.runs[no], at_rest=run is None or not run.more)
            self._memory(self.runs[no])
        self._children(sorted(stepped))
        if publish:
            if sorted(told) != sorted((row[0], row[1]) for row in batch.outbox):
                raise Violation("H10", f"the outbox got {batch.outbox!r}, the turn said {told}")
            self.published += told

    def _children(self, stepped: list[int]) -> None:
        """K23: a run whose caller is gone takes no turn more but the one that ends it; its cancel may stand behind
        commands that were there before. Who was revived by an operator goes on for the operator."""
        for no in stepped:
            s = self.runs[no]
            caller = self.left.pop(s.st.run, 0)
            if caller and s.st.status in (PENDING, RUNNING, WAITING) and not s.st.draining and not s.reopened:
                if not self.cancels(no):
                    raise Violation("K23", f"run {no} goes on, and run {caller}, which called it, does not wait for it")
                self.left[s.st.run] = caller
        over = {s.st.run for s in self.runs.values() if s.over}
        for no in stepped:
            s = self.runs[no]
            if s.net is not None and any(n.spec.kind == "call" for n in s.net.nodes):
                calls = s.calls()
                self.left.update(dict.fromkeys(s.called - calls - over, no))
                for child in calls:
                    self.left.pop(child, None)
                s.called = calls

    def _turn(self, no: int, first: int, last: int, at: int, body: bytes, told: list[tuple[int, int]]) -> None:
        shadow = self.runs.get(no)
        if shadow is None:
            raise Violation("K2", f"a turn of run {no}, which has no row")
        st = shadow.st
        facts: list[Any] = F.decode_facts(body)
        if first != st.n + 1 or last != st.n + len(facts):
            raise Violation("K2", f"run {no}: facts {first}..{last} after fact {st.n}")
        st.at = at
        for f in facts:
            if f[0] in (F.STARTED, F.MIGRATED):
                shadow.net = self.nets[f[3] if f[0] == F.STARTED else f[1]]
            law = LAWS.get(f[0])
            if law is not None:
                law(shadow, f)
            try:
                EVOLVE[f[0]](st, f)
            except Exception as error:
                raise Violation("K1", f"run {no}: fact {f} cannot be folded: {type(error).__name__} {error}") from error
            st.n += 1
            if f[0] in PUBLISHED:
                told.append((no, st.n))
        st.hand = None
        self.facts += len(facts)
        if "DEADLOCK" in shadow.incidents and not shadow.reopened and self.sound(shadow):
            raise Violation("K4", f"run {no} is stuck although its net never is")

    def _checkpoint(self, shadow: Shadow, seq: int, body: bytes) -> None:
        if seq != shadow.st.n or body != encode_state(shadow.st):
            raise Violation("K1", f"run {shadow.no}: the checkpoint at fact {seq} is not the fold of the journal")

    def _memory(self, shadow: Shadow) -> None:
        """K1: what the engine holds in memory is what its journal folds to."""
        live = self.live(shadow.no)
        if live is None:
            return
        held = live.st
        at, held.at = held.at, shadow.st.at
        same = encode_state(held) == encode_state(shadow.st)
        held.at = at
        if not same:
            raise Violation("K1", f"run {shadow.no}: memory is not the fold of the journal")
        if self.index:
            again = Run.load(live.net, shadow.st)
            for name, mine, theirs in zip(INDEX, _index(live), _index(again), strict=True):
                if mine != theirs:
                    raise Violation("K1", f"run {shadow.no}: {name} in memory are {mine}, a reload has {theirs}")


INDEX = ("marks", "firings", "groups", "timers")


def _index(run: Run) -> tuple[Any, ...]:
    groups = {name: count for name, count in run.groups.items() if count}
    return run.marks, {no: set(mine) for no, mine in run.by_scope.items()}, groups, run.wake_at()


# ---- laws about one fact -------------------------------------------------------------------------------------------


def _started(s: Shadow, f: list[Any]) -> None:
    if s.st.run:
        raise Violation("K14", f"run {s.no} started twice")


def _moved(s: Shadow, f: list[Any]) -> None:
    was = STATUS[s.st.status]
    if not _RUN.allows(was, f[2]) or _RUN.next(was, f[2]) != f[1]:
        raise Violation("K3", f"run {s.no} went from {was} to {f[1]} by {f[2]}")
    failure = f[3]
    if failure is not None and failure[0] in ("DEADLOCK", "OUTPUT_INVALID"):
        s.incidents.append(failure[0])


def _put(s: Shadow, f: list[Any]) -> None:
    token = (f[1], f[2], f[3], f[4])
    if token in s.put:
        raise Violation("K6", f"run {s.no}: token {token} was put twice")
    s.put.add(token)


def _forgot(s: Shadow, f: list[Any]) -> None:
    s.put = {t for t in s.put if not (t[1] == f[1] and t[2] < f[2])}


def _scope_forgotten(s: Shadow, f: list[Any]) -> None:
    s.put = {t for t in s.put if t[1] not in f[1]}


def _reopened(s: Shadow, f: list[Any]) -> None:
    s.reopened = True
    if f[1] == "restart":
        s.put = {t for t in s.put if t[1] == 0}
        s.since, s.fired = dict(s.visits), set()


def _fired(s: Shadow, f: list[Any]) -> None:
    _, no, node, scope, epoch, visit, edges, *_ = f
    if f[_COMP] < 0:
        _takes(s, node, scope, epoch, edges)
        _visits(s, node, scope, epoch, visit)
    if no != s.st.next_firing:
        raise Violation("K2", f"run {s.no}: firing {no}, expected {s.st.next_firing}")


def _fired_via(s: Shadow, f: list[Any]) -> None:
    _via(s, f[2])
    _visits(s, f[2], f[3], f[4], f[5])


def _passed(s: Shadow, f: list[Any]) -> None:
    _, _no, node, scope, epoch, visit, edges, via, *_ = f
    if via >= 0:
        _via(s, node)
    else:
        _takes(s, node, scope, epoch, edges)
    _visits(s, node, scope, epoch, visit)


def _via(s: Shadow, node_no: int) -> None:
    assert s.net is not None
    node = s.net.nodes[node_no]
    if len(node.ins) > 1 and not node.merge:
        raise Violation("K8", f"run {s.no}: «{node.id}» fired for one of its {len(node.ins)} edges")


def _takes(s: Shadow, node_no: int, scope_no: int, epoch: int, edges: list[int]) -> None:
    """K7, K8, K9, K11: the right tokens, of this epoch, from as many edges as the join wants."""
    assert s.net is not None
    node = s.net.nodes[node_no]
    tokens = s.st.scopes[scope_no].tokens
    ways, distinct = {e.no for e in node.ins}, set(edges)
    name = f"run {s.no}: «{node.id}»~{epoch}"
    if not edges:
        if ways and not node.spec.kind == "start":
            raise Violation("K8", f"{name} fired with nothing")
        return
    for edge in distinct:
        if edge not in ways or len(tokens.get(key(edge, epoch), ())) < edges.count(edge):
            raise Violation("K7", f"{name} took what does not lie on edge {edge}")
    if not node.take_all and len(edges) != len(distinct):
        raise Violation("K9", f"{name} took two tokens of one edge")
    if node.spec.join_timeout_ms is not None:
        return  # a join that gives up takes what there is
    if node.join == ALL and distinct != ways:
        raise Violation("K8", f"{name} fired for {len(distinct)} of its {len(ways)} edges")
    if node.join == K and len(distinct) < node.k:
        raise Violation("K11", f"{name} fired for {len(distinct)} edges, it needs {node.k}")


def _visits(s: Shadow, node_no: int, scope: int, epoch: int, visit: int) -> None:
    """A restart gives every node its rounds anew; the numbers of visits go on, or effects would share keys."""
    assert s.net is not None
    node = s.net.nodes[node_no]
    at, rounds = (node_no, epoch), visit
    if scope == 0:
        if visit <= s.visits.get(at, 0):
            raise Violation("E2", f"run {s.no}: «{node.id}»~{epoch} fires as visit {visit} again")
        s.visits[at] = visit
        if at not in s.fired:  # numbers may go on from those of an epoch that was forgotten
            s.fired.add(at)
            s.since[at] = visit - 1
        rounds -= s.since[at]
    if node.max_iter is not None and rounds > node.max_iter:
        raise Violation("K15", f"run {s.no}: «{node.id}» fired {rounds} times, its limit is {node.max_iter}")
    if node.spec.kind == "start" and scope == 0 and rounds > 1:
        raise Violation("K14", f"run {s.no}: START fired {visit} times")


def _asked(s: Shadow, f: list[Any]) -> None:
    _, no, attempt, probe, *_ = f
    firing = s.firing(no)
    if firing is None:
        raise Violation("E1", f"run {s.no}: firing {no} asks, but is not open")
    if s.over:
        raise Violation("E10", f"run {s.no} has ended, and firing {no} asks")
    if (no, attempt, probe) in s.asked:
        raise Violation("E4", f"run {s.no}: firing {no} asks attempt {attempt}.{probe} again")
    s.asked.add((no, attempt, probe))
    if firing.phase == BACKOFF and s.st.at < s.failed[no][-1]:
        raise Violation("E5", f"run {s.no}: firing {no} asks at {s.st.at}, its back-off ends at {s.failed[no][-1]}")


def _attempt_failed(s: Shadow, f: list[Any]) -> None:
    _, no, _attempt, failure, next_at, *_ = f
    firing = s.st.firings[no]
    policy = s.node(firing).spec.retry
    tries = s.failed.setdefault(no, [])
    tries.append(next_at)
    if len(tries) > policy.max or failure[1] not in policy.on:
        raise Violation("E5", f"run {s.no}: firing {no} is tried again after failure {len(tries)}, {failure[1]}")


def _tag(meta: Any) -> list[int] | None:
    """Which ask an answer belongs to: the simulation's world writes it into everything it answers."""
    if type(meta) is dict:
        if "ask" in meta:
            return list(meta["ask"])
        reason = meta.get("skip_reason")
        if type(reason) is str and reason.startswith("ask:"):
            return [int(part) for part in reason[4:].split(".")]
    return None


def _matches(s: Shadow, firing: Firing, tag: list[int] | None) -> None:
    if tag is not None and tag != [firing.no, firing.attempt, firing.probe]:
        now = f"{firing.no}.{firing.attempt}.{firing.probe}"
        raise Violation("K16", f"run {s.no}: the answer to {tag} was taken for that of {now}")


def _answered(s: Shadow, f: list[Any]) -> None:
    _, no, attempt, probe, status, _output, failure, *_ = f
    firing = s.firing(no)
    if firing is None or firing.phase != EFFECT:
        raise Violation("E4", f"run {s.no}: firing {no} is answered and has not asked")
    if attempt != firing.attempt or probe not in (-1, firing.probe):
        raise Violation("K16", f"run {s.no}: attempt {attempt} of firing {no} is answered, not {firing.attempt}")
    if status == "failed" and failure is not None and type(failure[4]) is list and failure[4][:1] == ["ask"]:
        _matches(s, firing, failure[4][1:])


def _settled(s: Shadow, f: list[Any]) -> None:
    firing = s.firing(f[1])
    if firing is None:
        raise Violation("E4", f"run {s.no}: firing {f[1]} settles and is not open")
    if s.node(firing).effect is not None:  # a route hands on what came with its token
        _matches(s, firing, _tag(f[_META]))


def _revived(s: Shadow, f: list[Any]) -> None:
    if f[1] in s.st.redoable:
        left = [one.no for one in s.st.firings.values() if -f[1] in (one.passed or ())]
        lying = any(-f[1] in (t.passed or ()) for sc in s.st.scopes.values() for q in sc.tokens.values() for t in q)
        if left or lying or s.st.closed_items.get(f[1]) != "DONE" or s.st.status not in (RUNNING, WAITING):
            raise Violation("K24", f"run {s.no}: item {f[1]} is done again, and what came of it goes on: {left}")
    s.failed.pop(f[1], None)
    s.rung = {one for one in s.rung if one[0] != f[1]}


def _timer_set(s: Shadow, f: list[Any]) -> None:
    _, no, _due, why, firing, data, *_ = f
    if no != s.st.next_timer:
        raise Violation("K17", f"run {s.no}: timer {no} is set, expected {s.st.next_timer}")
    for other in s.st.timers.values():
        if (other.why, other.firing, other.data) == (why, firing, data):
            raise Violation("K17", f"run {s.no}: two timers for {why} of firing {firing}")


def _timer_gone(s: Shadow, f: list[Any]) -> None:
    timer = s.st.timers.get(f[1])
    if timer is None:
        raise Violation("K17", f"run {s.no}: timer {f[1]} goes twice")
    if f[2] != "fired" or timer.why == "join_wait":
        return
    if s.st.at < timer.due:
        raise Violation("K17", f"run {s.no}: a timer for {timer.why} rings at {s.st.at}, due is {timer.due}")
    firing = s.firing(timer.firing)
    once = (timer.firing, timer.why, f"{timer.data} {firing.attempt if firing is not None else 0}")
    if timer.firing and once in s.rung:
        raise Violation("K17", f"run {s.no}: the timer for {timer.why} of firing {timer.firing} rings twice")
    s.rung.add(once)


def _seen(s: Shadow, f: list[Any]) -> None:
    if f[1] in s.seen:
        raise Violation("S2", f"run {s.no}: signal {f[1]} was accepted twice")
    s.seen.add(f[1])


def _signal_kept(s: Shadow, f: list[Any]) -> None:
    s.kept.append(f[3])


def _signal_used(s: Shadow, f: list[Any]) -> None:
    if f[1] in s.used:
        raise Violation("S1", f"run {s.no}: signal {f[1]} was used twice")
    s.used.add(f[1])


def _ignored(s: Shadow, f: list[Any]) -> None:
    if f[1] == "signal":
        s.ignored.add(f[3])


def _undo_planned(s: Shadow, f: list[Any]) -> None:
    steps = f[1]
    if any(a <= b for a, b in zip(steps, steps[1:], strict=False)):
        raise Violation("C5", f"run {s.no}: undone in the order {steps}")
    for n in steps:
        if s.st.ledger[n].status not in ("open", "FAILED"):
            raise Violation("C4", f"run {s.no}: entry {n} is {s.st.ledger[n].status} and is undone")


def _undo_step(s: Shadow, f: list[Any]) -> None:
    if s.st.ledger[f[1]].status == "EXECUTED":
        raise Violation("C9", f"run {s.no}: entry {f[1]} was undone already")


def _work_opened(s: Shadow, f: list[Any]) -> None:
    """Its triggers are armed anew."""
    s.rung = {one for one in s.rung if one[0] != f[1]}


def _work_moved(s: Shadow, f: list[Any]) -> None:
    item = s.st.items.get(f[1])
    if item is not None and not (_ITEM.allows(item.status, f[3]) and _ITEM.next(item.status, f[3]) == f[2]):
        raise Violation("K24", f"run {s.no}: item {f[1]} went from {item.status} to {f[2]} by {f[3]}")
    if item is not None and len(f) > 9 and f[9] == "superseded" and item.status != "TODO":
        raise Violation("K24", f"run {s.no}: item {f[1]} is {item.status}, and is taken back with what it came of")


def _swept(s: Shadow, f: list[Any]) -> None:
    """P-X.15: what is taken back with the work it came of came of nothing else, and nobody has begun with it."""
    if f[2] != "superseded":
        return
    for no in f[3]:
        firing = s.st.firings[no]
        shared = [-k for k, v in (firing.passed or {}).items() if k < 0 and v != SOLE]
        if shared or firing.phase in (EFFECT, BACKOFF):
            raise Violation("K24", f"run {s.no}: firing {no} is taken back, it comes of {shared}, it is {firing.phase}")


def _incident(s: Shadow, f: list[Any]) -> None:
    s.incidents.append(f[1])


LAWS: dict[int, Callable[[Shadow, list[Any]], None]] = {
    F.STARTED: _started, F.MOVED: _moved, F.PUT: _put, F.FORGOT: _forgot, F.SCOPE_FORGOTTEN: _scope_forgotten,
    F.REOPENED: _reopened, F.FIRED: _fired, F.FIRED_VIA: _fired_via, F.PASSED: _passed, F.ASKED: _asked,
    F.ATTEMPT_FAILED: _attempt_failed, F.ANSWERED: _answered, F.SETTLED: _settled, F.REVIVED: _revived,
    F.TIMER_SET: _timer_set, F.TIMER_GONE: _timer_gone, F.SEEN: _seen, F.SIGNAL_KEPT: _signal_kept,
    F.SIGNAL_USED: _signal_used, F.IGNORED: _ignored, F.UNDO_PLANNED: _undo_planned, F.UNDO_STEP: _undo_step,
    F.WORK_OPENED: _work_opened, F.WORK_MOVED: _work_moved, F.INCIDENT: _incident, F.SWEPT: _swept,
}  # fmt: skip


# ---- laws about a state --------------------------------------------------------------------------------------------


def after_a_turn(s: Shadow, *, at_rest: bool = True) -> None:
    """`at_rest`: its slice was not full, so all that could happen has happened."""
    _ending(s, at_rest)
    _counters(s)
    _timers(s)
    _row(s)
    if at_rest:
        _debts(s)


def _ending(s: Shadow, at_rest: bool) -> None:
    """K4, both ways."""
    st = s.st
    live = any(scope.live for scope in st.scopes.values())
    if s.over:
        left = {"tokens": live, "firings": st.firings, "timers": st.timers, "waits": st.waits, "items": st.items}
        found = [name for name, there in left.items() if there]
        if found:
            raise Violation("K4", f"run {s.no} is {STATUS[st.status]} and still has {', '.join(found)}")
    elif st.status == PENDING and s.net.queued:
        return  # until there is room for it
    elif not st.paused and not (st.firings or st.timers or st.undo or live and not at_rest):
        raise Violation("K4", f"run {s.no} is {STATUS[st.status]} and nothing can move it")


def _counters(s: Shadow) -> None:
    """K5: what is counted is there."""
    st = s.st
    busy: dict[int, int] = {}
    for firing in st.firings.values():
        busy[firing.scope] = busy.get(firing.scope, 0) + 1
    for scope in st.scopes.values():
        if scope.live != sum(len(q) for q in scope.tokens.values()) or scope.busy != busy.get(scope.no, 0):
            raise Violation("K5", f"run {s.no}: scope {scope.no} counts {scope.live} tokens and {scope.busy} firings")
        if scope.no and scope.status != OPEN and (scope.live or scope.busy):
            raise Violation("K4", f"run {s.no}: scope {scope.no} is closed and holds something")
    if st.asked != sum(f.phase == EFFECT for f in st.firings.values()):
        raise Violation("K5", f"run {s.no} counts {st.asked} effects in flight")


def _timers(s: Shadow) -> None:
    """K17: every timer belongs to something that is there, and who waits for a time has a timer."""
    st = s.st
    for no, timer in st.timers.items():
        if timer.firing and timer.firing not in st.firings:
            raise Violation("K17", f"run {s.no}: timer {no} ({timer.why}) outlived firing {timer.firing}")
        if timer.why in ("token", "join_wait"):
            scope = st.scopes.get(timer.data[0])
            if scope is None or scope.status != OPEN:
                raise Violation("K17", f"run {s.no}: timer {no} ({timer.why}) outlived its scope")
    for no, firing in st.firings.items():
        if firing.phase == BACKOFF:
            due = [st.timers[t].due for t in firing.timers or () if st.timers[t].why == "retry"]
            if due != s.failed[no][-1:]:
                raise Violation("K17", f"run {s.no}: firing {no} waits for its next attempt with timers {due}")


def _row(s: Shadow) -> None:
    """H9, K17: the row that recovery and timers go by says what the journal says."""
    st = s.st
    status, wake = s.row
    if status != st.status:
        raise Violation("H9", f"run {s.no}: the row says {STATUS[status]}, the journal {STATUS[st.status]}")
    due = None if st.paused else min((t.due for t in st.timers.values()), default=None)
    if not s.over and wake != due:
        raise Violation("K17", f"run {s.no}: the row wakes at {wake}, the next timer is due at {due}")


def _debts(s: Shadow) -> None:
    """K11: a join that waits for late tokens to absorb them does so only while one can still come."""
    st = s.st
    if st.paused or st.draining or st.status not in (RUNNING, WAITING):
        return
    for scope in st.scopes.values():
        for at_key, visits in scope.owed.items():
            assert s.net is not None
            node = s.net.nodes[at_key & (MOST - 1)]
            within = _reached(s, scope, node)
            owed = {edge for edges in visits.values() for edge in edges}
            if not owed <= within:
                raise Violation("K11", f"run {s.no}: «{node.id}» is owed {sorted(owed - within)} for ever")


def _reached(s: Shadow, scope: Scope, join: CNode) -> set[int]:
    """The edges that something live in the scope may still put a token on, without passing the join."""
    assert s.net is not None
    edges = s.net.edges
    here = [edges[place & (MOST - 1)].dst for place in scope.tokens]
    here += [s.net.nodes[f.node] for f in s.st.firings.values() if f.scope == scope.no]
    been: set[int] = set()
    found: set[int] = set()
    while here:
        node = here.pop()
        if node is join or node.no in been:
            continue
        been.add(node.no)
        for edge in node.outs:
            found.add(edge.no)
            here.append(edge.dst)
    return found
