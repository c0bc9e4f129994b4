"""Cuts a FEEL text into tokens, and makes the error that says where and why it is not read."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from penstock.errors import ExprSyntaxError

MAX_SOURCE = 4_096

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<name>[^\W\d]\w*)
      | (?P<symbol>\*\*|\.\.|<=|>=|!=|[-+*/=<>()\[\],.?@])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_SPACE = re.compile(r"\s*")
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{6})|(?P<mark>.))", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\"}
_WORDS = frozenset("and or not between in if then else true false null".split())
#: What FEEL has and this reader has not, by the word or mark that it begins with.
CONSTRUCTS = {
    "for": "A loop (for … in … return)", "some": "A quantifier (some … satisfies)",
    "every": "A quantifier (every … satisfies)", "function": "A function of one's own (function(…) …)",
    "instance": "A test of a type (instance of)", "[": "A filter, or an index that is no number,",
    "{": "A context ({…})", "}": "A context ({…})", ":": "An argument by its name (name: value)",
    "//": "A comment", "/*": "A comment", "external": "A function of another language (external)",
}  # fmt: skip


class Token(NamedTuple):
    kind: str  # number, string, name, end, or the symbol or word itself
    text: str
    start: int


def tokens(source: str, names: Collection[str]) -> list[Token]:
    if len(source) > MAX_SOURCE:
        raise broken(source[:60], 0, f"It has {len(source):,} characters; at most {MAX_SOURCE:,} are read")
    spaced = sorted(names, key=len, reverse=True)
    cut: list[Token] = []
    place = 0
    while not cut or cut[-1].kind != "end":
        start = _SPACE.match(source, place).end()  # type: ignore[union-attr]
        long = next((name for name in spaced if _begins(source, start, name)), None)
        if long is not None:
            cut.append(Token("name", long, start))
            place = start + len(long)
            continue
        match = _TOKEN.match(source, place)
        if match is None or match.lastgroup is None:
            raise broken(source, start, not_read(source[start : start + 1]))
        kind, text = match.lastgroup, match[match.lastgroup]
        if kind == "symbol" or (kind == "name" and text in _WORDS):
            kind = text
        if source[match.start(match.lastgroup) :][:2] in ("//", "/*"):
            raise broken(source, start, not_read(source[match.start(match.lastgroup) :][:2]))
        cut.append(Token(kind, text, match.start(match.lastgroup)))
        place = match.end()
    return cut


def not_read(mark: str) -> str:
    return f"{CONSTRUCTS[mark]} is not read" if mark in CONSTRUCTS else f"«{mark}» is not read here"


def _begins(source: str, at: int, name: str) -> bool:
    after = source[at + len(name) : at + len(name) + 1]
    return source.startswith(name, at) and not (after.isalnum() or after == "_")


def broken(source: str, position: int, why: str) -> ExprSyntaxError:
    return ExprSyntaxError(why=why, position=position + 1, source=source, picture=f"{source}\n{' ' * position}^")


def unquoted(text: str) -> str:
    """The text between the quotes; two escapes may be the halves of one character."""
    unescaped = _ESCAPE.sub(_escaped, text[1:-1])
    if unescaped.isascii() or not any("\ud800" <= mark <= "\udfff" for mark in unescaped):
        return unescaped
    try:
        return unescaped.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise broken(text, 0, "Half of a character stands alone") from None


def _escaped(match: re.Match[str]) -> str:
    code = int(match["code"] or match["long"] or "0", 16)
    if code:
        return chr(code) if code < 0x110000 else match[0]
    return _ESCAPES.get(match["mark"], match[0])  # any other backslash stands for itself
