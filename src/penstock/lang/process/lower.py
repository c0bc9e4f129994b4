"""A definition becomes a net: every element its type's piece, every transition an edge (KERNEL 4, row process)."""

from __future__ import annotations

from typing import Any

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.process.begins import begin_of_process
from penstock.lang.process.checks import check_definition, check_net
from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.lowering_context import Shared, expression, main_of
from penstock.lang.process.nodes import type_of
from penstock.lang.process.nodes.contract import KEPT, Fragment, link
from penstock.lang.process.nodes.events import TERMINATED, code_of, trigger_of
from penstock.lang.process.nodes.sub_process import begin_of, entry_of, named_item
from penstock.lang.process.schema import Definition, Element, Flow
from penstock.lang.process.undoing import undone
from penstock.lang.report import Report
from penstock.net.model import MERGE, Body, Declares, Edge, Net, Node, OnError, Set, Trigger

_LAST_RESORT = "*"


def lower(definition: Definition, report: Report, setting: Setting) -> Lowered | None:
    shared, fragments = pieces(definition, report, setting)
    if not definition.whole:
        return None
    nodes: list[Node] = []
    edges: list[Edge] = []
    places: dict[str, Place] = {}
    for id, fragment in fragments.items():
        place = report.document.place(definition.elements[id].pointer)
        nodes += fragment.nodes
        edges += fragment.edges
        places |= dict.fromkeys((*(one.id for one in fragment.nodes), *(one.id for one in fragment.edges)), place)
    for flow in definition.flows:
        edge = _edge(flow, fragments, shared)
        if edge is not None:
            edges.append(edge)
            places[edge.id] = report.document.place(flow.pointer)
    frame_nodes, frame_edges = _frames(fragments, shared)
    for one in frame_nodes:
        owner = definition.elements.get(one.origin)
        places[one.id] = report.document.place(owner.pointer if owner is not None else "")
    top = definition.top
    net = Net(
        name=top.process_definition_id or "process",
        language="process",
        nodes=(*frame_nodes, *nodes),
        edges=(*edges, *frame_edges),
        on_stuck="pause",
        undo_policy="group",
        tracks_origin=True,
        declares=Declares(
            variables=dict.fromkeys(sorted(shared.variables)),
            carries=tuple(sorted(shared.carried)),
            version=top.version if "version" in (report.document.data or {}) else 0,
            policies=_policies(definition, shared),
        ),
        source_map=places,
    )
    check_net(net, shared)
    return Lowered(net, shared.children)


def pieces(definition: Definition, report: Report, setting: Setting) -> tuple[Shared, dict[str, Fragment]]:
    """Every element as a piece of the net; none where the document is not whole."""
    shared = Shared(definition, ProcessGraph(definition), report, setting)
    check_definition(shared)
    if not definition.whole:
        return shared, {}
    elements = definition.elements.items()
    return shared, {id: _fragment(one, shared) for id, one in elements if _runs(one, shared.graph)}


def _runs(element: Element, graph: ProcessGraph) -> bool:
    """Handlers live in what they undo, and a compensation event is only a link to one."""
    event = element.event
    if event is not None and event.position == "boundary" and event.trigger == "compensation":
        return False
    return element.id not in graph.handlers


def _policies(definition: Definition, shared: Shared) -> dict[str, Any]:
    """What the host shows and asks of a process: data for it alone."""
    top, graph = definition.top, shared.graph
    about: dict[str, Any] = {
        "id": top.process_definition_id, "name": top.process_definition_name, "type": top.type,
        "activities": {id: _shown(one, graph) for id, one in definition.elements.items() if one.activity is not None},
    }  # fmt: skip
    begin = None if definition.container else begin_of_process(shared)
    about |= {"begins": begin} if begin is not None else {}
    about |= {name: value for name in ("parent_id", "source_event_log_id") if (value := getattr(top, name))}
    return {"process": about, **({"tenant": top.tenant_id} if top.tenant_id else {})}


def _shown(element: Element, graph: ProcessGraph) -> dict[str, Any]:
    f = element.activity
    assert f is not None
    written = element.undo if isinstance(element.undo, str) or element.undo is None else element.undo.tool
    undo = graph.handler_at(element.id) or written
    found = {"name": f.name, "type": f.type, "agent_mode": f.agent_mode, "role": f.role, "compensation": undo}
    return {name: value for name, value in found.items() if value}


# ---- elements --------------------------------------------------------------------------------------------------------


def _fragment(element: Element, shared: Shared) -> Fragment:
    site = shared.site(element)
    fragment = type_of(element, shared.graph).lower(site)
    if element.activity is None:
        asks = element.event is not None and any(flow.fields.condition for flow in shared.graph.outs[element.id])
        return fragment.changed(fragment.exit, split="every") if asks else fragment
    if element.activity.triggered_by_event:
        return fragment.changed(fragment.core, scope=element.fields.parent)
    fragment = _bounded(undone(fragment, site), element, shared)
    flows = shared.graph.outs[element.id]
    if any(flow.fields.condition for flow in flows) or element.activity.default:
        shared.choice(element)
        return fragment.changed(fragment.exit, split="every")
    return fragment


