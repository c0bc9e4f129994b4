"""What the stand-ins for systems outside answer."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.replies import RequestBody, ResponseBody
from penstock.api.time_fields import Moment


class SampleOut(ResponseBody):
    sample_id: str
    status: str = Field(description="in_progress, completed")
    requested_at: Moment
    completed_at: Moment | None
    result: Any = Field(description="What the event lab.result.completed said of it; else pass.")


class ReleaseAsked(RequestBody):
    reservation_id: str = Field(min_length=1, max_length=200, examples=["R-1001"])
    reason: str = Field("", max_length=500, examples=["workflow_compensation"])


class ReleasedOut(ResponseBody):
    reservation_id: str
    status: str
    reason: str
    released_at: Moment
