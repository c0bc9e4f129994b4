"""FEEL, the part that decision tables are written in: unary tests and simple expressions, compiled to closures.

Our own reader and not a library's: those we tried read neither `-` nor `not(…)`, and tell no place. Names may hold
spaces when they are known. What is not data (null, a wrong kind) compares to null, which no test accepts. Loops,
filters and user functions are left out, so the length of the text bounds the work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.errors import ExprSyntaxError
from penstock.executors.parts.rules import feel_closures as C
from penstock.executors.parts.rules.feel_closures import Part, Range, Value, View
from penstock.executors.parts.rules.feel_values import FUNCTIONS, temporal

MAX_SOURCE = 4_096
MAX_DEPTH = 40
ANY = frozenset({"", "-"})

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
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_WORDS = frozenset("and or not between in if then else true false null".split())
_MOMENTS = frozenset({"date", "time", "date and time", "duration"})


def compile_test(text: str, names: Collection[str] = ()) -> Value | None:
    """A cell of an input column as `test(names, value)`, which gives True, False or None; None for a cell that takes
    everything. Raises ExprSyntaxError."""
    if text.strip() in ANY:
        return None
    return _test(text, _spaced(names))


def compile_value(text: str, names: Collection[str] = ()) -> Callable[[View], Any]:
    """An expression as `value(names)`; dates in it are dates until somebody makes plain data of them."""
    value = _value(text, _spaced(names))
    return lambda view: value(view, None)


def _spaced(names: Collection[str]) -> frozenset[str]:
    """Names that the tokens alone would not find: those that begin as a name and go on otherwise."""
    return frozenset(name for name in names if name[:1].isalpha() and not name.isidentifier())


@lru_cache(4_096)
def _test(text: str, names: frozenset[str]) -> Value:
    reader = _Reader(text, names)
    test = reader.tests(whole=True)
    reader.expect("end")
    return test


@lru_cache(1_024)
def _value(text: str, names: frozenset[str]) -> Value:
    reader = _Reader(text, names)
    value = reader.expression().value
    reader.expect("end")
    return value


class _Token(NamedTuple):
    kind: str  # number, string, name, end, or the symbol or word itself
    text: str
    start: int


def _tokens(source: str, names: Collection[str]) -> list[_Token]:
    if len(source) > MAX_SOURCE:
        raise _broken(source[:60], 0, f"It has {len(source):,} characters; at most {MAX_SOURCE:,} are read")
    spaced = sorted(names, key=len, reverse=True)
    tokens: list[_Token] = []
    place = 0
    while not tokens or tokens[-1].kind != "end":
        start = _SPACE.match(source, place).end()  # type: ignore[union-attr]
        long = next((name for name in spaced if _begins(source, start, name)), None)
        if long is not None:
            tokens.append(_Token("name", long, start))
            place = start + len(long)
            continue
        match = _TOKEN.match(source, place)
        if match is None or match.lastgroup is None:
            raise _broken(source, start, f"«{source[start : start + 1]}» is not read here")
        kind, text = match.lastgroup, match[match.lastgroup]
        if kind == "symbol" or (kind == "name" and text in _WORDS):
            kind = text
        tokens.append(_Token(kind, text, match.start(match.lastgroup)))
        place = match.end()
    return tokens


def _begins(source: str, at: int, name: str) -> bool:
    after = source[at + len(name) : at + len(name) + 1]
    return source.startswith(name, at) and not (after.isalnum() or after == "_")


def _broken(source: str, position: int, why: str) -> ExprSyntaxError:
    return ExprSyntaxError(why=why, position=position + 1, source=source, picture=f"{source}\n{' ' * position}^")


class _Reader:
    """One text, read from the left; every method gives the closure of what it has read."""

    def __init__(self, source: str, names: Collection[str]) -> None:
        self.source = source
        self.tokens = _tokens(source, names)
        self.at = 0
        self.depth = 0

    # ---- tokens

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def take(self, *kinds: str) -> _Token | None:
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def expect(self, *kinds: str) -> _Token:
        token = self.take(*kinds)
        if token is None:
            wanted = "the end" if kinds == ("end",) else " or ".join(f"«{kind}»" for kind in kinds)
            raise self.wrong(f"Here {wanted} is expected")
        return token

    def wrong(self, why: str) -> ExprSyntaxError:
        return _broken(self.source, self.tokens[self.at].start, why)

    # ---- tests

    def tests(self, *, whole: bool = False) -> Value:
        """`a, b, c`: one of them; `not(a, b)`: none of them."""
        if whole and self.kind == "not" and self._not_is_everything():
            self.at += 2
            inner = self.tests()
            self.expect(")")
            return C.denied(inner)
        every = [self.test()]
        while self.take(","):
            every.append(self.test())
        return every[0] if len(every) == 1 else C.one_of(every)

    def _not_is_everything(self) -> bool:
        depth = 0
        for position in range(self.at + 1, len(self.tokens)):
            kind = self.tokens[position].kind
            depth += (kind == "(") - (kind == ")")
            if depth <= 0:
                return position > self.at + 1 and self.tokens[position + 1].kind == "end"
        return False

    def test(self) -> Value:
        if self.kind == "-" and self.tokens[self.at + 1].kind in (",", "end", ")"):
            self.at += 1
            return lambda view, it: True
        symbol = self.take("<", "<=", ">", ">=", "=", "!=")
        if symbol is not None:
            return C.bound(symbol.kind, self.sum())
        part = self.expression()
        if part.verdict:
            return part.value
        return C.matches_fixed(part.value({}, None)) if part.fixed else C.matches(part.value)

    # ---- expressions, from the weakest operator to the strongest

    def expression(self) -> Part:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"It is nested more than {MAX_DEPTH} deep")
        part = self.choice() if self.kind == "if" else self.logic()
        self.depth -= 1
        return part

    def choice(self) -> Part:
        self.expect("if")
        condition = self.expression().value
        self.expect("then")
        yes = self.expression().value
        self.expect("else")
        no = self.expression().value
        return Part(lambda view, it: yes(view, it) if condition(view, it) is True else no(view, it))

    def logic(self) -> Part:
        return self._joined("or", True, lambda: self._joined("and", False, self.comparison))

    def _joined(self, word: str, decisive: bool, inner: Callable[[], Part]) -> Part:
        first = inner()
        if self.kind != word:
            return first
        every = [first.value]
        while self.take(word):
            every.append(inner().value)
        return Part(C.three_valued(every, decisive), True)

    def comparison(self) -> Part:
        part = self.sum()
        left = part.value
        symbol = self.take("<", "<=", ">", ">=", "=", "!=")
        if symbol is not None:
            return Part(C.comparison(symbol.kind, left, self.sum().value), True)
        if self.take("between"):
            low = self.sum().value
            self.expect("and")
            high = self.sum().value
            return Part(lambda view, it: Range(low(view, it), high(view, it), (True, True)).holds(left(view, it)), True)
        if self.take("in"):
            test = self._in_tests()
            return Part(lambda view, it: test(view, left(view, it)), True)
        return part

    def _in_tests(self) -> Value:
        if self.kind == "(" and not self._is_range():
            self.at += 1
            test = self.tests()
            self.expect(")")
            return test
        return self.test()

    def _is_range(self) -> bool:
        depth = 0
        for token in self.tokens[self.at :]:
            depth += (token.kind in "([") - (token.kind in ")]")
            if token.kind == ".." and depth == 1:
                return True
            if depth == 0:
                return False
        return False

    def sum(self) -> Part:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), lambda: self._chain(("**",), self.sign)))

    def _chain(self, symbols: tuple[str, ...], inner: Callable[[], Part]) -> Part:
        part = inner()
        while (symbol := self.take(*symbols)) is not None:
            right = inner()
            part = Part(C.calculation(symbol.kind, part.value, right.value), fixed=part.fixed and right.fixed)
        return part

    def sign(self) -> Part:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"It is nested more than {MAX_DEPTH} deep")
        minus = self.take("-")
        part = self.sign() if minus else self.path()
        if minus:
            part = Part(C.calculation("-", lambda view, it: 0, part.value), fixed=part.fixed)
        self.depth -= 1
        return part

    def path(self) -> Part:
        part = self.primary()
        while True:
            if self.take("."):
                part = Part(C.member(part.value, self.expect("name").text))
            elif self.kind == "[" and self.tokens[self.at + 1].kind in ("number", "-") and not self._is_range():
                self.at += 1
                part = Part(C.index(part.value, self.sum().value))
                self.expect("]")
            else:
                return part

    def primary(self) -> Part:
        token = self.tokens[self.at]
        self.at += 1
        match token.kind:
            case "number":
                return C.fixed(float(token.text) if re.search(r"[.eE]", token.text) else int(token.text))
            case "string":
                return C.fixed(_unquoted(token.text))
            case "true" | "false" | "null":
                return C.fixed({"true": True, "false": False, "null": None}[token.kind])
            case "?":
                return Part(lambda view, it: it, True)
            case "@":
                return self._moment(_unquoted(self.expect("string").text))
            case "(" | "[" | "]":
                return self._bracket(token)
            case "not" if self.kind == "(":
                return self._call("not")
            case "name":
                return self._named(token.text)
        self.at -= 1
        raise self.wrong("Here a value is expected" if token.kind == "end" else f"«{token.text}» is not read here")

    def _moment(self, text: str) -> Part:
        moment = temporal(text)
        if moment is None:
            self.at -= 1
            raise self.wrong(f"«{text}» is no date, time or duration")
        return C.fixed(moment)

    def _bracket(self, opening: _Token) -> Part:
        """A range, a list, or an expression in brackets."""
        if opening.kind == "[" and self.take("]"):
            return C.fixed([])
        part = self.expression()
        first = part.value
        if self.take(".."):
            end = self.sum()
            high, closing = end.value, self.expect("]", ")", "[")
            closed = (opening.kind == "[", closing.kind == "]")
            return Part(lambda view, it: Range(first(view, it), high(view, it), closed), fixed=part.fixed and end.fixed)
        if opening.kind == "(":
            self.expect(")")
            return part
        if opening.kind == "]":
            raise self.wrong("Here «..» is expected")
        parts = [part]
        while self.take(","):
            parts.append(self.expression())
        self.expect("]")
        items = [item_part.value for item_part in parts]
        return Part(
            lambda view, it: [item(view, it) for item in items], fixed=all(item_part.fixed for item_part in parts)
        )

    def _named(self, name: str) -> Part:
        words, place = [name], self.at
        while self.kind in ("name", "and"):  # function names may have several words: starts with(…), date and time(…)
            words.append(self.tokens[self.at].text)
            self.at += 1
        if self.kind == "(" and " ".join(words) in FUNCTIONS:
            return self._call(" ".join(words))
        self.at = place
        if self.kind == "(":
            raise self.wrong(f"There is no function «{name}» here")
        return Part(C.name(name))

    def _call(self, name: str) -> Part:
        function = FUNCTIONS[name]
        self.expect("(")
        written = self.tokens[self.at]
        if name in _MOMENTS and written.kind == "string" and function.call(_unquoted(written.text)) is None:
            raise self.wrong(f"{written.text} is no {name}")
        parts: list[Part] = []
        while self.kind != ")":
            parts.append(self.expression())
            if not self.take(","):
                break
        self.expect(")")
        if not function.least <= len(parts) <= function.most:
            raise self.wrong(f"«{name}» does not take {len(parts)} argument(s)")
        call, given = function.call, [part.value for part in parts]
        fixed = all(part.fixed for part in parts)
        return Part(lambda view, it: call(*[part(view, it) for part in given]), function.verdict, fixed)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1], flags=re.S)
