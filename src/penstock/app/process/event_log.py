"""The event log of a process (P-7.3, P-X.24): what people and agents have done, case by case, for process mining.

It is read page by page and written as it is read: a long log needs no more memory than a short one.
"""

from __future__ import annotations

import asyncio
import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from penstock.app.process.definitions import Processes
from penstock.app.timestamps import iso
from penstock.errors import BadInput
from penstock.kernel import fact as F
from penstock.store.run_store import Batch
from penstock.store.work_items import DoneRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

Format = Literal["json", "xes", "csv"]
MEDIA: dict[Format, str] = {"json": "application/json", "xes": "application/xml", "csv": "text/csv"}
SOURCE = "axiom_bpm_engine"
#: P-X.24: how an item is told that was undone since
UNDONE = "ate_abort"
_PAGE = 500
SLICE = 500  # facts of a journal that are read before others have their turn
_CHUNK = 64 * 1024  # bytes that are handed on at once
_KEPT_MS = 86_400_000  # how large the largest export of a day was
_LATE_S = 1.0  # a commit of another process that has begun is there by then
_CURSOR = re.compile(r"\d{1,15}", re.ASCII)
_json = msgspec.json.Encoder().encode
_unpack = msgspec.msgpack.decode


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """`begin` <= completed < `end`. `full`: also when items were started; `undone`: also what was undone since."""

    id: str
    begin: int | None = None
    end: int
    full: bool = False
    undone: bool = False


class LoggedEvent(NamedTuple):
    at: int
    activity: str
    resource: str
    lifecycle: str
    agent_mode: str


#: when an item was started and completed
Moments = tuple[int | None, int | None]


class Trace(NamedTuple):
    case_id: str
    events: list[LoggedEvent]


# ---- what is asked ---------------------------------------------------------------------------------------------------


async def wanted(
    door: Runs, id: str, *, begin: int | None = None, end: int | None = None, since: str | None = None,
    full: bool = False, undone: bool = False,
) -> Wanted:  # fmt: skip
    """Checked. An export ends before now at the latest, and `end` is where the next one goes on: by then everything
    that was done before is there, so that nothing is told twice and nothing is left out."""
    Processes(door).get(id)
    if since is not None:
        begin = max(begin or 0, _place(since))
    if begin is not None and end is not None and begin > end:
        raise BadInput(what="«to»", why="it is before «from»")
    now = door.now() + 1
    await asyncio.sleep(0.002 if door.drives else _LATE_S)
    return Wanted(id=id, begin=begin, end=now if end is None else min(end, now), full=full, undone=undone)


def _place(cursor: str) -> int:
    if not _CURSOR.fullmatch(cursor):
        raise BadInput(what="«since»", why="it is no cursor", hint="Give the one that the export before has told.")
    return int(cursor)


def following(asked: Wanted) -> str:
    """The cursor from which the next export goes on."""
    return str(asked.end)


# ---- what there is ---------------------------------------------------------------------------------------------------


def traces(door: Runs, asked: Wanted) -> Iterator[Trace]:
    """One per instance, in the order in which they began; in each the events by their moments."""
    return (trace for trace in _in_slices(door, asked) if trace is not None)


def _in_slices(door: Runs, asked: Wanted) -> Iterator[Trace | None]:
    """The same. None: much was read without one, and others may have their turn."""
    case: list[DoneRow] = []
    for row in done_rows(door, asked):
        if row is None:
            yield None
            continue
        if case and case[0].run != row.run:
            yield from _trace(door, asked, case)
            case = []
        case.append(row)
    if case:
        yield from _trace(door, asked, case)


