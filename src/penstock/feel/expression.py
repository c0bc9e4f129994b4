"""Expressions and unary tests as people use them: compiled from text, evaluated with plain values of Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from penstock.errors import FeelLimit
from penstock.feel import nodes as N
from penstock.feel.compile import Compiler
from penstock.feel.evaluation import STANDARD, Evaluation, Exceeded, FeelWarning, Limits, Where, syntax_error
from penstock.feel.functions import TABLE
from penstock.feel.grammar import Grammar
from penstock.feel.names import KnownNames
from penstock.feel.types import Type
from penstock.feel.unary import whole_tests_closure
from penstock.feel.values.python import SCALARS, from_python
from penstock.feel.values.temporal_math import PROPERTY_NAMES

_NO_NAMES: Mapping[str, Any] = {}
_FUNCTION_NAMES = KnownNames(TABLE)
_MEMBER_NAMES = KnownNames([*PROPERTY_NAMES, "start included", "end included"])
_MOST_KEYS = 10_000


class Result(NamedTuple):
    """A value of FEEL, and why parts of the expression were null."""

    value: Any
    warnings: list[FeelWarning]


class Expression:
    """A compiled expression; it can be evaluated any number of times, from several threads."""

    __slots__ = ("names", "node", "source", "strict", "value")

    def __init__(self, source: str, node: N.Node, strict: bool, shadowing: frozenset[str]) -> None:
        compiler = Compiler(source, shadowing)
        self.source = source
        self.node = node
        self.strict = strict
        #: the closure `value(names, evaluation)`, which takes and gives values of FEEL
        self.value = _guarded(source, lambda: compiler.compile(node))
        #: the names that it reads from outside
        self.names = tuple(sorted(compiler.reads))

    def evaluate(
        self,
        context: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,
        limits: Limits | None = None,
        strict: bool | None = None,
    ) -> Result:
        """The value with the names of `context`, which has values of Python."""
        given = converted(context, self.names) if context else _NO_NAMES
        evaluation = Evaluation(
            None if now is None else from_python(now), limits or STANDARD, self.strict if strict is None else strict
        )
        try:
            return Result(self.value(given, evaluation), evaluation.warnings)
        except (Exceeded, RecursionError) as error:
            raise limit_error(error, self.source) from None


class Tests:
    """Compiled unary tests: a cell of a decision table, or the allowed values of a type."""

    __slots__ = ("names", "node", "source", "test")

    def __init__(self, source: str, node: N.Tests, shadowing: frozenset[str]) -> None:
        compiler = Compiler(source, shadowing)
        self.source = source
        self.node = node
        #: the closure `test(value, names, evaluation)`, which takes values of FEEL
        self.test = _guarded(source, lambda: whole_tests_closure(compiler, node))
        self.names = tuple(sorted(compiler.reads))

    def matches(
        self,
        value: Any,
        context: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,
        limits: Limits | None = None,
        strict: bool = False,
    ) -> bool:
        """Whether the value passes; a test that is null does not hold."""
        return self.evaluate(value, context, now=now, limits=limits, strict=strict).value is True

    def evaluate(
        self,
        value: Any,
        context: Mapping[str, Any] | None = None,
        *,
        now: datetime | None = None,
        limits: Limits | None = None,
        strict: bool = False,
    ) -> Result:
        """true, false or null, with the warnings."""
        given = converted(context, self.names) if context else _NO_NAMES
        tested = value if type(value) in SCALARS else from_python(value)
        evaluation = Evaluation(None if now is None else from_python(now), limits or STANDARD, strict)
        try:
            return Result(self.test(tested, given, evaluation), evaluation.warnings)
        except (Exceeded, RecursionError) as error:
            raise limit_error(error, self.source) from None


def parse(
    text: str,
    names: Iterable[str] = (),
    *,
    members: Iterable[str] | KnownNames = (),
    types: Mapping[str, Type] | None = None,
) -> N.Node:
    """The nodes of an expression. `names` are in scope; `members` are names that entries of contexts have; `types` are
    known to `instance of` and parameters. Only names with blanks or signs need to be told."""
    return _grammar(text, names, members, types).whole_expression()


def parse_tests(
    text: str,
    names: Iterable[str] = (),
    *,
    members: Iterable[str] | KnownNames = (),
    types: Mapping[str, Type] | None = None,
) -> N.Tests:
    """The nodes of unary tests."""
    return _grammar(text, names, members, types).whole_tests()


def compile(
    text: str,
    names: Iterable[str] = (),
    *,
    members: Iterable[str] | KnownNames = (),
    types: Mapping[str, Type] | None = None,
    strict: bool = False,
) -> Expression:
    """A compiled expression; FeelSyntaxError says where the text cannot be read."""
    names = tuple(names)
    node = _guarded(text, lambda: parse(text, names, members=members, types=types))
    return Expression(text, node, strict, frozenset(names))


def compile_unary_tests(
    text: str,
    names: Iterable[str] = (),
    *,
    members: Iterable[str] | KnownNames = (),
    types: Mapping[str, Type] | None = None,
) -> Tests:
    """Compiled unary tests: `-`, `< 5, [10..20)`, `not("a", "b")`, `? > limit`."""
    names = tuple(names)
    node = _guarded(text, lambda: parse_tests(text, names, members=members, types=types))
    return Tests(text, node, frozenset(names))


def evaluate(
    text: str,
    context: Mapping[str, Any] | None = None,
    *,
    now: datetime | None = None,
    limits: Limits | None = None,
    strict: bool = False,
) -> Any:
    """The value of an expression, in one step. Names are those of the context and of everything in it."""
    expression = compile(text, tuple(context or ()), members=nested_names(context), strict=strict)
    return expression.evaluate(context, now=now, limits=limits).value


def nested_names(value: Any) -> set[str]:
    """The keys of everything inside a value: names that may stand behind a dot or in a filter."""
    names: set[str] = set()
    pending = [value]
    looked_at = 0
    while pending and looked_at < _MOST_KEYS:
        looked_at += 1
        part = pending.pop()
        if isinstance(part, Mapping):
            names.update(str(key) for key in part)
            pending.extend(part.values())
        elif isinstance(part, list | tuple):
            pending.extend(part[:_MOST_KEYS])
    return names


def converted(context: Mapping[str, Any], wanted: tuple[str, ...]) -> Mapping[str, Any]:
    """The context itself where the wanted names already have values of FEEL; else those names, converted."""
    for name in wanted:
        if name in context and type(context[name]) not in SCALARS:
            return {each: from_python(context[each]) for each in wanted if each in context}
    return context


def limit_error(error: Exceeded | RecursionError, source: str) -> FeelLimit:
    """The error of an evaluation that went too far."""
    if isinstance(error, Exceeded):
        error.where = error.where or Where(source, 0)
        return error.error()
    return Exceeded("it is nested too deeply", Where(source, 0)).error()


def _grammar(
    text: str, names: Iterable[str], members: Iterable[str] | KnownNames, types: Mapping[str, Type] | None
) -> Grammar:
    return Grammar(text, _FUNCTION_NAMES.plus(names), _MEMBER_NAMES.plus(members), types or {})


def _guarded(source: str, make: Any) -> Any:
    """Reading and compiling follow the nesting of the text: what is too deep is an error of the text."""
    try:
        return make()
    except RecursionError:
        raise syntax_error(source, 0, "It is nested too deeply") from None
