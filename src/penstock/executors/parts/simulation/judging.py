"""Judges samples again, by the code that judges in production: rules compiled once, models through their client."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.executors.parts.rules.evaluate import Judge, RuleFailed, Verdict
from penstock.executors.parts.rules.merging import Routing, merge
from penstock.executors.parts.rules.pack import RANK
from penstock.executors.parts.simulation.history import PastJudgment
from penstock.executors.parts.simulation.metrics import Opinion

_NOTHING: Mapping[str, Any] = {}
UNREADABLE = "INPUT_INVALID"  # the code of a past judgment that cannot be read


def judge_by_rules(judge: Judge, samples: Sequence[PastJudgment], names: Mapping[str, Any] = _NOTHING) -> list[Opinion]:
    """What the rules say of every sample, at the time of that sample. `names` is what rules read from outside, such as
    the configuration."""
    if samples:
        _opinion(judge, samples[0], names)  # the first one pays for caches, and is not measured
    return [_opinion(judge, sample, names) for sample in samples]


def _opinion(judge: Judge, sample: PastJudgment, names: Mapping[str, Any]) -> Opinion:
    outer = {**names, "$now": sample.at}
    began = time.perf_counter()
    try:
        verdict = judge.judge(sample.data, sample.context, outer)
    except RuleFailed as wrong:
        ms = (time.perf_counter() - began) * 1000
        return Opinion("unknown", 0.0, ms, wrong.code)
    ms = (time.perf_counter() - began) * 1000
    if sample.policy.get("type") == "HYBRID" and sample.llm is not None:
        try:
            verdict = _merged(verdict, sample.llm, sample.policy.get("routing"))
        except (msgspec.ValidationError, TypeError, ValueError):  # a row that was written by somebody else
            return Opinion("unknown", 0.0, ms, UNREADABLE)
    return Opinion(verdict.decision if verdict.decision in RANK else "unknown", verdict.confidence, ms)


def _merged(rules: Verdict, llm: Mapping[str, Any], routing: Any) -> Verdict:
    """The model's recorded answer takes its part, as it did then."""
    decision, confidence = llm.get("decision") or "unknown", llm.get("confidence") or 0.0
    if decision not in RANK or not isinstance(confidence, int | float):
        raise ValueError("the model's answer is no verdict")
    wanted = msgspec.convert(routing, Routing) if routing else None
    return merge(rules, Verdict(decision, float(confidence)), wanted).verdict


def recorded(samples: Sequence[PastJudgment]) -> list[Opinion]:
    """What was decided then, before any person changed it; nobody is asked again, so nothing is measured."""
    return [
        Opinion(sample.decision, sample.confidence)
        if sample.proposed is None
        else Opinion(sample.proposed, sample.proposed_confidence)
        for sample in samples
    ]
