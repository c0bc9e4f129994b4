"""What the test bench of rule packs and FEEL takes and answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.problems import FoundOut
from penstock.api.time_fields import Moment
from penstock.app.decision.feel_bench import FeelValue, FeelWarning
from penstock.app.decision.rule_bench import (
    Difference,
    FirstInput,
    InForce,
    MatchedRule,
    OwnTest,
    PackDetail,
    PackSummary,
    PackVersion,
    RuleProblem,
    Trial,
)
from penstock.executors.parts.rules.evaluate import Verdict

ROW = {"line_id": "L01", "defect_rate": 0.045}


class PackVersionOut(ResponseBody, of=PackVersion):
    at: Moment


class PackSummaryOut(ResponseBody, of=PackSummary):
    """A rule pack with its versions, the newest first. `in_force` is the version that judgments use."""


class PackSummaryPage(ResponseBody):
    items: list[PackSummaryOut]
    next: str | None


class FirstInputOut(ResponseBody, of=FirstInput):
    """`origin` is `test` or `judgment`."""


class PackDetailOut(ResponseBody, of=PackDetail):
    """One version, as it is written, and an input to begin with."""


class TrialAsked(RequestBody):
    """`draft` is the body of a pack that nobody has saved; `version` is one that is registered. Neither: the version in
    force."""

    data: Any = Field(description="The rows, or the value, that is judged.", examples=[[ROW]])
    context: Any = Field(None, description="The context of the judgment.")
    version: str | None = Field(None, max_length=200)
    draft: dict[str, Any] | None = None


class TrialVerdictOut(ResponseBody, of=Verdict):
    decision: str = Field(examples=["normal", "warning", "critical", "unknown"])


class RuleProblemOut(ResponseBody, of=RuleProblem):
    """Why the pack cannot be applied to this input."""


class DifferenceOut(ResponseBody, of=Difference):
    field: str = Field(examples=["decision"])


class InForceOut(ResponseBody, of=InForce):
    """What the version in force says of the same input; `differences` are from it to what is tried."""


class TrialOut(ResponseBody, of=Trial, parts={MatchedRule: "MatchedRuleOut", OwnTest: "OwnTestOut"}):
    """`problem` is set where the rules cannot be applied to the input; then there is no verdict."""

    findings: list[FoundOut]


class FeelAsked(RequestBody):
    """An expression, or with `kind: unary_tests` the tests of a table's cell, which `value` has to pass."""

    text: str = Field(min_length=1, max_length=10_000, examples=["for x in [1, 2, 3] return x * rate"])
    context: dict[str, Any] = Field({}, examples=[{"rate": 0.1}])
    kind: Literal["expression", "unary_tests"] = "expression"
    value: Any = None
    strict: bool = Field(False, description="What would be null with a warning is an error.")


class FeelOut(ResponseBody, of=FeelValue, parts={FeelWarning: "FeelWarningOut"}):
    text: str = Field(description="The value as FEEL writes it.", examples=["[0.1, 0.2, 0.3]"])
    type: str = Field(examples=["list"])
