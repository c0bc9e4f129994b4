"""Checks a definition as a whole: its levels, flows, gateways, activities, events and roles."""

from __future__ import annotations

import re

from penstock.lang.document import child_pointer
from penstock.lang.process import limits
from penstock.lang.process.beginning_checks import check_beginnings
from penstock.lang.process.event_positions import TRIGGERS
from penstock.lang.process.fields import ASSIGNMENT_RULES, CHOOSING, ActivityFields, EventFields
from penstock.lang.process.graph import is_start_event, link_name
from penstock.lang.process.lowering_context import SharedContext
from penstock.lang.process.nodes.asking import asks
from penstock.lang.process.nodes.candidates import role_of
from penstock.lang.process.nodes.event_triggers import each_trigger, event_fields, refuse_event
from penstock.lang.process.rule_categories import CATEGORY
from penstock.lang.process.schema import Definition, Element, Flow
from penstock.lang.process.sub_process_checks import check_cancel_event, check_sub_process
from penstock.lang.process.unused_fields import report_unused_fields
from penstock.lang.python_scripts import check_script, result_names
from penstock.lang.report import PlaceReport, Report, did_you_mean
from penstock.lang.schemas import schema_problem
from penstock.net.checks import check
from penstock.net.model import Net

_RULE = re.compile(r"(user|role|group):\S(.*\S)?\Z")
#: Types that a program may register, too.
_FROM_PROGRAM = ("agent", "tool")


def check_definition(shared: SharedContext) -> None:
    definition, report = shared.definition, shared.report
    _check_levels(definition, report)
    _check_roles(definition, report)
    _check_origin(definition, report)
    if not definition.complete:
        return
    _check_flows(definition, report)
    _check_boundaries(definition, shared)
    for element in definition.elements.values():
        if element.activity is not None:
            _check_activity(element, element.activity, shared)
        if element.event is not None:
            _check_event(element, element.event, shared)
        if element.gateway is not None:
            _check_gateway(element, shared)
        report_unused_fields(element, shared)
    _check_starts(shared)
    _check_links(shared)
    _check_cycles(shared)


def check_net(net: Net, shared: SharedContext) -> None:
    """Reports what the net's own checks find, at the author's elements; after errors it would be consequences."""
    report = shared.report
    _check_dependencies(shared)
    has_errors = any(
        finding.severity == "error" and CATEGORY.get(finding.rule) == "semantic" for finding in report.findings
    )
    if has_errors or shared.definition.container and not shared.definition.elements:
        return
    origin = {node.id: node.origin or node.id for node in net.nodes}
    reported = {(finding.rule, finding.node) for finding in report.findings}
    for finding in check(net):
        node = origin.get(finding.node, finding.node)
        if (finding.rule, node) in reported or finding.rule == "trigger_without_edge":
            continue  # the check of boundary events reports it
        reported.add((finding.rule, node))
        add = report.error if finding.severity == "error" else report.warning
        add(finding.rule, finding.message, finding.where, hint=finding.hint, node=node)


def check_scripts(shared: SharedContext) -> None:
    """The scripts of all elements. An instance may begin with any variables, so that only a near miss of one that is
    named elsewhere is told, and what the sandbox does not have."""
    elements = shared.definition.elements.values()
    known = {"undone", "variables", *shared.definition.data, *shared.variables}
    for element in elements:
        f = element.activity
        if f is not None:
            known |= {str(name) for name in (f.form or {}).get("properties") or ()}
            known |= {f.multi.item} if f.multi is not None else set()
            known |= result_names(f.python_code or "")
    for element in elements:
        f = element.activity
        if f is not None and f.type == "scriptTask":
            report = PlaceReport(shared.report, child_pointer(element.pointer, "python_code"), element.id)
            check_script(f.python_code or "", known, report, all_known=False)


