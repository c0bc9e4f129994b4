"""expression: the house's own language as an executor."""

from __future__ import annotations

import pytest

from penstock.executors.expression import ExpressionExecutor

EXPRESSION = ExpressionExecutor()


def test_inputs_and_arguments_are_names(bench):
    assert bench.done(EXPRESSION, {"expression": "a + limit * 2", "limit": 5}, {"a": 1}).body == 11
    assert bench.done(EXPRESSION, "default == 'x'", {"a": "x"}).body is True
    assert bench.done(EXPRESSION, "epoch", epoch=3).body == 3


@pytest.mark.parametrize("text", ["1 +", "(", "a b", "nobody + 1", "1 / 0", "fn.nothing(1)", "'a' * {}"])
def test_a_wrong_expression_is_a_failure_with_a_code(bench, text):
    failure = bench.failed(EXPRESSION, text)
    assert failure.category == "validation"
    assert failure.code
    assert failure.message


def test_bad_arguments(bench):
    assert bench.failed(EXPRESSION, {"expression": 5}).code == "INPUT_INVALID"
