"""Checks sub-processes of every kind: what they hold, and how they may be cancelled."""

from __future__ import annotations

from penstock.lang.process.fields import ActivityFields, AdHoc, EventFields
from penstock.lang.process.lowering_context import SharedContext
from penstock.lang.process.schema import Element

#: The protocol that is run, whatever a transaction names (BPMN 2.0.2, table 10.24).
_COMPENSATE = ("", "compensate", "##compensate")


def check_sub_process(element: Element, f: ActivityFields, shared: SharedContext) -> None:
    graph = shared.graph
    kinds = {
        "a transaction": graph.is_transaction(element.id),
        "an ad-hoc sub-process": graph.is_ad_hoc(element.id),
        "an event sub-process": f.triggered_by_event,
    }
    names = [name for name, is_one in kinds.items() if is_one]
    if len(names) > 1:
        message = f"«{element.name}» is {' and '.join(names)} in one, which is not run here."
        hint = "Draw one into the other."
        shared.context_of(element).error("bpmn_not_supported", message, hint=hint)
    elif graph.is_transaction(element.id):
        _check_transaction(element, f, shared)
    elif graph.is_ad_hoc(element.id):
        _check_ad_hoc(element, f.ad_hoc or AdHoc(), shared)


def _check_ad_hoc(element: Element, ad_hoc: AdHoc, shared: SharedContext) -> None:
    """BPMN 2.0.2, 10.3.5: start and end events are not for it; what nothing leads to is chosen, so it is work."""
    graph, context = shared.graph, shared.context_of(element)
    if not ad_hoc.cancel_remaining and ad_hoc.ordering == "sequential":
        hint = "Remove it: where one step follows the other, nothing else is open."
        context.warning("idle_field", "«cancel_remaining» changes nothing here.", "ad_hoc/cancel_remaining", hint=hint)
    for id in graph.children.get(element.id, ()):
        inner = shared.definition.elements[id]
        if inner.event is not None and inner.event.position in ("start", "end"):
            _check_begin_or_end(element, inner, inner.event, shared)
        elif inner.activity is None and not graph.incoming[id] and not graph.off_path(inner):
            message = f"Nothing in the ad-hoc sub-process «{element.name}» leads to «{inner.name}»."
            hint = "Lead a step to it, for only tasks and sub-processes are chosen; or draw an event sub-process."
            shared.context_of(inner).error("ad_hoc_element", message, hint=hint)


def _check_begin_or_end(owner: Element, inner: Element, event: EventFields, shared: SharedContext) -> None:
    """What begins nothing, or ends nothing but its own path, may stay; else it would run otherwise than it is drawn."""
    targets = [shared.definition.elements[flow.fields.target] for flow in shared.graph.outgoing[inner.id]]
    harmless = event.trigger not in ("terminate", "cancel")
    if event.position == "start":
        harmless = event.trigger == "none" and all(target.activity is not None for target in targets)
    message = f"The ad-hoc sub-process «{owner.name}» holds the {event.position} event «{inner.name}»."
    hint = "Remove it: somebody chooses what is done, and says when it is finished."
    context = shared.context_of(inner)
    (context.warning if harmless else context.error)("ad_hoc_element", message, hint=hint)


def _check_transaction(element: Element, f: ActivityFields, shared: SharedContext) -> None:
    context = shared.context_of(element)
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
