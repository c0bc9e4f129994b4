"""What can be said about a workflow as a whole (W-9.2): its graph, its triggers, its secrets."""

from __future__ import annotations

import re
from typing import Any

from penstock.expr.cron import cron_problem, zone_of
from penstock.expr.filters import problems, unranked
from penstock.lang.decision.graph import WorkflowGraph, alternatives, gotos
from penstock.lang.decision.lowering_context import Shared
from penstock.lang.decision.nodes.approval import ApprovalFields
from penstock.lang.decision.nodes.compensation import CompensationFields
from penstock.lang.decision.nodes.contract import BreakerFields
from penstock.lang.decision.nodes.parallel import ParallelFields
from penstock.lang.decision.nodes.switch import SwitchFields
from penstock.lang.decision.schema import Workflow, WorkflowEdge, WorkflowNode
from penstock.lang.decision.triggers import trigger_problems
from penstock.lang.document import step
from penstock.lang.report import Report, did_you_mean
from penstock.net.checks import check
from penstock.net.model import Net

#: C-29: the seed's two patterns, and the names of fields that hold secrets.
_WRITTEN = (
    re.compile(r"password\s*[:=]\s*[\"'][^\"']+[\"']", re.I),
    re.compile(r"api[_-]?key\s*[:=]\s*[\"'][^\"']+[\"']", re.I),
)
_SECRET_KEY = re.compile(r"(^|_)(password|passwd|secret|token|api[_-]?key|private[_-]?key|webhook_url)$", re.I)
_REFERENCE = re.compile(r"\$\{\s*(secrets\.[\w.-]+|fn\.get_secret\(.*\))\s*\}\Z", re.S)
_SECRET_PLACE = re.compile(r"(env|file|vault):\S+\Z")


#: C-30: what to do about a word without a rank.
RANKS = "Write a word of the scale, or give the tenant one of its own."
#: W-9.1.1: where the form is broken, nothing is said about the graph.
FORM = ("missing_field", "wrong_type", "duplicate_field", "bad_id", "unknown_type", "type_not_yet")


def check_workflow(workflow: Workflow, graph: WorkflowGraph, shared: Shared, net: Net) -> None:
    report = shared.report
    _secrets(report.document.data, "", report)
    _secret_places(workflow, report)
    _variables(workflow.context.variables, "/context/variables", report)
    _trigger(workflow, shared)
    _targets(workflow, graph, report)
    _branches(workflow, graph, report)
    _compensations(workflow, graph, report)
    _dependencies(shared)
    for node in workflow.nodes.values():
        if isinstance(node.fields, SwitchFields):
            _mismatches(node, node.fields, graph, report)
    _timeouts(workflow, report)
    _manual(workflow, report)
    if not workflow.nodes:
        if workflow.whole:
            report.error("empty_workflow", "The workflow has no nodes.", "/nodes", hint="Write at least one node.")
        return
    if workflow.whole and not any(f.severity == "error" and f.rule in FORM for f in report.findings):
        _graph(workflow, graph, report)
        _net(net, report)


# ---- the graph -------------------------------------------------------------------------------------------------------