def _check_dependencies(shared: SharedContext) -> None:
    registered = shared.setting.registered
    for type, id, at in dict.fromkeys(shared.dependencies) if registered is not None else ():
        if registered is not None and not registered(type, id):
            word = type.replace("_", " ")
            how = f": `penstock registry put {type} {id} …`, or in your program" if type in _FROM_PROGRAM else ""
            hint = f"Register the {word}{how}, or correct its name."
            shared.report.warning("missing_dependency", f"There is no {word} «{id}» here.", at, hint=hint)
    for type, at, element in shared.jobs if registered is not None else ():
        if registered is not None and not registered("job", type):
            message = f"No worker has asked for jobs of type «{type}» yet."
            hint = "Start a worker of this type, or correct its name; until then such jobs wait."
            shared.report.warning("job_unserved", message, at, hint=hint, node=element)


# ---- levels ----------------------------------------------------------------------------------------------------------


def _check_levels(definition: Definition, report: Report) -> None:
    """A parent is a sub-process, not inside itself, and not too deep."""
    depth_of = {"": 0}
    for element in definition.elements.values():
        parent = definition.elements.get(element.fields.parent)
        if element.fields.parent and (
            parent is None or parent.activity is None or parent.activity.type != "subProcess"
        ):
            definition.complete = False
            subs = [
                id
                for id, other in definition.elements.items()
                if other.activity and other.activity.type == "subProcess"
            ]
            hint = did_you_mean(element.fields.parent, subs, "Name an activity of the type subProcess.")
            message = f"«{element.name}» lies in «{element.fields.parent}», which is no sub-process."
            report.error("unknown_parent", message, f"{element.pointer}/parent", hint=hint, node=element.id)
            continue
        path: dict[str, None] = {}
        at = element.fields.parent
        while at not in depth_of and at not in path and at in definition.elements:
            path[at] = None
            at = definition.elements[at].fields.parent
        depth = depth_of.get(at, 0) + len(path)
        if depth > limits.DEEPEST and definition.complete:
            definition.complete = False
            message = f"«{element.name}» lies {depth} sub-processes deep; at most {limits.DEEPEST} are run."
            hint = "Call a process of its own instead of drawing it inside."
            report.error("too_deep", message, f"{element.pointer}/parent", hint=hint, node=element.id)
        if at in path:
            definition.complete = False
            message = f"The sub-process «{at}» lies inside itself."
            hint = "Take one of them out of the other."
            report.error("unknown_parent", message, f"{element.pointer}/parent", hint=hint, node=at)
        depth_of |= {id: depth - i for i, id in enumerate(path)}


def _check_flows(definition: Definition, report: Report) -> None:
    for flow in definition.flows:
        source, target = definition.elements[flow.fields.source], definition.elements[flow.fields.target]
        if source.fields.parent != target.fields.parent:
            message = f"The transition «{flow.id}» crosses the border of a sub-process."
            hint = "Lead it to the sub-process itself: it is entered and left as one."
            report.error("flow_crosses_border", message, flow.pointer, hint=hint, node=source.id)
            definition.complete = False
        if _begins_by_itself(target):
            message = f"«{flow.id}» leads to «{target.name}», where things begin by themselves."
            hint = "Lead it to what comes after that event."
            report.error("start_with_incoming", message, flow.pointer, hint=hint, node=target.id)
        if source.event is not None and (source.event.position == "end" or _is_link(source, "throw")):
            message = f"«{flow.id}» comes from «{source.name}», where its path has ended."
            report.error("end_with_outgoing", message, flow.pointer, hint="Remove the transition.", node=source.id)
        for end in (source, target):
            if end.activity is not None and end.activity.triggered_by_event:
                message = f"«{end.name}» is an event sub-process: no transition leads to it or from it."
                hint = "Remove the transition; its start event says when it runs."
                report.error("event_sub_process_flow", message, flow.pointer, hint=hint, node=end.id)
            if end.activity is not None and end.activity.is_for_compensation:
                message = f"«{end.name}» only undoes: no transition leads to it or from it."
                hint = "Remove the transition, or `is_for_compensation`."
                report.error("handler_with_flow", message, flow.pointer, hint=hint, node=end.id)


def _begins_by_itself(element: Element) -> bool:
    event = element.event
    return event is not None and (event.position in ("start", "boundary") or _is_link(element, "catch"))


def _is_link(element: Element, position: str) -> bool:
    event = element.event
    return event is not None and event.trigger == "link" and event.position == position


