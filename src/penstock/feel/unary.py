"""Closures of unary tests: `test(value, names, evaluation)` is true, false or null."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.feel import nodes as N
from penstock.feel.evaluation import Evaluation, Where
from penstock.feel.operators import check_truth, ordering, same
from penstock.feel.values.compare import includes
from penstock.feel.values.ranges import Range

if TYPE_CHECKING:
    from penstock.feel.compile import Compiler, Value

Names = Mapping[str, Any]
Test = Callable[[Any, Names, Evaluation], "bool | None"]
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBERS = (int, Decimal)


def whole_tests_closure(compiler: Compiler, node: N.Tests) -> Test:
    """A cell of a table: any value, tests, or none of them."""
    if node.any:
        return lambda value, names, evaluation: True
    tests = tests_closure(compiler, node.tests)
    if not node.negated:
        return tests

    def negated(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
        truth = tests(value, names, evaluation)
        return None if truth is None else not truth

    return negated


def tests_closure(compiler: Compiler, nodes: tuple[N.Test, ...]) -> Test:
    tests = [_test(compiler, node) for node in nodes]
    if len(tests) == 1:
        return tests[0]

    def any_of(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
        answer: bool | None = False
        for test in tests:
            truth = test(value, names, evaluation)
            if truth is True:
                return True
            if truth is None:
                answer = None
        return answer

    return any_of


def _test(compiler: Compiler, node: N.Test) -> Test:
    where = compiler.where(node)
    if node.operator:
        return _compared(node.operator, compiler.compile(node.operand), node.operand, where)
    if node.asks:
        return _asked(compiler, node)
    value = compiler.compile(node.operand)
    if isinstance(node.operand, N.Literal):
        return _constant(node.operand.value, where)
    if isinstance(node.operand, N.RangeLiteral):
        return _range(node.operand, value, where)
    return _expression(value, where)


def _compared(symbol: str, operand: Value, node: N.Node, where: Where) -> Test:
    if symbol in ("=", "!="):
        wanted = symbol == "="

        def equals(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
            truth = same(value, operand(names, evaluation), where, evaluation)
            return None if truth is None else truth is wanted

        return equals
    bound = node.value if isinstance(node, N.Literal) else None
    if type(bound) in _NUMBERS:
        compare = _ORDER[symbol]

        def ordered(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
            kind = type(value)
            if kind is int or kind is Decimal:
                return compare(value, bound)  # type: ignore[no-any-return]
            return ordering(symbol, value, bound, where, evaluation)

        return ordered
    return lambda value, names, evaluation: ordering(symbol, value, operand(names, evaluation), where, evaluation)


def _asked(compiler: Compiler, node: N.Test) -> Test:
    """An expression that reads `?` is its own answer."""
    verdict, free = compiler.inside(node.operand, ["?"])
    where = compiler.where(node.operand)

    def asked(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
        scope = {"?": value}
        for name in free:
            if name in names:
                scope[name] = names[name]
        truth = verdict(scope, evaluation)
        if type(truth) is bool:
            return truth
        check_truth(truth, where, evaluation)
        return None

    return asked


def _constant(wanted: Any, where: Where) -> Test:
    if type(wanted) is str:

        def is_text(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
            return value == wanted if type(value) is str else same(value, wanted, where, evaluation)

        return is_text
    return lambda value, names, evaluation: same(value, wanted, where, evaluation)


def _range(node: N.RangeLiteral, made: Value, where: Where) -> Test:
    low = node.low.value if isinstance(node.low, N.Literal) else None
    high = node.high.value if isinstance(node.high, N.Literal) else None
    general = _expression(made, where)
    if type(low) not in _NUMBERS or type(high) not in _NUMBERS:
        return general
    above: Callable[[Any, Any], bool] = operator.ge if node.low_closed else operator.gt
    below: Callable[[Any, Any], bool] = operator.le if node.high_closed else operator.lt

    def within(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
        kind = type(value)
        if kind is int or kind is Decimal:
            return above(value, low) and below(value, high)
        return general(value, names, evaluation)

    return within


def _expression(made: Value, where: Where) -> Test:
    """Equal to it, in it where it is a list or a range; true where it says so itself and no boolean is asked about."""

    def test(value: Any, names: Names, evaluation: Evaluation) -> bool | None:
        wanted = made(names, evaluation)
        if type(wanted) is Range:
            return includes(wanted, value)
        if type(wanted) is list:
            budget = evaluation.budget()
            budget[0] -= 2 * len(wanted)
            held = includes(wanted, value, budget)
            evaluation.settle(budget)
            return held
        if type(wanted) is bool and type(value) is not bool:
            return wanted
        return same(value, wanted, where, evaluation)

    return test
