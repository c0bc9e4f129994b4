"""Checks a diagram as a whole: its start, its conditions, duplicates, and the rules of the net."""

from __future__ import annotations

from collections import Counter

import msgspec

from penstock.lang.diagram.graph import DiagramGraph
from penstock.lang.diagram.schema import Diagram
from penstock.lang.report import Report
from penstock.net.checks import check
from penstock.net.model import Net

#: Rules of the net that say the same as a rule of the diagram.
_SAME_RULE = {"join_never_satisfied": "join_k_range"}


def check_diagram(diagram: Diagram, graph: DiagramGraph, net: Net, report: Report) -> None:
    if not diagram.complete:
        return  # a graph with holes would only report the consequences of what is reported already
    _check_start(diagram, report)
    _check_conditions(diagram, graph, report)
    _check_duplicates(diagram, report)
    _check_net(net, report)


def _check_start(diagram: Diagram, report: Report) -> None:
    """A diagram has a start (D-X.11)."""
    if diagram.nodes and not any(node.type.name == "start" for node in diagram.nodes.values()):
        hint = "Add `- {label: Start, type: start}` and a connection from it."
        report.error("no_start", "The diagram has no start.", "/nodes", hint=hint, key=True)


def _check_conditions(diagram: Diagram, graph: DiagramGraph, report: Report) -> None:
    for label, node in diagram.nodes.items():
        if node.type.name == "condition" and not graph.outgoing[label]:
            message = f"Nothing follows the condition «{label}»."
            hint = f"Connect {label}[condtrue] and {label}[condfalse]."
            report.warning("condition_without_branches", message, node.pointer, hint=hint, node=label)


def _check_duplicates(diagram: Diagram, report: Report) -> None:
    count: Counter[tuple[str, str, str, str]] = Counter()
    for edge in diagram.edges:
        connection = (edge.source, edge.handle, edge.target, edge.fields.label)
        count[connection] += 1
        if count[connection] == 2:
            message = f"There is more than one connection from «{edge.source}» to «{edge.target}» of the same kind."
            hint = "Remove one, or label them."
            report.warning("duplicate_connection", message, edge.pointer, hint=hint, node=edge.target)


def _check_net(net: Net, report: Report) -> None:
    """Reports what the net's own checks find, at the author's nodes and not twice. An end of the net takes any token,
    but an endpoint joins like every other node of a diagram: the checks see it as a route."""
    nodes = tuple(msgspec.structs.replace(node, kind="route") if node.kind == "end" else node for node in net.nodes)
    origin = {node.id: node.origin or node.id for node in net.nodes}
    reported = {(f.rule, f.node) for f in report.findings}
    rules = {f.rule for f in report.findings}
    for finding in check(msgspec.structs.replace(net, nodes=nodes)):
        node = origin.get(finding.node, finding.node)
        known = (finding.rule, node) in reported or (_SAME_RULE.get(finding.rule, ""), node) in reported
        if known or (finding.rule == "no_start" and "no_start" in rules):
            continue
        reported.add((finding.rule, node))
        add = report.error if finding.severity == "error" else report.warning
        add(finding.rule, finding.message, finding.where, hint=finding.hint, node=node)
