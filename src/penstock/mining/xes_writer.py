"""Writes event logs as XES 1.0, in pieces: what `xes_reader` and other readers of XES read back as the same cases.

An event whose start is known is two, start and complete, that belong together by their `concept:instance`: so are those
of the same activity that overlap. The mode of an agent and suspended time have keys of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from penstock.mining.event import Case, Event
from penstock.mining.log_times import written

_PIECE = 64 * 1024  # characters
_EXTENSIONS = (("Concept", "concept"), ("Time", "time"), ("Lifecycle", "lifecycle"), ("Organizational", "org"))
_NEVER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no XML may hold it in any spelling
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def write_xes(cases: Iterable[Case], name: str) -> Iterator[bytes]:
    pieces, length = [_head(name)], 0
    for case in cases:
        text = _trace(case)
        pieces.append(text)
        length += len(text)
        if length >= _PIECE:
            yield "".join(pieces).encode()
            pieces, length = [], 0
    pieces.append("</log>\n")
    yield "".join(pieces).encode()


def _head(name: str) -> str:
    extensions = "".join(
        f'  <extension name="{name}" prefix="{prefix}" uri="http://www.xes-standard.org/{prefix}.xesext"/>\n'
        for name, prefix in _EXTENSIONS
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0" xes.features=""'
        f' xmlns="http://www.xes-standard.org/">\n{extensions}'
        f'  <global scope="trace">\n{_string("concept:name", "", "    ")}  </global>\n'
        f'  <global scope="event">\n{_string("concept:name", "", "    ")}'
        f"{_date(0, '    ')}{_string('lifecycle:transition', 'complete', '    ')}  </global>\n"
        f'  <classifier name="Activity" keys="concept:name"/>\n{_string("concept:name", name, "  ")}'
    )


def _trace(case: Case) -> str:
    moments: list[tuple[int, int, bool]] = []  # in the order of their times; a start before its own completion
    for number, event in enumerate(case.events):
        if event.started is not None:
            moments.append((event.started, number, False))
        moments.append((event.at, number, True))
    moments.sort()
    events = (_event(case.events[number], number, done) for _, number, done in moments)
    return f"  <trace>\n{_string('concept:name', case.id, '    ')}{''.join(events)}  </trace>\n"


def _event(event: Event, number: int, done: bool) -> str:
    at = event.at if done or event.started is None else event.started
    lines = [
        "    <event>\n",
        _string("concept:name", event.activity, "      "),
        _date(at, "      "),
        _string("lifecycle:transition", "complete" if done else "start", "      "),
    ]
    if event.started is not None:
        lines.append(_string("concept:instance", str(number), "      "))
    if event.resource:
        lines.append(_string("org:resource", event.resource, "      "))
    if event.mode:
        lines.append(_string("axiom:agent_mode", event.mode, "      "))
    if done and event.paused:
        lines.append(f'      <int key="penstock:paused" value="{event.paused}"/>\n')
    lines.append("    </event>\n")
    return "".join(lines)


def _string(key: str, value: str, indent: str) -> str:
    return f'{indent}<string key="{key}" value="{_NEVER.sub("�", value).translate(_ESCAPED)}"/>\n'


def _date(at: int, indent: str) -> str:
    return f'{indent}<date key="time:timestamp" value="{written(at)}"/>\n'
