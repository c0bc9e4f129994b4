"""What begins a process: the timer, message or signal of its start event, or of each of several (P-X.25).

The net has it among its policies as `begins`: {event, trigger, name, correlation} or {event, trigger, timer}, and a
list of these where the process has alternatives. It is registered when a version is released.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.expr import iso_repeats as repeats
from penstock.expr.calendar import BadDate
from penstock.expr.cron import cron_problem, plain_cron, seconds_problem, zone_of
from penstock.lang.process.fields import EventFields, TimerFields
from penstock.lang.process.lowering_context import LoweringContext, SharedContext
from penstock.lang.process.nodes.event_triggers import each_trigger, event_fields, event_name
from penstock.lang.process.nodes.messages import task_message_name
from penstock.lang.process.schema import Element

_TIMES = ("date", "duration", "cycle")


def begun_by(shared: SharedContext) -> dict[str, Any] | list[dict[str, Any]] | None:
    """What begins the process by itself: one trigger alone, or those of several alternatives, each with its event."""
    starts = shared.graph.alternatives()
    found = [
        {"event": element.id, **trigger}
        for alternative in starts
        for element in alternative.begun_by
        for trigger in _triggers(element, shared)
    ]
    if len(starts) == 1 and len(found) < 2 and starts[0].element.event is not None:
        return found[0] if found else None
    return found or None


def _triggers(element: Element, shared: SharedContext) -> Iterator[dict[str, Any]]:
    context = shared.context_of(element)
    if (activity := element.activity) is not None:
        trigger: dict[str, Any] = {"trigger": "signal" if activity.signal else "message"}
        trigger["name"] = task_message_name(context)
        yield {**trigger, "correlation": activity.correlation} if activity.correlation else trigger
        return
    for one in each_trigger(context):
        event = event_fields(one)
        if not _is_complete(event):
            continue
        if event.trigger == "timer":
            yield {"trigger": "timer", "timer": _timer(event)}
        else:
            trigger = {"trigger": event.trigger, "name": event_name(one)}
            yield {**trigger, "correlation": event.correlation} if event.correlation else trigger


def _is_complete(event: EventFields) -> bool:
    """Does it name its timer, message or signal? A file may show a start trigger without saying which."""
    if event.trigger == "timer":
        return event.timer is not None and any(getattr(event.timer, name) is not None for name in _TIMES)
    return event.trigger in ("message", "signal") and bool(event.message or event.signal or event.name_ref)


def _timer(event: EventFields) -> dict[str, Any]:
    timer = event.timer
    assert timer is not None, "it works"
    settings = {name: value for name in _TIMES if (value := getattr(timer, name)) is not None}
    settings |= {"timezone": timer.timezone} if timer.timezone else {}
    settings |= {"input": event.payload} if isinstance(event.payload, dict) else {}
    return {**settings, "overlap": timer.overlap, "catch_up": timer.catch_up}


# ---- schedules -------------------------------------------------------------------------------------------------------


def schedule_text(timer: Mapping[str, Any], zone: str, now: int) -> str:
    """The schedule of a timer from `now` on: durations begin there, and times without an offset are in the zone."""
    timezone = zone_of(zone) or zone_of("UTC")
    assert timezone is not None, "UTC is in every table"
    if "date" in timer:
        return repeats.once(repeats.moment_ms(str(timer["date"]).strip(), timezone))
    if "duration" in timer:
        return repeats.once(_iso_duration(timer["duration"]).after(now, 1, timezone))
    text = str(timer["cycle"]).strip()
    repeat = repeats.iso_repeat(text)
    if repeat is None:
        return plain_cron(text)
    first = repeat.each.after(now, 1, timezone) if repeat.first is None else repeats.moment_ms(repeat.first, timezone)
    return repeats.anchored(repeat, first, text.rpartition("/")[2])


def _iso_duration(duration: str | float) -> repeats.IsoDuration:
    span = repeats.IsoDuration(0, 0, round(duration * 1000)) if isinstance(duration, int | float) else None
    span = span or repeats.iso_duration(str(duration).strip())
    assert span is not None, "it was checked"
    return span


# ---- checks ----------------------------------------------------------------------------------------------------------


def check_start_trigger(context: LoweringContext) -> None:
    """Checks a start event at the top that has a trigger. What a condition reads there is outside every instance (BPMN
    10.5.2: it must not refer to the data of the process), and nobody watches that."""
    f = event_fields(context)
    if f.trigger == "conditional":
        message = f"Nobody watches the condition of «{context.element.name}»: only people start this process with it."
        hint = "Begin without a trigger, and let a conditional catch event follow: it watches the instance's variables."
        context.warning("start_by_hand", message, hint=hint)
    elif not _is_complete(f):
        message = f"«{context.element.name}» does not say which {f.trigger}: only people start this process."
        hint = f"Say which {f.trigger} starts it, or take a start event without one."
        context.warning("start_by_hand", message, hint=hint)
    elif f.timer is not None and f.trigger == "timer":
        _check_timer(f.timer, context)
        if f.payload is not None and not isinstance(f.payload, dict):
            message = "What a timer begins a process with is an object."
            context.error("wrong_type", message, "payload", hint='Write `"payload": {"name": "value"}`.')
        context.literal(f.payload, "payload")
    else:
        event_name(context)
        _check_correlation(f, context)


def _check_correlation(f: EventFields, context: LoweringContext) -> None:
    for name, value in (f.correlation or {}).items():
        if isinstance(value, str) and value.strip().startswith(("${", "#{")):
            message = f"«{name}» cannot be compared with {value}: there is no instance yet that could say it."
            hint = "Write a value of its own here; expressions are for instances that wait."
            context.error("start_correlation", message, f"correlation/{name}", hint=hint)


def _check_timer(timer: TimerFields, context: LoweringContext) -> None:
    given_times = [name for name in _TIMES if getattr(timer, name) is not None]
    if len(given_times) != 1:
        hint = 'Write `"timer": {"cycle": "R/PT1H"}`.'
        context.error("missing_field", "A timer has one of «date», «duration» and «cycle».", hint=hint)
        return
    if timer.timezone and zone_of(timer.timezone) is None:
        hint = "Write a name such as Asia/Seoul."
        context.error("wrong_type", f"There is no time zone «{timer.timezone}».", "timer/timezone", hint=hint)
    (name,) = given_times
    value = getattr(timer, name)
    if isinstance(value, str) and "${" in value:
        hint = "Write the time itself; expressions are for instances that wait."
        message = f"{value} cannot be known before there is an instance."
        context.error("bad_duration", message, f"timer/{name}", hint=hint)
        return
    problem, hint = _PROBLEMS[name](value)
    if problem is not None:
        context.error("bad_duration", f"«{value}» says no time: {problem}.", f"timer/{name}", hint=hint)
    elif name == "cycle":
        _check_weekdays(value, context)


def _date_problem(text: str) -> tuple[str | None, str]:
    hint = "Write 2026-11-15T09:00:00, with an offset or in the tenant's time zone."
    zone = zone_of("UTC")
    assert zone is not None, "UTC is in every table"
    try:
        repeats.moment_ms(text.strip(), zone)
    except BadDate as error:
        return str(error), hint
    return None, hint


def _span_problem(value: str | float) -> tuple[str | None, str]:
    hint = "Write an ISO 8601 duration such as PT30M or P1D, or a number of seconds."
    if isinstance(value, str) and repeats.iso_duration(value.strip()) is None:
        return "it is no duration", hint
    return None, hint


def _cycle_problem(value: str) -> tuple[str | None, str]:
    hint = "Write R/PT1H, R3/PT10M, or cron: 0 9 * * MON-FRI, with seconds first 0 0 9 * * MON-FRI."
    text = value.strip()
    if text[:1] == "R" and "/" in text:
        repeat = repeats.iso_repeat(text)
        if repeat is None:
            return "it is no cycle of a second or more", hint
        return _date_problem(repeat.first) if repeat.first is not None else (None, hint)
    if text[:1] == "P":
        return "it does not say how often", f"Write R/{text} for again and again; as a «duration» it comes once."
    cron = plain_cron(text)
    return seconds_problem(cron) or cron_problem(cron), hint


_PROBLEMS = {"date": _date_problem, "duration": _span_problem, "cycle": _cycle_problem}


def time_problem(kind: str, value: str) -> str | None:
    """Why a text is no date, duration or cycle at which a process could start."""
    return _PROBLEMS[kind](value)[0]


def _check_weekdays(text: str, context: LoweringContext) -> None:
    fields = plain_cron(text).split()
    if len(fields) == 6 and any(c.isdecimal() for c in fields[5].partition("#")[0].partition("/")[0]):
        message = f"In «{text.strip()}» 1 is Monday and 0 Sunday; some modelers mean Sunday by 1."
        context.warning("weekday_number", message, "timer/cycle", hint="Write the days as MON-FRI.")
