"""Cuts the source into tokens, and makes the error that says where it cannot be read."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from penstock.errors import ExprSyntaxError

STRING, NUMBER, NAME, END = "string", "number", "name", "the end"

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
        (?P<name>[a-zA-Z_][a-zA-Z0-9_]*)
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![a-zA-Z0-9_])
      | (?P<string>"[^"]*"|'[^']*')
      | (?P<symbol>\|\||&&|==|!=|<=|>=|=>|\$\{|[-+*/%!<>()\[\]{},:.])
      | (?P<end>\Z)
      | (?P<unreadable>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_MADE = tuple.__new__  # a token without the call of its own constructor

_HINTS = {
    "&": "write && for «and»",
    "|": "write || for «or»",
    "=": "write == to compare; nothing can be assigned",
    "?": "there is no ?: here; write fn.if(condition, then, else)",
    ";": "one expression only",
    "$": "a reference is written ${…}",
    "`": "a string stands in ' or \"",
    "^": "write fn.pow(base, exponent)",
    "\\": "strings have no escapes",
    "“": "a string stands in straight quotes",
    "”": "a string stands in straight quotes",
    "‘": "a string stands in straight quotes",
    "’": "a string stands in straight quotes",
    "#": "there are no comments",
}
#: Operators of other languages that begin or go on with a mark that has no meaning here: what is before it, and after.
_OPERATOR_HINTS = (
    ("==", "=", "write == to compare, not ==="),
    ("!=", "=", "write !=, not !=="),
    ("&&", "&", "write && for «&&&»"),
    ("||", "|", "write || for «|||»"),
    ("", "=<", "write <= for «at most»; write == to compare"),
    ("", "=!", "write != for «not equal»; write == to compare"),
    (":", "=", "nothing can be assigned; write == to compare"),
    ("", "??", "write fn.coalesce(value, otherwise)"),
    ("", "?:", "write fn.coalesce(value, otherwise)"),
)
#: A leading = is FEEL's in process files; there is one where it could not be translated.
_FEEL_HINT = "this is FEEL that has no translation, such as a filter or a computed index"
#: Constants of other languages; each may also be somebody's name, so that only one that is unknown is explained.
_FOREIGN_CONSTANTS = {
    "none": "null", "nil": "null", "null": "null", "undefined": "null", "true": "true", "false": "false",
}  # fmt: skip
_WORDS = {"and": "&&", "or": "||", "not": "not", "True": NAME, "False": NAME, "None": NAME}
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_LINE_SHOWN = 100
_NAME_SUGGESTED = 40


class SourceToken(NamedTuple):
    """One word: `kind` is the symbol itself, or string, number, name, the end."""

    kind: str
    text: str
    start: int
    end: int


def tokenize(source: str, start: int, end: int, *, words: bool = False) -> list[SourceToken]:
    """All tokens of `source[start:end]`; with `words`, Python's and, or, not, True, False, None are known too."""
    tokens: list[SourceToken] = []
    for match in _TOKEN.finditer(source, start, end):
        kind = match.lastgroup or ""
        text = match[kind]
        place = match.end()
        begin = place - len(text)
        if kind == "symbol":
            kind = text
        elif kind == "name":
            if words and text in _WORDS:
                kind, text = _WORDS[text], _CONSTANTS.get(text, text)
        elif kind == "end":
            break
        elif kind == "unreadable":
            raise _unreadable(source, begin)
        tokens.append(_MADE(SourceToken, (kind, text, begin, place)))
    tokens.append(SourceToken(END, "", end, end))
    return tokens


def _unreadable(source: str, place: int) -> ExprSyntaxError:
    mark = source[place]
    if mark in "\"'":
        return broken(source, place, "The string has no closing quote")
    if mark.isdecimal():
        return broken(source, place, "The number cannot be read (a name does not begin with a digit)")
    shown = f"«{mark}»" if mark.isprintable() else f"the character U+{ord(mark):04X}"
    if mark.isalpha():
        return broken(source, place, f"{shown} cannot stand in a name (write other letters as x['…'])")
    hint = next((text for before, after, text in _OPERATOR_HINTS if _stands(source, place, before, after)), None)
    hint = _FEEL_HINT if mark == "=" and place == 0 else hint or _HINTS.get(mark)
    return broken(source, place, f"{shown} has no meaning here" + (f" ({hint})" if hint else ""))


def _stands(source: str, place: int, before: str, after: str) -> bool:
    return source.startswith(after, place) and source.endswith(before, 0, place)


def foreign_constant(name: str) -> str:
    """What to write instead of None, nil, True and their like; empty for any other name."""
    constant = _FOREIGN_CONSTANTS.get(name.lower())
    return f"Write {constant} for «{name}»." if constant and constant != name else ""


def broken(source: str, place: int, why: str) -> ExprSyntaxError:
    """The error for a place in the source: with line and column, and a picture that points at it."""
    first = source.rfind("\n", 0, place) + 1
    last = source.find("\n", place)
    line = source[first : len(source) if last < 0 else last]
    column = place - first
    if len(line) > _LINE_SHOWN:  # keep the place in sight
        cut = max(0, min(column - _LINE_SHOWN // 2, len(line) - _LINE_SHOWN))
        line, column = line[cut : cut + _LINE_SHOWN], column - cut
    line = "".join(mark if mark.isprintable() or mark == "\t" else "�" for mark in line)
    return ExprSyntaxError(
        why=why,
        position=place + 1,
        line=source.count("\n", 0, place) + 1,
        column=place - first + 1,
        source=line,
        picture=f"{line}\n{_blank(line[:column])}^",
    )


def _blank(text: str) -> str:
    """Spaces as wide as the text is on a terminal: a Korean letter takes two."""
    return "".join(
        "\t" if mark == "\t" else "  " if unicodedata.east_asian_width(mark) in "WF" else " " for mark in text
    )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    if len(name) > _NAME_SUGGESTED:
        return None
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return matches[0] if matches else None
