"""Reads a plan: its settings, agents, skills and tasks, each with its place in the document or in its own file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from penstock.errors import Place
from penstock.expr import RESERVED_ROOTS
from penstock.lang.contract import Setting
from penstock.lang.document import Document, child_pointer
from penstock.lang.fields import Fields, read_fields, unknown_fields
from penstock.lang.plan.fields import AgentFields, PlanFields, SkillFields, TaskFields
from penstock.lang.report import Report

#: An id is a file's name, a part of a git branch and of addresses.
ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z", re.ASCII)
#: what git does not take at the end or inside of a branch's name
_NOT_A_BRANCH = re.compile(r"\.\.|\.lock\Z|\.\Z")
#: names that expressions read, which a task of that name would hide
RESERVED = RESERVED_ROOTS | {
    "nodes", "default", "undone", "undoing", "now", "config", "counters", "branches", "epoch", "place", "attempt",
    "feedback", "draft", "output", "failure", "visit",
}  # fmt: skip
#: the agent that every pool has (T-X.9), and the one that stands for people (T-X.30)
DEFAULT_AGENT, ADMIN = "default", "admin"
MOST_TASKS, MOST_OTHERS = 20_000, 1000
_PARTS = ("plan", "agents", "skills", "tasks")
_NESTED = {
    ("health", "critical_files"): "critical_files",
    ("health", "stuck_s"): "stuck_s",
    ("recovery", "complete_at"): "recovery_complete_at",
}
_NAMES = {kind: frozenset(kind.__struct_fields__) for kind in (AgentFields, SkillFields, TaskFields)}
F = TypeVar("F", AgentFields, SkillFields, TaskFields)


class FileReport(Report):
    """Names for every finding the file and the line that a person edits, where a part has come from a file."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.document, report.findings)

    def _add(self, severity: str, rule: str, message: str, at: str | Place, hint: str, node: str, key: bool) -> None:
        found = self.file_line(at) if isinstance(at, str) else None
        if found is not None:
            file, line = found
            message, at = f"{file}:{line} {message}", Place(str(at), line, 1)
        super()._add(severity, rule, message, at, hint, node, key)

    def place(self, pointer: str) -> Place:
        found = self.file_line(pointer)
        return Place(pointer, found[1], 1) if found else self.document.place(pointer)

    def file_line(self, pointer: str) -> tuple[str, int] | None:
        _, part, *rest = [*pointer.split("/"), ""]
        data = self.document.data.get(part) if isinstance(self.document.data, dict) else None
        if isinstance(data, list) and rest and rest[0].isdecimal() and int(rest[0]) < len(data):
            data = data[int(rest[0])]
            rest = rest[1:]
        if not isinstance(data, dict) or not isinstance(data.get("file"), str) or not data["file"]:
            return None
        lines = data.get("lines")
        path = [step for step in rest if step]
        known = lines if isinstance(lines, dict) else {}
        line = next((known[name] for name in ("/".join(path[:2]), *path[:1]) if isinstance(known.get(name), int)), 1)
        return data["file"], line


@dataclass(frozen=True)
class Part:
    """An agent, a skill or a task, with its place in the document."""

    fields: Any
    pointer: str


@dataclass
class Plan:
    """`complete` is false when a part could not be read: then there is no net."""

    settings: PlanFields
    report: FileReport
    agents: list[Part] = field(default_factory=list)
    skills: list[Part] = field(default_factory=list)
    tasks: list[Part] = field(default_factory=list)
    complete: bool = True


def recognise(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("plan"), dict)


def read(document: Document, report: Report, setting: Setting) -> Plan:
    """What was written, as far as it can be understood."""
    report = FileReport(report)
    data = document.data
    if not isinstance(data, dict):
        report.error("wrong_type", "A plan is a map with `plan` and `tasks`.", hint="Begin with `plan:`.")
        return Plan(PlanFields(), report, complete=False)
    for name in data.keys() - {*_PARTS, "$schema"}:
        hint = f"A plan has {', '.join(_PARTS)}."
        report.error("unknown_field", f"Nobody reads the field «{name}».", child_pointer("", name), hint=hint, key=True)
    plan = Plan(_settings(data.get("plan"), report), report)
    if not plan.settings.name:
        plan.complete = False
    elif not ID.match(plan.settings.name):
        plan.complete = False
        message = f"The name «{plan.settings.name}» has characters that a name cannot have."
        report.error("bad_id", message, "/plan/name", hint="Use letters, digits, _ . and - only.")
    plan.agents = list(_parts(AgentFields, data, "agents", "name", plan))
    plan.skills = list(_parts(SkillFields, data, "skills", "id", plan))
    plan.tasks = list(_parts(TaskFields, data, "tasks", "id", plan))
    return plan


