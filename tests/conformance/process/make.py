"""Small process definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.errors import Finding
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.read import read_document

EXAMPLES = Path(__file__).parents[3] / "examples" / "process"


def task(id: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "name": fields.pop("name", id), "type": "humanTask", **fields}


def service(id: str, mode: str = "AUTONOMOUS", **fields: Any) -> dict[str, Any]:
    return task(id, type="serviceTask", agent_mode=mode, **fields)


def gateway(id: str, type: str = "exclusive", **fields: Any) -> dict[str, Any]:
    return {"id": id, "name": fields.pop("name", id), "type": f"{type}Gateway", **fields}


def event(id: str, position: str, trigger: str = "none", **fields: Any) -> dict[str, Any]:
    return {"id": id, "name": fields.pop("name", id), "position": position, "trigger": trigger, **fields}


def process(elements: list[dict[str, Any]], ways: list[Any], **top: Any) -> dict[str, Any]:
    """`ways` are "A>B", or ("A>B", {fields}); a transition's id is its way."""
    found: dict[str, Any] = {"process_definition_id": "p", "process_definition_name": "P"}
    found |= {"activities": [], "gateways": [], "events": [], "transitions": []}
    for one in elements:
        kind = "events" if "position" in one else "gateways" if one["type"].endswith("Gateway") else "activities"
        found[kind].append(one)
    for way in ways:
        text, fields = way if isinstance(way, tuple) else (way, {})
        source, _, target = text.partition(">")
        found["transitions"].append({"id": text, "source": source, "target": target, **fields})
    return {**found, **top}


def as_bytes(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def findings(document: dict[str, Any] | bytes, **options: Any) -> list[Finding]:
    data = document if isinstance(document, bytes) else as_bytes(document)
    return check_document(data, name="p.json", **options)[1]


def rules(document: dict[str, Any], severity: str = "error") -> list[str]:
    return [one.rule for one in findings(document) if one.severity == severity]


def compiled(document: dict[str, Any], **options: Any) -> Compiled:
    return compile_document(as_bytes(document), name="p.json", **options)


def in_a_file(document: dict[str, Any]) -> dict[str, Any]:
    """What is read again of a definition that was written as BPMN."""
    found: dict[str, Any] = read_document(write_bpmn(document).encode(), name="p.bpmn").data
    return found


def from_xml(inner: str) -> dict[str, Any]:
    """The definition of a BPMN file with one process."""
    space = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    text = f'<definitions {space} targetNamespace="t"><process id="p" name="P" isExecutable="true">{inner}</process>'
    found: dict[str, Any] = read_document(f"{text}</definitions>".encode(), name="p.bpmn").data
    return found
