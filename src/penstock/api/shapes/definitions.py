"""Definitions and their versions at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.api.shapes.runs import GraphOut
from penstock.api.time_fields import Moment
from penstock.app.releases.diff import Change
from penstock.app.releases.inspection import InspectionStep, SoundnessReport
from penstock.store.releases import ReleaseRow

#: what was decided about a version, and by whom
DECIDED = ("created_by", "created_at", "approved_by", "approved_at", "deprecated_at", "change_summary", "feedback")


class VersionOut(ResponseBody, of=ReleaseRow, only=("name", "version", "id", "status", "hash", *DECIDED)):
    pass


class VersionWhole(VersionOut):
    document: dict[str, Any]
    moves: list[str]


class VersionPage(ResponseBody):
    items: list[VersionOut]
    next: str | None


class DefinitionOut(ResponseBody):
    """A name, the version in force, and the newest one."""

    name: str
    title: str
    language: str
    active: int | None
    newest: int
    status: str
    updated_at: Moment
    open_runs: int = Field(description="Runs of any of its versions that have not ended.")


class DefinitionPage(ResponseBody):
    items: list[DefinitionOut]
    next: str | None


class CheckOut(ResponseBody):
    ok: bool
    language: str | None
    findings: list[FoundOut]


class WayStep(ResponseBody, of=InspectionStep):
    """A node that has run, and where tokens lie after it, by edge."""


class JudgedOut(ResponseBody, of=SoundnessReport):
    """Why not every run can end, or that nobody knows: in words, and as steps to be drawn."""


class InspectedOut(CheckOut):
    """`graph` is null of a document that cannot be drawn; `soundness` is empty where every run can end."""

    graph: GraphOut | None
    soundness: list[JudgedOut]
    bpmn: str | None
    input_schema: Any
    document: Any = Field(None, description="A process as it was read, also out of BPMN or YAML.")


class SubmitAsked(RequestBody):
    document: dict[str, Any] | str = Field(description="The document: an object, or its text in JSON or YAML.")
    change_summary: str | None = Field(None, max_length=2000)


class CheckAsked(RequestBody):
    document: dict[str, Any] | str


class SubmittedOut(ResponseBody):
    version: VersionOut
    new: bool
    findings: list[FoundOut]


class RejectAsked(RequestBody):
    feedback: str = Field(min_length=1, max_length=4000)


class ActivatedOut(ResponseBody):
    version: VersionOut
    replayed: list[str]


class ChangeOut(ResponseBody, of=Change, defaults=True):
    change: str


class DiffOut(ResponseBody):
    name: str
    old: int = Field(alias="from")
    new: int = Field(alias="to")
    changes: list[ChangeOut]
