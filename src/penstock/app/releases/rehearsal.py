"""A counterexample of the soundness check, run by the kernel: no effect is executed, every choice is given."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.drawing.render import Subject
from penstock.app.runs.run_view import RunFold
from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, EFFECT, STATUS, SUSPENDED, Firing
from penstock.kernel.step import advance
from penstock.lang.soundness import ends_each
from penstock.net.compiled import CEdge, CNode, Compiled
from penstock.net.draw import Marks
from penstock.net.draw.marks import NodeMark
from penstock.net.model import Net
from penstock.net.soundness import Verdict, explain, verdicts
from penstock.net.soundness import verdict as verdict_of

_MOST = 2_000  # turns of one rehearsal


class RehearsalResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends that takes the choices of a verdict. `stuck` names the nodes before which tokens are left, `ends`
    counts how often an end was reached, `fired` is what ran, in its order."""

    status: str
    code: str | None
    fired: list[str]
    stuck: list[str]
    ends: int
    tokens: dict[str, int]

    @property
    def shows(self) -> bool:
        """Whether the kernel confirms the verdict of the checker."""
        return self.code == "DEADLOCK" or self.status != "COMPLETED" or self.ends > 1 or bool(self.tokens)

    def ending(self) -> str:
        if self.code == "DEADLOCK":
            return f"the run cannot go on: tokens are left before {', '.join(f'«{id}»' for id in self.stuck)}"
        return f"the run is {self.status} after {len(self.fired)} firings and reached an end {self.ends} times"


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A level of a net that is not sound, or of which nobody knows: the run itself, or a sub-process."""

    scope: str
    found: Verdict
    way: list[str]
    subject: Subject
    rehearsed: RehearsalResult | None

    def told(self) -> dict[str, Any]:
        return {
            "scope": self.scope, "verdict": self.found.status, "why": self.found.why, "way": self.way,
            "path": [{"node": step.node, "edges": list(step.edges)} for step in self.found.trace],
            "held": list(self.found.held), "nodes": list(self.found.nodes),
            "rehearsed": msgspec.to_builtins(self.rehearsed),
        }  # fmt: skip


def judge_levels(net: Net) -> list[Level]:
    """Every level that is not known to be sound, with its counterexample run once by the kernel."""
    levels = []
    for scope, quick in verdicts(net, each=ends_each(net)).items():
        if quick.status == "sound":
            continue
        verdict = counterexample(net, scope) if quick.status == "unsound" else quick
        verdict = verdict if verdict.status == quick.status else quick
        rehearsed = rehearse(net, verdict) if verdict.trace and not scope else None
        subject = Subject(net, path_marks(net, verdict), net.name)
        levels.append(
            Level(scope=scope, found=verdict, way=path_text(net, verdict), subject=subject, rehearsed=rehearsed)
        )
    return levels


def counterexample(net: Net, scope: str = "") -> Verdict:
    """The verdict with every node of its path: found without reductions."""
    return verdict_of(net, scope, reductions=False, each=ends_each(net))


def rehearse(net: Net, verdict: Verdict) -> RehearsalResult:
    return _Rehearsal(net, verdict).whole()


def path_marks(net: Net, verdict: Verdict) -> Marks:
    """The marking at the end of the path: where tokens are held, and what has run."""
    taken: dict[str, int] = {}
    nodes = {}
    for step in verdict.trace:
        nodes[step.node] = NodeMark(status="done")
        for edge in step.edges:
            taken[edge] = taken.get(edge, 0) + 1
    for id in verdict.nodes:
        nodes[id] = NodeMark(status="failed")
    return Marks(tokens=dict.fromkeys(verdict.held, 1), nodes=nodes, taken=taken)


def path_text(net: Net, verdict: Verdict) -> list[str]:
    """The path in the author's names, one line per node, then the explanation."""
    names = {node.id: node.label or node.origin or node.id for node in net.nodes}
    edges = {edge.id: edge for edge in net.edges}
    lines = []
    for step in verdict.trace:
        if names.get(step.node, "").startswith("."):  # no author has drawn it
            continue
        to = ", ".join(f"«{edges[id].label or names[edges[id].dst]}»" for id in step.edges if id in edges)
        lines.append(f"«{names.get(step.node, step.node)}»" + (f" → {to}" if to else ""))
    return [*lines, explain(net, verdict)]


