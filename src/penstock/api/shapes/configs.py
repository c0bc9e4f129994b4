"""Settings of a tenant at the edge: what is in force, and what was proposed."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.replies import ResponseBody
from penstock.api.time_fields import Moment


class ProposalOut(ResponseBody):
    """It is not in force before another than `by` has approved it."""

    id: str
    body: dict[str, Any] | None = Field(description="None: it is to be taken away.")
    by: str
    at: Moment
    status: str = "pending_approval"


class ProposalPage(ResponseBody):
    items: list[ProposalOut]
    next: str | None
