"""Reads FEEL, the part that decision tables are written in: unary tests and simple expressions, as closures.

Our own reader and not a library's: those we tried read neither `-` nor `not(…)`, and tell no place. Names may hold
spaces when they are known. What is not data (null, a wrong kind) compares to null, which no test accepts. Contexts,
loops, filters and user functions are refused where they stand, so the length of the text bounds the work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

from penstock.errors import ExprNotSupported, ExprSyntaxError
from penstock.executors.parts.rules.feel import closures as C
from penstock.executors.parts.rules.feel import temporal
from penstock.executors.parts.rules.feel.closures import Part, Value, View
from penstock.executors.parts.rules.feel.functions import FUNCTIONS
from penstock.executors.parts.rules.feel.numbers import literal
from penstock.executors.parts.rules.feel.refusal import NotSupported
from penstock.executors.parts.rules.feel.temporal import TEMPORAL_TYPES
from penstock.executors.parts.rules.feel.tokens import CONSTRUCTS, Token, broken, not_read, tokens, unquoted
from penstock.executors.parts.rules.feel.values import Range, plain
from penstock.lang.report import did_you_mean

MAX_DEPTH = 40
ANY = frozenset({"", "-"})

#: The functions that make moments of texts, and the kinds of what a text may be there.
_MOMENTS = {
    "date": ("date",), "time": ("time",), "date and time": ("date and time", "date"),
    "duration": ("days and time duration", "years and months duration"),
}  # fmt: skip
_SECOND_WORDS = frozenset({"time offset", "start included", "end included"})


def compile_test(text: str, names: Collection[str] = (), kind: str = "") -> Value | None:
    """A cell of an input column as `test(names, value)`, which gives True, False or None; None for a cell that takes
    everything. `kind` is that of the column, where it is known. Raises ExprSyntaxError."""
    if text.strip() in ANY:
        return None
    return _test(text, _spaced(names), kind)


def compile_value(text: str, names: Collection[str] = ()) -> Callable[[View], Any]:
    """An expression as `value(names)`; dates in it are dates until somebody makes plain data of them."""
    value = _value(text, _spaced(names))

    def evaluate(view: View) -> Any:
        try:
            return value(view, None)
        except NotSupported as refusal:
            raise ExprNotSupported(why=str(refusal), expression=text) from None

    return evaluate


def _spaced(names: Collection[str]) -> frozenset[str]:
    """Names that the tokens alone would not find: those that begin as a name and go on otherwise."""
    return frozenset(name for name in names if name[:1].isalpha() and not name.isidentifier())


@lru_cache(4_096)
def _test(text: str, names: frozenset[str], kind: str) -> Value:
    reader = _Reader(text, names, kind)
    test = reader.tests(whole=True)
    reader.expect("end")
    return test


@lru_cache(1_024)
def _value(text: str, names: frozenset[str]) -> Value:
    reader = _Reader(text, names)
    part = reader.expression()
    reader.expect("end")
    if part.fixed:
        try:
            plain(part.value({}, None))
        except NotSupported as refusal:
            raise broken(text, 0, str(refusal)) from None
    return part.value


def names_read(text: str, names: Collection[str] = (), *, test: bool = False) -> frozenset[str]:
    """The names that a text reads, where it can be read."""
    if test and text.strip() in ANY:
        return frozenset()
    reader = _Reader(text, _spaced(names))
    try:
        reader.tests(whole=True) if test else reader.expression()
    except ExprSyntaxError:
        return frozenset()
    return frozenset(reader.read)


class _Reader:
    """One text, read from the left; every method gives the closure of what it has read."""

    def __init__(self, source: str, names: Collection[str], kind: str = "") -> None:
        self.source, self.kind_tested = source, kind
        self.tokens = tokens(source, names)
        self.at = 0
        self.depth = 0
        self.read: set[str] = set()

    # ---- tokens

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def take(self, *kinds: str) -> Token | None:
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def expect(self, *kinds: str) -> Token:
        token = self.take(*kinds)
        if token is None:
            following = self.tokens[self.at].text
            if following in CONSTRUCTS:
                raise self.wrong(not_read(following))
            wanted = "the end" if kinds == ("end",) else " or ".join(f"«{kind}»" for kind in kinds)
            raise self.wrong(f"Here {wanted} is expected")
        return token

    def wrong(self, why: str) -> ExprSyntaxError:
        return broken(self.source, self.tokens[self.at].start, why)

    def folded(self, value: Value, start: int, *parts: Part, verdict: bool = False) -> Part:
        """The part; worked out at once where all that it is made of is fixed, so that a refusal comes here."""
        if not all(part.fixed for part in parts):
            return Part(value, verdict)
        try:
            return C.fixed(value({}, None))._replace(verdict=verdict)
        except NotSupported as refusal:
            raise broken(self.source, start, str(refusal)) from None

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
            return C.bound(symbol.kind, self._of_kind_tested(self.sum()))
        part = self._of_kind_tested(self.expression())
        if part.verdict:
            return part.value
        return C.matches_fixed(part.value({}, None)) if part.fixed else C.matches(part.value)

    def _of_kind_tested(self, part: Part) -> Part:
        """A text beside a date is no date in FEEL, and would take nothing without a word."""
        if self.kind_tested in TEMPORAL_TYPES and C.written(part):
            function = "duration" if "duration" in self.kind_tested else self.kind_tested
            raise self.wrong(f'The column is a {self.kind_tested}, and this is a text: write {function}("…")')
        return part

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
            return Part(C.comparison(symbol.kind, part, self.sum()), True)
        if self.take("between"):
            low = self.sum()
            self.expect("and")
            return Part(C.between(part, low, self.sum()), True)
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
            part = self.folded(C.calculation(symbol.kind, part, right), symbol.start, part, right)
        return part

    def sign(self) -> Part:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.wrong(f"It is nested more than {MAX_DEPTH} deep")
        minus = self.take("-")
        part = self.sign() if minus else self.path()
        if minus:
            part = self.folded(C.negation(part), minus.start, part)
        self.depth -= 1
        return part

    def path(self) -> Part:
        start = self.tokens[self.at].start
        part = self.primary()
        while True:
            if self.take("."):
                part = self.folded(C.member(part, self._member()), start, part)
            elif self.kind == "[" and self.tokens[self.at + 1].kind in ("number", "-") and not self._is_range():
                self.at += 1
                place = self.sum()
                self.expect("]")
                part = self.folded(C.index(part.value, place.value), start, part, place)
            else:
                return part

    def _member(self) -> str:
        name = self.expect("name").text
        following = self.tokens[self.at]
        if following.kind == "name" and f"{name} {following.text}" in _SECOND_WORDS:
            self.at += 1
            return f"{name} {following.text}"
        return name

    def primary(self) -> Part:
        token = self.tokens[self.at]
        self.at += 1
        match token.kind:
            case "number":
                return C.fixed(literal(token.text))
            case "string":
                return C.fixed(unquoted(token.text))
            case "true" | "false" | "null":
                return C.fixed({"true": True, "false": False, "null": None}[token.kind])
            case "?":
                return Part(lambda view, it: it, True)
            case "@":
                return self._moment(unquoted(self.expect("string").text))
            case "(" | "[" | "]":
                return self._bracket(token)
            case "not" if self.kind == "(":
                return self._call("not")
            case "name":
                return self._named(token.text)
        self.at -= 1
        raise self.wrong("Here a value is expected" if token.kind == "end" else f"«{token.text}» is not read here")

    def _moment(self, text: str) -> Part:
        return C.fixed(self._read_moment(text, self.at - 1, "date, time or duration", ()))

    def _read_moment(self, text: str, at: int, what: str, kinds: Collection[str]) -> temporal.Temporal:
        start = self.tokens[at].start
        try:
            moment = temporal.read(text)
        except NotSupported as refusal:
            raise broken(self.source, start, str(refusal)) from None
        if moment is None or (kinds and temporal.kind_of(moment) not in kinds):
            raise broken(self.source, start, f"«{text}» is no {what}")
        return moment

    def _bracket(self, opening: Token) -> Part:
        """A range, a list, or an expression in brackets."""
        if opening.kind == "[" and self.take("]"):
            return C.fixed([])
        part = self.expression()
        if self.take(".."):
            return self._range(opening, part, self.sum())
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
        return self.folded(lambda view, it: [item(view, it) for item in items], opening.start, *parts)

    def _range(self, opening: Token, start: Part, end: Part) -> Part:
        low, high, closing = start.value, end.value, self.expect("]", ")", "[")
        closed, typed = (opening.kind == "[", closing.kind == "]"), C.written(start) or C.written(end)
        return self.folded(
            lambda view, it: Range(low(view, it), high(view, it), closed, typed), opening.start, start, end
        )

    def _named(self, name: str) -> Part:
        if name in CONSTRUCTS and self.kind in ("name", "("):
            self.at -= 1
            raise self.wrong(not_read(name))
        words, place = [name], self.at
        while self.kind in ("name", "and"):  # function names may have several words: starts with(…), date and time(…)
            words.append(self.tokens[self.at].text)
            self.at += 1
        if self.kind == "(" and " ".join(words) in FUNCTIONS:
            return self._call(" ".join(words))
        self.at = place
        if "(" in (self.kind, self.tokens[self.at + len(words) - 1].kind):
            self.at -= 1
            called = " ".join(words) if self.tokens[self.at + 1].kind != "(" else name
            hint = did_you_mean(called, FUNCTIONS, "")
            raise self.wrong(f"The function «{called}» is not known here{f' ({hint})' if hint.endswith('?') else ''}")
        self.read.add(name)
        return Part(C.name(name))

    def _call(self, name: str) -> Part:
        function = FUNCTIONS[name]
        self.expect("(")
        start, written = self.tokens[self.at - 1].start, self.tokens[self.at]
        if name in _MOMENTS and written.kind == "string":
            self._read_moment(unquoted(written.text), self.at, name, _MOMENTS[name])
        parts: list[Part] = []
        while self.kind != ")":
            parts.append(self.expression())
            if not self.take(","):
                break
        self.expect(")")
        if not function.least <= len(parts) <= function.most:
            raise self.wrong(f"«{name}» does not take {len(parts)} argument(s)")
        call, given = function.call, [part.value for part in parts]
        return self.folded(
            lambda view, it: call(*[part(view, it) for part in given]), start, *parts, verdict=function.verdict
        )
