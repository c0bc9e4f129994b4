"""The grammar of regular expressions of XPath and XML Schema: patterns become nested tuples.

("char", c) · ("set", Characters) · ("any",) · ("sequence", parts) · ("choice", branches) · ("group", number, part)
("repeat", part, least, most, greedy) · ("begin",) · ("end",) · ("back", number)
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.feel.evaluation import Fault

Part = tuple[Any, ...]
MOST_PATTERN = 5_000
_MOST_REPEATS = 1_000
_DEEPEST = 50
_QUANTITY = re.compile(r"\{([0-9]{1,6})(?:(,)([0-9]{1,6})?)?\}")
_PROPERTY = re.compile(r"\{(\^?)([A-Za-z0-9-]+)\}")
_CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po Z Zs Zl Zp S Sm Sc Sk So C Cc Cf Co Cn".split()
)
_BLOCKS = {
    "BasicLatin": (0x0, 0x7F), "Latin-1Supplement": (0x80, 0xFF), "LatinExtended-A": (0x100, 0x17F),
    "LatinExtended-B": (0x180, 0x24F), "Greek": (0x370, 0x3FF), "GreekandCoptic": (0x370, 0x3FF),
    "Cyrillic": (0x400, 0x4FF), "Hebrew": (0x590, 0x5FF), "Arabic": (0x600, 0x6FF), "Thai": (0xE00, 0xE7F),
    "HangulJamo": (0x1100, 0x11FF), "GeneralPunctuation": (0x2000, 0x206F), "CurrencySymbols": (0x20A0, 0x20CF),
    "Hiragana": (0x3040, 0x309F), "Katakana": (0x30A0, 0x30FF), "CJKUnifiedIdeographs": (0x4E00, 0x9FFF),
    "HangulSyllables": (0xAC00, 0xD7A3),
}  # fmt: skip
_SINGLE = {"n": "\n", "r": "\r", "t": "\t"}
_PLAIN_ESCAPES = frozenset("\\|.?*+(){}[]^$-")


@dataclass(frozen=True, slots=True)
class Characters:
    """A set of characters: ranges, categories (`Nd`; with `^` those outside), letters of escapes, less another set."""

    ranges: tuple[tuple[str, str], ...] = ()
    categories: tuple[str, ...] = ()
    escapes: str = ""
    negated: bool = False
    less: Characters | None = None

    def holds(self, mark: str) -> bool:
        held = (
            any(low <= mark <= high for low, high in self.ranges)
            or any(_in_category(mark, name) for name in self.categories)
            or any(_in_escape(mark, letter) for letter in self.escapes)
        )
        return held is not self.negated and not (self.less is not None and self.less.holds(mark))


def _in_category(mark: str, name: str) -> bool:
    return unicodedata.category(mark).startswith(name.removeprefix("^")) is not name.startswith("^")


def _in_escape(mark: str, letter: str) -> bool:
    category = unicodedata.category(mark)
    held = {
        "d": category == "Nd",
        "s": mark in " \t\n\r",
        "w": category[0] not in "PZC",
        "i": category[0] == "L" or mark in "_:",
        "c": category[0] in "LNM" or mark in "._:-·",
    }[letter.lower()]
    return held is letter.islower()


class Pattern:
    """Reads one pattern; `groups` counts the groups, `simple` is false for what only the backtracking engine can do."""

    def __init__(self, text: str, *, extended: bool = False) -> None:
        if len(text) > MOST_PATTERN:
            raise Fault(f"The pattern has more than {MOST_PATTERN:,} characters")
        self.text = _without_blanks(text) if extended else text
        self.at = 0
        self.groups = 0
        self.closed: set[int] = set()
        self.simple = True
        self.depth = 0
        self.part = self.choice()
        if self.at < len(self.text):
            self.wrong("a parenthesis has no beginning")

    def wrong(self, why: str) -> NoReturn:
        raise Fault(f"The pattern is no regular expression: {why}, at its character {self.at + 1}")

    def next(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        mark = self.next()
        if not mark:
            self.wrong("it ends too early")
        self.at += 1
        return mark

    def choice(self) -> Part:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.wrong("it is nested too deeply")
        branches = [self.sequence()]
        while self.next() == "|":
            self.take()
            branches.append(self.sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else ("choice", tuple(branches))

    def sequence(self) -> Part:
        parts: list[Part] = []
        while self.next() not in ("", "|", ")"):
            parts.append(self.repeated(self.atom()))
        return ("sequence", tuple(parts))

    def repeated(self, part: Part) -> Part:
        mark = self.next()
        if mark in ("?", "*", "+") and mark:
            self.take()
            least, most = {"?": (0, 1), "*": (0, None), "+": (1, None)}[mark]
        elif mark == "{":
            match = _QUANTITY.match(self.text, self.at)
            if match is None:
                self.wrong("a quantity is {n}, {n,} or {n,m}")
            least = int(match[1])
            most = least if not match[2] else int(match[3]) if match[3] else None
            if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
                self.wrong("the quantity is too large, or turned round")
            self.at = match.end()
        else:
            return part
        if part[0] in ("begin", "end"):
            self.wrong("an anchor is not repeated")
        greedy = self.next() != "?"
        if not greedy:
            self.take()
        if self.next() in ("*", "+", "?", "{") and self.next():
            self.wrong("a quantity follows a quantity")
        return ("repeat", part, least, most, greedy)

    def atom(self) -> Part:
        mark = self.take()
        if mark == "(":
            return self.group()
        if mark == "[":
            return ("set", self.set())
        if mark == "\\":
            return self.escape()
        if mark in "*+?{}])":
            self.at -= 1
            self.wrong(f"«{mark}» stands for itself only with a backslash")
        return {".": ("any",), "^": ("begin",), "$": ("end",)}.get(mark, ("char", mark))

    def group(self) -> Part:
        captures = not self.text.startswith("?:", self.at)
        number = 0
        if captures:
            if self.next() == "?":
                self.wrong("after a parenthesis only ?: is read")
            self.groups += 1
            number = self.groups
        else:
            self.at += 2
        part = self.choice()
        if self.next() != ")":
            self.wrong("a parenthesis has no end")
        self.take()
        if not captures:
            return part if part[0] != "choice" else ("sequence", (part,))
        self.closed.add(number)
        return ("group", number, part)

    def escape(self) -> Part:
        mark = self.next()
        if mark.isdigit() and mark.isascii() and mark != "0":
            return self.back_reference()
        single = self.single_escape()
        return ("char", single) if isinstance(single, str) else ("set", single)

    def back_reference(self) -> Part:
        digits = self.take()
        while self.next().isdigit() and int(digits + self.next()) <= self.groups:
            digits += self.take()
        if int(digits) not in self.closed:
            self.wrong(f"there is no group {digits} before this place")
        self.simple = False
        return ("back", int(digits))

    def single_escape(self) -> str | Characters:
        mark = self.take()
        if mark in _SINGLE:
            return _SINGLE[mark]
        if mark in _PLAIN_ESCAPES:
            return mark
        if mark in "dDsSwWiIcC":
            return Characters(escapes=mark)
        if mark in "pP":
            match = _PROPERTY.match(self.text, self.at)
            if match is None:
                self.wrong("a property is \\p{Name}")
            self.at = match.end()
            return self.property(match[2], mark == "P")
        self.at -= 1
        self.wrong(f"there is no escape \\{mark}")

    def property(self, name: str, negated: bool) -> Characters:
        if name.startswith("Is") and name[2:] in _BLOCKS:
            low, high = _BLOCKS[name[2:]]
            return Characters(ranges=((chr(low), chr(high)),), negated=negated)
        if name not in _CATEGORIES:
            self.wrong(f"there is no property {name}")
        return Characters(categories=(f"^{name}" if negated else name,))

    def set(self) -> Characters:
        negated = self.next() == "^"
        if negated:
            self.take()
        ranges: list[tuple[str, str]] = []
        categories: list[str] = []
        escapes = ""
        less: Characters | None = None
        while self.next() != "]" or not (ranges or categories or escapes):
            if self.text.startswith("-[", self.at):
                self.at += 2
                less, self.simple = self.set(), False
                break
            item = self.set_item()
            if isinstance(item, Characters):
                if item.negated:
                    self.simple = False
                    ranges.extend(_outside(item.ranges))
                else:
                    ranges.extend(item.ranges)
                categories.extend(item.categories)
                escapes += item.escapes
                continue
            high = item
            if self.next() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", "["):
                self.take()
                end = self.set_item()
                if not isinstance(end, str) or end < item:
                    self.wrong("a range of characters is turned round")
                high = end
            ranges.append((item, high))
        if self.take() != "]":
            self.wrong("a set of characters has no end")
        return Characters(tuple(ranges), tuple(categories), escapes, negated, less)

    def set_item(self) -> str | Characters:
        mark = self.take()
        if mark == "\\":
            return self.single_escape()
        if mark in "[]":
            self.at -= 1
            self.wrong(f"«{mark}» stands in a set only with a backslash")
        return mark


def _outside(ranges: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    (low, high), *_ = ranges
    before = [("\0", chr(ord(low) - 1))] if low != "\0" else []
    return [*before, (chr(ord(high) + 1), "\U0010ffff")]


def _without_blanks(text: str) -> str:
    """Flag x: blanks outside of sets stand for nothing."""
    kept, depth, escaped = [], 0, False
    for mark in text:
        if mark in " \t\n\r" and not depth:
            continue
        if not escaped:
            depth += (mark == "[") - (mark == "]" and depth > 0)
        escaped = mark == "\\" and not escaped
        kept.append(mark)
    return "".join(kept)
