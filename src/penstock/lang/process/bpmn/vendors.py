"""Reads the extensions of Camunda and related modelers that a ProcessDefinition has a field for."""

from __future__ import annotations

import re
from typing import Any

from penstock.lang.process.bpmn.vocabulary import BPMN, CAMUNDA, ZEEBE
from penstock.lang.process.bpmn.xml_tree import XmlElement

_WRAPPED = re.compile(r"\A[#$]\{(.*)\}\Z", re.S)
_PARTS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_FEEL = (
    (re.compile(r"(?<![=!<>])=(?!=)"), "=="),
    (re.compile(r"\band\b"), "&&"),
    (re.compile(r"\bor\b"), "||"),
    (re.compile(r"\bnot\s*\("), "!("),
)


def expression(text: str) -> str:
    """An expression without its `${…}` or `#{…}`; of FEEL, which begins with `=`, comparisons are translated."""
    text = text.strip()
    if (match := _WRAPPED.match(text)) and "${" not in match[1] and "#{" not in match[1]:
        return match[1].strip()
    if not text.startswith("="):
        return text
    parts = _PARTS.split(text[1:].strip())
    for i in range(0, len(parts), 2):
        for pattern, instead in _FEEL:
            parts[i] = pattern.sub(instead, parts[i])
    return "".join(parts)


def time_text(text: str) -> str:
    """A time as written; an expression that gives one keeps its `${…}`."""
    text = text.strip()
    return f"${{{expression(text)}}}" if text.startswith("=") or _WRAPPED.match(text) else text


def read(node: XmlElement, entry: dict[str, Any], roles: dict[str, dict[str, Any]]) -> None:
    """Adds to an activity who does it, when it is due, what it calls and what it decides."""
    user, groups = _attribute(node, "assignee"), _attribute(node, "candidateGroups")
    due = _attribute(node, "dueDate")
    for definition in _zeebe(node, "assignmentDefinition"):
        user, groups = user or definition.get("assignee"), groups or definition.get("candidateGroups")
    for schedule in _zeebe(node, "taskSchedule"):
        due = due or schedule.get("dueDate")
    _assign(entry, user, groups, roles)
    if due.startswith("P"):
        entry["due"] = due
    decision = _attribute(node, "decisionRef")
    for called in _zeebe(node, "calledDecision"):
        decision = decision or called.get("decisionId")
    if decision and node.name == "businessRuleTask":
        entry["decision"] = decision
    for called in _zeebe(node, "calledElement"):
        if called.get("processId") and node.name == "callActivity":
            entry["orchestration"] = {"sub_process": called.get("processId")}


def multi_instance_items(multi_instance: XmlElement) -> dict[str, Any]:
    """The list of a multi-instance activity; BPMN itself only has a number."""
    fields: dict[str, Any] = {}
    for name, word in (("collection", "items"), ("elementVariable", "item")):
        if value := _attribute(multi_instance, name):
            fields[word] = expression(value)
    for characteristics in _zeebe(multi_instance, "loopCharacteristics"):
        for name, word in (("inputCollection", "items"), ("inputElement", "item"), ("outputCollection", "collect")):
            if characteristics.get(name):
                fields[word] = expression(characteristics.get(name))
    return fields


def _assign(entry: dict[str, Any], user: str, groups: str, roles: dict[str, dict[str, Any]]) -> None:
    """P-X.13: an assignee or a group becomes a role with an assignment rule; an expression stays unassigned."""
    first = (user or groups).split(",")[0].strip()
    if not first or first.startswith(("=", "${", "#{")):
        if first in ("${initiator}", "=initiator"):
            roles["initiator"] = {"id": "initiator", "name": "initiator", "assignment_rule": "initiator"}
            entry["role"] = "initiator"
        return
    id = f"user:{first}" if user else first
    roles[id] = {"id": id, "name": first, "assignment_rule": f"user:{first}" if user else f"role:{first}"}
    entry["role"] = id


def _attribute(node: XmlElement, name: str) -> str:
    return next((node.get(name, space=space) for space in CAMUNDA if node.get(name, space=space)), "")


def _zeebe(node: XmlElement, name: str) -> list[XmlElement]:
    extension = node.first("extensionElements", BPMN)
    return extension.all(name, ZEEBE) if extension is not None else []
