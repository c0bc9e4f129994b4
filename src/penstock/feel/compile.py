"""Compiles nodes into closures `value(names, evaluation)`.

`names` maps what is in scope to FEEL values. Which names a part reads is known when it is compiled, so a loop or a
function carries only those with it. Constants are folded into the closures that compare with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from penstock.errors import ExprNotSupported
from penstock.feel import nodes as N
from penstock.feel.evaluation import Evaluation, Exceeded, Fault, Where
from penstock.feel.functions import TABLE
from penstock.feel.invoke import invoke
from penstock.feel.operators import (
    arithmetic_closure,
    check_truth,
    comparison_closure,
    logic_closure,
    negation_closure,
)
from penstock.feel.paths import filter_closure, path_closure
from penstock.feel.types import is_instance
from penstock.feel.values.compare import order
from penstock.feel.values.functions import Function
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.ranges import Range

Names = Mapping[str, Any]
Value = Callable[[Names, Evaluation], Any]
_NODES_A_STEP = 8


class Compiler:
    """Compiles the nodes of one text; `reads` are the names that the text takes from outside."""

    def __init__(self, source: str, shadowing: frozenset[str] = frozenset()) -> None:
        self.source = source
        self.bound = shadowing & TABLE.keys()  # names that are surely in scope, and so no functions of the table
        self.reads: set[str] = set()

    def where(self, node: N.Node) -> Where:
        return Where(self.source, node.at)

    def compile(self, node: N.Node) -> Value:
        return _COMPILERS[type(node)](self, node)  # type: ignore[no-any-return]

    def inside(self, node: N.Node, bound: list[str]) -> tuple[Value, tuple[str, ...]]:
        """A part with names of its own: its closure, and the names that it reads from outside."""
        outer_reads, outer_bound = self.reads, self.bound
        self.reads, self.bound = set(), outer_bound | frozenset(bound)
        value = self.compile(node)
        free = self.reads.difference(bound)
        self.reads, self.bound = outer_reads | free, outer_bound
        return value, tuple(sorted(free))

    # ---- names and constants -----------------------------------------------------------------------------------------

    def literal(self, node: N.Literal) -> Value:
        value = node.value
        return lambda names, evaluation: value

    def name(self, node: N.Name) -> Value:
        name, where = node.name, self.where(node)
        self.reads.add(name)

        def read(names: Names, evaluation: Evaluation) -> Any:
            try:
                return names[name]
            except KeyError:
                if name in TABLE:
                    return TABLE[name]
                evaluation.warn(where, f"There is no «{name}» here")
                return None

        return read

    def input(self, node: N.Input) -> Value:
        return self.name(N.Name(node.at, "?"))

    # ---- calls and paths ---------------------------------------------------------------------------------------------

    def call(self, node: N.Call) -> Value:
        where, names_given = self.where(node), node.names
        arguments = [self.compile(argument) for argument in node.arguments]
        if isinstance(node.function, N.Name) and node.function.name in TABLE and node.function.name not in self.bound:
            function = TABLE[node.function.name]
            return _call(lambda names, evaluation: function, arguments, names_given, where, node.function.name)
        shown = node.function.name if isinstance(node.function, N.Name) else ""
        return _call(self.compile(node.function), arguments, names_given, where, shown)

    def path(self, node: N.Path) -> Value:
        return path_closure(self.compile(node.base), node.name, self.where(node))

    def filter(self, node: N.Filter) -> Value:
        base = self.compile(node.base)
        condition, free = self.inside(node.condition, ["item"])
        return filter_closure(base, condition, free, node.condition, self.where(node), round_cost(node.condition))

    # ---- operators ---------------------------------------------------------------------------------------------------

    def arithmetic(self, node: N.Arithmetic) -> Value:
        rest = [(operator, self.compile(operand), Where(self.source, at)) for operator, operand, at in node.rest]
        return arithmetic_closure(self.compile(node.first), rest)

    def negation(self, node: N.Negation) -> Value:
        if isinstance(node.operand, N.Literal) and kind_of(node.operand.value) == "number":
            value = -node.operand.value
            return lambda names, evaluation: value
        return negation_closure(self.compile(node.operand), self.where(node))

    def comparison(self, node: N.Comparison) -> Value:
        left, right = self.compile(node.left), self.compile(node.right)
        return comparison_closure(node, left, right, self.where(node))

    def logic(self, node: N.Logic) -> Value:
        places = [self.where(operand) for operand in node.operands]
        return logic_closure([self.compile(operand) for operand in node.operands], node.operator == "or", places)

    def between(self, node: N.Between) -> Value:
        value, low, high = self.compile(node.value), self.compile(node.low), self.compile(node.high)
        where = self.where(node)

        def between(names: Names, evaluation: Evaluation) -> bool | None:
            given, least, most = value(names, evaluation), low(names, evaluation), high(names, evaluation)
            first, second = order(given, least), order(given, most)
            if first is None or second is None:
                if given is not None and least is not None and most is not None:
                    evaluation.warn(where, f"A {kind_of(given)} is not between these two")
                return False if (first is not None and first < 0) or (second is not None and second > 0) else None
            return first >= 0 and second <= 0

        return between

    def within(self, node: N.In) -> Value:
        from penstock.feel.unary import tests_closure

        value = self.compile(node.value)
        tests = tests_closure(self, node.tests)
        return lambda names, evaluation: tests(value(names, evaluation), names, evaluation)

    def instance_of(self, node: N.InstanceOf) -> Value:
        value, wanted = self.compile(node.value), node.type

        def asked(names: Names, evaluation: Evaluation) -> bool:
            given = value(names, evaluation)
            if type(given) is list:
                evaluation.spend(len(given) >> 2)
            return is_instance(given, wanted)

        return asked

    # ---- branches and loops ------------------------------------------------------------------------------------------

    def choice(self, node: N.If) -> Value:
        """A condition that is null takes the other way, like one that is false."""
        branches = [
            (self.compile(condition), self.compile(then), self.where(condition)) for condition, then in node.branches
        ]
        otherwise = self.compile(node.otherwise)

        def choose(names: Names, evaluation: Evaluation) -> Any:
            for condition, then, where in branches:
                truth = condition(names, evaluation)
                if truth is True:
                    return then(names, evaluation)
                if truth is not False:
                    check_truth(truth, where, evaluation)
            return otherwise(names, evaluation)

        return choose

    def loop(self, node: N.For) -> Value:
        from penstock.feel.loops import for_closure

        return for_closure(self, node)

    def quantified(self, node: N.Quantified) -> Value:
        from penstock.feel.loops import quantified_closure

        return quantified_closure(self, node)

    # ---- what makes values -------------------------------------------------------------------------------------------

    def function(self, node: N.FunctionLiteral, name: str = "") -> Value:
        parameters, where = node.parameters, self.where(node)
        if node.external:
            return _external(where)
        body, free = self.inside(node.body, [parameter.name for parameter in parameters])
        cost = round_cost(node.body) - 1  # the call has its own

        def make(names: Names, evaluation: Evaluation) -> Function:
            captured = inherited(names, free)

            def call(evaluation: Evaluation, *arguments: Any) -> Any:
                if cost:
                    evaluation.spend(cost)
                inner = dict(captured)
                for parameter, argument in zip(parameters, arguments, strict=True):
                    inner[parameter.name] = argument
                return body(inner, evaluation)

            function = Function(parameters, call, name=name, evaluates=True)
            if name and name in free:
                captured[name] = function
            return function

        return make

    def list(self, node: N.ListLiteral) -> Value:
        items = [self.compile(item) for item in node.items]
        return lambda names, evaluation: [item(names, evaluation) for item in items]

    def context(self, node: N.ContextLiteral) -> Value:
        """Each entry sees those before it, and a function itself."""
        outer_reads, outer_bound = self.reads, self.bound
        free: set[str] = set()
        entries: list[tuple[str, Value]] = []
        bound: set[str] = set()
        for key, part, _ in node.entries:
            self.reads = set()
            if isinstance(part, N.FunctionLiteral):
                self.bound = outer_bound | bound | {key}
                entries.append((key, self.function(part, key)))
                self.reads.discard(key)
            else:
                self.bound = outer_bound | bound
                entries.append((key, self.compile(part)))
            free |= self.reads - bound
            bound.add(key)
        self.reads, self.bound = outer_reads | free, outer_bound
        wanted = tuple(sorted(free))

        def make(names: Names, evaluation: Evaluation) -> dict[str, Any]:
            scope = inherited(names, wanted)
            context: dict[str, Any] = {}
            for key, entry in entries:
                context[key] = scope[key] = entry(scope, evaluation)
            return context

        return make

    def range(self, node: N.RangeLiteral) -> Value:
        low = self.compile(node.low) if node.low is not None else None
        high = self.compile(node.high) if node.high is not None else None
        closed, where = (node.low_closed, node.high_closed), self.where(node)
        unbounded = low is None or high is None

        def make(names: Names, evaluation: Evaluation) -> Range | None:
            least = low(names, evaluation) if low is not None else None
            most = high(names, evaluation) if high is not None else None
            if (least is None and most is None) or (not unbounded and order(least, most) is None):
                if least is not None and most is not None:
                    evaluation.warn(where, f"A {kind_of(least)} and a {kind_of(most)} are no ends of a range")
                    return None
            return Range(least, most, *closed)

        return make


def round_cost(body: N.Node) -> int:
    """The steps of one round: one, and more of a large body, so that a step takes about the same time everywhere."""
    return 1 + N.size(body) // _NODES_A_STEP


def inherited(names: Names, wanted: tuple[str, ...]) -> dict[str, Any]:
    """The names of an outer scope that an inner one reads."""
    inner: dict[str, Any] = {}
    for name in wanted:
        try:
            inner[name] = names[name]
        except KeyError:
            continue
    return inner


def _external(where: Where) -> Value:
    """What only another machine can work out has no value here, not even null."""

    def make(names: Names, evaluation: Evaluation) -> NoReturn:
        raise ExprNotSupported(why="Functions outside of FEEL are not called", expression=where.source)

    return make


def _call(function: Value, arguments: list[Value], given: tuple[str, ...], where: Where, shown: str) -> Value:
    def call(names: Names, evaluation: Evaluation) -> Any:
        called = function(names, evaluation)
        values = [argument(names, evaluation) for argument in arguments]
        if not isinstance(called, Function):
            if called is not None or not shown:
                evaluation.warn(where, f"{f'«{shown}»' if shown else 'What is called'} is no function")
            return None
        try:
            return invoke(called, values, evaluation, given)
        except Fault as fault:
            evaluation.warn(where, str(fault))
            return None
        except Exceeded as exceeded:
            exceeded.where = exceeded.where or where
            raise

    return call


_COMPILERS: dict[type, Any] = {
    N.Literal: Compiler.literal,
    N.Name: Compiler.name,
    N.Input: Compiler.input,
    N.Path: Compiler.path,
    N.Filter: Compiler.filter,
    N.Call: Compiler.call,
    N.Arithmetic: Compiler.arithmetic,
    N.Negation: Compiler.negation,
    N.Comparison: Compiler.comparison,
    N.Between: Compiler.between,
    N.In: Compiler.within,
    N.InstanceOf: Compiler.instance_of,
    N.Logic: Compiler.logic,
    N.If: Compiler.choice,
    N.For: Compiler.loop,
    N.Quantified: Compiler.quantified,
    N.FunctionLiteral: Compiler.function,
    N.ListLiteral: Compiler.list,
    N.ContextLiteral: Compiler.context,
    N.RangeLiteral: Compiler.range,
}
