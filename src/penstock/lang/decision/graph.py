"""The effective graph of a workflow (C-20, C-21): edges, gotos, branch order, alternatives; who stands where."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.parallel import ParallelFields
from penstock.lang.decision.nodes.switch import SwitchFields
from penstock.lang.decision.nodes.wait import WaitFields
from penstock.lang.decision.schema import Workflow, WorkflowNode

END = "end"


@dataclass(frozen=True)
class Member:
    """A node of a branch."""

    parallel: str
    branch: str
    position: int


@dataclass
class WorkflowGraph:
    workflow: Workflow
    members: dict[str, Member] = field(default_factory=dict)
    branches: list[list[str]] = field(default_factory=list)  # ids of the nodes that exist, per branch
    fallbacks: dict[str, str] = field(default_factory=dict)  # node → the one that stands in for it
    out: dict[str, set[str]] = field(default_factory=dict)

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.members, self.branches, self.fallbacks = {}, [], {}
        for node in workflow.nodes.values():
            self._read(node)
        self.out = {id: set() for id in workflow.nodes}
        undoing = {id for id, node in workflow.nodes.items() if isinstance(node.fields, CompensationFields)}
        for way in workflow.edges:
            back = way.src in self.members and self.members[way.src].parallel == way.dst  # that is what the join does
            if not back and not {way.src, way.dst} & undoing:
                self._way(way.src, way.dst)
        for id, node in workflow.nodes.items():
            for target in (*gotos(node), *alternatives(node)):
                self._way(id, target)
        for branch in self.branches:
            for before, after in zip(branch, branch[1:], strict=False):
                self._way(before, after)
            if branch:
                self._way(self.members[branch[0]].parallel, branch[0])

    def _read(self, node: WorkflowNode) -> None:
        nodes = self.workflow.nodes
        if isinstance(node.fields, ParallelFields):
            for one in node.fields.branches:
                kept = [id for id in (one.nodes if one is not None else []) if id in nodes and id not in self.members]
                for position, id in enumerate(kept):
                    self.members[id] = Member(node.id, one.id, position)
                self.branches.append(kept)
        breaker = node.fields.circuit_breaker or (self.workflow.policies.circuit_breaker if node.type.effect else None)
        if breaker is not None and breaker.on_open is not None and breaker.on_open.action == "fallback":
            target = breaker.on_open.fallback_node
            if breaker.enabled and target in nodes and target != node.id and nodes[target].type.effect:
                self.fallbacks[node.id] = target

    def _way(self, src: str, dst: str) -> None:
        if src in self.out and dst in self.out:
            self.out[src].add(dst)

    def leads_to(self, id: str) -> bool:
        """Does a way of the author lead there, or a branch?"""
        return id in self.members or any(id in targets for targets in self.out.values())

    def is_end(self, goto: str) -> bool:
        """C-12: `end` ends the path, unless a node has that name."""
        return goto == END and END not in self.workflow.nodes

    def starts(self) -> list[str]:
        """C-21: no way leads there, and nothing else runs them."""
        led = {target for targets in self.out.values() for target in targets}
        inner = {*self.members, *self.fallbacks.values()}
        return [
            id for id, node in self.workflow.nodes.items()
            if id not in led and id not in inner and not isinstance(node.fields, CompensationFields)
        ]  # fmt: skip

    def cycle(self) -> list[str]:
        """The nodes of one cycle, in order; empty when there is none."""
        state: dict[str, int] = {}
        for root in self.out:
            if root in state:
                continue
            path: list[str] = []
            todo: list[tuple[str, bool]] = [(root, False)]
            while todo:
                id, left = todo.pop()
                if left:
                    path.pop()
                    state[id] = 2
                    continue
                if state.get(id) == 2:
                    continue
                if state.get(id) == 1:
                    return path[path.index(id) :]
                state[id] = 1
                path.append(id)
                todo.append((id, True))
                for target in sorted(self.out[id]):
                    if state.get(target) == 1:
                        return path[path.index(target) :]
                    if state.get(target) != 2:
                        todo.append((target, False))
        return []


def gotos(node: WorkflowNode) -> list[str]:
    f = node.fields
    if not isinstance(f, SwitchFields):
        return []
    found = [one.goto for one in f.cases if one is not None and one.goto]
    return [*found, f.default.goto] if f.default is not None and f.default.goto else found


def alternatives(node: WorkflowNode) -> list[str]:
    f = node.fields
    if isinstance(f, WaitFields) and f.timeout is not None and f.timeout.on_timeout == "alternative_path":
        return [f.timeout.goto] if f.timeout.goto else []
    return []
