"""Cuts expressions into tokens, one at a time: what a name is depends on the names that are known at its place."""

from __future__ import annotations

import re
from typing import NamedTuple

from penstock.feel.evaluation import syntax_error
from penstock.feel.names import PART, START

SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
TOKEN = re.compile(
    rf"""(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<name>[{START}][{PART}]*)
      | (?P<symbol>\*\*|\.\.|<=|>=|!=|->|[-+*/=<>()\[\]{{}},.:?@])
    """,
    re.VERBOSE | re.DOTALL,
)
#: words that are never names by themselves
RESERVED = frozenset(
    "and or if then else for in return some every satisfies instance between function true false null".split()
)
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|U(?P<long>[0-9A-Fa-f]{6})|(?P<mark>.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'"}


class Token(NamedTuple):
    kind: str  # number, string, name, end, or the symbol or reserved word itself
    text: str
    start: int
    end: int


def token_at(source: str, place: int) -> Token:
    """The token at or after a place; a reserved word is its own kind."""
    start = SPACE.match(source, place).end()  # type: ignore[union-attr]
    if start >= len(source):
        return Token("end", "", start, start)
    if source.startswith("/*", start):
        raise syntax_error(source, start, "The comment has no end")
    match = TOKEN.match(source, start)
    if match is None:
        why = "The text has no closing quote" if source[start] in "\"'" else f"«{source[start]}» is not read here"
        raise syntax_error(source, start, why)
    kind = match.lastgroup or ""
    text = match[0]
    if kind == "symbol" or (kind == "name" and text in RESERVED):
        kind = text
    return Token(kind, text, start, match.end())


def unquoted(source: str, token: Token) -> str:
    """The text between the quotes; two escapes may be the halves of one character."""
    inner = token.text[1:-1]
    if "\\" not in inner:
        return inner
    text = _ESCAPE.sub(_escaped, inner)
    if not any("\ud800" <= mark <= "\udfff" for mark in text):
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise syntax_error(source, token.start, "Half of a character stands alone") from None


def _escaped(match: re.Match[str]) -> str:
    code = match["code"] or match["long"]
    if code:
        return chr(int(code, 16)) if int(code, 16) < 0x110000 else match[0]
    return _ESCAPES.get(match["mark"], match[0])  # any other backslash stands for itself
