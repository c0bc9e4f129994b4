"""What an event costs does not grow with the log, neither in work nor in memory."""

from __future__ import annotations

import io
import random
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.mining.activity_map import activity_map
from penstock.mining.case_groups import CaseGroups
from penstock.mining.csv_writer import write_csv
from penstock.mining.event import Case, Event
from penstock.mining.event_logs import read_log
from penstock.mining.lifecycle import RawEvent
from penstock.mining.xes_writer import write_xes
from tests.counted import grows_evenly


def cases_of(count: int, loops: bool = False) -> Iterator[Case]:
    """`loops`: nearly every case is a variant of its own."""
    rng = random.Random(5)
    for number in range(count):
        length = rng.randint(4, 14) if loops else 5
        steps = [f"step {rng.randrange(8) if loops else step}" for step in range(length)]
        events = (
            Event(step, number * 1000 + at, None, f"user {rng.randrange(30)}", "MANUAL")
            for at, step in enumerate(steps)
        )
        yield Case(f"case {number}", tuple(events))


def content_of(count: int, format: str, loops: bool = False) -> bytes:
    cases = cases_of(count, loops)
    return b"".join(write_xes(cases, "log") if format == "xes" else write_csv(cases))


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("format", ["xes", "csv"])
def test_the_work_grows_evenly(format: str, loops: bool) -> None:
    """P-8.6 and more: three times the log is about three times the work, also where every case is its own variant."""

    def make(count: int) -> Callable[[], Any]:
        content = content_of(count, format, loops)
        return lambda: activity_map(read_log(io.BytesIO(content), "log"))

    assert grows_evenly(make, 300)


@pytest.mark.parametrize("order", ["in turn", "all begun first", "suspended"])
def test_one_long_case_grows_evenly(order: str) -> None:
    """Thousands of starts of one activity by others than those who complete: each finds its own without a search."""

    def make(count: int) -> Callable[[], Any]:
        transitions = {
            "in turn": ["start", "complete"] * count,
            "all begun first": ["start"] * count + ["complete"] * count,
            "suspended": ["start"] * count + ["suspend"] * count + ["resume"] * count + ["complete"] * count,
        }[order]
        rows = (
            f"1,A,{1_795_082_400_000 + number},{transition},user {number % (7 if transition == 'start' else 9)}"
            for number, transition in enumerate(transitions)
        )
        content = "\n".join(["case,activity,timestamp,lifecycle,resource", *rows]).encode()

        def read() -> None:
            (case,) = read_log(io.BytesIO(content), "log")
            assert len(case.events) == count and all(event.started for event in case.events)

        return read

    assert grows_evenly(make, 300)


def peak_of(content: bytes, take: Callable[[Any], Any]) -> int:
    stream = io.BytesIO(content)
    tracemalloc.start()
    try:
        take(read_log(stream, "log"))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_longer_xes_needs_hardly_more_memory() -> None:
    """Of a case that has gone by, 100 bytes are left at most, to know its id again."""
    small, large = (peak_of(content_of(count, "xes"), lambda log: deque(log, maxlen=1)) for count in (500, 3_000))
    assert large - small < 2_500 * 100 + 200_000


def test_rows_are_on_disk_beyond_what_is_held() -> None:
    """Of a case its id and a number are left."""

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            groups = CaseGroups(in_memory=1_000)
            for number in range(count):
                groups.add(f"case {number % (count // 5)}", number, RawEvent("A", number))
            assert sum(len(events) for _, _, events in groups.cases()) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(60_000) - peak(15_000) < 9_000 * 250
