"""Lowers a diagram to a net: each node to the fragment of its type, each connection to an edge."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.diagram.checks import check_diagram
from penstock.lang.diagram.graph import DiagramGraph
from penstock.lang.diagram.lowering_context import ROOTS, IncomingEdge, LoweringContext, check_expression, quoted
from penstock.lang.diagram.nodes.condition import ConditionFields
from penstock.lang.diagram.nodes.contract import Fragment
from penstock.lang.diagram.nodes.person_job import PersonJobFields
from penstock.lang.diagram.python_words import in_our_words
from penstock.lang.diagram.schema import Diagram, DiagramEdge
from penstock.lang.diagram.shared_variables import SharedVariables
from penstock.lang.document import child_pointer
from penstock.lang.report import Report
from penstock.net.model import Declares, Edge, Net, Node

#: D-7.2.3: how many nodes of one run work at once.
MAX_CONCURRENT = 20
#: A person's answer on a connection for text: the last message of a conversation, JSON of data. From other nodes
#: everything travels unchanged, and who needs text reads it as text.
AS_TEXT = (
    "fn.if(fn.type_of(body) == 'object', "
    "fn.if(fn.type_of(body.messages) == 'array', fn.last(body.messages).content, fn.concat(body)), "
    "fn.if(fn.type_of(body) == 'array', fn.concat(body), body))"
)
#: Types for which the kernel itself reads the names of inputs.
_EVALUATED_TYPES = ("condition", "user_response", "sub_diagram")
_NAME = re.compile(r"[^\W\d]\w*\Z")


def lower(diagram: Diagram, report: Report, setting: Setting) -> Lowered | None:
    graph = DiagramGraph(diagram)
    labels = tuple(diagram.nodes)
    shared = SharedVariables(diagram, graph, _variable)
    fragments = {label: _lower_node(label, labels, diagram, graph, shared, report, setting) for label in labels}
    nodes: list[Node] = []
    inner: list[Edge] = []
    places: dict[str, Place] = {}
    children: dict[str, Net] = {}
    start_data: dict[str, Any] = {}
    for label, fragment in fragments.items():
        nodes += fragment.nodes
        inner += fragment.edges
        children |= fragment.children
        start_data |= fragment.variables
        place = report.document.place(diagram.nodes[label].pointer)
        for id in (*(node.id for node in fragment.nodes), *(edge.id for edge in fragment.edges)):
            places[id] = place
    edge_ids = Counter(edge.id for edge in inner)
    outer = [_lower_edge(edge, diagram, graph, fragments, edge_ids, report) for edge in diagram.edges]
    for edge, net_edge in zip(diagram.edges, outer, strict=True):
        places[net_edge.id] = report.document.place(edge.pointer)
    net = Net(
        name=diagram.top.name or _name_from_file(report.document.name),
        language="diagram",
        nodes=tuple(nodes),
        edges=(*outer, *inner),
        limits={"diagram": MAX_CONCURRENT},
        on_stuck="fail",
        on_fail="drain",
        max_visits=diagram.top.max_node_executions,
        declares=Declares(
            variables={**_optional_variables(diagram, graph, start_data), **dict.fromkeys(sorted(shared.names))}
        ),
        source_map=places,
    )
    check_diagram(diagram, graph, net, report)
    return Lowered(net, children)


def _optional_variables(diagram: Diagram, graph: DiagramGraph, start_data: dict[str, Any]) -> dict[str, Any]:
    """Input names that are null until a token brings them: a node with several inputs may fire without some of them."""
    names: dict[str, Any] = {}
    for label, node in diagram.nodes.items():
        if len(graph.incoming[label]) > 1 and node.type.name in _EVALUATED_TYPES:
            names |= dict.fromkeys((_variable(edge) for edge in graph.incoming[label]), None)
    names.pop("", None)
    return {**names, "start_data": start_data} if start_data else names


def variable_name(label: str) -> str:
    """The variable name of a label: «Load Data» is load_data, «PersonJob» is person_job."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", label)
    name = re.sub(r"\W+", "_", spaced).strip("_").lower()
    return f"_{name}" if name[:1].isdigit() else name


def _name_from_file(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1]
    return re.sub(r"(\.(light|native))?\.(ya?ml|json)\Z", "", base) or "diagram"


