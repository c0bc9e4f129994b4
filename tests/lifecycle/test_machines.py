"""Every state machine, exhaustively: what the table names happens, everything else is refused."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.errors import StatusConflict
from penstock.lifecycle import MACHINES, Machine, T
from penstock.lifecycle.breaker import BREAKER
from penstock.lifecycle.diagram_node import DIAGRAM_NODE
from penstock.lifecycle.diagram_run import DIAGRAM_RUN
from penstock.lifecycle.effect import EFFECT
from penstock.lifecycle.firing import FIRING, LIVE, UNIT_WORDS
from penstock.lifecycle.run import RUN
from penstock.lifecycle.timer import TIMER
from penstock.lifecycle.work_item import WORK_ITEM

EVERY = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)

#: Out of a terminal status lead only these rows.
EXITS = {
    "run": {
        ("FAILED", "operator_retry"),
        ("FAILED", "retry_queued"),
        ("FAILED", "compensate"),
        ("COMPLETED", "compensate"),
    },
    "firing": {("failed", "revive")},
    "effect": {("dead", "replay")},
    "timer": set(),
    "work_item": {("DONE", "rework"), ("DONE", "compensate")},
    "diagram_run": {("FAILED", "operator_retry")},
    "diagram_node": {
        ("COMPLETED", "fire"),
        ("MAXITER_REACHED", "fire"),
        ("FAILED", "revive"),
        ("SKIPPED", "reopen"),
    },
    "breaker": set(),
    "decision_run": {("FAILED", "operator_retry")},
    "decision_node": {
        ("FAILED", "has_compensation"),
        ("FAILED", "skip_on_error"),
        ("SUCCEEDED", "workflow_compensation"),
    },
    "approval": set(),
    "process_run": {("TERMINATED", "compensate"), ("COMPLETED", "compensate")},
    "pipeline_run": {("FAILED", "operator_retry"), ("TIMEOUT", "operator_retry")},
    "pipeline_stage": {("FAILED", "revive"), ("TIMEOUT", "revive")},
    "task": {("failed", "retry")},
    "plan_agent": set(),
    "task_execution": set(),
    "project_health": set(),
    "release": set(),
    "deployment": {("succeeded", "roll_back"), ("failed", "roll_back")},
    "autonomy_proposal": set(),
}


def words(text: str) -> set[str]:
    return set(text.split())


@EVERY
def test_every_pair_not_in_the_table_is_refused(machine: Machine) -> None:
    """W-2.2.2, P-X.16: any other request is refused, with the status and where it is allowed."""
    table = {(row.src, row.event): row.dst for row in machine.rows}
    for status in (*machine.statuses, "NO_SUCH_STATUS"):
        for event in (*machine.events, "no_such_event"):
            if (status, event) in table:
                assert machine.allows(status, event)
                assert machine.next(status, event) == table[status, event]
                assert event in machine.moves(status)
                continue
            assert not machine.allows(status, event)
            with pytest.raises(StatusConflict) as refused:
                machine.next(status, event)
            assert refused.value.facts["status"] == status
            assert refused.value.facts["allowed"] == [row.src for row in machine.rows if row.event == event]
            assert status in str(refused.value)


@EVERY
def test_terminal_statuses_absorb_but_for_the_named_rows(machine: Machine) -> None:
    found = {(row.src, row.event) for row in machine.rows if row.src in machine.terminal}
    assert found == EXITS[machine.name]


@EVERY
def test_every_status_is_reached_and_every_live_one_can_end(machine: Machine) -> None:
    after = {machine.initial}
    for _ in machine.statuses:
        after |= {row.dst for row in machine.rows if row.src in after}
    assert after == set(machine.statuses)
    ends = set(machine.terminal)
    for _ in machine.statuses:
        ends |= {row.src for row in machine.rows if row.dst in ends}
    assert not machine.terminal or ends == set(machine.statuses)


@EVERY
def test_the_name_is_the_key_and_every_row_says_where_it_comes_from(machine: Machine) -> None:
    assert MACHINES[machine.name] is machine
    assert all(row.source for row in machine.rows)


def test_a_machine_is_frozen_and_refuses_two_answers_to_one_question() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TIMER.initial = "fired"  # type: ignore[misc]
    with pytest.raises(AssertionError, match="two rows"):
        Machine("m", "a", (T("a", "go", "b", "x"), T("a", "go", "c", "x")), terminal=())
    with pytest.raises(AssertionError, match="terminal"):
        Machine("m", "a", (T("a", "go", "b", "x"),), terminal=("z",))


def test_run_statuses() -> None:
    """W-2.2.1, P-X.30: the internal words; TIMEOUT is a word of the decision language only, a run never rests in it."""
    expected = words("CREATED PENDING RUNNING WAITING COMPENSATING COMPLETED FAILED CANCELLED COMPENSATED")
    assert set(RUN.statuses) == expected
    assert RUN.initial == "CREATED"
    assert set(RUN.terminal) == {"COMPLETED", "FAILED", "CANCELLED", "COMPENSATED"}


@pytest.mark.parametrize(
    ("status", "event", "after"),
    [
        ("CREATED", "schedule", "PENDING"),
        ("PENDING", "start", "RUNNING"),
        ("RUNNING", "wait_started", "WAITING"),
        ("WAITING", "resumed", "RUNNING"),
        ("RUNNING", "all_done", "COMPLETED"),
        ("RUNNING", "unrecoverable_error", "FAILED"),
        ("RUNNING", "compensation_triggered", "COMPENSATING"),
        ("WAITING", "compensation_triggered", "COMPENSATING"),
        ("COMPENSATING", "compensation_done", "COMPENSATED"),
        ("COMPENSATING", "compensation_failed", "FAILED"),
        ("FAILED", "operator_retry", "RUNNING"),
        ("FAILED", "retry_queued", "PENDING"),
        ("RUNNING", "run_retry", "PENDING"),
        ("PENDING", "retry_allowed", "RUNNING"),
    ],
)
def test_run_moves(status: str, event: str, after: str) -> None:
    """W-2.2.2, W-2.2.3: the source's rows and the added ones."""
    assert RUN.next(status, event) == after


