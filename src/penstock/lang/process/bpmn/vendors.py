"""Reads the extensions of Camunda and related modelers that a ProcessDefinition has a field for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from penstock.lang.process.bpmn.dialects import expression, time_text, value_text
from penstock.lang.process.bpmn.vendor_words import attribute, zeebe
from penstock.lang.process.bpmn.vocabulary import BPMN, CAMUNDA
from penstock.lang.process.bpmn.xml_tree import XmlElement
from penstock.lang.process.expression_names import beside_elements
from penstock.lang.process.juel_text import is_juel

#: parts of a list; the expressions in them may have commas of their own
_LISTED = re.compile(r"""(?:[#$]\{(?:[^{}'"]|'[^']*'|"[^"]*")*\}|[^,])+""")
_CALLED = re.compile(r"\s*(user|group)\s*\(([^()]*)\)\s*(?:,|\Z)")
_PLAIN = re.compile(r"(user|role):[^$#\s][^$]*\Z")
#: BPMN's own words for who does it, and what a name alone means in them
_OWNERS = {
    "humanPerformer": "user", "performer": "user", "potentialOwner": "role", "resourceRole": "role",
}  # fmt: skip
#: words for it of modelers that we do not know; jBPM has its own as data of the task
_WHO = ("assignee", "assignees", "candidateusers", "candidategroups", "potentialowner", "humanperformer", "performer")
#: words for who may start a process
_STARTERS = ("candidatestarterusers", "candidatestartergroups", "potentialstarter")
#: The member of a message that has the key by which Camunda 8 finds who waits for it.
CORRELATION_KEY = "correlationKey"
_NORMAL = 50  # of both Camundas' priorities, which go up to 100
_JBPM = {"ActorId": "user", "SwimlaneActorId": "user", "GroupId": "role"}


def read(
    node: XmlElement, entry: dict[str, Any], roles: dict[str, dict[str, Any]], resources: Mapping[str, str],
    starter: str = "",
) -> None:  # fmt: skip
    """Adds to an activity who does it, when it is due, what it calls and what it decides. `resources`: names by id;
    `starter`: the variable that names whoever has begun the process."""
    due, priority = attribute(node, "dueDate"), attribute(node, "priority")
    given = {name: attribute(node, name) for name in ("assignee", "candidateUsers", "candidateGroups")}
    for definition in zeebe(node, "assignmentDefinition"):
        given = {name: text or definition.get(name) for name, text in given.items()}
    if starter:
        for written in (f"${{{starter}}}", f"#{{{starter}}}"):
            given = {name: text.replace(written, "${initiator}") for name, text in given.items()}
    for schedule in zeebe(node, "taskSchedule"):
        due = due or schedule.get("dueDate")
    for definition in zeebe(node, "priorityDefinition"):
        priority = priority or definition.get("priority")
    _assign(entry, given, [*_owners(node, resources), *_jbpm_owners(node), *_strange_owners(node, _WHO)], roles)
    if due:
        entry["due"] = time_text(due)
    if priority.isdecimal() and int(priority[:9]) != _NORMAL:
        entry["priority"] = "high" if int(priority[:9]) > _NORMAL else "low"
    _read_called(node, entry)


def _read_called(node: XmlElement, entry: dict[str, Any]) -> None:
    """What a task decides by, and which process it calls."""
    decision = attribute(node, "decisionRef")
    for called in zeebe(node, "calledDecision"):
        decision = decision or called.get("decisionId")
    if decision and node.name == "businessRuleTask":
        entry["decision"] = decision
    for called in zeebe(node, "calledElement"):
        if called.get("processId") and node.name == "callActivity":
            entry["orchestration"] = {"sub_process": called.get("processId")}
    version = attribute(node, "calledElementVersion")
    if version.isdecimal() and attribute(node, "calledElementBinding") == "version" and "orchestration" in entry:
        entry["orchestration"]["version"] = int(version[:9])


def correlation(message: XmlElement) -> dict[str, Any]:
    """Camunda 8 says by which value a message finds the instance that waits for it."""
    for subscription in zeebe(message, "subscription"):
        if key := subscription.get("correlationKey"):
            return {"correlation": {CORRELATION_KEY: value_text(key)}}
    return {}


def starter_variable(process: XmlElement) -> str:
    """The variable in which Camunda 7 keeps whoever has begun the process; ours is `initiator`."""
    return next((name for start in process.all("startEvent", BPMN) if (name := attribute(start, "initiator"))), "")


def starters(process: XmlElement, resources: Mapping[str, str]) -> list[str]:
    """Who may start a process: its candidate starters, and BPMN's owners where they stand at the process itself. Empty:
    nothing is said."""
    given = {name: attribute(process, name) for name in ("candidateStarterUsers", "candidateStarterGroups")}
    named = [*_targets("user", given["candidateStarterUsers"]), *_targets("role", given["candidateStarterGroups"])]
    if not named:
        named = [f"{name} {text}" for name, text in given.items() if text.strip()]  # commas alone
    extension = process.first("extensionElements", BPMN)
    for child in extension.children if extension is not None else []:
        if _is_starter(child):
            text = next((_inner_text(inner) for inner in child.children), child.text.strip())
            named += _owner_targets("role", text) or [f"{child.name} {text}".strip()]
    named += [*_owners(process, resources), *_strange_owners(process, _STARTERS)]
    return list(dict.fromkeys(named))


def _is_starter(child: XmlElement) -> bool:
    return child.name == "potentialStarter" and child.space in CAMUNDA


def ad_hoc_steps(ad_hoc: XmlElement) -> dict[str, Any]:
    """The steps of an ad-hoc sub-process that an expression names, where nobody is asked."""
    given = [definition.get("activeElementsCollection") for definition in zeebe(ad_hoc, "adHoc")]
    return {"steps": expression(given[0])} if given and given[0] else {}


#: What Camunda 8 says of several instances, and our fields.
_ZEEBE_LISTS = (
    ("inputCollection", "items"), ("inputElement", "item"), ("outputCollection", "collect"),
    ("outputElement", "output"),
)  # fmt: skip


def multi_instance_items(multi_instance: XmlElement) -> dict[str, Any]:
    """The list of a multi-instance activity; BPMN itself only has a number."""
    fields: dict[str, Any] = {}
    for name, word in (("collection", "items"), ("elementVariable", "item")):
        if value := attribute(multi_instance, name):
            fields[word] = expression(value)
    for characteristics in zeebe(multi_instance, "loopCharacteristics"):
        for name, word in _ZEEBE_LISTS:
            if characteristics.get(name):
                with beside_elements(()) if word == "output" else nullcontext():  # of the result of the instance
                    fields[word] = expression(characteristics.get(name))
    return fields


def _assign(
    entry: dict[str, Any], given: Mapping[str, str], owners: list[str], roles: dict[str, dict[str, Any]]
) -> None:  # fmt: skip
    """P-X.13: one assignee or one group becomes a role with an assignment rule; several of them, and whom an expression
    names, are the candidates of the activity. An assignee has it alone, whoever else is named."""
    users = _targets("user", given["assignee"])
    named = users or [*_targets("user", given["candidateUsers"]), *_targets("role", given["candidateGroups"]), *owners]
    if not named:
        named = [f"{name} {text}" for name, text in given.items() if text.strip()]  # commas alone
    if named in (["user:${initiator}"], ["role:${initiator}"]):
        roles["initiator"] = {"id": "initiator", "name": "initiator", "assignment_rule": "initiator"}
        entry["role"] = "initiator"
    elif len(named) == 1 and _PLAIN.match(named[0]) and named[0].startswith("user:" if users else "role:"):
        (rule,) = named
        name = rule.partition(":")[2]
        id = rule if users else name
        roles[id] = {"id": id, "name": name, "assignment_rule": rule}
        entry["role"] = id
    elif named:
        entry["candidates"] = list(dict.fromkeys(named))


def _targets(kind: str, text: str) -> list[str]:
    """The targets of a list with commas; an expression in it is `kind:${…}`, and FEEL is one expression as a whole."""
    if text.strip().startswith("="):
        return [f"{kind}:${{{expression(text)}}}"]
    parts = [part.strip() for part in _LISTED.findall(text) if part.strip()]
    return [f"{kind}:{value_text(part)}" for part in parts]


def _owners(node: XmlElement, resources: Mapping[str, str]) -> list[str]:
    """BPMN's own: performers, and potential owners, of whom some modelers write user(kim) and group(clerks). What is
    bound to parameters is not understood, and stays as a text that names nobody."""
    named: list[str] = []
    for name, kind in _OWNERS.items():
        for owner in node.all(name, BPMN):
            assignment = owner.first("resourceAssignmentExpression", BPMN)
            text = "" if assignment is None else _inner_text(assignment)
            ref = owner.child_text("resourceRef", BPMN).strip()
            if text:
                named += _owner_targets(kind, text)
            elif ref in resources and owner.first("resourceParameterBinding", BPMN) is None:
                named.append(f"role:{resources[ref]}")
            else:
                named.append(f"{name} {ref or owner.get('name')}".strip())
    return named


def _jbpm_owners(node: XmlElement) -> list[str]:
    """jBPM writes them as assignments to inputs of the task."""
    named: list[str] = []
    for association in node.all("dataInputAssociation", BPMN):
        for assignment in association.all("assignment", BPMN):
            word = assignment.child_text("to", BPMN).removesuffix("InputX").rpartition("_")[2]
            if word in _JBPM:
                text = assignment.child_text("from", BPMN)
                named += _targets(_JBPM[word], text) or [f"{word} {text}".strip()]
    return named


def _strange_owners(node: XmlElement, words: tuple[str, ...]) -> list[str]:
    """Words for it in a namespace that we do not know: they stay as texts that name nobody."""
    extension = node.first("extensionElements", BPMN)
    inside = extension.children if extension is not None else []
    return [
        *(f"{name} {text}".strip() for (space, name), text in node.attributes.items()
          if name.lower() in words and space not in CAMUNDA and text.strip()),
        *(f"{child.name} {child.text}".strip() for child in inside
          if child.name.lower() in words and not _is_starter(child)),
    ]  # fmt: skip


def _owner_targets(kind: str, text: str) -> list[str]:
    """user(…), group(…) and names alone may stand beside each other. Other calls are not understood, and what stands
    beside them may depend on them: the whole names nobody."""
    if text.strip().startswith("="):
        return _targets(kind, text)
    named: list[str] = []
    at = 0
    while at < len(text):
        called, part = _CALLED.match(text, at), _LISTED.match(text, at)
        if called is not None:
            named += _targets("user" if called[1] == "user" else "role", called[2])
            at = called.end()
        else:
            if part is not None and "(" in part[0] and not is_juel(part[0]):
                return [f"resourceAssignmentExpression {text}"]
            named += _targets(kind, part[0]) if part is not None else []
            at = part.end() if part is not None else at + 1
    return named


def _inner_text(assignment: XmlElement) -> str:
    for name in ("formalExpression", "expression"):
        if text := assignment.child_text(name, BPMN).strip():
            return text
    return assignment.text.strip()
