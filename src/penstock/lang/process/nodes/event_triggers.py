"""What an event waits for: a moment, news or a condition, as a trigger of the net; and whether it is one of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of
from penstock.lang.process.durations import cycle
from penstock.lang.process.event_positions import refusal
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.fields import EventFields
from penstock.lang.process.flow_conditions import unwrapped
from penstock.lang.process.lowering_context import LoweringContext, check_expression
from penstock.lang.process.nodes.messages import message_trigger
from penstock.net.model import Trigger

SEVERAL = ("multiple", "parallelMultiple")


def event_fields(context: LoweringContext) -> EventFields:
    """The fields of an event; of one of its several triggers they stand in those of the event."""
    fields = context.element.event
    assert fields is not None, "an event is lowered as one"
    if not isinstance(context, _SingleTrigger):
        return fields
    one = fields.triggers[context.number]
    own = {name: getattr(one, name) for name in one.__struct_fields__}
    return msgspec.structs.replace(fields, **{**own, "trigger": one.trigger or "none", "triggers": []})


def each_trigger(context: LoweringContext) -> list[LoweringContext]:
    """The event once for each thing that it waits for or sends, with that as its only trigger."""
    return several_triggers(context) if event_fields(context).trigger in SEVERAL else [context]


def several_triggers(context: LoweringContext) -> list[LoweringContext]:
    """Of an event with several things to wait for or to send: those."""
    return [_SingleTrigger(context.shared, context.element, i) for i in range(len(event_fields(context).triggers))]


@dataclass(frozen=True)
class _SingleTrigger(LoweringContext):
    """An event with one of its several triggers as its only one."""

    number: int = 0

    @property
    def pointer(self) -> str:
        return f"{self.element.pointer}/triggers/{self.number}"


def refuse_event(context: LoweringContext, position: str) -> bool:
    """Is an event with this trigger, or with one of its several, not run there? That is told with what to draw."""
    f = event_fields(context)
    if f.trigger in SEVERAL and not f.triggers:
        hint = 'Write `"triggers": [{"trigger": "message", "message": "…"}, …]`.'
        context.error("missing_field", f"The event «{context.element.name}» names none of its triggers.", hint=hint)
    several = several_triggers(context) if f.trigger in SEVERAL else []
    return any([_refuse(context, position, among=False), *(_refuse(one, position, among=True) for one in several)])


def _refuse(context: LoweringContext, position: str, *, among: bool) -> bool:
    why = refusal(position, event_fields(context).trigger, among=among)
    if why is None:
        return False
    message, hint = why
    context.error("bpmn_not_supported", f"«{context.element.name}» {message}.", "trigger", hint=hint)
    return True


# ---- as a trigger of the net -----------------------------------------------------------------------------------------


def trigger_of(context: LoweringContext, **parts: Any) -> Trigger:
    """The timer, message, signal, condition or escalation of an event as a trigger of the net."""
    f = event_fields(context)
    if f.trigger == "conditional":
        return Trigger(kind="condition", match=_condition(context, f), **parts)
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


def _condition(context: LoweringContext, f: EventFields) -> str:
    if not f.condition.strip():
        hint = 'Write `"condition": "amount > 100"`.'
        message = f"The event «{context.element.name}» does not say for which condition it waits."
        context.error("missing_field", message, hint=hint)
        return "false"
    at = context.at("condition")
    return check_expression(unwrapped(f.condition), context.shared, at, context.id, condition=True) or "false"


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