def _lower_node(
    label: str, labels: tuple[str, ...], diagram: Diagram, graph: DiagramGraph, shared: SharedVariables,
    report: Report, setting: Setting,
) -> Fragment:  # fmt: skip
    node = diagram.nodes[label]
    context = LoweringContext(
        label=label,
        type=node.type.name,
        pointer=node.pointer,
        where=node.where,
        report=report,
        setting=setting,
        persons=diagram.persons,
        labels=labels,
        inputs=tuple(IncomingEdge(edge.source, _variable(edge)) for edge in graph.incoming[label]),
        outputs=len(graph.outgoing[label]),
        conversation=any(edge.fields.content_type == "conversation_state" for edge in graph.outgoing[label]),
        limits=lambda: graph.limits(label),
        rest=node.rest,
        shared=frozenset(shared.names),
        taken=frozenset(shared.taken(label)),
        unnamed=tuple(_variable(edge) for edge in shared.unnamed(label)),
        members=frozenset(shared.members(label)),
    )
    return node.type.lower(node.fields, context)


def _variable(edge: DiagramEdge) -> str:
    if not edge.fields.label:
        return variable_name(edge.source)
    return edge.fields.label if _NAME.match(edge.fields.label) else variable_name(edge.fields.label)


def _lower_edge(
    edge: DiagramEdge,
    diagram: Diagram,
    graph: DiagramGraph,
    fragments: dict[str, Fragment],
    edge_ids: Counter[str],
    report: Report,
) -> Edge:
    f, source = edge.fields, diagram.nodes[edge.source]
    _check_names(edge, diagram, report)
    port = edge.handle or "done"
    base = f"{edge.source}{'' if port == 'done' else ':' + port}>{edge.target}"
    edge_ids[base] += 1
    condition = source.fields if isinstance(source.fields, ConditionFields) else None
    options: dict[str, Any] = {"role": _role(edge, source.type.name, condition)}
    if condition is not None and condition.loop_controller and graph.closes_cycle(edge):
        options["raises"] = True
    if f.priority is not None:
        options["priority"] = f.priority
    if f.ttl_s is not None:
        options["ttl_ms"] = max(1, round(f.ttl_s * 1000))
    if f.capacity is not None:
        options["capacity"] = f.capacity
    if f.transform:
        at = edge.where.get("transform", child_pointer(edge.pointer, "transform"))
        transform = in_our_words(f.transform)
        if check_expression(transform, {"body"}, report, at, edge.source) is not None:
            options["transform"] = transform
    elif source.type.name == "start" and f.label and f.label != "default":
        options["transform"] = _member_of_start(f.label)
    elif f.content_type == "raw_text" and isinstance(source.fields, PersonJobFields):
        if source.fields.on_error == "fail":  # an error envelope stays one
            options["transform"] = AS_TEXT
    return Edge(
        id=base if edge_ids[base] == 1 else f"{base}#{edge_ids[base]}",
        src=fragments[edge.source].exit,
        dst=fragments[edge.target].entry,
        port=port,
        label=f.label or edge.handle,
        var=_variable(edge),
        **options,
    )


def _member_of_start(label: str) -> str:
    """A connection from a start that is called like a member of its data brings that member, else all of it."""
    return f"fn.if(fn.type_of(body) == 'object', fn.coalesce(body[{quoted(label)}], body), body)"


def _role(edge: DiagramEdge, source: str, condition: ConditionFields | None) -> str:
    """How the target's join counts the edge (D-X.2). An edge for expired tokens never blocks; one to the handle `first`
    counts like one from a start: only until the node has executed once."""
    if edge.handle == "dead":
        return "skip"
    if condition is not None:
        return "skip" if condition.skippable else "cond"
    return "start" if source == "start" or edge.first else "plain"


def _check_names(edge: DiagramEdge, diagram: Diagram, report: Report) -> None:
    label = edge.fields.label
    if not label:
        return
    at = edge.where.get("label", child_pointer(edge.pointer, "label"))
    if not _NAME.match(label):
        message = f"«{label}» cannot be the name of a variable; «{edge.target}» sees it as «{variable_name(label)}»."
        report.warning("label_not_a_name", message, at, hint="Use letters, digits and underscores.", node=edge.target)
    elif label in ROOTS and diagram.nodes[edge.target].type.name == "condition":
        message = f"«{label}» already means something in a condition's expression."
        report.error("reserved_name", message, at, hint="Choose another label.", node=edge.target)