def _graph(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    cycle = graph.cycle()
    if cycle:
        way = " → ".join([*cycle, cycle[0]])
        hint = "A workflow has no loops: retries, polls and escalations repeat inside a node."
        place = workflow.nodes[cycle[0]].pointer
        report.error("no_cycles", f"Workflow contains cycle: {way}", place, hint=hint, node=cycle[0])
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
    _unreachable(workflow, graph, starts, set(orphans), report)


def _orphans(workflow: Workflow, graph: WorkflowGraph) -> list[str]:
    """C-20: nodes that nothing leads to or from, and that nothing else runs."""
    beside = set(graph.fallbacks.values())
    nodes = workflow.nodes.values()
    others = [n.id for n in nodes if not isinstance(n.fields, CompensationFields) and n.id not in beside]
    if len(others) == 1:
        return []
    led = {target for targets in graph.out.values() for target in targets}
    return [id for id in others if not graph.out[id] and id not in led and id not in graph.members]


def _unreachable(workflow: Workflow, graph: WorkflowGraph, starts: list[str], told: set[str], report: Report) -> None:
    seen, todo = set(starts), list(starts)
    while todo:
        id = todo.pop()
        more = {*graph.out[id], *([graph.fallbacks[id]] if id in graph.fallbacks else [])}
        todo += [one for one in more if one not in seen]
        seen |= more
    for id, node in workflow.nodes.items():
        if id not in seen and id not in told and not isinstance(node.fields, CompensationFields):
            hint = "Lead an edge to it, or remove it."
            report.error("unreachable_node", f"Nothing can reach «{id}».", node.pointer, hint=hint, node=id)


def _targets(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    known = {*workflow.nodes, *workflow.unread}
    for id, node in workflow.nodes.items():
        for target in (*gotos(node), *alternatives(node)):
            if target not in known and not graph.is_end(target):
                _no_such("goto_targets_exist", target, node, known, report, "goto")
        if isinstance(node.fields, CompensationFields):
            target = node.fields.for_node
            if target and target not in known:
                _no_such("compensation_target_exists", target, node, known, report, "for_node")
            elif target == id or isinstance(getattr(workflow.nodes.get(target), "fields", None), CompensationFields):
                hint = "Name a node that does something."
                message = "A compensation cannot undo a compensation."
                report.error("compensation_target_exists", message, step(node.pointer, "for_node"), hint=hint, node=id)
        _fallback(node.fields.circuit_breaker, f"{node.pointer}/circuit_breaker", id, workflow, report)
    _fallback(workflow.policies.circuit_breaker, "/policies/circuit_breaker", "", workflow, report)


def _fallback(breaker: BreakerFields | None, at: str, id: str, workflow: Workflow, report: Report) -> None:
    """C-76: it must exist, be another node, and be one that does something at once."""
    if breaker is None or breaker.on_open is None or breaker.on_open.action != "fallback":
        return
    target, spot = breaker.on_open.fallback_node, f"{at}/on_open/fallback_node"
    known = {*workflow.nodes, *workflow.unread}
    if target not in known or target == id:
        hint = did_you_mean(target, known - {id}, "Write the id of another node.")
        itself = bool(target) and target == id
        why = "A node cannot stand in for itself." if itself else f"The fallback «{target}» does not exist."
        report.error("fallback_node_exists", why, spot, hint=hint, node=id)
    elif target in workflow.nodes and not workflow.nodes[target].type.effect:
        message = f"A {workflow.nodes[target].type.name} cannot stand in for another node."
        hint = "Name a DATA, MCP, JUDGMENT or ACTION node."
        report.error("fallback_node_exists", message, spot, hint=hint, node=id)


def _no_such(rule: str, target: str, node: WorkflowNode, known: set[str], report: Report, field: str) -> None:
    hint = did_you_mean(target, known, "Write the id of a node of this workflow.")
    report.error(rule, f"«{target}» does not exist.", _spot(node, field, target), hint=hint, node=node.id)


def _spot(node: WorkflowNode, field: str, target: str) -> str:
    """Where in a node a target is written."""
    raw = node.raw
    cases = raw.get("cases")
    for i, case in enumerate(cases if isinstance(cases, list) else ()):
        if isinstance(case, dict) and case.get("goto") == target:
            return f"{node.pointer}/cases/{i}/goto"
    for part in ("default", "timeout"):
        inner = raw.get(part)
        if isinstance(inner, dict) and target in inner.values():
            return f"{node.pointer}/{part}"
    return step(node.pointer, field)


# ---- branches --------------------------------------------------------------------------------------------------------


def _branches(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    seen: dict[str, str] = {}
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
                elif member in seen:
                    message = f"«{member}» is a member of {seen[member]} already."
                    hint = "A node belongs to one branch."
                    report.error("node_in_multiple_branches", message, at, hint=hint, node=member)
                else:
                    seen[member] = f"the branch «{branch.id}» of «{id}»"
    for way in workflow.edges:
        _crossing(way, graph, report)
    for id, node in workflow.nodes.items():
        for target in gotos(node):
            if target in workflow.nodes and _branch(graph, id) != _branch(graph, target):
                message = f"«{id}» leads to «{target}», which is in another branch."
                hint = "A switch in a branch leads to members of its own branch, or to `end`."
                report.error("branch_escape", message, _spot(node, "goto", target), hint=hint, node=id)


def _branch(graph: WorkflowGraph, id: str) -> tuple[str, str]:
    member = graph.members.get(id)
    return (member.parallel, member.branch) if member is not None else ("", "")


def _crossing(way: WorkflowEdge, graph: WorkflowGraph, report: Report) -> None:
    before, after = graph.members.get(way.src), graph.members.get(way.dst)
    if after is not None and before is None and way.src == after.parallel:
        return  # the parallel itself leads to its members
    if before is not None and after is None and way.dst == before.parallel:
        return
    if _branch(graph, way.src) != _branch(graph, way.dst):
        message = f"The edge from «{way.src}» to «{way.dst}» leaves a branch."
        hint = "What comes after a branch is led to from its PARALLEL."
        report.error("branch_escape", message, way.pointer, hint=hint, node=way.src)
    elif before is not None and after is not None and after.position <= before.position:
        message = f"The edge from «{way.src}» to «{way.dst}» goes against the order of the branch."
        report.error("branch_order_conflict", message, way.pointer, hint="The list says the order.", node=way.src)


def _compensations(workflow: Workflow, graph: WorkflowGraph, report: Report) -> None:
    """W-4.10.6: a compensation is on no path."""

    def undoes(id: str) -> bool:
        return id in workflow.nodes and isinstance(workflow.nodes[id].fields, CompensationFields)

    for way in workflow.edges:
        if undoes(way.src) or undoes(way.dst):
            message = "A COMPENSATION is on no path; this edge changes nothing."
            hint = "Remove the edge: `for_node` and `trigger` say when it runs."
            report.warning("compensation_edge", message, way.pointer, hint=hint, node=way.dst)
    for id, node in workflow.nodes.items():
        for target in (*gotos(node), *alternatives(node)):
            if undoes(target):
                hint = "Lead to a node that is on a path."
                message = f"«{target}» is a COMPENSATION, which is on no path."
                report.error("goto_targets_exist", message, _spot(node, "goto", target), hint=hint, node=id)
    for id, member in graph.members.items():
        if undoes(id):
            message = f"«{id}» is a COMPENSATION, which is in no branch."
            hint = "Take it out of the branch: `for_node` says what it undoes."
            at = workflow.nodes[member.parallel].pointer
            report.error("branch_members_exist", message, step(at, "branches"), hint=hint, node=member.parallel)


def _dependencies(shared: Shared) -> None:
    """W-9.2.2: what the tenant does not have yet; a run would fail there."""
    registered, report = shared.setting.registered, shared.report
    if registered is None:
        return
    for type, id, at in dict.fromkeys(shared.depends):
        if not registered(type, id):
            word = type.replace("_", " ")
            hint = f"Register the {word}, or correct its name."
            report.warning("missing_dependency", f"There is no {word} «{id}» here.", at, hint=hint)


# ---- switches, times, triggers ---------------------------------------------------------------------------------------


def _mismatches(node: WorkflowNode, f: SwitchFields, graph: WorkflowGraph, report: Report) -> None:
    """C-39: an edge that says otherwise than the goto."""
    by_text = {}
    for case in f.cases:
        if case is not None:
            by_text[_canonical(case.value)] = case.goto
            if case.label:
                by_text[case.label] = case.goto
    if f.default is not None:
        by_text["default"] = f.default.goto
    for way in graph.workflow.edges:
        when = way.fields.when
        if when is None or way.src != node.id:
            continue
        goto = by_text.get(when)
        if when == "default" and f.default is None and way.dst not in gotos(node):
            continue  # where a switch goes that found nothing
        if goto is None or goto != way.dst:
            said = f"the case leads to «{goto}»" if goto is not None else "no case says so"
            message = f"The edge to «{way.dst}» is taken when «{when}», but {said}."
            hint = "The goto counts; make the edge agree, or remove it."
            report.warning("switch_edge_mismatch", message, way.pointer, hint=hint, node=node.id)


def _canonical(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _timeouts(workflow: Workflow, report: Report) -> None:
    whole = workflow.policies.timeout_ms
    for id, node in workflow.nodes.items():
        own = node.fields.timeout_ms
        if whole is not None and own is not None and own > whole and not isinstance(node.fields, ApprovalFields):
            message = f"The node may take {own} ms, the whole run only {whole} ms."
            hint = "Make the run's timeout longer, or the node's shorter."
            report.warning("timeout_inconsistent", message, step(node.pointer, "timeout_ms"), hint=hint, node=id)


def _manual(workflow: Workflow, report: Report) -> None:
    """W-4.10.3, W-7.2.2: only a compensation that fails is left to people."""
    where = [("/policies", "", workflow.policies.retry)]
    nodes = [one for one in workflow.nodes.values() if not isinstance(one.fields, CompensationFields)]
    for at, id, retry in [*where, *((one.pointer, one.id, one.fields.retry) for one in nodes)]:
        if retry is not None and retry.on_failure is not None:
            hint = "Leave it out; an edge with `when: failed`, or the dead letters, take a failure."
            message = "«on_failure» is for a COMPENSATION and changes nothing here."
            report.info("idle_setting", message, f"{at}/retry/on_failure", hint=hint, node=id)


def _trigger(workflow: Workflow, shared: Shared) -> None:
    trigger, report = workflow.top.trigger, shared.report
    if trigger is None:
        return
    config, at = trigger.config, "/trigger/config"
    for rule, message, where in trigger_problems(trigger.type, config):
        report.error(rule, message, at + where, hint="Correct the trigger's config.")
    if trigger.type == "schedule":
        check_schedule(config, at, report)
    elif trigger.type == "event":
        _event_trigger(config, at, report)
    elif trigger.type == "webhook" and config.get("auth") not in (None, "bearer_token"):
        message = f"«{config.get('auth')}» is no way to log in here."
        report.error("webhook_auth", message, f"{at}/auth", hint="Write bearer_token.")


def _event_trigger(config: dict[str, Any], at: str, report: Report) -> None:
    if not isinstance(config.get("source"), str) or not config["source"]:
        hint = 'Write `"source": "mes.defect.detected"`.'
        report.error("missing_field", "«source» is missing.", at, hint=hint)
    for where, why in problems(config.get("filter") or {}):
        hint = "The operators of filters are $eq $ne $gt $gte $lt $lte $in $nin $exists $regex $and $or $not."
        report.error("filter_operator", f"The filter cannot be meant so: {why}.", f"{at}/filter{where}", hint=hint)
    for where, why in unranked(config.get("filter")):
        report.warning("filter_scale", f"{why}.", f"{at}/filter{where}", hint=RANKS)


def check_schedule(config: dict[str, Any], at: str, report: Report) -> None:
    cron, zone = config.get("cron"), config.get("timezone")
    wrong = cron_problem(str(cron)) if cron is not None else None
    if cron is None:
        report.error("missing_field", "«cron» is missing.", at, hint='Write `"cron": "0 8 * * *"`.')
    elif wrong is not None:
        hint = "Five fields: minute, hour, day, month, weekday, such as `0 8,14,20 * * *`."
        report.error("cron_syntax", f"«{cron}» is no schedule: {wrong}.", step(at, "cron"), hint=hint)
    if zone is not None and zone_of(str(zone)) is None:
        hint = "Write a name of the IANA table, such as Asia/Seoul."
        report.error("timezone_known", f"There is no time zone «{zone}».", step(at, "timezone"), hint=hint)


# ---- secrets ---------------------------------------------------------------------------------------------------------


def _secrets(value: Any, at: str, report: Report, schema: bool = False) -> None:
    """C-29: a value under a telling name that is not a reference. Names of a JSON Schema's properties are no values."""
    if isinstance(value, list):
        for i, one in enumerate(value):
            _secrets(one, f"{at}/{i}", report)
        return
    if isinstance(value, str):
        if _is_written(value):
            _tell_secret(at, report)
        return
    if not isinstance(value, dict):
        return
    for name, one in value.items():
        if isinstance(one, dict | list):
            _secrets(one, step(at, str(name)), report, schema=name == "properties" and "schema" in at)
        elif isinstance(one, str) and one:
            named = not schema and _SECRET_KEY.search(str(name)) and not _REFERENCE.match(one)
            if named and not (at == "/context/secrets" and _SECRET_PLACE.match(one)) or _is_written(one):
                _tell_secret(step(at, str(name)), report)


def _is_written(text: str) -> bool:
    return ("'" in text or '"' in text) and any(pattern.search(text) for pattern in _WRITTEN)


def _tell_secret(at: str, report: Report) -> None:
    hint = "Write ${secrets.NAME}, and give the secret to the tenant."
    report.error("no_hardcoded_secrets", "Hardcoded secrets detected", at, hint=hint)


def _secret_places(workflow: Workflow, report: Report) -> None:
    """C-63: the context names where a secret lies, never the secret."""
    for name, place in workflow.context.secrets.items():
        if not isinstance(place, str) or not _SECRET_PLACE.match(place):
            message = f"«{name}» must say where the secret lies."
            hint = "Write env:NAME, file:path or vault:path#key."
            report.error("secret_reference", message, step("/context/secrets", name), hint=hint)


def _variables(value: Any, at: str, report: Report) -> None:
    """W-6.1: the first values of variables are what is written; no run is there yet that could be read."""
    if isinstance(value, str) and "${" in value:
        hint = "Write a value, and set it later with side_effects.set_variables."
        report.warning("literal_variable", "This text is taken as it stands: ${…} is not read here.", at, hint=hint)
    each = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in each:
        _variables(one, step(at, name), report)


# ---- the net ---------------------------------------------------------------------------------------------------------


def _net(net: Net, report: Report) -> None:
    """What the net's own checks still find, told of the author's nodes."""
    if any(one.severity == "error" for one in report.findings):
        return
    origin = {node.id: node.origin or node.id for node in net.nodes}
    told = {(f.rule, f.node) for f in report.findings}
    for finding in check(net):
        node = origin.get(finding.node, finding.node)
        if (finding.rule, node) in told or finding.severity != "error":
            continue
        told.add((finding.rule, node))
        report.error(finding.rule, finding.message, finding.where, hint=finding.hint, node=node)
