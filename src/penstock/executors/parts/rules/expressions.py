"""Compiles the expressions of a rule pack, and orders computed names so that each comes after what it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from penstock.errors import ExprError, ExprSyntaxError
from penstock.expr import RESERVED_ROOTS, Expression, compile_expression, compile_template, foreign_constant
from penstock.expr.nodes import Literal, Name, Node, Path
from penstock.expr.root_names import HOST_ROOTS
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

LOCALS = frozenset({"data", "item", "context", "threshold", "params", "hits"})
_SEEN = RESERVED_ROOTS - {"secrets"}


class Computed(NamedTuple):
    """A variable or a param that is an expression."""

    name: str
    is_variable: bool
    run: Callable[[Mapping[str, Any]], Any]


class ExpressionCompiler:
    """Compiles the texts of one pack and tells what is wrong with them."""

    def __init__(self, report: Report, variables: Collection[str]) -> None:
        self.report, self.variables = report, variables
        self.reads: set[str] = set()  # what the host must have: the clock, the calendar, the configuration

    def expression(self, text: str, at: str, node: str = "", *, fields: bool = True) -> Expression | None:
        return self._compiled(compile_expression, text, at, node, fields)

    def template(self, text: str, at: str, node: str = "", *, fields: bool = True) -> Expression | None:
        return self._compiled(compile_template, text, at, node, fields)

    def _compiled(
        self, make: Callable[[str], Expression], text: str, at: str, node: str, fields: bool
    ) -> Expression | None:
        try:
            expression = make(text)
        except (ExprSyntaxError, ExprError) as wrong:
            self.report.error("expression", str(wrong), at, node=node, hint=wrong.hint)
            return None
        self.reads |= expression.roots & HOST_ROOTS
        if "secrets" in expression.roots:
            message = "A rule pack reads no secrets."
            hint = "Judge what a secret has fetched, not the secret."
            self.report.error("secret_in_rules", message, at, node=node, hint=hint)
            return None
        if not fields:
            known = LOCALS | _SEEN | set(self.variables)
            for name in sorted(expression.roots - known):
                self._unknown(name, known, at, node)
        return expression

    def _unknown(self, name: str, known: Collection[str], at: str, node: str) -> None:
        message = f"«{name}» is known here only when the data is one object with that field."
        otherwise = "With rows use scope each or latest, or a function over data."
        hint = foreign_constant(name) or did_you_mean(name, known, otherwise)
        self.report.warning("unknown_name", message, at, node=node, hint=hint)

    def ordered(
        self, variables: Mapping[str, str], params: Mapping[str, Any], at: str = "", node: str = ""
    ) -> list[Computed]:
        """All computed names, each after what it reads; a ring of them is told and left out."""
        made: dict[tuple[str, bool], Expression] = {}
        for name, text in variables.items():
            spot = child_pointer(child_pointer(at, "variables"), name)
            if name in LOCALS or name in RESERVED_ROOTS:
                message = f"«{name}» has a meaning of its own in rules."
                self.report.error("reserved_name", message, spot, node=node, hint="Choose another name.", key=True)
            elif (expression := self.expression(text, spot, node, fields=False)) is not None:
                made[name, True] = expression
        for name, value in params.items():
            if isinstance(value, str) and "${" in value:
                spot = child_pointer(child_pointer(at, "params"), name)
                if (expression := self.template(value, spot, node, fields=False)) is not None:
                    made[name, False] = expression
        graph = {
            key: [other for other in _needs(expression, made) if other in made] for key, expression in made.items()
        }
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError as ring:
            self._ring(ring.args[1], at, node)
            return []
        return [Computed(name, is_variable, made[name, is_variable].run) for name, is_variable in order]

    def _ring(self, ring: Iterable[tuple[str, bool]], at: str, node: str) -> None:
        shown = [(name if is_variable else f"params.{name}") for name, is_variable in reversed(list(ring))]
        name, is_variable = next(iter(ring))
        spot = child_pointer(child_pointer(at, "variables" if is_variable else "params"), name)
        message = f"These need each other: {' → '.join(shown)}."
        self.report.error("variable_cycle", message, spot, node=node, hint="Write one of them without the others.")


def _needs(expression: Expression, made: Mapping[tuple[str, bool], Expression]) -> list[tuple[str, bool]]:
    needs = [(root, True) for root in expression.roots]
    keys = _params_read(expression.tree)
    needs += [key for key in made if not key[1] and (keys is None or key[0] in keys)]
    return needs


def _params_read(node: Node) -> set[str] | None:
    """The members of `params` that are read by name; None when it is read as a whole."""
    params: set[str] = set()
    children = node.children
    if isinstance(node, Path) and isinstance(node.target, Name) and node.target.name == "params":
        first = node.steps[0]
        if not (isinstance(first, Literal) and isinstance(first.value, str)):
            return None
        params.add(first.value)
        children = node.steps
    elif isinstance(node, Name) and node.name == "params":
        return None
    for child in children:
        below = _params_read(child)
        if below is None:
            return None
        params |= below
    return params
