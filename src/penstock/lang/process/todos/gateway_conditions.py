"""Gateways of which nobody has said when each way is taken, or not so that it can be read (P-X.9, P-X.10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.errors import ProcessInvalid
from penstock.lang.process.choices import choice_labels, target_name
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.fields import CHOOSING, SEVERAL_WAYS
from penstock.lang.process.nodes.candidates import is_target
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.asked import WHO, asked_words, who_is_asked
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess, drawn_name
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType, element_todo
from penstock.lang.process.todos.edit import entries, entry_of, known_members, refusal, text_at, with_fields
from penstock.lang.process.todos.expressions import checked_expression

KIND = "gateway_conditions"
_UNREAD = ("expression_syntax", "expression_language")
_RULES = ("gateway_without_conditions", "condition_missing", *_UNREAD, "wrong_type", "condition_conflict")
_HINT = "Take the proposal, or write a condition for each way; one of them may be the default."


def find(drawing: CheckedDrawing) -> Iterator[Todo]:
    for process, element in drawing.each():
        gateway = element.gateway
        if gateway is None and (unread := _unread_flows(process, element)):
            yield _unread_todo(process, element, unread)
        if gateway is None or gateway.type not in CHOOSING or gateway.ask is not None:
            continue
        if len(process.graph.outgoing[element.id]) > 1 and _incomplete(process, element):
            yield _todo(process, element)


def _incomplete(process: CheckedProcess, element: Element) -> bool:
    conditions = process.conditions(element)
    flows = process.graph.outgoing[element.id]
    without = [flow for flow in flows if flow.id not in conditions.conditions and flow.id != conditions.default]
    return bool(without or not conditions.conditions or process.errors(element.id, *_RULES))


def _todo(process: CheckedProcess, element: Element) -> Todo:
    labels, written = choice_labels(element, process.graph), process.conditions(element).conditions
    flows = process.graph.outgoing[element.id]
    choices: list[dict[str, Any]] = [
        {"flow": flow.id, "label": labels[flow.id], "target": target_name(flow, process.graph)}
        | ({"condition": written[flow.id][0]} if flow.id in written else {})
        for flow in flows
    ]
    steps = [drawn_name(step) or step.id for step in process.steps_before(element.id)]
    ways = ", ".join(f"«{label}»" for label in labels.values())
    unread = process.errors(element.id, *_UNREAD)
    why = unread[0].message.removesuffix(".") if unread else ""
    what = f"a condition that cannot be read: {why}" if unread else "no condition that says which"
    if not unread and written:
        what = "no condition for some of them"
    message = f"{process.drawn(element)} parts into {ways}, and has {what}."
    facts = {"choices": choices, "who": steps, **({"unread": [f.message for f in unread]} if unread else {})}
    proposals = [_proposal(process, element, labels, steps)]
    return element_todo(
        KIND, process, element, message, _HINT, facts=facts, proposals=proposals, form=_form(list(labels))
    )


def _unread_flows(process: CheckedProcess, element: Element) -> dict[str, str]:
    """Of an activity or event: its conditional flows whose conditions cannot be read."""
    if not process.errors(element.id, *_UNREAD):
        return {}
    flows = {flow.id: flow.fields.condition or "" for flow in process.graph.outgoing[element.id]}
    return {id: text for id, text in flows.items() if text.strip() and not _reads(text)}


def _reads(text: str) -> bool:
    try:
        checked_expression(text, "", condition=True)
    except ProcessInvalid:
        return False
    return True


def _unread_todo(process: CheckedProcess, element: Element, unread: dict[str, str]) -> Todo:
    labels = choice_labels(element, process.graph)
    message = f"{process.drawn(element)} goes on under a condition that cannot be read: {'; '.join(unread.values())}"
    choices = [{"flow": id, "label": labels[id], "condition": text} for id, text in unread.items()]
    form = {
        "type": "object", "properties": {"conditions": _texts(list(unread))}, "required": ["conditions"],
        "additionalProperties": False,
    }  # fmt: skip
    hint = "Write the condition in the words of the process's variables."
    return element_todo(KIND, process, element, message, hint, facts={"choices": choices}, form=form)


def _proposal(process: CheckedProcess, element: Element, labels: dict[str, str], steps: list[str]) -> Proposal:
    who = who_is_asked(process, element)
    asked = asked_words(who, process, element)
    several = element.gateway is not None and element.gateway.type in SEVERAL_WAYS
    ways = ", ".join(f"«{label}»" for label in labels.values())
    return Proposal(
        kind="ask_previous", message=f"{asked} chooses {'one or more of' if several else 'between'} {ways}.",
        answer={"ask": {"who": who, "choices": labels}},
        facts={"who": who, "steps": steps, "choices": list(labels.values())},
    )  # fmt: skip


def _form(flows: list[str]) -> dict[str, Any]:
    texts = _texts(flows)
    ask = {"type": "object", "properties": {"who": {"type": "string"}, "choices": texts}, "required": ["who"]}
    return {
        "type": "object",
        "properties": {"conditions": texts, "default": {"type": "string", "enum": flows}, "ask": ask},
        "oneOf": [{"required": ["conditions"]}, {"required": ["ask"]}],
        "additionalProperties": False,
    }


def _texts(flows: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": {flow: {"type": "string"} for flow in flows}}


# ---- answers ---------------------------------------------------------------------------------------------------------


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "conditions", "default", "ask")
    collection, _ = entry_of(drawing, at)
    flows = entries(drawing.definition(at.process), "transitions")
    ids = [str(flow.get("id")) for flow in flows if flow.get("source") == at.element]
    if "ask" in given and collection == "gateways":
        return with_fields(drawing, at, {"ask": checked_ask(given["ask"], ids)})
    if not isinstance(given.get("conditions"), dict):
        raise refusal("missing_field", "Neither «conditions» nor «ask» is there.", "/conditions", _HINT)
    return _with_conditions(drawing, at, given, ids, every=collection == "gateways")


def checked_ask(ask: Any, flows: list[str]) -> dict[str, Any]:
    if not isinstance(ask, dict):
        raise refusal("wrong_type", "«ask» is a map.", "/ask", 'Write `{"who": "previous"}`.')
    hint = "Write previous, initiator, anyone, user:ID, role:NAME or group:NAME."
    who = text_at({"who": "previous", **ask}, "who", hint)
    if who not in WHO and not is_target(who):
        raise refusal("bad_target", f"«{who}» names nobody.", "/ask/who", hint)
    choices = ask.get("choices") or {}
    if not isinstance(choices, dict) or not all(isinstance(label, str) and label for label in choices.values()):
        raise refusal("wrong_type", "«choices» has a word for each way.", "/ask/choices", "Leave it out.")
    _check_flows(choices, flows, "/ask/choices")
    if len(set(choices.values())) < len(choices):
        message = "Two ways are chosen by one word."
        raise refusal("condition_conflict", message, "/ask/choices", "Give each way a word of its own.")
    return {"who": who, **({"choices": dict(choices)} if choices else {})}


def _with_conditions(
    drawing: Drawing, at: TodoPlace, given: Mapping[str, Any], flows: list[str], *, every: bool
) -> Drawing:
    default = given.get("default") or ""
    _check_flows(given["conditions"], flows, "/conditions")
    _check_flows([default] if default else [], flows, "/default")
    texts = {
        flow: checked_expression(text, f"/conditions/{flow}", condition=True)
        for flow, text in given["conditions"].items()
        if flow != default
    }
    data = drawing.definition(at.process)
    if not every:  # the flows of an activity that are not named stay as they are
        changed = [{**flow, "condition": texts[flow["id"]]} if flow.get("id") in texts else flow
                   for flow in entries(data, "transitions")]  # fmt: skip
        return drawing.changed(at.process, {**data, "transitions": changed})
    without = [flow for flow in flows if flow not in texts and flow != default]
    if not default and len(without) == 1:
        default, without = without[0], []
    if without or not texts:
        names = ", ".join(f"«{flow}»" for flow in without or flows)
        raise refusal("condition_missing", f"These ways have no condition: {names}.", "/conditions", _HINT)
    transitions = [_with_condition(flow, at.element, texts) for flow in entries(data, "transitions")]
    answered = drawing.changed(at.process, {**data, "transitions": transitions})
    return with_fields(answered, at, {"conditions": None, "default": default or None, "ask": None})


def _with_condition(flow: dict[str, Any], gateway: str, texts: Mapping[str, str]) -> dict[str, Any]:
    if flow.get("source") != gateway:
        return flow
    others = {name: value for name, value in flow.items() if name != "condition"}
    return {**others, "condition": texts[flow["id"]]} if flow.get("id") in texts else others


def _check_flows(given: Any, flows: list[str], at: str) -> None:
    for flow in given:
        if flow not in flows:
            hint = f"Its ways are {', '.join(flows)}."
            raise refusal("unknown_condition", f"«{flow}» is no way out of the gateway.", f"{at}/{flow}", hint)


TODO = TodoType(KIND, find, answer, "When is each way out of a gateway taken?", _RULES)