def _settings(data: Any, report: Report) -> PlanFields:
    if not isinstance(data, dict):
        report.error("wrong_type", "«plan» is a map of settings.", "/plan", hint="Write `plan:` and below `name: …`.")
        return PlanFields()
    flat, where = dict(data), dict[str, str]()
    for (outer, inner), name in _NESTED.items():
        nested = data.get(outer)
        if isinstance(nested, dict) and inner in nested and name not in data:
            flat[name], where[name] = nested[inner], f"/plan/{outer}/{inner}"
            flat[outer] = {k: v for k, v in flat[outer].items() if k != inner}
    flat = {name: value for name, value in flat.items() if not (name in ("health", "recovery") and value == {})}
    fields, rest = read_fields(PlanFields, flat, "/plan", report, where=where)
    unknown_fields(rest, PlanFields, "/plan", report)
    return fields


def _parts(kind: type[F], data: dict[str, Any], name: str, id_name: str, plan: Plan) -> Iterator[Part]:
    report, written, seen = plan.report, data.get(name), dict[str, str]()
    most = MOST_TASKS if name == "tasks" else MOST_OTHERS
    if written is None:
        return
    if not isinstance(written, list) or len(written) > most:
        plan.complete = False
        message = f"«{name}» is a list of at most {most}."
        report.error("wrong_type", message, f"/{name}", hint="Write one entry for each, and divide what is larger.")
        return
    for number, item in enumerate(written):
        at = f"/{name}/{number}"
        if not isinstance(item, dict):
            plan.complete = False
            report.error(
                "wrong_type", "This is a map of fields.", at, hint=f"Write `{id_name}: …` and its other fields."
            )
            continue
        fields = _read_part(kind, item, at, item.get(id_name), report)
        if _named(fields, getattr(fields, id_name), f"{at}/{id_name}", name, seen, report):
            yield Part(fields, at)
        else:
            plan.complete = False


def _read_part(kind: type[F], item: dict[str, Any], at: str, id: Any, report: Report) -> F:
    """Most parts are right and are read at once; the others field by field, so that everything wrong is told."""
    if id and item.keys() <= _NAMES[kind]:
        try:
            return msgspec.convert(item, kind)
        except msgspec.ValidationError:
            pass
    fields, rest = read_fields(kind, item, at, report, node=id if isinstance(id, str) else "")
    unknown_fields(rest, kind, at, report)
    return fields


def _named(fields: Fields, id: str, at: str, kind: str, seen: dict[str, str], report: Report) -> bool:
    """T-X.8: the id is there, can be one, and stands once."""
    what = {"tasks": "task", "agents": "agent", "skills": "skill"}[kind]
    folded = id.lower()
    if not id:
        return False
    if not ID.match(id) or _NOT_A_BRANCH.search(id):
        message = f"The {what} «{id}» has a name that no file and no branch can have."
        report.error(
            "bad_id", message, at, hint="Use letters, digits, _ . and - only; not .. and no . at the end.", node=id
        )
    elif kind == "tasks" and id in RESERVED or kind == "agents" and id == ADMIN:
        message = f"A {what} cannot be called «{id}»: the engine uses this name."
        report.error("reserved_name", message, at, hint="Give it another name.", node=id)
    elif folded in seen:
        message = f"There are two of the id «{id}»: the other is {seen[folded]}."
        hint = "Give one of them another id; large and small letters are one."
        report.error("duplicate_id", message, at, hint=hint, node=id)
    else:
        seen[folded] = getattr(fields, "file", "") or f"«{id}» above"
        return True
    return False
