"""The view of a run: its status, its firings, what it waits for, in the words of its document's language."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.runs.attempts import AttemptHistory
from penstock.dialects import dialect_of
from penstock.dialects.contract import Words
from penstock.dialects.net_nodes import goes_on, inner_names, is_companion, is_synthetic
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine, FactReader, failure_dict, firing_of
from penstock.kernel.state import BACKOFF, COMPLETED, DONE, EFFECT, PHASE, RUN, STATUS, SUSPENDED, Firing, State
from penstock.net.author import author, stem, within
from penstock.net.compiled import MOST, CNode, Compiled
from penstock.store.run_store import JournalRow

if TYPE_CHECKING:  # imported by those who draw: a command that only lists runs is quick
    from penstock.net.draw.marks import Marks

_UNIT = {"done": "SUCCEEDED", "failed": "FAILED", "skipped": "SKIPPED", "interrupted": "CANCELLED"}
_PHASE_UNIT = ("RUNNING", "RUNNING", "RETRYING", "WAITING", "RUNNING", "RUNNING")


class FiringView(msgspec.Struct, omit_defaults=True):
    """A firing of the author's node. One for an item of a batch has the item's `scope`."""

    node: str
    status: str
    epoch: int
    iteration: int
    attempt: int
    started_at: int = 0
    ended_at: int | None = None
    scope: str = ""
    type: str = ""


class PendingWait(msgspec.Struct, omit_defaults=True):
    """What a run waits for: a person's answer, a signal, a condition over its data, a moment, an operator, a worker."""

    node: str
    for_: str = msgspec.field(name="for")
    prompt: Any = None
    name: str = ""
    due_at: int | None = None
    run: str = ""  # the run that it called, if that one waits
    draft: Any = None  # what an agent has done, for somebody to approve


class RunView(msgspec.Struct, omit_defaults=False):
    run_id: str
    language: str
    status: str
    output: Any
    firings: list[FiringView]
    waiting: list[PendingWait]
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
    key: str | None = None
    kept: list[str] = []  # names of signals that came before anybody waited for them


