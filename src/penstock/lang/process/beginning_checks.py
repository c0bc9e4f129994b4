"""Checks how a process begins: each of its alternatives, and that somebody who begins it by hand knows in which way."""

from __future__ import annotations

from penstock.lang.process.graph import is_start_event
from penstock.lang.process.lowering_context import SharedContext
from penstock.lang.process.nodes.event_triggers import each_trigger, event_fields, refuse_event
from penstock.lang.process.schema import Element
from penstock.lang.process.start_triggers import check_start_trigger


def check_beginnings(shared: SharedContext) -> None:
    alternatives = shared.graph.alternatives()
    plain = [one.element for one in alternatives if is_start_event(one.element) and _trigger(one.element) == "none"]
    if len(plain) > 1:
        names = ", ".join(f"«{element.name}»" for element in plain)
        message = f"By hand it may begin in {len(plain)} ways: {names}. Where nobody says which, it is the first."
        hint = f'Say which with `"start_event": "{plain[1].id}"`, or keep one start event without a trigger.'
        shared.report.warning("several_starts", message, plain[1].pointer, hint=hint, node=plain[1].id)
    timed: list[Element] = []
    for alternative in alternatives:
        for element in alternative.begun_by:
            _check_beginning(element, shared)
            context = shared.context_of(element)
            several = each_trigger(context) if element.event is not None else []
            timed += [element for one in several if event_fields(one).trigger == "timer"]
    if len(timed) > 1:
        names = " and ".join(f"«{name}»" for name in dict.fromkeys(element.name for element in timed))
        message = f"{names} would begin the process by {len(timed)} timers; it has one schedule."
        hint = "Keep one timer; let a process with the other one call this process."
        shared.report.error("several_timers", message, timed[1].pointer, hint=hint, node=timed[1].id)


def _trigger(element: Element) -> str:
    return str(element.event.trigger) if element.event is not None else ""


def _check_beginning(element: Element, shared: SharedContext) -> None:
    context = shared.context_of(element)
    if element.event is not None:
        if not refuse_event(context, "start") and element.event.trigger != "none":
            for one in each_trigger(context):
                check_start_trigger(one)
    elif element.activity is not None and shared.graph.instantiates(element) and element.activity.multi is not None:
        message = f"«{element.name}» begins the process and has several instances, which is not run here."
        hint = "Begin with a message start event, and let the task with several instances follow."
        context.error("bpmn_not_supported", message, "instantiate", hint=hint)
