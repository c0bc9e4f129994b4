"""Lowers a definition to a net: each element to the fragment of its type, each transition to an edge."""

from __future__ import annotations

from typing import Any

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.process.checks import check_definition, check_net, check_scripts
from penstock.lang.process.compensation import with_compensation
from penstock.lang.process.fields import CHOOSING
from penstock.lang.process.graph import ProcessGraph, is_start_event, waits_for_events
from penstock.lang.process.lowering_context import SharedContext, check_expression, main_scope
from penstock.lang.process.nodes import type_of
from penstock.lang.process.nodes.ad_hoc import chosen_steps, with_completion
from penstock.lang.process.nodes.asking import asks, choice_guard, with_asked_count
from penstock.lang.process.nodes.beginnings import choice_edges, started_by
from penstock.lang.process.nodes.candidates import starters_of
from penstock.lang.process.nodes.contract import Fragment, link
from penstock.lang.process.nodes.conversation import start_sets
from penstock.lang.process.nodes.event_triggers import each_trigger, event_code, event_fields, trigger_of
from penstock.lang.process.nodes.events import CANCELLED, TERMINATED, border_ports
from penstock.lang.process.nodes.level_entries import level_entry, listening_start
from penstock.lang.process.nodes.message_flows import with_messages
from penstock.lang.process.nodes.waits import came
from penstock.lang.process.schema import Definition, Element, Flow
from penstock.lang.process.start_triggers import begun_by
from penstock.lang.report import Report
from penstock.net.model import MERGE, Body, Declares, Edge, Net, Node, OnError, Trigger

#: Catches every error; its row comes after those for one code.
_ANY_ERROR = "*"
#: Events that an open activity, or an open level, watches for.
_WATCHED = ("timer", "message", "signal", "conditional", "escalation")


def lower(definition: Definition, report: Report, setting: Setting) -> Lowered | None:
    shared, fragments = _lower_elements(definition, report, setting)
    if not definition.complete:
        return None
    nodes: list[Node] = []
    edges: list[Edge] = []
    places: dict[str, Place] = {}
    for id, fragment in fragments.items():
        place = report.document.place(definition.elements[id].pointer)
        nodes += fragment.nodes
        edges += fragment.edges
        places |= dict.fromkeys((*(node.id for node in fragment.nodes), *(edge.id for edge in fragment.edges)), place)
    for flow in (*definition.flows, *shared.graph.links):
        edge = _lower_flow(flow, fragments, shared)
        if edge is not None:
            edges.append(edge)
            places[edge.id] = report.document.place(flow.pointer)
    level_nodes, level_edges = _level_nodes(fragments, shared)
    for node in level_nodes:
        owner = definition.elements.get(node.origin)
        places[node.id] = report.document.place(owner.pointer if owner is not None else "")
    top = definition.top
    net = Net(
        name=top.process_definition_id or "process",
        language="process",
        nodes=(*level_nodes, *nodes),
        edges=(*edges, *level_edges),
        on_stuck="pause",
        undo_policy="group",
        tracks_origin=True,
        declares=Declares(
            variables=dict.fromkeys(sorted(shared.variables)),
            carries=tuple(sorted(shared.carried)),
            version=top.version if "version" in (report.document.data or {}) else 0,
            policies=_process_policies(definition, shared),
        ),
        source_map=places,
    )
    check_net(net, shared)
    check_scripts(shared)
    return Lowered(net, shared.children)


def dependencies_of(definition: Definition, report: Report) -> list[tuple[str, str, str]]:
    """What the process needs registered at its tenant: type, id and JSON pointer, each once."""
    shared, _ = _lower_elements(definition, report, Setting())
    return list(dict.fromkeys(shared.dependencies))


def _lower_elements(
    definition: Definition, report: Report, setting: Setting
) -> tuple[SharedContext, dict[str, Fragment]]:
    """The fragment of every element; none when the definition is not complete."""
    shared = SharedContext(definition, ProcessGraph(definition), report, setting)
    check_definition(shared)
    if not definition.complete:
        return shared, {}
    elements = definition.elements.items()
    return shared, {
        id: _lower_element(element, shared) for id, element in elements if _is_lowered(element, shared.graph)
    }


