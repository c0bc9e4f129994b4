"""Changes that wait for a second person, at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import ResponseBody
from penstock.app.registry.proposals import Proposal


class ProposalOut(ResponseBody, of=Proposal, omit=("on",)):
    """It is not in force before another than `by` has approved it."""

    body: dict[str, Any] | None = Field(description="None: it is to be taken away.")
    status: str = "pending_approval"


class ProposalPage(ResponseBody):
    items: list[ProposalOut]
    next: str | None


class ProposalSeen(ResponseBody, of=Proposal, omit=("on",)):
    """With what is in force now, None: nothing, and where to approve or reject it as it was seen."""

    body: dict[str, Any] | None = Field(description="None: it is to be taken away.")
    now: dict[str, Any] | None
    path: str = Field(examples=["/config-proposals/tenant"])
    etag: str = Field(description="For `If-Match`: who approves approves what they have seen.")


class ProposalSeenPage(ResponseBody):
    items: list[ProposalSeen]
    next: str | None
