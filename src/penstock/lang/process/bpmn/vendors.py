"""What Camunda's and its relatives' modelers write in their own words, where a ProcessDefinition has one for it."""

from __future__ import annotations

import re
from typing import Any

from penstock.lang.process.bpmn.names import BPMN, CAMUNDA, ZEEBE
from penstock.lang.process.bpmn.tree import Node

_WRAPPED = re.compile(r"\A[#$]\{(.*)\}\Z", re.S)
_PARTS = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_FEEL = (
    (re.compile(r"(?<![=!<>])=(?!=)"), "=="),
    (re.compile(r"\band\b"), "&&"),
    (re.compile(r"\bor\b"), "||"),
    (re.compile(r"\bnot\s*\("), "!("),
)


def expression(text: str) -> str:
    """`${…}` and `#{…}` are the same expression; one that begins with `=` is FEEL, of which comparisons are read."""
    text = text.strip()
    if (found := _WRAPPED.match(text)) and "${" not in found[1] and "#{" not in found[1]:
        return found[1].strip()
    if not text.startswith("="):
        return text
    parts = _PARTS.split(text[1:].strip())
    for i in range(0, len(parts), 2):
        for pattern, instead in _FEEL:
            parts[i] = pattern.sub(instead, parts[i])
    return "".join(parts)


def moment(text: str) -> str:
    """A time as it is written, or an expression that gives one, which stays marked as one."""
    text = text.strip()
    return f"${{{expression(text)}}}" if text.startswith("=") or _WRAPPED.match(text) else text


def read(node: Node, entry: dict[str, Any], roles: dict[str, dict[str, Any]]) -> None:
    """Who does it, when it is due, what it calls and what it decides."""
    user, groups = _attribute(node, "assignee"), _attribute(node, "candidateGroups")
    due = _attribute(node, "dueDate")
    for one in _zeebe(node, "assignmentDefinition"):
        user, groups = user or one.get("assignee"), groups or one.get("candidateGroups")
    for one in _zeebe(node, "taskSchedule"):
        due = due or one.get("dueDate")
    _assign(entry, user, groups, roles)
    if due.startswith("P"):
        entry["due"] = due
    decision = _attribute(node, "decisionRef")
    for one in _zeebe(node, "calledDecision"):
        decision = decision or one.get("decisionId")
    if decision and node.name == "businessRuleTask":
        entry["decision"] = decision
    for one in _zeebe(node, "calledElement"):
        if one.get("processId") and node.name == "callActivity":
            entry["orchestration"] = {"sub_process": one.get("processId")}


def items(many: Node) -> dict[str, Any]:
    """The list that a multi-instance activity goes over; BPMN itself only has a number."""
    found: dict[str, Any] = {}
    for name, word in (("collection", "items"), ("elementVariable", "item")):
        if value := _attribute(many, name):
            found[word] = expression(value)
    for one in _zeebe(many, "loopCharacteristics"):
        for name, word in (("inputCollection", "items"), ("inputElement", "item"), ("outputCollection", "collect")):
            if one.get(name):
                found[word] = expression(one.get(name))
    return found


def _assign(entry: dict[str, Any], user: str, groups: str, roles: dict[str, dict[str, Any]]) -> None:
    """P-X.13: a person or a group of a file becomes a role with a rule; what only a run knows stays unassigned."""
    first = (user or groups).split(",")[0].strip()
    if not first or first.startswith(("=", "${", "#{")):
        if first in ("${initiator}", "=initiator"):
            roles["initiator"] = {"id": "initiator", "name": "initiator", "assignment_rule": "initiator"}
            entry["role"] = "initiator"
        return
    id = f"user:{first}" if user else first
    roles[id] = {"id": id, "name": first, "assignment_rule": f"user:{first}" if user else f"role:{first}"}
    entry["role"] = id


def _attribute(node: Node, name: str) -> str:
    return next((node.get(name, space=space) for space in CAMUNDA if node.get(name, space=space)), "")


def _zeebe(node: Node, name: str) -> list[Node]:
    held = node.first("extensionElements", BPMN)
    return held.all(name, ZEEBE) if held is not None else []
