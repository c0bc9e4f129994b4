"""What can be said about a diagram as a whole; the rules of the graph itself are the net's."""

from __future__ import annotations

from collections import Counter

import msgspec

from penstock.lang.diagram.graph import DiagramGraph
from penstock.lang.diagram.schema import Diagram
from penstock.lang.report import Report
from penstock.net.checks import check
from penstock.net.model import Net

#: A rule of the net that a rule of the diagram has already told in the author's words.
_SAME = {"join_never_satisfied": "join_k_range"}


def check_diagram(diagram: Diagram, graph: DiagramGraph, net: Net, report: Report) -> None:
    if not diagram.whole:
        return  # what is missing would be told a second time, as its consequences
    _starts(diagram, report)
    _conditions(diagram, graph, report)
    _twice(diagram, report)
    _net(net, report)


def _starts(diagram: Diagram, report: Report) -> None:
    """D-X.11."""
    if diagram.nodes and not any(node.type.name == "start" for node in diagram.nodes.values()):
        hint = "Add `- {label: Start, type: start}` and a connection from it."
        report.error("no_start", "The diagram has no start.", "/nodes", hint=hint, key=True)


def _conditions(diagram: Diagram, graph: DiagramGraph, report: Report) -> None:
    for label, node in diagram.nodes.items():
        if node.type.name == "condition" and not graph.outs[label]:
            message = f"Nothing follows the condition «{label}»."
            hint = f"Connect {label}[condtrue] and {label}[condfalse]."
            report.warning("condition_without_branches", message, node.pointer, hint=hint, node=label)


def _twice(diagram: Diagram, report: Report) -> None:
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for edge in diagram.edges:
        way = (edge.source, edge.handle, edge.target, edge.fields.label)
        seen[way] += 1
        if seen[way] == 2:
            message = f"There is more than one connection from «{edge.source}» to «{edge.target}» of the same kind."
            hint = "Remove one, or label them."
            report.warning("duplicate_connection", message, edge.pointer, hint=hint, node=edge.target)


def _net(net: Net, report: Report) -> None:
    """The net's own findings, told of the author's nodes and not twice. An end of the net takes any token, but an
    endpoint joins like every other node of a diagram, so it is shown to the checks as one of those."""
    nodes = tuple(msgspec.structs.replace(node, kind="route") if node.kind == "end" else node for node in net.nodes)
    origin = {node.id: node.origin or node.id for node in net.nodes}
    told = {(f.rule, f.node) for f in report.findings}
    rules = {f.rule for f in report.findings}
    for finding in check(msgspec.structs.replace(net, nodes=nodes)):
        node = origin.get(finding.node, finding.node)
        known = (finding.rule, node) in told or (_SAME.get(finding.rule, ""), node) in told
        if known or (finding.rule == "no_start" and "no_start" in rules):
            continue
        told.add((finding.rule, node))
        tell = report.error if finding.severity == "error" else report.warning
        tell(finding.rule, finding.message, finding.where, hint=finding.hint, node=node)