class _Forced:
    """A guard that holds where the path takes its edge."""

    def __init__(self, edge: CEdge, choices: dict[tuple[str, int], frozenset[str]]) -> None:
        self.edge, self.choices = edge, choices

    def run(self, view: Any) -> bool:
        chosen = self.choices.get((self.edge.src.id, view["visit"]))
        return True if chosen is None else self.edge.id in chosen


class _Rehearsal:
    def __init__(self, net: Net, verdict: Verdict) -> None:
        self.net = Compiled(net)
        self.choices: dict[tuple[str, int], frozenset[str]] = {}
        visits: dict[str, int] = {}
        for step in verdict.trace:
            visits[step.node] = visits.get(step.node, 0) + 1
            self.choices[step.node, visits[step.node]] = frozenset(step.edges)
        chosen = {node for node, _ in self.choices}
        for edge in self.net.edges:
            if edge.src.id in chosen and (edge.guard is not None or edge.default):
                edge.default = False
                edge.guard = _Forced(edge, self.choices)  # type: ignore[assignment]
        self.run = Run.fresh(self.net)
        self.fold = RunFold(lambda _: self.net, lambda value: value)
        self.fired: list[str] = []
        self.now = 0

    def whole(self) -> RehearsalResult:
        self._do(C.start("rehearsal", {}))
        for _ in range(_MOST):
            command = self._next()
            if command is None:
                break
            self._do(command)
        return self._told()

    def _do(self, command: C.Command) -> None:
        self.run, facts = advance(self.run, [command], self.now, lambda: self.run)
        lines = self.fold.turn(self.now, facts)
        self.fired += [line.node for line in lines if line.fact == "fired"]

    def _next(self) -> C.Command | None:
        st = self.run.st
        if st.status >= COMPLETED:
            return None
        for firing in st.firings.values():
            node = self.net.nodes[firing.node]
            command = self._answer(firing, node)
            if command is not None:
                return command
        return None

    def _answer(self, firing: Firing, node: CNode) -> C.Command | None:
        """The command that lets this firing leave by the port that the path takes."""
        port = self._port(node, firing.visit)
        for trigger in node.spec.triggers if port != "done" else ():
            if trigger.port == port and trigger.kind == "signal":
                return C.signal("", trigger.name)
            if trigger.port == port and trigger.kind == "timer":
                self.now = max([self.now, *(timer.due for timer in self.run.st.timers.values())])
                return C.tick()
        if firing.phase == EFFECT:
            row = next((handler for handler in node.spec.on_error if handler.action == f"port:{port}"), None)
            if row is not None or port == "failed":
                code = row.match if row is not None and row.match != "*" else "REHEARSED"
                return C.failed(firing.no, firing.attempt, Failure(code, "permanent", "rehearsed", node.id))
            return C.done(firing.no, firing.attempt)
        if firing.no in self.run.st.items and firing.phase == SUSPENDED:
            item = self.run.st.items[firing.no]
            return C.work(firing.no, "approve" if item.status == "SUBMITTED" else "submit", "rehearsal", {})
        if firing.phase == SUSPENDED and node.spec.triggers:
            first = node.spec.triggers[0]
            if first.kind == "signal":
                return C.signal("", first.name)
            if first.kind == "condition":
                return C.resolve(firing.no, None)
            self.now = max([self.now, *(timer.due for timer in self.run.st.timers.values())])
            return C.tick()
        return None

    def _port(self, node: CNode, visit: int) -> str:
        chosen = self.choices.get((node.id, visit))
        ports = {edge.port for edge in self.net.edges if chosen is not None and edge.id in chosen}
        return next(iter(ports)) if len(ports) == 1 else "done"

    def _told(self) -> RehearsalResult:
        st = self.run.st
        held = self.fold.marks().tokens
        leaving = {edge.src.id for edge in self.net.edges}
        ends = sum(1 for id in self.fired if id not in leaving and not self.net.by_id[id].spec.off_path)
        incidents = [str(incident[0]) for incident in st.incidents]
        code = st.failure.code if st.failure is not None else "DEADLOCK" if "DEADLOCK" in incidents else None
        target = {edge.id: edge.dst.id for edge in self.net.edges}
        stuck = list(dict.fromkeys(target[id] for id in held if id in target))
        return RehearsalResult(
            status=STATUS[st.status], code=code, fired=self.fired, stuck=stuck, ends=ends, tokens=dict(held)
        )
