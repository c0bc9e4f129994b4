"""Start, end, catch, throw and boundary events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of
from penstock.lang.process.durations import cycle
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.fields import EventFields
from penstock.lang.process.lowering_context import LoweringContext, SharedContext, main_scope
from penstock.lang.process.nodes.answered_by import answerable
from penstock.lang.process.nodes.contract import KEEP_OUTPUT, ElementType, Fragment, core_id, link, single_node
from penstock.lang.process.nodes.conversation import start_sets
from penstock.lang.process.nodes.messages import message_trigger, publish
from penstock.lang.process.schema import Element
from penstock.net.model import MERGE, Effect, Node, Trigger

#: The error by which a terminate event ends a level that runs in an inner scope.
TERMINATED = "PROCESS_TERMINATED"
#: The error by which a cancel end event ends its transaction.
CANCELLED = "TRANSACTION_CANCELLED"


def event_fields(context: LoweringContext) -> EventFields:
    fields = context.element.event
    assert fields is not None, "an event is lowered as one"
    return fields


def _base(context: LoweringContext, id: str = "") -> dict[str, Any]:
    f = event_fields(context)
    base = {
        "id": id or context.id,
        "type": f"{f.position}Event",
        "label": f.name,
        "scope": context.scope,
        "join": MERGE,
    }
    return {**base, "origin": context.id} if id else base


# ---- start and end ---------------------------------------------------------------------------------------------------


def lower_start(context: LoweringContext) -> Fragment:
    """At the top of a process its input becomes its variables (P-X.8), in an event sub-process what the news bring."""
    f = event_fields(context)
    top = f.parent == "" and context.scope == ""
    sets = KEEP_OUTPUT if f.parent and f.trigger in ("message", "signal") else ()
    return single_node(Node(**_base(context), kind="start", sets=start_sets(context.shared) if top else sets))


def lower_end(context: LoweringContext) -> Fragment:
    f = event_fields(context)
    if f.trigger in ("message", "signal", "compensation"):
        before = _throw_node(context, f"{context.id}.throw")
        end = Node(**_base(context), kind="end")
        return Fragment((before, end), before.id, end.id, before.id, before.id, (link(before.id, end.id),))
    ends = {"none": "", "terminate": "terminate", "error": f"error:{event_code(context)}",
            "escalation": f"escalate:{event_code(context)}", "cancel": f"error:{CANCELLED}"}.get(f.trigger)  # fmt: skip
    if ends is None:
        _report_unsupported(context, "end")
    if f.trigger == "terminate" and context.scope == main_scope(context.element.fields.parent):
        ends = f"error:{TERMINATED}"
    return single_node(Node(**_base(context), kind="end", ends=ends or ""))


# ---- catch and throw -------------------------------------------------------------------------------------------------


def lower_catch(context: LoweringContext) -> Fragment:
    """Waits for the event; after an event-based gateway, which has waited already, it only passes on."""
    if context.shared.graph.after_event_gateway(context.id):
        return single_node(Node(**_base(context)))
    f = event_fields(context)
    if f.trigger not in ("timer", "message", "signal"):
        _report_unsupported(context, "catch")
        return single_node(Node(**_base(context)))
    if f.answered_by and f.trigger in ("message", "signal"):
        return answerable(context, trigger_of(context), _base(context), f.answered_by)
    return single_node(Node(**_base(context), kind="wait", triggers=(trigger_of(context),), sets=KEEP_OUTPUT))


def lower_throw(context: LoweringContext) -> Fragment:
    f = event_fields(context)
    if f.trigger == "none":
        return single_node(Node(**_base(context)))
    if f.trigger == "escalation":
        end = Node(**_base(context, f"{context.id}.throw"), kind="end", ends=f"escalate:{event_code(context)}")
        node = Node(**_base(context))
        return Fragment((node, end), node.id, node.id, node.id, node.id, (link(node.id, end.id),))
    if f.trigger not in ("message", "signal", "compensation"):
        _report_unsupported(context, "throw")
        return single_node(Node(**_base(context)))
    return single_node(_throw_node(context))


def _throw_node(context: LoweringContext, id: str = "") -> Node:
    f = event_fields(context)
    if f.trigger == "compensation":
        return Node(**_base(context, id), kind="undo", only=_compensated_activities(context))
    name = event_name(context)
    effect: Effect = publish(context, f.trigger, name, f.payload)
    return Node(**_base(context, id), kind="task", effect=effect)


def _compensated_activities(context: LoweringContext) -> tuple[str, ...]:
    f = event_fields(context)
    if not f.activity:
        return ()
    target = context.shared.definition.elements.get(f.activity)
    if target is None or target.activity is None:
        hint = "Name an activity that has a compensation, or none: then everything is undone."
        context.error("compensation_target", f"There is no activity «{f.activity}» to undo.", "activity", hint=hint)
        return ()
    return tuple(_compensated_with(target, context.shared))


def _compensated_with(target: Element, shared: SharedContext) -> Iterator[str]:
    """BPMN 13.5.5: what is done in a sub-process is compensated with it, unless it has a handler of its own."""
    yield from dict.fromkeys((core_id(target), target.id))  # of several sub-processes the scope has the handler
    if target.undo is None and not shared.graph.boundary_handler(target.id):
        for id in shared.graph.children.get(target.id, ()):
            if (inner := shared.definition.elements[id]).activity is not None:
                yield from _compensated_with(inner, shared)


# ---- boundary --------------------------------------------------------------------------------------------------------


def lower_boundary(context: LoweringContext) -> Fragment:
    """A node to pass: the trigger itself belongs to the activity."""
    f = event_fields(context)
    sets = KEEP_OUTPUT if f.trigger in ("message", "signal") else ()
    return single_node(Node(**_base(context), sets=sets))


# ---- triggers --------------------------------------------------------------------------------------------------------


def trigger_of(context: LoweringContext, **parts: Any) -> Trigger:
    """The timer, message, signal or escalation of an event as a trigger of the net."""
    f = event_fields(context)
    if f.trigger == "timer":
        return _timer(context, parts)
    if f.trigger == "escalation":
        return Trigger(kind="escalation", name=event_code(context), **parts)
    return message_trigger(context, event_name(context), f.correlation, one=f.trigger == "message", **parts)


def _timer(context: LoweringContext, parts: dict[str, Any]) -> Trigger:
    """A catch event yields null when its time has come; other events leave by their port."""
    f = event_fields(context)
    timer = f.timer
    given_times = [
        name for name in ("date", "duration", "cycle") if timer is not None and getattr(timer, name) is not None
    ]
    if f.position == "catch":
        parts = {"action": "value", **parts}
    if timer is None or len(given_times) != 1:
        hint = 'Write `"timer": {"duration": "PT1H"}`.'
        context.error("missing_field", "A timer has one of «date», «duration» and «cycle».", hint=hint)
        return Trigger(**parts)
    if timer.cycle is not None:
        return _cycle(context, timer.cycle, parts)
    if timer.date is not None:
        return Trigger(at=_moment(context, timer.date), **parts)
    assert timer.duration is not None
    after, moment = context.duration(timer.duration, "timer/duration")
    return Trigger(after_ms=after, at=moment, **parts)


def _cycle(context: LoweringContext, text: str, parts: dict[str, Any]) -> Trigger:
    cycle_parts = cycle(text)
    if cycle_parts is None:
        hint = "Write R3/PT10M: every ten minutes, three times; R/PT10M has no end."
        context.error("bad_duration", f"«{text}» is not a cycle.", "timer/cycle", hint=hint)
        return Trigger(**parts)
    times, interval = cycle_parts
    if parts.get("interrupting", True) or event_fields(context).position == "catch":
        return Trigger(after_ms=interval, **parts)
    return Trigger(after_ms=interval, repeat_ms=interval, times=times, **parts)


def _moment(context: LoweringContext, text: str) -> str:
    if text.strip().startswith("${"):
        moment = context.expression(text, "timer/date") or "null"
    else:
        try:
            zone = zone_of("UTC")
            assert zone is not None, "UTC is in every table"
            moment_of(text, zone)
        except BadDate as error:
            hint = "Write 2026-11-15T09:00:00, with an offset or in the tenant's time zone, or ${…}."
            context.error("bad_duration", f"«{text}» is not a date: {error}.", "timer/date", hint=hint)
        moment = quoted(text)
    context.shared.carried.add("calendar")
    return f"fn.round(fn.date_diff({moment}, '1970-01-01T00:00:00Z', 'second') * 1000)"


def event_name(context: LoweringContext) -> str:
    """The name of the message or signal, as written or from its declaration."""
    f = event_fields(context)
    declared = context.shared.definition.declared_events.get("signals" if f.trigger == "signal" else "messages", {})
    name = (f.signal or f.message) if f.trigger == "signal" else (f.message or f.signal)
    name = declared.get(f.name_ref, name) if f.name_ref else declared.get(name, name)
    if not name:
        hint = f'Write `"{f.trigger}": "…"`.'
        context.error("missing_field", f"The event «{context.element.name}» does not say which {f.trigger}.", hint=hint)
    return name


def event_code(context: LoweringContext) -> str:
    f = event_fields(context)
    known = context.shared.definition.declared_events.get("errors" if f.trigger == "error" else "escalations", {})
    code = known.get(f.name_ref, f.code) if f.name_ref else known.get(f.code, f.code)
    if not code and f.position in ("end", "throw") and f.trigger in ("error", "escalation"):
        return "ERROR" if f.trigger == "error" else "ESCALATION"
    return code


def _report_unsupported(context: LoweringContext, position: str) -> None:
    f = event_fields(context)
    message = f"«{context.element.name}» is a {position} event with the trigger {f.trigger}, which is not run here."
    hint = "Use another trigger, or remove it."
    context.error("bpmn_not_supported", message, "trigger", hint=hint)


START = ElementType("startEvent", lower_start, "Where a process or sub-process begins.")
END = ElementType("endEvent", lower_end, "Where a path ends; it may end more than its path.")
CATCH = ElementType("catchEvent", lower_catch, "Waits for a moment, a message or a signal.")
THROW = ElementType("throwEvent", lower_throw, "Sends, escalates or undoes, and goes on.")
BOUNDARY = ElementType("boundaryEvent", lower_boundary, "Comes true while its activity is open.")
