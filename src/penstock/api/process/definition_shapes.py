"""Definitions of processes as they are sent (P-X.28)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.api.time_fields import Moment

_EXAMPLE: dict[str, Any] = {
    "process_definition_id": "data_registration", "process_definition_name": "데이터 등록 접수",
    "activities": [
        {"id": "receive", "name": "데이터 등록서 접수", "type": "humanTask"},
        {"id": "classify", "name": "데이터 분류", "type": "humanTask"},
    ],
    "transitions": [{"id": "t1", "source": "receive", "target": "classify"}],
}  # fmt: skip
_BPMN = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:example">'
    '<process id="mined"><userTask id="a" name="A"/></process></definitions>'
)
Comment = Annotated[str, Field(min_length=1, max_length=4000)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(min_length=1, max_length=4_000_000)]


class DefinitionAsked(BaseModel):
    """A ProcessDefinition (P-2.2); or `document`: its text, in JSON, YAML or BPMN XML. `unsound`: it is taken although
    not every instance of it can end."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]})

    document: Text | None = None
    unsound: bool = False
    pending: bool = Field(False, description="It waits for an approval, although nobody asks for one.")


class BpmnAsked(RequestBody):
    bpmn_xml: Text = Field(examples=[_BPMN])
    unsound: bool = False
    pending: bool = Field(False, description="It waits for an approval, although nobody asks for one.")


class MiningAsked(RequestBody):
    algorithm: Annotated[str, Field(max_length=200)] = "unknown"
    fitness: Annotated[float, Field(ge=0, le=1)] = 0.0
    precision: Annotated[float | None, Field(ge=0, le=1)] = None
    case_count: Annotated[int, Field(ge=0, le=2_000_000_000)] = 0


class DiscoveredAsked(RequestBody):
    """P-X.25."""

    event_log_id: Name
    bpmn_xml: Text = Field(examples=[_BPMN])
    mining_metadata: MiningAsked = MiningAsked()
    conformance: dict[str, Any] | None = None
    bottlenecks: list[Any] | None = None
    tenant_id: Annotated[str | None, Field(max_length=50)] = None
    base_proc_def_id: Name | None = None


class ModelApproveAsked(RequestBody):
    """`into`: it becomes the next version of this definition besides. `version`: the one that was looked at."""

    comment: Comment | None = None
    into: Name | None = None
    version: int | None = Field(None, ge=1, le=2_000_000_000)


class ModelRejectAsked(RequestBody):
    comment: Comment


class DefinitionSaved(ResponseBody):
    """`new`: false where the newest version was the same."""

    id: str
    version: int
    uuid: str
    type: str
    approval_status: str = Field(examples=["approved", "pending", "rejected"])
    new: bool
    diff: dict[str, Any] = {}
    confidence: float | None = None
    warnings: list[FoundOut] = []


class DefinitionLine(ResponseBody):
    id: str
    uuid: str
    name: str
    type: str
    version: int
    newest_version: int
    approval_status: str
    startable: bool
    parent_id: str | None
    source_event_log_id: str | None
    tenant_id: str
    created_at: Moment
    updated_at: Moment


class ProcessDefinitionPage(ResponseBody):
    items: list[DefinitionLine]
    next: str | None


class ChildOut(ResponseBody):
    id: str
    name: str
    type: str


class ProcessDefinitionOut(DefinitionLine):
    description: str
    definition: dict[str, Any]
    children: list[ChildOut]
    origin: dict[str, Any]
    created_by: str | None
    approved_by: str | None
    feedback: str | None


class DefinitionVersion(ResponseBody):
    id: str
    proc_def_id: str
    version: int
    status: str
    approval_status: str
    snapshot: dict[str, Any]
    diff: dict[str, Any] | None
    change_summary: str | None
    feedback: str | None
    created_by: str | None
    created_at: Moment
    approved_by: str | None
    approved_at: Moment | None


class DefinitionVersionPage(ResponseBody):
    items: list[DefinitionVersion]
    next: str | None
