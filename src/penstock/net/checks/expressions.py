"""Checks that every expression and template compiles, at release and not when a run comes by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.errors import ExprError, ExprSyntaxError, Finding, PenstockError
from penstock.expr import compile_expression, compile_template
from penstock.net.analysis import ERROR, NetAnalysis
from penstock.net.compiled import EXPRESSION
from penstock.net.model import Edge, Node

Text = tuple[str, str, bool]  # what it is, the text, is it a template


def expressions(analysis: NetAnalysis) -> Iterator[Finding]:
    for v, node in enumerate(analysis.net.nodes):
        for what, text, template in _of_node(node):
            if wrong := _wrong(text, template):
                yield _finding(analysis, wrong, f"The {what} of {analysis.name(v)}", node.id)
    for edge in analysis.net.edges:
        for what, text, template in _of_edge(edge):
            if wrong := _wrong(text, template):
                ways = f"the connection from {analysis.named(edge.src)} to {analysis.named(edge.dst)}"
                yield _finding(analysis, wrong, f"The {what} of {ways}", edge.src, edge.id)


def _wrong(text: str, template: bool) -> PenstockError | None:
    try:
        if template:
            compile_template(text)
        else:
            compile_expression(text, words=True)
    except (ExprSyntaxError, ExprError) as error:
        return error
    return None


def _finding(analysis: NetAnalysis, wrong: PenstockError, what: str, node: str, edge: str = "") -> Finding:
    hint = wrong.hint or "Correct the text at the character named; texts are quoted with ' or \"."
    return analysis.finding(wrong.code, ERROR, f"{what} cannot be read: {wrong}", hint, node, edge)


def _of_edge(edge: Edge) -> Iterator[Text]:
    yield from _given(guard=edge.guard, transform=edge.transform)


def _of_node(node: Node) -> Iterator[Text]:
    yield from _given(port=node.port, undo_if=node.undo_if, only_if=node.only_if)
    for assignment in node.sets:
        what = f"assignment to «{assignment.name}»"
        yield from [(what, assignment.expr, False)] if assignment.expr else _in_value(what, assignment.value)
    yield from _in_value("value", node.value)
    if node.effect is not None:
        yield from _in_value("arguments", node.effect.args)
        for gate in (node.effect.cache, node.effect.dedupe, node.effect.once):
            if gate is not None:
                yield from [("key", gate.key, False)] if isinstance(gate.key, str) else _in_value("key", gate.key)
    if node.work is not None:
        yield from _in_value("candidates", node.work.candidates)
        yield from _in_value("prompt", node.work.prompt)
        yield from _given(approve_if=node.work.approve_if)
    if node.poll is not None:
        yield from _given(until=node.poll.until, fail_if=node.poll.fail_if)
    for trigger in node.triggers:
        yield from _given(at=trigger.at, match=trigger.match)
        yield from _in_value("value", trigger.value)
        yield from _in_value("filter", trigger.filter)
        if "${" in trigger.name:
            yield "signal name", trigger.name, True
    if node.body is not None:
        yield from _given(items=node.body.items, again=node.body.again, until=node.body.until)
        for branch in node.body.branches:
            yield from _given(guard=branch.guard)


def _given(**texts: str | None) -> Iterator[Text]:
    for what, text in texts.items():
        if text is not None:
            yield what, text, False


def _in_value(what: str, tree: Any) -> Iterator[Text]:
    """Every text of a value tree that is evaluated; on a stack of its own, since a document may nest deeply."""
    todo = [tree]
    while todo:
        at = todo.pop()
        if isinstance(at, dict):
            if isinstance(at.get("$expr"), str) and at.keys() <= EXPRESSION:
                yield what, at["$expr"], False
            elif len(at) == 1 and isinstance(at.get("$template"), str):
                yield what, at["$template"], True
            else:
                todo.extend(reversed(list(at.values())))
        elif isinstance(at, (list, tuple)):
            todo.extend(reversed(at))
