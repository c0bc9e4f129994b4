"""Timers without a time, or with one that cannot be read (P-X.25). Only a time that the drawing says is proposed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of
from penstock.lang.process import durations
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.schema import Element
from penstock.lang.process.start_triggers import time_problem
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.expressions import checked_expression
from penstock.lang.process.todos.spoken_times import spoken_time

KIND = "timer_value"
KINDS = ("date", "duration", "cycle")
_RULES = ("missing_field", "bad_duration", "expression_syntax")
_HINT = "Say when: after P3D or PT30M, at 2026-11-15T09:00:00, or again and again: R/PT1H."
_FORM = {
    "type": "object",
    "properties": {"kind": {"type": "string", "enum": list(KINDS)}, "value": {"type": "string", "minLength": 1}},
    "required": ["kind", "value"], "additionalProperties": False,
}  # fmt: skip


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        event = element.event
        if event is None or event.trigger != "timer":
            continue
        timer = event.timer
        given = [name for name in KINDS if timer is not None and getattr(timer, name) is not None]
        if len(given) != 1 or process.errors(element.id, *_RULES):
            yield _todo(process, element, {name: str(getattr(timer, name)) for name in given})


def _todo(process: CheckedProcess, element: Element, written: dict[str, str]) -> Todo:
    event = element.event
    assert event is not None
    starts = event.position == "start" and not event.parent
    what = " and ".join(f"«{text}»" for text in written.values())
    message = f"{process.drawn(element)} is a timer, and nothing says when it is due."
    if what:
        message = f"{process.drawn(element)} is a timer, and {what} is no time that can be read."
    facts = {"written": written, "position": event.position}
    return element_todo(
        KIND, process, element, message, _HINT, required=not starts or bool(written), facts=facts,
        proposals=_proposals(element, starts=starts), form=_FORM,
    )  # fmt: skip


def _proposals(element: Element, *, starts: bool) -> Iterator[Proposal]:
    spoken = spoken_time(drawn_name(element))
    if spoken is None or _problem(*spoken, starts=starts) is not None:
        return
    kind, value = spoken
    words = {"date": "at", "duration": "after", "cycle": "again and again,"}
    message = f"It is due {words[kind]} {value}, as its name says."
    yield Proposal("spoken_time", message, {"kind": kind, "value": value}, {"kind": kind, "value": value})


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "kind", "value")
    kind = text_at(given, "kind", f"Write {', '.join(KINDS)}.")
    value = text_at(given, "value", _HINT)
    if kind not in KINDS:
        raise refusal("wrong_type", f"«{kind}» is no kind of time.", "/kind", f"Write {', '.join(KINDS)}.")
    _, entry = entry_of(drawing, at)
    starts = entry.get("position") == "start" and not entry.get("parent")
    if value.startswith("${") and not starts:
        checked_expression(value, "/value")
    elif (problem := _problem(kind, value, starts=starts)) is not None:
        raise refusal("bad_duration", f"«{value}» says no time: {problem}.", "/value", _HINT)
    held = entry.get("timer")
    others = {name: part for name, part in held.items() if name not in KINDS} if isinstance(held, dict) else {}
    return with_fields(drawing, at, {"timer": {**others, kind: value}})


def _problem(kind: str, value: str, *, starts: bool) -> str | None:
    """Why a text is no time of its kind."""
    if starts:
        return time_problem(kind, value)
    if kind == "duration":
        return None if durations.milliseconds(value) is not None else "it is no duration"
    if kind == "cycle":
        return None if durations.cycle(value) is not None else "it is no cycle"
    zone = zone_of("UTC")
    assert zone is not None, "UTC is in every table"
    try:
        moment_of(value, zone)
    except BadDate as error:
        return str(error)
    return None


TODO = TodoType(KIND, find, answer, "When is the timer due?", _RULES)
