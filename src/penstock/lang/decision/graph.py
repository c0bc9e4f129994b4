"""The effective graph of a workflow: edges, gotos, branch order and alternatives (C-20, C-21)."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.parallel import ParallelFields
from penstock.lang.decision.nodes.switch import SwitchFields
from penstock.lang.decision.nodes.wait import WaitFields
from penstock.lang.decision.workflow import Workflow, WorkflowNode

END = "end"


@dataclass(frozen=True)
class Member:
    """A node's place in a branch of a PARALLEL."""

    parallel: str
    branch: str
    position: int


@dataclass
class WorkflowGraph:
    """Which nodes lead where, which lie in branches, and which run instead of others."""

    workflow: Workflow
    members: dict[str, Member] = field(default_factory=dict)
    branches: list[list[str]] = field(default_factory=list)  # ids of the nodes that exist, per branch
    fallbacks: dict[str, str] = field(default_factory=dict)  # node → its fallback
    out: dict[str, set[str]] = field(default_factory=dict)

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow
        self.members, self.branches, self.fallbacks = {}, [], {}
        for node in workflow.nodes.values():
            self._add_node(node)
        self.out = {id: set() for id in workflow.nodes}
        compensations = {id for id, node in workflow.nodes.items() if isinstance(node.fields, CompensationFields)}
        for edge in workflow.edges:
            returns_to_join = (
                edge.src in self.members and self.members[edge.src].parallel == edge.dst
            )  # the join does that already
            if not returns_to_join and not {edge.src, edge.dst} & compensations:
                self._connect(edge.src, edge.dst)
        for id, node in workflow.nodes.items():
            for target in (*gotos(node), *alternatives(node)):
                self._connect(id, target)
        for branch in self.branches:
            for before, after in zip(branch, branch[1:], strict=False):
                self._connect(before, after)
            if branch:
                self._connect(self.members[branch[0]].parallel, branch[0])

    def _add_node(self, node: WorkflowNode) -> None:
        nodes = self.workflow.nodes
        if isinstance(node.fields, ParallelFields):
            for branch in node.fields.branches:
                kept = [
                    id for id in (branch.nodes if branch is not None else []) if id in nodes and id not in self.members
                ]
                for position, id in enumerate(kept):
                    self.members[id] = Member(node.id, branch.id, position)
                self.branches.append(kept)
        breaker = node.fields.circuit_breaker or (self.workflow.policies.circuit_breaker if node.type.effect else None)
        if breaker is not None and breaker.on_open is not None and breaker.on_open.action == "fallback":
            target = breaker.on_open.fallback_node
            if breaker.enabled and target in nodes and target != node.id and nodes[target].type.effect:
                self.fallbacks[node.id] = target

    def _connect(self, src: str, dst: str) -> None:
        if src in self.out and dst in self.out:
            self.out[src].add(dst)

    def leads_to(self, id: str) -> bool:
        """Does an edge, a goto or a branch lead to this node?"""
        return id in self.members or any(id in targets for targets in self.out.values())

    def is_end(self, goto: str) -> bool:
        """Does this goto end the path? `end` does, unless a node has that name (C-12)."""
        return goto == END and END not in self.workflow.nodes

    def starts(self) -> list[str]:
        """The nodes where a run begins: nothing leads to them, and nothing else runs them (C-21)."""
        reached = {target for targets in self.out.values() for target in targets}
        inner = {*self.members, *self.fallbacks.values()}
        return [
            id for id, node in self.workflow.nodes.items()
            if id not in reached and id not in inner and not isinstance(node.fields, CompensationFields)
        ]  # fmt: skip

    def cycle(self) -> list[str]:
        """The nodes of one cycle, in order; empty when there is none."""
        state: dict[str, int] = {}
        for root in self.out:
            if root in state:
                continue
            path: list[str] = []
            pending: list[tuple[str, bool]] = [(root, False)]
            while pending:
                id, left = pending.pop()
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
                pending.append((id, True))
                for target in sorted(self.out[id]):
                    if state.get(target) == 1:
                        return path[path.index(target) :]
                    if state.get(target) != 2:
                        pending.append((target, False))
        return []


def gotos(node: WorkflowNode) -> list[str]:
    """The targets of a SWITCH's cases and default."""
    f = node.fields
    if not isinstance(f, SwitchFields):
        return []
    targets = [case.goto for case in f.cases if case is not None and case.goto]
    return [*targets, f.default.goto] if f.default is not None and f.default.goto else targets


def alternatives(node: WorkflowNode) -> list[str]:
    """Where a WAIT goes on a timeout with `alternative_path`."""
    f = node.fields
    if isinstance(f, WaitFields) and f.timeout is not None and f.timeout.on_timeout == "alternative_path":
        return [f.timeout.goto] if f.timeout.goto else []
    return []
