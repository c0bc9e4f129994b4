"""What one attempt needs before its program starts: arguments, command, environment, worktree, prompt."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.contract import Request, Services
from penstock.executors.parts.agent_streams import SHAPES, Shape
from penstock.executors.parts.sessions import session_files
from penstock.executors.parts.sessions.session import session_folder, standing_of
from penstock.executors.parts.sessions.session_id import session_id
from penstock.executors.parts.tasks import worktrees
from penstock.executors.parts.tasks.attempt_record import read_record, write_file
from penstock.executors.parts.tasks.completion import COMMAND_S, Criterion, argv_of, criteria_of
from penstock.executors.parts.tasks.session_stream import SECRET_CHARS, Budget
from penstock.executors.parts.tasks.task_prompt import Resume, build_task_query, task_context
from penstock.executors.parts.tasks.worktrees import GitFailed, Worktree

SESSIONS = "sessions"
#: what every program needs to start; everything else is named by somebody
BASE_ENV = ("PATH", "HOME", "LANG", "TERM", "USER")
#: attempts before this one that are looked at for one that has begun
BEFORE = 20
DISCARD_S = 120.0


class AttemptFailed(Exception):
    """The attempt ends before its program runs, or because of git afterwards."""

    def __init__(self, code: str, category: str, message: str) -> None:
        super().__init__(message)
        self.code, self.category = code, category


class TaskArguments:
    """The arguments of the effect, read with care: they come from documents."""

    def __init__(self, request: Request) -> None:
        args = request.args if isinstance(request.args, Mapping) else {}
        self.task, self.agent, self.limits = (_mapping(args.get(name)) for name in ("task", "agent", "limits"))
        self.project = Path(str(args.get("project") or ""))
        self.project_id = str(args.get("project_id") or self.project.name)
        self.trusted = args.get("trusted") is True
        feedback = args.get("feedback")
        self.feedback = feedback if isinstance(feedback, str) else ""
        self.task_id = str(self.task.get("id") or request.node)
        self.agent_name = request.place or str(self.agent.get("name") or "default")
        self.criteria: list[Criterion] = criteria_of(self.task.get("success_criteria"))
        budget = _mapping(self.limits.get("budget"))
        self.budget = Budget(_figure(budget.get("cost_usd")), _figure(budget.get("tokens")))

    def limit(self, name: str, otherwise: float) -> float:
        found = _figure(self.limits.get(name))
        return otherwise if found is None else found

    @property
    def merge_rule(self) -> str:
        return str(self.limits.get("merge") or "auto")

    @property
    def never_in_diff(self) -> tuple[str, ...]:
        """Of the tasks' folder, under whatever name, and of the state's file."""
        folder = self.limits.get("tasks_dir")
        return tuple({*worktrees.NEVER_IN_DIFF, folder} if isinstance(folder, str) else worktrees.NEVER_IN_DIFF)

    @property
    def criterion_s(self) -> float:
        return self.limit("criterion_timeout_s", COMMAND_S)


class Setup(msgspec.Struct, frozen=True):
    """`writable` are the only places that the agent may change; `secrets` are values that no text may hold."""

    argv: Sequence[str]
    shape: Shape
    prompt: str
    env: Mapping[str, str]
    secrets: Sequence[str]
    cwd: Path
    writable: Sequence[Path]
    worktree: Worktree | None
    resume: bool


def prepare(request: Request, services: Services, arguments: TaskArguments, folder: Path) -> Setup:
    """Blocks. The same question once more gives the same answer, and begins nothing anew."""
    argv, shape = command_of(arguments.agent)
    begun = standing_of(folder) != "absent"
    if not begun and not (arguments.project.is_absolute() and arguments.project.is_dir()):
        raise AttemptFailed("PROJECT_MISSING", "fatal", f"there is no folder «{str(arguments.project)[:300]}»")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        worktree, resume = _worktree(request, services, arguments, folder, begun)
        cwd = arguments.project.resolve() if worktree is None else Path(worktree.folder)
        writable = [cwd] if worktree is None else worktrees.writable_paths(worktree)
    except GitFailed as failed:
        raise AttemptFailed("WORKTREE", "transient", str(failed)) from None
    except OSError as error:
        raise AttemptFailed("STORE_NOT_WRITABLE", "fatal", f"the session cannot be kept: {error.strerror}") from None
    context = task_context(
        arguments.project,
        arguments.task,
        arguments.agent,
        arguments.criteria,
        resume=resume,
        feedback=arguments.feedback,
    )
    env, secrets = environment_of(request, services, arguments)
    extra = _names(services.settings.get("agents.writable"))
    return Setup(
        argv, shape, build_task_query(context), env, secrets, cwd,
        [*writable, *(Path(name).expanduser() for name in extra)], worktree, resume is not None,
    )  # fmt: skip


def command_of(agent: Mapping[str, Any]) -> tuple[tuple[str, ...], Shape]:
    """T-X.12: its own command, else that of its preset, else Claude's. The program says how the output is read."""
    own, preset = agent.get("command"), agent.get("preset")
    argv = argv_of(own) if own else ()
    if own and not argv:
        raise AttemptFailed("COMMAND_NOT_FOUND", "fatal", f"«{str(own)[:200]}» is no command")
    if preset is None and argv and Path(argv[0]).name in SHAPES:
        preset = Path(argv[0]).name
    shape = SHAPES.get(str(preset or "claude"))
    if shape is None:
        known = ", ".join(SHAPES)
        raise AttemptFailed("COMMAND_NOT_FOUND", "fatal", f"there is no preset «{str(preset)[:80]}»; there are {known}")
    if not (argv or shape.command):
        raise AttemptFailed("COMMAND_NOT_FOUND", "fatal", f"an agent with the preset {shape.name} needs a command")
    return argv or shape.command, shape


