"""What a person does instead of a machine: the activity becomes a task of a person, whatever it is drawn as."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.fields import ActivityFields
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.checked import CheckedProcess
from penstock.lang.process.todos.contract import Proposal
from penstock.lang.process.todos.edit import refusal

PERSON = {"by": "person"}
#: of an answer that leaves it to a person
FORM = {"by": {"type": "string", "enum": ["person"]}}
#: drawn as these, an activity is what its tag says
_TAGGED = ("sendTask", "receiveTask", "businessRuleTask")


def by_machine(f: ActivityFields) -> bool:
    """Is it a tool's or an outside worker's, or does the task compute by itself?"""
    return bool(f.tool or f.job) or f.computes is not None


def person_proposal(process: CheckedProcess, element: Element) -> Proposal:
    return Proposal("person", f"A person does {_inside(process.drawn(element))}.", PERSON)


def _inside(words: str) -> str:
    return words[:1].lower() + words[1:]


def fields_for_person(entry: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    if given != PERSON:
        raise refusal("wrong_type", "An answer that leaves it to a person says nothing else.", "/by", "Write person.")
    tag = {"bpmn": "userTask"} if entry.get("bpmn") in _TAGGED else {}
    machine: dict[str, Any] = {"tool": "", "job": "", "params": None}
    return {"type": "humanTask", **tag, **{name: none for name, none in machine.items() if entry.get(name)}}


def form_of(**alternatives: dict[str, Any]) -> dict[str, Any]:
    """A form with one of these members, or with a person."""
    members = {**alternatives, **FORM}
    return {
        "type": "object", "properties": members, "oneOf": [{"required": [name]} for name in members],
        "additionalProperties": False,
    }  # fmt: skip
