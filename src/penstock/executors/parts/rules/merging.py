"""Two verdicts about the same data, by rules and by a model, become one (C-51)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from penstock.executors.parts.rules.evaluate import Verdict
from penstock.executors.parts.rules.pack import RANK
from penstock.kernel.failure import Failure

THRESHOLD = 0.85


class Routing(msgspec.Struct):
    """When a person decides. Without it nobody is asked; the result only says that it needs a review."""

    confidence_threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = THRESHOLD
    conflict_resolution: Literal["rule_priority", "llm_priority", "human_escalate"] = "rule_priority"
    fallback: Literal["ESCALATE"] = "ESCALATE"


class Result(msgspec.Struct):
    """A verdict on its way out: who gave it, and why a person must decide instead, if so."""

    verdict: Verdict
    decided_by: str
    escalate: str = ""
    llm_error: Failure | None = None
    rule_error: Failure | None = None


def merge(rules: Verdict, model: Verdict, routing: Routing | None) -> Result:
    """Two verdicts become one (C-51)."""
    if rules.decision == model.decision:
        return Result(_merged_verdict(rules, model, rules.decision, max(rules.confidence, model.confidence)), "hybrid")
    if rules.decision == "unknown":
        return Result(_merged_verdict(rules, model, model.decision, model.confidence), "llm")
    if model.decision == "unknown":
        return Result(_merged_verdict(rules, model, rules.decision, rules.confidence), "rule")
    resolution = routing.conflict_resolution if routing is not None else "rule_priority"
    if resolution == "human_escalate":
        by_rules, why = RANK[rules.decision] > RANK[model.decision], "Rules and model disagree."
    else:
        by_rules, why = resolution == "rule_priority", ""
    winner, loser = (rules, model) if by_rules else (model, rules)
    confidence = winner.confidence * (1 - loser.confidence / 2)
    by = "hybrid" if why else "rule" if by_rules else "llm"
    return Result(_merged_verdict(rules, model, winner.decision, confidence), by, why)


def _merged_verdict(rules: Verdict, model: Verdict, decision: str, confidence: float) -> Verdict:
    reasons = [text for text in (rules.reasoning, model.reasoning) if text]
    wanted = dict.fromkeys((*rules.recommendations, *model.recommendations))
    sure = round(confidence, 9)  # 0.9 * 0.6 is 0.54, and a threshold of 0.54 takes it
    return Verdict(decision, sure, "\n".join(reasons), rules.matched_rules, list(wanted), rules.outputs)