def test_a_run_is_cancelled_from_every_open_status_but_not_while_it_compensates() -> None:
    """W-2.2.3: cancel from CREATED, PENDING, RUNNING, WAITING; COMPENSATING refuses it."""
    assert RUN.sources("cancel_requested") == ["CREATED", "PENDING", "RUNNING", "WAITING"]
    with pytest.raises(StatusConflict, match="run is COMPENSATING; cancel_requested is allowed only from"):
        RUN.next("COMPENSATING", "cancel_requested")


def test_every_phase_of_a_firing_has_a_unit_word() -> None:
    """P-X.30: one internal set of words for units of work."""
    assert set(UNIT_WORDS) == set(FIRING.statuses)
    assert {phase: UNIT_WORDS[phase] for phase in LIVE} == {
        "run": "RUNNING",
        "effect": "RUNNING",
        "scope": "RUNNING",
        "undo": "RUNNING",
        "queue": "QUEUED",
        "backoff": "RETRYING",
        "suspended": "WAITING",
    }
    ends = {phase: UNIT_WORDS[phase] for phase in FIRING.terminal}
    assert ends == {
        "done": "SUCCEEDED",
        "failed": "FAILED",
        "skipped": "SKIPPED",
        "interrupted": "CANCELLED",
        "swept": "CANCELLED",
    }


@pytest.mark.parametrize("phase", ["run", "effect", "backoff", "suspended", "scope", "undo"])
def test_any_live_firing_can_be_swept_and_none_that_ended(phase: str) -> None:
    assert FIRING.next(phase, "sweep") == "swept"
    for end in ("done", "failed", "skipped", "interrupted", "swept"):
        assert not FIRING.allows(end, "sweep")


