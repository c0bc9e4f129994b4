"""Reads a workflow document field by field, with the place of everything that is wrong (seed 000, section 3)."""

from __future__ import annotations

import re
from typing import Any

from penstock.lang.contract import Setting
from penstock.lang.decision.nodes import NODE_TYPES
from penstock.lang.decision.workflow import (
    LONGEST_ID,
    SCHEMA,
    EdgeFields,
    TopFields,
    Workflow,
    WorkflowEdge,
    WorkflowNode,
)
from penstock.lang.document import Document, child_pointer
from penstock.lang.fields import TENANT, read_fields, read_top, unknown_fields
from penstock.lang.report import Report, did_you_mean
from penstock.lang.schemas import schema_problem

ID = re.compile(r"[a-z][a-z0-9_]*\Z")
UUID = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def recognise(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        return False
    if data.get("$schema") == SCHEMA:
        return True
    types = [node.get("type") for node in data["nodes"] if isinstance(node, dict)]
    upper = any(isinstance(type, str) and type in NODE_TYPES for type in types)
    return upper or "edges" in data and not {"connections", "arrows", "persons"} & data.keys()


def read(document: Document, report: Report, setting: Setting) -> Workflow:
    """The workflow of a document. What cannot be read is reported and left out; nothing is raised for it."""
    data = document.data
    if not isinstance(data, dict):
        report.error("wrong_type", "A workflow is a map.", hint="Begin with `id`, `version`, `nodes` and `edges`.")
        return Workflow(TopFields(), complete=False)
    top = read_top(TopFields, data, ("nodes", "edges"), report)
    workflow = Workflow(top)
    _check_workflow_id(top, report)
    for i, raw in enumerate(_list(data, "nodes", report, workflow)):
        _read_node(raw, child_pointer("/nodes", i), workflow, report)
    for i, raw in enumerate(_list(data, "edges", report, workflow)):
        _read_edge(raw, child_pointer("/edges", i), workflow, report)
    _check_tenant_and_schemas(workflow, report)
    return workflow


def _check_workflow_id(top: TopFields, report: Report) -> None:
    if top.id and not ID.match(top.id) and not UUID.match(top.id):
        message = f"«{top.id}» cannot be the id of a workflow."
        report.error("bad_id", message, "/id", hint="Use lower case letters, digits and _, beginning with a letter.")


def _check_tenant_and_schemas(workflow: Workflow, report: Report) -> None:
    """C-04: a UUID or a slug. W-12.1.5: a JSON Schema is a map, or true or false."""
    tenant = workflow.top.tenant_id
    if tenant and not TENANT.match(tenant):
        hint = "Use letters, digits, _ and -, at most 50."
        report.error("wrong_type", f"«{tenant}» cannot be a tenant.", "/tenant_id", hint=hint)
    schemas = [(name, getattr(workflow.top, name), f"/{name}") for name in ("input_schema", "output_schema")]
    nodes = [node for node in workflow.nodes.values() if node.fields.output is not None]
    schemas += [
        ("schema", getattr(node.fields.output, "schema", None), f"{node.pointer}/output/schema") for node in nodes
    ]
    for name, schema, at in schemas:
        if schema is not None and not isinstance(schema, dict | bool):
            hint = 'Write `{"type": "object", "properties": {…}}`.'
            report.error("wrong_type", f"«{name}» must be a JSON Schema.", at, hint=hint)
        elif isinstance(schema, dict) and schema and (problem := schema_problem(schema)) is not None:
            hint = "Correct the schema; references stay inside it, and nothing is fetched."
            report.error("json_schema", f"«{name}» is no JSON Schema: {problem[1]}.", at + problem[0], hint=hint)


def _list(data: dict[str, Any], name: str, report: Report, workflow: Workflow) -> list[Any]:
    value = data.get(name)
    if isinstance(value, list):
        return value
    workflow.complete = False
    if name in data:
        report.error("wrong_type", f"«{name}» must be a list.", f"/{name}", hint=f"Write `{name}: [ … ]`.")
    else:
        report.error("missing_field", f"«{name}» is missing.", "", hint=f"Write `{name}: [ … ]`.")
    return []


def _read_node(raw: Any, at: str, workflow: Workflow, report: Report) -> None:
    if not isinstance(raw, dict):
        workflow.complete = False
        report.error("wrong_type", "A node is a map.", at, hint='Write `{"id": …, "type": …}`.')
        return
    id, word = raw.get("id"), raw.get("type")
    if not _check_node_id(id, at, workflow, report):
        workflow.complete = False
        return
    assert isinstance(id, str)
    kind = NODE_TYPES.get(word) if isinstance(word, str) else None
    if kind is None:
        workflow.complete = False
        workflow.unread.add(id)
        _report_type(id, word, at, report)
        return
    fields, rest = read_fields(kind.fields, raw, at, report, node=id)
    unknown_fields(rest, kind.fields, at, report, node=id)
    workflow.nodes[id] = WorkflowNode(id, kind, fields, at, raw)


def _report_type(id: str, word: Any, at: str, report: Report) -> None:
    if word is None:
        report.error("missing_field", "«type» is missing.", at, node=id, hint=f"Write one of {', '.join(NODE_TYPES)}.")
    else:
        hint = did_you_mean(str(word), [*NODE_TYPES], "Node types are written in upper case.")
        report.error("unknown_type", f"There is no node type «{word}».", child_pointer(at, "type"), node=id, hint=hint)


def _check_node_id(id: Any, at: str, workflow: Workflow, report: Report) -> bool:
    if id is None or id == "":
        report.error("missing_field", "«id» is missing.", at, hint="Write an id of lower case letters, digits and _.")
    elif not isinstance(id, str) or not ID.match(id) or len(id) > LONGEST_ID:
        hint = "Use at most 100 lower case letters, digits and _, beginning with a letter."
        report.error("bad_id", f"«{id}» cannot be the id of a node.", child_pointer(at, "id"), hint=hint)
    elif id in workflow.nodes or id in workflow.unread:
        message = f"Duplicate node IDs: {id}"
        report.error(
            "unique_node_ids", message, child_pointer(at, "id"), node=id, hint="Every node has an id of its own."
        )
    else:
        return True
    return False


def _read_edge(raw: Any, at: str, workflow: Workflow, report: Report) -> None:
    if not isinstance(raw, dict):
        workflow.complete = False
        report.error("wrong_type", "An edge is a map.", at, hint='Write `{"from": …, "to": …}`.')
        return
    fields, rest = read_fields(EdgeFields, raw, at, report)
    unknown_fields(rest, EdgeFields, at, report)
    if not fields.from_ or not fields.to:
        workflow.complete = False
        return
    nodes, unread = workflow.nodes, workflow.unread
    ends = (("from", fields.from_), ("to", fields.to))
    missing = [(name, id) for name, id in ends if id not in nodes and id not in unread]
    for name, id in missing:
        hint = did_you_mean(id, {*nodes, *unread}, "Write the id of a node of this workflow.")
        report.error(
            "edge_targets_exist", f"The edge names «{id}», which does not exist.", child_pointer(at, name), hint=hint
        )
    if missing or fields.from_ in unread or fields.to in unread:
        workflow.complete = False
        return
    workflow.edges.append(WorkflowEdge(fields.from_, fields.to, fields, at))
