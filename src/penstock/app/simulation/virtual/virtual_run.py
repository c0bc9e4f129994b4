"""A virtual run: the kernel drives a net in virtual time, and whoever answers is asked instead of the world.

No executor, store, timer or person is reached from here: an effect is a question to `Answers`, a moment is a number.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any, NamedTuple, Protocol

from penstock.errors import NoBranch, PenstockError
from penstock.executors.contract import Done, Failed, Outcome, Skipped
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.replay import fold
from penstock.kernel.run import Run
from penstock.kernel.state import (
    COMPLETED,
    EFFECT,
    PENDING,
    STATUS,
    Firing,
    Wait,
    decode_state,
    encode_state,
    new_state,
)
from penstock.kernel.step import advance
from penstock.kernel.work_item import for_agent
from penstock.net.compiled import CNode, Compiled

#: turns after which a virtual run is given up: a loop that no answer ends
MOST_TURNS = 20_000
#: how a virtual run ended that the kernel has not ended
ENDLESS, STUCK, PAUSED = "ENDLESS", "STUCK", "PAUSED"


class EffectAnswer(NamedTuple):
    """What an effect is answered with, and after how many virtual milliseconds."""

    after_ms: int
    outcome: Outcome


class PersonAnswer(NamedTuple):
    """What a person does with a work item: `verb` is one of the kernel's (submit, approve, reject, vote)."""

    after_ms: int
    verb: str
    data: Any = None


class NewsAnswer(NamedTuple):
    """News that a firing waits for."""

    after_ms: int
    payload: Any = None


class Answers(Protocol):
    """Who answers in the place of the world. None: nobody answers, and a timer decides."""

    def effect(self, run: Run, node: CNode, firing: Firing) -> EffectAnswer: ...

    def person(self, run: Run, node: CNode, firing: Firing, submitted: bool) -> PersonAnswer | None: ...

    def news(self, run: Run, node: CNode, firing: Firing, wait: Wait) -> NewsAnswer | None: ...


class WorkDone(NamedTuple):
    """A work item that somebody finished: for whom it was, and how long it was open."""

    node: int
    roles: tuple[str, ...]
    open_ms: int


