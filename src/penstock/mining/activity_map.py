"""The map of a process: which activity directly follows which, how often, and where the time goes.

Cases go by one at a time. What is kept is counted per activity, flow, variant and pair of people, so that a log of a
million events needs little more memory than one of ten thousand of the same process.

Waiting is the time from the completion of an activity to the start of the next one in the order of completions, or to
its completion where the log does not say when it started; none where the next had started before. Working is the time
from start to completion without what was suspended.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.mining.event import Case
from penstock.mining.map_counts import MapCounts
from penstock.mining.variants import Variant, listed

_DAY_MS = 86_400_000


class ActivityStats(msgspec.Struct, frozen=True):
    name: str
    count: int
    cases: int
    starts: int  # cases that began with it
    ends: int  # cases whose last activity it was
    human: int  # times it was done in the mode MANUAL
    agent: int  # times it was done in the modes SUPERVISED or AUTONOMOUS
    median_work_ms: int | None
    p95_work_ms: int | None
    total_work_ms: int


class FlowStats(msgspec.Struct, frozen=True):
    source: str  # "": the case begins
    target: str  # "": the case ends
    count: int
    cases: int
    median_wait_ms: int | None
    p95_wait_ms: int | None
    total_wait_ms: int


class Bottleneck(msgspec.Struct, frozen=True):
    """The flow on which cases wait longest in all."""

    source: str
    target: str
    share: float  # of the elapsed time of all cases, 0 to 1
    median_wait_ms: int
    p95_wait_ms: int
    arrivals_per_day: float
    people: int  # that did the target, agents not counted


class Rework(msgspec.Struct, frozen=True):
    activity: str
    cases: int  # in which it was done more than once
    repeats: int  # times it was done again


class Handover(msgspec.Struct, frozen=True):
    """One did an activity, another the next of the same case."""

    source: str
    target: str
    count: int
    median_wait_ms: int


class ActivityMap(msgspec.Struct, frozen=True):
    """`activities`, `flows`, `rework` and `handovers`: the most frequent first."""

    cases: int
    events: int
    begin: int | None  # the earliest moment
    end: int | None  # the latest
    median_case_ms: int
    elapsed_ms: int  # of all cases together
    activities: tuple[ActivityStats, ...]
    flows: tuple[FlowStats, ...]
    variants: tuple[Variant, ...]
    bottleneck: Bottleneck | None
    rework: tuple[Rework, ...]
    handovers: tuple[Handover, ...]
    handovers_left_out: int = 0  # between pairs of people beyond the limit


def activity_map(cases: Iterable[Case]) -> ActivityMap:
    """Cases without events do not count."""
    counts = MapCounts()
    for case in cases:
        if case.events:
            counts.add(case)
    counts.count_sequences()
    flows = _flows(counts)
    return ActivityMap(
        cases=counts.cases, events=counts.events, begin=counts.begin, end=counts.end,
        median_case_ms=counts.elapsed.median() or 0, elapsed_ms=counts.elapsed.sum(),
        activities=_activities(counts), flows=flows,
        variants=listed(counts.variants, counts.names, counts.cases) if counts.cases else (),
        bottleneck=_bottleneck(counts, flows), rework=_rework(counts), handovers=_handovers(counts),
        handovers_left_out=counts.handovers_left_out,
    )  # fmt: skip


def _activities(counts: MapCounts) -> tuple[ActivityStats, ...]:
    stats = [
        ActivityStats(
            name=name, count=a.count, cases=a.cases, starts=a.starts, ends=a.ends, human=a.human, agent=a.agent,
            median_work_ms=a.work.median(), p95_work_ms=a.work.p95(), total_work_ms=a.work.sum(),
        )
        for name, a in zip(counts.names, counts.activities, strict=True)
    ]  # fmt: skip
    return tuple(sorted(stats, key=lambda a: (-a.count, a.name)))


def _flows(counts: MapCounts) -> tuple[FlowStats, ...]:
    stats = [
        FlowStats(
            source=counts.name_of(source), target=counts.name_of(target), count=flow.count, cases=flow.cases,
            median_wait_ms=flow.wait.median(), p95_wait_ms=flow.wait.p95(), total_wait_ms=flow.wait.sum(),
        )
        for (source, target), flow in counts.flows.items()
    ]  # fmt: skip
    return tuple(sorted(stats, key=lambda f: (-f.count, f.source, f.target)))


def _bottleneck(counts: MapCounts, flows: tuple[FlowStats, ...]) -> Bottleneck | None:
    elapsed = counts.elapsed.sum()
    waits = [flow for flow in flows if flow.source and flow.target and flow.total_wait_ms]
    if not waits or not elapsed:
        return None
    worst = min(waits, key=lambda f: (-f.total_wait_ms, f.source, f.target))
    assert counts.begin is not None and counts.end is not None, "a map with flows has events"
    days = max((counts.end - counts.begin) / _DAY_MS, 1 / 24)
    people = counts.activities[counts.names.index(worst.target)].people
    return Bottleneck(
        source=worst.source, target=worst.target, share=worst.total_wait_ms / elapsed,
        median_wait_ms=worst.median_wait_ms or 0, p95_wait_ms=worst.p95_wait_ms or 0,
        arrivals_per_day=worst.count / days, people=len(people),
    )  # fmt: skip


def _rework(counts: MapCounts) -> tuple[Rework, ...]:
    found = [
        Rework(name, a.repeated_cases, a.count - a.cases)
        for name, a in zip(counts.names, counts.activities, strict=True)
        if a.repeated_cases
    ]
    return tuple(sorted(found, key=lambda r: (-r.repeats, r.activity)))


def _handovers(counts: MapCounts) -> tuple[Handover, ...]:
    found = [
        Handover(source, target, len(waits), waits.median() or 0)
        for (source, target), waits in counts.handovers.items()
    ]
    return tuple(sorted(found, key=lambda h: (-h.count, h.source, h.target)))
