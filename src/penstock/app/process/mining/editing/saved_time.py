"""How much time a change of a model would save a week, where the times of the map tell it.

The time of a step is the median wait before it, on the way by which most cases come to it, and the median work on it.

- beside: two steps side by side take as long as the longer one, so that a case saves the time of the shorter one. Every
  case that has both saves it.
- path_back: who may go back needs no new case for it, in which the steps before that one would be done again. A case
  that went back saves the work on the steps that it had done before it came there first.

Per week: the cases of the period, divided by its weeks; a period shorter than a day counts as one. What is not in the
map saves nothing that could be told: then there is no number, and not 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.mining.activity_map import ActivityMap

_DAY_MS = 86_400_000
_WEEK_MS = 7 * _DAY_MS


class SavedTime:
    def __init__(self, variants: Mapping[tuple[str, ...], int], found: ActivityMap) -> None:
        self.variants = variants
        self.work = {stats.name: stats.median_work_ms for stats in found.activities}
        self.wait: dict[str, int | None] = {}
        for flow in sorted(found.flows, key=lambda flow: flow.count):
            self.wait[flow.target] = flow.median_wait_ms
        period = (found.end or 0) - (found.begin or 0)
        self.weeks = max(period, _DAY_MS) / _WEEK_MS

    def beside(self, first: str, second: str) -> int | None:
        times = [self._time(first), self._time(second)]
        if None in times:
            return None
        cases = sum(cases for case, cases in self.variants.items() if first in case and second in case)
        return round(cases * min(time for time in times if time is not None) / self.weeks)

    def path_back(self, target: str, went_back: Mapping[tuple[str, ...], int]) -> int | None:
        """`went_back`: the variants that went back to it."""
        saved, told = 0, False
        for case, cases in went_back.items():
            before = set(case[: case.index(target)]) if target in case else set()
            times = [time for name in before if (time := self.work.get(name)) is not None]
            told |= bool(times)
            saved += cases * sum(times)
        return round(saved / self.weeks) if told else None

    def _time(self, name: str) -> int | None:
        wait, work = self.wait.get(name), self.work.get(name)
        return None if wait is None and work is None else (wait or 0) + (work or 0)
