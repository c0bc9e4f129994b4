"""What is written is read back equal: every case, in every spelling of names and times."""

from __future__ import annotations

import io
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as some

from penstock.mining.activity_map import activity_map
from penstock.mining.csv_writer import write_csv
from penstock.mining.event import Case, Event
from penstock.mining.event_logs import read_log
from penstock.mining.xes_writer import write_xes
from tests.mining.planted import Planted

MOST = 4_102_444_800_000  # the year 2100
#: no name of an activity or a case is empty; letters of every script, signs of XML and of CSV
TEXT = some.text(some.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=12).filter(
    lambda text: "￾" not in text and "￿" not in text
)


@some.composite
def events(draw: some.DrawFn) -> Event:
    at = draw(some.integers(0, MOST))
    started = draw(some.none() | some.integers(max(0, at - 10**7), at))
    paused = 0 if started is None else draw(some.integers(0, at - started))
    mode = draw(some.sampled_from(["", "MANUAL", "SUPERVISED", "AUTONOMOUS"]))
    return Event(draw(TEXT | some.sampled_from(["A", "B", '<&">', "a,b;c"])), at, started, draw(TEXT | some.just("")), mode, paused)  # fmt: skip  # noqa: E501


LOGS = some.dictionaries(TEXT, some.lists(events(), min_size=1, max_size=6), min_size=1, max_size=4).map(
    lambda cases: [Case(id, tuple(sorted(done, key=lambda event: event.at))) for id, done in cases.items()]
)


def joined(blocks: Iterable[bytes]) -> io.BytesIO:
    return io.BytesIO(b"".join(blocks))


@given(LOGS)
def test_xes_is_read_back_equal(cases: list[Case]) -> None:
    """P-7.3.1, P-A.16: also activities of one name that overlap, and all that XML must escape."""
    log = read_log(joined(write_xes(cases, 'a "log"')), "back")
    assert list(log) == cases
    assert log.findings() == ()


@given(LOGS)
def test_csv_is_read_back_equal(cases: list[Case]) -> None:
    log = read_log(joined(write_csv(cases)), "back")
    assert list(log) == cases
    assert log.findings() == ()


@pytest.mark.parametrize("seed", [2, 9, 14])
def test_the_map_of_what_was_written_is_the_same(seed: int) -> None:
    cases = list(read_log(io.BytesIO(Planted(seed).xes()), "planted"))
    assert activity_map(read_log(joined(write_xes(cases, "x")), "back")) == activity_map(cases)
    assert activity_map(read_log(joined(write_csv(cases)), "back")) == activity_map(cases)


def test_what_no_xml_may_hold_is_replaced() -> None:
    """Or the whole file could not be read."""
    cases = [Case("a\x00b", (Event("step\x0b\ud800", 5, None, "\ufffe"),))]
    (case,) = read_log(joined(write_xes(cases, "\x01")), "back")
    assert case == Case("a�b", (Event("step��", 5, None, "�"),))


def test_a_long_log_is_written_in_pieces() -> None:
    """As it goes by: nothing waits for the end."""
    cases = (Case(str(number), (Event("A", number),)) for number in range(5_000))
    first = next(iter(write_xes(cases, "long")))
    assert 60_000 < len(first) < 200_000 and int(next(cases).id) < 1_000
    assert sum(len(block) > 1_000 for block in write_csv(Case(str(n), (Event("A", n),)) for n in range(5_000))) >= 3
