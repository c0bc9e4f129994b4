"""The fields of a pipeline definition and of its stages: F-1.1 and F-1.2 word for word, and the JSON shapes of F-X."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from penstock.lang.fields import Fields

#: what the seed's INT and BIGINT columns hold
INT, BIGINT = 2**31 - 1, 2**63 - 1
FILE_TYPES = ("IMAGE", "HTML", "PDF", "EXCEL", "ANY")

Code = Annotated[str, Meta(max_length=50)]
Name = Annotated[str, Meta(max_length=100)]
Positive = Annotated[int, Meta(ge=1, le=INT)]
Seconds = Positive
Count = Annotated[int, Meta(ge=0, le=INT)]
Flag = bool | Literal[0, 1]
Moment = Annotated[str | None, Meta(description="Set by the store; read and left alone.")]


class Resources(Fields):
    """F-X.33: which workers, and how much of one a processor may use."""

    labels: Annotated[list[str], Meta(description="Labels that a worker must have.")] = []
    memory_mb: Annotated[Positive | None, Meta(description="Memory of the processor's process.")] = None
    cpu_seconds: Annotated[
        Annotated[float, Meta(gt=0, le=INT)] | None, Meta(description="Processor time of one attempt.")
    ] = None


class Metrics(Fields):
    """F-X.33: the metrics that a stage tells, and of how many of its runs."""

    emit: list[str] = []
    sample: Annotated[float, Meta(ge=0, le=1)] = 1.0


class Configuration(Fields):
    """What a pipeline sets beside its columns; other members are kept for processors of your own."""

    manual_retry_mode: Annotated[
        Literal["resume", "rerun"] | None, Meta(description="How a retry by hand goes on (F-X.7).")
    ] = None
    max_executions: Annotated[Positive | None, Meta(description="Executions that run at once.")] = None
    batch_size: Annotated[Positive | None, Meta(description="BATCH: so many files start a batch.")] = None
    batch_window_seconds: Annotated[
        Positive | None, Meta(description="BATCH: after so long a batch starts with what is there.")
    ] = None

    OPEN: ClassVar[bool] = True


class Dependencies(Fields):
    """F-X.12: the pipelines that must have completed for the same file."""

    after: Annotated[list[Code], Meta(description="Codes of pipelines.")] = []

    REQUIRED: ClassVar[tuple[str, ...]] = ("after",)


class Action(Fields):
    """F-X.13: what is done after the end: an event, another pipeline, a webhook."""

    type: Literal["event", "pipeline", "webhook"] | None = None
    name: Annotated[str, Meta(max_length=200, description="Of an event.")] = ""
    code: Annotated[Code, Meta(description="Of a pipeline.")] = ""
    url: Annotated[str, Meta(max_length=2000, description="Of a webhook.")] = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class Channel(Fields):
    """F-X.13: where a notification goes."""

    type: Literal["log", "webhook", "email"] | None = None
    url: Annotated[str, Meta(max_length=2000, description="Of a webhook.")] = ""
    to: Annotated[str | list[str], Meta(description="Of an e-mail.")] = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class Notifications(Fields):
    """F-X.13: at which ends, and through which channels."""

    on: list[Literal["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"]] = []
    channels: list[Channel] = []

    REQUIRED: ClassVar[tuple[str, ...]] = ("on", "channels")


class PipelineFields(Fields):
    """A pipeline definition (F-1.1)."""

    id: Annotated[int | None, Meta(description="Given by the store.")] = None
    pipeline_code: Annotated[Code, Meta(description="Its unique code: letters, digits, _ . and -.")] = ""
    pipeline_name: Annotated[Name, Meta(description="What people call it.")] = ""
    description: str = ""
    file_type: Annotated[
        Literal["IMAGE", "HTML", "PDF", "EXCEL", "ANY"] | None, Meta(description="The files that it is for.")
    ] = None
    pipeline_type: Annotated[
        Literal["ASYNC", "SYNC", "BATCH", "SCHEDULED"], Meta(description="How executions begin (F-X.15).")
    ] = "ASYNC"
    trigger_conditions: Annotated[
        dict[str, Any] | None, Meta(description="Which files begin an execution (F-X.9).")
    ] = None
    configuration: Configuration = field(default_factory=Configuration)
    default_params: Annotated[dict[str, Any] | None, Meta(description="Parameters that a trigger may replace.")] = None
    max_file_size: Annotated[
        Annotated[int, Meta(ge=0, le=BIGINT)] | None, Meta(description="A larger file does not match.")
    ] = None
    timeout_seconds: Annotated[Seconds, Meta(description="How long one attempt may work.")] = 300
    max_retries: Annotated[Count, Meta(description="Attempts after the first.")] = 3
    retry_delay_seconds: Annotated[Count, Meta(description="Between attempts, and the base of stages.")] = 60
    priority: Annotated[int, Meta(ge=-INT, le=INT, description="The smaller number goes first.")] = 100
    parallelism: Annotated[int, Meta(ge=1, le=10_000, description="Stages of a group that run at once.")] = 1
    resource_requirements: Resources | None = None
    dependencies: Dependencies | None = None
    success_actions: list[Action] = []
    failure_actions: list[Action] = []
    notification_config: Notifications | None = None
    is_active: Flag = True
    version: Annotated[int, Meta(ge=1, le=INT)] = 1
    created_at: Moment = None
    updated_at: Moment = None
    created_by: Name | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("pipeline_code", "pipeline_name", "file_type")


class StageFields(Fields):
    """A stage (F-1.2)."""

    id: Annotated[int | None, Meta(description="Given by the store.")] = None
    pipeline_id: Annotated[int | None, Meta(description="Given by the store.")] = None
    stage_code: Annotated[Code, Meta(description="Its code, unique in the pipeline.")] = ""
    stage_name: Annotated[Name, Meta(description="What people call it.")] = ""
    description: str = ""
    sequence_order: Annotated[
        Annotated[int, Meta(ge=-INT, le=INT)] | None, Meta(description="Stages with the same number run side by side.")
    ] = None
    processor_type: Annotated[Name, Meta(description="What it does: the name of a processor.")] = ""
    processor_config: Annotated[dict[str, Any], Meta(description="What the processor is told.")] = {}
    input_validation: Annotated[
        dict[str, Any] | bool | None, Meta(description="A JSON Schema that its input must fit.")
    ] = None
    output_validation: Annotated[
        dict[str, Any] | bool | None, Meta(description="A JSON Schema that its output must fit.")
    ] = None
    is_optional: Annotated[Flag, Meta(description="The execution goes on although it has failed.")] = False
    is_parallel: Annotated[Flag, Meta(description="Runs side by side with its parallel neighbours.")] = False
    condition: Annotated[dict[str, Any] | None, Meta(description="Where it does not hold, it is skipped.")] = None
    timeout_seconds: Annotated[Seconds, Meta(description="How long one attempt may take.")] = 60
    max_retries: Count = 3
    retry_strategy: Literal["IMMEDIATE", "LINEAR", "EXPONENTIAL"] = "EXPONENTIAL"
    on_failure: Literal["FAIL", "SKIP", "CONTINUE", "RETRY"] = "FAIL"
    resource_allocation: Resources | None = None
    metrics_config: Metrics | None = None
    is_active: Flag = True
    created_at: Moment = None
    updated_at: Moment = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("stage_code", "stage_name", "sequence_order", "processor_type")
