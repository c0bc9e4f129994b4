"""The complex gateway: it waits for some of the ways into it, and takes every way whose condition holds."""

from __future__ import annotations

import re

from penstock.lang.process.flow_conditions import unwrapped
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.asking import ask_fragment, asks
from penstock.lang.process.nodes.contract import ElementType, Fragment, single_node
from penstock.net.model import ALL, INCLUSIVE, MERGE, Join, Node

#: A number of ways: `activationCount >= 2`, `x1 + x2 + x3 > 1`, `2`; the words of several modelers for the sum.
_NUMBER = re.compile(r"(?:(?:[A-Za-z_$][\w$.]*\s*\+\s*)*[A-Za-z_$][\w$.]*\s*(>=|=>|==?|>|gt|ge|eq)\s*)?([0-9]{1,4})")


def lower(context: LoweringContext) -> Fragment:
    """BPMN 13.4.5: when enough has come it is activated once; what comes later is taken without consequence."""
    f = context.element.gateway
    assert f is not None
    node = Node(
        id=context.id, type=f.type or "", label=f.name, scope=context.scope, join=_join(context), split="every",
    )  # fmt: skip
    ask = asks(context.element, context.shared)
    return single_node(node) if ask is None else ask_fragment(context, ask, node)


def _join(context: LoweringContext) -> Join:
    f = context.element.gateway
    assert f is not None
    ways = len(context.shared.graph.incoming[context.id])
    count = f.count if f.count is not None else ways_needed(f.activation)
    if ways < 2:
        return MERGE
    if count is None and f.activation:
        message = f"«{context.element.name}» is activated by «{f.activation}», which says no number of ways."
        hint = f'Write `"count": N`, from 1 to {ways}: so many of the ways into it are waited for.'
        context.error("activation_not_understood", message, "activation", hint=hint)
    elif count is None:
        message = f"«{context.element.name}» does not say for how many of the {ways} ways into it it waits."
        hint = f'It waits for all that can still come; write `"count": N`, from 1 to {ways}, if fewer are enough.'
        context.warning("join_without_count", message, hint=hint)
    elif not 1 <= count <= ways:
        message = f"«{context.element.name}» waits for {count} of the {ways} ways into it."
        hint = f"Ask for a number from 1 to {ways}."
        context.error("activation_not_understood", message, "count" if f.count is not None else "activation", hint=hint)
    if count is None or not 1 <= count <= ways:
        return INCLUSIVE
    return ALL if count == ways else Join(mode="k", k=count, late="absorb")


def ways_needed(activation: str) -> int | None:
    """How many tokens an activation condition asks for."""
    text = unwrapped(activation.strip().removeprefix("=")).strip("() ")
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    return int(found[2]) + (found[1] in (">", "gt"))


COMPLEX = ElementType("complexGateway", lower, "Waits for some of its ways; takes every way whose condition holds.")
