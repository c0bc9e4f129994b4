"""Is a task done? Success criteria, progress and confidence of one session, as T-X.13, T-X.14 and T-X.20 say."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from penstock.executors.parts.agent_streams.contract import StreamSummary, cut

try:
    import re2
except ImportError:  # said when a pattern is used: without a linear engine a pattern from a document is a weapon
    re2 = None

#: T-X.13: how long one command of a criterion may take
COMMAND_S = 60
#: T-X.20: a crash below this is a clean start
RESUME_AT = 20
NOTES_CHARS = 8 * 1024

Kind = Literal["text", "file_exists", "output_matches", "command"]


class Criterion(msgspec.Struct, frozen=True):
    kind: Kind
    text: str
    argv: tuple[str, ...] = ()
    exit: int = 0


class CheckedCriterion(msgspec.Struct, frozen=True):
    """`how` it was found to be met, or why not."""

    text: str
    matched: bool
    how: str


class CommandEnd(msgspec.Struct, frozen=True):
    exit_code: int | None
    how: str = ""  # where there is no code: what happened


#: runs the command of the criterion with that number
RunCommand = Callable[[int, Sequence[str]], Awaitable[CommandEnd]]


class Completion(msgspec.Struct, frozen=True):
    progress: int
    confidence: int
    criteria: tuple[CheckedCriterion, ...] = ()

    @property
    def matched(self) -> list[str]:
        return [criterion.text for criterion in self.criteria if criterion.matched]


def criteria_of(raw: Any) -> list[Criterion]:
    """Of a task's `success_criteria`. What cannot be read stays as a text, which nobody will claim by accident."""
    return [_criterion(item) for item in raw or ()] if isinstance(raw, list | tuple) else []


def _criterion(item: Any) -> Criterion:
    if isinstance(item, Mapping):
        if isinstance(path := item.get("file_exists"), str):
            return Criterion("file_exists", path)
        if isinstance(pattern := item.get("output_matches"), str):
            return Criterion("output_matches", pattern)
        if (command := item.get("command")) is not None and (argv := argv_of(command)):
            code = item.get("exit")
            return Criterion("command", shlex.join(argv), argv, code if isinstance(code, int) else 0)
        if isinstance(text := item.get("text"), str):
            return Criterion("text", text.strip())
    return Criterion("text", item.strip() if isinstance(item, str) else cut(str(item), 1000))


def argv_of(command: Any) -> tuple[str, ...]:
    """A list of words, or a text that is split as a shell would, without one. Empty: it is neither."""
    if isinstance(command, str):
        try:
            return tuple(shlex.split(command))
        except ValueError:
            return ()
    if isinstance(command, list | tuple) and all(isinstance(word, str) for word in command):
        return tuple(command)
    return ()


async def analyse(
    criteria: Sequence[Criterion], summary: StreamSummary, *, folder: Path, exit_code: int | None,
    run_command: RunCommand | None,
) -> Completion:  # fmt: skip
    """`folder` is where the agent has worked. No `run_command`: the project is not trusted, commands are not run."""
    claims = {_plain(text) for text in summary.claims}
    checked = []
    for no, criterion in enumerate(criteria):
        matched, how = await _check(no, criterion, claims, summary, folder, run_command)
        checked.append(CheckedCriterion(criterion.text, matched, how))
    met, total = sum(c.matched for c in checked), len(checked)
    share = 100 * met // total if total else 0
    progress = max(min(int(summary.percent), 100), share)
    return Completion(progress, confidence(met, total, summary, exit_code), tuple(checked))


def confidence(met: int, total: int, summary: StreamSummary, exit_code: int | None) -> int:
    """T-X.13. An exit code that nobody knows is not 0."""
    if exit_code != 0:
        return 0
    if total:
        return max(0, 100 * met // total - (0 if summary.has_result else 20))
    return 100 if summary.has_result and not summary.result_is_error else 60


def after_crash(progress: int, complete_at: int) -> Literal["complete", "resume", "clean"]:
    """T-8.1.3..5, T-X.20: exactly `complete_at` is complete, exactly 20 is resumed; 101 never completes."""
    if progress >= complete_at:
        return "complete"
    return "resume" if progress >= RESUME_AT else "clean"


async def _check(
    no: int, criterion: Criterion, claims: set[str], summary: StreamSummary, folder: Path,
    run_command: RunCommand | None,
) -> tuple[bool, str]:  # fmt: skip
    if criterion.kind == "text":
        claimed = _plain(criterion.text) in claims
        return claimed, "the agent says so" if claimed else "the agent does not say so"
    if criterion.kind == "file_exists":
        return _file_exists(criterion.text, folder)
    if criterion.kind == "output_matches":
        return _output_matches(criterion.text, summary.said)
    if run_command is None:
        return False, "not run: the project is not trusted"
    end = await run_command(no, criterion.argv)
    if end.exit_code is None:
        return False, end.how
    return end.exit_code == criterion.exit, f"exit code {end.exit_code}"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _file_exists(path: str, folder: Path) -> tuple[bool, str]:
    try:
        found = (folder / path).resolve()
        if not found.is_relative_to(folder.resolve()):
            return False, "the path leaves the project"
        return (True, "the file is there") if found.exists() else (False, "there is no such file")
    except (OSError, ValueError, RuntimeError):
        return False, "the path cannot be read"


def _output_matches(pattern: str, text: str) -> tuple[bool, str]:
    """In time that grows with the text alone, whatever the pattern is."""
    if re2 is None:
        return False, "not checked: google-re2 is not installed"
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options).search(text)
    except re2.error:
        return False, "not a regular expression"
    return (True, "the output matches") if found is not None else (False, "the output does not match")


def review_notes(completion: Completion, summary: StreamSummary, remarks: Sequence[str] = ()) -> str:
    """T-5.1.10: what a person reads who looks at the task later, or has to decide about it now."""
    met, total = len(completion.matched), len(completion.criteria)
    notes = [*remarks]
    notes.append(f"{met} of {total} success criteria are met." if total else "The task has no success criteria.")
    notes += [f"[{'x' if c.matched else ' '}] {cut(c.text, 300)} ({c.how})" for c in completion.criteria]
    if not summary.has_result:
        notes.append("The agent has not said how it ended.")
    elif summary.result_is_error:
        notes.append("The agent says that it ended with an error.")
    if summary.raw_lines or summary.cut_lines:
        notes.append(f"{summary.raw_lines} lines of its output are no JSON, {summary.cut_lines} were too long.")
    if summary.result:
        notes.append(f"Result: {cut(summary.result, 2000)}")
    return cut("\n".join(notes), NOTES_CHARS)
