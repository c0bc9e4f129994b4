"""A simulation from its order to its result: both sides judge the same samples, and the difference is weighed."""

from __future__ import annotations

import asyncio
import math
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from penstock.executors.contract import Done, Failed, Request, Services, Tenant
from penstock.executors.parts.plant_zone import plant_zone
from penstock.executors.parts.rules.evaluate import Judge
from penstock.executors.parts.rules.outer_names import rule_names
from penstock.executors.parts.rules.pack import RANK
from penstock.executors.parts.simulation import assessment, significance, wording
from penstock.executors.parts.simulation.candidates import Sides, Version, judge_of, sides_of
from penstock.executors.parts.simulation.history import PastJudgment, shown_value
from penstock.executors.parts.simulation.judging import judge_by_rules, recorded
from penstock.executors.parts.simulation.metrics import DECISIONS, Opinion, compare, measure
from penstock.executors.parts.simulation.order import Order, OrderInvalid
from penstock.executors.parts.simulation.recorders import RecordingTenant, SimulationRefused
from penstock.executors.parts.simulation.samples import (
    default_data,
    drawn_samples,
    given_samples,
    past_judgments,
    past_samples,
    seed_of,
)
from penstock.executors.parts.threads import in_thread
from penstock.expr.root_names import HOST_ROOTS

KEPT = 5_000  # samples that are kept for people to look at
SHOWN = 100  # changed judgments in a result
_ASKED = 8  # questions to a model at the same time
_Z = 1.959963984540054  # of 95 %


class Judged(msgspec.Struct, kw_only=True):
    """Samples with what both sides say of them."""

    samples: list[PastJudgment]
    baseline: list[Opinion] | None
    simulated: list[Opinion]
    refused: int = 0

    def failed_at(self, index: int) -> bool:
        """Whether either side could not judge it."""
        return bool(self.simulated[index].failed or self.baseline is not None and self.baseline[index].failed)

    def of(self, places: Sequence[int]) -> Judged:
        """Those of some samples."""
        return Judged(
            samples=[self.samples[i] for i in places], simulated=[self.simulated[i] for i in places],
            baseline=None if self.baseline is None else [self.baseline[i] for i in places], refused=self.refused,
        )  # fmt: skip


async def simulate(order: Order, tenant: Tenant, request: Request, services: Services) -> dict[str, Any]:
    """The whole result, `samples` included. Raises OrderInvalid."""
    sides = sides_of(order, tenant)
    window = order.mode.replay.time_range.window(request.at, plant_zone(tenant))
    monte_carlo = order.mode.type == "monte_carlo"
    seed = seed_of(order.mode.monte_carlo.seed if monte_carlo else order.mode.replay.seed, request.key)
    judging = _Judging(sides, tenant, request, services)
    default = default_data(order.input, request.named())
    # the store is asked here, on the engine's loop; drawing, judging and weighing are done beside it
    if order.mode.type == "dry_run":
        samples = given_samples(order, sides.candidate, default, request.at)
    elif monte_carlo:
        samples = await in_thread(drawn_samples, order, sides.candidate, default, request.at, seed)
    else:
        used = await past_judgments(sides.candidate, window, tenant, sides.warnings)
        samples = await in_thread(
            past_samples, order, sides.candidate, used, seed, judging.baseline_decisions, sides.warnings
        )  # fmt: skip
    judged = await judging.both(samples)
    result = await in_thread(result_of, order, judged, sides.warnings)
    if monte_carlo:
        result["probabilities"] = _probabilities(judged.simulated)
    past = order.mode.type in ("replay", "what_if")
    return {
        **result, "seed": seed, "mode": order.mode.type,
        "subject": {
            "artifact": {"type": sides.candidate.type, "id": sides.candidate.id, "name": _name(sides.candidate)},
            "candidate_version": sides.candidate.version,
            "baseline_version": sides.baseline.version if sides.baseline is not None else None,
            "since": window[0] if past else None, "until": window[1] if past else None,
            "run": request.run, "node": request.node, "document": order.document, "created_at": request.at,
        },
    }  # fmt: skip


def _name(version: Version) -> str:
    return str(version.body.get("name") or version.id)


# ---- judging ---------------------------------------------------------------------------------------------------------


