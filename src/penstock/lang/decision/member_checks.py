"""Checks that expressions read members that outputs have, and compare them with values that these can have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from penstock.expr import NODE_MEMBERS
from penstock.expr.nodes import Array, Call, Chain, Lambda, Literal, Name, Node, Path, Snippet
from penstock.lang.decision.shapes import Shape, both, either, expression_shape, schema_shape
from penstock.lang.decision.symbols import SymbolTable
from penstock.lang.decision.workflow import Workflow, WorkflowNode
from penstock.lang.report import PlaceReport, did_you_mean


def known_shapes(workflow: Workflow, symbols: SymbolTable) -> dict[str, Shape]:
    """The shapes of the roots of expressions: outputs by their names, nodes by their ids, and the input."""
    own = {id: output_shape(node) for id, node in workflow.nodes.items()}
    shapes: dict[str, Shape | None] = {id: _node_shape(shape) for id, shape in own.items()}
    for names in (symbols.derived, symbols.explicit):
        for name in {name for name in names.values() if name and name not in symbols.variables}:
            shapes[name] = either(own[id] for id in workflow.nodes if names[id] == name)
    shapes["input"] = schema_shape(workflow.top.input_schema)
    return {name: shape for name, shape in shapes.items() if shape is not None and name not in symbols.variables}


def output_shape(node: WorkflowNode) -> Shape | None:
    """The shape of a node's output; a fallback's answer or a transform may be anything."""
    f = node.fields
    breaker = f.circuit_breaker
    if breaker is not None and breaker.on_open is not None and breaker.on_open.action == "fallback":
        return None
    output = f.output
    declared = schema_shape(output.schema) if output is not None else None
    if output is not None and output.transform is not None:
        return declared
    if output is not None and output.expression is not None:
        return both(expression_shape(output.expression), declared)
    return both(node.type.output_shape(f), declared)


def _node_shape(output: Shape | None) -> Shape | None:
    """A node's own members come before those of its output."""
    if output is None or not output.fields:
        return None
    return Shape({**output.fields, **dict.fromkeys(NODE_MEMBERS), "output": output}, output.closed)


class MemberCheck:
    """Looks through one expression for what cannot be."""

    def __init__(self, shapes: Mapping[str, Shape], source: str, report: PlaceReport) -> None:
        self.shapes, self.source, self.report = shapes, source, report

    def check(self, node: Node, local: Collection[str] = ()) -> None:
        if isinstance(node, Snippet):
            return  # its bare names may be fields of an item
        if isinstance(node, Path):
            self.shape_of(node, local, report=True)
        for known, literal in _compared(node):
            self._compare(known, literal, local)
        inner = {*local, *node.names} if isinstance(node, Lambda) else local
        for child in node.children:
            self.check(child, inner)

    def shape_of(self, node: Node, local: Collection[str] = (), *, report: bool = False) -> Shape | None:
        """The shape of what a path leads to; None where it is not known."""
        if isinstance(node, Name):
            return None if node.name in local else self.shapes.get(node.name)
        if not isinstance(node, Path) or not isinstance(node.target, Name):
            return None
        shape, read = self.shape_of(node.target, local), node.target.name
        for step in node.steps:
            if shape is None or not isinstance(step, Literal):
                return None
            if isinstance(step.value, int):
                shape = shape.items
            elif shape.fields and step.value not in shape.fields:
                if report:
                    self._unknown_member(str(step.value), read, shape, step)
                return None
            else:
                shape = shape.fields.get(step.value)
            read = f"{read}.{step.value}"
        return shape

    def _unknown_member(self, name: str, of: str, shape: Shape, step: Node) -> None:
        hint = did_you_mean(name, shape.fields, "Read a member that it has.")
        where = f"at character {step.start + 1} of «{self._shown()}»"
        if shape.closed:
            self.report.error("unknown_member", f"«{of}» has no member «{name}», {where}.", hint=hint)
        elif hint.endswith("?"):  # an open shape may have more than it says; a near miss is none of it
            self.report.warning("unknown_member", f"«{of}» declares no member «{name}», {where}.", hint=hint)

    def _compare(self, known: Node, literal: Literal, local: Collection[str]) -> None:
        shape = self.shape_of(known, local)
        if shape is not None and literal.value is not None:
            self.value(
                shape, literal.value, self.source[known.start : known.end], f", at character {literal.start + 1}"
            )

    def value(self, shape: Shape | None, value: Any, of: str, where: str = "") -> None:
        """Says that something is never this value."""
        if shape is None or not shape.values or value in shape.values:
            return
        hint = did_you_mean(str(value), [str(known) for known in shape.values], "Write a value that it has.")
        self.report.error("unknown_value", f"«{of}» is never «{value}»{where}.", hint=hint)

    def _shown(self) -> str:
        return self.source if len(self.source) <= 80 else f"{self.source[:77]}…"


def _compared(node: Node) -> Iterator[tuple[Node, Literal]]:
    """What is compared with a literal: by == and !=, or by being among those that are listed."""
    if isinstance(node, Chain):
        for operator, left, right in zip(node.operators, node.children, node.children[1:], strict=False):
            if operator in ("==", "!="):
                if isinstance(right, Literal):
                    yield left, right
                elif isinstance(left, Literal):
                    yield right, left
    elif isinstance(node, Call) and node.function == "contains" and isinstance(node.children[0], Array):
        listed = node.children[0].children
        for known in node.children[1:2]:
            yield from ((known, item) for item in listed if isinstance(item, Literal))