def _bounded(fragment: Fragment, element: Element, shared: Shared) -> Fragment:
    """Events at its border: triggers of what is open meanwhile, and rows of its failure table."""
    triggers: list[Trigger] = []
    rows: list[OnError] = []
    edges: list[Edge] = []
    for one in shared.graph.boundaries.get(element.id, ()):
        event = one.event
        assert event is not None
        if event.trigger == "compensation":
            continue
        site = shared.site(one)
        if event.trigger == "error":
            rows.append(OnError(match=code_of(site) or _LAST_RESORT, action=f"port:{one.id}"))
        elif event.trigger in ("timer", "message", "signal", "escalation"):
            triggers.append(trigger_of(site, port=one.id, interrupting=event.interrupting))
        else:
            continue  # told by the checks
        edges.append(link(fragment.host, one.id, port=one.id))
    rows.sort(key=lambda row: row.match == _LAST_RESORT)
    host = fragment.node(fragment.host)
    found = fragment.changed(host.id, triggers=(*host.triggers, *triggers), on_error=(*host.on_error, *rows))
    beside = [one.id for one in found.nodes if rows and one.kind == "task" and not one.off_path and one.id != host.id]
    for id in beside if host.kind != "scope" else ():
        found = found.changed(id, on_error=tuple(rows))
        edges += [link(id, row.action[5:], port=row.action[5:]) for row in rows]
    return Fragment(found.nodes, found.entry, found.exit, found.core, found.host, (*found.edges, *edges))


# ---- transitions -----------------------------------------------------------------------------------------------------


def _edge(flow: Flow, fragments: dict[str, Fragment], shared: Shared) -> Edge | None:
    source, target = shared.definition.elements[flow.fields.source], flow.fields.target
    if source.id not in fragments or target not in fragments:
        return None
    gateway = source.gateway
    port, guard, default = "done", None, False
    if gateway is not None and gateway.type == "eventBasedGateway":
        port = target
    elif gateway is None or gateway.type in ("exclusiveGateway", "inclusiveGateway"):
        choice = shared.choice(source)
        default = choice.default == flow.id
        if flow.id in choice.conditions:
            text, at = choice.conditions[flow.id]
            guard = expression(text, shared, at, source.id)
    return Edge(
        id=flow.id, src=fragments[source.id].exit, dst=fragments[target].entry, port=port, guard=guard,
        default=default, label=flow.fields.name,
    )  # fmt: skip


# ---- where levels begin, and what listens meanwhile ------------------------------------------------------------------


def _frames(fragments: dict[str, Fragment], shared: Shared) -> tuple[list[Node], list[Edge]]:
    nodes: list[Node] = []
    edges: list[Edge] = []
    for level in shared.graph.levels():
        if level and level not in fragments:
            continue
        listening = shared.graph.event_handlers(level)
        entry, more, ways = _entry(level, fragments, shared)
        nodes += more
        edges += ways
        if not listening:
            continue
        main, ways = _main(level, entry, listening, shared)
        nodes += main
        edges += ways
    return nodes, edges


def _entry(level: str, fragments: dict[str, Fragment], shared: Shared) -> tuple[str, list[Node], list[Edge]]:
    """P-X.35: one node from which a level begins, whatever there is to begin with. At the top it keeps the input."""
    starts = [fragments[one.id].entry for one in shared.graph.starts(level) if one.id in fragments]
    scope, id = shared.scope(level), entry_of(level)
    top = level == "" and scope == ""
    drawn = [one for one in shared.graph.starts(level) if one.event is not None and one.event.position == "start"]
    if top and drawn:
        return starts[0] if starts else id, [], []
    sets = KEPT if top else _item(level, shared)
    kind: Any = "start" if top else "route"
    node = Node(id=id, kind=kind, label="Start" if top else "", scope=scope, join=MERGE, origin=level, sets=sets)
    return id, [node], [link(id, start) for start in starts]


def _item(level: str, shared: Shared) -> tuple[Set, ...]:
    """Each instance of a sub-process sees its item under the name its author has given."""
    listens = bool(shared.graph.event_handlers(level))
    return () if not level or listens else named_item(shared.definition.elements[level])


def _main(level: str, entry: str, listening: list[Element], shared: Shared) -> tuple[list[Node], list[Edge]]:
    """What runs while the event sub-processes of a level listen: a scope that they may interrupt."""
    triggers: list[Trigger] = []
    rows = [OnError(match=TERMINATED, action="port:terminated")]
    edges: list[Edge] = []
    main = main_of(level)
    for handler in listening:
        for start in shared.graph.starts(handler.id):
            event = start.event
            if event is None or event.trigger not in ("timer", "message", "signal", "escalation", "error"):
                continue
            site = shared.site(start)
            if event.trigger == "error":
                rows.append(OnError(match=code_of(site) or _LAST_RESORT, action=f"port:{handler.id}"))
            else:
                triggers.append(trigger_of(site, port=handler.id, interrupting=event.interrupting))
            edges.append(link(main, handler.id, port=handler.id))
    end = Node(id=f"{level}.terminated", kind="end", scope=level, ends="terminate", origin=level)
    scope = Node(
        id=main, kind="scope", scope=level, origin=level, join=MERGE, body=Body(mode="one", entry=entry),
        triggers=tuple(triggers), on_error=tuple(sorted(rows, key=lambda row: row.match == _LAST_RESORT)),
    )  # fmt: skip
    edges.append(link(main, end.id, port="terminated"))
    sets = named_item(shared.definition.elements[level]) if level else KEPT
    kind: Any = "route" if level else "start"
    first = Node(
        id=begin_of(level), kind=kind, label="" if level else "Start", scope=level, origin=level, join=MERGE, sets=sets
    )  # fmt: skip
    return [first, scope, end], [link(first.id, main), *edges]