class _Judging:
    """Both sides of one simulation: rules are judged here, prompts and models are asked through the executor that asks
    them in production, upon a tenant that sends and writes nothing."""

    def __init__(self, sides: Sides, tenant: Tenant, request: Request, services: Services) -> None:
        self.sides, self.tenant, self.request, self.services = sides, tenant, request, services
        self.type = sides.candidate.type
        self.judges = {
            name: judge_of(version)
            for name, version in (("simulated", sides.candidate), ("baseline", sides.baseline))
            if version is not None and version.type == "rule_pack"
        }
        # as a judgment of this run would be given them, and counted as nobody's use
        asked = msgspec.structs.replace(request, used=[])
        reads = frozenset(HOST_ROOTS) if self.type == "config" else _reads(self.judges.values())
        self.names = rule_names(reads, asked, tenant)

    def baseline_decisions(self, samples: list[PastJudgment]) -> list[str]:
        """Where there is no baseline, what was decided then."""
        judge = self.judges.get("baseline")
        opinions = judge_by_rules(judge, samples, self.names) if judge is not None else recorded(samples)
        return [opinion.decision for opinion in opinions]

    async def both(self, samples: list[PastJudgment]) -> Judged:
        if self.type in ("prompt", "model"):
            return await self._by_model(samples)
        if self.type == "config":
            packs = {id: self.tenant.find("rule_pack", id) for id in {_pack_of(sample) for sample in samples}}
            return await in_thread(self._by_config, samples, packs)
        return await in_thread(self._by_rules, samples)

    def _by_rules(self, samples: list[PastJudgment]) -> Judged:
        judge = self.judges.get("baseline")
        baseline = judge_by_rules(judge, samples, self.names) if judge is not None else None
        simulated = judge_by_rules(self.judges["simulated"], samples, self.names)
        return Judged(samples=samples, baseline=baseline, simulated=simulated)

    def _by_config(self, samples: list[PastJudgment], packs: Mapping[str, Any]) -> Judged:
        """The packs that judged then, once with either configuration."""
        sides = [self.sides.candidate, *([self.sides.baseline] if self.sides.baseline is not None else [])]
        opinions = [self._with_config(version, samples, packs) for version in sides]
        return Judged(samples=samples, simulated=opinions[0], baseline=opinions[1] if len(opinions) > 1 else None)

    def _with_config(
        self, config: Version, samples: list[PastJudgment], packs: Mapping[str, Any]
    ) -> list[Opinion]:  # fmt: skip
        roots = {"global": ("$config",), "tenant": ("$tenant_config",)}.get(config.id, ("$config", "$tenant_config"))
        names = ChainMap(dict.fromkeys(roots, config.body), cast(Any, self.names))
        opinions = []
        for sample in samples:
            body = packs[_pack_of(sample)]
            if body is None:
                opinions.append(Opinion("unknown", 0.0, None, "RULE_PACK_NOT_FOUND"))
            else:
                judge = judge_of(Version("rule_pack", str(body.get("id")), None, body))
                opinions += judge_by_rules(judge, [sample], names)
        return opinions

    async def _by_model(self, samples: list[PastJudgment]) -> Judged:
        candidate = self.sides.candidate
        tenant = RecordingTenant(self.tenant, candidate.type, candidate.id, candidate.body)
        places = asyncio.Semaphore(_ASKED)

        async def ask(index: int, sample: PastJudgment) -> Opinion:
            async with places:
                return await self._ask(index, sample, tenant)

        simulated = await asyncio.gather(*(ask(index, sample) for index, sample in enumerate(samples)))
        past = recorded(samples) if self.sides.baseline is not None else None
        return Judged(samples=samples, baseline=past, simulated=list(simulated), refused=tenant.refused)

    async def _ask(self, index: int, sample: PastJudgment, tenant: RecordingTenant) -> Opinion:
        executor = self.services.executors.get("judgment")
        if executor is None:
            raise OrderInvalid("Nobody here can ask a model.", code="LLM_ERROR")
        asked = msgspec.structs.replace(
            self.request, key=f"{self.request.key}/{index}", executor="judgment", used=[], line=sample.line or "",
            run=sample.run or self.request.run,
            args={"policy": _without_people(sample.policy), "data": sample.data, "context": sample.context},
        )  # fmt: skip
        lent = msgspec.structs.replace(self.services, tenant=lambda name: tenant, lend=None)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            outcome = await executor.run(asked, lent)
        except SimulationRefused:
            return Opinion("unknown", 0.0, None, "REFUSED")
        ms = (loop.time() - began) * 1000
        if isinstance(outcome, Done) and isinstance(outcome.body, Mapping):
            trouble = outcome.body.get("llm_error") or outcome.body.get("rule_error")
            if trouble:  # the other half has decided alone, which says nothing of the candidate
                return Opinion("unknown", 0.0, ms, str(trouble["code"]))
            return Opinion(str(outcome.body["decision"]), float(outcome.body["confidence"]), ms)
        code = outcome.failure.code if isinstance(outcome, Failed) else "LLM_ERROR"
        return Opinion("unknown", 0.0, ms, code)


