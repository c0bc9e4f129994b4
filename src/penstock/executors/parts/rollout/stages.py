"""The stages of a rollout: what each strategy leads to, and when somebody should look again (W-4.11.1, C-58)."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.executors.parts.rollout.model import BlueGreen, Canary, Deployment, Rolling, Stage, Strategy

MINUTE_MS = 60_000
#: a rollout that is watched is looked at so often in a stage, within these bounds
_LOOKS, _SHORTEST_MS, _LONGEST_MS = 20, 10_000, 300_000


def stages_of(strategy: Strategy, lines: Sequence[str]) -> list[Stage]:
    """`lines` are those of the scope; where it names none, those that are known."""
    last = Stage(100, strategy.observe_minutes)
    if strategy.type == "canary":
        return [*_shares(strategy.canary or Canary()), last]
    if strategy.type == "blue_green":
        block = strategy.blue_green or BlueGreen()
        return [Stage(0, block.warm_up_minutes, check=True), last]
    if strategy.type == "rolling" and lines:
        return [*_line_by_line(strategy.rolling or Rolling(), lines), last]
    return [last]


def _shares(canary: Canary) -> list[Stage]:
    """All but the last: percents are capped at 100."""
    percents = range(canary.initial_percent, 100, canary.increment_percent)
    return [Stage(percent, canary.interval_minutes) for percent in percents]


def _line_by_line(rolling: Rolling, lines: Sequence[str]) -> list[Stage]:
    """All but the last, which is the whole scope."""
    size = rolling.batch_size
    return [Stage(100, rolling.interval_minutes, tuple(lines[:end])) for end in range(size, len(lines), size)]


def progress_of(stages: Sequence[Stage], stage: int, *, succeeded: bool = False) -> int:
    """How far a rollout is: its share, or the share of its stages where it goes by lines. It is at 100 when it has
    succeeded, and not before."""
    if succeeded:
        return 100
    by_lines = any(step.lines is not None for step in stages)
    reached = 100 * (stage + 1) // len(stages) if by_lines else stages[stage].percent
    return min(reached, 99)


def stage_ends_at(deployment: Deployment) -> int:
    return deployment.stage_at + round(deployment.stages[deployment.stage].minutes * MINUTE_MS)


def next_look_at(deployment: Deployment, now: int) -> int | None:
    """At the end of the stage; earlier, and again and again, where there is something to watch. One that is paused has
    no end, and is looked at for what takes it back alone."""
    end = stage_ends_at(deployment)
    every = min(max((end - deployment.stage_at) // _LOOKS, _SHORTEST_MS), _LONGEST_MS)
    if deployment.status == "paused":
        return now + every if deployment.triggers is not None else None
    watched = deployment.request.strategy.criteria is not None or deployment.triggers is not None
    if not watched or end <= now:
        return end
    return min(end, now + every)


def stage_begins_at(deployment: Deployment, now: int) -> int:
    """When the stage after the present one begins: at the end of that, so that a look that comes late by a little
    moves no later stage; where nobody has looked for long, such as in an outage, now."""
    end = stage_ends_at(deployment)
    late = max(MINUTE_MS, (end - deployment.stage_at) // 10)
    return end if 0 <= now - end <= late else now
