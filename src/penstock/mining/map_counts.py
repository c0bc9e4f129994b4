"""What is counted while cases go by, of which the map is made in the end.

Sequences are looked at once per variant in the end; per event only times, people and modes are.
"""

from __future__ import annotations

from array import array
from collections import Counter

from penstock.errors import EventLogTooLarge
from penstock.mining.event import AGENT_MODES, HUMAN_MODES, Case
from penstock.mining.quantiles import EXACT, Durations
from penstock.mining.variants import EXAMPLES, VariantCount

MAX_ACTIVITIES = 2_000  # more are not names of activities but data in the wrong column
MAX_FLOWS = 200_000
MAX_VARIANTS = 500_000
MAX_PEOPLE = 10_000  # of one activity; more are not counted
MAX_HANDOVERS = 50_000  # pairs of people
NOBODY = frozenset({"", "system"})  # P-7.3.6: how an export names what nobody was assigned to
_NONE = -1  # before the first and after the last activity
_FOLD_EVERY = EXACT // 2


class ActivityCount:
    __slots__ = ("agent", "cases", "count", "ends", "human", "people", "repeated_cases", "starts", "work")

    def __init__(self) -> None:
        self.count = self.cases = self.starts = self.ends = self.human = self.agent = self.repeated_cases = 0
        self.work = Durations()
        self.people: set[str] = set()  # who is no agent


class FlowCount:
    __slots__ = ("cases", "count", "wait")

    def __init__(self, wait: Durations) -> None:
        self.count = self.cases = 0
        self.wait = wait


class MapCounts:
    def __init__(self) -> None:
        self.cases = self.events = self.handovers_left_out = 0
        self.begin: int | None = None
        self.end: int | None = None
        self.elapsed = Durations()
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        self.activities: list[ActivityCount] = []
        self.waits: dict[tuple[int, int], Durations] = {}
        self.flows: dict[tuple[int, int], FlowCount] = {}
        self.variants: dict[bytes, VariantCount] = {}
        self.handovers: dict[tuple[str, str], Durations] = {}
        self._next_fold = _FOLD_EVERY

    def name_of(self, number: int) -> str:
        return self.names[number] if number != _NONE else ""

    def add(self, case: Case) -> None:
        sequence, begin = self._go_through(case)
        end = case.events[-1].at
        self.cases += 1
        self.events += len(case.events)
        self.begin = begin if self.begin is None else min(begin, self.begin)
        self.end = end if self.end is None else max(end, self.end)
        self.elapsed.add(end - begin)
        variant = self.variants.get(sequence) or self._new_variant(sequence, case)
        variant.cases += 1
        variant.elapsed.add(end - begin)
        if len(variant.case_ids) < EXAMPLES:
            variant.case_ids.append(case.id)
        if not variant.cases % EXACT:
            variant.elapsed.fold()
        if self.events >= self._next_fold:
            self._fold()

    def count_sequences(self) -> None:
        """Once, in the end: how often each flow and activity occurs follows from the variants."""
        flows = self.flows
        for key, variant in self.variants.items():
            sequence = array("H", key)
            self._count_activities(sequence, variant.cases)
            pairs = Counter(zip((_NONE, *sequence), (*sequence, _NONE), strict=True))
            for pair, times in pairs.items():
                flow = flows.get(pair)
                if flow is None:
                    flow = flows[pair] = FlowCount(self.waits.get(pair) or Durations())
                flow.count += times * variant.cases
                flow.cases += variant.cases

    def _count_activities(self, sequence: array[int], cases: int) -> None:
        self.activities[sequence[0]].starts += cases
        self.activities[sequence[-1]].ends += cases
        for number, times in Counter(sequence).items():
            activity = self.activities[number]
            activity.count += times * cases
            activity.cases += cases
            if times > 1:
                activity.repeated_cases += cases

    def _go_through(self, case: Case) -> tuple[bytes, int]:
        """Its sequence, and when it began."""
        numbers, activities, waits, handovers = self.numbers, self.activities, self.waits, self.handovers
        sequence = array("H")
        before, done, person, begin = _NONE, 0, "", case.events[0].at
        for name, at, started, resource, mode, paused in case.events:
            number = numbers.get(name)
            if number is None:
                number = self._new_activity(name, case)
            activity = activities[number]
            if started is not None:
                activity.work.add(max(0, at - started - paused))
                if started < begin:
                    begin = started
            if mode in HUMAN_MODES:
                activity.human += 1
            elif mode in AGENT_MODES:
                activity.agent += 1
            if resource in NOBODY:
                resource = ""
            elif mode not in AGENT_MODES and len(activity.people) < MAX_PEOPLE:
                activity.people.add(resource)
            if before != _NONE:
                wait = (at if started is None else started) - done
                if wait < 0:
                    wait = 0
                (waits.get((before, number)) or self._new_flow(before, number, case)).add(wait)
                if resource and person and resource != person:
                    pair = handovers.get((person, resource)) or self._new_handover(person, resource)
                    if pair is not None:
                        pair.add(wait)
            before, done, person = number, at, resource
            sequence.append(number)
        return sequence.tobytes(), begin

    def _new_activity(self, name: str, case: Case) -> int:
        if len(self.names) >= MAX_ACTIVITIES:
            raise EventLogTooLarge(what="activities", limit=MAX_ACTIVITIES, where=f"case «{case.id}»")
        number = self.numbers[name] = len(self.names)
        self.names.append(name)
        self.activities.append(ActivityCount())
        return number

    def _new_flow(self, source: int, target: int, case: Case) -> Durations:
        if len(self.waits) >= MAX_FLOWS:
            raise EventLogTooLarge(what="flows between activities", limit=MAX_FLOWS, where=f"case «{case.id}»")
        flow = self.waits[source, target] = Durations()
        return flow

    def _new_variant(self, key: bytes, case: Case) -> VariantCount:
        if len(self.variants) >= MAX_VARIANTS:
            raise EventLogTooLarge(what="variants", limit=MAX_VARIANTS, where=f"case «{case.id}»")
        variant = self.variants[key] = VariantCount()
        return variant

    def _new_handover(self, source: str, target: str) -> Durations | None:
        if len(self.handovers) >= MAX_HANDOVERS:
            self.handovers_left_out += 1
            return None
        pair = self.handovers[source, target] = Durations()
        return pair

    def _fold(self) -> None:
        """The more there is to look at, the more seldom: it costs each event the same."""
        self.elapsed.fold()
        durations = [*self.waits.values(), *self.handovers.values(), *(a.work for a in self.activities)]
        for each in durations:
            each.fold()
        self._next_fold = self.events + max(_FOLD_EVERY, 4 * len(durations))