def _is_lowered(element: Element, graph: ProcessGraph) -> bool:
    """Compensation handlers are part of what they undo, a compensation event only links to one, and a start event of an
    ad-hoc sub-process begins nothing."""
    event = element.event
    if is_start_event(element) and graph.is_ad_hoc(element.fields.parent):
        return False
    if event is not None and event.position == "boundary" and event.trigger == "compensation":
        return False
    return element.id not in graph.compensation_handlers


def _process_policies(definition: Definition, shared: SharedContext) -> dict[str, Any]:
    """What the host and its people need to know of a process; the kernel does not read it."""
    top, graph = definition.top, shared.graph
    activities = {id: element for id, element in definition.elements.items() if element.activity is not None}
    process: dict[str, Any] = {
        "id": top.process_definition_id,
        "name": top.process_definition_name,
        "type": top.type,
        "activities": {id: _activity_summary(element, graph) for id, element in activities.items()},
    }
    begins = None if definition.container else begun_by(shared)
    process |= {"begins": begins} if begins is not None else {}
    starts = [element.id for alternative in graph.alternatives() for element in alternative.begun_by]
    process |= {"starts": starts} if len(starts) > 1 else {}
    process |= {name: value for name in ("parent_id", "source_event_log_id") if (value := getattr(top, name))}
    starters = starters_of(shared)
    return {
        "process": process, **({"tenant": top.tenant_id} if top.tenant_id else {}),
        **({"starters": starters} if starters is not None else {}),
    }  # fmt: skip


def _activity_summary(element: Element, graph: ProcessGraph) -> dict[str, Any]:
    f = element.activity
    assert f is not None
    written = element.undo if isinstance(element.undo, str) or element.undo is None else element.undo.tool
    undo = graph.boundary_handler(element.id) or written
    summary = {"name": f.name, "type": f.type, "agent_mode": f.agent_mode, "role": f.role, "compensation": undo}
    return {name: value for name, value in summary.items() if value}


# ---- elements --------------------------------------------------------------------------------------------------------


def _lower_element(element: Element, shared: SharedContext) -> Fragment:
    context = shared.context_of(element)
    fragment = type_of(element, shared.graph).lower(context)
    if element.activity is None:
        conditional = element.event is not None and any(
            flow.fields.condition for flow in shared.graph.outgoing[element.id]
        )
        return fragment.changed(fragment.exit, split="every") if conditional else fragment
    if element.activity.triggered_by_event:
        return fragment.changed(fragment.core, scope=shared.outer_scope(element.fields.parent))
    fragment = _with_boundary_events(with_compensation(fragment, context), element, shared)
    fragment = with_messages(with_asked_count(fragment, context), context)
    if shared.graph.is_ad_hoc(element.fields.parent):
        fragment = with_completion(fragment, context)
    flows = shared.graph.outgoing[element.id]
    if any(flow.fields.condition for flow in flows) or element.activity.default:
        shared.flow_conditions(element)
        return fragment.changed(fragment.exit, split="every")
    return fragment


def _with_boundary_events(fragment: Fragment, element: Element, shared: SharedContext) -> Fragment:
    """Adds an activity's boundary events: triggers of its host node, and rows of its error table."""
    triggers: list[Trigger] = []
    rows: list[OnError] = []
    edges: list[Edge] = []
    for boundary in shared.graph.boundaries.get(element.id, ()):
        event = boundary.event
        assert event is not None
        if event.trigger == "compensation":
            continue
        for port, context in border_ports(shared.context_of(boundary)):
            trigger = event_fields(context).trigger
            if trigger == "error":
                rows.append(OnError(match=event_code(context) or _ANY_ERROR, action=f"port:{port}"))
            elif trigger == "cancel":
                rows.append(OnError(match=CANCELLED, action=f"port:{port}"))
            elif trigger in _WATCHED:
                triggers.append(trigger_of(context, port=port, interrupting=event.interrupting))
            else:
                continue  # the checks report it
            edges.append(link(fragment.host, port, port=port))
    rows.sort(key=lambda row: row.match == _ANY_ERROR)
    triggers.sort(key=_catches_the_rest)
    host = fragment.node(fragment.host)
    changed = fragment.changed(host.id, triggers=(*host.triggers, *triggers), on_error=(*host.on_error, *rows))
    if rows and host.kind == "scope" and shared.graph.errors_bring_data(element.id):
        changed = changed.changed(host.id, keeps_output=True)
    other_tasks = [
        node.id for node in changed.nodes if rows and node.kind == "task" and not node.off_path and node.id != host.id
    ]
    for id in other_tasks if host.kind != "scope" else ():
        changed = changed.changed(id, on_error=tuple(rows))
        edges += [link(id, row.action[5:], port=row.action[5:]) for row in rows]
    return Fragment(changed.nodes, changed.entry, changed.exit, changed.core, changed.host, (*changed.edges, *edges))


