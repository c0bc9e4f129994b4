"""Reads event logs in CSV: finds out delimiter, encoding and columns, and brings the rows of each case together.

The whole file is read before the first case comes, since any row may belong to any case; see `case_groups`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from itertools import chain, count, islice
from typing import BinaryIO, NamedTuple, NoReturn

from penstock.errors import (
    BadInput,
    EventLogCaseMissing,
    EventLogColumns,
    EventLogEmpty,
    EventLogTooLarge,
    EventLogUnreadable,
    EventLogZones,
)
from penstock.mining.case_groups import CaseGroups
from penstock.mining.event import Case
from penstock.mining.lifecycle import RawEvent, done_events
from penstock.mining.log_findings import LogFindings
from penstock.mining.log_options import LogOptions
from penstock.mining.log_times import LogTimes, ZonesMixed, is_slashed, slash_order, zone_named
from penstock.mining.names import Names

_DELIMITERS = ",;\t|"
_LOOKED_AT = 1_000  # rows of which dates are looked at before any is read
_MAX_LINE = 1024 * 1024  # characters, or bytes where that is the same
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
#: how the columns are called by those who write such files, without case, spaces and signs
COLUMNS: dict[str, tuple[str, ...]] = {
    "case": ("caseconceptname", "caseid", "case", "casekey", "caseidentifier", "traceid", "trace", "procinstid",
             "processinstanceid", "instanceid", "케이스id", "케이스", "사례id", "사례"),
    "activity": ("conceptname", "activity", "activityname", "activityid", "task", "taskname", "event", "eventname",
                 "step", "활동", "활동명", "액티비티", "작업"),
    "time": ("timetimestamp", "timestamp", "completetimestamp", "endtimestamp", "completiontime", "endtime", "end",
             "completedat", "complete", "time", "eventtime", "datetime", "date", "완료시각", "완료시간", "완료일시",
             "종료시각", "종료시간", "시각", "시간", "일시"),
    "start": ("starttimestamp", "starttime", "start", "startedat", "begin", "begintime", "시작시각", "시작시간",
              "시작일시"),
    "resource": ("orgresource", "resource", "user", "username", "assignee", "performer", "originator", "담당자",
                 "처리자", "수행자"),
    "lifecycle": ("lifecycletransition", "lifecycle", "transition", "eventtype", "생애주기"),
    "mode": ("axiomagentmode", "agentmode", "mode"),
    "instance": ("conceptinstance", "activityinstance", "activityinstanceid"),
    "paused": ("penstockpaused", "pausedms"),
}  # fmt: skip
_NEEDED = ("case", "activity", "time")


class _Columns(NamedTuple):
    case: int
    activity: int
    time: int
    start: int = -1
    resource: int = -1
    lifecycle: int = -1
    mode: int = -1
    instance: int = -1
    paused: int = -1


def read_csv(stream: BinaryIO, name: str, options: LogOptions, findings: LogFindings) -> Iterator[Case]:
    groups = CaseGroups()
    try:
        _CsvReader(name, options, findings, groups).read(stream)
        for id, line, raws in groups.cases():
            events = done_events(id, line, raws, findings)
            if events:
                yield Case(id, events)
            else:
                findings.note("log_case_empty", id, line)
    finally:
        groups.close()


class _CsvReader:
    def __init__(self, name: str, options: LogOptions, findings: LogFindings, groups: CaseGroups) -> None:
        self.name, self.options, self.findings, self.groups = name, options, findings, groups
        self.names = Names(name)
        self.times = LogTimes(zone_named(options.zone))
        self.line = 1

    def read(self, stream: BinaryIO) -> None:
        encoding = self.options.encoding or _encoding(stream)
        try:
            self._read(self._lines(stream, encoding))
        except UnicodeError:
            self._refuse(f"it is not {encoding} there; save it as UTF-8, or say which encoding it has (encoding=cp949)")
        except LookupError:
            raise BadInput(what="«encoding»", why=f"there is no encoding «{encoding}»") from None
        except csv.Error as error:
            self._refuse(f"it is no CSV there: {error}")
        if self.times.without_zone:
            self.findings.note("log_without_zone")

    def _lines(self, stream: BinaryIO, encoding: str) -> Iterator[str]:
        """Decoded one by one, so that what cannot be decoded has a line."""
        if encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
            text = io.TextIOWrapper(stream, encoding=encoding, newline="")
            lines = iter(lambda: text.readline(_MAX_LINE), "")
        else:
            lines = (line.decode(encoding) for line in iter(lambda: stream.readline(_MAX_LINE), b""))
        for self.line in count(1):
            line = next(lines, "")
            if len(line) >= _MAX_LINE:
                raise EventLogTooLarge(what="characters in one line", limit=_MAX_LINE, where=f"line {self.line}")
            if not line:
                return
            yield line

    def _read(self, lines: Iterator[str]) -> None:
        header = next(lines, "")
        if not header.strip():
            raise EventLogEmpty(name=self.name, why=": the first line is empty")
        delimiter = _delimiter(header)
        names = next(csv.reader([header.rstrip("\r\n")], delimiter=delimiter, strict=True))
        columns = columns_of(names, self.options.columns, self.name)
        rows = ((self.line, row) for row in csv.reader(lines, delimiter=delimiter, strict=True))
        first = list(islice(rows, _LOOKED_AT))
        self._look_at_dates([row for _, row in first], columns)
        rows_read = 0
        for line, row in chain(first, rows):
            if row and any(row):
                rows_read += 1
                self.options.check_events(rows_read, f"line {line}")
                self._add(row, columns, line)
        if not rows_read:
            raise EventLogEmpty(name=self.name, why=": there is only a header line")

    def _look_at_dates(self, rows: list[list[str]], columns: _Columns) -> None:
        dates = [row[columns.time].strip() for row in rows if len(row) > columns.time]
        slashed = [date for date in dates if is_slashed(date)]
        if not slashed:
            return
        orders = {order for order in map(slash_order, slashed) if order is not None}
        self.times.month_first = True in orders
        if not orders:
            self.findings.note("log_dates_ambiguous", slashed[0], 2)

    def _add(self, row: list[str], columns: _Columns, line: int) -> None:
        width, names = len(row), self.names
        if width <= max(columns.case, columns.activity, columns.time):
            self._refuse_row(line, f"the row has {width} field(s), too few for its case, activity and time")
        case, activity = row[columns.case].strip(), row[columns.activity].strip()
        if not case:
            raise EventLogCaseMissing(name=self.name, where=f"line {line}")
        if not activity:
            self._refuse_row(line, "the activity is empty")
        started = row[columns.start].strip() if -1 < columns.start < width else ""
        paused = row[columns.paused].strip() if -1 < columns.paused < width else ""
        self.groups.add(
            case,
            line,
            RawEvent(
                names.activity(activity, line),
                self._time(row[columns.time].strip(), line),
                names.transition(row[columns.lifecycle] if -1 < columns.lifecycle < width else ""),
                names.resource(row[columns.resource].strip() if -1 < columns.resource < width else ""),
                names.mode(row[columns.mode] if -1 < columns.mode < width else ""),
                self._time(started, line) if started else None,
                row[columns.instance] if -1 < columns.instance < width else "",
                int(paused) if paused.isdecimal() else 0,
            ),
        )

    def _time(self, text: str, line: int) -> int:
        try:
            return self.times.read(text)
        except ZonesMixed:
            raise EventLogZones(name=self.name, where=f"line {line}") from None
        except (ValueError, OverflowError):
            self._refuse_row(line, f"«{text[:60]}» is no time that can be read")

    def _refuse(self, why: str) -> NoReturn:
        self._refuse_row(self.line, why)

    def _refuse_row(self, line: int, why: str) -> NoReturn:
        raise EventLogUnreadable(name=self.name, where=f"line {line}", why=why)


def columns_of(names: list[str], given: Mapping[str, str], log: str) -> _Columns:
    """Where each column stands: the one that was named, else the first that is called as usual."""
    unknown = sorted(set(given) - set(COLUMNS))
    if unknown:
        raise BadInput(what="«columns»", why=f"«{unknown[0]}» is none of {', '.join(COLUMNS)}")
    plain = [_plain(name) for name in names]
    places: dict[str, int] = {}
    for what, usual in COLUMNS.items():
        if what in given:
            if given[what] not in names:
                raise EventLogColumns(name=log, what=f"«{given[what]}» ({what})", columns=_listed(names))
            places[what] = names.index(given[what])
            continue
        place = next((plain.index(each) for each in usual if each in plain), -1)
        if place < 0 and what in _NEEDED:
            raise EventLogColumns(name=log, what=what, columns=_listed(names))
        places[what] = place
    return _Columns(**places)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.lower())


def _listed(names: list[str]) -> str:
    return ", ".join(f"«{name[:40]}»" for name in names[:30])


def _delimiter(header: str) -> str:
    """The one that parts the header into most columns that are known, else into most columns."""
    usual = {each for names in COLUMNS.values() for each in names}

    def known(delimiter: str) -> tuple[int, int]:
        parts = [_plain(part) for part in header.split(delimiter)]
        return sum(part in usual for part in parts), len(parts)

    return max(_DELIMITERS, key=known)


def _encoding(stream: BinaryIO) -> str:
    """What the byte order mark says, else UTF-8."""
    start = stream.peek(4)[:4] if isinstance(stream, io.BufferedReader) else b""
    return next((encoding for mark, encoding in _MARKS if start.startswith(mark)), "utf-8")
