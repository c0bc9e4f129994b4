"""The compiled expression: what it reads, what it uses, and the closure that gives its value.

The tree decides once what would be asked at every evaluation: whether the expression needs a meter, and whether its
result can be too large to keep.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from penstock.errors import ExprLimit
from penstock.expr.closures import Compiler
from penstock.expr.functions import FUNCTIONS
from penstock.expr.functions.contract import Closure
from penstock.expr.limits import LINEAR_FREE, MAX_DEPTH, Frame, Meter, View, bounded_result
from penstock.expr.nodes import (
    Array,
    Call,
    Chain,
    HostCall,
    Lambda,
    Literal,
    Name,
    Node,
    Object,
    Path,
    Snippet,
    Template,
    every,
)
from penstock.expr.parse import parse
from penstock.expr.root_names import DATA_ROOTS
from penstock.expr.template import parse_template

_KEPT = 1_024  # compiled sources in the cache
_KEPT_LENGTH = 512  # longer sources belong to one net, which keeps them itself


class Expression:
    """A compiled expression or template; calling it with a view (any mapping of root names) gives its value."""

    __slots__ = ("calls", "functions", "roots", "run", "source", "tree")

    source: str
    tree: Node
    run: Closure  # the same as calling the expression, one call shorter
    roots: frozenset[str]  # root names it reads; neither lambda parameters nor an item's fields
    functions: frozenset[str]  # names of the fn. functions it uses
    calls: frozenset[str]  # searches of the host it calls: rag.<name>(…)

    def __init__(self, source: str, tree: Node) -> None:
        self.source = source
        self.tree = tree
        read = _Reads()
        read.gather(tree, frozenset(), False)
        self.roots, self.functions, self.calls = frozenset(read.roots), frozenset(read.functions), frozenset(read.calls)

    def __getattr__(self, name: str) -> Any:
        """The closure, when it is first asked for: many expressions are only read and checked. Nothing else is late."""
        if name != "run":
            raise AttributeError(name)
        try:
            self.run = _guarded(self.tree, list(every(self.tree)), Compiler(self.source).closure(self.tree))
        except RecursionError:  # only when the caller itself is deep
            raise ExprLimit(why=f"nested more than {MAX_DEPTH} deep") from None
        return self.run

    def __call__(self, view: View) -> Any:
        return self.run(view)

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"


def compile_expression(text: str, *, words: bool = False) -> Expression:
    """The expression, ready to be called; with `words`, Python's and, or, not, True, False, None are read too."""
    return (_expression if len(text) <= _KEPT_LENGTH else _expression.__wrapped__)(text, words)


def compile_template(text: str) -> Expression:
    """The text with its `${…}`: a single one that is the whole text keeps its type, otherwise the result is a text."""
    return (_template if len(text) <= _KEPT_LENGTH else _template.__wrapped__)(text)


@lru_cache(_KEPT)
def _expression(text: str, words: bool) -> Expression:
    try:
        return Expression(text, parse(text, words=words))
    except RecursionError:  # only when the caller itself is deep
        raise ExprLimit(why=f"nested more than {MAX_DEPTH} deep") from None


@lru_cache(_KEPT)
def _template(text: str) -> Expression:
    try:
        return Expression(text, parse_template(text))
    except RecursionError:
        raise ExprLimit(why=f"nested more than {MAX_DEPTH} deep") from None


# ---- what the tree tells ---------------------------------------------------------------------------------------------


class _Reads:
    """Root names below a node, functions and searches. In an expression string only reserved roots count: others may be
    fields."""

    __slots__ = ("calls", "functions", "roots")

    def __init__(self) -> None:
        self.roots: set[str] = set()
        self.functions: set[str] = set()
        self.calls: set[str] = set()

    def gather(self, node: Node, bound: frozenset[str], in_snippet: bool) -> None:
        if isinstance(node, Name):
            if node.name not in bound and (not in_snippet or node.name in DATA_ROOTS):
                self.roots.add(node.name)
        elif isinstance(node, Lambda):
            bound = bound.union(node.names)
        elif isinstance(node, Snippet):
            bound, in_snippet = bound.union(node.names), True
        elif isinstance(node, HostCall):
            self.roots.add(node.root)
            self.calls.add(node.member)
        elif isinstance(node, Call):
            self.functions.add(node.function)
            self.roots.update(FUNCTIONS[node.function].reads)
        for child in node.children:
            if not isinstance(child, Literal):
                self.gather(child, bound, in_snippet)


def _is_kept(node: Node) -> bool:
    """Whether the result certainly has a size that the view already had, or is a scalar."""
    if isinstance(node, Path):
        return isinstance(node.target, Name)
    if isinstance(node, Chain):
        return node.operators[-1] != "+"
    if isinstance(node, Call):
        return FUNCTIONS[node.function].returns in ("boolean", "integer", "number", "string")
    return not isinstance(node, Array | Object | HostCall)


def _grows(node: Node) -> bool:
    """Whether the work of this node grows with its data."""
    if isinstance(node, Call):
        return FUNCTIONS[node.function].is_linear
    if isinstance(node, Chain):
        return node.operators[0] in ("+", "==", "!=") and not any(
            isinstance(child, Literal) and not isinstance(child.value, str) for child in node.children
        )
    return isinstance(node, Template)


def _guarded(tree: Node, nodes: list[Node], run: Closure) -> Closure:
    """The closure with a meter when it needs one, and with a check of its result when that may be large."""
    loops = any(isinstance(node, Lambda | Snippet) for node in nodes)
    if loops or sum(len(node.children) for node in nodes if _grows(node)) > LINEAR_FREE:

        def metered(view: View) -> Any:
            return bounded_result(run(Frame(view, Meter())))

        return metered
    if _is_kept(tree):
        return run

    def checked(view: View) -> Any:
        return bounded_result(run(view))

    return checked
