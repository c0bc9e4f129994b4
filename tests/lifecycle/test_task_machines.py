"""The seed's four machines of plans: task, agent, execution, project health; written out by hand, pair by pair."""

from __future__ import annotations

from itertools import product

import pytest

from penstock.errors import StatusConflict
from penstock.lifecycle import Machine
from penstock.lifecycle.plan_agent import PLAN_AGENT
from penstock.lifecycle.project_health import PROJECT_HEALTH
from penstock.lifecycle.task import TASK
from penstock.lifecycle.task_execution import TASK_EXECUTION

TASK_ROWS = {
    ("pending", "start_task"): "in_progress",
    ("in_progress", "complete_task"): "completed",
    ("in_progress", "cancel"): "cancelled",
    ("pending", "cancel"): "cancelled",
    ("in_progress", "recover"): "pending",
    ("in_progress", "fail_task"): "failed",
    ("failed", "retry"): "pending",
}
AGENT_ROWS = {
    ("idle", "assign_task"): "busy",
    ("busy", "task_complete"): "idle",
    ("busy", "task_failed"): "idle",
    ("busy", "recover"): "idle",
}
EXECUTION_ROWS = {
    ("pending", "process_start"): "running",
    ("running", "process_exit_0"): "completed",
    ("running", "process_exit_error"): "failed",
    ("running", "timeout"): "failed",
    ("pending", "not_started"): "failed",
}
LEVELS = ("healthy", "warning", "error")
HEALTH_ROWS = {
    (before, f"checked_{level}"): level for before, level in product(("unknown", "healthy", "warning", "error"), LEVELS)
}
ROWS = {"task": TASK_ROWS, "plan_agent": AGENT_ROWS, "task_execution": EXECUTION_ROWS, "project_health": HEALTH_ROWS}


@pytest.mark.parametrize("machine", [TASK, PLAN_AGENT, TASK_EXECUTION, PROJECT_HEALTH], ids=lambda m: m.name)
def test_every_pair_has_the_seeds_answer_and_all_others_are_refused(machine: Machine) -> None:
    """T-0.1, T-0.2, T-X.2: the tables are whitelists."""
    expected = ROWS[machine.name]
    assert {row[:2] for row in machine.rows} == expected.keys()
    for status, event in product(machine.statuses, machine.events):
        if (status, event) in expected:
            assert machine.next(status, event) == expected[status, event]
            continue
        with pytest.raises(StatusConflict):
            machine.next(status, event)


def test_the_states_and_triggers_of_a_task() -> None:
    """T-1.1.1, T-1.1.2, T-X.1: four states and `failed`."""
    assert TASK.initial == "pending"
    assert {*TASK.statuses} == {"pending", "in_progress", "completed", "cancelled", "failed"}
    assert {"start_task", "complete_task", "cancel"} <= {*TASK.events}
    assert {*TASK.terminal} == {"completed", "cancelled", "failed"}


@pytest.mark.parametrize(
    ("source", "before", "event", "after"),
    [
        ("T-1.2.1", "pending", "start_task", "in_progress"),
        ("T-1.2.2", "in_progress", "complete_task", "completed"),
        ("T-1.2.3", "in_progress", "cancel", "cancelled"),
        ("T-1.2.4", "pending", "cancel", "cancelled"),
        ("T-1.3.6", "in_progress", "recover", "pending"),
        ("T-X.1", "in_progress", "fail_task", "failed"),
        ("T-X.1", "failed", "retry", "pending"),
    ],
)
def test_a_task_moves_as_the_seed_says(source: str, before: str, event: str, after: str) -> None:
    """T-1.2.1, T-1.2.2, T-1.2.3, T-1.2.4, T-1.3.6, T-X.1: and each row names where it comes from."""
    assert TASK.next(before, event) == after
    assert source in next(row.source for row in TASK.rows if (row.src, row.event) == (before, event))