def done_rows(door: Runs, asked: Wanted) -> Iterator[DoneRow | None]:
    """P-7.5.2: only this tenant's; after each page None."""
    nets = {row.net for row in Processes(door).versions(asked.id)}
    statuses = ("DONE", "COMPENSATED") if asked.undone else ("DONE",)
    after = (0, 0)
    while True:
        page = door.store.done_items(door.tenant, nets, statuses, since=asked.begin, after=after, limit=_PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        after = (page[-1].run, page[-1].firing)
        yield None


def _trace(door: Runs, asked: Wanted, rows: list[DoneRow]) -> Iterator[Trace | None]:
    begin, end = asked.begin or 0, asked.end
    known: dict[int, Moments] = {}
    if asked.full or any(row.status != "DONE" for row in rows):
        yield from _read_moments(door, rows[0].run, known)
    events: list[LoggedEvent] = []
    for row in rows:
        started, done = known.get(row.firing, (None, None))
        if row.status == "DONE" or done is None:  # what was handed in and undone was never completed
            done = row.moved_at
        if begin <= done < end:
            prompt = _unpack(row.prompt)
            about = (str(prompt.get("title") or prompt.get("activity_id") or ""), row.assignee or "system")
            mode = row.mode or "MANUAL"
            if asked.full:
                events.append(LoggedEvent(started or done, *about, "start", mode))
            events.append(LoggedEvent(done, *about, "complete" if row.status == "DONE" else UNDONE, mode))
    if events:
        events.sort(key=lambda event: event.at)
        yield Trace(rows[0].run_id, events)


def _read_moments(door: Runs, run: int, moments: dict[int, Moments]) -> Iterator[None]:
    """When the items of a run were started and completed last, as its journal tells, by their firings."""
    read = 0
    for turn in door.store.journal(run):
        read += turn.seq_to - turn.seq_from + 1
        if read > SLICE:
            read = 0
            yield None
        for f in F.decode_facts(turn.body):
            if f[0] != F.WORK_MOVED:
                continue
            started, done = moments.get(f[1], (None, None))
            if f[3] == "start":
                started = turn.at
            elif f[2] == "DONE":
                started, done = started or turn.at, turn.at
            elif f[2] == "TODO":
                started = done = None
            moments[f[1]] = (started, done)


# ---- how it is written -----------------------------------------------------------------------------------------------


def written(door: Runs, asked: Wanted, format: Format) -> Iterator[bytes]:
    """The whole log in pieces. An empty one says that others may have their turn. How long the log was is remembered
    (P-8.6)."""
    name, at, count, number = f"BPM Export - {asked.id}", iso(door.now()), 0, 0
    piece = bytearray(_opening(name, at, format))
    for trace in _in_slices(door, asked):
        if trace is None:
            yield b""
            continue
        piece += _as_json(trace, number) if format == "json" else _as_xes(trace) if format == "xes" else _as_csv(trace)
        number += 1
        count += len(trace.events)
        if len(piece) >= _CHUNK:
            yield bytes(piece)
            piece.clear()
    remember(door, count)
    yield bytes(piece) + _closing(asked, format)


def _opening(name: str, at: str, format: Format) -> bytes:
    if format == "json":  # P-7.3.9
        return b'{"name":%b,"source":%b,"export_date":%b,"traces":[' % (_json(name), _json(SOURCE), _json(at))
    if format == "csv":
        return _csv_row(*_COLUMNS)
    extensions = "".join(
        f'  <extension name="{name}" prefix="{prefix}" uri="http://www.xes-standard.org/{prefix}.xesext"/>\n'
        for name, prefix in _EXTENSIONS
    )
    always = "".join(_attribute(key, value, "    ") for key, value in _GLOBALS)
    about = (("concept:name", name), ("source", SOURCE), ("export_date", at))
    head = "".join(_attribute(key, value, "  ") for key, value in about)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0" xes.features=""'
        f' xmlns="http://www.xes-standard.org/">\n{extensions}  <global scope="trace">\n'
        f'{_attribute("concept:name", "", "    ")}  </global>\n  <global scope="event">\n{always}  </global>\n'
        f'  <classifier name="Activity" keys="concept:name"/>\n{head}'
    ).encode()


def _closing(asked: Wanted, format: Format) -> bytes:
    if format == "json":
        return b'],"next":%b}\n' % _json(following(asked))
    if format == "csv":  # it has no place for remarks: the cursor is told beside it
        return b""
    return f"</log>\n<!-- next: {following(asked)} -->\n".encode()


