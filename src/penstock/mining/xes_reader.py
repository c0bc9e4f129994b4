"""Reads XES, 1.0 and 2.0 (IEEE 1849), case by case: no more than one case and one block of the file is in memory.

A file is a stranger's: a DOCTYPE is refused before any entity can be declared, depth and the length of one piece of
markup are limited. Attributes of attributes, lists and containers are passed over; only what a map needs is kept. A
`global` declares what every event has, its value is a placeholder, so it never stands in for one that is missing.
Expat of the standard library is fast enough that a second parser would only be a second behaviour.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from xml.parsers import expat

from penstock.errors import (
    EventLogCaseMissing,
    EventLogTruncated,
    EventLogUnknown,
    EventLogUnreadable,
    EventLogZones,
)
from penstock.mining.event import Case
from penstock.mining.lifecycle import RawEvent, done_events
from penstock.mining.log_findings import LogFindings
from penstock.mining.log_options import MAX_CASE_EVENTS, LogOptions, check_case_length
from penstock.mining.log_times import LogTimes, ZonesMixed, zone_named
from penstock.mining.names import Names

_MAX_DEPTH = 100
_MAX_MARKUP = 8 * 1024 * 1024  # bytes of one tag
_NO_DEPTH = 1 << 30  # nothing stands there
_NAME, _TIME, _RESOURCE = "concept:name", "time:timestamp", "org:resource"
_TRANSITION, _INSTANCE, _START = "lifecycle:transition", "concept:instance", "start_timestamp"
_MODE, _PAUSED = "axiom:agent_mode", "penstock:paused"
_KEYS = {
    **{key: key for key in (_NAME, _TIME, _RESOURCE, _TRANSITION, _INSTANCE, _START, _MODE, _PAUSED)},
    "agent_mode": _MODE, "identity:id": "identity:id",
}  # fmt: skip
#: the keys of the standard extensions, which a file may give another prefix
_EXTENSIONS = {
    "concept": ("name", "instance"), "time": ("timestamp",), "org": ("resource",), "lifecycle": ("transition",),
    "identity": ("id",),
}  # fmt: skip


def read_xes(blocks: Iterable[bytes], name: str, options: LogOptions, findings: LogFindings) -> Iterator[Case]:
    reader = _XesReader(name, options, findings)
    for block in blocks:
        reader.feed(block)
        yield from reader.cases
        reader.cases.clear()
    reader.close()
    yield from reader.cases


class _XesReader:
    def __init__(self, name: str, options: LogOptions, findings: LogFindings) -> None:
        self.name, self.options, self.findings = name, options, findings
        self.cases: list[Case] = []
        self.times, self.names = LogTimes(zone_named(options.zone)), Names(name)
        self.keys = dict(_KEYS)
        self.classifiers: dict[str, tuple[str, ...]] = {}
        self.depth = self.fed = self.events = 0
        self.attributes_at = _NO_DEPTH  # the depth of the attributes of the event, trace or log that is open
        self.values: dict[str, str] = {}
        self.in_log = self.in_event = False
        self.trace: dict[str, str] | None = None
        self.raws: list[RawEvent] = []
        self.trace_line = self.event_line = self.trace_number = 0
        self.ids: set[int] = set()
        self.parser = self._parser()

    def _parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        return parser

    # ---- bytes -------------------------------------------------------------------------------------------------------

    def feed(self, block: bytes) -> None:
        self._parse(block, False)
        self.fed += len(block)
        if self.fed - self.parser.CurrentByteIndex > _MAX_MARKUP:
            self._refuse(f"one piece of markup is longer than {_MAX_MARKUP} bytes")

    def close(self) -> None:
        self._parse(b"", True)
        if self.times.without_zone:
            self.findings.note("log_without_zone")

    def _parse(self, block: bytes, last: bool) -> None:
        try:
            self.parser.Parse(block, last)
        except expat.ExpatError as error:
            why = expat.errors.messages.get(error.code, "it is no XML")
            if last:
                if not self.in_log:
                    raise EventLogUnknown(name=self.name, why="it is empty") from None
                raise EventLogTruncated(name=self.name, where=self._last(), why="the XML is not closed") from None
            self._refuse(f"it is not well-formed XML: {why}", error.lineno)
        except (LookupError, ValueError) as error:  # an encoding that nobody knows
            if isinstance(error, UnicodeError) or "encoding" in str(error):
                self._refuse("its encoding is not supported; save it as UTF-8")
            raise

    def _refuse(self, why: str, line: int = 0) -> None:
        raise EventLogUnreadable(name=self.name, where=f"line {line or self.parser.CurrentLineNumber}", why=why)

    def _last(self) -> str:
        return f"line {self.parser.CurrentLineNumber}, {self.events} event(s)"

    def _refuse_depth(self) -> None:
        self._refuse(f"elements stand in each other deeper than {_MAX_DEPTH}")

    def _doctype(self, *_: object) -> None:
        self._refuse("it has a DOCTYPE, which could declare entities; remove it")

    # ---- elements ----------------------------------------------------------------------------------------------------

    def _start(self, tag: str, attributes: list[str]) -> None:
        self.depth = depth = self.depth + 1
        if depth == self.attributes_at:
            if len(attributes) == 4 and attributes[0] == "key":
                key, value = attributes[1], attributes[3]
            else:
                pairs = dict(zip(attributes[::2], attributes[1::2], strict=True))
                key, value = pairs.get("key", ""), pairs.get("value", "")
            known = self.keys.get(key)
            if known is not None:
                self.values[known] = value
            elif not self.in_event:
                self._structure(tag.rpartition(" ")[2], attributes)
        elif depth < self.attributes_at:
            self._structure(tag.rpartition(" ")[2], attributes)
        elif depth > _MAX_DEPTH:
            self._refuse_depth()

    def _structure(self, element: str, attributes: list[str]) -> None:
        if self.depth == 1:
            if element != "log":
                raise EventLogUnknown(name=self.name, why=f"its first element is <{element[:60]}>, not <log>")
            self.in_log = True
        elif element == "event" and self.depth == (2 if self.trace is None else 3):
            self.in_event = True
            self.values, self.attributes_at = {}, self.depth + 1
            self.event_line = self.parser.CurrentLineNumber
            self.events += 1
            self.options.check_events(self.events, f"line {self.event_line}")
        elif element == "trace" and self.depth == 2:
            self.trace_number += 1
            self.trace_line = self.parser.CurrentLineNumber
            self.trace = self.values = {}
            self.raws = []
            self.attributes_at = 3
        elif self.depth == 2:
            self._declaration(element, dict(zip(attributes[::2], attributes[1::2], strict=True)))
        elif self.depth > _MAX_DEPTH:
            self._refuse_depth()

    def _declaration(self, element: str, attributes: dict[str, str]) -> None:
        if element == "extension":
            own = attributes.get("uri", "").rpartition("/")[2].partition(".")[0]
            for key in _EXTENSIONS.get(own, ()):
                self.keys.setdefault(f"{attributes.get('prefix', own)}:{key}", f"{own}:{key}")
        elif element == "classifier" and attributes.get("scope", "event") == "event":
            keys = _classifier_keys(attributes.get("keys", ""))
            self.classifiers[attributes.get("name", "")] = keys
            for key in keys:
                self.keys.setdefault(key, key)

    def _end(self, tag: str) -> None:
        depth = self.depth
        self.depth = depth - 1
        if depth >= self.attributes_at:
            return
        if depth == self.attributes_at - 1:
            if self.trace is None:
                self.in_event, self.attributes_at = False, _NO_DEPTH
                self.findings.note("log_event_outside", line=self.event_line)
            elif depth == 3:
                self._end_event(self.values)
                self.values, self.attributes_at, self.in_event = self.trace, 3, False
            else:
                self._end_trace(self.trace)
                self.trace, self.attributes_at = None, _NO_DEPTH

    # ---- events and cases --------------------------------------------------------------------------------------------

    def _end_event(self, values: dict[str, str]) -> None:
        try:
            at = self.times.read(values[_TIME])
            started = self.times.read(values[_START]) if _START in values else None
        except KeyError:
            self._refuse_event("it has no time:timestamp")
        except ZonesMixed:
            raise EventLogZones(name=self.name, where=self._event()) from None
        except (ValueError, OverflowError):
            self._refuse_event(f"«{(values.get(_TIME) or '')[:60]}» is no time that can be read")
        name = values.get(_NAME) if self.options.classifier is None else None
        names, paused = self.names, values.get(_PAUSED, "")
        self.raws.append(
            RawEvent(
                names.activity(name or self._classified(values), self.event_line),
                at,
                names.transition(values.get(_TRANSITION, "")),
                names.resource(values.get(_RESOURCE, "")),
                names.mode(values.get(_MODE, "")),
                started,
                values.get(_INSTANCE, ""),
                int(paused) if paused.isdecimal() else 0,
            )
        )

        if len(self.raws) > MAX_CASE_EVENTS:
            check_case_length(len(self.raws), self._event())

    def _classified(self, values: dict[str, str]) -> str:
        """What a classifier calls an event. The transition is never part of it: start and complete belong together."""
        wanted = self.options.classifier
        if wanted is not None and wanted not in self.classifiers:
            known = ", ".join(f"«{each}»" for each in self.classifiers) or "none"
            self._refuse(f"it declares no classifier «{wanted}»; it has {known}")
        for keys in self.classifiers.values() if wanted is None else (self.classifiers[wanted],):
            parts = [values.get(self.keys[key], "") for key in keys if self.keys[key] != _TRANSITION]
            if parts and all(parts):
                return "+".join(parts)
        self._refuse_event("it has no concept:name, and nothing that a classifier of the log names")
        return ""

    def _end_trace(self, values: dict[str, str]) -> None:
        id = values.get(_NAME) or values.get("identity:id")
        if not id:
            raise EventLogCaseMissing(name=self.name, where=f"trace {self.trace_number} (line {self.trace_line})")
        number = hash(id)
        if number in self.ids:
            self.findings.note("log_case_twice", id, self.trace_line)
        self.ids.add(number)
        events = done_events(id, self.trace_line, self.raws, self.findings)
        if events:
            self.cases.append(Case(id, events))
        else:
            self.findings.note("log_case_empty", id, self.trace_line)

    def _event(self) -> str:
        case = (self.trace or {}).get(_NAME, "")
        of = f" of case «{case}»" if case else f" of trace {self.trace_number}"
        return f"line {self.event_line}, event {len(self.raws) + 1}{of}"

    def _refuse_event(self, why: str) -> None:
        raise EventLogUnreadable(name=self.name, where=self._event(), why=why)


def _classifier_keys(text: str) -> tuple[str, ...]:
    """Parted by spaces; a key with spaces stands in quotes."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())