def environment_of(request: Request, services: Services, arguments: TaskArguments) -> tuple[dict[str, str], list[str]]:
    """What the agent sees, by an allow-list of names, and those of its values that are secrets. Nothing of ours: what
    begins with PENSTOCK_ are the server's own keys; and where tenants share the machine, what else there is in its
    environment is the operator's, and no plan's to name."""
    own = [] if services.path_policy.shared else [arguments.limits.get("env"), arguments.agent.get("env")]
    asked = [services.settings.get("agents.env"), *own]
    names = [name for part in asked for name in _names(part) if not name.upper().startswith("PENSTOCK_")]
    env = base_environment() | {name: os.environ[name] for name in names if name in os.environ}
    secrets = [env[name] for name in names if name in env and name not in BASE_ENV]
    env |= {
        "PENSTOCK_TASK": arguments.task_id, "PENSTOCK_ATTEMPT": str(request.attempt),
        "PENSTOCK_AGENT": arguments.agent_name, "PENSTOCK_PROJECT": str(arguments.project),
    }  # fmt: skip
    return env, secrets


def secrets_of(folder: Path) -> list[str]:
    """What a session was given by name, as far as this process has it: no text of the session may hold it."""
    told = session_files.read(folder / session_files.SPEC) or {}
    names = [name for name in _names(told.get("env")) if name not in BASE_ENV and not name.startswith("PENSTOCK_")]
    return [os.environ[name] for name in names if len(os.environ.get(name, "")) >= SECRET_CHARS]


def base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in BASE_ENV if name in os.environ}


def folder_of(services: Services, request: Request, attempt: int) -> Path:
    return session_folder(services.output_dir.absolute() / SESSIONS, request.run, session_id(request.key, attempt))


def discard_when_ended(folder: Path) -> None:
    """Blocks: what nobody waits for leaves no worktree when it has ended."""
    until = time.monotonic() + DISCARD_S
    while standing_of(folder) == "running" and time.monotonic() < until:
        time.sleep(0.1)
    worktree = worktrees.worktree_of(folder)
    if worktree is not None and standing_of(folder) != "running":
        worktrees.remove_worktree(worktree)


def _worktree(
    request: Request, services: Services, arguments: TaskArguments, folder: Path, begun: bool
) -> tuple[Worktree | None, Resume | None]:
    """T-X.21: that of an attempt that is resumed or was sent back by a reviewer, else a new one; then nothing is left
    of the attempt before."""
    before = _attempt_before(request, services)
    record = None if before is None else read_record(before)
    resume = None
    if record is not None and record.resume:
        resume = Resume(record.progress, record.matched, record.log_tail)
    known = worktrees.worktree_of(folder)
    if known is not None or begun:
        return known, resume
    left = None if before is None else worktrees.worktree_of(before)
    if left is not None and record is not None and (resume is not None or record.outcome == "done"):
        if Path(left.path).is_dir():
            write_file(folder / worktrees.FILE, left)
            return left, resume
    if left is not None:
        worktrees.remove_worktree(left)
    session = folder.name
    place = worktrees.worktree_place(services.output_dir.absolute(), arguments.project, request.run, session)
    made = worktrees.open_worktree(arguments.project, place, worktrees.branch_name(arguments.task_id, session))
    if made is not None:
        write_file(folder / worktrees.FILE, made)
    return made, resume


def _attempt_before(request: Request, services: Services) -> Path | None:
    for attempt in range(request.attempt - 1, max(0, request.attempt - 1 - BEFORE), -1):
        folder = folder_of(services, request, attempt)
        if folder.is_dir():
            return folder
    return None


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple) else []


def _figure(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return value