def _catches_the_rest(trigger: Trigger) -> bool:
    """An escalation without a code is asked after those with one; all others keep their order."""
    return trigger.kind == "escalation" and not trigger.name


# ---- transitions -----------------------------------------------------------------------------------------------------


def _lower_flow(flow: Flow, fragments: dict[str, Fragment], shared: SharedContext) -> Edge | None:
    source, target = shared.definition.elements[flow.fields.source], flow.fields.target
    if source.id not in fragments or target not in fragments:
        return None
    gateway, entry = source.gateway, fragments[target].entry
    waited = waits_for_events(source)
    if waited:
        same = (other for other in shared.graph.outgoing[source.id] if other.fields.target == target)
        if next(same) is not flow:  # one event takes one way, however often it is drawn
            return None
    port, guard, default = "done", None, False
    if waited and shared.graph.instantiates(source):
        default = shared.graph.outgoing[source.id][-1].fields.target == target
        guard = None if default else started_by((shared.definition.elements[target],))
        entry = _behind_the_wait(target, fragments)
    elif waited:
        port = target
        entry = _behind_the_wait(target, fragments)
    elif (ask := asks(source, shared)) is not None:
        guard = choice_guard(flow, source, ask, shared)
    elif gateway is None or gateway.type in CHOOSING:
        conditions = shared.flow_conditions(source)
        default = conditions.default == flow.id
        if flow.id in conditions.conditions:
            text, at = conditions.conditions[flow.id]
            guard = check_expression(text, shared, at, source.id, condition=True)
        if default and gateway is None and _some_always(source, shared):
            guard, default = _no_condition_holds(source, shared), False
    return Edge(
        id=flow.id, src=fragments[source.id].exit, dst=entry, port=port, guard=guard,
        default=default, label=flow.fields.name,
    )  # fmt: skip


def _behind_the_wait(id: str, fragments: dict[str, Fragment]) -> str:
    """Where a wait is gone on from by somebody who has waited already."""
    return came(id) if any(node.id == came(id) for node in fragments[id].nodes) else fragments[id].entry


def _some_always(source: Element, shared: SharedContext) -> bool:
    """Has an activity flows that are taken in any case, beside its default flow?"""
    conditions = shared.flow_conditions(source)
    flows = (flow.id for flow in shared.graph.outgoing[source.id])
    return any(id not in conditions.conditions and id != conditions.default for id in flows)


def _no_condition_holds(source: Element, shared: SharedContext) -> str | None:
    """BPMN 10.4.5: the default flow is taken when no condition holds, whatever else is taken beside it."""
    conditions = shared.flow_conditions(source).conditions
    texts = [check_expression(text, shared, at, source.id, condition=True) for text, at in conditions.values()]
    return " && ".join(f"({text}) != true" for text in texts if text is not None) or None


# ---- where levels begin, and their event sub-processes ---------------------------------------------------------------


def _level_nodes(fragments: dict[str, Fragment], shared: SharedContext) -> tuple[list[Node], list[Edge]]:
    nodes: list[Node] = []
    edges: list[Edge] = []
    for level in shared.graph.levels():
        if level and level not in fragments:
            continue
        listening = shared.graph.event_sub_processes(level)
        begin = chosen_steps if shared.graph.is_ad_hoc(level) else _level_entry_node
        entry, more, links = begin(level, fragments, shared)
        nodes += more
        edges += links
        if not listening:
            continue
        main, links = _listening_nodes(level, entry, listening, shared)
        nodes += main
        edges += links
    return nodes, edges