def _as_json(trace: Trace, number: int) -> bytes:
    events: list[dict[str, Any]] = [
        {"activity": e.activity, "timestamp": iso(e.at), "resource": e.resource, "lifecycle": e.lifecycle,
         "agent_mode": e.agent_mode}
        for e in trace.events
    ]  # fmt: skip
    return (b",\n" if number else b"\n") + _json({"case_id": trace.case_id, "events": events})


# ---- XES -------------------------------------------------------------------------------------------------------------

_EXTENSIONS = (
    ("Concept", "concept"),
    ("Time", "time"),
    ("Lifecycle", "lifecycle"),
    ("Organizational", "org"),
)
_GLOBALS = (
    ("concept:name", ""), ("time:timestamp", "1970-01-01T00:00:00.000Z"), ("org:resource", "system"),
    ("lifecycle:transition", "complete"), ("axiom:agent_mode", "MANUAL"),
)  # fmt: skip
_DATES = ("time:timestamp", "export_date")
#: what no XML may hold, in any spelling
_NEVER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MEANING = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def _as_xes(trace: Trace) -> bytes:
    lines = ["  <trace>\n", _attribute("concept:name", trace.case_id, "    ")]
    for e in trace.events:
        attributes: Iterable[tuple[str, str]] = (
            ("concept:name", e.activity), ("time:timestamp", iso(e.at)), ("org:resource", e.resource),
            ("lifecycle:transition", e.lifecycle), ("axiom:agent_mode", e.agent_mode),
        )  # fmt: skip
        lines += ("    <event>\n", *(_attribute(key, value, "      ") for key, value in attributes), "    </event>\n")
    return "".join((*lines, "  </trace>\n")).encode()


def _attribute(key: str, value: str, indent: str) -> str:
    kind = "date" if key in _DATES else "string"
    return f'{indent}<{kind} key="{key}" value="{_NEVER.sub("�", value).translate(_MEANING)}"/>\n'


# ---- CSV -------------------------------------------------------------------------------------------------------------

#: the names that XES has for it, as mining tools know them in tables, too
_COLUMNS = (
    "case:concept:name", "concept:name", "time:timestamp", "org:resource", "lifecycle:transition", "axiom:agent_mode",
)  # fmt: skip


def _as_csv(trace: Trace) -> bytes:
    return b"".join(
        _csv_row(trace.case_id, e.activity, iso(e.at), e.resource, e.lifecycle, e.agent_mode) for e in trace.events
    )


def _csv_row(*fields: str) -> bytes:
    line = io.StringIO(newline="")
    csv.writer(line).writerow(fields)
    return line.getvalue().encode()


# ---- how long they were ----------------------------------------------------------------------------------------------


class Exported(msgspec.Struct):
    """`largest` is that of the last day, `total` of all that are remembered, in events."""

    largest: int = 0
    at: int = 0
    total: int = 0
    exports: int = 0


def exported(door: Runs) -> Exported:
    return exported_of(door.store, door.tenant, door.now())


def exported_of(store: Any, tenant: str, now: int) -> Exported:
    row = store.memo(_key(tenant), now)
    log = Exported() if row is None or row[0] is None else msgspec.msgpack.decode(row[0], type=Exported)
    if log.at < now - _KEPT_MS:
        log.largest = 0
    return log


def remember(door: Runs, count: int) -> None:
    """By whoever drives the store: nobody else may write this."""
    if not door.drives:
        return
    now, was = door.now(), exported(door)
    if count >= was.largest:
        was.largest, was.at = count, now
    was.total, was.exports = was.total + count, was.exports + 1
    batch = Batch()
    batch.memo.append((_key(door.tenant), msgspec.msgpack.encode(was), now + 400 * _KEPT_MS))
    door.store.commit(batch)


def _key(tenant: str) -> str:
    return f"event_log:{tenant}"
