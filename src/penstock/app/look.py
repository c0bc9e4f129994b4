"""Looking at a run: its status, its firings, what it waits for, in the words of its document's language."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.kernel import fact as F
from penstock.kernel.reading import Line, Reader, failure_dict, firing_of
from penstock.kernel.state import BACKOFF, COMPLETED, DONE, EFFECT, PHASE, RUN, STATUS, SUSPENDED, Firing, State
from penstock.lang.compile import LANGUAGES
from penstock.lang.diagram.words import node_state
from penstock.net.compiled import MOST, Compiled
from penstock.net.draw.marks import Marks, NodeMark
from penstock.store.contract import JournalRow

_UNIT = {"done": "SUCCEEDED", "failed": "FAILED", "skipped": "SKIPPED", "interrupted": "CANCELLED"}
_PHASE_UNIT = ("RUNNING", "RUNNING", "RETRYING", "WAITING", "RUNNING", "RUNNING")
_RUN_WORDS = {language.name: language.words.run for language in LANGUAGES}
_UNIT_WORDS = {language.name: language.words.unit for language in LANGUAGES}


class FiringLook(msgspec.Struct, omit_defaults=True):
    node: str
    status: str
    epoch: int
    iteration: int
    attempt: int
    started_at: int = 0
    ended_at: int | None = None
    scope: str = ""
    type: str = ""


class Waiting(msgspec.Struct, omit_defaults=True):
    """What a run waits for: a person's answer, a signal, a moment, an operator."""

    node: str
    for_: str = msgspec.field(name="for")
    prompt: Any = None
    name: str = ""
    due_at: int | None = None
    run: str = ""  # the run that it called, if that one waits


class Look(msgspec.Struct, omit_defaults=False):
    run_id: str
    language: str
    status: str
    output: Any
    firings: list[FiringLook]
    waiting: list[Waiting]
    failure: dict[str, Any] | None
    name: str = ""
    nodes: dict[str, str] = {}
    counters: dict[str, int] = {}
    branches: dict[str, str] = {}
    warnings: list[dict[str, Any]] = []
    outputs: dict[str, Any] = {}
    tokens: dict[str, int] = {}
    variables: dict[str, Any] = {}
    facts: int = 0
    paused: bool = False
    in_flight: int = 0  # effects that were asked and not answered
    internal_status: str = ""
    created_at: int = 0
    updated_at: int = 0
    parent: str = ""


