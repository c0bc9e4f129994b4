"""A diagram becomes a net: every node its type's fragment, every connection an edge (KERNEL 4, row diagram)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from penstock.errors import Place
from penstock.lang.contract import Lowered, Setting
from penstock.lang.diagram.checks import check_diagram
from penstock.lang.diagram.graph import DiagramGraph
from penstock.lang.diagram.lowering_context import ROOTS, IncomingEdge, LoweringContext, check_expression
from penstock.lang.diagram.nodes.condition import ConditionFields
from penstock.lang.diagram.nodes.contract import Fragment
from penstock.lang.diagram.nodes.person_job import PersonJobFields
from penstock.lang.diagram.schema import Diagram, DrawnEdge
from penstock.lang.document import child_pointer
from penstock.lang.report import Report
from penstock.net.model import Declares, Edge, Net, Node

#: D-7.2.3: so many nodes of one run are at work at once.
MAX_CONCURRENT = 20
#: What a connection for text makes of a person's answer: of a conversation what was said last, of data JSON. From other
#: nodes everything travels as it is, and whoever needs text reads it as text.
AS_TEXT = (
    "fn.if(fn.type_of(body) == 'object', "
    "fn.if(fn.type_of(body.messages) == 'array', fn.last(body.messages).content, fn.concat(body)), "
    "fn.if(fn.type_of(body) == 'array', fn.concat(body), body))"
)
#: Types for which the kernel itself reads the names of inputs.
_EVALUATED = ("condition", "user_response", "sub_diagram")
_NAME = re.compile(r"[^\W\d]\w*\Z")


def lower(diagram: Diagram, report: Report, setting: Setting) -> Lowered | None:
    graph = DiagramGraph(diagram)
    labels = tuple(diagram.nodes)
    fragments = {label: _fragment(label, labels, diagram, graph, report, setting) for label in labels}
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
    taken = Counter(edge.id for edge in inner)
    outer = [_edge(edge, diagram, graph, fragments, taken, report) for edge in diagram.edges]
    for drawn, made in zip(diagram.edges, outer, strict=True):
        places[made.id] = report.document.place(drawn.pointer)
    net = Net(
        name=diagram.top.name or _stem(report.document.name),
        language="diagram",
        nodes=tuple(nodes),
        edges=(*outer, *inner),
        limits={"diagram": MAX_CONCURRENT},
        on_stuck="fail",
        on_fail="drain",
        max_visits=diagram.top.max_node_executions,
        declares=Declares(variables=_declared(diagram, graph, start_data)),
        source_map=places,
    )
    check_diagram(diagram, graph, net, report)
    return Lowered(net, children)


def _declared(diagram: Diagram, graph: DiagramGraph, start_data: dict[str, Any]) -> dict[str, Any]:
    """Names that are null until something brings them: what a node with several inputs may see on some days only."""
    found: dict[str, Any] = {}
    for label, node in diagram.nodes.items():
        if len(graph.ins[label]) > 1 and node.type.name in _EVALUATED:
            found |= dict.fromkeys((_var(edge) for edge in graph.ins[label]), None)
    found.pop("", None)
    return {**found, "start_data": start_data} if start_data else found


def snake(label: str) -> str:
    """The variable a label gives: «Load Data» is load_data, «PersonJob» is person_job."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", label)
    name = re.sub(r"\W+", "_", apart).strip("_").lower()
    return f"_{name}" if name[:1].isdigit() else name


def _stem(name: str) -> str:
    base = re.split(r"[/\\]", name)[-1]
    return re.sub(r"(\.(light|native))?\.(ya?ml|json)\Z", "", base) or "diagram"


def _fragment(
    label: str, labels: tuple[str, ...], diagram: Diagram, graph: DiagramGraph, report: Report, setting: Setting
) -> Fragment:
    drawn = diagram.nodes[label]
    site = LoweringContext(
        label=label,
        type=drawn.type.name,
        pointer=drawn.pointer,
        where=drawn.where,
        report=report,
        setting=setting,
        persons=diagram.persons,
        labels=labels,
        inputs=tuple(IncomingEdge(edge.source, _var(edge)) for edge in graph.ins[label]),
        outputs=len(graph.outs[label]),
        conversation=any(edge.fields.content_type == "conversation_state" for edge in graph.outs[label]),
        limits=lambda: graph.limits(label),
        rest=drawn.rest,
    )
    return drawn.type.lower(drawn.fields, site)


def _var(edge: DrawnEdge) -> str:
    if not edge.fields.label:
        return snake(edge.source)
    return edge.fields.label if _NAME.match(edge.fields.label) else snake(edge.fields.label)


def _edge(
    drawn: DrawnEdge,
    diagram: Diagram,
    graph: DiagramGraph,
    fragments: dict[str, Fragment],
    taken: Counter[str],
    report: Report,
) -> Edge:
    f, source = drawn.fields, diagram.nodes[drawn.source]
    _check_names(drawn, diagram, report)
    port = drawn.handle or "done"
    base = f"{drawn.source}{'' if port == 'done' else ':' + port}>{drawn.target}"
    taken[base] += 1
    condition = source.fields if isinstance(source.fields, ConditionFields) else None
    options: dict[str, Any] = {"role": _role(drawn, source.type.name, condition)}
    if condition is not None and condition.loop_controller and graph.closes_cycle(drawn):
        options["raises"] = True
    if f.priority is not None:
        options["priority"] = f.priority
    if f.ttl_s is not None:
        options["ttl_ms"] = max(1, round(f.ttl_s * 1000))
    if f.capacity is not None:
        options["capacity"] = f.capacity
    if f.transform:
        at = drawn.where.get("transform", child_pointer(drawn.pointer, "transform"))
        if check_expression(f.transform, {"body"}, report, at, drawn.source) is not None:
            options["transform"] = f.transform
    elif f.content_type == "raw_text" and isinstance(source.fields, PersonJobFields):
        if source.fields.on_error == "fail":  # an error envelope stays one
            options["transform"] = AS_TEXT
    return Edge(
        id=base if taken[base] == 1 else f"{base}#{taken[base]}",
        src=fragments[drawn.source].exit,
        dst=fragments[drawn.target].entry,
        port=port,
        label=f.label or drawn.handle,
        var=_var(drawn),
        **options,
    )


def _role(drawn: DrawnEdge, source: str, condition: ConditionFields | None) -> str:
    """What the target's join makes of the edge (D-X.2). An expired token's way never blocks; a way to the handle
    `first` counts like one from a start: only until the node has executed once."""
    if drawn.handle == "dead":
        return "skip"
    if condition is not None:
        return "skip" if condition.skippable else "cond"
    return "start" if source == "start" or drawn.first else "plain"


def _check_names(drawn: DrawnEdge, diagram: Diagram, report: Report) -> None:
    label = drawn.fields.label
    if not label:
        return
    at = drawn.where.get("label", child_pointer(drawn.pointer, "label"))
    if not _NAME.match(label):
        message = f"«{label}» cannot be the name of a variable; «{drawn.target}» sees it as «{snake(label)}»."
        report.warning("label_not_a_name", message, at, hint="Use letters, digits and underscores.", node=drawn.target)
    elif label in ROOTS and diagram.nodes[drawn.target].type.name == "condition":
        message = f"«{label}» already means something in a condition's expression."
        report.error("reserved_name", message, at, hint="Choose another label.", node=drawn.target)