def _check_starts(shared: SharedContext) -> None:
    """Every level has a start (P-X.35)."""
    definition, graph, report = shared.definition, shared.graph, shared.report
    for level in graph.levels():
        owner = definition.elements.get(level)
        pointer, name = (owner.pointer, f"«{owner.name}»") if owner is not None else ("", "The process")
        if not level and definition.container and not definition.elements:
            continue
        handler = owner is not None and owner.activity is not None and owner.activity.triggered_by_event
        starts = graph.starts(level)
        if not starts:
            message = f"{name} cannot begin: nothing in it is without a transition that leads to it."
            if not definition.elements:
                message = "The process has no activities."
            hint = "Add an activity or a start event that nothing leads to."
            report.error("no_start", message, pointer or "/activities", hint=hint, node=level)
        elif handler:
            _check_event_sub_process(owner, starts, shared)
        else:
            _check_level_start(level, starts, name, shared)


def _check_level_start(level: str, starts: list[Element], name: str, shared: SharedContext) -> None:
    report = shared.report
    events = [start for start in starts if is_start_event(start)]
    if not level:
        check_beginnings(shared)
        return
    if len(events) > 1:
        names = ", ".join(f"«{event.name}»" for event in events)
        hint = "Keep one start event; a parallel gateway after it begins several paths."
        message = f"{name} has {len(events)} start events: {names}."
        report.error("several_starts", message, events[1].pointer, hint=hint, node=events[1].id)
    for start in events:
        if start.fields.trigger != "none":
            message = f"«{start.name}» begins a sub-process, which begins when it is reached."
            hint = "Take a start event without a trigger, or mark the sub-process `triggered_by_event`."
            report.error("event_sub_process_start", message, start.pointer, hint=hint, node=start.id)


def _check_event_sub_process(owner: Element | None, starts: list[Element], shared: SharedContext) -> None:
    assert owner is not None
    triggers = TRIGGERS["handler"]
    if len(starts) != 1 or starts[0].event is None or starts[0].event.trigger == "none":
        message = f"The event sub-process «{owner.name}» needs one start event with a trigger: {', '.join(triggers)}."
        hint = "Draw one start event in it, with a timer, message, signal, condition, error or escalation."
        shared.report.error("event_sub_process_start", message, owner.pointer, hint=hint, node=owner.id)
    else:
        refuse_event(shared.context_of(starts[0]), "handler")


def _check_links(shared: SharedContext) -> None:
    """BPMN 10.5.5: a link has two ends of one name on one level; there may be several that lead in, but one way out."""
    report, met = shared.report, set()
    for throw, ends in shared.graph.link_ends:
        met |= {end.id for end in ends}
        if len(ends) == 1:
            continue
        name = link_name(throw.fields)
        found = f"{len(ends)} catch events have that name" if ends else "no catch event on its level has that name"
        message = f"«{throw.name}» leads to the link «{name}», but {found}."
        hint = "Give one link catch event of the same process or sub-process this name, and no second one."
        report.error("link_without_end", message, throw.pointer, hint=hint, node=throw.id)
    for element in shared.definition.elements.values():
        event = element.event
        if event is not None and event.trigger == "link" and event.position == "catch" and element.id not in met:
            message = f"No link «{link_name(event)}» leads to «{element.name}»."
            hint = "Draw a link throw event with this name, or remove it."
            report.error("link_without_end", message, element.pointer, hint=hint, node=element.id)


def _check_cycles(shared: SharedContext) -> None:
    """Every cycle has a gateway that can leave it (P-X.31)."""
    elements = shared.definition.elements
    stops = {
        id
        for id, element in elements.items()
        if element.gateway is not None and element.gateway.type in (*CHOOSING, "eventBasedGateway")
    }
    for cycle in shared.graph.cycles(stops):
        names = " → ".join(f"«{elements[id].name}»" for id in cycle[:8])
        message = f"This loop has no gateway that could leave it: {names}."
        hint = "Put an exclusive or inclusive gateway into the loop."
        shared.report.error("cycle_without_choice", message, elements[cycle[0]].pointer, hint=hint, node=cycle[0])


# ---- choices ---------------------------------------------------------------------------------------------------------


