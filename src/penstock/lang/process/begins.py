"""What begins a process by itself: the timer, message or signal of its start event (P-X.25).

The net says it among its policies as `begins`: {event, trigger, name, correlation} or {event, trigger, timer}. Whoever
puts a version in force registers it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.expr import iso_repeats as repeats
from penstock.expr.calendar import BadDate
from penstock.expr.cron import cron_problem, plain_cron, seconds_problem, zone_of
from penstock.lang.process.fields import EventFields, TimerFields
from penstock.lang.process.lowering_context import LoweringContext, Shared
from penstock.lang.process.nodes.events import event_of, name_of

_TIMES = ("date", "duration", "cycle")


def begin_of_process(shared: Shared) -> dict[str, Any] | None:
    for one in shared.graph.starts(""):
        event = one.event
        if event is None or event.position != "start" or event.trigger == "none" or not _works(event):
            continue
        found: dict[str, Any] = {"event": one.id, "trigger": event.trigger}
        if event.trigger == "timer":
            return {**found, "timer": _timer(event)}
        found["name"] = name_of(shared.site(one))
        return {**found, "correlation": event.correlation} if event.correlation else found
    return None


def _works(event: EventFields) -> bool:
    """A file may show that something begins a process, and not say what."""
    if event.trigger == "timer":
        return event.timer is not None and any(getattr(event.timer, name) is not None for name in _TIMES)
    return event.trigger in ("message", "signal") and bool(event.message or event.signal or event.name_ref)


def _timer(event: EventFields) -> dict[str, Any]:
    timer = event.timer
    assert timer is not None, "it works"
    found = {name: value for name in _TIMES if (value := getattr(timer, name)) is not None}
    found |= {"timezone": timer.timezone} if timer.timezone else {}
    found |= {"input": event.payload} if isinstance(event.payload, dict) else {}
    return {**found, "overlap": timer.overlap, "catch_up": timer.catch_up}


# ---- when ------------------------------------------------------------------------------------------------------------


def schedule_text(timer: Mapping[str, Any], zone: str, now: int) -> str:
    """A timer as the schedule it is from a moment on: spans begin there, and what has no offset is of the zone."""
    place = zone_of(zone) or zone_of("UTC")
    assert place is not None, "UTC is in every table"
    if "date" in timer:
        return repeats.once(repeats.moment_ms(str(timer["date"]).strip(), place))
    if "duration" in timer:
        return repeats.once(_after(timer["duration"]).after(now, 1, place))
    text = str(timer["cycle"]).strip()
    repeat = repeats.iso_repeat(text)
    if repeat is None:
        return plain_cron(text)
    first = repeat.each.after(now, 1, place) if repeat.first is None else repeats.moment_ms(repeat.first, place)
    return repeats.anchored(repeat, first, text.rpartition("/")[2])


def _after(duration: str | float) -> repeats.IsoDuration:
    span = repeats.IsoDuration(0, 0, round(duration * 1000)) if isinstance(duration, int | float) else None
    span = span or repeats.iso_duration(str(duration).strip())
    assert span is not None, "it was checked"
    return span


# ---- what is wrong with it -------------------------------------------------------------------------------------------


def check_begin(site: LoweringContext) -> None:
    """Of a start event with a timer, message or signal, at the top."""
    f = event_of(site)
    if not _works(f):
        message = f"«{site.element.name}» does not say which {f.trigger}: only people start this process."
        hint = f"Say which {f.trigger} starts it, or take a start event without one."
        site.warning("start_by_hand", message, hint=hint)
    elif f.timer is not None and f.trigger == "timer":
        _check_timer(f.timer, site)
        if f.payload is not None and not isinstance(f.payload, dict):
            message = "What a timer begins a process with is an object."
            site.error("wrong_type", message, "payload", hint='Write `"payload": {"name": "value"}`.')
        site.literal(f.payload, "payload")
    else:
        name_of(site)
        _check_correlation(f, site)


def _check_correlation(f: EventFields, site: LoweringContext) -> None:
    for name, value in (f.correlation or {}).items():
        if isinstance(value, str) and value.strip().startswith(("${", "#{")):
            message = f"«{name}» cannot be compared with {value}: there is no instance yet that could say it."
            hint = "Write a value of its own here; expressions are for instances that wait."
            site.error("start_correlation", message, f"correlation/{name}", hint=hint)


def _check_timer(timer: TimerFields, site: LoweringContext) -> None:
    given = [one for one in _TIMES if getattr(timer, one) is not None]
    if len(given) != 1:
        hint = 'Write `"timer": {"cycle": "R/PT1H"}`.'
        site.error("missing_field", "A timer has one of «date», «duration» and «cycle».", hint=hint)
        return
    if timer.timezone and zone_of(timer.timezone) is None:
        hint = "Write a name such as Asia/Seoul."
        site.error("wrong_type", f"There is no time zone «{timer.timezone}».", "timer/timezone", hint=hint)
    (name,) = given
    value = getattr(timer, name)
    if isinstance(value, str) and "${" in value:
        hint = "Write the time itself; expressions are for instances that wait."
        message = f"{value} cannot be known before there is an instance."
        site.error("bad_duration", message, f"timer/{name}", hint=hint)
        return
    problem, hint = {"date": _date_problem, "duration": _span_problem, "cycle": _cycle_problem}[name](value)
    if problem is not None:
        site.error("bad_duration", f"«{value}» says no time: {problem}.", f"timer/{name}", hint=hint)
    elif name == "cycle":
        _weekdays(value, site)


def _date_problem(text: str) -> tuple[str | None, str]:
    hint = "Write 2026-11-15T09:00:00, with an offset or in the tenant's time zone."
    zone = zone_of("UTC")
    assert zone is not None, "UTC is in every table"
    try:
        repeats.moment_ms(text.strip(), zone)
    except BadDate as wrong:
        return str(wrong), hint
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


def _weekdays(text: str, site: LoweringContext) -> None:
    fields = plain_cron(text).split()
    if len(fields) == 6 and any(c.isdecimal() for c in fields[5].partition("#")[0].partition("/")[0]):
        message = f"In «{text.strip()}» 1 is Monday and 0 Sunday; some modelers mean Sunday by 1."
        site.warning("weekday_number", message, "timer/cycle", hint="Write the days as MON-FRI.")
