"""What does a task by a modeler's own word: a job type, a topic, a class, an expression; and what is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from penstock.lang.process import limits
from penstock.lang.process.bpmn import vendor_data
from penstock.lang.process.bpmn.dialects import value_text
from penstock.lang.process.bpmn.vendor_data import ALL, RESULT, Mapping, Unread
from penstock.lang.process.bpmn.vendor_words import VENDORS, attribute, extensions, vendor_children, zeebe
from penstock.lang.process.bpmn.vocabulary import BPMN
from penstock.lang.process.bpmn.xml_tree import XmlElement

#: Tasks that a worker may do. Nobody else does such a task: no person, and no agent.
_WORKED = ("serviceTask", "sendTask", "businessRuleTask", "scriptTask")
#: Attributes by which related engines name what does a task, the plainest name first.
_NAMED_BY = ("topic", "class", "delegateExpression", "expression", "type")
#: Settings of ours that say who does a task; they go before the words of others.
_OWN_WORDS = frozenset({"agent", "agent_mode", "tool"})
_LISTENERS = ("executionListener", "taskListener")
_RETRIES = re.compile(r"R(\d{1,6})/P")
_WRAPPED = re.compile(r"[#$]\{(.*)\}\Z", re.S)


def read(node: XmlElement, entry: dict[str, Any], own: dict[str, Any], script: str = "") -> list[Unread]:
    """Adds what does the task, with its data; gives what of the modeler's words is not read."""
    mapping = Mapping(node)
    unread = [*mapping.unread, *_listeners(node), *_lost_details(node)]
    if node.name == "callActivity":
        fields, more = vendor_data.call(node, mapping)
        if entry.get("orchestration"):
            entry["orchestration"] |= fields
        return [*unread, *more]
    if not _OWN_WORDS & own.keys() and node.name in _WORKED:
        if computed := vendor_data.computation(node, script):
            entry["computes"] = computed
            entry.pop("message", None)
        elif job := _job_type(node, entry):
            _add_job(node, entry, job)
    return [*unread, *_add_data(node, entry, mapping, own)]


def _job_type(node: XmlElement, entry: dict[str, Any]) -> str:
    for definition in zeebe(node, "taskDefinition"):
        if definition.get("type"):
            return value_text(definition.get("type"))
    for connector in extensions(node, "connector"):
        if name := next((child.text.strip() for child in vendor_children(connector, "connectorId")), ""):
            return name
    if "decision" in entry:
        return ""
    name = next((word for word in _NAMED_BY if attribute(node, word)), "")
    text = attribute(node, name) if name else ""
    if name == "topic":
        return value_text(text)
    match = _WRAPPED.match(text.strip())
    return (match[1] if match else text).partition("(")[0].strip()


def _add_job(node: XmlElement, entry: dict[str, Any], type: str) -> None:
    entry["job"] = type
    if "message" in entry and not node.get("messageRef"):
        entry.pop("message")
    if (retries := _retries(node)) is not None:
        entry["job_retries"] = retries
    headers = {header.get("key"): header.get("value") for headers in zeebe(node, "taskHeaders")
               for header in vendor_children(headers, "header") if header.get("key")}  # fmt: skip
    for field in extensions(node, "field"):
        texts = [child.text.strip() for child in vendor_children(field, "string")]
        text = field.get("stringValue") or next(iter(texts), "")
        if field.get("name") and text:
            headers[field.get("name")] = text
    if headers:
        entry["job_headers"] = headers


def _retries(node: XmlElement) -> int | str | None:
    given = next((definition.get("retries") for definition in zeebe(node, "taskDefinition")), "")
    for cycle in extensions(node, "failedJobRetryTimeCycle"):
        times = _RETRIES.match(cycle.text.strip())
        given = given or (times[1] if times else "")
    if given.isdecimal():
        return min(int(given[:9]), limits.RETRIES)
    return value_text(given) if given else None


def _add_data(
    node: XmlElement, entry: dict[str, Any], mapping: Mapping, own: dict[str, Any]
) -> Iterator[Unread]:  # fmt: skip
    """Inputs and outputs where the task has them here; else they are not read."""
    given, people = {"job", "tool"} & (entry.keys() | own.keys()), entry["type"] == "humanTask"
    worked = given or "decision" in entry
    if mapping.inputs and (given or people):
        entry["params"] = mapping.inputs
    elif mapping.inputs:
        yield "ioMapping" if zeebe(node, "ioMapping") else "inputOutput", "data in"
    outputs: dict[str, Any] = {}
    if (variable := vendor_data.result_variable(node)) and worked:
        outputs[variable] = _decided(node) if "decision" in entry else RESULT
    if mapping.outputs and (worked or people):
        outputs = ({} if zeebe(node, "ioMapping") or outputs else {ALL: RESULT}) | outputs | mapping.outputs
    elif mapping.outputs:
        yield "ioMapping" if zeebe(node, "ioMapping") else "inputOutput", "data out"
    if outputs:
        entry["outputs"] = outputs


def _decided(node: XmlElement) -> str:
    """Camunda 7 may want one value of a decision, or all that it gives."""
    return "${decision}" if attribute(node, "mapDecisionResult") == "singleEntry" else RESULT


# ---- what is not read ------------------------------------------------------------------------------------------------


def _listeners(node: XmlElement) -> Iterator[Unread]:
    """Listeners by their event and what they call."""
    extension = node.first("extensionElements", BPMN)
    for child in extension.children if extension is not None else ():
        if child.space not in VENDORS:
            continue
        if child.name in _LISTENERS:
            yield child.name, _listener(child)
        elif child.name.removesuffix("s") in _LISTENERS:
            for listener in child.children:
                yield listener.name, _listener(listener)


def not_of_activities(node: XmlElement) -> Iterator[Unread]:
    """What of a process, an event, a gateway or a flow is not read: listeners, and what would send a message."""
    yield from _listeners(node)
    definitions = (child for child in node.children if child.name == "messageEventDefinition")
    for sent in (node, *definitions):
        if zeebe(sent, "taskDefinition") or any(attribute(sent, word) for word in _NAMED_BY if sent is not node):
            yield "taskDefinition", "no worker sends it; here it is a message to the processes of the tenant"


def _listener(node: XmlElement) -> str:
    names = (node.get(name) for name in ("class", "delegateExpression", "expression", "type"))
    script = "a script" if any(child.name == "script" for child in node.children) else ""
    called = next((name for name in names if name), script) or "nothing"
    event = node.get("event") or node.get("eventType") or "every event"
    return f"at «{event}» it calls «{called}», which is not called here"


def _lost_details(node: XmlElement) -> Iterator[Unread]:
    if attribute(node, "followUpDate") or any(schedule.get("followUpDate") for schedule in zeebe(node, "taskSchedule")):
        yield "followUpDate", "the work is open at once here"
    for field in extensions(node, "field"):
        if vendor_children(field, "expression") or field.get("expression"):
            yield "field", f"«{field.get('name')}» is an expression"