def test_an_effect_in_doubt_is_never_asked_again_unasked() -> None:
    assert EFFECT.next("asked", "start") == "started"
    assert EFFECT.next("started", "lose") == "in_doubt"
    assert not EFFECT.allows("started", "ask_again")
    assert set(EFFECT.moves("in_doubt")) == {"succeed", "fail", "ask_again", "drop"}
    assert set(EFFECT.statuses) == words("asked started done failed skipped dropped in_doubt dead")


def test_a_timer_ends_once() -> None:
    assert set(TIMER.statuses) == {"set", "fired", "gone"}
    assert not TIMER.moves("fired")
    assert not TIMER.moves("gone")


def test_work_item_statuses_are_exactly_the_seven() -> None:
    """P-4.1.12, P-4.1.1: the full set; a new item is TODO."""
    assert set(WORK_ITEM.statuses) == words("TODO IN_PROGRESS SUBMITTED DONE REWORK CANCELLED COMPENSATED")
    assert WORK_ITEM.initial == "TODO"


WORK_MOVES = [
    ("P-4.1.2", "TODO", "start", "IN_PROGRESS"),
    ("P-4.1.3", "IN_PROGRESS", "submit_for_approval", "SUBMITTED"),
    ("P-4.1.4", "SUBMITTED", "approve", "DONE"),
    ("P-4.1.5", "TODO", "submit", "DONE"),
    ("P-4.1.5", "IN_PROGRESS", "submit", "DONE"),
    ("P-4.1.7", "REWORK", "redo", "TODO"),
    ("P-X.14", "SUBMITTED", "reject", "REWORK"),
    ("P-X.40", "IN_PROGRESS", "take_over", "IN_PROGRESS"),
]


@pytest.mark.parametrize(("source", "status", "verb", "after"), WORK_MOVES)
def test_work_item_moves(source: str, status: str, verb: str, after: str) -> None:
    assert WORK_ITEM.next(status, verb) == after
    assert any(source in row.source for row in WORK_ITEM.rows if (row.src, row.event) == (status, verb))


def test_rework_is_ordered_from_submitted_and_done_only() -> None:
    """P-4.1.6, P-X.15: REWORK from SUBMITTED and DONE."""
    assert WORK_ITEM.sources("rework") == ["SUBMITTED", "DONE"]


def test_submit_refuses_what_is_already_submitted() -> None:
    """P-X.14: a SUBMITTED item is approved or rejected, not submitted again."""
    assert not WORK_ITEM.allows("SUBMITTED", "submit")
    assert not WORK_ITEM.allows("SUBMITTED", "submit_for_approval")


def test_finished_work_is_compensated_never_cancelled() -> None:
    """P-4.1.8, P-4.1.9, P-4.1.10, P-4.1.11."""
    assert {row.src for row in WORK_ITEM.rows if row.dst == "CANCELLED"} == {"TODO", "IN_PROGRESS", "REWORK"}
    assert {row.src for row in WORK_ITEM.rows if row.dst == "COMPENSATED"} == {"DONE", "SUBMITTED"}


def test_diagram_run_statuses() -> None:
    """D-X.8: PENDING, RUNNING, WAITING, COMPLETED, FAILED, CANCELLED and nothing else."""
    assert set(DIAGRAM_RUN.statuses) == words("PENDING RUNNING WAITING COMPLETED FAILED CANCELLED")
    assert DIAGRAM_RUN.next("RUNNING", "wait_started") == "WAITING"
    assert not DIAGRAM_RUN.moves("COMPLETED")
    assert not DIAGRAM_RUN.moves("CANCELLED")


NODE_STATES = [
    ("D-8.1.1", (), "PENDING"),
    ("D-8.1.2", ("fire",), "RUNNING"),
    ("D-8.1.3", ("fire", "settle"), "COMPLETED"),
    ("D-8.1.4", ("fire", "fail"), "FAILED"),
    ("D-8.1.5", ("fire", "settle_at_limit"), "MAXITER_REACHED"),
    ("D-8.1.6", ("skip",), "SKIPPED"),
]


