"""Fields that stand where they change nothing: whoever wrote one meant something by it, and is told."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from penstock.lang.fields import Fields
from penstock.lang.process.fields import ActivityFields, EventFields
from penstock.lang.process.lowering_context import Shared
from penstock.lang.process.nodes import type_of
from penstock.lang.process.schema import Element

_NEWS = ("message", "signal")
#: what only some types of activities have, and every other one does nothing with
_DESK = ("instruction", "input_data", "output_data", "form", "due", "escalate_to", "priority", "role")
_AGENT = ("agent", "agent_mode")
_SENT = ("message", "signal", "payload")
_HEARD = ("message", "signal", "correlation")
_RULES = ("rule_pack", "decision")
_SPECIAL = tuple(dict.fromkeys((*_DESK, *_AGENT, *_SENT, *_HEARD, *_RULES, "orchestration")))
_USED: dict[str, tuple[str, ...]] = {
    "humanTask": (*_DESK, *_AGENT, "orchestration"),
    "serviceTask": (*_DESK, *_AGENT, "orchestration"),
    "scriptTask": (*_DESK, "orchestration"),
    "businessRuleTask": (*_DESK, *_RULES, "orchestration"),
    "sendTask": (*_DESK, *_SENT, "orchestration"),
    "receiveTask": _HEARD,
    "callActivity": (*_DESK, "orchestration"),
    "subProcess": (),
}
_CALL = ("sub_process", "version", "input", "output")
_ASKED = ("tokens", "tools", "approvers")
#: of an orchestration
_IDLE = {
    "humanTask": _CALL, "serviceTask": _CALL, "callActivity": _ASKED, "scriptTask": (*_CALL, *_ASKED),
    "businessRuleTask": (*_CALL, *_ASKED), "sendTask": (*_CALL, *_ASKED),
}  # fmt: skip
#: of several instances
_LOOP, _EACH = ("items", "count", "until"), ("again", "most")


def tell_idle(element: Element, shared: Shared) -> None:
    for path, where in _idle(element, shared):
        message = f"«{path.rpartition('/')[2]}» changes nothing {where}."
        hint = "Remove it, or make the element one that has it."
        shared.report.warning("idle_field", message, f"{element.pointer}/{path}", hint=hint, node=element.id)


def _idle(element: Element, shared: Shared) -> Iterator[tuple[str, str]]:
    if element.activity is not None:
        yield from _of_activity(element, element.activity, shared)
    elif element.event is not None:
        yield from ((name, _at(element.event)) for name in _of_event(element.event))
    elif element.gateway is not None and element.gateway.type in ("parallelGateway", "eventBasedGateway"):
        if element.gateway.default:
            yield "default", "at a gateway that asks no conditions"


def _of_activity(element: Element, f: ActivityFields, shared: Shared) -> Iterator[tuple[str, str]]:
    type = type_of(element, shared.graph).name
    for name in _SPECIAL:
        if name not in _USED[type] and _given(f, name) and not (name == "agent_mode" and f.agent_mode == "AUTONOMOUS"):
            yield name, f"at a {type}"
    for name in _IDLE.get(type, ()):
        if _given(element.orchestration, name):
            yield f"orchestration/{name}", f"at a {type}"
    if f.multi is not None:
        looped = f.multi.mode == "loop"
        for name in _LOOP if looped else _EACH:
            if _given(f.multi, name):
                yield f"multi/{name}", "in a loop" if looped else "where it is done for every item"


def _of_event(f: EventFields) -> Iterator[str]:
    news, inside = f.trigger in _NEWS, bool(f.parent)
    waits = f.position in ("start", "catch", "boundary")
    used = {
        "attached_to": f.position == "boundary",
        "interrupting": f.trigger in ("timer", "message", "signal", "escalation", "compensation"),
        "timer": f.trigger == "timer",
        "message": news,
        "signal": news,
        "code": f.trigger in ("error", "escalation"),
        "name_ref": news or f.trigger in ("error", "escalation"),
        "correlation": news and waits,
        "payload": news and not waits or f.trigger == "timer" and f.position == "start" and not inside,
        "activity": f.trigger == "compensation",
    }
    yield from (name for name, is_used in used.items() if not is_used and _given(f, name))


def _at(f: EventFields) -> str:
    return f"at a {f.position} event with the trigger {f.trigger}"


def _given(part: Fields, name: str) -> bool:
    """Something other than what it is when nothing is written."""
    value = getattr(part, name)
    return value not in (None, "", [], {}) and value != getattr(_usual(type(part)), name)


@lru_cache
def _usual(kind: type[Fields]) -> Fields:
    return kind()
