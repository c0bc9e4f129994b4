"""Lowers a workflow to a net: each node to the fragment of its type, each edge and goto to edges."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.decision.checks import check_workflow
from penstock.lang.decision.compensation_wiring import wire_compensations
from penstock.lang.decision.expression_literals import expression_literal
from penstock.lang.decision.graph import WorkflowGraph, alternatives, gotos
from penstock.lang.decision.host_policies import host_policies
from penstock.lang.decision.lowering_context import LoweringContext, SharedContext
from penstock.lang.decision.nodes import NODE_TYPES
from penstock.lang.decision.nodes.approval import ApprovalFields
from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.contract import Fragment
from penstock.lang.decision.nodes.deploy import DeployFields
from penstock.lang.decision.nodes.fragments import needs_wrapper
from penstock.lang.decision.nodes.judgment import JudgmentFields
from penstock.lang.decision.nodes.parallel import ParallelFields
from penstock.lang.decision.nodes.switch import SwitchFields
from penstock.lang.decision.prefetch_and_output import output_check, prefetch_node
from penstock.lang.decision.symbols import SymbolTable
from penstock.lang.decision.workflow import Workflow, WorkflowEdge, WorkflowNode
from penstock.lang.report import Report, did_you_mean
from penstock.net.model import MERGE, Declares, Edge, Net, Node

_DECISIONS = ("normal", "warning", "critical", "unknown")
_STATES = ("succeeded", "skipped", "failed", "always")


def lower(workflow: Workflow, report: Report, setting: Setting) -> Lowered | None:
    lowering = _Lowering(workflow, report, setting)
    lowering.shared.symbols.check(report)
    net = lowering.lower_all()
    check_workflow(workflow, lowering.graph, lowering.shared, net)
    return Lowered(net, lowering.shared.children)


def dependencies_of(workflow: Workflow, report: Report) -> list[tuple[str, str, str]]:
    """What the workflow needs registered at its tenant: type, id and JSON pointer, each once."""
    lowering = _Lowering(workflow, report, Setting())
    lowering.lower_all()
    return list(dict.fromkeys(lowering.shared.dependencies))


class _Lowering:
    """One workflow while it becomes a net: fragments by node id, then the edges between them."""

    def __init__(self, workflow: Workflow, report: Report, setting: Setting) -> None:
        self.workflow, self.graph = workflow, WorkflowGraph(workflow)
        self.shared = SharedContext(workflow, SymbolTable(workflow), report, setting, following=self.graph.out)
        self.fragments: dict[str, Fragment] = {}
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.places: dict[str, Place] = {}
        self.edge_ids: Counter[str] = Counter()  # how often an edge id was given: a second one gets a number
        self.contexts: dict[str, LoweringContext] = {}
        self.edge_conditions: dict[str, str | None] = {}  # pointer of an edge → its expression
        self.edges_from: dict[str, list[WorkflowEdge]] = {}
        for edge in workflow.edges:
            self.edges_from.setdefault(edge.src, []).append(edge)

    def lower_all(self) -> Net:
        prefetch = prefetch_node(self.workflow, self.shared)
        self.shared.result_names = _result_names(self.workflow)
        self.lower_nodes()
        self.lower_edges()
        self.nodes = wire_compensations(self.workflow, self.fragments, self.contexts, self.nodes)
        if prefetch is not None:
            self._put_first(prefetch)
        nodes, edges = output_check(self.workflow, self.shared, self._exits())
        for node in nodes:
            self._add(node, "/output_schema")
        self.edges += edges
        self.places |= {edge.id: self._place("/output_schema") for edge in edges}
        return self._net()

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def lower_nodes(self) -> None:
        uses = Counter(self.graph.fallbacks.values())
        for id, node in self.workflow.nodes.items():
            if id in uses and not self.graph.leads_to(id):
                continue  # it runs only as the fallback of another
            self._lower_node(
                LoweringContext(
                    node, self.shared, self._scope(id), wrapped=self._wrapped(id), fallback=self._has_fallback(id)
                )
            )
        for id, fallback_id in self.graph.fallbacks.items():
            if id not in self.fragments:
                continue
            used_once = uses[fallback_id] == 1 and not self.graph.leads_to(fallback_id)
            as_id = "" if used_once else f"{id}.fallback"
            node = self.workflow.nodes[fallback_id]
            context = LoweringContext(
                node, self.shared, self._scope(id), as_id=as_id, wrapped=needs_wrapper(node.fields, node.type)
            )
            self._connect_fallback(id, self._lower_node(context))
        for id, node in self.workflow.nodes.items():
            if isinstance(node.fields, ParallelFields):
                self._set_branch_entries(self.fragments[id].core)

    def _wrapped(self, id: str) -> bool:
        node = self.workflow.nodes[id]
        return self._has_fallback(id) or needs_wrapper(node.fields, node.type)

    def _has_fallback(self, id: str) -> bool:
        return id in self.graph.fallbacks

    def _scope(self, id: str) -> str:
        """The PARALLEL around a node. Of a wrapped one the inner node holds the branches."""
        member = self.graph.members.get(id)
        if member is None:
            return ""
        return f"{member.parallel}.do" if self._wrapped(member.parallel) else member.parallel

    def _lower_node(self, context: LoweringContext) -> Fragment:
        workflow_node = context.node
        for workflow_edge in self.edges_from.get(workflow_node.id, ()):
            self._read_condition(context, workflow_edge)
        lower_type = NODE_TYPES[workflow_node.type.name].lower
        fragment = self.fragments[context.id] = lower_type(workflow_node.fields, context)
        self.contexts[context.id] = context
        for node in fragment.nodes:
            self._add(node, workflow_node.pointer)
        for edge in fragment.edges:
            self.edges.append(edge)
            self.places[edge.id] = self._place(workflow_node.pointer)
        return fragment

    def _read_condition(self, context: LoweringContext, edge: WorkflowEdge) -> None:
        """An edge's condition is evaluated when its source has settled; what it reads from outside is fetched first."""
        when = edge.fields.when
        if when is None or isinstance(context.node.fields, SwitchFields | CompensationFields):
            return
        words = _outcome_words(context.node)
        if when in words:
            return
        if when.isidentifier() and when not in self.shared.symbols.known:
            hint = did_you_mean(when, words, "")
            if hint.endswith("?"):
                message = f"«{when}» is no outcome of «{context.node.id}» and the name of nothing else."
                context.error_once_at("unresolved_reference", message, f"{edge.pointer}/when", hint=hint)
                return
        self.edge_conditions[edge.pointer] = context.expression_at(when, f"{edge.pointer}/when", "output")

    def _add(self, node: Node, pointer: str) -> None:
        self.nodes[node.id] = node
        self.places[node.id] = self._place(pointer)

    def _place(self, pointer: str) -> Place:
        return self.shared.report.document.place(pointer)

    def _set_branch_entries(self, id: str) -> None:
        """A branch begins where its first member's fragment does."""
        node = self.nodes[id]
        assert node.body is not None
        branches = tuple(
            msgspec.structs.replace(
                branch, entry=self.fragments[branch.entry].entry if branch.entry in self.fragments else ""
            )
            for branch in node.body.branches
        )
        branches = tuple(branch for branch in branches if branch.entry)
        self.nodes[id] = msgspec.structs.replace(node, body=msgspec.structs.replace(node.body, branches=branches))

    def _connect_fallback(self, id: str, fallback: Fragment) -> None:
        """C-76: the fallback runs instead, and its output is also the output of the node it replaces."""
        core, place = self.fragments[id].core, self.workflow.nodes[id].pointer
        self._edge(core, fallback.entry, port="fallback", place=place, label="fallback")
        self._edge(fallback.exit, id, place=place, var="output", inside=True)

    # -- edges ---------------------------------------------------------------------------------------------------------

    def lower_edges(self) -> None:
        leaving: dict[str, list[WorkflowEdge]] = {}
        for edge in self.workflow.edges:
            if self._is_lowered(edge):
                leaving.setdefault(edge.src, []).append(edge)
        for id, node in self.workflow.nodes.items():
            if id not in self.fragments or isinstance(node.fields, CompensationFields):
                continue
            edges = leaving.get(id, [])
            if isinstance(node.fields, SwitchFields):
                self._lower_switch_edges(node, node.fields, edges)
            else:
                self._lower_edges_of(node, edges)
        for branch in self.graph.branches:
            for before, after in zip(branch, branch[1:], strict=False):
                explicit = any(edge.src == before and edge.dst == after for edge in self.workflow.edges)
                fields = self.workflow.nodes[before].fields
                if explicit or isinstance(fields, SwitchFields) or {before, after} - self.fragments.keys():
                    continue
                place = self.workflow.nodes[before].pointer
                self._edge(self.fragments[before].exit, after, place=place)
                self._continue_when_rejected(before, after, place)

    def _is_lowered(self, edge: WorkflowEdge) -> bool:
        """Edges that cross a branch or lead to a compensation are left out; the checks report them."""
        if edge.dst not in self.fragments or isinstance(self.workflow.nodes[edge.dst].fields, CompensationFields):
            return False
        return self._branch(edge.src) == self._branch(edge.dst)

    def _branch(self, id: str) -> tuple[str, str]:
        member = self.graph.members.get(id)
        return (member.parallel, member.branch) if member is not None else ("", "")

    def _lower_switch_edges(self, node: WorkflowNode, f: SwitchFields, edges: list[WorkflowEdge]) -> None:
        """C-39: the gotos decide; an edge to one of them only adds its priority. C-14: a switch without a match takes
        the edge without a label, or its path ends with a warning."""
        edge_to = {edge.dst: edge for edge in edges}
        exit = self.fragments[node.id].exit
        for goto in dict.fromkeys(gotos(node)):
            if self.graph.is_end(goto):
                target = self._end(node)
            elif goto in self.fragments and self._branch(goto) == self._branch(node.id):
                target = goto
            else:
                continue
            edge = edge_to.get(goto)
            self._edge(
                exit, target, guard=f"output != null && fn.contains(output.goto, {expression_literal(goto)})",
                label=_label(f, goto), place=edge.pointer if edge is not None else node.pointer,
                priority=edge.fields.priority if edge is not None else None,
            )  # fmt: skip
        others = [edge for edge in edges if edge.dst not in gotos(node) and _is_default_edge(f, edge)]
        for edge in others:
            guard = "output == null || fn.is_empty(output.goto)"
            priority, label = edge.fields.priority, edge.fields.when or ""
            self._edge(exit, edge.dst, guard=guard, place=edge.pointer, label=label, priority=priority)
        if not others and f.default is None:
            end = Node(
                id=f"{node.id}.no_match", kind="end", type="END", origin=node.id, scope=self.contexts[node.id].scope,
                ends="warn:SWITCH_NO_MATCH",
            )  # fmt: skip
            self._add(end, node.pointer)
            self._edge(exit, end.id, guard="output != null && fn.is_empty(output.goto)", place=node.pointer)

    def _lower_edges_of(self, node: WorkflowNode, edges: list[WorkflowEdge]) -> None:
        fragment = self.fragments[node.id]
        for edge in edges:
            self._lower_edge(node, fragment, edge)
        for target in alternatives(node):
            if target in self.fragments and self._branch(target) == self._branch(node.id):
                self._edge(fragment.core, target, port="alternative", place=node.pointer, label="timeout")
            elif self.graph.is_end(target):
                self._edge(fragment.core, self._end(node), port="alternative", place=node.pointer, label="timeout")
        if isinstance(node.fields, ApprovalFields):
            self._cancel_when_rejected(node, fragment, edges)

    def _lower_edge(self, node: WorkflowNode, fragment: Fragment, edge: WorkflowEdge) -> None:
        when, id = edge.fields.when, node.id
        settings: dict[str, Any] = {"place": edge.pointer, "priority": edge.fields.priority, "label": when or ""}
        if when in ("failed", "always"):
            for src, port in fragment.ports.get("failed", ()):
                self._edge(src, edge.dst, port=port, **settings)
        if when in (None, "succeeded", "skipped", "always"):
            guard = f"{id}.status == '{when}'" if when in ("succeeded", "skipped") else None
            self._edge(fragment.exit, edge.dst, guard=guard, **settings)
        if when in ("always",) and isinstance(node.fields, ApprovalFields):
            self._edges_from_ports(fragment, ("rejected", "timeout"), edge.dst, settings)
        if when == "always" and isinstance(node.fields, DeployFields):
            self._edges_from_ports(fragment, ("rolled_back",), edge.dst, settings)
        if when is None:
            self._continue_when_rejected(id, edge.dst, edge.pointer)
        if when is None or when in _STATES:
            return
        if when not in _outcome_words(node):
            text = self.edge_conditions.get(edge.pointer)
            if text is not None:
                self._edge(fragment.exit, edge.dst, guard=text, **settings)
        elif when in ("rejected", "timeout") or when in fragment.ports:
            self._edges_from_ports(fragment, (when,), edge.dst, settings)
        else:
            field = "decision" if isinstance(node.fields, JudgmentFields) else "status"
            self._edge(fragment.exit, edge.dst, guard=f"output.{field} == '{when}'", **settings)

    def _edges_from_ports(
        self, fragment: Fragment, outcomes: tuple[str, ...], dst: str, settings: dict[str, Any]
    ) -> None:
        for outcome in outcomes:
            for src, port in fragment.ports.get(outcome, ()):
                self._edge(src, dst, port=port, **settings)

    def _continue_when_rejected(self, id: str, dst: str, place: str) -> None:
        """C-40: `on_reject: continue` goes on as if it had been approved, unless an edge takes the rejection."""
        node = self.workflow.nodes[id]
        if not isinstance(node.fields, ApprovalFields) or node.fields.on_reject != "continue":
            return
        if not any(edge.src == id and edge.fields.when in ("rejected", "always") for edge in self.workflow.edges):
            settings: dict[str, Any] = {"place": place, "label": "rejected"}
            self._edges_from_ports(self.fragments[id], ("rejected",), dst, settings)

    def _cancel_when_rejected(self, node: WorkflowNode, fragment: Fragment, edges: list[WorkflowEdge]) -> None:
        """C-40: a rejection that no edge takes cancels the run."""
        assert isinstance(node.fields, ApprovalFields)
        handled = any(edge.fields.when in ("rejected", "always") for edge in edges)
        if handled or node.fields.on_reject == "continue":
            return
        end = Node(
            id=f"{node.id}.rejected", kind="end", type="END", origin=node.id, scope=self.contexts[node.id].scope,
            ends="cancel:REJECTED",
        )  # fmt: skip
        self._add(end, node.pointer)
        self._edges_from_ports(fragment, ("rejected",), end.id, {"place": node.pointer, "label": "rejected"})

    def _end(self, node: WorkflowNode) -> str:
        """C-12: the end of a path; in a branch the end of the branch."""
        scope = self.contexts[node.id].scope
        id = f"{scope}.end" if scope else "end"
        if id not in self.nodes:
            self._add(Node(id=id, kind="end", type="END", scope=scope, join=MERGE), node.pointer)
        return id

    def _edge(
        self, src: str, dst: str, *, place: str, port: str = "done", guard: str | None = None, label: str = "",
        priority: int | None = None, var: str = "", inside: bool = False,
    ) -> None:  # fmt: skip
        target = self.fragments[dst].entry if dst in self.fragments and not inside else dst
        base = f"{src}{'' if port == 'done' else ':' + port}>{target}"
        self.edge_ids[base] += 1
        id = base if self.edge_ids[base] == 1 else f"{base}#{self.edge_ids[base]}"
        edge = Edge(id=id, src=src, dst=target, port=port, guard=guard, label=label, var=var)
        self.edges.append(edge if priority is None else msgspec.structs.replace(edge, priority=priority))
        self.places[id] = self._place(place)

    # -- start and end -------------------------------------------------------------------------------------------------

    def _put_first(self, node: Node) -> None:
        """Every start of the workflow comes after this node."""
        starts = [self.fragments[id].entry for id in self.graph.starts() if id in self.fragments]
        self.nodes = {node.id: node, **self.nodes}
        self.places[node.id] = self._place("/context/aas_context")
        for entry in starts:
            self._edge(node.id, entry, place="/context/aas_context", inside=True)

    def _exits(self) -> list[tuple[str, str]]:
        """Where paths of the run can end: every node outside of branches, by every port that ends one."""
        exits = []
        for id, fragment in self.fragments.items():
            node = self.contexts[id].node
            if self.contexts[id].scope or isinstance(node.fields, CompensationFields):
                continue
            exits.append((fragment.exit, "done"))
            if isinstance(node.fields, ApprovalFields) and node.fields.on_reject == "continue":
                exits += fragment.ports["rejected"]
            if alternatives(node):
                exits.append((fragment.core, "alternative"))
        return exits

    # -- the net -------------------------------------------------------------------------------------------------------

    def _net(self) -> Net:
        top, context = self.workflow.top, self.workflow.context
        undo = self.workflow.policies.compensation
        return Net(
            name=top.id or "workflow",
            language="decision",
            nodes=tuple(self.nodes.values()),
            edges=tuple(self.edges),
            undo_policy="continue" if undo is not None and undo.continue_on_error else "stop",
            active_timeout_ms=self.workflow.policies.timeout_ms,
            declares=Declares(
                variables=context.variables,
                input_schema=top.input_schema,
                version=top.version or 0,
                carries=tuple(sorted(self.shared.carried)),
                secrets={name: ref for name, ref in context.secrets.items() if isinstance(ref, str)},
                policies=host_policies(self.workflow),
            ),
            source_map=self.places,
        )


def _outcome_words(node: WorkflowNode) -> tuple[str, ...]:
    """C-39: words of outcomes come before expressions."""
    if isinstance(node.fields, ApprovalFields):
        return (*_STATES, "approved", "rejected", "timeout", "escalated")
    if isinstance(node.fields, DeployFields):
        return (*_STATES, "rolled_back")
    return (*_STATES, *_DECISIONS) if isinstance(node.fields, JudgmentFields) else _STATES


def _result_names(workflow: Workflow) -> frozenset[str] | None:
    """C-67: with an output schema the run's result has its properties; without, all outputs."""
    schema = workflow.top.output_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return frozenset(properties) if isinstance(properties, dict) and properties else None


def _label(f: SwitchFields, goto: str) -> str:
    for case in f.cases:
        if case.goto == goto:
            return case.label or (case.condition or "" if case.value is None else str(case.value).lower())
    return f.default.label or "default" if f.default is not None else ""


def _is_default_edge(f: SwitchFields, edge: WorkflowEdge) -> bool:
    """Is this the edge that a switch takes when no case matched?"""
    return edge.fields.when is None or edge.fields.when == "default" and f.default is None
