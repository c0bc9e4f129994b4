"""The fields of a plan, its agents, skills and tasks (T-X.8, T-X.9, T-X.11, T-X.13, T-X.40), with their defaults."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from penstock.lang.fields import Fields

INT = 2**31 - 1
STATUSES = ("pending", "in_progress", "completed", "cancelled", "failed")
Status = Literal["pending", "in_progress", "completed", "cancelled", "failed"]
Preset = Literal["claude", "gemini", "codex", "shell"]
#: T-X.6: `a|b` is either of them
CRITICAL_FILES = ("CLAUDE.md", ".claude/settings.json|settings.json")

Name = Annotated[str, Meta(max_length=100)]
Path = Annotated[str, Meta(max_length=1000)]
Seconds = Annotated[int, Meta(gt=0, le=INT)] | Annotated[float, Meta(gt=0, le=INT)]
Wait = Annotated[int, Meta(ge=0, le=INT)] | Annotated[float, Meta(ge=0, le=INT)]
Percent = Annotated[int, Meta(ge=0, le=100)] | Annotated[float, Meta(ge=0, le=100)]
Names = list[Name]
Command = list[str] | str | None
_COMMAND = "The command line of the agent: a list, or a text that is split without a shell."


class Budget(Fields):
    """What one execution may cost before it is stopped."""

    cost_usd: Annotated[
        Annotated[int, Meta(gt=0)] | Annotated[float, Meta(gt=0)] | None, Meta(description="Dollars.")
    ] = None
    tokens: Annotated[Annotated[int, Meta(gt=0)] | None, Meta(description="Tokens in and out.")] = None


class PlanFields(Fields):
    """The plan itself. Every time is in seconds."""

    name: Annotated[Name, Meta(description="Its name: letters, digits, _ . and -.")] = ""
    title: Annotated[str, Meta(max_length=500, description="What people call it.")] = ""
    max_concurrent: Annotated[int, Meta(ge=1, le=1000, description="Tasks that run at once.")] = 3
    max_retries: Annotated[int, Meta(ge=0, le=100, description="Attempts after the first.")] = 3
    retry_delays_s: Annotated[
        list[Wait], Meta(description="Before each retry; the last counts for all that follow.")
    ] = field(default_factory=lambda: [0, 5, 10])
    timeout_s: Annotated[Seconds, Meta(description="How long one attempt may take.")] = 3600
    review_below: Annotated[Percent, Meta(description="A smaller confidence needs a person's review.")] = 80
    recovery_complete_at: Annotated[
        Annotated[int, Meta(ge=0, le=101)] | Annotated[float, Meta(ge=0, le=101)],
        Meta(description="A crashed attempt with at least this progress is completed; 101 is never."),
    ] = 80
    merge: Annotated[
        Literal["auto", "review", "keep"],
        Meta(description="What becomes of the worktree of a completed task: merged, merged by a person, kept."),
    ] = "auto"
    reviewers: Annotated[Names, Meta(description="Who may review; nobody named is everybody who may.")] = []
    budget: Budget | None = None
    heartbeat_s: Annotated[Seconds, Meta(description="Silent for longer, an agent is a zombie.")] = 300
    term_s: Annotated[Wait, Meta(description="After SIGTERM, before SIGKILL.")] = 30
    kill_s: Annotated[Wait, Meta(description="After SIGKILL, before it is given up.")] = 10
    stuck_s: Annotated[Seconds, Meta(description="In progress for longer, a task is stuck.")] = 3600
    wait_s: Annotated[Seconds, Meta(description="With nothing to run, look again after this.")] = 30
    autosave_s: Annotated[Seconds, Meta(description="The state file is written this often.")] = 300
    criterion_timeout_s: Annotated[Seconds, Meta(description="For the command of a success criterion.")] = 60
    critical_files: Annotated[
        list[Path], Meta(description="Files that a healthy project has; a|b is either of them.")
    ] = field(default_factory=lambda: list(CRITICAL_FILES))
    env: Annotated[Names, Meta(description="Names of environment variables that agents see.")] = []
    preset: Annotated[Preset | None, Meta(description="The preset of agents that say nothing.")] = None
    command: Annotated[Command, Meta(description="The command of agents that say nothing.")] = None
    tasks_dir: Annotated[Path, Meta(description="The folder of the tasks.")] = "tasks"
    agents_dir: Annotated[Path, Meta(description="The folder of the agents.")] = "agents"
    skills_dir: Annotated[Path, Meta(description="The folder of the skills.")] = "skills"
    file: Path = ""
    lines: dict[str, int] = {}

    ALIASES: ClassVar[dict[str, str]] = {"maxConcurrent": "max_concurrent"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("name",)


class AgentFields(Fields):
    """An agent (T-X.9): a program that does one task at a time."""

    name: Annotated[Name, Meta(description="Its name: letters, digits, _ . and -.")] = ""
    preset: Annotated[Preset | None, Meta(description="A CLI whose command and stream are known.")] = None
    command: Annotated[Command, Meta(description=_COMMAND)] = None
    skills: Annotated[Names, Meta(description="Skills that it always has.")] = []
    max_tasks: Annotated[Literal[1], Meta(description="One task at a time (T-2.3.1).")] = 1
    instructions: Annotated[str, Meta(max_length=1024 * 1024, description="What it is told before every task.")] = ""
    env: Annotated[Names, Meta(description="Names of environment variables that it sees, too.")] = []
    file: Path = ""
    lines: dict[str, int] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("name",)


class SkillFields(Fields):
    """A skill (T-X.11): a text that tasks and agents name."""

    id: Name = ""
    text: Annotated[str, Meta(max_length=1024 * 1024)] = ""
    file: Path = ""
    lines: dict[str, int] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)


class TaskFields(Fields):
    """A task (T-X.8). The last five before `file` are the engine's: read, and left alone."""

    id: Annotated[Name, Meta(description="Its id, which is the name of its file.")] = ""
    title: Annotated[str, Meta(max_length=500)] = ""
    status: Annotated[Status, Meta(description="Where it stands.")] = "pending"
    priority: Annotated[
        Annotated[int, Meta(ge=-INT, le=INT)] | None, Meta(description="The smaller number goes first.")
    ] = None
    assigned_agent: Annotated[Name | None, Meta(description="Who does it; else the first agent that is idle.")] = None
    depends_on: Annotated[
        list[str | dict[str, Any]], Meta(description="Ids, or {id, optional, weight}.", max_length=1000)
    ] = []
    references: Annotated[list[Path], Meta(description="Files that the agent is given.", max_length=200)] = []
    success_criteria: Annotated[
        list[str | dict[str, Any]], Meta(description="Texts or checks (T-X.13).", max_length=200)
    ] = []
    skill: Annotated[Name | None, Meta(description="The id of a skill.")] = None
    timeout_s: Annotated[Seconds | None, Meta(description="Instead of the plan's.")] = None
    schedule: Annotated[Name | None, Meta(description='"<cron> [zone]": it is made anew at these times.')] = None
    created: Annotated[Name | None, Meta(description="When it was made: what is older goes first.")] = None
    description: Annotated[str, Meta(max_length=1024 * 1024, description="What is to be done.")] = ""
    updated: Name | None = None
    retry_count: Annotated[int, Meta(ge=0, le=INT)] = 0
    last_error: str | None = None
    review_required: bool = False
    trigger: Name | None = None
    file: Annotated[Path, Meta(description="Where it was read from.")] = ""
    lines: Annotated[dict[str, int], Meta(description="The lines of its fields in that file.")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)