class VirtualRun:
    """One life of a net. `trail` has every firing in its order; `spent` the time from firing to end, by node."""

    def __init__(self, net: Compiled, answers: Answers, now: int, run: Run | None = None) -> None:
        self.net, self.answers, self.begun, self.now = net, answers, now, now
        self.run = Run.fresh(net) if run is None else run
        self.trail: list[int] = []
        self.spent: list[tuple[int, int]] = []
        self.settled: list[tuple[int, int, Any]] = []  # node, how it ended, its failure
        self.work: list[WorkDone] = []
        self.places: list[tuple[str, int]] = []  # of a pool: which place was taken, and for how long
        self.dropped: list[str] = []  # why an answer of a person was refused
        self.incidents: list[tuple[str, str]] = []  # code, node
        self.turns: list[tuple[int, list[F.Fact]]] = []
        self._base = encode_state(self.run.st) if run is not None else b""
        self._due: list[tuple[int, int, str, int, Any]] = []
        self._number = 0
        self._opened: dict[int, tuple[int, tuple[str, ...]]] = {}
        self._given_up = ""
        self._passed_ms = 0  # of what was under way when the virtual run took over

    @property
    def status(self) -> str:
        return self._given_up or STATUS[self.run.st.status]

    @property
    def elapsed_ms(self) -> int:
        return self.now - self.begun

    def start(
        self, input: Any, options: dict[str, Any] | None = None, *, name: str = "simulated", seed: str = "",
        tenant: str = "simulation",
    ) -> None:  # fmt: skip
        """From the first fact to the end."""
        self._do(C.start(name, input, tenant=tenant, seed=seed, options=options or {}))
        self._to_end()

    def go_on(self) -> None:
        """From where a run of the store stands: what is under way there is answered here."""
        st = self.run.st
        for firing in list(st.firings.values()):
            node = self.net.nodes[firing.node]
            item = st.items.get(firing.no)
            self._passed_ms = max(self.now - firing.at, 0)
            if firing.phase == EFFECT:
                self._ask(firing.no)
            if item is not None and item.status == "SUBMITTED":
                self._ask_person(firing.no, submitted=True)
            elif item is not None and not for_agent(node, item.mode):
                self._open_item(firing.no, item.candidates, None)
        for number, wait in list(st.waits.items()):
            self._passed_ms = max(self.now - st.firings[wait.firing].at, 0)
            self._await_news(number)
        self._passed_ms = 0
        self._to_end()

    # -- the loop ------------------------------------------------------------------------------------------------------

    def _to_end(self) -> None:
        for _ in range(MOST_TURNS):
            run = self.run
            st = run.st
            if st.status >= COMPLETED:
                return
            if run.more:
                self._do(C.go_on())
                continue
            if st.paused:
                self._given_up = PAUSED
                return
            due = run.wake_at()
            if st.status == PENDING and due is None:  # nothing but the host's word is missing
                self._do(C.admit())
            elif self._due and (due is None or self._due[0][0] <= due):
                self._next_answer()
            elif due is not None:
                self.now = max(self.now, due)
                self._do(C.tick())
            else:
                self._given_up = STUCK
                return
        self._given_up = ENDLESS

    def _next_answer(self) -> None:
        due, _, kind, number, data = heappop(self._due)
        st = self.run.st
        if kind == "effect":
            self.now = max(self.now, due)
            self._do(data)
        elif kind == "person":
            item = st.items.get(number)
            verb, given, status, level = data
            if item is None or number not in st.firings or (item.status, item.level) != (status, level):
                return  # it has gone to others, or is decided
            self.now = max(self.now, due)
            self._decide(number, verb, given)
        elif number in st.waits:
            self.now = max(self.now, due)
            self._do(C.signal("", st.waits[number].name, data))

    def _decide(self, number: int, verb: str, data: Any) -> None:
        st = self.run.st
        if verb != "vote":
            self._do_strictly(C.work(number, verb, "simulated", data))
            return
        work = self.net.nodes[st.firings[number].node].spec.work
        targets = _targets(st.items[number].candidates) if work is not None and work.all_of else []
        needed = max(work.quorum if work is not None else 1, len(targets), 1)
        votes = list(data) if isinstance(data, list) else []
        last = votes[-1]["vote"] if votes else data
        for i in range(len(votes), needed):
            target = {"target": targets[i]} if i < len(targets) else {}
            votes.append({"by": f"simulated {i + 1}", "vote": last, **target})
        for vote in votes:
            if number in self.run.st.items and number in self.run.st.firings:
                self._do_strictly(C.work(number, "vote", vote["by"], vote))

    def _do_strictly(self, command: C.Command) -> None:
        """What a person does may be refused: a person would hear of it, and nothing has happened."""
        try:
            self._do(command)
        except NoBranch as error:
            self.run = self._again()
            self.dropped.append(str(error))
        except PenstockError as error:
            self.dropped.append(str(error))

    def _do(self, command: C.Command) -> None:
        self.run, facts = advance(self.run, [command], self.now, self._again)
        self.turns.append((self.now, facts))
        self._look(facts)

    def _again(self) -> Run:
        """The run before this turn, folded anew: the kernel asks for it when an answer led nowhere."""
        st = decode_state(self._base) if self._base else new_state()
        for at, facts in self.turns:
            fold(st, F.decode_facts(F.encode_facts(facts)), at)  # type: ignore[arg-type]
        return Run.load(self.net, st)

    # -- what a turn has brought ---------------------------------------------------------------------------------------

    def _look(self, facts: Iterable[F.Fact]) -> None:
        asked: list[int] = []
        for fact in facts:
            tag = fact[0]
            if tag == F.PASSED or tag == F.FIRED or tag == F.FIRED_VIA:
                self.trail.append(fact[2])
            elif tag == F.SETTLED:
                self._settle(fact)
            elif tag == F.ASKED:
                asked.append(fact[1])
            elif tag == F.WORK_OPENED:
                mode = fact[6] if len(fact) > 6 else ""
                if not for_agent(self.net.nodes[fact[2]], mode):
                    self._open_item(fact[1], fact[4], fact[3])
            elif tag == F.WORK_MOVED:
                self._move_item(fact)
            elif tag == F.WAIT_OPENED:
                self._await_news(fact[1])
            elif tag == F.INCIDENT:
                self.incidents.append((str(fact[1]), str(fact[2])))
        for number in asked:
            self._ask(number)

    def _settle(self, fact: F.Fact) -> None:
        _, number, status, _, node, _, started = fact[:7]
        self.spent.append((node, self.now - started))
        self.settled.append((node, status, fact[10]))
        opened = self._opened.pop(number, None)
        if opened is not None:
            self.work.append(WorkDone(node, opened[1], self.now - opened[0]))

    def _ask(self, number: int) -> None:
        firing = self.run.st.firings.get(number)
        if firing is None or firing.phase != EFFECT:
            return
        node = self.net.nodes[firing.node]
        after, outcome = self.answers.effect(self.run, node, firing)
        limit = node.spec.timeout_ms if node.spec.poll is None else None  # a poll's answer stands for all its probes
        if limit is not None and after > limit:
            after, outcome = limit, _too_slow(node, limit)
        if firing.place:
            self.places.append((firing.place, after))
        self._later(after, "effect", number, _command(firing, outcome))

    def _open_item(self, number: int, candidates: Any, prompt: Any) -> None:
        if number not in self._opened:
            self._opened[number] = (self.now, roles_of(candidates, prompt))
        self._ask_person(number, submitted=False)

    def _move_item(self, fact: F.Fact) -> None:
        _, number, to, event = fact[:4]
        if to == "SUBMITTED":
            firing = self.run.st.firings.get(number)
            item = self.run.st.items.get(number)
            if firing is not None and item is not None:
                work = self.net.nodes[firing.node].spec.work
                prompt = work.prompt if work is not None else None
                approvers = prompt.get("approvers") if type(prompt) is dict else None
                self._opened.setdefault(number, (self.now, roles_of(approvers or item.candidates, prompt)))
            self._ask_person(number, submitted=True)
        elif to == "TODO" and event == "redo":
            firing, item = self.run.st.firings.get(number), self.run.st.items.get(number)
            if firing is not None and item is not None and not for_agent(self.net.nodes[firing.node], item.mode):
                self._ask_person(number, submitted=False)

    def _ask_person(self, number: int, submitted: bool) -> None:
        st = self.run.st
        firing, item = st.firings.get(number), st.items.get(number)
        if firing is None or item is None:
            return
        answer = self.answers.person(self.run, self.net.nodes[firing.node], firing, submitted)
        if answer is not None:
            data = (answer.verb, answer.data, item.status, item.level)
            self._later(answer.after_ms, "person", number, data)

    def _await_news(self, number: int) -> None:
        wait = self.run.st.waits.get(number)
        firing = self.run.st.firings.get(wait.firing) if wait is not None else None
        if wait is None or firing is None:
            return
        answer = self.answers.news(self.run, self.net.nodes[firing.node], firing, wait)
        if answer is not None:
            self._later(answer.after_ms, "news", number, answer.payload)

    def _later(self, after_ms: int, kind: str, number: int, data: Any) -> None:
        self._number += 1
        heappush(self._due, (self.now + max(after_ms - self._passed_ms, 0), self._number, kind, number, data))


