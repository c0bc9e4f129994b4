"""Checks a workflow as a whole (W-9.2): its graph, branches, compensations, switches and timeouts."""

from __future__ import annotations

from typing import Any

from penstock.lang.decision.graph import WorkflowGraph, alternatives, gotos
from penstock.lang.decision.lowering_context import SharedContext
from penstock.lang.decision.node_fields import BreakerFields
from penstock.lang.decision.nodes.approval import ApprovalFields
from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.parallel import ParallelFields
from penstock.lang.decision.nodes.switch import SwitchFields
from penstock.lang.decision.secret_checks import check_secrets
from penstock.lang.decision.triggers import check_trigger
from penstock.lang.decision.workflow import Workflow, WorkflowEdge, WorkflowNode
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean
from penstock.net.checks import check
from penstock.net.model import Net

#: W-9.1.1: after an error of the form the graph is not checked: it would only report consequences.
FORM_RULES = ("missing_field", "wrong_type", "duplicate_field", "bad_id", "unknown_type")


def check_workflow(workflow: Workflow, graph: WorkflowGraph, shared: SharedContext, net: Net) -> None:
    report = shared.report
    check_secrets(workflow, report)
    _check_variables(workflow.context.variables, "/context/variables", report)
    check_trigger(workflow.top.trigger, report)
    _check_targets(workflow, graph, report)
    _check_branches(workflow, graph, report)
    _check_compensations(workflow, graph, report)
    _check_dependencies(shared)
    for node in workflow.nodes.values():
        if isinstance(node.fields, SwitchFields):
            _check_switch_edges(node, node.fields, graph, report)
    _check_timeouts(workflow, report)
    _check_on_failure(workflow, report)
    if not workflow.nodes:
        if workflow.complete:
            report.error("empty_workflow", "The workflow has no nodes.", "/nodes", hint="Write at least one node.")
        return
    if workflow.complete and not any(f.severity == "error" and f.rule in FORM_RULES for f in report.findings):
        _check_graph(workflow, graph, report)
        _check_net(net, report)


# ---- the graph -------------------------------------------------------------------------------------------------------


