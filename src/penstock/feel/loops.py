"""Closures of `for`, `some` and `every`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.feel import nodes as N
from penstock.feel.compile import round_cost
from penstock.feel.evaluation import Evaluation, Exceeded, Where
from penstock.feel.operators import check_truth
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.numbers import whole
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import Date, date_of, day_number

if TYPE_CHECKING:
    from penstock.feel.compile import Compiler

Names = Mapping[str, Any]
Value = Callable[[Names, Evaluation], Any]
Domain = Callable[[Names, Evaluation], Iterator[Any] | None]


class _Loop:
    """The compiled iterators of one expression, the body, and the names that both take from outside."""

    def __init__(self, compiler: Compiler, iterators: tuple[N.Iterator, ...], body: N.Node, more: list[str]) -> None:
        outer_reads, outer_bound = compiler.reads, compiler.bound
        bound: set[str] = set()
        free: set[str] = set()
        self.domains: list[tuple[str, Domain]] = []
        for iterator in iterators:
            compiler.reads, compiler.bound = set(), outer_bound | bound
            self.domains.append((iterator.name, _domain(compiler, iterator)))
            free |= compiler.reads - bound
            bound.add(iterator.name)
        compiler.reads, compiler.bound = set(), outer_bound | bound | frozenset(more)
        self.body = compiler.compile(body)
        self.reads_partial = "partial" in compiler.reads
        free |= compiler.reads - bound - set(more)
        compiler.reads, compiler.bound = outer_reads | free, outer_bound
        self.free = tuple(sorted(free))
        self.keeps = _has_function(body)
        #: the steps of a round of each iterator: those of what is inside it
        self.costs = [round_cost(inside) for inside in (*iterators[1:], body)]

    def rounds(self, names: Names, evaluation: Evaluation) -> Iterator[dict[str, Any]]:
        """The scope of each round. It is one and the same, changed, unless a function may keep it."""
        scope = {name: names[name] for name in self.free if name in names}
        return self._nested(0, scope, evaluation)

    def _nested(self, level: int, scope: dict[str, Any], evaluation: Evaluation) -> Iterator[dict[str, Any]]:
        name, domain = self.domains[level]
        values = domain(scope, evaluation)
        if values is None:
            raise _NoDomain
        last = level + 1 == len(self.domains)
        cost = self.costs[level]
        for value in values:
            evaluation.spend(cost)
            inner = {**scope, name: value} if self.keeps or not last else scope
            inner[name] = value
            if last:
                yield inner
            else:
                yield from self._nested(level + 1, inner, evaluation)


class _NoDomain(Exception):
    """What is looped over is null."""


def _has_function(node: N.Node) -> bool:
    return isinstance(node, N.FunctionLiteral) or any(_has_function(part) for part in N.parts(node))


def for_closure(compiler: Compiler, node: N.For) -> Value:
    named = [iterator.name for iterator in node.iterators]
    own = [] if "partial" in named else ["partial"]  # a variable of that name hides what the standard gives
    loop, where = _Loop(compiler, node.iterators, node.body, own), compiler.where(node)
    body, reads_partial = loop.body, bool(own) and loop.reads_partial

    def run(names: Names, evaluation: Evaluation) -> list[Any] | None:
        results: list[Any] = []
        most = evaluation.limits.items
        try:
            for scope in loop.rounds(names, evaluation):
                if reads_partial:
                    scope["partial"] = list(results)
                    evaluation.spend(len(results) // 10)
                results.append(body(scope, evaluation))
                if len(results) > most:
                    raise Exceeded(f"a list of more than {most:,} items", where)
        except _NoDomain:
            return None
        except Exceeded as exceeded:
            exceeded.where = exceeded.where or where
            raise
        return results

    return run


def quantified_closure(compiler: Compiler, node: N.Quantified) -> Value:
    loop, where = _Loop(compiler, node.iterators, node.condition, []), compiler.where(node)
    condition, decisive = loop.body, node.quantifier == "some"

    def decide(names: Names, evaluation: Evaluation) -> Any:
        answer: bool | None = not decisive
        try:
            for scope in loop.rounds(names, evaluation):
                truth = condition(scope, evaluation)
                if truth is decisive:
                    return decisive
                if type(truth) is not bool:
                    check_truth(truth, where, evaluation)
                    answer = None
        except _NoDomain:
            return None
        except Exceeded as exceeded:
            exceeded.where = exceeded.where or where
            raise
        return answer

    return decide


# ---- what is looped over ---------------------------------------------------------------------------------------------


def _domain(compiler: Compiler, node: N.Iterator) -> Domain:
    where = compiler.where(node)
    first = compiler.compile(node.domain)
    if node.high is None:
        return lambda names, evaluation: _members(first(names, evaluation), where, evaluation)
    last = compiler.compile(node.high)

    def between(names: Names, evaluation: Evaluation) -> Iterator[Any] | None:
        return _steps(first(names, evaluation), last(names, evaluation), where, evaluation)

    return between


def _members(value: Any, where: Where, evaluation: Evaluation) -> Iterator[Any] | None:
    if value is None:
        evaluation.warn(where, "There is nothing to go through: it is null")
        return None
    if type(value) is Range:
        low, high = value.low, value.high
        steps = _steps(low, high, where, evaluation)
        if steps is None:
            return None
        return (item for item in steps if (value.low_closed or item != low) and (value.high_closed or item != high))
    return iter(value) if type(value) is list else iter([value])


def _steps(low: Any, high: Any, where: Where, evaluation: Evaluation) -> Iterator[Any] | None:
    """Whole numbers or days from one end to the other, up or down."""
    if type(low) is Date and type(high) is Date:
        first, last = day_number(low), day_number(high)
        return map(date_of, _counting(first, last))
    begin, end = whole(low), whole(high)
    if begin is None or end is None:
        evaluation.warn(where, f"From a {kind_of(low)} to a {kind_of(high)} there are no steps")
        return None
    return iter(_counting(begin, end))


def _counting(first: int, last: int) -> range:
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)
