"""Connects each node with its compensations, their reasons and their conditions (4.10, C-45)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.lang.decision.expression_literals import expression_literal
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.compensation import UNDO_REASONS, CompensationFields, CompensationTrigger
from penstock.lang.decision.nodes.contract import Fragment
from penstock.lang.decision.workflow import Workflow
from penstock.net.model import Node


def wire_compensations(
    workflow: Workflow,
    fragments: Mapping[str, Fragment],
    contexts: Mapping[str, LoweringContext],
    nodes: Mapping[str, Node],
) -> dict[str, Node]:
    """The nodes of the net, each with the compensations that undo it, in the order of the document."""
    policy = workflow.policies.compensation
    if policy is not None and not policy.enabled:
        return dict(nodes)
    compensations: dict[str, list[tuple[str, CompensationFields]]] = {}
    for id, node in workflow.nodes.items():
        if isinstance(node.fields, CompensationFields) and node.fields.for_node in fragments:
            compensations.setdefault(node.fields.for_node, []).append((id, node.fields))
    changed = dict(nodes)
    for target, own in compensations.items():
        undos = _undos(own, contexts, on_cancel=policy is None or policy.on_cancel)
        core = fragments[target].core
        steps = tuple(net_node.id for id, _ in own for net_node in fragments[id].nodes)
        changed[core] = _with_undo(changed[core], target, steps, undos)
        for undo in undos if len(own) > 1 else ():
            for part in fragments[undo.id].nodes:
                changed[part.id] = _guarded(changed[part.id], undo, target)
    return changed


class _Undo(msgspec.Struct, frozen=True):
    """One compensation: for which reasons and under which condition it runs."""

    id: str
    reasons: list[str]
    condition: str | None


def _undos(
    compensations: list[tuple[str, CompensationFields]], contexts: Mapping[str, LoweringContext], *, on_cancel: bool
) -> list[_Undo]:
    undos = []
    for id, f in compensations:
        trigger = f.trigger or CompensationTrigger()
        reasons = [UNDO_REASONS[event] for event in (trigger.on if trigger.on is not None else UNDO_REASONS)]
        reasons = [reason for reason in reasons if on_cancel or reason != "cancel"]
        undos.append(_Undo(id, reasons, contexts[id].expression(trigger.conditions, "trigger/conditions")))
    return undos


def _with_undo(node: Node, target: str, steps: tuple[str, ...], undos: list[_Undo]) -> Node:
    """C-45: without a condition only a node that succeeded is undone; a condition may also accept a failed one."""
    conditional = any(undo.condition is not None for undo in undos)
    return msgspec.structs.replace(
        node, undo=steps, undo_on=tuple(dict.fromkeys(reason for undo in undos for reason in undo.reasons)),
        undo_failed=conditional,
        undo_if=" || ".join(_condition(undo, target) for undo in undos) if conditional else None,
    )  # fmt: skip


def _guarded(node: Node, undo: _Undo, target: str) -> Node:
    """Of several compensations of one node each runs for its own reasons and condition only."""
    reasons = ", ".join(expression_literal(reason) for reason in undo.reasons)
    guard = f"fn.contains([{reasons}], undoing) && {_condition(undo, target)}"
    return msgspec.structs.replace(node, only_if=guard)


def _condition(undo: _Undo, target: str) -> str:
    return f"({undo.condition})" if undo.condition is not None else f"{target}.status == 'succeeded'"