def _ways(machine: Machine) -> set[tuple[str, str]]:
    return {(row.src, row.dst) for row in machine.rows}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("completed", "pending"),
        ("completed", "in_progress"),
        ("cancelled", "pending"),
        ("cancelled", "in_progress"),
        ("pending", "completed"),
    ],
)
def test_the_five_invalid_transitions_of_a_task(before: str, after: str) -> None:
    """T-1.3.1, T-1.3.2, T-1.3.3, T-1.3.4, T-1.3.5: no event leads there."""
    assert (before, after) not in _ways(TASK)
    for event in TASK.events:
        assert not TASK.allows(before, event) or TASK.next(before, event) != after


def test_other_moves_of_a_task_are_refused() -> None:
    """T-X.2, T-1.3.6: completed and cancelled lead nowhere; only recovery and a retry by hand lead to pending."""
    assert not TASK.moves("completed") and not TASK.moves("cancelled")
    assert [row.event for row in TASK.rows if row.dst == "pending"] == ["recover", "retry"]
    assert not [row for row in TASK.rows if row.src == row.dst]


def test_an_agent_has_two_states() -> None:
    """T-2.1.1, T-2.2.1, T-2.2.2, T-2.2.3: assigned it is busy, after success and after failure it is idle."""
    assert PLAN_AGENT.initial == "idle" and {*PLAN_AGENT.statuses} == {"idle", "busy"}
    assert PLAN_AGENT.next("idle", "assign_task") == "busy"
    assert PLAN_AGENT.next("busy", "task_complete") == "idle"
    assert PLAN_AGENT.next("busy", "task_failed") == "idle"


def test_a_busy_agent_is_not_assigned_again() -> None:
    """T-2.3.1, T-2.3.2: and one whose process has died is idle again."""
    with pytest.raises(StatusConflict) as refused:
        PLAN_AGENT.next("busy", "assign_task")
    assert refused.value.facts["allowed"] == ["idle"]
    assert ("busy", "busy") not in _ways(PLAN_AGENT)
    assert PLAN_AGENT.next("busy", "recover") == "idle"


def test_the_states_of_an_execution() -> None:
    """T-3.1.1: pending is the first of four."""
    assert TASK_EXECUTION.initial == "pending"
    assert {*TASK_EXECUTION.statuses} == {"pending", "running", "completed", "failed"}
    assert {*TASK_EXECUTION.terminal} == {"completed", "failed"}


@pytest.mark.parametrize(
    ("source", "before", "event", "after"),
    [
        ("T-3.2.1", "pending", "process_start", "running"),
        ("T-3.2.2", "running", "process_exit_0", "completed"),
        ("T-3.2.3", "running", "process_exit_error", "failed"),
        ("T-3.2.4", "running", "timeout", "failed"),
    ],
)
def test_an_execution_moves_as_the_seed_says(source: str, before: str, event: str, after: str) -> None:
    """T-3.2.1, T-3.2.2, T-3.2.3, T-3.2.4: each row names where it comes from."""
    assert TASK_EXECUTION.next(before, event) == after
    assert source in next(row.source for row in TASK_EXECUTION.rows if (row.src, row.event) == (before, event))


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("T-4.1.1", "unknown", "healthy"),
        ("T-4.1.2", "healthy", "warning"),
        ("T-4.1.3", "warning", "healthy"),
        ("T-4.1.4", "warning", "error"),
        ("T-4.1.5", "error", "healthy"),
    ],
)
def test_health_moves_as_the_seed_draws_it(source: str, before: str, after: str) -> None:
    """T-4.1.1, T-4.1.2, T-4.1.3, T-4.1.4, T-4.1.5: the five arrows of the drawing."""
    assert PROJECT_HEALTH.initial == "unknown"
    assert PROJECT_HEALTH.next(before, f"checked_{after}") == after
    row = next(row for row in PROJECT_HEALTH.rows if (row.src, row.dst) == (before, after))
    assert row.source.startswith(source)


def test_a_check_may_find_any_level() -> None:
    """T-X.4: between any two levels; nothing leads back to unknown."""
    assert _ways(PROJECT_HEALTH) == {*product(("unknown", *LEVELS), LEVELS)}
