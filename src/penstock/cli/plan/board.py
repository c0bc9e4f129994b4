"""The board of a plan: tasks by how they stand, agents, health; drawn on a terminal, told in lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.app.plan.health import Health
from penstock.app.plan.plans import Plans
from penstock.app.plan.views import Agent, Project, Task, WorkflowState
from penstock.cli.output import TONES, safe, say, short
from penstock.net.draw.marks import Tone

Part = str | tuple[str, str]
_MARK: dict[str, tuple[str, Tone]] = {
    "pending": ("·", "idle"), "in_progress": ("▶", "moving"), "completed": ("✓", "done"), "failed": ("✗", "failed"),
    "cancelled": ("–", "idle"), "review": ("?", "held"),
}  # fmt: skip
_HEALTH: dict[str, Tone] = {"healthy": "done", "warning": "held", "error": "failed", "unknown": "idle"}
_WORKFLOW: dict[str, Tone] = {"running": "moving", "paused": "held", "completed": "done", "idle": "idle"}
_STREAM = 110  # characters of an agent's last line


class Board(NamedTuple):
    """A project at one moment."""

    project: Project
    state: WorkflowState
    tasks: list[Task]
    agents: list[Agent]
    health: Health

    @property
    def pending(self) -> list[Task]:
        """Those that can begin first."""
        waiting = [task for task in self.tasks if task.status == "pending"]
        return sorted(waiting, key=lambda task: not task.ready)

    @property
    def working(self) -> list[Task]:
        return [task for task in self.tasks if task.status == "in_progress" and not task.review_required]

    @property
    def review(self) -> list[Task]:
        return [task for task in self.tasks if task.status == "in_progress" and task.review_required]

    @property
    def finished(self) -> list[Task]:
        """The newest first."""
        ended = [task for task in self.tasks if task.status in ("completed", "failed", "cancelled")]
        return sorted(ended, key=lambda task: task.completed_at or task.updated_at or 0, reverse=True)


def read_board(plans: Plans, project: str) -> Board:
    return Board(
        plans.project(project), plans.state(project), plans.tasks(project), plans.agents(project),
        plans.health(project),
    )  # fmt: skip


# ---- drawn -----------------------------------------------------------------------------------------------------------


def drawn(board: Board, height: int, note: str = "") -> RenderableType:
    """As high as the terminal at most: columns are cut, and say how many more there are."""
    working = board.working
    room = max(height - 11 - len(working), 4)
    return Group(
        _head(board), "", _columns(board, room), "", _agents(board.agents), *(_stream(task) for task in working),
        _health(board.health), *([_line(f"  {note}", "italic")] if note else ()),
    )  # fmt: skip


def _head(board: Board) -> Text:
    state = board.state
    why = f" ({state.why})" if state.why and state.status == "paused" else ""
    stopping = ", stopping" if state.stopping else ""
    return _assembled(
        ("● ", TONES[_WORKFLOW[state.status]]), (board.project.title or board.project.name, "bold"),
        ("  workflow ", "bright_black"), (f"{state.status}{why}{stopping}", TONES[_WORKFLOW[state.status]]),
        (f"  {board.project.path}", "bright_black"),
    )  # fmt: skip


def _columns(board: Board, room: int) -> Table:
    table = Table(box=None, expand=True, padding=(0, 1), show_edge=False)
    columns = [
        (f"Pending {len(board.pending)}", [_pending(task) for task in board.pending]),
        (f"In progress {len(board.working)}/{board.state.max_concurrent}", [_working(task) for task in board.working]),
        (f"Needs review {len(board.review)}", [_review(task) for task in board.review]),
        (f"Finished {len(board.finished)}", [_finished(task) for task in board.finished]),
    ]
    for title, _ in columns:
        table.add_column(_line(title, "bold"), ratio=1, no_wrap=True, overflow="ellipsis")
    cells = [_cut(cells, room) for _, cells in columns]
    for row in range(max(map(len, cells))):
        table.add_row(*(column[row] if row < len(column) else "" for column in cells))
    return table


def _cut(cells: list[Text], room: int) -> list[Text]:
    if len(cells) <= room:
        return cells
    return [*cells[: room - 1], _line(f"… {len(cells) - room + 1} more", "bright_black")]


def _pending(task: Task) -> Text:
    return _assembled(_mark(task), (task.id, "bold"), (f"  {waits_for(task)}", "bright_black"))


def _working(task: Task) -> Text:
    percent = f" {task.progress} %" if task.progress else ""
    return _assembled(_mark(task), (task.id, "bold"), (f"  {task.agent or ''}{percent}{_tries(task)}", "bright_black"))


def _review(task: Task) -> Text:
    return _assembled(_mark(task), (task.id, "bold"), (f"  confidence {task.confidence or 0}", TONES["held"]))


def _finished(task: Task) -> Text:
    recovered = " by recovery" if task.completed_by_recovery else ""
    why = f" {short(task.last_error, 40)}" if task.status == "failed" and task.last_error else ""
    return _assembled(_mark(task), (task.id, "bold"), (f"  {task.status}{recovered}{why}", "bright_black"))


def _agents(agents: list[Agent]) -> Text:
    parts: list[Part] = [("  agents", "bright_black")]
    for agent in agents:
        tone: Tone = "moving" if agent.status == "busy" else "idle"
        work = f" → {agent.current_task}" if agent.current_task else f" {agent.status}"
        parts.append((f"  {agent.name}{work}", TONES[tone]))
    return _assembled(*parts)


def _stream(task: Task) -> Text:
    said = short(task.last_line, _STREAM) if task.last_line else "…"
    return _assembled((f"  {task.id} ", "bold"), (said, "bright_black"))


def _health(health: Health) -> Text:
    issues = f"  {'; '.join(issue.text for issue in health.issues)}" if health.issues else ""
    return _assembled(
        ("  health ", "bright_black"), (f"{health.status} {health.score}", TONES[_HEALTH[health.status]]), issues
    )


def _mark(task: Task) -> tuple[str, str]:
    mark, tone = _MARK["review" if task.status == "in_progress" and task.review_required else task.status]
    return f"{mark} ", TONES[tone]


def _line(text: str, style: str = "") -> Text:
    return Text(safe(text), style=style, no_wrap=True, overflow="ellipsis")


def _assembled(*parts: Part) -> Text:
    shown = ((safe(part), "") if isinstance(part, str) else (safe(part[0]), part[1]) for part in parts)
    return Text.assemble(*shown, no_wrap=True, overflow="ellipsis")


# ---- in lines --------------------------------------------------------------------------------------------------------


def waits_for(task: Task) -> str:
    """Why a pending task is pending."""
    if task.blocking_tasks:
        reason = f"{task.reason}: " if task.reason not in ("", "dependencies_not_met") else "blocked by "
        return f"{reason}{', '.join(task.blocking_tasks)}"
    if task.next_attempt_at is not None:
        return f"tries again{_tries(task)}"
    return "queued" if task.queued else "ready" if task.ready else task.reason


def _tries(task: Task) -> str:
    return f", retry {task.retry_count} of {task.max_retries}" if task.retry_count else ""


def print_board(board: Board) -> None:
    """Every task once, in the order of the columns."""
    state = board.state
    why = f" ({state.why})" if state.why and state.status == "paused" else ""
    say((board.project.name, "bold"), "  workflow ", (f"{state.status}{why}", TONES[_WORKFLOW[state.status]]))
    for title, tasks in (
        ("pending", board.pending), ("in progress", board.working), ("needs review", board.review),
        ("finished", board.finished),
    ):  # fmt: skip
        if tasks:
            limit = f" {len(tasks)}/{state.max_concurrent}" if title == "in progress" else ""
            say((f"{title}{limit}", "bright_black"))
        for task in tasks:
            print_task(task)
    say(_agents(board.agents))
    say(_health(board.health))


def print_task(task: Task) -> None:
    say("  ", _mark(task), (task.id, "bold"), f"  {task.title}", ("  " + how_it_stands(task), "bright_black"))


def how_it_stands(task: Task) -> str:
    """In a few words: its status and what explains it."""
    if task.status == "pending":
        return f"pending, {waits_for(task)}" if waits_for(task) else "pending"
    if task.status == "in_progress" and task.review_required:
        return f"needs review, confidence {task.confidence or 0}, {len(task.matched)} of {task.criteria_total} criteria"
    if task.status == "in_progress":
        percent = f", {task.progress} %" if task.progress else ""
        return f"in progress, {task.agent or 'an agent'}{percent}{_tries(task)}"
    if task.status == "completed":
        recovered = ", by recovery" if task.completed_by_recovery else ""
        sure = f", confidence {task.confidence}" if task.confidence is not None else ""
        return f"completed{sure}{recovered}{_tries(task)}"
    return f"{task.status}{f': {short(task.last_error, 120)}' if task.last_error else ''}"


class BoardLines:
    """Tells in lines what has changed from one board to the next."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.told: dict[str, tuple[object, ...]] = {}
        self.workflow = ""

    def show(self, board: Board, note: str = "") -> None:
        for task in self._news(board.tasks):
            say((f"{time.monotonic() - self.began:7.2f} s  ", "bright_black"), (task.id, "bold"), _told(task))
        status = f"{board.state.status} {board.state.why} {board.state.stopping}"
        if self.workflow and self.workflow != status and board.state.stopping:
            running = len(board.working)
            say(f"stopping: {running} task{'' if running == 1 else 's'} may end, none begins")
        self.workflow = status

    def _news(self, tasks: Iterable[Task]) -> Iterator[Task]:
        first = not self.told
        for task in tasks:
            speaks = task.status == "in_progress" and bool(task.last_line)
            now = (task.status, task.review_required, task.retry_count, task.agent, speaks)
            before, self.told[task.id] = self.told.get(task.id), now
            if before != now and not (first and task.status in ("pending", "completed", "cancelled")):
                yield task


def _told(task: Task) -> Part:
    mark, tone = _MARK["review" if task.review_required and task.status == "in_progress" else task.status]
    why = f": {short(task.last_error, 100)}" if task.status == "pending" and task.last_error else ""
    if task.status == "in_progress" and not task.review_required and task.last_line:
        why = f": {short(task.last_line, 100)}"
    return f"  {mark} {how_it_stands(task)}{why}", TONES[tone]
