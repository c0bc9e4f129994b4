"""Warns of fields that change nothing at the element they are written at."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from penstock.lang.fields import Fields
from penstock.lang.process.fields import ActivityFields, EventFields
from penstock.lang.process.lowering_context import SharedContext
from penstock.lang.process.nodes import type_of
from penstock.lang.process.schema import Element

_MESSAGES = ("message", "signal")
_INTERRUPTING = ("timer", "message", "signal", "conditional", "escalation", "compensation", "multiple")
#: Fields that only some types of activities use.
_WORK_ITEM = (
    "instruction",
    "input_data",
    "output_data",
    "form",
    "due",
    "escalate_to",
    "priority",
    "role",
    "candidates",
    "outputs",
)
_ONLY_AT_GATEWAY = {"instantiate": "eventBasedGateway", "all_events": "eventBasedGateway",
                    "count": "complexGateway", "activation": "complexGateway"}  # fmt: skip
_AGENT = ("agent", "agent_mode")
_SEND = ("message", "signal", "payload")
_RECEIVE = ("message", "signal", "correlation", "answered_by", "instantiate")
_RULES = ("rule_pack", "decision")
_TOOL = ("tool", "params")
_JOB = ("job", "job_retries", "job_headers", "params")
_SPECIAL = tuple(dict.fromkeys((*_WORK_ITEM, *_AGENT, *_TOOL, *_JOB, *_SEND, *_RECEIVE, *_RULES, "orchestration")))
_USED: dict[str, tuple[str, ...]] = {
    "humanTask": (*_WORK_ITEM, *_AGENT, "params", "orchestration"),
    "serviceTask": (*_WORK_ITEM, *_AGENT, *_TOOL, "orchestration"),
    "scriptTask": (*_WORK_ITEM, "orchestration"),
    "businessRuleTask": (*_WORK_ITEM, *_RULES, "orchestration"),
    "sendTask": (*_WORK_ITEM, *_SEND, "orchestration"),
    "receiveTask": _RECEIVE,
    "transaction": (),
    "adHocSubProcess": ("role", "candidates", "instruction", "priority"),
    "callActivity": (*(name for name in _WORK_ITEM if name != "escalate_to"), "orchestration"),
    "subProcess": (),
}
#: Of an activity that an outside worker does.
_OF_JOB = (*_WORK_ITEM, *_JOB, "orchestration")
_CALL = ("sub_process", "version", "input", "output")
_AGENT_LIMITS = ("tokens", "tools", "approvers")
#: Fields of an orchestration that a type does not use.
_UNUSED_ORCHESTRATION = {
    "humanTask": _CALL, "serviceTask": _CALL, "callActivity": _AGENT_LIMITS, "scriptTask": (*_CALL, *_AGENT_LIMITS),
    "businessRuleTask": (*_CALL, *_AGENT_LIMITS), "sendTask": (*_CALL, *_AGENT_LIMITS),
}  # fmt: skip
#: Fields of several instances: those a loop does not use, and those that only a loop uses.
_NOT_IN_LOOP, _ONLY_IN_LOOP = ("items", "count", "until", "ask"), ("again", "most", "test_before")


_ASKING = ("exclusiveGateway", "inclusiveGateway")


def report_unused_fields(element: Element, shared: SharedContext) -> None:
    for path, where in _unused_fields(element, shared):
        message = f"«{path.rpartition('/')[2]}» changes nothing {where}."
        hint = "Remove it, or make the element one that has it."
        shared.report.warning("idle_field", message, f"{element.pointer}/{path}", hint=hint, node=element.id)


def _unused_fields(element: Element, shared: SharedContext) -> Iterator[tuple[str, str]]:
    if element.activity is not None:
        yield from _of_activity(element, element.activity, shared)
    elif element.event is not None:
        yield from ((name, _at(element.event)) for name in _of_event(element.event))
    elif element.gateway is not None and element.gateway.type in ("parallelGateway", "eventBasedGateway"):
        if element.gateway.default:
            yield "default", "at a gateway that asks no conditions"
    if getattr(element.fields, "instantiate", False) and not shared.graph.instantiates(element):
        yield "instantiate", "where something leads to it, or in a sub-process: there it waits when it is reached"
    if element.gateway is not None:
        for name, type in _ONLY_AT_GATEWAY.items():
            if element.gateway.type != type and _is_set(element.gateway, name):
                yield name, f"at a {element.gateway.type}"
        if element.gateway.ask is not None and element.gateway.type not in _ASKING:
            yield "ask", "at a gateway that asks nobody"


def _of_activity(element: Element, f: ActivityFields, shared: SharedContext) -> Iterator[tuple[str, str]]:
    type = type_of(element, shared.graph).name
    by_job = bool(f.job) and type == "serviceTask"
    talks = (*(("payload",) if f.sends else ()), *(("correlation",) if f.receives or f.replies else ()))
    used = (*(_OF_JOB if by_job else _USED[type]), *talks)
    for name in _SPECIAL:
        if name not in used and _is_set(f, name) and not (name == "agent_mode" and f.agent_mode == "AUTONOMOUS"):
            yield name, f"at a {type}"
    for name in _UNUSED_ORCHESTRATION.get(type, ()):
        if _is_set(element.orchestration, name):
            yield f"orchestration/{name}", f"at a {type}"
    if f.ad_hoc is not None and type not in ("adHocSubProcess", "callActivity"):
        yield "ad_hoc", f"at a {type}"
    if f.multi is not None:
        looped = f.multi.mode == "loop"
        for name in _NOT_IN_LOOP if looped else _ONLY_IN_LOOP:
            if _is_set(f.multi, name):
                yield f"multi/{name}", "in a loop" if looped else "where it is done for every item"


def _of_event(f: EventFields) -> Iterator[str]:
    is_message, in_sub_process = f.trigger in _MESSAGES, bool(f.parent)
    waits = f.position in ("start", "catch", "boundary")
    used = {
        "attached_to": f.position == "boundary",
        "interrupting": f.trigger in _INTERRUPTING,
        "condition": f.trigger == "conditional",
        "link": f.trigger == "link",
        "triggers": f.trigger in ("multiple", "parallelMultiple"),
        "timer": f.trigger == "timer",
        "message": is_message,
        "signal": is_message,
        "code": f.trigger in ("error", "escalation"),
        "name_ref": is_message or f.trigger in ("error", "escalation"),
        "correlation": is_message and waits,
        "payload": is_message and not waits or f.trigger == "timer" and f.position == "start" and not in_sub_process,
        "activity": f.trigger == "compensation",
        "wait_for_completion": f.trigger == "compensation" and not waits,
        "answered_by": is_message and f.position == "catch",
    }
    yield from (name for name, is_used in used.items() if not is_used and _is_set(f, name))


def _at(f: EventFields) -> str:
    return f"at a {f.position} event with the trigger {f.trigger}"


def _is_set(part: Fields, name: str) -> bool:
    """Is the field set to something else than its default?"""
    value = getattr(part, name)
    return value not in (None, "", [], {}) and value != getattr(_defaults(type(part)), name)


@lru_cache
def _defaults(kind: type[Fields]) -> Fields:
    return kind()
