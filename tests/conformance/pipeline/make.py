"""Makes pipeline documents, and tells what is said about them."""

from __future__ import annotations

import json
from typing import Any

from penstock.errors import Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.pipeline import ProcessorType
from penstock.net.model import Net


def stage(code: str, order: int = 1, processor: str = "Copy", **more: Any) -> dict[str, Any]:
    return {
        "stage_code": code,
        "stage_name": code.title(),
        "sequence_order": order,
        "processor_type": processor,
        **more,
    }


def pipeline(*stages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "pipeline_code": "IMG_BASIC",
        "pipeline_name": "Pictures",
        "file_type": "IMAGE",
        "stages": list(stages) or [stage("only")],
        **more,
    }


def lowered(document: dict[str, Any], **extra: ProcessorType) -> Net:
    return compile_document(json.dumps(document).encode(), name="p.json", extra=extra).net


def findings(document: Any) -> list[Finding]:
    """Everything that is said about a document."""
    return check_document(json.dumps(document).encode(), name="p.json", language="pipeline")[1]


def said(document: Any) -> list[tuple[str, str, str]]:
    """Rule, pointer and hint of everything that is said about a document; every finding has all of them."""
    out = findings(document)
    assert all(f.message and f.hint and f.where.line for f in out)
    return [(f.rule, f.where.pointer, f.hint) for f in out]


def rules(document: Any) -> list[tuple[str, str]]:
    return [(rule, pointer) for rule, pointer, _ in said(document)]


def node(net: Net, id: str) -> Any:
    return next(n for n in net.nodes if n.id == id)
