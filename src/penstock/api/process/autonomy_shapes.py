"""Proposals of agents' modes as they are sent (P-X.28, P-X.40)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.process.definition_shapes import DefinitionSaved
from penstock.api.time_fields import Moment


class DismissAsked(RequestBody):
    reason: Annotated[str, Field(min_length=1, max_length=4000)] = Field(examples=["The auditors want to see each."])


class AutonomyCaseOut(ResponseBody):
    """`outcome`: unchanged, corrected, rejected, undone; `item` is the work item."""

    item: str
    run: str
    outcome: str = Field(examples=["unchanged", "corrected", "rejected", "undone"])
    at: Moment
    rework_ms: int | None = None


class MistakeCostOut(ResponseBody):
    """What mistakes have cost, as far as it was measured; null where nobody knows. `rework_ms` is the median of the
    `reworked` ones, from the mistake until the item was done."""

    mistakes: int
    reworked: int
    rework_ms: int | None
    compensations: int
    amount: float | None


class AutonomyProposalOut(ResponseBody):
    """`bound`: of the share of unchanged drafts; the lower one where the mode is to be raised, else the upper one, and
    it holds however often it is looked at. `once`: the lower one for whoever looks once."""

    id: str
    process: str
    version: int
    activity: str
    name: str
    agent: str
    mode: str
    proposed: str
    direction: str = Field(examples=["raise", "lower"])
    status: str = Field(examples=["open", "accepted", "dismissed", "withdrawn"])
    decided: int
    unchanged: int
    corrected: int
    rejected: int
    undone: int
    bound: float
    once: float
    target: float
    cost: MistakeCostOut
    cases: list[AutonomyCaseOut]
    cases_since: Moment | None
    since: Moment
    ended_at: Moment | None
    ended_by: str | None
    dismissed_why: str | None
    withdrawn_why: str | None
    made_version: int | None


class AutonomyProposalPage(ResponseBody):
    items: list[AutonomyProposalOut]
    next: str | None = None


class AutonomyAccepted(AutonomyProposalOut):
    """`saved` is the version that it has made: it may wait for an approval."""

    saved: DefinitionSaved
