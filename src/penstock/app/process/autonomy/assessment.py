"""What the cases of an agent in an activity say, and which mode they speak for. Pure: no store, no clock."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from penstock.app.process.autonomy.rules import AutonomyRules
from penstock.mining.confidence import exact_bounds, sequence_bounds, worsenings
from penstock.store.autonomy import AutonomyCaseRow
from penstock.store.autonomy_tables import OUTCOMES

MANUAL, SUPERVISED, AUTONOMOUS = MODES = ("MANUAL", "SUPERVISED", "AUTONOMOUS")
#: cases that are shown: every mistake up to so many, and the newest others
_SHOWN = 50


class ShownCase(msgspec.Struct, frozen=True):
    """A case behind a proposal: the work item, its run, and what became of the draft."""

    item: str
    run: str
    outcome: str
    at: int
    rework_ms: int | None = None


class MistakeCost(msgspec.Struct, frozen=True):
    """What mistakes have cost, as far as it was measured; None where nobody knows. `rework_ms`: from a mistake until
    the item was done, the median of `reworked` items. `compensations`: outcomes that were compensated. `amount`: no
    definition names money yet, and it is not made up."""

    mistakes: int = 0
    reworked: int = 0
    rework_ms: int | None = None
    compensations: int = 0
    amount: float | None = None


class Assessment(msgspec.Struct, frozen=True):
    """Counts since the last alarm, or since the activity is as it is; after an alarm that nothing has made good, with
    the cases that led to it. `lower` and `upper` hold however often they are looked at; `once`: the lower bound for
    whoever looks once. `worse`: the agent has become worse and has not earned its mode anew since; `useless`: its
    drafts are not worth reading. `total`: all cases since the activity is as it is."""

    target: float
    total: int = 0
    decided: int = 0
    unchanged: int = 0
    corrected: int = 0
    rejected: int = 0
    undone: int = 0
    lower: float = 0.0
    upper: float = 1.0
    once: float = 0.0
    worse: bool = False
    useless: bool = False
    since: int | None = None
    cost: MistakeCost = MistakeCost()
    cases: list[ShownCase] = []


def assessed(cases: Sequence[AutonomyCaseRow], mode: str, rules: AutonomyRules) -> Assessment:
    """`cases` of one agent in one activity as it is now, in the order in which they were clear."""
    target = rules.draft_at if mode == MANUAL else rules.raise_at
    worse, begin = _worse(cases, target, rules)
    counted = cases[begin:]
    counts = {name: sum(case.outcome == name for case in counted) for name in OUTCOMES}
    bounds = sequence_bounds(counts["unchanged"], len(counted), rules.level, target)
    useless = mode == SUPERVISED and len(cases) >= rules.min_cases and _useless(cases, rules)
    return Assessment(
        target, len(cases), len(counted), **counts, lower=bounds.lower, upper=bounds.upper,
        once=exact_bounds(counts["unchanged"], len(counted), rules.level).lower, worse=worse, useless=useless,
        since=counted[0].at if counted else None, cost=cost_of(cases), cases=shown(cases),
    )  # fmt: skip


def _worse(cases: Sequence[AutonomyCaseRow], target: float, rules: AutonomyRules) -> tuple[bool, int]:
    """Whether an alarm stands, and from which case on the cases count."""
    alarms = worsenings((case.outcome == "unchanged" for case in cases), target, seldom=rules.alarm_every)
    if not alarms:
        return False, 0
    after = cases[alarms[-1] :]
    good = sum(case.outcome == "unchanged" for case in after)
    earned = sequence_bounds(good, len(after), rules.level, target).lower >= target and len(after) >= rules.min_cases
    return (False, alarms[-1]) if earned else (True, alarms[-2] if len(alarms) > 1 else 0)


def _useless(cases: Sequence[AutonomyCaseRow], rules: AutonomyRules) -> bool:
    good = sum(case.outcome == "unchanged" for case in cases)
    if sequence_bounds(good, len(cases), rules.level, rules.raise_at).upper < rules.draft_floor:
        return True
    return _worse(cases, rules.draft_floor, rules)[0]


def advised(mode: str, found: Assessment, rules: AutonomyRules) -> tuple[str | None, str]:
    """The mode that the cases speak for, None where they speak for none or for the one that there is; and why."""
    enough = found.decided >= rules.min_cases
    if mode == AUTONOMOUS:
        if found.worse:
            return SUPERVISED, "the agent has become worse"
        if enough and found.upper < rules.raise_at:
            return SUPERVISED, "the upper bound lies below the target"
        return None, "the upper bound does not lie below the target"
    if found.useless:
        return MANUAL, "too few drafts are of use"
    if found.worse:
        return None, "the agent has become worse"
    if enough and found.lower >= found.target:
        return MODES[MODES.index(mode) + 1], "the lower bound has reached the target"
    return None, "the lower bound has not reached the target"


def direction(mode: str, proposed: str) -> str:
    return "raise" if MODES.index(proposed) > MODES.index(mode) else "lower"


def cost_of(cases: Sequence[AutonomyCaseRow]) -> MistakeCost:
    wrong = [case for case in cases if case.outcome != "unchanged"]
    times = [case.rework_ms for case in wrong if case.rework_ms is not None]
    return MistakeCost(
        len(wrong), len(times), int(median(times)) if times else None, sum(case.compensated for case in wrong)
    )


def shown(cases: Sequence[AutonomyCaseRow]) -> list[ShownCase]:
    """Mistakes first, each group from its newest."""
    newest = cases[::-1]
    wrong = [case for case in newest if case.outcome != "unchanged"][:_SHOWN]
    right = [case for case in newest if case.outcome == "unchanged"][: _SHOWN - len(wrong)]
    return [ShownCase(c.item, c.item.rpartition("~")[0], c.outcome, c.at, c.rework_ms) for c in (*wrong, *right)]