class RunFold:
    """Folds a run's facts as they come, and shows the run after any turn."""

    def __init__(self, net_of: Callable[[str], Compiled], resolve: Callable[[Any], Any] | None = None) -> None:
        self.reader = FactReader(net_of)
        self.resolve = resolve or (lambda body: body)
        self.firings: list[FiringView] = []
        self.by_id: dict[str, FiringView] = {}
        self.ids: list[str] = []  # of the firing that each of them stands for now
        self.numbers: dict[str, int] = {}
        self.items: set[int] = set()  # those that are for an item of the author's node
        self.handed: dict[tuple[str, str, int], deque[int]] = {}  # a part is done and another one is to follow
        self.nulls: dict[tuple[str, str], dict[str, Any]] = {}  # parameters of queries that were null
        self.prompts: dict[str, Any] = {}  # what was asked of people, by firing
        self.last_at = 0
        self.first_at = 0
        self.restarted = 0  # firings before the last restart
        self.attempt_history = AttemptHistory()

    def turn(self, at: int, facts: Iterable[Any]) -> list[FactLine]:
        lines = self.reader.turn(at, facts)
        self._seen(at, lines)
        return lines

    def one(self, at: int, fact: Any) -> list[FactLine]:
        """One fact of a turn, for those who look between two of them."""
        lines = self.reader.one(at, fact)
        self._seen(at, lines)
        return lines

    def _seen(self, at: int, lines: list[FactLine]) -> None:
        self.first_at = self.first_at or at
        self.last_at = at
        for line in lines:
            self.attempt_history.tell(line)
            if line.fact == "fired":
                self._fire(line)
            elif line.fact == "settled":
                self._settle(line)
            elif line.fact == "swept":
                for gone in line.data.get("firings", ()):
                    if gone in self.by_id:
                        self.by_id[gone].status, self.by_id[gone].ended_at = "CANCELLED", line.at
            elif line.fact == "work.opened":
                self.prompts[line.data["firing"]] = line.data["prompt"]
            elif line.fact == "undo.step" and line.data["status"] == "EXECUTED":
                self._undone(line.data["entry"])
            elif line.fact == "run.reopened" and line.data["how"] == "restart":
                self.restarted = len(self.firings)
            elif line.fact == "migrated":
                self._rename(line)
            elif line.fact == "revived" and line.data["firing"] in self.by_id:
                firing = self.by_id[line.data["firing"]]
                firing.status, firing.ended_at = "RUNNING", None

    def _rename(self, line: FactLine) -> None:
        """What was done is shown under the names of the version that the run is on."""
        old, new = self.reader.net_of(line.data["was"]), self.reader.net_of(line.data["net"])
        names = {author(old.by_id[a]): author(new.by_id[b]) for a, b in line.data["renamed"].items()}
        for firing in self.firings:
            firing.node = names.get(firing.node, firing.node)

    def _fire(self, line: FactLine) -> None:
        """What the author drew as one node and the net has as several is one firing: a condition and who it asks."""
        net = self.reader.net
        assert net is not None
        node, id = net.by_id[line.node], firing_of(line)
        if is_companion(node):
            return
        waiting = self.handed.get((stem(node), line.scope, line.epoch))
        if waiting:
            number = waiting.popleft()
            self.ids[number] = id
        else:
            number, visit, kind = len(self.firings), line.data["visit"], net.by_id.get(author(node), node).spec.type
            firing = FiringView(author(node), "RUNNING", line.epoch, visit, 1, line.at, None, line.scope, kind)
            self.firings.append(firing)
            self.ids.append(id)
            if within(node) or _undoes(node):
                self.items.add(number)
        self.numbers[id], self.by_id[id] = number, self.firings[number]

    def _settle(self, line: FactLine) -> None:
        net, id = self.reader.net, firing_of(line)
        assert net is not None
        node = net.by_id[line.node]
        if is_companion(node):
            return
        firing = self.by_id[id]
        status, attempt = line.data["status"], line.data["attempt"]
        for name in (line.data.get("meta") or {}).get("null_params", ()):
            self.nulls[firing.node, name] = {
                "code": "NULL_PARAMETER",
                "node": firing.node,
                "detail": {"parameter": name},
            }
        firing.attempt = max(firing.attempt, attempt)
        if not _undoes(node) and goes_on(node, status, line.data.get("port", "done"), undoes="undoes" in line.data):
            self.handed.setdefault((stem(node), line.scope, line.epoch), deque()).append(self.numbers[id])
            return
        firing.status, firing.ended_at = _UNIT[status], line.at

    def _undone(self, entry: int) -> None:
        """Where what undoes it has no node of its own in the document, the node itself shows it."""
        net, st = self.reader.net, self.reader.st
        assert net is not None
        node = net.nodes[st.ledger[entry].node]
        if dialect_of(net.net.language).undo_is_part_of_activity:
            each = [
                firing for n, firing in enumerate(self.firings) if n not in self.items and firing.node == author(node)
            ]
            last = next((firing for firing in reversed(each) if firing.status == "SUCCEEDED"), None)
            if last is not None:
                last.status = "COMPENSATED"

    # -- what people see -----------------------------------------------------------------------------------------------

    def view(self) -> RunView:
        st, net = self.reader.st, self.reader.net
        assert net is not None, "a run that was started has a net"
        language = net.net.language
        unit_words = words_of(language).unit
        status = STATUS[st.status]
        ended = st.status >= COMPLETED
        inner, names = {node.id for node in net.nodes if is_synthetic(node)}, inner_names(net)
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
        return RunView(
            run_id=st.run,
            language=language,
            status=self.word(status),
            output=output,
            firings=[shown for _, shown in self.shown()],
            waiting=self.waiting(),
            failure=self._failure() if st.failure is not None and status != "COMPLETED" else None,
            name=net.net.name,
            nodes={id: _node_word(state, unit_words) for id, state in self.states(ended).items() if id not in inner},
            counters={id: count for id, count in self.counters().items() if id not in inner},
            branches=_branches(st, net),
            warnings=[*self.nulls.values()] + [self._warning(*incident) for incident in st.incidents],
            outputs={k: self.resolve(v) for k, v in st.results.items()},
            tokens=token_counts(st, net),
            variables={name: value for name, value in {**st.vars, **st.names}.items() if name not in names},
            facts=st.n,
            paused=st.paused,
            in_flight=st.asked,
            internal_status=status,
            created_at=self.first_at,
            updated_at=self.last_at,
            parent=st.parent,
            kept=[] if ended else [str(kept[0]) for kept in st.signals.values()],
        )

    def shown(self) -> list[tuple[int, FiringView]]:
        """Every firing of an author's node as people see it, and its number in what is kept."""
        st, net = self.reader.st, self.reader.net
        assert net is not None, "a run that was started has a net"
        words = words_of(net.net.language).unit
        now = {self.reader.firing_id(f): f for f in st.firings.values()}
        inner = {node.id for node in net.nodes if is_synthetic(node)}
        each = enumerate(zip(self.ids, self.firings, strict=True))
        return [(n, self._shown(firing, now.get(id), words)) for n, (id, firing) in each if firing.node not in inner]

    def _failure(self) -> dict[str, Any] | None:
        failure = failure_dict(self.reader.st.failure)
        return failure and {k: self._author(v) if k == "node" else v for k, v in failure.items()}

    def _warning(self, code: str, node: str, detail: Any) -> dict[str, Any]:
        return {"code": code, "node": self._author(node), "detail": detail}

    def _author(self, node: Any) -> Any:
        assert self.reader.net is not None
        known = self.reader.net.by_id.get(node) if isinstance(node, str) else None
        return node if known is None else author(known)

    def _shown(self, shown: FiringView, firing: Firing | None, words: Any) -> FiringView:
        unit = shown.status
        attempt = shown.attempt
        if firing is not None and shown.ended_at is None:
            unit, attempt = _PHASE_UNIT[firing.phase], firing.attempt
        return msgspec.structs.replace(shown, status=words.get(unit, unit), attempt=attempt)

    def states(self, ended: bool) -> dict[str, str]:
        """D-8.1: for people only. Nothing here drives a run."""
        net, st = self.reader.net, self.reader.st
        assert net is not None
        last: dict[str, int] = {}
        for number, fired in enumerate(self.firings):
            if number not in self.items:
                last[fired.node] = number
        now = {self.reader.firing_id(f): f for f in st.firings.values()}
        dialect = dialect_of(net.net.language)
        out: dict[str, str] = {}
        for node in net.nodes:
            if node.spec.origin and node.spec.origin != node.id:
                continue
            unit, runs = None, 0
            if (at := last.get(node.id)) is not None:
                was, firing = self.firings[at], now.get(self.ids[at])
                unit = _PHASE_UNIT[firing.phase] if firing is not None else was.status
                runs = was.iteration
            limit, cyclic = node.max_iter, node.cyclic
            out[node.id] = dialect.node_state(unit, runs=runs, max_iter=limit, cyclic=cyclic, ended=ended)
        return out

    def word(self, status: str) -> str:
        """A status of the house in the words of the run's language."""
        assert self.reader.net is not None
        return run_word(self.reader.net.net.language, status)

    def calls(self) -> tuple[list[str], bool]:
        """The keys of the runs it has called and waits for, and whether that is all it does now."""
        return calls_of(self.reader)

    def waiting(self) -> list[PendingWait]:
        st, net = self.reader.st, self.reader.net
        assert net is not None
        out = []
        for no, firing in st.firings.items():
            node = author(net.nodes[firing.node])
            due = min((st.timers[t].due for t in firing.timers or ()), default=None)
            if firing.blocked:
                out.append(PendingWait(node, "operator"))
            elif no in st.items and PHASE[firing.phase] == "suspended":
                item, prompt = st.items[no], self.prompts.get(self.reader.firing_id(firing))
                draft = self.resolve(item.draft) if item.status == "SUBMITTED" else None
                out.append(PendingWait(node, "person", prompt, due_at=due, draft=draft))
            elif net.nodes[firing.node].job and PHASE[firing.phase] == "effect":
                out.append(PendingWait(node, "worker", name=self._job_type(firing), due_at=due))
            elif awaited := self._awaited(firing, node, due):
                out += awaited
            elif PHASE[firing.phase] == "suspended" and due is not None:
                out.append(PendingWait(node, "time", due_at=due))
        return out

    def _job_type(self, firing: Firing) -> str:
        assert self.reader.net is not None
        node = self.reader.net.nodes[firing.node]
        args = node.effect.args if node.effect is not None and node.args_static else firing.args
        return str(args.get("type") or "") if isinstance(args, dict) else ""

    def _awaited(self, firing: Firing, node: str, due: int | None) -> list[PendingWait]:
        """News, and conditions over the run's data. What polls goes on by itself."""
        assert self.reader.net is not None
        st, spec = self.reader.st, self.reader.net.nodes[firing.node].spec
        if spec.kind != "wait" and not firing.waits or spec.poll is not None:
            return []
        signals = [PendingWait(node, "signal", name=st.waits[w].name, due_at=due) for w in firing.waits or ()]
        conditions = [t.match or "" for t in spec.triggers if t.kind == "condition"] if spec.kind == "wait" else []
        return [*signals, *(PendingWait(node, "condition", name=text, due_at=due) for text in conditions)]

    def counters(self) -> dict[str, int]:
        """How often each node fired in the newest epoch that it has fired in (D-6.1.2), since the last restart."""
        out: dict[str, int] = {}
        epoch: dict[str, int] = {}
        for number, firing in enumerate(self.firings):
            if number in self.items or number < self.restarted:
                continue
            if epoch.setdefault(firing.node, firing.epoch) < firing.epoch:
                epoch[firing.node], out[firing.node] = firing.epoch, 0
            out[firing.node] = out.get(firing.node, 0) + (firing.epoch == epoch[firing.node])
        return out

    def marks(self) -> Marks:
        """The drawing of the net with its tokens."""
        from penstock.net.draw.marks import Marks, NodeMark

        st, net = self.reader.st, self.reader.net
        assert net is not None
        counts = self.counters()
        nodes = {}
        for node_id, state in self.states(st.status >= COMPLETED).items():
            node = net.by_id[node_id]
            nodes[node_id] = NodeMark(status=state, count=counts.get(node_id, 0), limit=node.max_iter, note="")
        for firing in st.firings.values():
            if firing.phase in (BACKOFF, SUSPENDED) and (id := author(net.nodes[firing.node])) in nodes:
                nodes[id] = msgspec.structs.replace(
                    nodes[id], status="RETRYING" if firing.phase == BACKOFF else "WAITING"
                )
        return Marks(tokens=token_counts(st, net), nodes=nodes)