def _command(firing: Firing, outcome: Outcome) -> C.Command:
    if isinstance(outcome, Done):
        return C.done(firing.no, firing.attempt, firing.probe, outcome.body, outcome.content_type, outcome.meta)
    if isinstance(outcome, Failed):
        return C.failed(firing.no, firing.attempt, outcome.failure, firing.probe)
    if isinstance(outcome, Skipped):
        return C.skipped(firing.no, firing.attempt, outcome.reason, firing.probe)
    return C.returned(firing.no, firing.attempt, outcome.reason, firing.probe)


def _too_slow(node: CNode, limit: int) -> Failed:
    from penstock.kernel.failure import Failure

    return Failed(Failure("NODE_TIMEOUT", "timeout", f"«{node.label}» took longer than {limit} ms", node.id))


def _targets(candidates: Any) -> list[Any]:
    targets = candidates.get("targets") if type(candidates) is dict else candidates
    return list(targets) if isinstance(targets, list | tuple) else []


def roles_of(candidates: Any, prompt: Any = None) -> tuple[str, ...]:
    """For whom a work item is, without the words before their names: roles and people."""
    targets = [str(target) for target in _targets(candidates) if target]
    if not targets and type(candidates) is str:
        targets = [candidates]
    if not targets and type(prompt) is dict and prompt.get("role"):
        targets = [str(prompt["role"])]
    return tuple(dict.fromkeys(target.partition(":")[2] or target for target in targets))


def is_shown(node: CNode) -> bool:
    """An author has written it: parts that a node was lowered to, and ways back, are not listed."""
    return not node.spec.origin and not node.id.startswith(".")
