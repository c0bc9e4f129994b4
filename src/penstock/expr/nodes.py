"""The tree that an expression is read into; a node knows its place, its size and its depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.errors import ExprLimit
from penstock.expr.limits import MAX_DEPTH


class Node:
    """A part of an expression: `start` and `end` are its place in the source."""

    __slots__ = ("children", "depth", "end", "size", "start")

    size: int
    depth: int

    def __init__(self, start: int, end: int, children: Iterable[Node] = ()) -> None:
        self.start = start
        self.end = end
        self.children = tuple(children)
        size, depth = 1, 0
        for child in self.children:
            size += child.size
            if child.depth > depth:
                depth = child.depth
        self.size, self.depth = size, depth + 1
        if depth >= MAX_DEPTH:
            raise ExprLimit(why=f"nested more than {MAX_DEPTH} deep")


class Literal(Node):
    """A string, number, boolean or null."""

    __slots__ = ("value",)

    def __init__(self, start: int, end: int, value: Any) -> None:
        self.start, self.end, self.children, self.size, self.depth = start, end, (), 1, 1
        self.value = value


class Name(Node):
    """A root name or a local."""

    __slots__ = ("name",)

    def __init__(self, start: int, end: int, name: str) -> None:
        self.start, self.end, self.children, self.size, self.depth = start, end, (), 1, 1
        self.name = name


class Path(Node):
    """`target.key[index]…`; the first child is the target, the others are the steps."""

    __slots__ = ()

    @property
    def target(self) -> Node:
        return self.children[0]

    @property
    def steps(self) -> tuple[Node, ...]:
        return self.children[1:]

    def constant_keys(self) -> tuple[str | int, ...] | None:
        """The steps as values, when all of them are written in the source."""
        keys = tuple(step.value for step in self.steps if isinstance(step, Literal))
        return keys if len(keys) == len(self.steps) else None


class Array(Node):
    """`[a, b]`."""

    __slots__ = ()


class Object(Node):
    """`{"k": a}`; `keys` belong to the children in order."""

    __slots__ = ("keys",)

    def __init__(self, start: int, end: int, keys: tuple[str, ...], children: Iterable[Node]) -> None:
        super().__init__(start, end, children)
        self.keys = keys


class Not(Node):
    """`!a`."""

    __slots__ = ()


class Negate(Node):
    """`-a`."""

    __slots__ = ()


class Logic(Node):
    """`a && b && c` or `a || b || c`, as one node however long."""

    __slots__ = ("operator",)

    def __init__(self, start: int, end: int, operator: str, children: Iterable[Node]) -> None:
        super().__init__(start, end, children)
        self.operator = operator


class Chain(Node):
    """Operators of one precedence, from the left: `a + b - c`; one operator fewer than children."""

    __slots__ = ("operators",)

    def __init__(self, start: int, end: int, operators: tuple[str, ...], children: Iterable[Node]) -> None:
        super().__init__(start, end, children)
        self.operators = operators


class Call(Node):
    """`fn.name(args)` or `x.name(args)`."""

    __slots__ = ("function",)

    def __init__(self, start: int, end: int, function: str, children: Iterable[Node]) -> None:
        super().__init__(start, end, children)
        self.function = function


class HostCall(Node):
    """`rag.name(args)`: a search that the host put into the view."""

    __slots__ = ("member", "root")

    def __init__(self, start: int, end: int, root: str, member: str, children: Iterable[Node]) -> None:
        super().__init__(start, end, children)
        self.root = root
        self.member = member


class NamedBody(Node):
    """An expression that is evaluated with names of its own."""

    __slots__ = ("names",)

    def __init__(self, start: int, end: int, names: tuple[str, ...], body: Node) -> None:
        super().__init__(start, end, (body,))
        self.names = names

    @property
    def body(self) -> Node:
        return self.children[0]


class Lambda(NamedBody):
    """`x => body` or `(a, b) => body`, only as an argument."""

    __slots__ = ()


class Snippet(NamedBody):
    """An expression string in the place of a lambda: its names and the item's fields come before the roots."""

    __slots__ = ()


class FieldPath(Node):
    """A string in the place of a lambda that only names a field: read from the item, never from the roots."""

    __slots__ = ("keys",)

    def __init__(self, start: int, end: int, keys: tuple[str | int, ...]) -> None:
        super().__init__(start, end)
        self.keys = keys


class Template(Node):
    """A text with `${…}` in it; literal parts are `Literal` children."""

    __slots__ = ()


def every(node: Node) -> Iterator[Node]:
    """The node and all below it."""
    yield node
    for child in node.children:
        yield from every(child)