def _check_graph(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    cycle = graph.cycle()
    if cycle:
        path = " → ".join([*cycle, cycle[0]])
        hint = "A workflow has no loops: retries, polls and escalations repeat inside a node."
        place = workflow.nodes[cycle[0]].pointer
        report.error("no_cycles", f"Workflow contains cycle: {path}", place, hint=hint, node=cycle[0])
        return
    starts = graph.starts()
    if not starts:
        hint = "One node must have no edge that leads to it."
        report.error("no_start_node", "Nothing can begin: no node is without a way that leads to it.", hint=hint)
    orphans = _orphans(workflow, graph)
    if orphans:
        message = f"Orphan nodes: {', '.join(orphans)}"
        place = workflow.nodes[orphans[0]].pointer
        report.error("no_orphan_nodes", message, place, hint="Lead an edge to it, or remove it.", node=orphans[0])
    _check_reachable(workflow, graph, starts, set(orphans), report)


def _orphans(workflow: Workflow, graph: WorkflowGraph) -> list[str]:
    """Nodes that nothing leads to or from, and that nothing else runs (C-20)."""
    fallbacks = set(graph.fallbacks.values())
    nodes = workflow.nodes.values()
    candidates = [n.id for n in nodes if not isinstance(n.fields, CompensationFields) and n.id not in fallbacks]
    if len(candidates) == 1:
        return []
    reached = {target for targets in graph.out.values() for target in targets}
    return [id for id in candidates if not graph.out[id] and id not in reached and id not in graph.members]


def _check_reachable(
    workflow: Workflow, graph: WorkflowGraph, starts: list[str], reported: set[str], report: Report
) -> None:
    reachable, pending = set(starts), list(starts)
    while pending:
        id = pending.pop()
        more = {*graph.out[id], *([graph.fallbacks[id]] if id in graph.fallbacks else [])}
        pending += [target for target in more if target not in reachable]
        reachable |= more
    for id, node in workflow.nodes.items():
        if id not in reachable and id not in reported and not isinstance(node.fields, CompensationFields):
            hint = "Lead an edge to it, or remove it."
            report.error("unreachable_node", f"Nothing can reach «{id}».", node.pointer, hint=hint, node=id)


def _check_targets(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    known = {*workflow.nodes, *workflow.unread}
    for id, node in workflow.nodes.items():
        for target in (*gotos(node), *alternatives(node)):
            if target not in known and not graph.is_end(target):
                _report_missing_target("goto_targets_exist", target, node, known, report, "goto")
        if isinstance(node.fields, CompensationFields):
            target = node.fields.for_node
            if target and target not in known:
                _report_missing_target("compensation_target_exists", target, node, known, report, "for_node")
            elif target == id or isinstance(getattr(workflow.nodes.get(target), "fields", None), CompensationFields):
                hint = "Name a node that does something."
                message = "A compensation cannot undo a compensation."
                report.error(
                    "compensation_target_exists", message, child_pointer(node.pointer, "for_node"), hint=hint, node=id
                )
        _check_fallback(node.fields.circuit_breaker, f"{node.pointer}/circuit_breaker", id, workflow, report)
    _check_fallback(workflow.policies.circuit_breaker, "/policies/circuit_breaker", "", workflow, report)


def _check_fallback(breaker: BreakerFields | None, at: str, id: str, workflow: Workflow, report: Report) -> None:
    """C-76: a fallback must exist, be another node, and have an effect."""
    if breaker is None or breaker.on_open is None or breaker.on_open.action != "fallback":
        return
    target, pointer = breaker.on_open.fallback_node, f"{at}/on_open/fallback_node"
    known = {*workflow.nodes, *workflow.unread}
    if target not in known or target == id:
        hint = did_you_mean(target, known - {id}, "Write the id of another node.")
        itself = bool(target) and target == id
        why = "A node cannot stand in for itself." if itself else f"The fallback «{target}» does not exist."
        report.error("fallback_node_exists", why, pointer, hint=hint, node=id)
    elif target in workflow.nodes and not workflow.nodes[target].type.effect:
        message = f"A {workflow.nodes[target].type.name} cannot stand in for another node."
        hint = "Name a DATA, MCP, JUDGMENT or ACTION node."
        report.error("fallback_node_exists", message, pointer, hint=hint, node=id)


def _report_missing_target(
    rule: str, target: str, node: WorkflowNode, known: set[str], report: Report, field: str
) -> None:
    hint = did_you_mean(target, known, "Write the id of a node of this workflow.")
    report.error(rule, f"«{target}» does not exist.", _target_pointer(node, field, target), hint=hint, node=node.id)


def _target_pointer(node: WorkflowNode, field: str, target: str) -> str:
    """The pointer to where a node names this target."""
    raw = node.raw
    cases = raw.get("cases")
    for i, case in enumerate(cases if isinstance(cases, list) else ()):
        if isinstance(case, dict) and case.get("goto") == target:
            return f"{node.pointer}/cases/{i}/goto"
    for part in ("default", "timeout"):
        inner = raw.get(part)
        if isinstance(inner, dict) and target in inner.values():
            return f"{node.pointer}/{part}"
    return child_pointer(node.pointer, field)


# ---- branches --------------------------------------------------------------------------------------------------------


def _check_branches(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    member_of: dict[str, str] = {}
    for id, node in workflow.nodes.items():
        if not isinstance(node.fields, ParallelFields):
            continue
        for i, branch in enumerate(node.fields.branches):
            for j, member in enumerate(branch.nodes if branch is not None else []):
                at = f"{node.pointer}/branches/{i}/nodes/{j}"
                if member not in workflow.nodes and member not in workflow.unread:
                    hint = did_you_mean(member, workflow.nodes, "Write the id of a node of this workflow.")
                    message = f"The member «{member}» does not exist."
                    report.error("branch_members_exist", message, at, hint=hint, node=id)
                elif member in member_of:
                    message = f"«{member}» is a member of {member_of[member]} already."
                    hint = "A node belongs to one branch."
                    report.error("node_in_multiple_branches", message, at, hint=hint, node=member)
                else:
                    member_of[member] = f"the branch «{branch.id}» of «{id}»"
    for edge in workflow.edges:
        _check_branch_edge(edge, graph, report)
    for id, node in workflow.nodes.items():
        for target in gotos(node):
            if target in workflow.nodes and _branch(graph, id) != _branch(graph, target):
                message = f"«{id}» leads to «{target}», which is in another branch."
                hint = "A switch in a branch leads to members of its own branch, or to `end`."
                report.error("branch_escape", message, _target_pointer(node, "goto", target), hint=hint, node=id)


def _branch(graph: WorkflowGraph, id: str) -> tuple[str, str]:
    member = graph.members.get(id)
    return (member.parallel, member.branch) if member is not None else ("", "")


def _check_branch_edge(edge: WorkflowEdge, graph: WorkflowGraph, report: Report) -> None:
    before, after = graph.members.get(edge.src), graph.members.get(edge.dst)
    if after is not None and before is None and edge.src == after.parallel:
        return  # the parallel itself leads to its members
    if before is not None and after is None and edge.dst == before.parallel:
        return
    if _branch(graph, edge.src) != _branch(graph, edge.dst):
        message = f"The edge from «{edge.src}» to «{edge.dst}» leaves a branch."
        hint = "What comes after a branch is led to from its PARALLEL."
        report.error("branch_escape", message, edge.pointer, hint=hint, node=edge.src)
    elif before is not None and after is not None and after.position <= before.position:
        message = f"The edge from «{edge.src}» to «{edge.dst}» goes against the order of the branch."
        report.error("branch_order_conflict", message, edge.pointer, hint="The list says the order.", node=edge.src)


def _check_compensations(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    """W-4.10.6: a compensation is on no path."""

    def is_compensation(id: str) -> bool:
        return id in workflow.nodes and isinstance(workflow.nodes[id].fields, CompensationFields)

    for edge in workflow.edges:
        if is_compensation(edge.src) or is_compensation(edge.dst):
            message = "A COMPENSATION is on no path; this edge changes nothing."
            hint = "Remove the edge: `for_node` and `trigger` say when it runs."
            report.warning("compensation_edge", message, edge.pointer, hint=hint, node=edge.dst)
    for id, node in workflow.nodes.items():
        for target in (*gotos(node), *alternatives(node)):
            if is_compensation(target):
                hint = "Lead to a node that is on a path."
                message = f"«{target}» is a COMPENSATION, which is on no path."
                report.error("goto_targets_exist", message, _target_pointer(node, "goto", target), hint=hint, node=id)
    for id, member in graph.members.items():
        if is_compensation(id):
            message = f"«{id}» is a COMPENSATION, which is in no branch."
            hint = "Take it out of the branch: `for_node` says what it undoes."
            at = workflow.nodes[member.parallel].pointer
            report.error(
                "branch_members_exist", message, child_pointer(at, "branches"), hint=hint, node=member.parallel
            )


def _check_dependencies(shared: SharedContext) -> None:
    """Warns of what the tenant has not registered yet: a run would fail there (W-9.2.2)."""
    registered, report = shared.setting.registered, shared.report
    if registered is None:
        return
    for type, id, at in dict.fromkeys(shared.dependencies):
        if not registered(type, id):
            word = type.replace("_", " ")
            hint = f"Register the {word}, or correct its name."
            report.warning("missing_dependency", f"There is no {word} «{id}» here.", at, hint=hint)


# ---- switches, times, variables --------------------------------------------------------------------------------------


def _check_switch_edges(node: WorkflowNode, f: SwitchFields, graph: WorkflowGraph, report: Report) -> None:
    """Warns of an edge whose label disagrees with the case's goto (C-39)."""
    by_text = {}
    for case in f.cases:
        if case is not None:
            by_text[_canonical(case.value)] = case.goto
            if case.label:
                by_text[case.label] = case.goto
    if f.default is not None:
        by_text["default"] = f.default.goto
    for edge in graph.workflow.edges:
        when = edge.fields.when
        if when is None or edge.src != node.id:
            continue
        goto = by_text.get(when)
        if when == "default" and f.default is None and edge.dst not in gotos(node):
            continue  # the edge that a switch without a match takes
        if goto is None or goto != edge.dst:
            reason = f"the case leads to «{goto}»" if goto is not None else "no case says so"
            message = f"The edge to «{edge.dst}» is taken when «{when}», but {reason}."
            hint = "The goto counts; make the edge agree, or remove it."
            report.warning("switch_edge_mismatch", message, edge.pointer, hint=hint, node=node.id)


def _canonical(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _check_timeouts(workflow: Workflow, report: Report) -> None:
    run_timeout = workflow.policies.timeout_ms
    for id, node in workflow.nodes.items():
        own = node.fields.timeout_ms
        if (
            run_timeout is not None
            and own is not None
            and own > run_timeout
            and not isinstance(node.fields, ApprovalFields)
        ):
            message = f"The node may take {own} ms, the whole run only {run_timeout} ms."
            hint = "Make the run's timeout longer, or the node's shorter."
            report.warning(
                "timeout_inconsistent", message, child_pointer(node.pointer, "timeout_ms"), hint=hint, node=id
            )


def _check_on_failure(workflow: Workflow, report: Report) -> None:
    """`on_failure` leaves a failure to people, and only a compensation's (W-4.10.3, W-7.2.2)."""
    where = [("/policies", "", workflow.policies.retry)]
    nodes = [node for node in workflow.nodes.values() if not isinstance(node.fields, CompensationFields)]
    for at, id, retry in [*where, *((node.pointer, node.id, node.fields.retry) for node in nodes)]:
        if retry is not None and retry.on_failure is not None:
            hint = "Leave it out; an edge with `when: failed`, or the dead letters, take a failure."
            message = "«on_failure» is for a COMPENSATION and changes nothing here."
            report.info("idle_setting", message, f"{at}/retry/on_failure", hint=hint, node=id)


def _check_variables(value: Any, at: str, report: Report) -> None:
    """The first values of variables are literals: no run exists yet that a template could read (W-6.1)."""
    if isinstance(value, str) and "${" in value:
        hint = "Write a value, and set it later with side_effects.set_variables."
        report.warning("literal_variable", "This text is taken as it stands: ${…} is not read here.", at, hint=hint)
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        _check_variables(member, child_pointer(at, name), report)


# ---- the net ---------------------------------------------------------------------------------------------------------


def _check_net(net: Net, report: Report) -> None:
    """Reports what the net's own checks find, at the author's nodes."""
    if any(finding.severity == "error" for finding in report.findings):
        return
    origin = {node.id: node.origin or node.id for node in net.nodes}
    reported = {(f.rule, f.node) for f in report.findings}
    for finding in check(net):
        node = origin.get(finding.node, finding.node)
        if (finding.rule, node) in reported or finding.severity != "error":
            continue
        reported.add((finding.rule, node))
        report.error(finding.rule, finding.message, finding.where, hint=finding.hint, node=node)
