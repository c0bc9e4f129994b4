"""Regular expressions of XPath (`matches`, `replace`, `split`): on re2, whose time grows with the text only.

What re2 cannot match goes to a machine of our own, which counts its steps. Flags: s, m, i, x, q.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from penstock.feel.evaluation import Exceeded, Fault
from penstock.feel.regex_backtrack import Machine
from penstock.feel.regex_grammar import Characters, Part, Pattern

Spans = list[int]  # begin and end of the match, then of every group; -1 for one that took no part
_REPLACED = re.compile(r"\\(?P<escaped>[\\$])|\$(?P<group>[0-9]+)|(?P<wrong>[\\$])")
_INSIDE = {"d": r"\p{Nd}", "D": r"\P{Nd}", "s": r" \t\n\r", "w": r"\pL\pM\pN\pS", "W": r"\pP\pZ\pC", "i": r"\pL_:"}
_INSIDE["S"] = r"\x00-\x08\x0b\x0c\x0e-\x1f!-\x{10ffff}"
_INSIDE["c"] = r"\pL\pN\pM._:\-·"


class Regex:
    """A compiled pattern."""

    def __init__(self, part: Part, groups: int, flags: str, simple: bool) -> None:
        self.groups = groups
        self.machine: Machine | None = None
        self.fast = _fast(part, flags) if simple else None
        if self.fast is None:
            self.machine = Machine(part, groups, flags)

    def search(self, text: str, at: int, budget: list[int]) -> Spans | None:
        """The first match from a place on; `budget` is the steps that the machine may take."""
        if self.machine is None:
            assert self.fast is not None, "a pattern has one of the two engines"
            match = self.fast.search(text, at)
            return None if match is None else [place for group in range(self.groups + 1) for place in match.span(group)]
        for begin in range(at, len(text) + 1):
            spans = self.machine.match(text, begin, budget)
            if spans is not None:
                return spans
        return None

    def all(self, text: str, budget: list[int]) -> Iterator[Spans]:
        at = 0
        while at <= len(text):
            spans = self.search(text, at, budget)
            if spans is None:
                return
            yield spans
            at = spans[1] if spans[1] > spans[0] else spans[1] + 1

    def split(self, text: str, budget: list[int]) -> list[str]:
        parts, last = [], 0
        for begin, end, *_ in self.all(text, budget):
            if begin == end:
                raise Fault("split: the delimiter matches the empty text")
            parts.append(text[last:begin])
            last = end
        return [*parts, text[last:]]

    def replaced(self, text: str, replacement: str, most: int, budget: list[int]) -> str:
        """`$1` stands for a group, `\\$` and `\\\\` for themselves."""
        if self.search("", 0, budget) is not None:
            raise Fault("replace: the pattern matches the empty text")
        pieces = _pieces(replacement, self.groups)
        parts, last, size = [], 0, 0
        for spans in self.all(text, budget):
            parts.append(text[last : spans[0]])
            for piece in pieces:
                parts.append(piece if isinstance(piece, str) else _group(text, spans, piece))
                size += len(parts[-1])
            last = spans[1]
            if size > most:
                raise Exceeded(f"a text of more than {most:,} characters")
        return "".join([*parts, text[last:]])


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str) -> Regex:
    """The pattern, compiled once; Fault where it is none."""
    wrong = next((flag for flag in flags if flag not in "smixq"), "")
    if wrong:
        raise Fault(f"There is no flag «{wrong}» of patterns")
    if "q" in flags:
        return Regex(("sequence", tuple(("char", mark) for mark in pattern)), 0, flags, True)
    read = Pattern(pattern, extended="x" in flags)
    return Regex(read.part, read.groups, flags, read.simple)


def _group(text: str, spans: Spans, number: int) -> str:
    begin, end = spans[2 * number : 2 * number + 2] or (-1, -1)
    return text[begin:end] if begin >= 0 else ""


def _pieces(replacement: str, groups: int) -> list[str | int]:
    pieces: list[str | int] = []
    last = 0
    for match in _REPLACED.finditer(replacement):
        pieces.append(replacement[last : match.start()])
        last = match.end()
        if match["wrong"]:
            raise Fault("replace: a dollar is followed by a number, or both signs stand behind a backslash")
        if match["escaped"]:
            pieces.append(match["escaped"])
            continue
        digits = match["group"]
        used = len(digits)
        while used > 1 and int(digits[:used]) > groups:
            used -= 1
        number = int(digits[:used])
        pieces.append(number if number <= groups else "")
        pieces.append(digits[used:])
    return [*pieces, replacement[last:]]


# ---- re2 -------------------------------------------------------------------------------------------------------------


def _fast(part: Part, flags: str) -> Any:
    """The same for re2; None where re2 is not installed or does not take it."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = "i" not in flags
    prefix = ("(?s)" if "s" in flags else "") + ("(?m)" if "m" in flags else "")
    try:
        return re2.compile(prefix + _text(part, "s" in flags), options)
    except re2.error:
        return None


def _text(part: Part, dot_all: bool) -> str:
    kind = part[0]
    if kind == "sequence":
        return "".join(_text(each, dot_all) for each in part[1])
    if kind == "choice":
        return "(?:" + "|".join(_text(each, dot_all) for each in part[1]) + ")"
    if kind == "group":
        return f"({_text(part[2], dot_all)})"
    if kind == "repeat":
        return _repeat_text(part, dot_all)
    if kind == "set":
        return _set_text(part[1])
    if kind == "char":
        return _char_text(part[1])
    return {"any": "." if dot_all else r"[^\n\r]", "begin": "^", "end": "$"}[kind]


def _repeat_text(part: Part, dot_all: bool) -> str:
    _, inner, least, most, greedy = part
    if most is None:
        count = {0: "*", 1: "+"}.get(least, f"{{{least},}}")
    else:
        count = "?" if (least, most) == (0, 1) else f"{{{least},{most}}}"
    return f"(?:{_text(inner, dot_all)}){count}{'' if greedy else '?'}"


def _char_text(mark: str) -> str:
    return mark if mark.isalnum() and mark.isascii() else f"\\x{{{ord(mark):x}}}"


def _set_text(characters: Characters) -> str:
    inner = "".join(f"{_char_text(low)}-{_char_text(high)}" for low, high in characters.ranges)
    inner += "".join(
        f"\\P{{{name[1:]}}}" if name.startswith("^") else f"\\p{{{name}}}" for name in characters.categories
    )
    inner += "".join(_INSIDE.get(letter, "\\p{None}") for letter in characters.escapes)
    return f"[{'^' if characters.negated else ''}{inner}]"
