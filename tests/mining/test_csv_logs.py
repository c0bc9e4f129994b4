"""Event logs in CSV: columns, delimiters, encodings and times as people and tools write them."""

from __future__ import annotations

import gzip
import io
import random
from datetime import datetime

import pytest

from penstock.errors import PenstockError
from penstock.mining.activity_map import activity_map
from penstock.mining.event import Case, Event
from penstock.mining.event_logs import read_log
from penstock.mining.log_options import LogOptions


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def cases(content: str | bytes, options: LogOptions | None = None) -> list[Case]:
    return list(read_log(io.BytesIO(content.encode() if isinstance(content, str) else content), "log.csv", options))


NINE, TEN = at("2026-11-19T09:00:00+00:00"), at("2026-11-19T10:00:00+00:00")
EXPECTED = [Case("7", (Event("Check", TEN, NINE, "kim", "MANUAL"),))]


@pytest.mark.parametrize(
    "header",
    [
        "case:concept:name,concept:name,start_timestamp,time:timestamp,org:resource,axiom:agent_mode",
        "case_id,activity,start,timestamp,resource,agent_mode",
        "Case ID,Activity,Start Timestamp,Complete Timestamp,Resource,mode",
        "CaseId,Activity Name,StartTime,EndTime,User,Agent Mode",
        "proc_inst_id,activity_name,started_at,completed_at,assignee,agent_mode",
        "케이스 ID,활동,시작 시각,완료 시각,담당자,mode",
        '"case","event","begin","time","Performer","MODE"',
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_usual_columns_are_known(header: str, delimiter: str) -> None:
    """P-7.3.3 to P-7.3.8 in a table: case, activity, times, person, mode."""
    row = "7,Check,2026-11-19T09:00:00Z,2026-11-19T10:00:00Z,kim,MANUAL"
    content = f"{header}\r\n{row}\r\n".replace(",", delimiter)
    assert cases(content) == EXPECTED
    assert cases(gzip.compress(content.encode())) == EXPECTED


def test_columns_are_named() -> None:
    content = "Vorgang;Was;Wann;Wer;Activity\nV-1;Prüfen;2026-11-19T10:00:00Z;Müller;x\n"
    named = {"case": "Vorgang", "activity": "Was", "time": "Wann", "resource": "Wer"}
    assert cases(content, LogOptions(columns=named)) == [Case("V-1", (Event("Prüfen", TEN, None, "Müller"),))]


def test_a_life_cycle_in_rows() -> None:
    rows = ["1,A,2026-11-19T09:00:00Z,start", "1,A,2026-11-19T10:00:00Z,COMPLETE", "1,B,2026-11-19T09:30:00Z,schedule"]
    content = "\n".join(["case,activity,timestamp,lifecycle:transition", *rows])
    assert cases(content) == [Case("1", (Event("A", TEN, NINE),))]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp949"])
def test_encodings(encoding: str) -> None:
    """A byte order mark says it; where there is none it is UTF-8, or what is said."""
    content = "케이스,활동,시각\r\n1,접수,2026-11-19T10:00:00Z\r\n".encode(encoding)
    said = encoding if encoding in ("cp949", "utf-16-le") else None
    assert cases(content, LogOptions(encoding=said)) == [Case("1", (Event("접수", TEN),))]


def test_quotes_commas_and_lines_in_a_field() -> None:
    content = 'case,activity,timestamp\n"a ""b"", c","Check,\nthen pay",2026-11-19T10:00:00Z\n\n'
    assert cases(content) == [Case('a "b", c', (Event("Check,\nthen pay", TEN),))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-19T10:00:00Z", "2026-11-19T10:00:00+00:00"),
        ("2026-11-19T19:00:00.123456789+09:00", "2026-11-19T10:00:00.123+00:00"),
        ("2026-11-19 10:00:00.250", "2026-11-19T10:00:00.250+00:00"),
        ("2026-11-19 10:00", "2026-11-19T10:00:00+00:00"),
        ("2026-11-19", "2026-11-19T00:00:00+00:00"),
        ("2026/11/19 10:00:05", "2026-11-19T10:00:05+00:00"),
        ("19.11.2026 10:00", "2026-11-19T10:00:00+00:00"),
        ("19.11.2026 10:00:05,5", "2026-11-19T10:00:05.500+00:00"),
        ("9.1.2026 7:05", "2026-01-09T07:05:00+00:00"),
        ("19/11/2026 10:00:00", "2026-11-19T10:00:00+00:00"),
        ("11/19/2026 10:00:00 PM", "2026-11-19T22:00:00+00:00"),
        ("19-11-2026 10:00:00", "2026-11-19T10:00:00+00:00"),
        ("2026년 11월 19일 10시 05분", "2026-11-19T10:05:00+00:00"),
        ("2026년 11월 19일 오후 3:05:07", "2026-11-19T15:05:07+00:00"),
        ("2026. 11. 19. 오전 12:30:00", "2026-11-19T00:30:00+00:00"),
        ("2026.11.19 10:00 KST", "2026-11-19T01:00:00+00:00"),
        ("2026-11-19 10:00:00 UTC", "2026-11-19T10:00:00+00:00"),
        ("2026-11-19 10:00:00 +0530", "2026-11-19T04:30:00+00:00"),
        ("20261119100000", "2026-11-19T10:00:00+00:00"),
        ("1795082400", "2026-11-19T10:00:00+00:00"),
        ("1795082400.5", "2026-11-19T10:00:00.500+00:00"),
        ("1795082400500", "2026-11-19T10:00:00.500+00:00"),
        ("1795082400500999", "2026-11-19T10:00:00.500+00:00"),
    ],
)
def test_times(text: str, expected: str) -> None:
    """ISO 8601 with and without a zone, European and Korean forms, and time since 1970."""
    (case,) = cases(f'case;activity;timestamp\n1;A;"{text}"\n')
    assert case.events[0].at == at(expected)


def test_a_zone_for_times_without_one() -> None:
    """Also where summer time changes in between."""
    rows = "1,A,2026-03-28 12:00\n1,B,2026-03-29 12:00\n"
    (case,) = cases(f"case,activity,timestamp\n{rows}", LogOptions(zone="Europe/Berlin"))
    assert [event.at for event in case.events] == [at("2026-03-28T11:00:00+00:00"), at("2026-03-29T10:00:00+00:00")]


def test_dates_with_slashes_are_those_of_the_file() -> None:
    """One date that can be read one way only says how the others are meant; where none does, that is told."""
    american = "1,A,02/03/2026 10:00\n1,B,02/28/2026 10:00\n"
    (case,) = cases(f"case,activity,timestamp\n{american}")
    assert [event.at for event in case.events] == [at("2026-02-03T10:00:00+00:00"), at("2026-02-28T10:00:00+00:00")]
    log = read_log(io.BytesIO(b"case,activity,timestamp\n1,A,02/03/2026 10:00\n"), "slashes")
    (case,) = log
    assert case.events[0].at == at("2026-03-02T10:00:00+00:00")
    (finding,) = [finding for finding in log.findings() if finding.rule == "log_dates_ambiguous"]
    assert "02/03/2026" in finding.message


def test_a_long_log_in_any_order_is_brought_together() -> None:
    """More rows than are held in memory: the cases come in the order in which each came first, complete and sorted."""
    rng = random.Random(17)
    rows = [(case, step) for case in range(12_000) for step in range(10)]
    rng.shuffle(rows)
    lines = (f"c{case},step {step},{1_795_082_400_000 + case * 1000 + step}" for case, step in rows)
    log = read_log(io.BytesIO("\n".join(["case,activity,timestamp", *lines]).encode()), "long.csv")
    read = list(log)
    assert [case.id for case in read] == list(dict.fromkeys(f"c{case}" for case, _ in rows))
    assert all([event.activity for event in case.events] == [f"step {step}" for step in range(10)] for case in read)
    found = activity_map(read)
    assert (found.cases, found.events, len(found.variants)) == (12_000, 120_000, 1)


def test_a_column_that_is_missing_is_named() -> None:
    with pytest.raises(PenstockError) as raised:
        cases("Vorgang;Activity;Timestamp\n1;A;2026-11-19\n")
    assert raised.value.code == "PS-422-EVENT_LOG_COLUMNS"
    assert "no column for case; it has «Vorgang», «Activity», «Timestamp»" in str(raised.value)
