"""Who talks to the engine: clients that start and signal and try again, operators, people with work items.

A client knows only what it was told. An answer «yes» is held against the journal at once; no answer means: ask again,
with the same id.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from penstock.errors import PenstockError, StoreError
from penstock.kernel import command as C
from penstock.kernel.state import COMPENSATING, EFFECT, FAILED, Firing
from tests.sim.faults import Violation
from tests.sim.nets import Workload
from tests.sim.watch import Shadow

if TYPE_CHECKING:
    from tests.sim.sim import Sim

VERBS = ("start", "submit", "approve", "reject", "vote", "take_over", "reassign", "rework")
MODES = ("MANUAL", "SUPERVISED", "AUTONOMOUS")
PEOPLE = ("kim", "lee", "max")
NOT_STORED = "it cannot be stored"
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode


@dataclass
class Start:
    """A run that a client wants, under its own key."""

    work: Workload
    key: str
    net_no: int = 0
    sent_to: int = 0  # the process that has it, while there is no answer
    known: bool = False  # it was acknowledged, or found


@dataclass
class Letter:
    """A signal that a client sends until it hears that it was taken."""

    key: str
    id: str
    name: str
    sent_to: int = 0
    told: bool = False
    times: int = 0


@dataclass
class People:
    sim: Sim
    rng: random.Random
    starts: list[Start] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    inbox: dict[int, tuple[int, C.Command]] = field(default_factory=dict)  # not yet answered
    tried: dict[int, int] = field(default_factory=dict)  # how often a run was helped
    sent: int = 0
    process: random.Random = field(init=False)  # what only processes know

    def __post_init__(self) -> None:
        self.process = self.sim.fork("switching")

    # -- starting -----------------------------------------------------------------------------------------------------

    def waiting_starts(self) -> list[Start]:
        return [s for s in self.starts if not s.known and s.sent_to != self.sim.process.gen]

    def start(self, one: Start) -> None:
        sim = self.sim
        row = sim.store.run_by_key("default", one.key)
        if row is not None:
            one.known = True
            return
        one.sent_to = gen = sim.process.gen

        def reply(error: PenstockError | None) -> None:
            if sim.heard_by(gen):
                if error is None:
                    one.known = True
                    if sim.shadow_of(one.key) is None:
                        raise Violation("H8", f"start of {one.key} was acknowledged and is not in the store")
                one.sent_to = 0
                self._refusal(error)

        sim.note(f"start {one.work.name} {one.key}")
        sim.process.host.start(one.net_no, one.work.given, key=one.key, reply=reply)

    # -- commands -----------------------------------------------------------------------------------------------------

    def send(self, shadow: Shadow, command: C.Command, *, told: Callable[[bool], None] | None = None) -> None:
        """By hand, or through the inbox as another process would; a «yes» means that it is in the journal."""
        sim = self.sim
        sim.note(f"send {shadow.no} {C.NAMES[command[0]]} {command[1:]!r}")
        if command[0] == C.CANCEL_FIRING:
            sim.meddled.add(shadow.no)
        if command[0] != C.OUTCOME and self.rng.random() < 0.25:
            self.inbox[sim.store.put_inbox(shadow.no, _pack(command), sim.clock.now())] = (shadow.no, command)
            return
        gen, before = sim.process.gen, shadow.st.n

        def reply(error: PenstockError | None) -> None:
            if not sim.heard_by(gen):
                return
            if error is None:
                if shadow.st.n <= before and command[0] not in (C.NUDGE, C.RESUME):
                    raise Violation("H8", f"run {shadow.no}: {C.NAMES[command[0]]} was acknowledged and left no fact")
                self._taken(shadow, command)
            if told is not None:
                told(error is None)
            self._refusal(error)

        sim.process.host.send(shadow.no, command, reply)

    def _taken(self, shadow: Shadow, command: C.Command) -> None:
        """S1, H8, H9: a signal that was taken is in the journal: accepted, or refused as a double, or too late."""
        if command[0] == C.SIGNAL and command[1]:
            if command[1] not in shadow.seen and command[1] not in shadow.ignored and None not in shadow.ignored:
                raise Violation("H9", f"run {shadow.no}: signal {command[1]} was acknowledged and left no fact")

    def _refusal(self, error: PenstockError | None) -> None:
        """Being refused is normal; that something cannot be stored is not, since everything here can be."""
        if error is not None and not isinstance(error, StoreError) and NOT_STORED in str(error):
            raise Violation("kernel", f"a command broke it: {error}")

    def read_answers(self) -> None:
        """What became of commands in the inbox."""
        still = {row[0] for row in self.sim.store.inbox()} if self.inbox else set()
        for no in list(self.inbox):
            answer = self.sim.store.inbox_answer(no)
            if answer is None:
                if no not in still:  # it was answered, and the answer was tidied away before anybody looked
                    del self.inbox[no]
                    self.sim.counters["answers_tidied"] += 1
                continue
            run, command = self.inbox.pop(no)
            told = _unpack(answer)
            if told.get("ok"):
                self._taken(self.sim.watch.runs[run], command)
            elif NOT_STORED in str(told):
                raise Violation("kernel", f"a command of the inbox broke it: {told}")

    # -- signals ------------------------------------------------------------------------------------------------------

    def expect(self, start: Start) -> None:
        """Letters for every name that the net may wait for."""
        names = sorted({t.name for n in start.work.net.nodes for t in n.triggers if t.kind == "signal"})
        for name in names:
            for _ in range(self.rng.choice((1, 2, 2))):
                self.letters.append(Letter(start.key, f"sig{len(self.letters)}", name))

    def open_letters(self) -> list[Letter]:
        plan = self.sim.plan
        gen = self.sim.process.gen
        found = []
        for letter in self.letters:
            shadow = self.sim.shadow_of(letter.key)
            if shadow is None or letter.told or letter.sent_to == gen:
                continue
            waited_for = any(w.name == letter.name for w in shadow.st.waits.values())
            if waited_for or plan.has("early_signal"):
                found.append(letter)
        return found

    def post(self, letter: Letter) -> None:
        plan, shadow = self.sim.plan, self.sim.shadow_of(letter.key)
        assert shadow is not None
        if not any(w.name == letter.name for w in shadow.st.waits.values()):
            plan.fired["early_signal"] += 1
        if letter.times:
            plan.fired["lost_reply"] += plan.has("lost_reply")
        letter.times += 1
        letter.sent_to = self.sim.process.gen

        def told(yes: bool) -> None:
            letter.told = yes and not plan.hit("lost_reply", 2)
            if not letter.told:
                letter.sent_to = 0

        command = C.signal(letter.id, letter.name, {"letter": letter.id})
        self.send(shadow, command, told=told)
        if plan.hit("doubled_signal", 2):
            self.send(shadow, command)

    # -- operators ----------------------------------------------------------------------------------------------------

    def operate(self) -> None:
        """One thing that an operator may do, if a fault of that name is on."""
        runs = [s for s in self.sim.runs() if s.st.run]
        if not runs:
            return
        shadow = self.rng.choice(runs)
        for name, act in OPERATIONS.items():
            if self.sim.plan.has(name):
                command = act(self.rng, shadow)
                if command is not None and self.sim.plan.hit(name):
                    self.send(shadow, command)

    def do_work(self) -> bool:
        """Somebody takes the next step of a work item; with `odd_work` any step of any item."""
        items = [(s, no) for s in self.sim.runs() for no in sorted(s.st.items)]
        if not items:
            return False
        shadow, no = self.rng.choice(items)
        if (change := self._change(shadow, no)) is not None:
            self.send(shadow, change)
        elif self.sim.plan.hit("odd_work", 3):
            verb = self.rng.choice(VERBS)
            data = self.rng.choice(("approved", "rejected")) if verb == "vote" else self.rng.choice((None, 7))
            self.send(shadow, C.work(no, verb, self.rng.choice(PEOPLE), data))
        else:
            self.send(shadow, self._next_step(shadow, no))
        return True

    def _change(self, shadow: Shadow, no: int) -> C.Command | None:
        """P-X.15, P-X.40: finished work is done again, an item goes to somebody else; a few times in a run."""
        redo, mode = sorted(shadow.st.redoable), shadow.st.items[no].mode
        if shadow.st.reopened > 5 or not (redo or mode) or self.process.random() > 0.25:
            return None
        if redo and self.process.random() < 0.6:
            return C.work(self.process.choice(redo), "rework", "lee", None, "again")
        return C.work(no, "set_mode", "lee", self.process.choice(MODES)) if mode else None

    def _next_step(self, shadow: Shadow, no: int) -> C.Command:
        firing, item = shadow.st.firings[no], shadow.st.items[no]
        spec = shadow.node(firing).spec.work
        if item.status == "TODO":
            return C.work(no, "start", "kim")
        if item.status == "SUBMITTED":
            return C.work(no, "approve", "lee")
        if spec.quorum:
            voter = next((p for p in PEOPLE if p not in item.votes), "new")
            return C.work(no, "vote", voter, "approved")
        return C.work(no, "submit", "kim", {"by": "hand"})

    # -- when everything is well again --------------------------------------------------------------------------------

    def help(self, shadow: Shadow) -> bool:
        """What a patient operator does for a run that waits for a person. False: it waits for nobody."""
        tries = self.tried.get(shadow.no, 0)
        command = self._helping(shadow, tries)
        if command is None:
            return False
        self.tried[shadow.no] = tries + 1
        self.send(shadow, command if tries < 20 or shadow.st.status == COMPENSATING else C.cancel("now"))
        return True

    def _helping(self, shadow: Shadow, tries: int) -> C.Command | None:
        st = shadow.st
        if st.paused:
            return C.resume() if tries < 2 else C.cancel("now")
        blocked = [f for f in st.firings.values() if f.blocked]
        if blocked:
            return (C.resolve(blocked[0].no, 1), C.retry(), C.cancel_firing(blocked[0].no))[tries % 3]
        if st.items and not st.asked:
            return self._next_step(shadow, min(st.items))
        if st.waits and not st.asked:
            self.sent += 1
            return C.signal(f"help{self.sent}", next(iter(st.waits.values())).name)
        return None


# ---- what operators may do -----------------------------------------------------------------------------------------

Operation = Callable[[random.Random, Shadow], C.Command | None]


def _some_firing(rng: random.Random, shadow: Shadow) -> Firing | None:
    firings = [f for f in shadow.st.firings.values() if f.phase == EFFECT or f.blocked]
    return rng.choice(firings) if firings else None


def _resolve(rng: random.Random, shadow: Shadow) -> C.Command | None:
    firing = _some_firing(rng, shadow)
    return None if firing is None or firing.comp >= 0 else C.resolve(firing.no, 9)


def _cancel_firing(rng: random.Random, shadow: Shadow) -> C.Command | None:
    firing = _some_firing(rng, shadow)
    return None if firing is None or firing.comp >= 0 else C.cancel_firing(firing.no)


def _retry(rng: random.Random, shadow: Shadow) -> C.Command | None:
    """A run is retried a few times only, or it would never end."""
    wanted = shadow.st.status == FAILED or any(f.blocked for f in shadow.st.firings.values())
    return C.retry(rng.choice(("here", "restart"))) if wanted and shadow.st.reopened < 2 else None


def _pause(rng: random.Random, shadow: Shadow) -> C.Command | None:
    return C.resume() if shadow.st.paused else C.pause()


def _compensate(rng: random.Random, shadow: Shadow) -> C.Command | None:
    return C.compensate() if shadow.st.ledger else None


def _set(rng: random.Random, shadow: Shadow) -> C.Command | None:
    return None if shadow.over else C.set_variable("by_hand", rng.randrange(9))


OPERATIONS: dict[str, Operation] = {
    "cancel_now": lambda rng, s: C.cancel("now"),
    "cancel_boundary": lambda rng, s: C.cancel("boundary"),
    "pause": _pause,
    "retry": _retry,
    "compensate": _compensate,
    "resolve": _resolve,
    "cancel_firing": _cancel_firing,
    "set_variable": _set,
}
