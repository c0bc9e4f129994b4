"""Reads YAML as JSON values, with their places: the 1.2 core schema (`yes`, `no` and dates stay text), no tags.

It uses parser events instead of a loader: an event has its line and its tag, and comes one at a time, so that depth and
aliases are limited before anything is built.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.document import Mark
from penstock.lang.read_json import DEPTH, checked_number, checked_text

_HINTS = {
    "cannot start any token": "a tab? YAML is indented with spaces",
    "',' or '}'": "inside {…} a text with brackets needs quotes",
}
#: How many values the aliases of one document may repeat: anchors are handy, but an alias bomb is refused.
ALIASED = 10_000
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE_OR_NAN = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def parse_yaml(text: str) -> tuple[Any, Mark]:
    return _Builder(text).document()


class _Builder:
    """Builds the value and its marks from parser events."""

    def __init__(self, text: str) -> None:
        self.events = self._parse(text)
        self.anchors: dict[str, tuple[Any, Mark, int] | None] = {}  # None while the anchored value is being built
        self.size = 0
        self.aliased = 0

    @staticmethod
    def _parse(text: str) -> Iterator[Event]:
        try:
            yield from yaml.parse(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            at = error.problem_mark or error.context_mark
            place = (at.line + 1, at.column + 1) if at else (1, 1)
            why = " ".join(part for part in (error.context, error.problem) if part)
            why += next((f" ({hint})" for part, hint in _HINTS.items() if part in why), "")
            raise DocumentUnreadable(why=why or "it is not YAML", where=Place("", *place)) from None
        except yaml.YAMLError as error:
            position = getattr(error, "position", None)
            before = text[:position] if isinstance(position, int) else ""
            place = (before.count("\n") + 1, len(before) - before.rfind("\n")) if before else (1, 1)
            why = "it holds a character that YAML does not allow"
            raise DocumentUnreadable(why=why, where=Place("", *place)) from None

    def refuse(self, why: str, event: Event) -> NoReturn:
        raise DocumentUnreadable(why=why, where=Place("", *_spot(event)))

    def document(self) -> tuple[Any, Mark]:
        for event in self.events:
            if isinstance(event, StreamEndEvent):
                raise DocumentUnreadable(why="it is empty", where=Place("", 1, 1))
            if isinstance(event, DocumentStartEvent):
                break
        value, mark = self.build(next(self.events), 1)
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                self.refuse("it holds more than one YAML document", event)
        return value, mark

    def build(self, event: Event, depth: int) -> tuple[Any, Mark]:
        if isinstance(event, AliasEvent):
            return self.alias(event)
        assert isinstance(event, NodeEvent), "between document start and end there are only nodes"
        if getattr(event, "tag", None) is not None:
            self.refuse(f"tags such as {event.tag} are not read", event)  # type: ignore[attr-defined]
        self.size += 1
        before, anchor = self.size, event.anchor
        if anchor is not None:
            self.anchors[anchor] = None
        value, mark = self.scalar(event) if isinstance(event, ScalarEvent) else self.nested(event, depth)
        if anchor is not None:
            self.anchors[anchor] = (value, mark, self.size - before + 1)
        return value, mark

    def alias(self, event: AliasEvent) -> tuple[Any, Mark]:
        known = self.anchors.get(str(event.anchor))
        if known is None:
            recursive = event.anchor in self.anchors
            self.refuse(f"the alias *{event.anchor} {'stands inside itself' if recursive else 'has no anchor'}", event)
        value, mark, size = known
        self.size += size
        self.aliased += size
        if self.aliased > ALIASED:
            self.refuse(f"its aliases stand for more than {ALIASED} values", event)
        return value, Mark(*_spot(event), mark.items)

    def nested(self, event: Event, depth: int) -> tuple[Any, Mark]:
        if depth > DEPTH:
            self.refuse(f"it is nested deeper than {DEPTH} levels", event)
        if isinstance(event, SequenceStartEvent):
            values: list[Any] = []
            marks: list[Mark] = []
            for inner in self.events:
                if isinstance(inner, SequenceEndEvent):
                    break
                value, mark = self.build(inner, depth + 1)
                values.append(value)
                marks.append(mark)
            return values, Mark(*_spot(event), marks)
        assert isinstance(event, MappingStartEvent), "a node is a scalar, a sequence or a mapping"
        return self.mapping(event, depth)

    def mapping(self, event: Event, depth: int) -> tuple[dict[str, Any], Mark]:
        values: dict[str, Any] = {}
        marks: dict[str, tuple[int, int, Mark]] = {}
        for inner in self.events:
            if isinstance(inner, MappingEndEvent):
                break
            key = self.key(inner)
            if key in values:
                self.refuse(f"the key «{key}» stands twice in one map", inner)
            values[key], mark = self.build(next(self.events), depth + 1)
            marks[key] = (*_spot(inner), mark)
        return values, Mark(*_spot(event), marks)

    def key(self, event: Event) -> str:
        if not isinstance(event, ScalarEvent):
            self.refuse("a key must be plain text", event)
        if event.tag is not None or event.anchor is not None:
            self.refuse("a key has neither tag nor anchor", event)
        if event.value == "<<" and not event.style:
            self.refuse("merge keys (<<) are not read; write the fields out", event)
        return self.text(event)

    def scalar(self, event: ScalarEvent) -> tuple[Any, Mark]:
        mark, text = Mark(*_spot(event)), event.value
        if event.style:
            return self.text(event), mark
        if text in _WORDS:
            return _WORDS[text], mark
        try:
            if _INTEGER.fullmatch(text):
                return checked_number(text, True), mark
            if _OCTAL_OR_HEX.fullmatch(text):
                return checked_number(str(int(text, 0)), True), mark
            if _FLOAT.fullmatch(text):
                return checked_number(text, False), mark
        except ValueError as error:
            self.refuse(str(error), event)
        if _INFINITE_OR_NAN.fullmatch(text):
            self.refuse("infinity and not-a-number are not numbers here", event)
        return self.text(event), mark

    def text(self, event: ScalarEvent) -> str:
        try:
            return checked_text(event.value)
        except ValueError as error:
            self.refuse(str(error), event)


def _spot(event: Event) -> tuple[int, int]:
    at = event.start_mark
    return (at.line + 1, at.column + 1) if at else (0, 0)
