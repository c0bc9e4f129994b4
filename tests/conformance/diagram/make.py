"""Small diagrams for tests: nodes and connections in, a net or findings out."""

from __future__ import annotations

import json
from typing import Any

from penstock.errors import Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled
from penstock.net.model import Edge, Net, Node

START = {"label": "Start", "type": "start"}
END = {"label": "End", "type": "endpoint"}
PERSONS = {"Bot": {"service": "mock"}}


def text(label: str, **fields: Any) -> dict[str, Any]:
    """A node that does some work and needs nothing."""
    return {"label": label, "type": "template_job", "template": label, **fields}


def job(label: str, **fields: Any) -> dict[str, Any]:
    return {"label": label, "type": "person_job", "person": "Bot", "default_prompt": "go", **fields}


def cond(label: str, **fields: Any) -> dict[str, Any]:
    fields = fields if "condition_type" in fields or "expression" in fields else {"expression": "input.yes", **fields}
    return {"label": label, "type": "condition", **fields}


def document(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> bytes:
    """A way is "A>B", "C[condtrue]>B", or such a text and a map of more fields."""
    connections = []
    for way in ways:
        ends, more = way if isinstance(way, tuple) else (way, {})
        source, target = ends.split(">")
        connections.append({"from": source, "to": target, **more})
    whole = {"version": "light", "persons": PERSONS, "nodes": nodes, "connections": connections, **top}
    return json.dumps(whole).encode()


def compiled(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> Compiled:
    return compile_document(document(nodes, ways, **top), name="test.json")


def net_of(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> Net:
    return compiled(nodes, ways, **top).net


def found(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> list[Finding]:
    language, findings = check_document(document(nodes, ways, **top), name="test.json")
    assert language == "diagram"
    told_well(findings)
    return findings


def told_well(findings: list[Finding]) -> None:
    """Whatever is wrong with whatever document: it is told with its place and with what to do."""
    assert [str(one) for one in findings if not one.hint or not one.where.line] == []


def rules(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> list[tuple[str, str, str]]:
    """(severity, rule, node) of every finding."""
    return [(f.severity, f.rule, f.node) for f in found(nodes, ways, **top)]


def only(findings: list[Finding], rule: str) -> Finding:
    """The one finding of a rule."""
    (one,) = [f for f in findings if f.rule == rule]
    return one


def node(net: Net, id: str) -> Node:
    (one,) = [n for n in net.nodes if n.id == id]
    return one


def edge(net: Net, id: str) -> Edge:
    (one,) = [e for e in net.edges if e.id == id]
    return one


def plain(*nodes: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Start, the nodes in a row, End."""
    row = [START, *nodes, END]
    return row, [f"{a['label']}>{b['label']}" for a, b in zip(row, row[1:], strict=False)]
