"""The diagram language's own words (D-X.29)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.api.time_fields import Moment
from penstock.app.runs.timeline.tokens import TokenRecord
from penstock.dialects.token_events import Event
from penstock.executors.handler import Envelope

EXAMPLE = """version: light
name: hello
nodes:
  - {label: Start, type: start}
  - {label: End, type: endpoint}
connections:
  - {from: Start, to: End}
"""


class DiagramAsked(RequestBody):
    document: dict[str, Any] | str = Field(
        description="The diagram: an object, or its text in YAML or JSON.", examples=[EXAMPLE]
    )


class DiagramOut(ResponseBody):
    id: str
    version: int
    name: str
    hash: str
    status: str
    new: bool
    warnings: list[FoundOut]


class DiagramChecked(ResponseBody):
    valid: bool
    problems: list[FoundOut]


class DiagramRunAsked(RequestBody):
    inputs: Any = Field(None, examples=[{"name": "Kim"}])
    max_concurrent: int | None = Field(None, ge=1, le=10_000)
    key: str | None = Field(None, min_length=1, max_length=200)


class DiagramStarted(ResponseBody):
    run_id: str


class DiagramWaits(ResponseBody):
    node: str
    waits_for: str
    prompt: Any = None
    name: str = ""
    due_at: Moment | None = None


class DiagramRunOut(ResponseBody):
    run_id: str
    name: str
    status: str
    nodes: dict[str, str]
    counters: dict[str, int]
    branches: dict[str, str]
    outputs: dict[str, Any]
    output: Any
    warnings: list[dict[str, Any]]
    waiting: list[DiagramWaits]
    error: dict[str, Any] | None
    created_at: Moment
    updated_at: Moment


class DiagramEventOut(ResponseBody, of=Event, defaults=True):
    """What subscribers are told (D-X.22)."""


class DiagramTrace(ResponseBody):
    run_id: str
    status: str
    steps: list[DiagramEventOut]
    next: str | None


class EnvelopeOut(ResponseBody, of=Envelope, first=("id",)):
    pass


class TokenOut(ResponseBody, of=TokenRecord):
    """`fate` is empty while it lies there; then consumed (by `by`), absorbed, expired or discarded."""


class TokenPage(ResponseBody):
    items: list[TokenOut]
    next: str | None


class RespondAsked(RequestBody):
    value: Any = Field(None, examples=["Kim"])
