"""XES as others write it: each file has the shape of one tool, and what it says is written out here."""

from __future__ import annotations

import gzip
import io
from datetime import datetime
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.mining.activity_map import activity_map
from penstock.mining.event import Case, Event
from penstock.mining.event_logs import read_log
from penstock.mining.log_options import LogOptions

LOGS = Path(__file__).parent / "logs"


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def xes(events: str, head: str = "") -> io.BytesIO:
    trace = f'<trace><string key="concept:name" value="1"/>{events}</trace>'
    return io.BytesIO(f'<log xes.version="1.0">{head}{trace}</log>'.encode())


def event(name: str, minute: int, transition: str = "complete", **more: str) -> str:
    others = "".join(f'<string key="{key.replace("__", ":")}" value="{value}"/>' for key, value in more.items())
    return (
        f'<event><string key="concept:name" value="{name}"/><date key="time:timestamp"'
        f' value="2024-01-01T10:{minute:02d}:00Z"/><string key="lifecycle:transition" value="{transition}"/>'
        f"{others}</event>"
    )


def minutes(case: Case) -> list[tuple[str, int | None, int, int]]:
    """Activity, start, end and pause, in minutes after ten."""
    ten = at("2024-01-01T10:00:00+00:00")

    def since(moment: int) -> int:
        return (moment - ten) // 60_000

    return [
        (e.activity, None if e.started is None else since(e.started), since(e.at), e.paused // 60_000)
        for e in case.events
    ]


EXPECTED = {
    "prom": [
        Case("1", (
            Event("Register", at("1970-01-02T11:23:00+00:00"), None, "System"),
            Event("Analyze Defect", at("1970-01-02T11:40:00+00:00"), at("1970-01-02T11:30:00+00:00"), "Tester3",
                  "", 3 * 60_000),
        )),
    ],
    "disco": [
        Case("339", (
            Event("Create Purchase Requisition", at("2011-02-16T13:36:00+00:00"), at("2011-02-16T13:31:00+00:00"),
                  "Nico Ojenbeer"),
            Event("Analyze Purchase Requisition", at("2011-02-16T13:37:00+00:00"), at("2011-02-16T13:34:00+00:00"),
                  "Maris Freeman"),
        )),
    ],
    "celonis": [
        Case("4507000302_00010", (
            Event("Goods Receipt", at("2023-06-30T22:15:00.123+00:00"), None, "BATCH_06"),
            Event("Clear Invoice", at("2023-06-30T22:30:00+00:00"), None, "user_012"),
        )),
    ],
    "pm4py": [
        Case("3", (
            Event("register request", at("2010-12-30T14:32:00+00:00"), at("2010-12-30T14:30:00+00:00"), "Pete"),
            Event("examine casually", at("2010-12-30T15:06:00+00:00"), at("2010-12-30T15:00:00+00:00"), "Mike"),
        )),
    ],
    "axiom": [
        Case("inst-1", (
            Event("접수", at("2026-11-18T09:00:01.250+00:00"), at("2026-11-18T09:00:00+00:00"), "system", "AUTONOMOUS"),
        )),
    ],
    "signavio": [
        Case("사례 7", (
            Event("접수", at("2024-05-02T00:00:00+00:00"), None, "김하나"),
            Event("승인", at("2024-05-02T00:10:00+00:00")),
        )),
    ],
}  # fmt: skip
NOTED = {"prom": ["log_not_done"], "axiom": ["log_not_done"], "pm4py": ["log_without_zone"]}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("tool", EXPECTED)
def test_what_a_tool_writes_is_read(tool: str, compressed: bool) -> None:
    """P-A.16, P-7.2.1: lifecycle, nested attributes, lists, containers, classifiers, prefixes, other attributes, gz."""
    content = (LOGS / f"{tool}.xes").read_bytes()
    log = read_log(io.BytesIO(gzip.compress(content) if compressed else content), tool)
    assert list(log) == EXPECTED[tool]
    assert [finding.rule for finding in log.findings()] == NOTED.get(tool, [])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "iso-8859-1"])
def test_other_encodings_that_a_file_declares(encoding: str) -> None:
    text = (LOGS / "disco.xes").read_text(encoding="utf-8").replace("Nico", "Níco")
    declared = {"utf-8-sig": "UTF-8"}.get(encoding, encoding)
    (case,) = read_log(io.BytesIO(text.replace('"UTF-8"', f'"{declared}"').encode(encoding)), "other")
    assert [e.resource for e in case.events] == ["Níco Ojenbeer", "Maris Freeman"]


