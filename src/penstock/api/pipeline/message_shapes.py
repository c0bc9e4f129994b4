"""Messages at the edge: taken in, dead, sent again; and what was used."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, RootModel, model_validator

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.app.pipeline.intake import dead_messages
from penstock.app.pipeline.measures import usage

#: F-3.7
_EXAMPLE: dict[str, Any] = {
    "type": "s3.object.created", "bucket": "bkt", "key": "path/to/object", "size": 123456, "mime": "image/png",
    "tenantId": "tnt_demo", "organizationId": 123, "uploaderUserContextId": 9001,
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "occurredAt": "2025-10-22T10:20:30Z",
}  # fmt: skip
Text = Annotated[str, Field(max_length=8000)]


class MessageAsked(RootModel[Any]):
    """The shape of F-3.7, an EventBridge event, or an S3 notification (F-X.17). A message that names no tenant is of
    whoever sends it."""

    model_config = ConfigDict(json_schema_extra={"type": "object", "examples": [_EXAMPLE]})


class TakenFile(ResponseBody):
    """What became of one file: executions that it has begun, and those that were there already."""

    file_id: int = Field(alias="fileId")
    execution_ids: list[str] = Field(alias="executionIds")
    duplicate_ids: list[str] = Field(alias="duplicateIds")


class IngestAccepted(ResponseBody):
    """`messageId`: it lies on the queue, and whoever consumes that says what becomes of it."""

    accepted: bool = True
    message_id: str | None = Field(None, alias="messageId")
    files: list[TakenFile] = []


class DeadMessageOut(ResponseBody, of=dead_messages.DeadMessage):
    pass


class DeadCauseOut(ResponseBody, of=dead_messages.DeadCause):
    pass


class DeadPageOut(ResponseBody, of=dead_messages.DeadPage):
    """`causes` are those of all dead messages, the most frequent first; `items` those that fit."""


class RedriveAsked(RequestBody):
    """One or some by their ids; all of a cause by its code, and `why` where a code has several; or all."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "PP-500-IO"}]})

    ids: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(None, min_length=1, max_length=1000)
    code: Text | None = None
    why: Text | None = None
    all: bool = False
    limit: int | None = Field(None, ge=1, le=1_000_000, description="Only the first so many.")

    @model_validator(mode="after")
    def _says_which(self) -> RedriveAsked:
        if sum((self.ids is not None, self.code is not None, self.all)) != 1:
            raise ValueError("say which: one of «ids», «code» and «all»")
        return self


class RedrivenOut(ResponseBody, of=dead_messages.Redriven):
    pass


class DayUsageOut(ResponseBody, of=usage.DayUsage):
    pass


class UsagePage(ResponseBody):
    """F-8.3, F-X.35: by tenant and day, the oldest first."""

    items: list[DayUsageOut]
