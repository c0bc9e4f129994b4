"""Checks a plan beyond its fields: dependencies, agents, skills, criteria, schedules, paths (T-X.8 to 40)."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from penstock.errors import PenstockError
from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import cron_problem, zone_of
from penstock.expr.functions.string import compiled_pattern
from penstock.lang.document import child_pointer
from penstock.lang.plan.definition import DEFAULT_AGENT, Part, Plan
from penstock.lang.plan.dependencies import Dependency, Removed, cycles, dependencies_of, removable
from penstock.lang.plan.fields import AgentFields, TaskFields
from penstock.lang.report import Report, did_you_mean

_utc = zone_of("UTC")
assert _utc is not None, "every table of time zones has UTC"
UTC = _utc
#: what a success criterion can be (T-X.13)
CRITERIA = ("text", "file_exists", "output_matches", "command")
#: so many names of a circle are shown
_SHOWN = 12
_DEPENDENCY_FIELDS = ("id", "optional", "weight")


class Checked:
    """What the checks have worked out: the dependencies of every task without those removed, and its age."""

    def __init__(self, plan: Plan) -> None:
        self.depends_on: dict[str, list[Dependency]] = {}
        self.created: dict[str, float | None] = {}
        self.removed: list[Removed] = []
        self.templates = {part.fields.id for part in plan.tasks if part.fields.schedule}


def check_plan(plan: Plan) -> Checked:
    report, checked = plan.report, Checked(plan)
    tasks = {part.fields.id: part for part in plan.tasks}
    agents = {part.fields.name for part in plan.agents} | {DEFAULT_AGENT}
    skills = {part.fields.id for part in plan.skills}
    _check_settings(plan, report)
    for part in plan.agents:
        _check_command(part.fields.command, f"{part.pointer}/command", part.fields.name, report)
        _check_skills(part, skills, report)
    for part in plan.tasks:
        _check_task(part, tasks, agents, skills, checked, report)
    if not plan.tasks and plan.complete:
        hint = "Write a file tasks/first.md, or list them under `tasks`."
        report.warning("no_tasks", "The plan has no task yet.", "/tasks", hint=hint)
    _check_cycles(tasks, checked, report)
    return checked


def schedule_parts(text: str) -> tuple[str, str] | None:
    """T-X.40: cron and zone of "<cron> [zone]"; None where it says no time."""
    words = text.split()
    for count in (len(words), len(words) - 1):
        cron, zone = " ".join(words[:count]), " ".join(words[count:]) or "UTC"
        if cron and cron_problem(cron) is None and zone_of(zone) is not None:
            return cron, zone
    return None


def created_ms(text: str | None) -> float | None:
    """The moment that `created` says; None where it says none."""
    if not text:
        return None
    try:
        return moment_of(text.replace(" ", "T", 1), UTC).timestamp() * 1000
    except BadDate:
        return None


def _check_settings(plan: Plan, report: Report) -> None:
    settings = plan.settings
    _check_command(settings.command, "/plan/command", "", report)
    for name in ("tasks_dir", "agents_dir", "skills_dir"):
        _check_path(getattr(settings, name), f"/plan/{name}", "", report)
    for number, files in enumerate(settings.critical_files):
        for path in files.split("|"):
            _check_path(path, f"/plan/critical_files/{number}", "", report)
    folders = [settings.tasks_dir, settings.agents_dir, settings.skills_dir]
    if len({*folders}) < len(folders):
        report.error("same_folder", "Tasks, agents and skills have folders of their own.", "/plan", hint="Name three.")


def _check_task(
    part: Part, tasks: Mapping[str, Part], agents: Collection[str], skills: Collection[str], checked: Checked,
    report: Report,
) -> None:  # fmt: skip
    task: TaskFields = part.fields
    at, id = part.pointer, task.id
    if task.assigned_agent is not None and task.assigned_agent not in agents:
        hint = did_you_mean(task.assigned_agent, agents, "Write a file for it in the folder of the agents.")
        message = f"There is no agent «{task.assigned_agent}»."
        report.error("unknown_agent", message, f"{at}/assigned_agent", hint=hint, node=id)
    if task.skill is not None and task.skill not in skills:
        hint = did_you_mean(task.skill, skills, "Write a file for it in the folder of the skills.")
        report.warning("unknown_skill", f"There is no skill «{task.skill}».", f"{at}/skill", hint=hint, node=id)
    if task.schedule is not None and schedule_parts(task.schedule) is None:
        message = f"«{task.schedule}» says no times."
        hint = 'Write five fields of cron and, if you like, a zone: "0 9 * * 1 Asia/Seoul".'
        report.error("bad_schedule", message, f"{at}/schedule", hint=hint, node=id)
    checked.created[id] = created_ms(task.created)
    if task.created is not None and checked.created[id] is None:
        message = f"«{task.created}» is no date."
        report.error("bad_date", message, f"{at}/created", hint="Write 2026-11-15T09:00:00Z.", node=id)
    for number, path in enumerate(task.references):
        if "://" not in path:
            _check_path(path, f"{at}/references/{number}", id, report)
    for number, criterion in enumerate(task.success_criteria):
        _check_criterion(criterion, f"{at}/success_criteria/{number}", id, report)
    checked.depends_on[id] = _dependencies(task, at, tasks, checked, report)


def _dependencies(
    task: TaskFields, at: str, tasks: Mapping[str, Part], checked: Checked, report: Report
) -> list[Dependency]:
    """T-X.29: those that can be kept."""
    kept: dict[str, Dependency] = {}
    for number, entry in enumerate(task.depends_on):
        where = f"{at}/depends_on/{number}"
        if isinstance(entry, dict) and not _check_entry(entry, where, task.id, report):
            continue
        for other in (Dependency(entry),) if isinstance(entry, str) else dependencies_of([entry]):
            if other.id == task.id:
                message = f"«{task.id}» depends on itself."
                report.error("self_dependency", message, where, hint="Remove it.", node=task.id)
            elif other.id not in tasks:
                hint = did_you_mean(other.id, tasks, "Correct the id, or write the task.")
                report.error("unknown_dependency", f"There is no task «{other.id}».", where, hint=hint, node=task.id)
            elif other.id in checked.templates:
                message = f"«{other.id}» has a schedule: each of its times is a task of its own, and it is never done."
                hint = "Depend on a task without a schedule."
                report.error("scheduled_dependency", message, where, hint=hint, node=task.id)
            elif other.id in kept:
                message = f"«{other.id}» stands twice."
                report.warning("duplicate_dependency", message, where, hint="Keep one of them.", node=task.id)
            else:
                kept[other.id] = other
    return list(kept.values())


def _check_entry(entry: dict[str, Any], at: str, node: str, report: Report) -> bool:
    for name in entry.keys() - {*_DEPENDENCY_FIELDS}:
        hint = did_you_mean(str(name), _DEPENDENCY_FIELDS, "Remove it.")
        report.error("unknown_field", f"Nobody reads the field «{name}».", at, hint=hint, node=node)
    hint = "Write {id: other, optional: true, weight: 1}."
    weight = entry.get("weight", 1)
    if not isinstance(entry.get("id"), str) or not entry["id"]:
        report.error("missing_field", "A dependency names a task by `id`.", at, hint=hint, node=node)
    elif not isinstance(entry.get("optional", False), bool):
        report.error("wrong_type", "«optional» is true or false.", at, hint=hint, node=node)
    elif isinstance(weight, bool) or not isinstance(weight, int) or abs(weight) > 2**31:
        report.error("wrong_type", "«weight» is a whole number.", at, hint=hint, node=node)
    else:
        return True
    return False


def _check_criterion(criterion: Any, at: str, node: str, report: Report) -> None:
    """T-X.13: a text, or one of four checks."""
    shapes = "Write a text, {file_exists: path}, {output_matches: regex} or {command: [program, …], exit: 0}."
    if isinstance(criterion, str):
        if not criterion.strip():
            report.error("bad_criterion", "A criterion says something.", at, hint=shapes, node=node)
        return
    kinds = [name for name in CRITERIA if name in criterion]
    extra = criterion.keys() - {*CRITERIA} - ({"exit"} if "command" in criterion else set())
    if len(kinds) != 1 or extra:
        report.error("bad_criterion", "This is no success criterion.", at, hint=shapes, node=node)
        return
    kind, value = kinds[0], criterion[kinds[0]]
    if kind == "command":
        _check_command(value, at, node, report)
        code = criterion.get("exit", 0)
        if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code <= 255:
            report.error("bad_criterion", "«exit» is the exit code, 0 to 255.", at, hint=shapes, node=node)
    elif not isinstance(value, str) or not value.strip():
        report.error("bad_criterion", f"«{kind}» is a text.", at, hint=shapes, node=node)
    elif kind == "file_exists":
        _check_path(value, at, node, report)
    elif kind == "output_matches":
        try:
            compiled_pattern("regex_match", value)
        except PenstockError as error:
            hint = error.hint or "Correct the pattern."
            report.error("bad_criterion", f"The pattern cannot be used: {error}", at, hint=hint, node=node)


def _check_command(command: Any, at: str, node: str, report: Report) -> None:
    if command is None:
        return
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError:
        words = None
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words) or not words[0]:
        hint = "Write [program, argument, …], or a text whose quotes are closed."
        report.error("bad_command", "This is no command line.", at, hint=hint, node=node)


def _check_path(path: str, at: str, node: str, report: Report) -> None:
    """Files are named from the project's folder and lie in it."""
    if not path or path.startswith(("/", "\\", "~")) or ".." in path.replace("\\", "/").split("/") or "\x00" in path:
        message = f"«{path}» does not lie in the project's folder."
        report.error("path_outside", message, at, hint="Write a path such as docs/notes.md.", node=node)


