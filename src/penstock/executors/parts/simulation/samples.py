"""The samples of a simulation: past judgments, the node's own data, or data drawn at random."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping
from typing import Any

from penstock.executors.contract import Tenant
from penstock.executors.parts.simulation import sampling
from penstock.executors.parts.simulation.candidates import Version
from penstock.executors.parts.simulation.distributions import DistributionRefused, drawn_rows, draws_of
from penstock.executors.parts.simulation.history import PastJudgment, line_of
from penstock.executors.parts.simulation.metrics import DECISIONS
from penstock.executors.parts.simulation.order import Given, Order, OrderInvalid
from penstock.executors.parts.simulation.wording import warning

MOST = 20_000  # judgments by the artifact that are looked at
SAMPLES = 1000
MODEL_SAMPLES = 100  # where a model is asked for every sample, and nobody has said how many


def seed_of(given: int | None, key: str) -> int:
    """The seed asked for, else one that the same attempt draws again."""
    return given if given is not None else int.from_bytes(hashlib.blake2b(key.encode(), digest_size=4).digest(), "big")


async def past_judgments(
    subject: Version, window: tuple[int, int], tenant: Tenant, warnings: list[dict[str, Any]]
) -> list[PastJudgment]:  # fmt: skip
    """What this artifact took part in, newest first; others may work while it is read."""
    used: list[PastJudgment] = []
    for page in tenant.judged_pages(*window, wanted=lambda judgment: judgment.used(subject.type, subject.id)):
        used += page
        if len(used) > MOST:
            warnings.append(warning("history_cut", most=MOST))
            return used[:MOST]
        await asyncio.sleep(0)
    return used


def past_samples(
    order: Order, subject: Version, used: list[PastJudgment], seed: int,
    decide: Callable[[list[PastJudgment]], list[str]], warnings: list[dict[str, Any]],
) -> list[PastJudgment]:  # fmt: skip
    """So many of the past judgments as are asked for. `decide` gives the baseline's decisions, by which they are
    stratified."""
    replay = order.mode.replay
    usable = [judgment for judgment in used if judgment.replayable()]
    if len(usable) < len(used):
        warnings.append(warning("not_replayable", count=len(used) - len(usable)))
    asks = subject.type in ("prompt", "model")
    size = replay.sample_size or (MODEL_SAMPLES if asks else SAMPLES)
    if asks and replay.sample_size is None and len(usable) > size:
        warnings.append(warning("model_samples", size=size))
    if replay.sampling == "sequential":
        return sampling.sequential(usable, size)
    if replay.sampling == "random":
        return sampling.sampled(usable, size, seed)
    strata = dict(zip((judgment.judgment for judgment in usable), decide(usable), strict=True))
    return sampling.stratified(usable, size, seed, lambda judgment: strata[judgment.judgment])


def given_samples(order: Order, subject: Version, default: Any, at: int) -> list[PastJudgment]:
    """The node's own data: one judgment, or several samples."""
    given = order.input
    if given.samples is None:
        data = given.data if given.data is not None else default
        return [_sample(0, data, given.context, None, subject, at)]
    samples = []
    for index, entry in enumerate(given.samples):
        if not isinstance(entry, Mapping):
            raise OrderInvalid(f"Sample {index + 1} is no object.", hint="Write {data, context, label}.")
        label = entry.get("label")
        if label is not None and label not in DECISIONS:
            raise OrderInvalid(f"The label of sample {index + 1} is «{label}».", hint=f"Use {', '.join(DECISIONS)}.")
        samples.append(_sample(index, entry.get("data"), entry.get("context"), label, subject, at))
    return samples


def drawn_samples(order: Order, subject: Version, default: Any, at: int, seed: int) -> list[PastJudgment]:
    """As many judgments as iterations, each with fields of its own drawn from their distributions."""
    wish = order.mode.monte_carlo
    if not wish.distributions:
        hint = "Write monte_carlo.distributions: {defect_rate: {dist: normal, mean: 0.03, sd: 0.01}}."
        raise OrderInvalid("There are no distributions to draw from.", hint=hint)
    try:
        draws = draws_of(wish.distributions)
    except DistributionRefused as refused:
        raise OrderInvalid(str(refused), hint=refused.hint) from None
    base = order.input.data if order.input.data is not None else default
    if not isinstance(base, Mapping | list | tuple) or not base:
        base = [{}]
    chooser = random.Random(seed)  # noqa: S311 (no secret)
    try:
        return [
            _sample(index, drawn_rows(base, draws, chooser), order.input.context, None, subject, at)
            for index in range(wish.iterations)
        ]
    except DistributionRefused as refused:
        raise OrderInvalid(str(refused), hint=refused.hint) from None


def default_data(given: Given, named: Mapping[str, Any]) -> Any:
    """What came along the edge, where the node names no data of its own."""
    return None if given.data is not None or given.samples is not None else named.get("default")


def _sample(index: int, data: Any, context: Any, label: str | None, subject: Version, at: int) -> PastJudgment:
    policies: dict[str, dict[str, Any]] = {
        "rule_pack": {"type": "RULE_ONLY", "rule_pack_id": subject.id},
        "prompt": {"type": "LLM_ONLY", "prompt_id": subject.id},
        "model": {"type": "LLM_ONLY", "llm_config": {"model": subject.id}},
    }
    if subject.type not in policies:
        raise OrderInvalid(
            "A config judges nothing by itself.", hint="Replay past judgments with it: mode.type: replay."
        )
    return PastJudgment(
        judgment=f"#{index + 1}", at=at, data=data, context=context, policy=policies[subject.type], label=label,
        line=line_of(data, context),
    )  # fmt: skip
