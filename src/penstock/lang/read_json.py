"""JSON with places. The standard reader forgets where things stood, lets the last of equal keys win, and takes NaN."""

from __future__ import annotations

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


def parse_json(text: str) -> tuple[Any, Mark]:
    return _Reader(text).whole()


def checked_number(digits: str, whole: bool) -> int | float:
    """The number, if the house can hold it: 64 bits, finite. Raises ValueError with the reason."""
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


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [0, *(m.end() for m in re.finditer("\n", text))]

    def whole(self) -> tuple[Any, Mark]:
        value, mark, at = self.value(self.skip(0), 1)
        at = self.skip(at)
        if at < len(self.text):
            self.refuse("something follows the end of the value", at)
        return value, mark

    def skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def spot(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

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
        found = _NUMBER.match(self.text, at)
        if not found:
            self.refuse("a value is expected here" if first else "it ends too early", at)
        try:
            return checked_number(found[0], found[1] is None and found[2] is None), mark, found.end()
        except ValueError as wrong:
            self.refuse(str(wrong), at)

    def string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self.text, at + 1, True)
            return checked_text(text), end
        except JSONDecodeError as wrong:
            self.refuse(wrong.msg.lower().removesuffix(" at"), wrong.pos)
        except ValueError as wrong:
            self.refuse(str(wrong), at)

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
            at = self.skip(at)
            end = self.text[at : at + 1]
            if end == "]":
                return values, mark, at + 1
            if end != ",":
                self.refuse("a comma or ] is expected here", at)
            at = self.skip(at + 1)

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
            at = self.skip(at)
            end = self.text[at : at + 1]
            if end == "}":
                return values, mark, at + 1
            if end != ",":
                self.refuse("a comma or } is expected here", at)
            at = self.skip(at + 1)
