"""Makes plans, as documents and as files, and tells what is said about them."""

from __future__ import annotations

import json
from typing import Any

from penstock.errors import Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.plan.front_matter import new_file
from penstock.lang.plan.project_files import ProjectDocument, plan_document
from penstock.net.model import Net, Node

INPUT = {"project": "/somewhere/site", "project_id": "site", "trusted": True}


def task(id: str, *depends_on: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "title": id.title(), "depends_on": list(depends_on), **more}


def plan(*tasks: dict[str, Any], agents: Any = ("ann", "bob", "cid"), **settings: Any) -> dict[str, Any]:
    return {
        "plan": {"name": "site", **settings},
        "agents": [one if isinstance(one, dict) else {"name": one, "command": ["sh", "-c", "true"]} for one in agents],
        "tasks": list(tasks),
    }


def lowered(document: dict[str, Any]) -> Net:
    return compile_document(json.dumps(document).encode(), name="plan.json", language="plan").net


def findings(document: Any) -> list[Finding]:
    """Everything that is said about a document; each has a message, a place and a hint."""
    out = check_document(json.dumps(document).encode(), name="plan.json", language="plan")[1]
    assert all(f.message and f.hint and f.where.line for f in out), out
    return out


def rules(document: Any) -> list[tuple[str, str]]:
    return [(f.rule, f.where.pointer) for f in findings(document)]


def node(net: Net, id: str) -> Node:
    return next(n for n in net.nodes if n.id == id)


def edges(net: Net) -> set[str]:
    return {edge.id for edge in net.edges}


def a_file(body: str = "Do it.", **fields: Any) -> bytes:
    return new_file(fields, body)


def project(**files: bytes | str) -> ProjectDocument:
    """`tasks__a` stands for tasks/a.md, `plan` for plan.yaml."""
    return plan_document({_path(name): _bytes(text) for name, text in files.items()}, name="site")


def all_findings(read: ProjectDocument) -> list[Finding]:
    """Of the files, and of the document that they make."""
    return [*read.findings, *check_document(read.bytes(), name="plan.json", language="plan")[1]]


def _path(name: str) -> str:
    return "plan.yaml" if name == "plan" else name.replace("__", "/") + ".md"


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
