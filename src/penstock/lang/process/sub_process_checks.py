"""Checks sub-processes of every kind: what they hold, and how they may be cancelled."""

from __future__ import annotations

from penstock.lang.process.fields import ActivityFields, EventFields
from penstock.lang.process.lowering_context import SharedContext
from penstock.lang.process.schema import Element

#: The protocol that is run, whatever a transaction names (BPMN 2.0.2, table 10.24).
_COMPENSATE = ("", "compensate", "##compensate")


def check_transaction(element: Element, f: ActivityFields, shared: SharedContext) -> None:
    context = shared.context_of(element)
    if f.triggered_by_event:
        message = f"«{element.name}» is a transaction and an event sub-process in one, which is not run here."
        hint = "Draw the transaction into the event sub-process."
        context.error("bpmn_not_supported", message, "triggered_by_event", hint=hint)
    if f.method.lower() not in _COMPENSATE:
        message = f"«{element.name}» is undone by compensation when it is cancelled, not by «{f.method}»."
        hint = "Name what undoes each activity in it, and remove the method."
        context.warning("idle_field", message, "method", hint=hint)
    inside = [shared.definition.elements[id] for id in shared.graph.children.get(element.id, ())]
    ends = [inner for inner in inside if _is_cancel(inner, "end")]
    caught = any(_is_cancel(boundary, "boundary") for boundary in shared.graph.boundaries.get(element.id, ()))
    if ends and not caught:
        message = f"When «{element.name}» is cancelled, its path ends at once."
        hint = "Attach a cancel event to its border, and draw what follows from it."
        context.warning("cancel_without_boundary", message, hint=hint)
    if caught and not ends:
        message = f"Nothing in «{element.name}» cancels it, so its cancel event never comes."
        hint = "Draw a cancel end event in it, or remove the event at its border."
        context.warning("cancel_without_end", message, hint=hint)


def check_cancel_event(element: Element, f: EventFields, shared: SharedContext) -> None:
    """BPMN 2.0.2, 10.5.5: a cancel end event lies in a transaction, a catching one at the border of one."""
    if f.trigger != "cancel" or f.position not in ("end", "boundary"):
        return
    level = f.parent if f.position == "end" else f.attached_to
    if not shared.graph.is_transaction(level):
        where = "directly in a transaction" if f.position == "end" else "at the border of a transaction"
        message = f"«{element.name}» is a cancel event, which is only {where}."
        hint = "Make the sub-process a transaction, or take an error event."
        shared.context_of(element).error("cancel_outside_transaction", message, hint=hint)


def _is_cancel(element: Element, position: str) -> bool:
    return element.event is not None and (element.event.position, element.event.trigger) == (position, "cancel")
