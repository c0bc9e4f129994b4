"""What a comparison means: where decisions go, how risky the change is, and what is recommended (C-59)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.executors.parts.simulation.metrics import DECISIONS, NEGATIVE

FEW = 30  # samples below which nothing is recommended, and labels below which a person looks first
MANY_FAILED = 0.05  # share of samples that could not be judged from which nothing is recommended
MANY_CHANGED = 0.05  # share of changed decisions from which a change is not small


class Decisions(NamedTuple):
    """The decisions of both sides and the truth, sample by sample; `baseline` is None where there is none."""

    baseline: Sequence[str] | None
    simulated: Sequence[str]
    truth: Sequence[str | None]  # None where nobody knows

    def of(self, places: Sequence[int]) -> Decisions:
        """Those of some samples."""
        before = None if self.baseline is None else [self.baseline[i] for i in places]
        return Decisions(before, [self.simulated[i] for i in places], [self.truth[i] for i in places])


def transitions(decisions: Decisions) -> dict[str, Any] | None:
    """How many went from which decision to which: rows are the baseline's, columns the candidate's."""
    if decisions.baseline is None:
        return None
    counted = Counter(zip(decisions.baseline, decisions.simulated, strict=True))
    return {"decisions": list(DECISIONS), "counts": [[counted[a, b] for b in DECISIONS] for a in DECISIONS]}


def is_new_miss(before: str | None, after: str, truth: str | None) -> bool:
    """The candidate calls normal what is not, and the baseline did not."""
    return truth not in (NEGATIVE, None) and after == NEGATIVE and before != NEGATIVE


def risk(decisions: Decisions) -> dict[str, Any]:
    """The level is high where something critical is no longer called so, medium where anything is newly missed or much
    changes."""
    total = len(decisions.simulated)
    before = decisions.baseline if decisions.baseline is not None else [None] * total
    triples = list(zip(before, decisions.simulated, decisions.truth, strict=True))
    changed = sum(a != b for a, b, _ in triples) if decisions.baseline is not None else 0
    misses = sum(is_new_miss(a, b, truth) for a, b, truth in triples)
    alarms = sum(truth == NEGATIVE and b != NEGATIVE and a in (NEGATIVE, None) for a, b, truth in triples)
    critical = sum(truth == "critical" and b != "critical" and a in ("critical", None) for a, b, truth in triples)
    share = changed / total if total else 0.0
    level = "high" if critical else "medium" if misses or share > MANY_CHANGED else "low"
    return {
        "level": level, "changed_decisions": changed, "changed_share": share, "new_false_negatives": misses,
        "new_false_positives": alarms, "new_critical_misses": critical,
    }  # fmt: skip


class Evidence(NamedTuple):
    """What a recommendation is made from. `labelled` samples have a person's word for the truth: `improvement`,
    `proven` and `critical_misses` are of these alone, because against its own decisions no baseline is ever wrong."""

    total: int
    failed: int
    compared: bool
    labelled: int
    improvement: float | None
    proven: bool  # the two sides are not right as often by chance
    critical_misses: int
    risk: dict[str, Any]


def recommend(evidence: Evidence) -> tuple[str, str]:
    """The recommendation and the key of its text."""
    risk = evidence.risk
    if evidence.failed > MANY_FAILED * evidence.total:
        return "insufficient_data", "many_failed"
    if evidence.total - evidence.failed < FEW:
        return "insufficient_data", "few_samples"
    if not evidence.compared:
        return "review", "no_baseline"
    if not risk["changed_decisions"]:
        return "deploy", "nothing_changes"
    if evidence.improvement is None or evidence.labelled < FEW:
        return "review", "few_labels" if evidence.labelled else "no_labels"
    if evidence.improvement < 0 and (evidence.proven or evidence.critical_misses):
        return "reject", "worse"
    if evidence.improvement > 0 and not risk["new_critical_misses"] and not risk["new_false_negatives"]:
        return "deploy", "better"
    if evidence.improvement > 0:
        return "review", "better_with_misses"
    return "review", "not_better"


def of_labelled(decisions: Decisions) -> dict[str, Any] | None:
    """How often each side says what people say; None where people have said nothing."""
    total = len(decisions.truth)
    if not total:
        return None
    before = None if decisions.baseline is None else _right(decisions.baseline, decisions.truth) / total
    after = _right(decisions.simulated, decisions.truth) / total
    return {
        "samples": total, "baseline_accuracy": before, "simulated_accuracy": after,
        "improvement": None if before is None else after - before,
    }  # fmt: skip


def right_by_chance(decisions: Decisions) -> float:
    """The chance that two sides equally good differ as much in what they get right: McNemar's test, exactly, over the
    samples that one of them gets right and the other does not."""
    if decisions.baseline is None:
        return 1.0
    triples = list(zip(decisions.baseline, decisions.simulated, decisions.truth, strict=True))
    gained = sum(a != truth and b == truth for a, b, truth in triples)
    lost = sum(a == truth and b != truth for a, b, truth in triples)
    differing, fewer = gained + lost, min(gained, lost)
    ways = whole = 1
    for k in range(fewer):
        ways = ways * (differing - k) // (k + 1)
        whole += ways
    return min(1.0, 2 * whole / (1 << differing))


def _right(said: Sequence[str], truth: Sequence[str | None]) -> int:
    return sum(a == b for a, b in zip(said, truth, strict=True))
