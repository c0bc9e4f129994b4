"""Simulations, past judgments and labels at the edge."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.time_fields import Moment
from penstock.app.decision.past_judgments import MOST_IN_A_REQUEST, Decision, Imported, Label
from penstock.app.decision.simulations import SimulatedArtifact, SimulatedJudgment, Simulation, SimulationSummary


class SimulationBrief(ResponseBody, of=SimulationSummary, parts={SimulatedArtifact: "SimulatedArtifactOut"}):
    created_at: Moment
    since: Moment | None
    until: Moment | None


class SimulationPage(ResponseBody):
    items: list[SimulationBrief]
    next: str | None


class SimulationOut(ResponseBody, of=Simulation):
    created_at: Moment
    since: Moment | None
    until: Moment | None


class SimulatedJudgmentOut(ResponseBody, of=SimulatedJudgment):
    at: Moment


class SimulatedJudgmentPage(ResponseBody):
    items: list[SimulatedJudgmentOut]


class PastJudgmentAsked(RequestBody):
    """`label` is what it should have been, where somebody knows."""

    rule_pack_id: str = Field(min_length=1, max_length=200)
    at: str = Field(max_length=40)
    data: Any
    decision: Decision
    context: dict[str, Any] = {}
    confidence: float = Field(1.0, ge=0, le=1)
    label: Decision | None = None
    id: str = Field("", max_length=200)
    policy: dict[str, Any] | None = None
    llm: dict[str, Any] | None = None


class JudgmentImport(RequestBody):
    """As many as fit into one request (1 MiB, unless the server is told otherwise: some 4,000 judgments). Send more in
    parts, or import a whole file with `penstock judgments import FILE`. Labels need the permission inbox.decide."""

    judgments: list[PastJudgmentAsked] = Field(min_length=1, max_length=MOST_IN_A_REQUEST)


class ImportedOut(ResponseBody, of=Imported):
    pass


class LabelAsked(RequestBody):
    judgment: str = Field(min_length=1, max_length=300, description="RUN/NUMBER, or the id of an imported one.")
    decision: Decision
    note: str = Field("", max_length=2000)


class LabelOut(ResponseBody, of=Label):
    at: Moment
