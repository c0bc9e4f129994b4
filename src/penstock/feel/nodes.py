"""The nodes of a parsed expression; `at` is the index of the character where each begins."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    at: int


def parts(node: Node) -> list[Node]:
    """The nodes right inside a node."""
    inside: list[Node] = []
    pending = [getattr(node, field.name) for field in fields(node)]
    while pending:
        part = pending.pop()
        if isinstance(part, Node):
            inside.append(part)
        elif isinstance(part, tuple):
            pending.extend(part)
    return inside


def size(node: Node) -> int:
    """How many nodes one evaluation of a node may go through; what loops and functions have inside counts there."""
    count = 0
    pending = [node]
    while pending:
        part = pending.pop()
        count += 1
        if isinstance(part, For | Quantified):
            pending.extend(part.iterators)
        elif isinstance(part, Filter):
            pending.append(part.base)
        elif not isinstance(part, FunctionLiteral):
            pending.extend(parts(part))
    return count


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A number, text, boolean, null, or `@"…"`."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class Input(Node):
    """`?`: the value that a unary test is about."""


@dataclass(frozen=True, slots=True)
class Path(Node):
    """`base.name`"""

    base: Node
    name: str


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """`base[condition]`, where a number is an index."""

    base: Node
    condition: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function(arguments)`; `names` has one name per argument where they are named, else nothing."""

    function: Node
    arguments: tuple[Node, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`first + a - b …`: operators of one level, from left to right; `rest` has (operator, operand, place)."""

    first: Node
    rest: tuple[tuple[str, Node, int], ...]


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """`-operand`"""

    operand: Node


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Between(Node):
    value: Node
    low: Node
    high: Node


@dataclass(frozen=True, slots=True)
class Test(Node):
    """One test of a list of unary tests. `operator` is empty for an expression, whose `asks` says that it reads `?`."""

    operator: str
    operand: Node
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Tests(Node):
    """`a, b, c`, `not(a, b)` or `-`."""

    tests: tuple[Test, ...]
    negated: bool = False
    any: bool = False


@dataclass(frozen=True, slots=True)
class In(Node):
    value: Node
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class InstanceOf(Node):
    value: Node
    type: Any


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`and` or `or` of two or more."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    """`if … then … else if … then … else …`"""

    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node


@dataclass(frozen=True, slots=True)
class Iterator(Node):
    """`name in domain`, or `name in domain..high`."""

    name: str
    domain: Node
    high: Node | None = None


@dataclass(frozen=True, slots=True)
class For(Node):
    iterators: tuple[Iterator, ...]
    body: Node


@dataclass(frozen=True, slots=True)
class Quantified(Node):
    """`some` or `every`."""

    quantifier: str
    iterators: tuple[Iterator, ...]
    condition: Node


@dataclass(frozen=True, slots=True)
class FunctionLiteral(Node):
    """`function(parameters) body`; an external one has a mapping, which nothing here calls."""

    parameters: tuple[Any, ...]
    body: Node
    external: bool = False


@dataclass(frozen=True, slots=True)
class ListLiteral(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ContextLiteral(Node):
    entries: tuple[tuple[str, Node, int], ...]


@dataclass(frozen=True, slots=True)
class RangeLiteral(Node):
    """An end that is absent is without bound."""

    low: Node | None
    high: Node | None
    low_closed: bool = True
    high_closed: bool = True