@pytest.mark.parametrize(("source", "events", "state"), NODE_STATES, ids=[row[0] for row in NODE_STATES])
def test_diagram_node_states(source: str, events: tuple[str, ...], state: str) -> None:
    status = DIAGRAM_NODE.initial
    for event in events:
        status = DIAGRAM_NODE.next(status, event)
    assert status == state
    assert len(DIAGRAM_NODE.statuses) == len(NODE_STATES)


def test_a_diagram_node_runs_again_in_the_next_round_and_the_next_epoch() -> None:
    """After COMPLETED another round; after MAXITER_REACHED a new epoch."""
    assert DIAGRAM_NODE.next("COMPLETED", "fire") == "RUNNING"
    assert DIAGRAM_NODE.next("MAXITER_REACHED", "fire") == "RUNNING"


def test_breaker() -> None:
    """W-7.3.2: every row of the table."""
    assert BREAKER.next("closed", "call") == "closed"
    assert BREAKER.next("closed", "trip") == "open"
    assert BREAKER.next("open", "cool_down") == "half_open"
    assert BREAKER.next("half_open", "probes_passed") == "closed"
    assert BREAKER.next("half_open", "probe_failed") == "open"
    assert not BREAKER.allows("open", "call")


def test_mermaid_is_drawn_from_the_table() -> None:
    assert TIMER.mermaid() == (
        "stateDiagram-v2\n"
        "    [*] --> set\n"
        "    set --> fired: fire\n"
        "    set --> gone: remove\n"
        "    fired --> [*]\n"
        "    gone --> [*]\n"
    )
    assert "    SUBMITTED --> REWORK: reject, rework\n" in WORK_ITEM.mermaid()


def test_the_tables_of_a_decision_workflow() -> None:
    """W-2.2.1, W-2.2.2, W-2.2.3, W-2.3.1, W-2.3.2, W-2.3.3, W-4.6.1, W-9.3.2: statuses and every row of the seed."""
    runs = "CREATED PENDING RUNNING WAITING COMPLETED FAILED CANCELLED TIMEOUT COMPENSATING COMPENSATED"
    assert set(MACHINES["decision_run"].statuses) == words(runs)
    assert set(MACHINES["decision_run"].terminal) == words("COMPLETED FAILED CANCELLED COMPENSATED")
    nodes = "QUEUED RUNNING SUCCEEDED FAILED RETRYING SKIPPED COMPENSATING COMPENSATED"
    assert set(MACHINES["decision_node"].statuses) == words(nodes)
    assert set(MACHINES["approval"].statuses) == words("REQUESTED PENDING APPROVED REJECTED ESCALATED TIMEOUT")
    assert set(MACHINES["release"].statuses) == words("draft pending_approval approved active deprecated")
    for machine, rows in {
        "decision_run": "WAITING wait_expired TIMEOUT, TIMEOUT no_recovery FAILED, TIMEOUT retry_allowed RUNNING, "
        "WAITING approval_rejected CANCELLED, RUNNING workflow_timeout TIMEOUT, FAILED operator_retry RUNNING",
        "decision_node": "FAILED skip_on_error SKIPPED, SUCCEEDED workflow_compensation COMPENSATING, "
        "QUEUED condition_false SKIPPED, RUNNING rate_limited SKIPPED, RUNNING duplicate SKIPPED",
        "approval": "TIMEOUT on_timeout=reject REJECTED, TIMEOUT on_timeout=escalate ESCALATED, "
        "TIMEOUT on_timeout=auto_approve APPROVED, ESCALATED reassign_approvers PENDING",
        "release": "draft submit pending_approval, pending_approval reject draft, deprecated activate active",
    }.items():
        for row in rows.split(", "):
            status, event, after = row.split()
            assert MACHINES[machine].next(status, event) == after