def calls_of(reader: FactReader) -> tuple[list[str], bool]:
    """The keys of the runs that a run has called and waits for, and whether that is all it does now."""
    st, net = reader.st, reader.net
    assert net is not None
    active = [f for f in st.firings.values() if f.phase in (RUN, EFFECT, BACKOFF)]
    calls = [f for f in active if f.phase == EFFECT and net.nodes[f.node].calls]
    return [f"{st.tenant}/{st.run}/{reader.firing_id(f)}" for f in calls], len(calls) == len(active)


def _undoes(node: CNode) -> bool:
    """Is it what undoes an activity, and drawn with it?"""
    own = node.spec.off_path and bool(node.spec.origin)
    return own and dialect_of(node.net.net.language).undo_is_part_of_activity


def _node_word(state: str, words: Mapping[str, str]) -> str:
    """Of a node, in the language's words, as of its firings; one that has not fired yet is to come."""
    return words.get("QUEUED" if state == "PENDING" else state, state)


def words_of(language: str) -> Words:
    return dialect_of(language).words


def run_word(language: str, status: str) -> str:
    """A status of the house in the words of a language."""
    return words_of(language).run.get(status, status)


def token_counts(st: State, net: Compiled) -> dict[str, int]:
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


def fold_journal(
    net_of: Callable[[str], Compiled], journal: Iterable[JournalRow], resolve: Callable[[Any], Any] | None = None
) -> RunFold:
    fold = RunFold(net_of, resolve)
    for row in journal:
        fold.turn(row.at, F.decode_facts(row.body))
    return fold