def _check_gateway(element: Element, shared: SharedContext) -> None:
    gateway, flows = element.gateway, shared.graph.outgoing[element.id]
    assert gateway is not None
    if asks(element, shared) is not None:
        return
    conditions = shared.flow_conditions(element)
    if gateway.type not in CHOOSING:
        _report_ignored_conditions(element, flows, shared)
        return
    if len(flows) < 2:
        return
    unconditional = [flow for flow in flows if flow.id not in conditions.conditions and flow.id != conditions.default]
    if not conditions.conditions:
        message = f"«{element.name}» has {len(flows)} ways out and no condition."
        hint = f'Write `"conditions": {{"{flows[0].id}": "…", "default": "{flows[-1].id}"}}`.'
        shared.report.error("gateway_without_conditions", message, element.pointer, hint=hint, node=element.id)
    elif unconditional:
        names = ", ".join(f"«{flow.id}»" for flow in unconditional)
        message = f"Of the ways out of «{element.name}» these have no condition: {names}."
        hint = "Give each a condition; one of them may be the default."
        shared.report.error("condition_missing", message, unconditional[0].pointer, hint=hint, node=element.id)


def _report_ignored_conditions(element: Element, flows: list[Flow], shared: SharedContext) -> None:
    conditions = shared.flow_conditions(element)
    for flow in flows:
        if flow.id in conditions.conditions:
            message = f"«{element.name}» takes its ways without asking: the condition of «{flow.id}» changes nothing."
            hint = "Remove the condition, or make it an exclusive or inclusive gateway."
            at = conditions.conditions[flow.id][1]
            shared.report.warning("condition_ignored", message, at, hint=hint, node=element.id)


# ---- activities and events -------------------------------------------------------------------------------------------


def _check_activity(element: Element, f: ActivityFields, shared: SharedContext) -> None:
    report, definition = shared.report, shared.definition
    if f.role and role_of(f, shared.context_of(element)) is None:
        known = [*definition.roles, *(lane.id for lane in definition.lanes)]
        hint = did_you_mean(f.role, known, "Write the id of a role under `roles`.")
        message = f"There is no role «{f.role}»."
        report.error("unknown_role", message, f"{element.pointer}/role", hint=hint, node=element.id)
    if f.form is not None and (problem := schema_problem(f.form)) is not None:
        at, why = problem
        message = f"The form of «{element.name}» is no JSON Schema: {why}."
        hint = "Correct the schema; references stay inside it, and nothing is fetched."
        report.error("json_schema", message, f"{element.pointer}/form{at}", hint=hint, node=element.id)
    if f.form_key and f.form is None:
        message = f"The form «{f.form_key}» of «{element.name}» lies elsewhere: whoever does it gives any values."
        hint = "Write its fields under `form`, a JSON Schema."
        report.warning("form_unknown", message, f"{element.pointer}/form_key", hint=hint, node=element.id)
    if f.type == "subProcess" and shared.graph.is_embedded(element) and element.orchestration.sub_process:
        message = f"«{element.name}» holds elements and calls another process, too."
        hint = "Keep one of the two."
        report.error("sub_process_missing", message, f"{element.pointer}/orchestration", hint=hint, node=element.id)
    done = f.tool or f.job or f.agent or f.computes is not None
    if f.bpmn == "serviceTask" and not done and "agent_mode" not in element.raw:
        message = f"Nothing says what does the service task «{element.name}», so a person has to do it."
        hint = "Write `tool: …`, `job: …`, or `agent_mode: AUTONOMOUS`; or `agent_mode: MANUAL` where it is meant."
        report.warning("service_by_person", message, element.pointer, hint=hint, node=element.id)
    if shared.graph.is_embedded(element):
        check_sub_process(element, f, shared)
    if f.triggered_by_event and not shared.graph.is_embedded(element):
        message = f"The event sub-process «{element.name}» is empty."
        hint = "Draw a start event and what follows in it."
        report.error("event_sub_process_start", message, element.pointer, hint=hint, node=element.id)
        definition.complete = False
    if f.is_for_compensation and element.id not in shared.graph.compensates:
        message = f"Nothing names «{element.name}» as what undoes it, so it is never done."
        hint = "Name it as the `compensation` of an activity, or by a compensation event at its border."
        report.warning("idle_field", message, f"{element.pointer}/is_for_compensation", hint=hint, node=element.id)