def _reads(judges: Iterable[Judge]) -> frozenset[str]:
    return frozenset[str]().union(*(judge.reads for judge in judges))


def _without_people(policy: Mapping[str, Any]) -> dict[str, Any]:
    """The policy as it was, but nobody is asked: how rules and model are merged stays (C-51)."""
    asked = {name: value for name, value in policy.items() if name != "routing"}
    routing = policy.get("routing")
    if policy.get("type") == "HYBRID" and isinstance(routing, Mapping) and "conflict_resolution" in routing:
        asked["routing"] = {"conflict_resolution": routing["conflict_resolution"], "confidence_threshold": 0}
    return asked


def _pack_of(sample: PastJudgment) -> str:
    return str(sample.policy.get("rule_pack_id"))


# ---- the result ------------------------------------------------------------------------------------------------------


def result_of(order: Order, judged: Judged, warnings: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of W-4.13: summary, comparison, test, risk, recommendation; and every sample. What a side could not
    judge is in none of the numbers, only counted."""
    truth, sources = _truth(judged)
    places = [index for index in range(len(judged.samples)) if not judged.failed_at(index)]
    whole = judged.of(places)
    known = [truth[index] for index in places]
    decisions = assessment.Decisions(
        None if whole.baseline is None else [opinion.decision for opinion in whole.baseline],
        [opinion.decision for opinion in whole.simulated],
        known,
    )
    before = None if whole.baseline is None else measure(whole.baseline, known)
    after = measure(whole.simulated, known)
    test = _test(order, whole, warnings)
    risk = assessment.risk(decisions)
    by_people = [at for at, index in enumerate(places) if sources[index] in ("human", "review")]
    labelled = decisions.of(by_people)
    of_labelled = assessment.of_labelled(labelled)
    improvement = of_labelled["improvement"] if of_labelled is not None else _difference(before, after)
    evidence = assessment.Evidence(
        total=len(judged.samples), failed=len(judged.samples) - len(places), compared=before is not None,
        labelled=len(by_people), improvement=of_labelled["improvement"] if of_labelled is not None else None,
        proven=assessment.right_by_chance(labelled) < 1 - order.analysis.confidence_level,
        critical_misses=assessment.risk(labelled)["new_critical_misses"], risk=risk,
    )  # fmt: skip
    recommendation, key = assessment.recommend(evidence)
    _warn(order, judged, len(by_people), warnings)
    counted = Counter(sources[index] for index in places if sources[index])
    label_source = next(iter(counted)) if len(counted) == 1 else "mixed" if counted else "none"
    rows = _rows(judged, truth, sources)
    return {
        "summary": {
            "total_samples": len(judged.samples),
            "baseline_accuracy": None if before is None else before["accuracy"],
            "simulated_accuracy": after["accuracy"], "improvement": improvement,
            "statistical_significance": bool(test and test["significant"]), "label_source": label_source,
            "labelled": len(by_people),
        },
        "of_labelled": of_labelled,
        "detailed_comparison": compare(before, after, order.comparison.metrics),
        "transitions": assessment.transitions(decisions), "test": test, "risk_assessment": risk,
        "recommendation": recommendation, "recommendation_text": wording.recommendation(key, evidence),
        "sentence": wording.difference(test), "labelled": len(by_people), "label_source": label_source,
        "label_sources": dict(counted), "warnings": warnings, "refused": judged.refused,
        "failed": {"baseline": _failed(judged.baseline or ()), "simulated": _failed(judged.simulated)},
        "changes": _gravest(row for row in rows if row["before"] is not None and row["before"] != row["after"]),
        "new_misses": _gravest(row for row in rows if row["missed"]),
        "samples": [{name: value for name, value in row.items() if name != "value"} for row in rows[-KEPT:]],
    }  # fmt: skip


def _difference(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> float | None:
    if before is None or before["accuracy"] is None or after["accuracy"] is None:
        return None
    return float(after["accuracy"] - before["accuracy"])


def _truth(judged: Judged) -> tuple[list[str | None], list[str]]:
    """A person's label, else a reviewed decision, else the baseline's, for each sample; and where it is from. Without a
    baseline it is what was decided then; where nothing was, nobody knows."""
    truth: list[str | None] = []
    sources: list[str] = []
    for index, sample in enumerate(judged.samples):
        source, decision = "", None
        if sample.label is not None:
            source, decision = "human", sample.label
        elif sample.reviewed:
            source, decision = "review", sample.decision
        elif judged.baseline is not None:
            if not judged.baseline[index].failed:
                source, decision = "baseline", judged.baseline[index].decision
        elif sample.policy and sample.confidence:
            source, decision = "recorded", sample.decision
        truth.append(decision)
        sources.append(source)
    return truth, sources


def _test(order: Order, judged: Judged, warnings: list[dict[str, Any]]) -> dict[str, Any] | None:
    if judged.baseline is None or not judged.samples:
        return None
    wish, on = order.analysis, "decisions"
    test: significance.TestOfDifference | None
    try:
        if wish.statistical_test == "chi_square":
            test = significance.chi_square(_counts(judged.baseline), _counts(judged.simulated))
        else:
            on = wish.on if wish.statistical_test == "t_test" else "confidence"
            measured = "confidence" if on == "confidence" else "ms"
            values = [
                [value for opinion in side if (value := getattr(opinion, measured)) is not None]
                for side in (judged.baseline, judged.simulated)
            ]
            test = getattr(significance, wish.statistical_test)(*values)
    except significance.MissingStatistics as missing:
        warnings.append(wording.warning("extra_missing", text=str(missing)))
        return None
    if test is None:
        warnings.append(wording.warning("test_impossible"))
        return None
    return test.body(on, wish.confidence_level, effect_size=wish.effect_size)


def _counts(opinions: Sequence[Opinion]) -> list[int]:
    counted = Counter(opinion.decision for opinion in opinions)
    return [counted[name] for name in DECISIONS]


def _warn(order: Order, judged: Judged, labelled: int, warnings: list[dict[str, Any]]) -> None:
    codes = {opinion.failed for side in (judged.baseline or (), judged.simulated) for opinion in side} - {""}
    if codes:
        failed = {"baseline": _failed(judged.baseline or ()), "simulated": _failed(judged.simulated)}
        warnings.append(wording.warning("judging_failed", codes=", ".join(sorted(codes)), **failed))
    if order.mode.type in ("replay", "what_if"):
        if not judged.samples:
            warnings.append(wording.warning("no_history"))
        elif not labelled and judged.baseline is not None:
            warnings.append(wording.warning("no_labels"))
    if judged.refused:
        warnings.append(wording.warning("refused", count=judged.refused))


def _failed(opinions: Sequence[Opinion]) -> int:
    return sum(bool(opinion.failed) for opinion in opinions)


def _rows(judged: Judged, truth: Sequence[str | None], sources: Sequence[str]) -> list[dict[str, Any]]:
    """Every sample as a list shows it."""
    rows = []
    for index, sample in enumerate(judged.samples):
        before = judged.baseline[index].decision if judged.baseline is not None else None
        after = judged.simulated[index].decision
        failed = judged.failed_at(index)
        rows.append({
            "judgment": sample.judgment, "run": sample.run, "node": sample.node, "at": sample.at,
            "line_id": sample.line, "before": before, "after": after, "failed": failed,
            "label": truth[index] if sources[index] in ("human", "review") else None,
            "missed": not failed and assessment.is_new_miss(before, after, truth[index]),
            "value": shown_value(sample.data) if before != after else "",
        })  # fmt: skip
    return rows


def _gravest(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The gravest first: what is newly missed, then what moves farthest; of equals the newest."""

    def gravity(row: dict[str, Any]) -> tuple[Any, ...]:
        before, after = RANK.get(row["before"] or "normal", 0), RANK.get(row["after"], 0)
        return (not row["missed"], row["label"] != "critical", -abs(after - before))

    judged = [row for row in rows if not row["failed"]]
    newest_first = sorted(judged, key=lambda row: -row["at"])
    return sorted(newest_first, key=gravity)[:SHOWN]


def _probabilities(opinions: Sequence[Opinion]) -> dict[str, dict[str, float]]:
    """The share of every decision with its 95 % interval (Wilson)."""
    total = len(opinions)
    shares = {}
    for name, count in zip(DECISIONS, _counts(opinions), strict=True):
        share = count / total
        centre = (share + _Z**2 / (2 * total)) / (1 + _Z**2 / total)
        half = _Z / (1 + _Z**2 / total) * math.sqrt(share * (1 - share) / total + _Z**2 / (4 * total**2))
        shares[name] = {"share": share, "low": max(0.0, centre - half), "high": min(1.0, centre + half)}
    return shares
