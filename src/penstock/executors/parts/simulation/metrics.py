"""The eight metrics of a comparison (W-4.13), from decisions and the truth.

Positive is every decision but `normal` (C-59). Accuracy counts equal decisions; the five rates are of positive against
normal. A rate whose denominator is zero is None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, NamedTuple

NAMES = (
    "accuracy", "precision", "recall", "f1_score", "false_positive_rate", "false_negative_rate",
    "decision_distribution", "processing_time",
)  # fmt: skip
DECISIONS = ("normal", "warning", "critical", "unknown")
NEGATIVE = "normal"
#: metrics of which less is better
LESS_IS_BETTER = ("false_positive_rate", "false_negative_rate", "processing_time")


class Opinion(NamedTuple):
    """What one side says of one sample. `failed` is the code of the failure where it could not judge; `ms` is None
    where nobody has measured it."""

    decision: str
    confidence: float
    ms: float | None = None
    failed: str = ""


class Confusion(NamedTuple):
    """Samples by what is true and what was decided."""

    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int


def confusion(decisions: Sequence[str], truth: Sequence[str | None]) -> Confusion:
    """Samples whose truth nobody knows are in none of the four."""
    pairs = zip(decisions, truth, strict=True)
    counts = Counter((right != NEGATIVE, said != NEGATIVE) for said, right in pairs if right is not None)
    return Confusion(counts[True, True], counts[False, True], counts[False, False], counts[True, False])


def measure(opinions: Sequence[Opinion], truth: Sequence[str | None]) -> dict[str, Any]:
    """All eight metrics of one side."""
    decisions = [opinion.decision for opinion in opinions]
    tp, fp, tn, fn = confusion(decisions, truth)
    precision, recall = _share(tp, tp + fp), _share(tp, tp + fn)
    counted = Counter(decisions)
    measured = [opinion.ms for opinion in opinions if opinion.ms is not None]
    right = sum(said == true for said, true in zip(decisions, truth, strict=True))
    return {
        "accuracy": _share(right, sum(true is not None for true in truth)),
        "precision": precision,
        "recall": recall,
        "f1_score": _share(2 * tp, 2 * tp + fp + fn),
        "false_positive_rate": _share(fp, fp + tn),
        "false_negative_rate": _share(fn, fn + tp),
        "decision_distribution": {name: counted[name] for name in DECISIONS},
        "processing_time": fmean(measured) if measured else None,
    }


def compare(baseline: dict[str, Any] | None, simulated: dict[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    """One entry per metric: both values, their difference, and which side is better where that can be said."""
    return [_compared(name, None if baseline is None else baseline[name], simulated[name]) for name in names]


def _compared(name: str, before: Any, after: Any) -> dict[str, Any]:
    entry = {"metric": name, "baseline": before, "simulated": after, "difference": None, "better": None}
    if isinstance(after, dict):
        if before is not None:
            entry["difference"] = {key: after[key] - before[key] for key in after}
        return {**entry, "unit": "judgments"}
    if before is not None and after is not None:
        entry["difference"] = after - before
        gain = before - after if name in LESS_IS_BETTER else after - before
        entry["better"] = "simulated" if gain > 0 else "baseline" if gain < 0 else "same"
    return {**entry, "unit": "ms" if name == "processing_time" else "share"}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
