"""A workflow becomes a net: every node its type's fragment, every way an edge (KERNEL 4, row decision)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.decision.checks import check_workflow
from penstock.lang.decision.ending import context_ahead, ending, policies_of
from penstock.lang.decision.graph import WorkflowGraph, alternatives, gotos
from penstock.lang.decision.lowering_context import LoweringContext, Shared
from penstock.lang.decision.names import Names
from penstock.lang.decision.nodes.approval import ApprovalFields
from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.contract import Fragment
from penstock.lang.decision.nodes.judgment import JudgmentFields
from penstock.lang.decision.nodes.parallel import ParallelFields
from penstock.lang.decision.nodes.parts import framed_by
from penstock.lang.decision.nodes.switch import SwitchFields
from penstock.lang.decision.schema import Workflow, WorkflowEdge, WorkflowNode
from penstock.lang.decision.texts import text_literal
from penstock.lang.decision.undoing import undoing
from penstock.lang.report import Report
from penstock.net.model import MERGE, Declares, Edge, Net, Node

_DECISIONS = ("normal", "warning", "critical", "unknown")
_STATES = ("succeeded", "skipped", "failed", "always")


def lower(workflow: Workflow, report: Report, setting: Setting) -> Lowered | None:
    lowering = _Lowering(workflow, WorkflowGraph(workflow), Shared(workflow, Names(workflow), report, setting))
    lowering.shared.names.check(report)
    net = lowering.lowered()
    check_workflow(workflow, lowering.graph, lowering.shared, net)
    return Lowered(net)


def shared_of(workflow: Workflow, report: Report, setting: Setting) -> Shared:
    """What lowering a workflow gathers beside its net."""
    lowering = _Lowering(workflow, WorkflowGraph(workflow), Shared(workflow, Names(workflow), report, setting))
    lowering.lowered()
    return lowering.shared


class _Lowering:
    def __init__(self, workflow: Workflow, graph: WorkflowGraph, shared: Shared) -> None:
        self.workflow, self.graph, self.shared = workflow, graph, shared
        self.fragments: dict[str, Fragment] = {}
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.places: dict[str, Place] = {}
        self.taken: Counter[str] = Counter()
        self.sites: dict[str, LoweringContext] = {}
        self.whens: dict[str, str | None] = {}  # pointer of an edge → its expression
        self.out: dict[str, list[WorkflowEdge]] = {}
        for way in workflow.edges:
            self.out.setdefault(way.src, []).append(way)

    def lowered(self) -> Net:
        ahead = context_ahead(self.workflow, self.shared)
        self.shared.shown = _shown(self.workflow)
        self.fragments_of()
        self.ways()
        self.nodes = undoing(self.workflow, self.fragments, self.sites, self.nodes)
        if ahead is not None:
            self._ahead(ahead)
        nodes, edges = ending(self.workflow, self.shared, self._leaving())
        for node in nodes:
            self._add(node, "/output_schema")
        self.edges += edges
        self.places |= {edge.id: self._place("/output_schema") for edge in edges}
        return self.net()

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def fragments_of(self) -> None:
        uses = Counter(self.graph.fallbacks.values())
        for id, step in self.workflow.nodes.items():
            if id in uses and not self.graph.leads_to(id):
                continue  # it runs only where it stands in for another
            self._fragment(
                LoweringContext(step, self.shared, self._scope(id), framed=self._framed(id), fallback=self._stands(id))
            )
        for id, other in self.graph.fallbacks.items():
            if id not in self.fragments:
                continue
            mine = uses[other] == 1 and not self.graph.leads_to(other)
            as_id = "" if mine else f"{id}.fallback"
            step = self.workflow.nodes[other]
            site = LoweringContext(
                step, self.shared, self._scope(id), as_id=as_id, framed=framed_by(step.fields, step.type)
            )
            self._stand_in(id, self._fragment(site))
        for id, step in self.workflow.nodes.items():
            if isinstance(step.fields, ParallelFields):
                self._enter(self.fragments[id].core)

    def _framed(self, id: str) -> bool:
        step = self.workflow.nodes[id]
        return self._stands(id) or framed_by(step.fields, step.type)

    def _stands(self, id: str) -> bool:
        return id in self.graph.fallbacks

    def _scope(self, id: str) -> str:
        """The PARALLEL around a node; framed, it is the inner one that holds the branches."""
        member = self.graph.members.get(id)
        if member is None:
            return ""
        return f"{member.parallel}.do" if self._framed(member.parallel) else member.parallel

    def _fragment(self, site: LoweringContext) -> Fragment:
        step = site.step
        for way in self.out.get(step.id, ()):
            self._read_when(site, way)
        fragment = self.fragments[site.id] = step.type.lower(step.fields, site)
        self.sites[site.id] = site
        for node in fragment.nodes:
            self._add(node, step.pointer)
        for edge in fragment.edges:
            self.edges.append(edge)
            self.places[edge.id] = self._place(step.pointer)
        return fragment

    def _read_when(self, site: LoweringContext, way: WorkflowEdge) -> None:
        """What an edge asks is asked when its source has settled, so what it reads from outside is fetched before."""
        when = way.fields.when
        if when is None or isinstance(site.step.fields, SwitchFields | CompensationFields):
            return
        if self._word(site.step, when):
            return
        self.whens[way.pointer] = site.expression_at(when, f"{way.pointer}/when", "output")

    @staticmethod
    def _word(step: WorkflowNode, when: str) -> bool:
        """C-39: words of outcomes come before expressions."""
        if isinstance(step.fields, ApprovalFields) and when in ("approved", "rejected", "timeout", "escalated"):
            return True
        return when in _STATES or isinstance(step.fields, JudgmentFields) and when in _DECISIONS

    def _add(self, node: Node, pointer: str) -> None:
        self.nodes[node.id] = node
        self.places[node.id] = self._place(pointer)

    def _place(self, pointer: str) -> Place:
        return self.shared.report.document.place(pointer)

    def _enter(self, id: str) -> None:
        """A branch begins where its first member's fragment does."""
        node = self.nodes[id]
        assert node.body is not None
        branches = tuple(
            msgspec.structs.replace(one, entry=self.fragments[one.entry].entry if one.entry in self.fragments else "")
            for one in node.body.branches
        )
        branches = tuple(one for one in branches if one.entry)
        self.nodes[id] = msgspec.structs.replace(node, body=msgspec.structs.replace(node.body, branches=branches))

    def _stand_in(self, id: str, other: Fragment) -> None:
        """C-76: the fallback runs instead, and its output is also the output of the node it stands in for."""
        core, place = self.fragments[id].core, self.workflow.nodes[id].pointer
        self._edge(core, other.entry, port="fallback", place=place, label="fallback")
        self._edge(other.exit, id, place=place, var="output", inside=True)

    # -- edges ---------------------------------------------------------------------------------------------------------

    def ways(self) -> None:
        leaving: dict[str, list[WorkflowEdge]] = {}
        for way in self.workflow.edges:
            if self._belongs(way):
                leaving.setdefault(way.src, []).append(way)
        for id, step in self.workflow.nodes.items():
            if id not in self.fragments or isinstance(step.fields, CompensationFields):
                continue
            mine = leaving.get(id, [])
            if isinstance(step.fields, SwitchFields):
                self._switch(step, step.fields, mine)
            else:
                self._plain(step, mine)
        for branch in self.graph.branches:
            for before, after in zip(branch, branch[1:], strict=False):
                said = any(way.src == before and way.dst == after for way in self.workflow.edges)
                fields = self.workflow.nodes[before].fields
                if said or isinstance(fields, SwitchFields) or {before, after} - self.fragments.keys():
                    continue
                place = self.workflow.nodes[before].pointer
                self._edge(self.fragments[before].exit, after, place=place)
                self._after_rejection(before, after, place)

    def _belongs(self, way: WorkflowEdge) -> bool:
        """An edge never crosses a branch, and a compensation is on no way; the checks tell of one that is."""
        if way.dst not in self.fragments or isinstance(self.workflow.nodes[way.dst].fields, CompensationFields):
            return False
        return self._branch(way.src) == self._branch(way.dst)

    def _branch(self, id: str) -> tuple[str, str]:
        member = self.graph.members.get(id)
        return (member.parallel, member.branch) if member is not None else ("", "")

    def _switch(self, step: WorkflowNode, f: SwitchFields, ways: list[WorkflowEdge]) -> None:
        """C-39: the gotos decide, and an edge to one of them is the same way. C-14: a switch that found nothing goes
        where an edge without a label leads, or its path ends, which is told."""
        drawn = {way.dst: way for way in ways}
        exit = self.fragments[step.id].exit
        for goto in dict.fromkeys(gotos(step)):
            if self.graph.is_end(goto):
                target = self._end(step)
            elif goto in self.fragments and self._branch(goto) == self._branch(step.id):
                target = goto
            else:
                continue
            way = drawn.get(goto)
            self._edge(
                exit, target, guard=f"output != null && fn.contains(output.goto, {text_literal(goto)})",
                label=_label(f, goto), place=way.pointer if way is not None else step.pointer,
                priority=way.fields.priority if way is not None else None,
            )  # fmt: skip
        others = [way for way in ways if way.dst not in gotos(step) and _otherwise(f, way)]
        for way in others:
            guard = "output == null || fn.is_empty(output.goto)"
            priority, label = way.fields.priority, way.fields.when or ""
            self._edge(exit, way.dst, guard=guard, place=way.pointer, label=label, priority=priority)
        if not others and f.default is None:
            end = Node(
                id=f"{step.id}.no_match", kind="end", type="END", origin=step.id, scope=self.sites[step.id].scope,
                ends="warn:SWITCH_NO_MATCH",
            )  # fmt: skip
            self._add(end, step.pointer)
            self._edge(exit, end.id, guard="output != null && fn.is_empty(output.goto)", place=step.pointer)

    def _plain(self, step: WorkflowNode, ways: list[WorkflowEdge]) -> None:
        fragment = self.fragments[step.id]
        for way in ways:
            self._labelled(step, fragment, way)
        for target in alternatives(step):
            if target in self.fragments and self._branch(target) == self._branch(step.id):
                self._edge(fragment.core, target, port="alternative", place=step.pointer, label="timeout")
            elif self.graph.is_end(target):
                self._edge(fragment.core, self._end(step), port="alternative", place=step.pointer, label="timeout")
        if isinstance(step.fields, ApprovalFields):
            self._rejected(step, fragment, ways)

    def _labelled(self, step: WorkflowNode, fragment: Fragment, way: WorkflowEdge) -> None:
        when, id = way.fields.when, step.id
        common: dict[str, Any] = {"place": way.pointer, "priority": way.fields.priority, "label": when or ""}
        if when in ("failed", "always"):
            for node, port in fragment.ports.get("failed", ()):
                self._edge(node, way.dst, port=port, **common)
        if when in (None, "succeeded", "skipped", "always"):
            guard = f"{id}.status == '{when}'" if when in ("succeeded", "skipped") else None
            self._edge(fragment.exit, way.dst, guard=guard, **common)
        if when in ("always",) and isinstance(step.fields, ApprovalFields):
            self._from_ports(fragment, ("rejected", "timeout"), way.dst, common)
        if when is None:
            self._after_rejection(id, way.dst, way.pointer)
        if when is None or when in _STATES:
            return
        if not self._word(step, when):
            text = self.whens.get(way.pointer)
            if text is not None:
                self._edge(fragment.exit, way.dst, guard=text, **common)
        elif when in ("rejected", "timeout"):
            self._from_ports(fragment, (when,), way.dst, common)
        else:
            field = "decision" if isinstance(step.fields, JudgmentFields) else "status"
            self._edge(fragment.exit, way.dst, guard=f"output.{field} == '{when}'", **common)

    def _from_ports(self, fragment: Fragment, outcomes: tuple[str, ...], dst: str, common: dict[str, Any]) -> None:
        for outcome in outcomes:
            for node, port in fragment.ports.get(outcome, ()):
                self._edge(node, dst, port=port, **common)

    def _after_rejection(self, id: str, dst: str, place: str) -> None:
        """C-40: `on_reject: continue` goes on as if it had been approved, unless an edge takes the rejection."""
        step = self.workflow.nodes[id]
        if not isinstance(step.fields, ApprovalFields) or step.fields.on_reject != "continue":
            return
        if not any(way.src == id and way.fields.when in ("rejected", "always") for way in self.workflow.edges):
            common: dict[str, Any] = {"place": place, "label": "rejected"}
            self._from_ports(self.fragments[id], ("rejected",), dst, common)

    def _rejected(self, step: WorkflowNode, fragment: Fragment, ways: list[WorkflowEdge]) -> None:
        """C-40: a rejection that no edge takes cancels the run."""
        assert isinstance(step.fields, ApprovalFields)
        handled = any(way.fields.when in ("rejected", "always") for way in ways)
        if handled or step.fields.on_reject == "continue":
            return
        end = Node(
            id=f"{step.id}.rejected", kind="end", type="END", origin=step.id, scope=self.sites[step.id].scope,
            ends="cancel:REJECTED",
        )  # fmt: skip
        self._add(end, step.pointer)
        self._from_ports(fragment, ("rejected",), end.id, {"place": step.pointer, "label": "rejected"})

    def _end(self, step: WorkflowNode) -> str:
        """C-12: the end of a path; in a branch the end of the branch."""
        scope = self.sites[step.id].scope
        id = f"{scope}.end" if scope else "end"
        if id not in self.nodes:
            self._add(Node(id=id, kind="end", type="END", scope=scope, join=MERGE), step.pointer)
        return id

    def _edge(
        self, src: str, dst: str, *, place: str, port: str = "done", guard: str | None = None, label: str = "",
        priority: int | None = None, var: str = "", inside: bool = False,
    ) -> None:  # fmt: skip
        target = self.fragments[dst].entry if dst in self.fragments and not inside else dst
        base = f"{src}{'' if port == 'done' else ':' + port}>{target}"
        self.taken[base] += 1
        id = base if self.taken[base] == 1 else f"{base}#{self.taken[base]}"
        edge = Edge(id=id, src=src, dst=target, port=port, guard=guard, label=label, var=var)
        self.edges.append(edge if priority is None else msgspec.structs.replace(edge, priority=priority))
        self.places[id] = self._place(place)

    # -- before all, and after all -------------------------------------------------------------------------------------

    def _ahead(self, node: Node) -> None:
        """What the context names is fetched before anything starts."""
        starts = [self.fragments[id].entry for id in self.graph.starts() if id in self.fragments]
        self.nodes = {node.id: node, **self.nodes}
        self.places[node.id] = self._place("/context/aas_context")
        for entry in starts:
            self._edge(node.id, entry, place="/context/aas_context", inside=True)

    def _leaving(self) -> list[tuple[str, str]]:
        """Where paths of the run can end: every node outside of branches, by every port that ends one."""
        found = []
        for id, fragment in self.fragments.items():
            step = self.sites[id].step
            if self.sites[id].scope or isinstance(step.fields, CompensationFields):
                continue
            found.append((fragment.exit, "done"))
            if isinstance(step.fields, ApprovalFields) and step.fields.on_reject == "continue":
                found += fragment.ports["rejected"]
            if alternatives(step):
                found.append((fragment.core, "alternative"))
        return found

    # -- all of it -----------------------------------------------------------------------------------------------------

    def net(self) -> Net:
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
                policies=policies_of(self.workflow),
            ),
            source_map=self.places,
        )


def _shown(workflow: Workflow) -> frozenset[str] | None:
    """C-67: with an output schema the run's result has its properties; without, all outputs."""
    schema = workflow.top.output_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return frozenset(properties) if isinstance(properties, dict) and properties else None


def _label(f: SwitchFields, goto: str) -> str:
    for one in f.cases:
        if one.goto == goto:
            return one.label or (one.condition or "" if one.value is None else str(one.value).lower())
    return f.default.label or "default" if f.default is not None else ""


def _otherwise(f: SwitchFields, way: WorkflowEdge) -> bool:
    """Is this edge where a switch goes that found nothing?"""
    return way.fields.when is None or way.fields.when == "default" and f.default is None
