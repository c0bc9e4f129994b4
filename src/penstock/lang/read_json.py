"""Reads JSON strictly, with the place of every value: no equal keys, no NaN, no number beyond 64 bits.

The standard decoder is fast but knows no places, so it reads a text first, with hooks that refuse what it would let
pass; the places in a correct text are found when they are needed. A text that it refuses is read again by an exact
reader, which says why and where.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.document import Mark

DEPTH = 100
_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
#: An escape that may make a NUL or half of a surrogate pair; the exact reader decides.
_ODD_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
#: Deeper values are read by the exact reader: finding the places of one level reads everything below it again.
_LAZY_DEPTH = 20
_NESTED = (dict, list)


def parse_json(text: str) -> tuple[Any, Mark]:
    try:
        return _decode(text)
    except (ValueError, RecursionError):
        return _Reader(text).read()


def _decode(text: str) -> tuple[Any, Mark]:
    """Raises ValueError or RecursionError for everything that the exact reader refuses, and for some that it reads."""
    if _ODD_ESCAPE.search(text):
        raise ValueError
    text.encode("utf-8")  # the text itself may hold half of a surrogate pair
    value = _DECODER.decode(text)
    level = [value] if isinstance(value, _NESTED) else []
    for _ in range(_LAZY_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, _NESTED)
        ]
    if level:
        raise ValueError
    return value, _LazyMark(_Lines(text), _past_space(text, 0))


def checked_number(digits: str, whole: bool) -> int | float:
    """The number, if it has at most 64 bits and is finite. Raises ValueError with the reason."""
    if whole:
        number = int(digits) if len(digits) <= 20 else 1 << 64
        if not -(1 << 63) <= number < 1 << 64:
            raise ValueError("a whole number does not fit into 64 bits")
        return number
    real = float(digits)
    if real - real != 0:
        raise ValueError("a number is too large")
    return real


def checked_text(text: str) -> str:
    """The text, if every store can hold it. Raises ValueError with the reason."""
    if "\x00" in text:
        raise ValueError("a text holds a NUL character")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("a text holds half a surrogate pair") from None
    return text


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct,
    parse_int=lambda digits: checked_number(digits, True),
    parse_float=lambda digits: checked_number(digits, False),
    parse_constant=_refuse_constant,
)
_SKIP = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # finds the end of a value that has been read before


def _past_space(text: str, at: int) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]


class _Lines:
    """A text and where its lines begin."""

    __slots__ = ("begins", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.begins = [0, *(m.end() for m in re.finditer("\n", text))]

    def spot(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.begins, at)
        return line, at - self.begins[line - 1] + 1


class _LazyMark(Mark):
    """A mark in a correct text, which finds the places of its items when they are needed."""

    __slots__ = ("at", "lines")

    def __init__(self, lines: _Lines, at: int) -> None:
        self.lines, self.at = lines, at
        self.line, self.column = lines.spot(at)

    def __getattr__(self, name: str) -> Any:
        """Called only while `items` is not set yet."""
        if name != "items":
            raise AttributeError(name)
        self.items = self._find_items()
        return self.items

    def _find_items(self) -> list[Mark] | dict[str, tuple[int, int, Mark]] | None:
        text, lines = self.lines.text, self.lines
        first = text[self.at]
        if first not in "{[":
            return None
        items: list[Mark] = []
        members: dict[str, tuple[int, int, Mark]] = {}
        at = _past_space(text, self.at + 1)
        while text[at] not in "}]":
            begin, key = at, ""
            if first == "{":
                key, at = scanstring(text, at + 1, True)
                at = _past_space(text, _past_space(text, at) + 1)
            inner = _LazyMark(lines, at)
            if first == "{":
                members[key] = (*lines.spot(begin), inner)
            else:
                items.append(inner)
            at = _past_space(text, _SKIP(text, at)[1])
            if text[at] == ",":
                at = _past_space(text, at + 1)
        return members if first == "{" else items


class _Reader:
    """The exact reader, value by value; what it refuses is reported at its character."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spot = _Lines(text).spot

    def read(self) -> tuple[Any, Mark]:
        value, mark, at = self.value(self.skip(0), 1)
        at = self.skip(at)
        if at < len(self.text):
            self.refuse("something follows the end of the value", at)
        return value, mark

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def refuse(self, why: str, at: int) -> NoReturn:
        raise DocumentUnreadable(why=why, where=Place("", *self.spot(at)))

    def value(self, at: int, depth: int) -> tuple[Any, Mark, int]:
        first = self.text[at : at + 1]
        if first in ("{", "["):
            if depth > DEPTH:
                self.refuse(f"it is nested deeper than {DEPTH} levels", at)
            return self.members(at, depth) if first == "{" else self.items(at, depth)
        mark = Mark(*self.spot(at))
        if first == '"':
            text, end = self.string(at)
            return text, mark, end
        if first in _WORDS and self.text.startswith(_WORDS[first][0], at):
            word, meaning = _WORDS[first]
            return meaning, mark, at + len(word)
        match = _NUMBER.match(self.text, at)
        if not match:
            self.refuse("a value is expected here" if first else "it ends too early", at)
        try:
            return checked_number(match[0], match[1] is None and match[2] is None), mark, match.end()
        except ValueError as error:
            self.refuse(str(error), at)

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1, True)
            return checked_text(text), end
        except JSONDecodeError as error:
            self.refuse(error.msg.lower().removesuffix(" at"), error.pos)
        except ValueError as error:
            self.refuse(str(error), at)

    def items(self, at: int, depth: int) -> tuple[list[Any], Mark, int]:
        values: list[Any] = []
        marks: list[Mark] = []
        mark = Mark(*self.spot(at), marks)
        at = self.skip(at + 1)
        if self.text[at : at + 1] == "]":
            return values, mark, at + 1
        while True:
            value, inner, at = self.value(at, depth + 1)
            values.append(value)
            marks.append(inner)
            at, ended = self.after_entry(at, "]")
            if ended:
                return values, mark, at

    def members(self, at: int, depth: int) -> tuple[dict[str, Any], Mark, int]:
        values: dict[str, Any] = {}
        marks: dict[str, tuple[int, int, Mark]] = {}
        mark = Mark(*self.spot(at), marks)
        at = self.skip(at + 1)
        if self.text[at : at + 1] == "}":
            return values, mark, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                self.refuse("a key in double quotes is expected here", at)
            begin = at
            key, at = self.string(at)
            if key in values:
                self.refuse(f"the key «{key}» stands twice in one map", begin)
            at = self.skip(at)
            if self.text[at : at + 1] != ":":
                self.refuse("a colon is expected here", at)
            values[key], inner, at = self.value(self.skip(at + 1), depth + 1)
            marks[key] = (*self.spot(begin), inner)
            at, ended = self.after_entry(at, "}")
            if ended:
                return values, mark, at

    def after_entry(self, at: int, close: str) -> tuple[int, bool]:
        """Where the next entry begins; or where the list or map has ended, and that it has."""
        at = self.skip(at)
        end = self.text[at : at + 1]
        if end == close:
            return at + 1, True
        if end != ",":
            self.refuse(f"a comma or {close} is expected here", at)
        return self.skip(at + 1), False
