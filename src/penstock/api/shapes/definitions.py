"""Definitions and their versions at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.problems import FoundOut
from penstock.api.replies import Asked, Shape
from penstock.api.shapes.runs import GraphOut
from penstock.api.time_fields import Moment


class VersionOut(Shape):
    name: str
    version: int
    id: str
    status: str
    hash: str
    created_by: str | None
    created_at: Moment
    approved_by: str | None
    approved_at: Moment | None
    deprecated_at: Moment | None
    change_summary: str | None
    feedback: str | None


class VersionWhole(VersionOut):
    document: dict[str, Any]
    moves: list[str]


class VersionPage(Shape):
    items: list[VersionOut]
    next: str | None


class DefinitionOut(Shape):
    """A name, the version in force, and the newest one."""

    name: str
    title: str
    language: str
    active: int | None
    newest: int
    status: str
    updated_at: Moment
    open_runs: int = Field(description="Runs of any of its versions that have not ended.")


class DefinitionPage(Shape):
    items: list[DefinitionOut]
    next: str | None


class CheckOut(Shape):
    ok: bool
    language: str | None
    findings: list[FoundOut]


class WayStep(Shape):
    """A node that has run, and where tokens lie after it, by edge."""

    node: str
    label: str
    tokens: dict[str, int]


class JudgedOut(Shape):
    """Why not every run can end, or that nobody knows: in words, and as steps to be drawn."""

    scope: str
    verdict: str
    why: str
    way: list[str]
    steps: list[WayStep]
    dead: list[str]
    rehearsed: str | None


class InspectedOut(CheckOut):
    """`graph` is null of a document that cannot be drawn; `soundness` is empty where every run can end."""

    graph: GraphOut | None
    soundness: list[JudgedOut]
    bpmn: str | None
    input_schema: Any
    document: Any = Field(None, description="A process as it was read, also out of BPMN or YAML.")


class SubmitAsked(Asked):
    document: dict[str, Any] | str = Field(description="The document: an object, or its text in JSON or YAML.")
    change_summary: str | None = Field(None, max_length=2000)


class CheckAsked(Asked):
    document: dict[str, Any] | str


class SubmittedOut(Shape):
    version: VersionOut
    new: bool
    findings: list[FoundOut]


class RejectAsked(Asked):
    feedback: str = Field(min_length=1, max_length=4000)


class ActivatedOut(Shape):
    version: VersionOut
    replayed: list[str]


class ChangeOut(Shape):
    part: str
    change: str
    pointer: str
    what: str
    before: Any = None
    after: Any = None


class DiffOut(Shape):
    name: str
    old: int = Field(alias="from")
    new: int = Field(alias="to")
    changes: list[ChangeOut]