def test_a_classifier_names_the_activity() -> None:
    """Only where it is asked for, and never with the transition: start and complete belong together."""
    head = '<classifier name="By person" keys="concept:name lifecycle:transition org:resource"/>'
    events = event("A", 0, "start", org__resource="kim") + event("A", 5, org__resource="kim")
    (plain,), (by_person,) = (
        read_log(xes(events, head), "classified", LogOptions(classifier=name)) for name in (None, "By person")
    )
    assert minutes(plain) == [("A", 0, 5, 0)]
    assert minutes(by_person) == [("A+kim", 0, 5, 0)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        # two of one activity at the same time, told apart by their instance
        (event("A", 0, "start", concept__instance="x") + event("A", 1, "start", concept__instance="y")
         + event("A", 2, concept__instance="y") + event("A", 9, concept__instance="x"),
         [("A", 1, 2, 0), ("A", 0, 9, 0)]),
        # … by who does them
        (event("A", 0, "start", org__resource="kim") + event("A", 1, "start", org__resource="lee")
         + event("A", 2, org__resource="lee") + event("A", 9, org__resource="kim"),
         [("A", 1, 2, 0), ("A", 0, 9, 0)]),
        # … by nothing: the oldest is completed first
        (event("A", 0, "start") + event("A", 1, "start") + event("A", 2) + event("A", 9),
         [("A", 0, 2, 0), ("A", 1, 9, 0)]),
        # suspended twice, and once more until the end
        (event("A", 0, "START") + event("A", 2, "suspend") + event("A", 5, "resume") + event("A", 8, "suspend")
         + event("A", 9, "Complete"),
         [("A", 0, 9, 4)]),
        # states that the standard does not know are events: a ticket system's log has only those
        (event("Queued", 1, "Awaiting Assignment") + event("Accepted", 3, "In Progress"),
         [("Queued", None, 1, 0), ("Accepted", None, 3, 0)]),
        # aborted, then done once more
        (event("A", 0, "start") + event("A", 4, "ate_abort") + event("A", 5, "start") + event("A", 6),
         [("A", 5, 6, 0)]),
    ],
)  # fmt: skip
def test_the_life_cycle(events: str, expected: list[tuple[str, int | None, int, int]]) -> None:
    """P-7.3.7, P-X.24: start and complete of an activity are one event, with the time it was worked on."""
    (case,) = read_log(xes(events), "cycle")
    assert minutes(case) == expected


def test_who_begins_it_has_done_it_where_the_end_names_nobody() -> None:
    events = event("A", 0, "start", org__resource="kim") + event("A", 5) + event("B", 6, org__resource="lee")
    (case,) = read_log(xes(events), "cycle")
    assert [e.resource for e in case.events] == ["kim", "lee"]


def test_a_classifier_of_traces_names_no_activity() -> None:
    head = '<classifier name="Who" scope="trace" keys="org:resource"/>'
    nameless = event("A", 0, org__resource="kim").replace("concept:name", "other:name")
    with pytest.raises(PenstockError, match="no concept:name"):
        list(read_log(xes(nameless, head), "classified"))
    (case,) = read_log(xes(nameless, head.replace(' scope="trace"', "")), "classified")
    assert case.events[0].activity == "kim"


def test_suspended_time_is_not_work() -> None:
    events = event("A", 0, "start") + event("A", 2, "suspend") + event("A", 5, "resume") + event("A", 9)
    (stats,) = activity_map(read_log(xes(events), "cycle")).activities
    assert stats.total_work_ms == 6 * 60_000


def test_a_file_in_small_blocks_is_read_alike() -> None:
    """What is cut anywhere between two blocks is put together."""

    class Dribbling(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(7, size if size and size > 0 else 7))

    content = (LOGS / "signavio.xes").read_bytes()
    assert list(read_log(Dribbling(content), "slow")) == EXPECTED["signavio"]
    assert list(read_log(Dribbling(gzip.compress(content)), "slow")) == EXPECTED["signavio"]


def test_a_trace_may_be_named_by_its_identity() -> None:
    """Where it has no concept:name."""
    id = '<id key="identity:id" value="0f6a1ad5-02b0-4d21-8ad0-5b3c10a4f5a7"/>'
    (case,) = read_log(io.BytesIO(f"<log><trace>{id}{event('A', 0)}</trace></log>".encode()), "identity")
    assert case.id == "0f6a1ad5-02b0-4d21-8ad0-5b3c10a4f5a7"
