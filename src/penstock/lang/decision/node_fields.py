"""The fields that every node of a workflow may have: retries, breakers, idempotency, checkpoints, output."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import limits
from penstock.lang.fields import Fields

Category = Literal[
    "transient", "permanent", "business", "validation", "timeout", "authorization", "resource", "external"
]


class OpenFields(Fields):
    """A map of a node: unknown keys are kept and reported (W-3.1.2)."""

    OPEN: ClassVar[bool] = True


class TemplatedFields(OpenFields):
    """A map whose choices may be templates, which the executor checks; what shapes the net must be a literal (C-69)."""

    TEMPLATED: ClassVar[bool] = True


class Backoff(OpenFields):
    """W-7.2.1."""

    type: Literal["exponential", "linear", "fixed"] = "exponential"
    initial_ms: Annotated[int, Meta(ge=0, le=limits.MS)] = 1000
    multiplier: Annotated[float, Meta(ge=1, le=limits.FACTOR)] = 2.0
    max_ms: Annotated[int, Meta(ge=0, le=limits.MS)] = 30_000
    jitter: bool = True


class RetryPolicy(OpenFields):
    """W-7.2: the short shape (max, backoff_ms, backoff_type) or the full one (max_attempts, backoff …)."""

    max: Annotated[int, Meta(ge=0, le=limits.COUNT, description="Retries after the first attempt.")] | None = None
    backoff_ms: Annotated[int, Meta(ge=0, le=limits.MS, description="Wait before a retry.")] | None = None
    backoff_type: Literal["fixed", "linear", "exponential"] | None = None
    max_attempts: Annotated[int, Meta(ge=1, le=limits.COUNT, description="Attempts in all.")] | None = None
    backoff: Backoff | None = None
    retryable_errors: list[Category] | None = None
    non_retryable_errors: list[Category] | None = None
    on_failure: Literal["alert_and_manual"] | None = None


class RetryFields(RetryPolicy):
    """Retries of a node: their numbers have limits (section 12)."""

    max: Annotated[int, Meta(ge=0, le=10, description="Retries after the first attempt.")] | None = None
    backoff_ms: Annotated[int, Meta(ge=100, le=limits.MS, description="Wait before a retry.")] | None = None


class OnOpen(OpenFields):
    action: Literal["skip", "fail", "fallback"] = "fail"
    fallback_node: str = ""


class BreakerMetrics(OpenFields):
    track_latency: bool = False
    latency_threshold_ms: Annotated[int, Meta(ge=1, le=limits.MS)] = 5000


class BreakerFields(OpenFields):
    """W-7.3.1, and the short shape of section 12 (fail_rate, window, cooldown_s)."""

    enabled: bool = True
    failure_threshold: Annotated[int, Meta(ge=1, le=limits.COUNT)] | None = None
    failure_rate_threshold: Annotated[float, Meta(gt=0, le=1)] | None = None
    window_size: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    half_open_requests: Annotated[int, Meta(ge=1, le=limits.COUNT)] = 3
    cooldown_ms: Annotated[int, Meta(ge=0, le=limits.MS)] | None = None
    on_open: OnOpen | None = None
    metrics: BreakerMetrics | None = None
    fail_rate: Annotated[float, Meta(gt=0, le=1)] | None = None
    window: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    cooldown_s: Annotated[int, Meta(ge=0, le=limits.SECONDS)] | None = None


class IdempotencyFields(OpenFields):
    """W-8.4.1."""

    enabled: bool = True
    key_generation: Literal["node_id + input_hash", "custom_expression"] | None = None
    custom_expression: str | None = None
    ttl_hours: Annotated[float, Meta(gt=0, le=limits.HOURS)] = 24
    on_duplicate: Literal["skip", "return_cached", "fail"] = "skip"


class CheckpointInclude(OpenFields):
    context_variables: bool = True
    node_outputs: bool = True
    execution_position: bool = True
    pending_events: bool = True


class CheckpointStorage(OpenFields):
    type: Literal["database", "s3", "redis"] = "database"
    compression: bool = True
    encryption: bool = True


class CheckpointRetention(OpenFields):
    completed_hours: Annotated[int, Meta(ge=0, le=limits.HOURS)] = 24
    failed_days: Annotated[int, Meta(ge=0, le=limits.DAYS)] = 30
    running_days: Annotated[int, Meta(ge=0, le=limits.DAYS)] = 7


class Checkpoint(OpenFields):
    """When checkpoints of a run are written, what they hold, where, and for how long they are kept (W-8.1)."""

    strategy: Literal["node_boundary", "time_interval", "explicit"] = "node_boundary"
    time_interval_ms: Annotated[int, Meta(ge=1, le=limits.MS)] = 60_000
    include: CheckpointInclude | None = None
    storage: CheckpointStorage | None = None
    retention: CheckpointRetention | None = None
    save_context: bool = True
    resume_on_restart: bool = True


class Transform(OpenFields):
    type: Literal["jq"] = "jq"
    expression: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("expression",)


class OutputFields(OpenFields):
    """Where a node's output goes, and what it must look like."""

    variable: Annotated[str, Meta(description="The name under which others read it.")] = ""
    schema: Annotated[Any, Meta(description="JSON Schema draft-07; what does not fit fails the node.")] = None
    expression: Annotated[str | None, Meta(description="The value, computed instead of fetched.")] = None
    transform: Annotated[Transform | None, Meta(description="Applied to an answer before it is kept.")] = None


class SideEffects(OpenFields):
    set_variables: Annotated[dict[str, Any], Meta(description="Context variables that are set after success.")] = {}


class NodeFields(OpenFields):
    """What every node has (W-4.0.1, W-4.0.3)."""

    id: str = ""
    type: str = ""
    name: str = ""
    description: str = ""
    retry: RetryFields | None = None
    timeout_ms: Annotated[int, Meta(ge=1000, le=limits.MS)] | None = None
    output: OutputFields | None = None
    side_effects: SideEffects | None = None
    idempotency: IdempotencyFields | None = None
    circuit_breaker: BreakerFields | None = None
    checkpoint: Checkpoint | bool | None = None
    skip_on_error: bool = False
    audit: Annotated[Any, Meta(description="What is written down about it.")] = None
    notification: Annotated[dict[str, Any] | None, Meta(description="Who hears of it: channels, template.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "type")


class GuardedFields(NodeFields):
    """A node with a condition, which is skipped when it does not hold (W-4.0.2)."""

    condition: Annotated[str | None, Meta(description="An expression; where it is false the node is skipped.")] = None
