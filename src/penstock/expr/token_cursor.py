"""A cursor over the tokens of a source: advance, expect a token, and fail with the place of the mistake."""

from __future__ import annotations

from typing import NoReturn

from penstock.errors import ExprSyntaxError
from penstock.expr.nodes import Node
from penstock.expr.tokenizer import END, SourceToken, broken

_FOREIGN_WORDS = {
    "and": "write && for «and»",
    "or": "write || for «or»",
    "not": "write ! for «not»",
    "in": "write fn.contains(array, value)",
    "is": "write == null",
    "if": "write fn.if(condition, then, else)",
    "then": "write fn.if(condition, then, else)",
    "else": "write fn.if(condition, then, else)",
    "mod": "write %",
    "eq": "write ==",
    "ne": "write !=",
}
#: Operators of other languages whose marks are each known here: two tokens that touch.
_FOREIGN_OPERATORS = {
    "**": "write fn.pow(base, exponent) for «**»",
    "<>": "write != for «<>»",
    "->": "write => for «->»",
    "//": "write fn.floor(a / b) for «//»",
    "++": "write + 1",
}


def foreign_word(word: str) -> str:
    """What to write instead of an operator that other languages write as a word."""
    return _FOREIGN_WORDS.get(word.lower(), "")


class TokenCursor:
    __slots__ = ("at", "source", "token", "tokens")

    def __init__(self, source: str, tokens: list[SourceToken]) -> None:
        self.source, self.tokens = source, tokens
        self.at = 0
        self.token = tokens[0]

    def advance(self) -> None:
        if self.token.kind != END:
            self.at += 1
            self.token = self.tokens[self.at]

    def expect(self, kind: str, opening: SourceToken | None = None) -> int:
        """Passes the token and returns where it ends."""
        if self.token.kind != kind:
            since = f" for the «{opening.text}» at character {opening.start + 1}" if opening else ""
            self.unexpected(f"'{kind}'{since}")
        end = self.token.end
        self.advance()
        return end

    def unexpected(self, wanted: str, hint: str = "") -> NoReturn:
        token = self.token
        instead = "the expression ends" if token.kind == END else f"found «{token.text[:40]}»"
        before = self.tokens[self.at - 1]
        for word in (token.text, before.text):  # `not b`: it is the word before that is foreign
            if not hint and word.lower() in _FOREIGN_WORDS:
                hint = f" ({_FOREIGN_WORDS[word.lower()]})"
        if not hint and token.start == before.end:
            operator = _FOREIGN_OPERATORS.get(self.source[before.end - 1 : token.start + 1])
            hint = f" ({operator})" if operator else ""
        if not hint and token.kind == "=>":
            hint = " (write >= for «at least»; a lambda can only be an argument of a function that takes one)"
        self.fail(f"Expected {wanted}, but {instead}{hint}")

    def fail(self, why: str, place: SourceToken | Node | None = None) -> NoReturn:
        raise self.error(why, place)

    def error(self, why: str, place: SourceToken | Node | None) -> ExprSyntaxError:
        return broken(self.source, (place or self.token).start, why)
