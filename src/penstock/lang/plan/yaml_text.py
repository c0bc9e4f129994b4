"""Where the fields of a YAML map stand in its text, and values as YAML text."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
#: text that every YAML reader takes as text without quotes
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./@-]*(?: [A-Za-z0-9_./@-]+)*\Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?\Z")
_OTHER_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_OPENS = (MappingStartEvent, SequenceStartEvent)
_CLOSES = (MappingEndEvent, SequenceEndEvent)


class Span(NamedTuple):
    """Characters of a field: where its key begins, its value begins and ends. `column` is the key's; `outdented` is a
    list in lines of its own that stand no deeper than the key."""

    name: str
    key: int
    value: int
    end: int
    column: int
    outdented: bool


def top_spans(text: str) -> tuple[list[Span], bool]:
    """The fields of the map that the text is, and whether it is written in { }. The text has been read before."""
    begins = [0, *(found.end() for found in LINE_BREAK.finditer(text))]

    def at(mark: Any) -> int:
        return int(begins[mark.line] + mark.column) if mark.line < len(begins) else len(text)

    spans: list[Span] = []
    kinds = (*_OPENS, *_CLOSES, ScalarEvent, AliasEvent)
    events: list[Any] = [event for event in yaml.parse(text, Loader=_LOADER) if isinstance(event, kinds)]
    if not events or not isinstance(events[0], MappingStartEvent):
        return [], False
    number = 1
    while number < len(events) - 1:
        key, value = events[number], events[number + 1]
        last, number = _value_end(events, number + 1)
        column = key.start_mark.column
        outdented = value.start_mark.line > key.start_mark.line and value.start_mark.column <= column
        spans.append(Span(key.value, at(key.start_mark), at(value.start_mark), at(last.end_mark), column, outdented))
    return spans, bool(events[0].flow_style)


def _value_end(events: list[Any], number: int) -> tuple[Any, int]:
    """The last event of a value that has characters of its own, and where the next key is."""
    depth, last = 0, events[number]
    while True:
        event = events[number]
        number += 1
        if isinstance(event, _OPENS):
            depth += 1
            if event.flow_style:
                last = event
        elif isinstance(event, _CLOSES):
            depth -= 1
            if _is_sign(event):
                last = event
        else:
            last = event
        if depth == 0:
            return last, number


def _is_sign(event: Any) -> bool:
    """] and } are characters; the end of a list in lines of its own is none."""
    return bool(event.end_mark.index > event.start_mark.index)


def span_of(spans: list[Span], name: str) -> Span:
    return next(span for span in spans if span.name == name)


def flow_text(value: Any) -> str:
    """A JSON value as YAML on one line."""
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(name)}: {flow_text(item)}" for name, item in value.items()) + "}"
    return json.dumps(value)


def block_text(name: str, value: Any) -> str:
    """A field in lines of its own: a list has one entry per line."""
    if isinstance(value, list | tuple) and value:
        return f"{name}:\n" + "".join(f"  - {flow_text(item)}\n" for item in value)
    return f"{name}: {flow_text(value)}\n"


def _scalar(text: str) -> str:
    if _MOMENT.match(text) or _PLAIN.match(text) and text.lower() not in _OTHER_WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else _escape(c) for c in quoted)


def _escape(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"
