"""What an agent is told: task, instructions, references, criteria, skill (T-5.1.6, T-5.2.6), what happened before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.parts.tasks.completion import Criterion

REFERENCE_CHARS = 64 * 1024
REFERENCES_CHARS = 512 * 1024
REFERENCES = 100


class Reference(msgspec.Struct, frozen=True):
    path: str
    text: str


class Resume(msgspec.Struct, frozen=True):
    """T-X.21: what the session before has left."""

    progress: int
    matched: Sequence[str] = ()
    log_tail: str = ""


class TaskContext(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    task_instructions: str
    agent_instructions: str = ""
    references: Sequence[Reference] = ()
    success_criteria: Sequence[Criterion] = ()
    skill_context: str = ""
    warnings: Sequence[str] = ()
    resume: Resume | None = None
    feedback: str = ""


def task_context(
    project: Path, task: dict[str, Any], agent: dict[str, Any], criteria: Sequence[Criterion], *,
    resume: Resume | None = None, feedback: str = "",
) -> TaskContext:  # fmt: skip
    """T-X.11: a reference or a skill that is missing is a warning in the context, not a failure."""
    references, warnings = read_references(project, task.get("references"))
    skill, missing = _skill(project, task)
    return TaskContext(
        title=_text(task.get("title")) or _text(task.get("id")), task_instructions=_text(task.get("description")),
        agent_instructions=_text(agent.get("instructions")), references=references, success_criteria=criteria,
        skill_context=skill, warnings=[*warnings, *missing], resume=resume, feedback=feedback.strip(),
    )  # fmt: skip


def read_references(project: Path, names: Any) -> tuple[list[Reference], list[str]]:
    """Files of the project, links followed; what lies outside it is not read."""
    found: list[Reference] = []
    warnings: list[str] = []
    room = REFERENCES_CHARS
    for name in (names if isinstance(names, list | tuple) else ())[:REFERENCES]:
        text, wrong = _read(project, str(name), min(REFERENCE_CHARS, room))
        if wrong:
            warnings.append(f"The reference «{str(name)[:200]}» {wrong}.")
        else:
            found.append(Reference(str(name), text))
            room -= len(text)
    return found, warnings


def build_task_query(context: TaskContext) -> str:
    """The prompt. Criteria are listed without a box, so that an agent that repeats its prompt claims none of them."""
    parts = [f"# Task: {context.title}", context.task_instructions]
    if context.agent_instructions.strip():
        parts.append(f"## Your instructions\n\n{context.agent_instructions.strip()}")
    if context.skill_context.strip():
        parts.append(f"## Skill\n\n{context.skill_context.strip()}")
    parts += [f"## Reference: {reference.path}\n\n{reference.text}" for reference in context.references]
    if context.success_criteria:
        parts.append(_criteria(context.success_criteria))
    if context.resume is not None:
        parts.append(_resume(context.resume))
    if context.feedback:
        parts.append(
            f"## What the reviewer says about your last attempt, whose files are in the folder\n\n{context.feedback}"
        )
    if context.warnings:
        parts.append("## Warnings\n\n" + "\n".join(f"- {warning}" for warning in context.warnings))
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _criteria(criteria: Sequence[Criterion]) -> str:
    words = {"text": "", "file_exists": "this file exists: ", "output_matches": "your output matches: ",
             "command": "this command succeeds: "}  # fmt: skip
    listed = "\n".join(f"- {words[criterion.kind]}{criterion.text}" for criterion in criteria)
    told = (
        "When you have finished, write for each criterion that is met one line that begins with `[x] ` and goes on "
        "with the criterion, word for word."
    )
    return f"## Success criteria\n\n{listed}\n\n{told}"


def _resume(resume: Resume) -> str:
    parts = [
        f"## An earlier attempt was interrupted at {resume.progress} %\n",
        "Its files are in the folder. Go on from there; do not begin again.",
    ]
    if resume.matched:
        parts.append("\nIt had met:\n" + "\n".join(f"- {text}" for text in resume.matched))
    if resume.log_tail:
        parts.append(f"\nThe end of its log:\n\n{_fenced(resume.log_tail)}")
    return "\n".join(parts)


def _fenced(text: str) -> str:
    """Indented: the log may hold fences, and lines with boxes must not be taken for claims of this attempt."""
    return "\n".join(f"    | {line}" for line in text.splitlines())


def _skill(project: Path, task: dict[str, Any]) -> tuple[str, list[str]]:
    """Its text came with the plan; one that was named for this execution alone is a file."""
    skill, given = task.get("skill"), task.get("skill_text")
    if not skill:
        return "", []
    if isinstance(given, str):
        return given, []
    text, wrong = _read(project, f"skills/{skill}.md", REFERENCE_CHARS)
    return text, [f"The skill «{str(skill)[:200]}» {wrong}."] if wrong else []


def _read(project: Path, name: str, most: int) -> tuple[str, str]:
    """The text, or what is wrong."""
    try:
        path = (project / name).resolve()
        if not path.is_relative_to(project.resolve()):
            return "", "lies outside the project and was not read"
        if not path.is_file():
            return "", "is missing" if not path.exists() else "is no file"
        with path.open("rb") as file:
            data = file.read(most + 1)
    except (OSError, ValueError, RuntimeError):
        return "", "cannot be read"
    text = data[:most].decode(errors="replace")
    return (text if len(data) <= most else text + "\n… (cut)"), ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
