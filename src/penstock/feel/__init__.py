"""FEEL, the expression language of DMN 1.5: one engine for rules, decision models, conditions and programs.

    >>> from penstock import feel
    >>> feel.evaluate("for x in [1, 2, 3] return x * 0.1")
    [Decimal('0.1'), Decimal('0.2'), Decimal('0.3')]

`compile` once and `evaluate` often. What has no result is null, and `Result.warnings` say where and why; with
`strict=True` it is a FeelError instead. Nothing here reads a clock: `now()` and `today()` are what `now=` says. Limits
of steps, depth and sizes bound every evaluation (`Limits`).

For decision models there is a lower level: `Expression.value(names, evaluation)` takes FEEL values by name (a context,
a `Function`, …) and an `Evaluation` that several expressions share.
"""

from penstock.errors import FeelError, FeelLimit, FeelSyntaxError
from penstock.feel import types, values
from penstock.feel.evaluation import Evaluation, Fault, FeelWarning, Limits
from penstock.feel.expression import (
    Expression,
    Result,
    Tests,
    compile,  # noqa: A004
    compile_unary_tests,
    evaluate,
    nested_names,
    parse,
    parse_tests,
)
from penstock.feel.functions import TABLE as FUNCTIONS
from penstock.feel.types import Type, coerced, is_instance
from penstock.feel.values import Function, Parameter, Range
from penstock.feel.values.python import from_python, to_json, to_python
from penstock.feel.values.text import written

__all__ = [
    "FUNCTIONS",
    "Evaluation",
    "Expression",
    "Fault",
    "FeelError",
    "FeelLimit",
    "FeelSyntaxError",
    "FeelWarning",
    "Function",
    "Limits",
    "Parameter",
    "Range",
    "Result",
    "Tests",
    "Type",
    "coerced",
    "compile",
    "compile_unary_tests",
    "evaluate",
    "from_python",
    "is_instance",
    "nested_names",
    "parse",
    "parse_tests",
    "to_json",
    "to_python",
    "types",
    "values",
    "written",
]