def _check_event(element: Element, f: EventFields, shared: SharedContext) -> None:
    report = shared.report
    if f.timer is not None and not (f.position == "start" and not f.parent):
        for name in ("timezone", "overlap", "catch_up"):
            if name in element.raw["timer"]:
                message = f"«{name}» is for the start of a process; here it changes nothing."
                at = f"{element.pointer}/timer/{name}"
                report.warning("idle_field", message, at, hint="Remove it.", node=element.id)
    check_cancel_event(element, f, shared)
    if f.position != "boundary":
        return
    host = shared.definition.elements.get(f.attached_to)
    if host is None or host.activity is None:
        shared.definition.complete = False
        known = [id for id, other in shared.definition.elements.items() if other.activity is not None]
        hint = did_you_mean(f.attached_to, known, "Write the id of an activity.")
        what = f"«{f.attached_to}», which is no activity" if f.attached_to else "nothing"
        message = f"The boundary event «{element.name}» is attached to {what}."
        report.error("boundary_target", message, f"{element.pointer}/attached_to", hint=hint, node=element.id)
        return
    if refuse_event(shared.context_of(element), "boundary"):
        return
    if f.trigger == "compensation":
        handler = shared.definition.elements.get(f.activity)
        if handler is None or handler.activity is None:
            message = f"The compensation event «{element.name}» names no handler."
            hint = 'Write `"activity": "…"`: the id of the activity that undoes.'
            report.error("compensation_target", message, element.pointer, hint=hint, node=element.id)
    elif _catches(element, "escalation", shared) and _calls(host, shared):
        message = f"«{element.name}» waits for an escalation of a called process, which does not leave that process."
        hint = "Let the called process end with an error, or throw a signal, and catch that."
        report.warning("escalation_of_call", message, f"{element.pointer}/trigger", hint=hint, node=element.id)
    elif not shared.graph.outgoing[element.id]:
        message = f"When «{element.name}» comes, its path ends at once."
        hint = "Draw a transition from it."
        report.warning("boundary_without_flow", message, element.pointer, hint=hint, node=element.id)


def _catches(element: Element, trigger: str, shared: SharedContext) -> bool:
    return any(event_fields(one).trigger == trigger for one in each_trigger(shared.context_of(element)))


def _calls(element: Element, shared: SharedContext) -> bool:
    activity = element.activity
    return activity is not None and activity.type == "subProcess" and not shared.graph.is_embedded(element)


def _check_boundaries(definition: Definition, shared: SharedContext) -> None:
    for host, events in shared.graph.boundaries.items():
        for event in events:
            if host in definition.elements and event.fields.parent != definition.elements[host].fields.parent:
                definition.complete = False
                message = f"The boundary event «{event.name}» lies in another sub-process than its activity."
                hint = "Give it the same `parent`."
                shared.report.error("boundary_target", message, event.pointer, hint=hint, node=event.id)


# ---- people and origin -----------------------------------------------------------------------------------------------


def _check_roles(definition: Definition, report: Report) -> None:
    """Assignment rules are known ones (P-X.13)."""
    for i, role in enumerate(definition.roles.values()):
        rule = role.assignment_rule
        if rule and rule not in ASSIGNMENT_RULES and not _RULE.match(rule):
            hint = did_you_mean(
                rule, ASSIGNMENT_RULES, "Write round_robin, least_loaded, initiator, user:ID or role:NAME."
            )
            message = f"«{rule}» is no rule by which work is assigned."
            report.error("bad_assignment_rule", message, f"/roles/{i}/assignment_rule", hint=hint)


def _check_origin(definition: Definition, report: Report) -> None:
    top = definition.top
    if top.type == "discovered" and not top.source_event_log_id:
        hint = 'Write `"source_event_log_id": "…"`: the event log it was found in.'
        report.warning("origin_unknown", "A discovered model does not say where it comes from.", "/type", hint=hint)
    if definition.container and definition.elements:
        message = f"A {top.type} process only holds others: its activities are never run."
        hint = "Make it a base process, or move the activities into one."
        report.warning("container_with_activities", message, "/type", hint=hint)
