"""A workflow as it was read (seed 000, sections 3 and 12): its fields, its nodes and its edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import limits
from penstock.lang.decision.node_fields import BreakerFields, Checkpoint, IdempotencyFields, NodeFields, RetryPolicy
from penstock.lang.decision.shapes import Shape
from penstock.lang.fields import Fields

SCHEMA = "https://factory.ai/schemas/workflow-dsl-v2.json"
LONGEST_ID = 100


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
    threshold: Annotated[int, Meta(ge=0, le=limits.COUNT)] = 10
    window_minutes: Annotated[int, Meta(ge=1, le=limits.MINUTES)] = 60
    channels: list[str] = []

    OPEN: ClassVar[bool] = True


class DlqReplay(Fields):
    enabled: bool = True
    auto_replay_on_fix: bool = False
    max_replay_attempts: Annotated[int, Meta(ge=0, le=limits.COUNT)] = 3

    OPEN: ClassVar[bool] = True


class DlqPolicy(Fields):
    """W-7.5.1: where failed runs are kept, and who hears of it."""

    enabled: bool = True
    queue_name: str = "workflow_dlq"
    retention_days: Annotated[int, Meta(ge=1, le=limits.DAYS)] = 30
    include: DlqInclude | None = None
    alerts: DlqAlerts | None = None
    replay: DlqReplay | None = None

    OPEN: ClassVar[bool] = True


class Policies(Fields):
    """What holds for every node that does not say otherwise."""

    retry: RetryPolicy | None = None
    timeout_ms: Annotated[int, Meta(ge=1, le=limits.MS, description="Active time of the whole run.")] | None = None
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
    id: Annotated[str, Meta(max_length=LONGEST_ID, description="Lower case letters, digits, _; or a UUID.")] = ""
    name: Annotated[str, Meta(max_length=200, description="What people call it.")] = ""
    description: Annotated[str, Meta(max_length=2000, description="What it is for.")] = ""
    version: Annotated[int, Meta(ge=1, le=limits.VERSION, description="Grows with every change.")] | None = None
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
        Annotated[int, Meta(ge=-limits.COUNT, le=limits.COUNT, description="The smaller number goes first.")] | None
    ) = None

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("from", "to")


@dataclass(frozen=True)
class NodeTraits:
    """What is known of a node type without lowering it. `alias` derives the name of an output that the author did not
    name (C-10); `timeout_ms` is the default timeout (C-44)."""

    name: str
    fields: type[NodeFields]
    doc: str
    alias: Callable[[str], str] = lambda node: ""
    timeout_ms: int | None = None
    effect: bool = True  # it has an effect: retries, breakers and idempotency apply
    #: must an inner node do the work, because the node's output is not the answer of its effect?
    wrapped: Callable[[Any], bool] = lambda fields: False
    #: is `output.expression` itself what the node does?
    computes_output: Callable[[Any], bool] = lambda fields: False
    #: does the executor apply `output.schema` and `output.transform`?
    shapes_output: Callable[[Any], bool] = lambda fields: False
    #: what members its output has, before anything the author makes of it
    output_shape: Callable[[Any], Shape | None] = lambda fields: None


@dataclass
class WorkflowNode:
    """One node of the document."""

    id: str
    type: NodeTraits
    fields: NodeFields
    pointer: str
    raw: dict[str, Any]


@dataclass
class WorkflowEdge:
    """One edge of the document."""

    src: str
    dst: str
    fields: EdgeFields
    pointer: str


@dataclass
class Workflow:
    """`complete` is false when a node or an edge could not be read: a graph with holes is not checked."""

    top: TopFields
    nodes: dict[str, WorkflowNode] = field(default_factory=dict)
    edges: list[WorkflowEdge] = field(default_factory=list)
    complete: bool = True
    unread: set[str] = field(default_factory=set)  # ids of nodes that could not be read

    @property
    def context(self) -> ContextFields:
        return self.top.context or ContextFields()

    @property
    def policies(self) -> Policies:
        return self.top.policies or Policies()