def _check_skills(part: Part, skills: Collection[str], report: Report) -> None:
    agent: AgentFields = part.fields
    for number, skill in enumerate(agent.skills):
        if skill not in skills:
            hint = did_you_mean(skill, skills, "Write a file for it in the folder of the skills.")
            message, at = f"There is no skill «{skill}».", f"{part.pointer}/skills/{number}"
            report.warning("unknown_skill", message, at, hint=hint, node=agent.name)


def _check_cycles(tasks: Mapping[str, Part], checked: Checked, report: Report) -> None:
    """T-8.3, T-X.29: the weakest optional dependency of a circle is removed; what is left stops the run, not the
    release, because a person can still complete or cancel one of its tasks (T-A.14)."""
    checked.removed = removable(checked.depends_on, checked.created)
    for removed in checked.removed:
        kept = checked.depends_on[removed.task]
        checked.depends_on[removed.task] = [one for one in kept if one.id != removed.on]
        message = f"«{removed.task}» and «{removed.on}» wait for each other: the optional dependency is removed."
        hint = f"Remove «{removed.on}» from `depends_on` to keep it so."
        at = _entry_place(tasks[removed.task], removed.on)
        report.warning("dependency_removed", message, at, hint=hint, node=removed.task)
    for cycle in cycles(checked.depends_on):
        names = cycle.tasks[:_SHOWN]
        way = " → ".join([*names, "…" if len(cycle.tasks) > _SHOWN else names[0]])
        first = cycle.tasks[0]
        message = f"These tasks wait for each other: {way}. The plan will stop here."
        at = _entry_place(tasks[first], cycle.tasks[1])
        report.warning("dependency_cycle", message, at, hint=cycle.suggestions[0], node=first)


def _entry_place(part: Part, other: str) -> str:
    for number, entry in enumerate(part.fields.depends_on):
        if entry == other or isinstance(entry, dict) and entry.get("id") == other:
            return child_pointer(f"{part.pointer}/depends_on", number)
    return part.pointer
