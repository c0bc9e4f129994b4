"""What the stand-ins for systems outside answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.demo.stand_ins import LabSample, ReleasedParts


class SampleOut(ResponseBody, of=LabSample):
    status: str = Field(description="in_progress, completed")
    result: Any = Field(description="What the event lab.result.completed said of it; else pass.")


class ReleaseAsked(RequestBody):
    reservation_id: str = Field(min_length=1, max_length=200, examples=["R-1001"])
    reason: str = Field("", max_length=500, examples=["workflow_compensation"])


class ReleasedOut(ResponseBody, of=ReleasedParts):
    pass
