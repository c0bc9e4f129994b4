"""Which nodes undo which: each node's compensations, with their reasons and conditions (4.10, C-45)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.compensation import ON, CompensationFields, TriggerFields
from penstock.lang.decision.nodes.contract import Fragment
from penstock.lang.decision.schema import Workflow
from penstock.lang.decision.texts import text_literal
from penstock.net.model import Node


def undoing(
    workflow: Workflow,
    fragments: Mapping[str, Fragment],
    sites: Mapping[str, LoweringContext],
    nodes: Mapping[str, Node],
) -> dict[str, Node]:
    """The nodes of the net, where those that are undone know it. A node's compensations are in the order of the
    document."""
    policy = workflow.policies.compensation
    if policy is not None and not policy.enabled:
        return dict(nodes)
    found: dict[str, list[tuple[str, CompensationFields]]] = {}
    for id, step in workflow.nodes.items():
        if isinstance(step.fields, CompensationFields) and step.fields.for_node in fragments:
            found.setdefault(step.fields.for_node, []).append((id, step.fields))
    changed = dict(nodes)
    for target, mine in found.items():
        each = _each(mine, sites, on_cancel=policy is None or policy.on_cancel)
        core = fragments[target].core
        steps = tuple(one.id for id, _ in mine for one in fragments[id].nodes)
        changed[core] = _undone_by(changed[core], target, steps, each)
        for one in each if len(mine) > 1 else ():
            for part in fragments[one.id].nodes:
                changed[part.id] = _undoes_only(changed[part.id], one, target)
    return changed


class _Undo(msgspec.Struct, frozen=True):
    """One compensation: when it undoes, and under which condition."""

    id: str
    reasons: list[str]
    condition: str | None


def _each(
    mine: list[tuple[str, CompensationFields]], sites: Mapping[str, LoweringContext], *, on_cancel: bool
) -> list[_Undo]:
    found = []
    for id, f in mine:
        trigger = f.trigger or TriggerFields()
        reasons = [ON[one] for one in (trigger.on if trigger.on is not None else ON)]
        reasons = [one for one in reasons if on_cancel or one != "cancel"]
        found.append(_Undo(id, reasons, sites[id].expression(trigger.conditions, "trigger/conditions")))
    return found


def _undone_by(node: Node, target: str, steps: tuple[str, ...], each: list[_Undo]) -> Node:
    """C-45: without a condition only what succeeded is undone; a condition may also speak of a failure."""
    asked = any(one.condition is not None for one in each)
    return msgspec.structs.replace(
        node, undo=steps, undo_on=tuple(dict.fromkeys(reason for one in each for reason in one.reasons)),
        undo_failed=asked, undo_if=" || ".join(_holds(one, target) for one in each) if asked else None,
    )  # fmt: skip


def _undoes_only(node: Node, one: _Undo, target: str) -> Node:
    """Of several compensations of one node each has reasons and a condition of its own."""
    reasons = ", ".join(text_literal(reason) for reason in one.reasons)
    held = f"fn.contains([{reasons}], undoing) && {_holds(one, target)}"
    return msgspec.structs.replace(node, only_if=held)


def _holds(one: _Undo, target: str) -> str:
    return f"({one.condition})" if one.condition is not None else f"{target}.status == 'succeeded'"
