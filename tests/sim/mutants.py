"""Planted bugs: each breaks the engine in one way, by patching it, and the simulation must find it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from penstock.errors import StoreError
from penstock.host.children import Children
from penstock.host.command_inbox import Inbox
from penstock.host.dispatch import Dispatch
from penstock.host.embedded import Host
from penstock.host.loaded_run import TAKEN, Ask, InboxReply
from penstock.host.recovery import Recovery
from penstock.host.rows import Rows
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel import due_timers as ringing
from penstock.kernel import fact as F
from penstock.kernel import ready as readiness
from penstock.kernel import retry as retrying
from penstock.kernel import rework as redoing
from penstock.kernel.decide import DECIDE
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.flow import ask, set_timer
from penstock.kernel.run import Run
from penstock.kernel.state import EFFECT, encode_state, key
from penstock.net.compiled import ALL
from penstock.store.run_store import Batch, checksum
from tests.sim.store import SimStore

Plant = Callable[["Patches"], None]
#: name → what is wrong, and how it is planted
MUTANTS: dict[str, tuple[str, Plant]] = {}


class Patches:
    """Changes that are taken back."""

    def __init__(self) -> None:
        self.undo: list[Callable[[], None]] = []

    def attribute(self, owner: Any, name: str, new: Any) -> Any:
        old = getattr(owner, name)
        setattr(owner, name, new)
        self.undo.append(lambda: setattr(owner, name, old))
        return old

    def item(self, table: dict[Any, Any], at: Any, new: Any) -> Any:
        old = table[at]
        table[at] = new
        self.undo.append(lambda: table.__setitem__(at, old))
        return old

    def everywhere(self, old: Any, new: Any) -> None:
        """In every module that has imported it."""
        for module in [m for name, m in sys.modules.items() if name.startswith("penstock.")]:
            for name in [n for n, value in vars(module).items() if value is old]:
                self.attribute(module, name, new)

    def said(self, tag: int, change: Callable[[list[Any]], list[Any] | None]) -> None:
        """Facts of a kind are said otherwise, or not at all."""
        right = Run.record

        def record(self: Run, fact: F.Fact) -> None:
            changed = change(list(fact)) if fact[0] == tag else fact
            if changed is not None:
                right(self, tuple(changed))

        self.attribute(Run, "record", record)


@contextlib.contextmanager
def planted(name: str) -> Iterator[None]:
    patches = Patches()
    try:
        MUTANTS[name][1](patches)
        yield
    finally:
        for undo in reversed(patches.undo):
            undo()


def mutant(name: str, what: str) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        MUTANTS[name] = (what, plant)
        return plant

    return register


# ---- the store -----------------------------------------------------------------------------------------------------


def _write_over(self: SimStore, row: Any) -> None:
    turns = self.disk.journal.setdefault(row[0], {})
    self.disk.set(turns, row[1], (self._number("journal"), *row[:4], bytes(row[4]), checksum(*row)))


@mutant("M1", "the store takes a turn twice: neither (run, seq) nor the fence is looked at")
def _(p: Patches) -> None:
    p.attribute(SimStore, "_turn", _write_over)
    p.attribute(SimStore, "_check_fence", lambda self: None)


@mutant("M2", "a commit with an old fence is taken")
def _(p: Patches) -> None:
    p.attribute(SimStore, "_check_fence", lambda self: None)


@mutant("M6", "a commit whose answer was lost is done again, blindly")
def _(p: Patches) -> None:
    right = Turns._commit
    p.attribute(SimStore, "_turn", _write_over)

    def commit(self: Turns, batch: Batch, stepped: Any) -> None:
        try:
            self.store.commit(batch)
        except StoreError:
            batch.new = []
            right(self, batch, stepped)

    p.attribute(Turns, "_commit", commit)


@mutant("tail-twice", "a checkpoint is loaded, and the turns before it are folded once more")
def _(p: Patches) -> None:
    right = SimStore.load

    def load(self: SimStore, numbers: Any) -> Any:
        return [(row, list(self.journal(row.no))) for row, _ in right(self, numbers)]

    p.attribute(SimStore, "load", load)


@mutant("half-a-commit", "a batch that fails is not taken back: what came before the failure stays")
def _(p: Patches) -> None:
    from tests.sim.store import Disk

    right = SimStore._apply

    def apply(self: SimStore, batch: Batch) -> None:
        if batch.moved or batch.ended:
            rows, batch.moved, batch.ended = (batch.moved, batch.ended), [], []
            right(self, batch)
            batch.moved, batch.ended = rows
        else:
            right(self, batch)

    p.attribute(SimStore, "_apply", apply)
    p.attribute(Disk, "rollback", lambda self: self.undo.clear())


# ---- joins ---------------------------------------------------------------------------------------------------------


@mutant("M3", "an all-join counts tokens, not edges")
def _(p: Patches) -> None:
    right = readiness.ready

    def ready(r: Any, node: Any, scope: Any, epoch: int, relaxed: bool = False) -> Any:
        if node.join != ALL or node.lone:
            return right(r, node, scope, epoch, relaxed)
        count = sum(len(scope.tokens.get(key(e.no, epoch), ())) for e in node.ins)
        return readiness.tokens_at(node, scope, epoch) if count >= len(node.ins) else None

    p.everywhere(right, ready)


@mutant("M4", "an all-join ignores the epoch")
def _(p: Patches) -> None:
    right = readiness.ready

    def ready(r: Any, node: Any, scope: Any, epoch: int, relaxed: bool = False) -> Any:
        if node.join != ALL or node.lone:
            return right(r, node, scope, epoch, relaxed)
        marks = 0
        for (in_scope, no, _), bits in r.marks.items():
            marks |= bits if (in_scope, no) == (scope.no, node.no) else 0
        return readiness.tokens_at(node, scope, epoch) or None if marks == node.full else None

    p.everywhere(right, ready)


@mutant("debts", "a k-join never gives up waiting for a late token")
def _(p: Patches) -> None:
    p.everywhere(readiness.release_debts, lambda r: bool(r.unsure.clear()))


# ---- effects -------------------------------------------------------------------------------------------------------


@mutant("M5", "the idempotency key contains the attempt")
def _(p: Patches) -> None:
    right = Run.effect_key
    p.attribute(Run, "effect_key", lambda self, firing: f"{right(self, firing)}/{firing.attempt}")


@mutant("M11", "an answer is taken whatever attempt it belongs to")
def _(p: Patches) -> None:
    right = DECIDE[C.OUTCOME]

    def outcome(r: Any, c: C.Command) -> None:
        firing = r.st.firings.get(c[1])
        if firing is not None and firing.phase == EFFECT:
            c = (c[0], c[1], firing.attempt, firing.probe, *c[4:])
        right(r, c)

    p.item(DECIDE, C.OUTCOME, outcome)


@mutant("M14", "effects go out before their commit")
def _(p: Patches) -> None:
    right = Host.__init__

    def init(self: Host, *args: Any, **options: Any) -> None:
        right(self, *args, **options)
        commit = self.turns._commit

        def early(batch: Batch, stepped: Any) -> None:
            for live, *_ in stepped:
                firings = [live.run.st.firings.get(no) for no in live.run.asks]
                asked = [f for f in firings if f is not None and f.phase == EFFECT]
                self.dispatch.out([Ask(live, f, f.attempt, f.probe) for f in asked])
            commit(batch, stepped)

        self.turns._commit = early  # type: ignore[method-assign]

    p.attribute(Host, "__init__", init)


@mutant("not-asked-again", "after a crash open effects are not asked again")
def _(p: Patches) -> None:
    def resume(self: Recovery, loaded: Any, intents: Any) -> None:
        if loaded.wake_at is not None:
            self.timers.set(loaded.wake_at, loaded.no)
        self.turns.unload_idle(loaded)

    p.attribute(Recovery, "resume", resume)


@mutant("no-mark", "an at-most-once effect is not marked before its call")
def _(p: Patches) -> None:
    def go_all(self: Dispatch, ready: Any) -> None:
        for going in ready:
            self._go(going)

    p.attribute(Dispatch, "_go_all", go_all)


@mutant("no-doubt", "after a crash an at-most-once effect that was started is asked again")
def _(p: Patches) -> None:
    p.attribute(Recovery, "_intents", lambda self: {})


@mutant("no-place", "the gate forgets that an effect holds a place")
def _(p: Patches) -> None:
    from penstock.host.gate import Gate

    right = Gate.admit

    def admit(self: Gate, *args: Any, concurrency: Any = None, **more: Any) -> Any:
        held = dict(self.running)
        verdict = right(self, *args, concurrency=concurrency, **more)
        if verdict == "go" and concurrency is not None:
            self.running.update({at: 0 for at in self.running if self.running[at] != held.get(at)})
        return verdict

    p.attribute(Gate, "admit", admit)


@mutant("no-back-off", "a failed attempt is followed by the next at once")
def _(p: Patches) -> None:
    def at_once(r: Any, firing: Any, failure: Any, policy: Any) -> None:
        r.record((F.ATTEMPT_FAILED, firing.no, firing.attempt, failure, r.now + policy.base_ms))
        ask(r, firing, firing.attempt + 1)

    p.attribute(retrying, "_retry_later", at_once)


@mutant("no-retry-timer", "a failed attempt waits for a timer that nobody sets")
def _(p: Patches) -> None:
    p.said(F.TIMER_SET, lambda f: None if f[3] == "retry" else f)


@mutant("one-too-many", "one attempt more than the policy allows")
def _(p: Patches) -> None:
    right = retrying._may_retry

    def may(firing: Any, node: Any, failure: Any) -> bool:
        attempt, firing.attempt = firing.attempt, firing.attempt - 1
        try:
            return right(firing, node, failure)
        finally:
            firing.attempt = attempt

    p.attribute(retrying, "_may_retry", may)


# ---- timers --------------------------------------------------------------------------------------------------------


@mutant("M8", "a timer rings twice")
def _(p: Patches) -> None:
    right, again = ringing.fire_timer, set[tuple[str, int]]()

    def ring(r: Any, no: int) -> None:
        timer = r.st.timers[no]
        right(r, no)
        if timer.firing in r.st.firings and (r.st.run, no) not in again:
            again.add((r.st.run, r.st.next_timer))
            set_timer(r, timer.due, timer.why, timer.firing, timer.data)

    p.everywhere(right, ring)


@mutant("early", "a timer rings before it is due")
def _(p: Patches) -> None:
    right = ringing.next_due

    def next_due(r: Any) -> int | None:
        now, r.now = r.now, r.now + 10_000
        try:
            return right(r)
        finally:
            r.now = now

    p.everywhere(right, next_due)


@mutant("no-wake", "the run's row does not say when its next timer is due")
def _(p: Patches) -> None:
    right = Run.wake_at

    def wake_at(self: Run) -> int | None:
        caller = sys._getframe(1).f_code.co_name
        return None if caller == "write" else right(self)

    p.attribute(Run, "wake_at", wake_at)


@mutant("no-poll", "timers of runs that are not in memory are never looked for")
def _(p: Patches) -> None:
    right = Host._look_at_the_clock

    def look(self: Host) -> None:
        self.timers.poll_at = self.clock.now() + 1_000_000
        right(self)

    p.attribute(Host, "_look_at_the_clock", look)


@mutant("swept-timers", "a sweep forgets the timers of tokens")
def _(p: Patches) -> None:
    at = F.FIELDS[F.SWEPT][1].index("timers") + 1
    p.said(F.SWEPT, lambda f: [*f[:at], [], *f[at + 1 :]])


# ---- commands ------------------------------------------------------------------------------------------------------


@mutant("M7", "cancel writes the status, and nothing else")
def _(p: Patches) -> None:
    def cancel(r: Any, c: C.Command) -> None:
        r.record((F.MOVED, "CANCELLED", "cancel_requested", None))

    p.item(DECIDE, C.CANCEL, cancel)


@mutant("M13", "a command of the inbox is answered before its turn is committed")
def _(p: Patches) -> None:
    right = Inbox.poll

    def poll(self: Inbox) -> bool:
        busy = right(self)
        batch = Batch()
        batch.inbox_answered += [(TAKEN, no) for no in sorted(self.taken)]
        if batch.inbox_answered:
            self.store.commit(batch)
        return busy

    p.attribute(Inbox, "poll", poll)


@mutant("yes-too-early", "who sent a command is told «yes» before the commit")
def _(p: Patches) -> None:
    right = Turns._commit

    def commit(self: Turns, batch: Batch, stepped: Any) -> None:
        for _, _, _, replies, *_ in stepped:
            for reply in replies.values():
                reply(None)
        right(self, batch, stepped)

    p.attribute(Turns, "_commit", commit)


@mutant("signal-twice", "the id of a signal is not remembered")
def _(p: Patches) -> None:
    table = list(EVOLVE)
    table[F.SEEN] = lambda st, f: None
    p.everywhere(EVOLVE, tuple(table))


@mutant("orphans", "a caller that is cancelled does not tell whom it called")
def _(p: Patches) -> None:
    p.attribute(Children, "stop", lambda self, live, firings: None)


# ---- undoing, and what is kept -------------------------------------------------------------------------------------


@mutant("undo-forward", "what was done first is undone first")
def _(p: Patches) -> None:
    p.said(F.UNDO_PLANNED, lambda f: [f[0], list(reversed(f[1])), *f[2:]])


@mutant("old-checkpoint", "a checkpoint is one checkpoint old")
def _(p: Patches) -> None:
    right, before = Rows._checkpoint, dict[str, bytearray]()

    def checkpoint(self: Rows, live: Any, st: Any) -> bytearray:
        body = right(self, live, st)
        old = before.get(live.id, body)
        before[live.id] = bytearray(encode_state(st))
        return old

    p.attribute(Rows, "_checkpoint", checkpoint)


# ---- a commit that fails, and a process that goes on ---------------------------------------------------------------


@mutant("own-lost", "what nobody would send again is lost with the commit that failed")
def _(p: Patches) -> None:
    from penstock.host import turn_rollback

    def kept(commands: Any, replies: Any, told: Any, why: Any) -> Any:
        told += [(reply, why) for reply in replies.values()]
        return [], {}

    p.attribute(turn_rollback, "_kept", kept)


@mutant("taken-for-ever", "a command of the inbox counts as taken although its turn was lost")
def _(p: Patches) -> None:
    p.attribute(InboxReply, "__call__", lambda self, error: None)


@mutant("applied-twice", "a commit whose answer was lost is rolled back although it is there")
def _(p: Patches) -> None:
    right = Turns.fold_again

    def fold_again(self: Turns) -> Any:
        for loaded in self.rolled_back.values():
            loaded.in_store = False
        self.load = lambda numbers: []  # type: ignore[method-assign]
        try:
            return right(self)
        finally:
            del self.load

    p.attribute(Turns, "_is_there", lambda self, batch: False)
    p.attribute(Turns, "fold_again", fold_again)


@mutant("same-visits", "after a restart visits are numbered from one again, and effects share keys")
def _(p: Patches) -> None:
    right = EVOLVE[F.REOPENED]

    def reopened(st: Any, f: Any) -> None:
        right(st, f)
        if f[1] == "restart":
            st.scopes[0].visits, st.scopes[0].since, st.scopes[0].most = {}, {}, {}

    table = list(EVOLVE)
    table[F.REOPENED] = reopened
    p.everywhere(EVOLVE, tuple(table))


@mutant("begun", "finished work is done again although somebody has begun with what came of it")
def _(p: Patches) -> None:
    p.attribute(redoing, "_check_untouched", lambda *args: None)


@mutant("left-behind", "finished work is done again, and what came of it the first time stays")
def _(p: Patches) -> None:
    p.attribute(redoing, "_take_back", lambda *args: None)
