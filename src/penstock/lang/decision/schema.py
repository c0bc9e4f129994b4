"""The form of a decision workflow (seed 000, sections 3 and 12): every field, read with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.contract import Setting
from penstock.lang.decision import bounds
from penstock.lang.decision.nodes import LATER, NODE_TYPES, NodeType
from penstock.lang.decision.nodes.contract import BreakerFields, Checkpoint, IdempotencyFields, NodeFields, RetryPolicy
from penstock.lang.document import Document, step
from penstock.lang.fields import Fields, read_fields, read_top, unknown_fields
from penstock.lang.report import Report, did_you_mean
from penstock.lang.schemas import schema_problem

ID = re.compile(r"[a-z][a-z0-9_]*\Z")
UUID = re.compile(r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
TENANT = re.compile(r"[A-Za-z0-9_-]{1,50}\Z")
SCHEMA = "https://factory.ai/schemas/workflow-dsl-v2.json"
#: C-17: what is written in `metadata.approval_status`, by either spelling.
APPROVAL_STATUS = ("draft", "pending", "pending_approval", "approved", "active", "deprecated")
_LONGEST_ID = 100


class TriggerFields(Fields):
    """What starts a run."""

    type: Annotated[
        Literal["manual", "schedule", "event", "webhook"] | None, Meta(description="What starts a run.")
    ] = None
    config: Annotated[dict[str, Any], Meta(description="cron, timezone; source, filter; path, method, auth.")] = {}

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class ContextFields(Fields):
    """What the whole workflow knows."""

    variables: Annotated[dict[str, Any], Meta(description="Variables and their first values.")] = {}
    secrets: Annotated[dict[str, Any], Meta(description="Names and where their values lie: env:NAME, file:path.")] = {}
    rag_context: Annotated[list[Any], Meta(description="Searches: a name, or {name, query, top_k}.")] = []
    aas_context: Annotated[list[Any], Meta(description="Assets: «line.L01», or {type, id}.")] = []

    OPEN: ClassVar[bool] = True


class CompensationPolicy(Fields):
    """C-16: what happens to finished work when a run fails."""

    enabled: bool = True
    order: Literal["reverse"] = "reverse"
    on_cancel: bool = True
    continue_on_error: bool = False

    OPEN: ClassVar[bool] = True


class DlqInclude(Fields):
    error: bool = True
    input: bool = True
    context_snapshot: bool = True
    execution_history: bool = True

    OPEN: ClassVar[bool] = True


class DlqAlerts(Fields):
    threshold: Annotated[int, Meta(ge=0, le=bounds.COUNT)] = 10
    window_minutes: Annotated[int, Meta(ge=1, le=bounds.MINUTES)] = 60
    channels: list[str] = []

    OPEN: ClassVar[bool] = True


class DlqReplay(Fields):
    enabled: bool = True
    auto_replay_on_fix: bool = False
    max_replay_attempts: Annotated[int, Meta(ge=0, le=bounds.COUNT)] = 3

    OPEN: ClassVar[bool] = True


class DlqPolicy(Fields):
    """W-7.5.1: where failed runs are kept, and who hears of it."""

    enabled: bool = True
    queue_name: str = "workflow_dlq"
    retention_days: Annotated[int, Meta(ge=1, le=bounds.DAYS)] = 30
    include: DlqInclude | None = None
    alerts: DlqAlerts | None = None
    replay: DlqReplay | None = None

    OPEN: ClassVar[bool] = True


class Policies(Fields):
    """What holds for every node that does not say otherwise."""

    retry: RetryPolicy | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=bounds.MS, description="Active time of the whole run.")] | None = None
    circuit_breaker: BreakerFields | None = None
    compensation: CompensationPolicy | None = None
    checkpoint: Checkpoint | None = None
    dlq: DlqPolicy | None = None
    idempotency: IdempotencyFields | None = None

    OPEN: ClassVar[bool] = True


class Metadata(Fields):
    created_at: str = ""
    updated_at: str = ""
    created_by: str = ""
    approved_by: str = ""
    approval_status: Literal["draft", "pending", "pending_approval", "approved", "active", "deprecated"] | None = None

    OPEN: ClassVar[bool] = True


class TopFields(Fields):
    """The whole document."""

    schema: Annotated[str, Meta(description=f"{SCHEMA}")] = ""
    id: Annotated[str, Meta(max_length=_LONGEST_ID, description="Lower case letters, digits, _; or a UUID.")] = ""
    name: Annotated[str, Meta(max_length=200, description="What people call it.")] = ""
    description: Annotated[str, Meta(max_length=2000, description="What it is for.")] = ""
    version: Annotated[int, Meta(ge=1, le=bounds.VERSION, description="Grows with every change.")] | None = None
    tenant_id: Annotated[str, Meta(max_length=50, description="Whose it is; the caller's when absent.")] = ""
    tags: list[str] = []
    trigger: TriggerFields | None = None
    input_schema: Annotated[Any, Meta(description="JSON Schema draft-07 of the input.")] = None
    output_schema: Annotated[Any, Meta(description="JSON Schema draft-07 of the output.")] = None
    context: ContextFields | None = None
    policies: Policies | None = None
    metadata: Metadata | None = None

    ALIASES: ClassVar[dict[str, str]] = {"$schema": "schema"}
    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "version")


class EdgeFields(Fields):
    """A way from one node to another."""

    from_: Annotated[str, Meta(description="The id of a node.")] = ""
    to: Annotated[str, Meta(description="The id of a node.")] = ""
    when: Annotated[str | None, Meta(description="A case, an outcome or an expression; none: after success.")] = None
    priority: (
        Annotated[int, Meta(ge=-bounds.COUNT, le=bounds.COUNT, description="The smaller number goes first.")] | None
    ) = None

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("from", "to")


@dataclass
class WorkflowNode:
    """One node of the document."""

    id: str
    type: NodeType
    fields: NodeFields
    pointer: str
    raw: dict[str, Any]


@dataclass
class WorkflowEdge:
    fields: EdgeFields
    pointer: str

    @property
    def src(self) -> str:
        return self.fields.from_

    @property
    def dst(self) -> str:
        return self.fields.to


@dataclass
class Workflow:
    """`whole` is false when a part could not be read at all: nothing is said about a graph with holes."""

    top: TopFields
    nodes: dict[str, WorkflowNode] = field(default_factory=dict)
    edges: list[WorkflowEdge] = field(default_factory=list)
    whole: bool = True
    unread: set[str] = field(default_factory=set)  # ids of nodes that could not be read

    @property
    def context(self) -> ContextFields:
        return self.top.context or ContextFields()

    @property
    def policies(self) -> Policies:
        return self.top.policies or Policies()


def recognise(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        return False
    if data.get("$schema") == SCHEMA:
        return True
    types = [node.get("type") for node in data["nodes"] if isinstance(node, dict)]
    known = {*NODE_TYPES, *LATER}
    upper = any(isinstance(one, str) and one in known for one in types)
    return upper or "edges" in data and not {"connections", "arrows", "persons"} & data.keys()


def read(document: Document, report: Report, setting: Setting) -> Workflow:
    """Never raises for what a user wrote: what cannot be read is told and left out."""
    data = document.data
    if not isinstance(data, dict):
        report.error("wrong_type", "A workflow is a map.", hint="Begin with `id`, `version`, `nodes` and `edges`.")
        return Workflow(TopFields(), whole=False)
    top = read_top(TopFields, data, ("nodes", "edges"), report)
    workflow = Workflow(top)
    _check_id(top, report)
    for i, raw in enumerate(_list(data, "nodes", report, workflow)):
        _read_node(raw, step("/nodes", i), workflow, report)
    for i, raw in enumerate(_list(data, "edges", report, workflow)):
        _read_edge(raw, step("/edges", i), workflow, report)
    _check_parts(workflow, report)
    return workflow


def _check_id(top: TopFields, report: Report) -> None:
    if top.id and not ID.match(top.id) and not UUID.match(top.id):
        message = f"«{top.id}» cannot be the id of a workflow."
        report.error("bad_id", message, "/id", hint="Use lower case letters, digits and _, beginning with a letter.")


def _check_parts(workflow: Workflow, report: Report) -> None:
    """C-04: a UUID or a slug. W-12.1.5: a JSON Schema is a map, or true or false."""
    tenant = workflow.top.tenant_id
    if tenant and not TENANT.match(tenant):
        hint = "Use letters, digits, _ and -, at most 50."
        report.error("wrong_type", f"«{tenant}» cannot be a tenant.", "/tenant_id", hint=hint)
    given = [(name, getattr(workflow.top, name), f"/{name}") for name in ("input_schema", "output_schema")]
    nodes = [node for node in workflow.nodes.values() if node.fields.output is not None]
    given += [
        ("schema", getattr(node.fields.output, "schema", None), f"{node.pointer}/output/schema") for node in nodes
    ]
    for name, schema, at in given:
        if schema is not None and not isinstance(schema, dict | bool):
            hint = 'Write `{"type": "object", "properties": {…}}`.'
            report.error("wrong_type", f"«{name}» must be a JSON Schema.", at, hint=hint)
        elif isinstance(schema, dict) and schema and (wrong := schema_problem(schema)) is not None:
            hint = "Correct the schema; references stay inside it, and nothing is fetched."
            report.error("json_schema", f"«{name}» is no JSON Schema: {wrong[1]}.", at + wrong[0], hint=hint)


def _list(data: dict[str, Any], name: str, report: Report, workflow: Workflow) -> list[Any]:
    found = data.get(name)
    if isinstance(found, list):
        return found
    workflow.whole = False
    if name in data:
        report.error("wrong_type", f"«{name}» must be a list.", f"/{name}", hint=f"Write `{name}: [ … ]`.")
    else:
        report.error("missing_field", f"«{name}» is missing.", "", hint=f"Write `{name}: [ … ]`.")
    return []


def _read_node(raw: Any, at: str, workflow: Workflow, report: Report) -> None:
    if not isinstance(raw, dict):
        workflow.whole = False
        report.error("wrong_type", "A node is a map.", at, hint='Write `{"id": …, "type": …}`.')
        return
    id, word = raw.get("id"), raw.get("type")
    if not _good_id(id, at, workflow, report):
        workflow.whole = False
        return
    assert isinstance(id, str)
    kind = NODE_TYPES.get(word) if isinstance(word, str) else None
    if kind is None:
        workflow.whole = False
        workflow.unread.add(id)
        _tell_type(id, word, at, report)
        return
    fields, rest = read_fields(kind.fields, raw, at, report, node=id)
    unknown_fields(rest, kind.fields, at, report, node=id)
    workflow.nodes[id] = WorkflowNode(id, kind, fields, at, raw)


def _tell_type(id: str, word: Any, at: str, report: Report) -> None:
    if word is None:
        report.error("missing_field", "«type» is missing.", at, node=id, hint=f"Write one of {', '.join(NODE_TYPES)}.")
    elif word in LATER:
        message = f"Nodes of the type {word} are not run by this version."
        report.error("type_not_yet", message, step(at, "type"), node=id, hint="Leave the node out for now.")
    else:
        hint = did_you_mean(str(word), [*NODE_TYPES, *LATER], "Node types are written in upper case.")
        report.error("unknown_type", f"There is no node type «{word}».", step(at, "type"), node=id, hint=hint)


def _good_id(id: Any, at: str, workflow: Workflow, report: Report) -> bool:
    if id is None or id == "":
        report.error("missing_field", "«id» is missing.", at, hint="Write an id of lower case letters, digits and _.")
    elif not isinstance(id, str) or not ID.match(id) or len(id) > _LONGEST_ID:
        hint = "Use at most 100 lower case letters, digits and _, beginning with a letter."
        report.error("bad_id", f"«{id}» cannot be the id of a node.", step(at, "id"), hint=hint)
    elif id in workflow.nodes or id in workflow.unread:
        message = f"Duplicate node IDs: {id}"
        report.error("unique_node_ids", message, step(at, "id"), node=id, hint="Every node has an id of its own.")
    else:
        return True
    return False


def _read_edge(raw: Any, at: str, workflow: Workflow, report: Report) -> None:
    if not isinstance(raw, dict):
        workflow.whole = False
        report.error("wrong_type", "An edge is a map.", at, hint='Write `{"from": …, "to": …}`.')
        return
    fields, rest = read_fields(EdgeFields, raw, at, report)
    unknown_fields(rest, EdgeFields, at, report)
    if not fields.from_ or not fields.to:
        workflow.whole = False
        return
    nodes, unread = workflow.nodes, workflow.unread
    ends = (("from", fields.from_), ("to", fields.to))
    missing = [(name, id) for name, id in ends if id not in nodes and id not in unread]
    for name, id in missing:
        hint = did_you_mean(id, {*nodes, *unread}, "Write the id of a node of this workflow.")
        report.error("edge_targets_exist", f"The edge names «{id}», which does not exist.", step(at, name), hint=hint)
    if missing or fields.from_ in unread or fields.to in unread:
        workflow.whole = False
        return
    workflow.edges.append(WorkflowEdge(fields, at))
