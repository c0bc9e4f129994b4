"""What every report shows, whatever its format: numbers as text, metrics, the matrix, lists and notes."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.executors.parts.reports.words import word
from penstock.expr.calendar import moment_at

MOST = 15  # judgments that a list shows
_LESS_IS_BETTER = ("false_positive_rate", "false_negative_rate", "processing_time")


class Metric(NamedTuple):
    """A metric with both values; `better` says whether the candidate is, None where nobody can say."""

    name: str
    label: str
    baseline: float | None
    simulated: float | None
    better: bool | None
    is_share: bool

    def text(self, value: float | None) -> str:
        return "–" if value is None else f"{value * 100:.1f}%" if self.is_share else milliseconds(value)

    @property
    def difference(self) -> str:
        if self.baseline is None or self.simulated is None:
            return "–"
        change = self.simulated - self.baseline
        if self.is_share:
            return f"{change * 100:+.1f}%p"
        return "< 1 ms" if abs(change) < 1 else f"{change:+,.0f} ms"


class Tile(NamedTuple):
    """One of the three numbers of a report."""

    label: str
    value: str
    note: str
    tone: str  # good, bad, plain


class Facts:
    """The facts of one result in one language."""

    def __init__(self, result: dict[str, Any], language: str) -> None:
        self.result, self.language = result, language
        self.subject, self.summary, self.risk = result["subject"], result["summary"], result["risk_assessment"]
        self.total = self.summary["total_samples"]
        self.drawn = (result.get("report") or {}).get("visualizations") is not False

    def word(self, name: str, **values: Any) -> str:
        return word(name, self.language, **values)

    @property
    def versions(self) -> tuple[str, str]:
        none = self.word("none")
        return (self.subject["baseline_version"] or none, self.subject["candidate_version"] or none)

    @property
    def verdict(self) -> tuple[str, str, str]:
        """The recommendation in large letters, its reason, and whether the difference is real or large."""
        said = self.result["recommendation"]
        return (
            self.word(said),
            self.result["recommendation_text"][self.language],
            self.result["sentence"][self.language],
        )

    @property
    def tone(self) -> str:
        tones = {"deploy": "good", "review": "warn", "reject": "bad"}
        return tones.get(self.result["recommendation"], "plain")

    def tiles(self) -> list[Tile]:
        known = self.result.get("of_labelled")
        shown = known or self.summary
        before, after = shown["baseline_accuracy"], shown["simulated_accuracy"]
        gain = known["improvement"] if known is not None else None
        label = self.word("accuracy_of", count=f"{known['samples']:,}") if known else self.word("accuracy_unlabelled")
        note, tone = self.word("own_truth") if known is None and after is not None else "", "plain"
        if gain is not None:
            note = f"{before * 100:.1f}% → {after * 100:.1f}% ({self.word('points', points=f'{gain * 100:+.1f}')})"
            tone = "good" if gain > 0 else "bad" if gain < 0 else "plain"
        changed, missed = self.risk["changed_decisions"], self.risk["new_false_negatives"]
        share = f"{self.risk['changed_share'] * 100:.1f}"
        return [
            Tile(label, "–" if after is None else f"{after * 100:.1f}%", note, tone),
            Tile(self.word("changed"), str(changed), self.word("of_share", total=self.total, share=share), "plain"),
            Tile(
                self.word("missed"), str(missed), self.word("of_samples", total=self.total),
                "bad" if missed else "good" if self.total else "plain",
            ),
        ]  # fmt: skip

    def metrics(self) -> list[Metric]:
        """None of them where nobody knows what is right."""
        entries = [entry for entry in self.result["detailed_comparison"] if not isinstance(entry["simulated"], dict)]
        if self.total and not any(entry["simulated"] is not None for entry in entries if entry["unit"] == "share"):
            return []
        return [
            Metric(
                entry["metric"], self.word(entry["metric"]), entry["baseline"], entry["simulated"],
                {"simulated": True, "baseline": False}.get(entry["better"] or ""), entry["unit"] == "share",
            )
            for entry in entries
        ]  # fmt: skip

    def better_side(self, metric: Metric) -> str:
        return self.word("better_left" if less_is_better(metric.name) else "better_right")

    def matrix(self) -> tuple[list[str], list[list[int]]] | None:
        """Decisions that occur on either side, and how many went from which to which."""
        moves = self.result.get("transitions")
        if moves is None or not self.total:
            return None
        names, counts = moves["decisions"], moves["counts"]
        kept = [i for i in range(len(names)) if any(counts[i]) or any(row[i] for row in counts)]
        return [names[i] for i in kept], [[counts[i][j] for j in kept] for i in kept]

    def probabilities(self) -> list[tuple[str, float, float, float]]:
        shares = self.result.get("probabilities") or {}
        return [(self.word(name), part["share"], part["low"], part["high"]) for name, part in shares.items()]

    def judgments(self, name: str) -> tuple[list[list[str]], int]:
        """Rows of a list, and how many more there are."""
        rows = self.result[name]
        whole = self.risk["new_false_negatives" if name == "new_misses" else "changed_decisions"]
        shown = [
            [
                stamp(row["at"]), row["line_id"] or "–", self.word(row["before"] or "none"), self.word(row["after"]),
                self.word(row["label"]) if row["label"] else "–", row.get("value") or "–", row["judgment"],
            ]
            for row in rows[:MOST]
        ]  # fmt: skip
        return shown, max(0, whole - len(shown))

    def judgment_columns(self) -> list[str]:
        return [self.word(name) for name in ("time", "line", "before", "after", "truth", "value", "judgment")]

    def method(self) -> list[tuple[str, str]]:
        result, subject = self.result, self.subject
        rows = [(self.word("mode"), self.word(result["mode"]))]
        if subject["since"] is not None:
            rows.append((self.word("period"), f"{stamp(subject['since'])} – {stamp(subject['until'])} UTC"))
        rows.append((self.word("samples"), self.word("samples_of", total=f"{self.total:,}", seed=result["seed"])))
        sources = [
            self.word(f"label_{name}", count=f"{count:,}") for name, count in result["label_sources"].items()
        ]  # fmt: skip
        rows.append((self.word("labels"), ", ".join(sources) or "–"))
        rows.append((self.word("test"), self._test()))
        if result["test"] is not None:
            rows.append((self.word("reading"), self.word("reading_text")))
        rows.append((self.word("risk"), self._risk()))
        rows.append((self.word("origin"), f"{subject['document']} · {subject['node']} · {subject['run']}"))
        rows.append((self.word("created"), f"{stamp(subject['created_at'])} UTC"))
        return rows

    def _test(self) -> str:
        test = self.result["test"]
        if test is None:
            return self.word("no_test")
        p = test["p_value"]
        parts = [self.word(test["name"]), "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"]
        if test["effect_size"] is not None:
            names = {"cramers_v": "Cramér's V", "cohens_d": "Cohen's d", "ks_d": "D"}
            size = test["effect_size"]["value"]
            parts.append(f"{names[test['effect_size']['name']]} = {'∞' if size is None else f'{size:.3f}'}")
        return ", ".join(parts)

    def _risk(self) -> str:
        parts = [self.word(self.risk["level"]), self.word("alarms", count=self.risk["new_false_positives"])]
        if self.risk["new_critical_misses"]:
            parts.append(self.word("critical_misses", count=self.risk["new_critical_misses"]))
        return ", ".join(parts)

    def notes(self) -> list[str]:
        return [warning["text"][self.language] for warning in self.result["warnings"]]


def stamp(at: int) -> str:
    return f"{moment_at(at):%Y-%m-%d %H:%M}"


def milliseconds(value: float) -> str:
    return "< 1 ms" if value < 1 else f"{value:,.0f} ms"


def less_is_better(name: str) -> bool:
    return name in _LESS_IS_BETTER