def _level_entry_node(
    level: str, fragments: dict[str, Fragment], shared: SharedContext
) -> tuple[str, list[Node], list[Edge]]:
    """P-X.35: the one node at which a level begins. At the top it keeps the input as variables."""
    starts = [start for start in shared.graph.starts(level) if start.id in fragments]
    ways = [(one, _begun_at(one.element, fragments)) for one in ([] if level else shared.graph.alternatives())]
    scope, id = shared.scope(level), level_entry(level)
    is_top = level == "" and scope == ""
    if is_top and len(ways) == 1 and is_start_event(starts[0]):
        return fragments[starts[0].id].entry, [], []
    sets = start_sets(shared) if is_top else ()
    kind: Any = "start" if is_top or _is_handler(level, shared) else "route"
    node = Node(
        id=id, kind=kind, label="Start" if is_top else "", scope=scope, join=MERGE, origin=level, sets=sets,
        split="first" if len(ways) > 1 else "all",
    )  # fmt: skip
    return id, [node], choice_edges(id, ways) or [link(id, fragments[start.id].entry) for start in starts]


def _begun_at(start: Element, fragments: dict[str, Fragment]) -> str:
    """The message that a receive task waits for has come, if it has begun the process."""
    return _behind_the_wait(start.id, fragments) if start.activity is not None else fragments[start.id].entry


def _is_handler(level: str, shared: SharedContext) -> bool:
    """Is the level an event sub-process? Then it begins with what its event has brought."""
    owner = shared.definition.elements.get(level)
    return owner is not None and owner.activity is not None and owner.activity.triggered_by_event


def _listen_for(start: Element, port: str, shared: SharedContext) -> tuple[list[Trigger], list[OnError]]:
    """What begins an event sub-process. A timer among several brings nothing that could be taken for news."""
    triggers: list[Trigger] = []
    rows: list[OnError] = []
    each = each_trigger(shared.context_of(start)) if start.event is not None else []
    for context in each:
        f = event_fields(context)
        if f.trigger == "error":
            rows.append(OnError(match=event_code(context) or _ANY_ERROR, action=f"port:{port}"))
        elif f.trigger in _WATCHED:
            parts = {"action": "value"} if f.trigger == "timer" and len(each) > 1 else {}
            triggers.append(trigger_of(context, port=port, interrupting=f.interrupting, **parts))
    return triggers, rows


def _listening_nodes(
    level: str, entry: str, listening: list[Element], shared: SharedContext
) -> tuple[list[Node], list[Edge]]:
    """A level with event sub-processes: its elements run in a scope of their own, which the events may interrupt."""
    triggers: list[Trigger] = []
    rows: list[OnError] = []
    edges: list[Edge] = []
    main, scope = main_scope(level), shared.outer_scope(level)
    for handler in listening:
        for start in shared.graph.starts(handler.id):
            found = _listen_for(start, handler.id, shared)
            triggers += found[0]
            rows += found[1]
            edges += [link(main, handler.id, port=handler.id)] if found[0] or found[1] else []
    ends = {"terminated": (TERMINATED, "terminate")}
    if shared.graph.is_transaction(level):
        ends["cancelled"] = (CANCELLED, f"error:{CANCELLED}")
    end_nodes = [
        Node(id=f"{level}.{port}", kind="end", scope=scope, ends=how, origin=level) for port, (_, how) in ends.items()
    ]
    brings = bool(rows) and shared.graph.errors_bring_data(level)
    rows += [OnError(match=code, action=f"port:{port}") for port, (code, _) in ends.items()]
    edges += [link(main, f"{level}.{port}", port=port) for port in ends]
    main_node = Node(
        id=main, kind="scope", scope=scope, origin=level, join=MERGE, body=Body(mode="one", entry=entry, names={}),
        triggers=tuple(sorted(triggers, key=_catches_the_rest)),
        on_error=tuple(sorted(rows, key=lambda row: row.match == _ANY_ERROR)), keeps_output=brings,
    )  # fmt: skip
    sets = () if level else start_sets(shared)
    kind: Any = "route" if level and not _is_handler(level, shared) else "start"
    first = Node(
        id=listening_start(level), kind=kind, label="" if level else "Start", scope=scope, origin=level, join=MERGE,
        sets=sets,
    )  # fmt: skip
    return [first, main_node, *end_nodes], [link(first.id, main), *edges]