class Watcher:
    """Folds a run as it grows and can be looked at any time."""

    def __init__(self, net_of: Callable[[str], Compiled], resolve: Callable[[Any], Any] | None = None) -> None:
        self.reader = Reader(net_of)
        self.resolve = resolve or (lambda body: body)
        self.firings: list[FiringLook] = []
        self.by_id: dict[str, FiringLook] = {}
        self.prompts: dict[str, Any] = {}  # what was asked of people, by firing
        self.last_at = 0
        self.first_at = 0

    def turn(self, at: int, facts: Iterable[Any]) -> list[Line]:
        lines = self.reader.turn(at, facts)
        self.first_at = self.first_at or at
        self.last_at = at
        for line in lines:
            if line.fact == "fired":
                self._fire(line)
            elif line.fact == "settled":
                one = self.by_id[firing_of(line)]
                one.status, one.attempt, one.ended_at = _UNIT[line.data["status"]], line.data["attempt"], line.at
            elif line.fact == "swept":
                for gone in line.data.get("firings", ()):
                    if gone in self.by_id:
                        self.by_id[gone].status, self.by_id[gone].ended_at = "CANCELLED", line.at
            elif line.fact == "work.opened":
                self.prompts[line.data["firing"]] = line.data["prompt"]
            elif line.fact == "revived":
                one = self.by_id[line.data["firing"]]
                one.status, one.ended_at = "RUNNING", None
        return lines

    def _fire(self, line: Line) -> None:
        net = self.reader.net
        assert net is not None
        kind = net.by_id[line.node].spec.type
        one = FiringLook(line.node, "RUNNING", line.epoch, line.data["visit"], 1, line.at, None, line.scope, kind)
        self.firings.append(one)
        self.by_id[firing_of(line)] = one

    # -- what people see -----------------------------------------------------------------------------------------------

    def look(self) -> Look:
        st, net = self.reader.st, self.reader.net
        assert net is not None, "a run that was started has a net"
        language = net.net.language
        unit_words = _UNIT_WORDS.get(language, {})
        status = STATUS[st.status]
        ended = st.status >= COMPLETED
        now = {self.reader.firing_id(f): f for f in st.firings.values()}
        firings = [self._shown(one, now, unit_words) for one in self.firings]
        root = st.scopes.get(0)
        output: Any = None
        if ended:
            output = (
                {k: self.resolve(v) for k, v in st.results.items()}
                if st.results
                else self.resolve(root.last)
                if root
                else None
            )
        return Look(
            run_id=st.run,
            language=language,
            status=self.word(status),
            output=output,
            firings=firings,
            waiting=self.waiting(),
            failure=failure_dict(st.failure) if st.failure is not None and status != "COMPLETED" else None,
            name=net.net.name,
            nodes=self.states(ended),
            counters=self.counters(),
            branches=_branches(st, net),
            warnings=[{"code": c, "node": n, "detail": d} for c, n, d in st.incidents],
            outputs={k: self.resolve(v) for k, v in st.results.items()},
            tokens=tokens(st, net),
            variables={**st.vars, **st.names},
            facts=st.n,
            paused=st.paused,
            in_flight=st.asked,
            internal_status=status,
            created_at=self.first_at,
            updated_at=self.last_at,
            parent=st.parent,
        )

    def _shown(self, one: FiringLook, now: dict[str, Firing], words: Any) -> FiringLook:
        unit = one.status
        firing = now.get(f"{one.node}@{one.scope}~{one.epoch}#{one.iteration}")
        attempt = one.attempt
        if firing is not None and one.ended_at is None:
            unit, attempt = _PHASE_UNIT[firing.phase], firing.attempt
        return msgspec.structs.replace(one, status=words.get(unit, unit), attempt=attempt)

    def states(self, ended: bool) -> dict[str, str]:
        """D-8.1: for people only. Nothing here drives a run."""
        net, st = self.reader.net, self.reader.st
        assert net is not None
        last: dict[str, FiringLook] = {}
        for one in self.firings:
            last[one.node] = one
            origin = net.by_id[one.node].spec.origin if one.node in net.by_id else ""
            if origin and not one.scope:
                last[origin] = one  # a part of the author's node: it works while its part does, and fails with it
        now = {self.reader.firing_id(f): f for f in st.firings.values()}
        out: dict[str, str] = {}
        for node in net.nodes:
            if node.spec.origin and node.spec.origin != node.id:
                continue
            was = last.get(node.id)
            unit, runs = None, 0
            if was is not None:
                firing = now.get(f"{was.node}@{was.scope}~{was.epoch}#{was.iteration}")
                unit = _PHASE_UNIT[firing.phase] if firing is not None else was.status
                runs = was.iteration
            if net.net.language == "diagram":
                out[node.id] = node_state(unit, runs=runs, max_iter=node.max_iter, cyclic=node.cyclic, ended=ended)
            else:
                out[node.id] = unit or ("SKIPPED" if ended else "PENDING")
        return out

    def word(self, status: str) -> str:
        """A status of the house in the words of the run's language."""
        assert self.reader.net is not None
        return _RUN_WORDS.get(self.reader.net.net.language, {}).get(status, status)

    def calls(self) -> tuple[list[str], bool]:
        """The keys of the runs it has called and waits for, and whether that is all it does now."""
        st, net = self.reader.st, self.reader.net
        assert net is not None
        active = [f for f in st.firings.values() if f.phase in (RUN, EFFECT, BACKOFF)]
        calls = [f for f in active if f.phase == EFFECT and net.nodes[f.node].spec.kind == "call"]
        return [f"{st.tenant}/{st.run}/{self.reader.firing_id(f)}" for f in calls], len(calls) == len(active)

    def waiting(self) -> list[Waiting]:
        st, net = self.reader.st, self.reader.net
        assert net is not None
        out = []
        for no, firing in st.firings.items():
            node = net.nodes[firing.node]
            due = min((st.timers[t].due for t in firing.timers or ()), default=None)
            if firing.blocked:
                out.append(Waiting(node.id, "operator"))
            elif no in st.items and PHASE[firing.phase] == "suspended":
                out.append(Waiting(node.id, "person", self.prompts.get(self.reader.firing_id(firing)), due_at=due))
            elif firing.waits:
                out += [Waiting(node.id, "signal", name=st.waits[w].name, due_at=due) for w in firing.waits]
            elif PHASE[firing.phase] == "suspended" and due is not None:
                out.append(Waiting(node.id, "time", due_at=due))
        return out

    def counters(self) -> dict[str, int]:
        """How often each node fired in the newest epoch that it has fired in (D-6.1.2)."""
        out: dict[str, int] = {}
        epoch: dict[str, int] = {}
        for one in self.firings:
            if epoch.setdefault(one.node, one.epoch) < one.epoch:
                epoch[one.node], out[one.node] = one.epoch, 0
            out[one.node] = out.get(one.node, 0) + (one.epoch == epoch[one.node])
        return out

    def marks(self) -> Marks:
        """The drawing of the net with its tokens."""
        st, net = self.reader.st, self.reader.net
        assert net is not None
        counts = self.counters()
        nodes = {}
        for node_id, state in self.states(st.status >= COMPLETED).items():
            node = net.by_id[node_id]
            nodes[node_id] = NodeMark(status=state, count=counts.get(node_id, 0), limit=node.max_iter, note="")
        for firing in st.firings.values():
            if firing.phase in (BACKOFF, SUSPENDED) and (id := net.nodes[firing.node].id) in nodes:
                nodes[id] = msgspec.structs.replace(
                    nodes[id], status="RETRYING" if firing.phase == BACKOFF else "WAITING"
                )
        return Marks(tokens=tokens(st, net), nodes=nodes)


def tokens(st: State, net: Compiled) -> dict[str, int]:
    out: dict[str, int] = {}
    for scope in st.scopes.values():
        for place, queue in scope.tokens.items():
            edge = net.edges[place & (MOST - 1)].id
            out[edge] = out.get(edge, 0) + len(queue)
    return out


def _branches(st: State, net: Compiled) -> dict[str, str]:
    """What each condition has decided last (D-X.21)."""
    records = ((net.nodes[no], record) for no, record in st.records.items())
    return {node.id: record.port for node, record in records if node.port is not None and record.status == DONE}


def watch(
    net_of: Callable[[str], Compiled], journal: Iterable[JournalRow], resolve: Callable[[Any], Any] | None = None
) -> Watcher:
    watcher = Watcher(net_of, resolve)
    for row in journal:
        watcher.turn(row.at, F.decode_facts(row.body))
    return watcher
