"""The grammar of JUEL, the `${…}` of Camunda 7 and its relatives: Expression Language 2.2 without functions of its own.

It is read whole, so that a bracket in a text or a member called `div` is what the standard says. What it means in our
expressions is in `juel_text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from penstock.errors import ExprSyntaxError

#: Brackets and operators that may be open at once; our own expressions have the same limit.
MAX_DEPTH = 50
MAX_LENGTH = 4_096
MAX_NUMBER = (1 << 63) - 1
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<name>[^\W\d][\w$]*|\$[\w$]+)
      | (?P<symbol>&&|\|\||==|!=|<=|>=|[-+*/%!<>()\[\]{}?:.,;=#$])
      | (?P<end>\Z)
      | (?P<unreadable>.)
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
#: words that are operators, and the sign that means the same
_WORDS = {
    "and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
    "div": "/", "mod": "%",
}  # fmt: skip
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
#: EL 2.2, 1.15: binary operators from the loosest to the tightest
_LEVELS = (("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"), ("*", "/", "%"))


@dataclass(frozen=True)
class Constant:
    value: str | int | float | bool | None


@dataclass(frozen=True)
class Name:
    name: str
    start: int


@dataclass(frozen=True)
class Member:
    """`of.name` and `of[key]`."""

    of: Node
    key: Node


@dataclass(frozen=True)
class Method:
    of: Node
    name: str
    arguments: tuple[Node, ...]
    start: int


@dataclass(frozen=True)
class Unary:
    operator: str  # ! - empty
    operand: Node


@dataclass(frozen=True)
class Binary:
    """Operators of one level in a row, from the left."""

    operators: tuple[str, ...]
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    condition: Node
    then: Node
    otherwise: Node


Node = Constant | Name | Member | Method | Unary | Binary | Choice


class _Token(NamedTuple):
    kind: str  # number, text, name, end, or the operator itself
    text: str
    start: int
    end: int


def refused(why: str, source: str, place: int) -> ExprSyntaxError:
    first = source.rfind("\n", 0, place) + 1
    line = source.count("\n", 0, place) + 1
    return ExprSyntaxError(why=why, position=place + 1, line=line, column=place - first + 1, source=source)


def parse(source: str, start: int = 0) -> tuple[Node, int]:
    """The expression that begins at a place, and where it ends: before a `}` that is not its own, or at the end."""
    if len(source) > MAX_LENGTH:
        raise refused(f"An expression has at most {MAX_LENGTH} characters", source[:80], 0)
    parser = _Parser(source, start)
    node = parser.expression()
    if parser.token.kind not in ("end", "}"):
        parser.fail_at_token()
    return node, parser.token.start


class _Parser:
    def __init__(self, source: str, start: int) -> None:
        self.source, self.depth = source, 0
        self.token = self._token_at(start)

    def _token_at(self, place: int) -> _Token:
        match = _TOKEN.match(self.source, place)
        assert match is not None, "every character is at least unreadable"
        kind = match.lastgroup or ""
        text, start = match[kind], match.start(kind)
        if kind == "unreadable":
            quote = text in ("'", '"')
            why = "The text has no closing quote" if quote else f"«{text}» is not read here"
            raise refused(why, self.source, start)
        if kind == "symbol":
            kind = text
        return _Token(kind, text, start, match.end())

    def advance(self) -> _Token:
        token = self.token
        self.token = self._token_at(token.end)
        return token

    def fail_at_token(self) -> NoReturn:
        token = self.token
        shown = "The end" if token.kind == "end" else f"«{token.text}»"
        raise refused(f"{shown} cannot stand here", self.source, token.start)

    def expect(self, kind: str) -> _Token:
        if self.token.kind != kind:
            self.fail_at_token()
        return self.advance()

    # -- operators -----------------------------------------------------------------------------------------------------

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise refused(f"It is nested more than {MAX_DEPTH} deep", self.source, self.token.start)
        node = self.level(0)
        if self.token.kind == "?":
            self.advance()
            then = self.expression()
            self.expect(":")
            node = Choice(node, then, self.expression())
        self.depth -= 1
        return node

    def operator(self, among: tuple[str, ...]) -> str:
        """The operator that the token is, where it is one of these; a word is one only between operands."""
        kind = _WORDS.get(self.token.text, "") if self.token.kind == "name" else self.token.kind
        return kind if kind in among else ""

    def level(self, number: int) -> Node:
        if number == len(_LEVELS):
            return self.unary()
        operands, operators = [self.level(number + 1)], []
        while symbol := self.operator(_LEVELS[number]):
            self.advance()
            operators.append(symbol)
            operands.append(self.level(number + 1))
        return Binary(tuple(operators), tuple(operands)) if operators else operands[0]

    def unary(self) -> Node:
        signs: list[str] = []
        while self.token.kind in ("!", "-") or (self.token.kind == "name" and self.token.text in ("not", "empty")):
            signs.append(_WORDS.get(self.token.text, self.token.text))
            self.advance()
            if len(signs) > MAX_DEPTH:
                raise refused(f"It is nested more than {MAX_DEPTH} deep", self.source, self.token.start)
        node = self.value()
        for sign in reversed(signs):
            node = Unary(sign, node)
        return node

    # -- values --------------------------------------------------------------------------------------------------------

    def value(self) -> Node:
        node, steps = self.primary(), 0
        while self.token.kind in (".", "["):
            steps += 1
            if steps > MAX_DEPTH:
                raise refused(f"It has more than {MAX_DEPTH} members in a row", self.source, self.token.start)
            node = self.member(node)
        return node

    def member(self, of: Node) -> Node:
        if self.advance().kind == "[":
            key = self.expression()
            self.expect("]")
            return Member(of, key)
        name = self.expect("name")
        if self.token.kind != "(":
            return Member(of, Constant(name.text))
        return Method(of, name.text, self.arguments(), name.start)

    def arguments(self) -> tuple[Node, ...]:
        self.expect("(")
        arguments: list[Node] = []
        while self.token.kind != ")":
            if arguments:
                self.expect(",")
            arguments.append(self.expression())
        self.advance()
        return tuple(arguments)

    def primary(self) -> Node:
        token = self.token
        if token.kind == "number":
            self.advance()
            value = int(token.text[:400]) if token.text.isdecimal() else float(token.text)
            if abs(value) > MAX_NUMBER:
                raise refused("The number is too large", self.source, token.start)
            return Constant(value)
        if token.kind == "text":
            self.advance()
            return Constant(_ESCAPED.sub(r"\1", token.text[1:-1]))
        if token.kind == "(":
            self.advance()
            node = self.expression()
            self.expect(")")
            return node
        if token.kind == "name" and token.text not in _WORDS and token.text not in ("empty", "instanceof"):
            return self.named()
        self.fail_at_token()

    def named(self) -> Node:
        name = self.advance()
        if name.text in _CONSTANTS:
            return Constant(_CONSTANTS[name.text])
        if self.token.kind == "(":
            raise refused(f"«{name.text}(…)» is a function of the modeler's own engine", self.source, name.start)
        return Name(name.text, name.start)
