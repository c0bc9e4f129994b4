"""The nets that plans are lowered to: nodes, edges, the pool of agents, and what each attempt is told."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.net.checks import check
from penstock.net.model import Net, OnError, Pool
from tests.conformance.plan.make import edges, findings, lowered, node, plan, task

OPTIONAL: dict[str, Any] = {"id": "a", "optional": True}


def args(net: Net, id: str) -> dict[str, Any]:
    effect = node(net, id).effect
    assert effect is not None
    made: dict[str, Any] = effect.args
    return made


def test_a_task_is_a_work_node_of_the_pool() -> None:
    """T-7.2.1, T-X.9, T-X.15: maxConcurrent, one task per agent, three retries after 0, 5 and 10 s."""
    net = lowered(plan(task("a", title="Make it", assigned_agent="bob"), task("b")))
    assert net.name == "site" and net.language == "plan" and net.on_stuck == "stop"
    assert net.pools == {"agents": Pool(places=("ann", "bob", "cid", "default"), most=3)}
    made = node(net, "a")
    assert (made.kind, made.type, made.label, made.pool, made.place) == ("work", "task", "Make it", "agents", "bob")
    assert (made.max_iter, made.at_max) == (1, "absorb")
    assert (made.retry.max, made.retry.delays_ms) == (3, (0, 5000, 10_000))
    assert made.retry.on == ("transient", "timeout", "external", "resource")
    assert made.on_error == (OnError(match="fatal", action="halt:failed"), OnError(match="*", action="park:failed"))
    assert made.effect is not None and made.effect.executor == "cli_agent"
    assert node(net, "b").place == ""
    assert edges(net) == {"start>a", "start>b"}


def test_every_net_is_well_formed() -> None:
    """T-X.29: with every kind of dependency, no check of nets finds an error."""
    net = lowered(
        plan(task("a"), task("b", "a"), task("c", OPTIONAL, "b"), task("d", status="completed"), task("e", "d"))
    )
    assert [f for f in check(net) if f.severity == "error"] == []


def test_a_dependency_is_an_edge() -> None:
    """T-1.2.1, T-X.29: from completed; an optional one from every end, through a merge."""
    net = lowered(plan(task("a"), task("b", "a"), task("c", OPTIONAL)))
    assert edges(net) == {
        "start>a", "start>b", "start>c", "a>b", "a>.a>c", "a:failed>.a>c", "a:cancelled>.a>c", ".a>c>c",
    }  # fmt: skip
    merge = node(net, ".a>c")
    assert (merge.kind, merge.type, merge.origin, merge.join.mode, merge.join.k) == ("route", "merge", "c", "k", 1)
    assert {edge.port for edge in net.edges if edge.dst == ".a>c"} == {"done", "failed", "cancelled"}
    assert node(net, "b").join.mode == "all"


def test_the_order_of_tasks_is_their_priority() -> None:
    """T-7.1.5, T-X.28: a priority before none, then created, then the id."""
    net = lowered(
        plan(
            task("e"), task("d", created="2026-01-02"), task("c", created="2026-01-01T12:00:00+09:00"),
            task("b", priority=2), task("a", priority=10), task("f", priority=2, created="2025-01-01"),
        )
    )  # fmt: skip
    tasks = sorted((n for n in net.nodes if n.type == "task"), key=lambda n: n.priority)
    assert [n.id for n in tasks] == ["f", "b", "a", "c", "d", "e"]
    assert len({n.priority for n in tasks}) == 6


def test_what_an_attempt_is_told() -> None:
    """T-5.1.6, T-5.2.6, T-X.12, T-X.14: the task, its agent, its skill, the limits, and what a reviewer said."""
    document = plan(
        task("a", description="Do it.", references=["x.md"], success_criteria=["ok"], skill="s"),
        task("b", timeout_s=7),
        timeout_s=60, heartbeat_s=2, term_s=3, kill_s=1, merge="review", env=["TOKEN"], budget={"tokens": 9},
    )  # fmt: skip
    document["skills"] = [{"id": "s", "text": "Like this."}]
    net = lowered(document)
    told = args(net, "a")
    assert {name: told[name]["$expr"] for name in ("project", "project_id", "trusted", "agent", "feedback")} == {
        "project": "input.project", "project_id": "input.project_id", "trusted": "input.trusted",
        "agent": "config.agents[place]", "feedback": "feedback",
    }  # fmt: skip
    assert told["task"] == {
        "id": "a", "title": "A", "description": "Do it.", "references": ["x.md"], "success_criteria": ["ok"],
        "file": "", "skill": "s", "skill_text": {"$expr": "config.skills['s']"},
    }  # fmt: skip
    assert told["limits"] == {"$expr": "config.limits"}
    limits = {
        "timeout_s": 60, "heartbeat_s": 2, "term_s": 3, "kill_s": 1, "recovery_complete_at": 80, "merge": "review",
        "env": ["TOKEN"], "criterion_timeout_s": 60, "budget": {"tokens": 9}, "review_below": 80, "tasks_dir": "tasks",
    }  # fmt: skip
    assert net.declares.config["limits"] == limits
    assert args(net, "b")["limits"] == {**limits, "timeout_s": 7}


def test_agents_are_kept_once_with_the_implicit_one() -> None:
    """T-X.9, T-X.11, T-X.12: what the plan says for all counts where an agent says nothing."""
    agents = [
        {"name": "ann", "preset": "claude", "instructions": "Be kind.", "skills": ["s"], "env": ["KEY"]},
        {"name": "bob"},
    ]
    document = plan(task("a"), agents=agents, command=["sh", "agent.sh"])
    document["skills"] = [{"id": "s", "text": "Like this."}]
    config = lowered(document).declares.config
    assert config["agents"]["ann"] == {
        "name": "ann", "preset": "claude", "skills": ["s"], "instructions": "Be kind.\n\nLike this.", "env": ["KEY"],
    }  # fmt: skip
    assert config["agents"]["bob"]["command"] == ["sh", "agent.sh"] == config["agents"]["default"]["command"]
    own = lowered(plan(task("a"), agents=[{"name": "default", "preset": "codex"}]))
    assert own.pools["agents"].places == ("default",) and own.declares.config["agents"]["default"]["preset"] == "codex"


def test_review_is_asked_for_below_the_limit() -> None:
    """T-5.1.8, T-X.14, T-X.20: unless it was completed by recovery, which raises a notice of its own."""
    work = node(lowered(plan(task("a"), review_below=75, reviewers=["role:lead"])), "a").work
    assert work is not None and work.agent
    assert work.approve_if == "draft.confidence < 75 && !draft.completed_by_recovery"
    assert work.candidates == ["role:lead"]


@pytest.mark.parametrize(
    ("status", "port"), [("completed", None), ("failed", "'failed'"), ("cancelled", "'cancelled'")]
)
def test_a_task_that_is_over_is_a_route(status: str, port: str | None) -> None:
    """T-X.38, T-X.29: statuses in files survive a lost database; dependents see how it ended."""
    net = lowered(plan(task("a", "z", status=status), task("b", "a"), task("c", OPTIONAL), task("z")))
    made = node(net, "a")
    assert (made.kind, made.type, made.port, made.effect) == ("route", "task", port, None)
    assert {"start>a", "a>b", "a:failed>.a>c"} <= edges(net) and "z>a" not in edges(net)
    assert net.declares.policies["plan"]["tasks"]["a"]["status"] == status
    assert "status" not in net.declares.policies["plan"]["tasks"]["b"]


def test_a_task_in_progress_when_its_plan_begins_is_pending() -> None:
    """T-9.2.3, T-X.20: what was left by a dead engine is done again."""
    assert node(lowered(plan(task("a", status="in_progress"))), "a").kind == "work"


def test_a_task_with_a_schedule_is_a_template() -> None:
    """T-X.40, T-5.2.1: it has no node; depending on it is refused."""
    net = lowered(plan(task("a"), task("weekly", schedule="0 9 * * 1 Asia/Seoul")))
    assert [n.id for n in net.nodes] == ["start", "a"]
    assert net.declares.policies["plan"]["tasks"]["weekly"]["schedule"] == "0 9 * * 1 Asia/Seoul"
    refused = findings(plan(task("a", "weekly"), task("weekly", schedule="@daily")))
    assert [(f.rule, f.severity) for f in refused] == [("scheduled_dependency", "error")]


def test_what_boards_read_of_a_plan() -> None:
    """T-X.8: without reading its document again."""
    net = lowered(
        plan(task("a", title="Make", priority=3, success_criteria=["x", "y"], created="2026-01-01"), title="Site")
    )
    about = net.declares.policies["plan"]
    assert about["name"] == "site" and about["settings"]["title"] == "Site" and about["removed"] == []
    assert about["tasks"]["a"] == {
        "title": "Make", "file": "", "depends_on": [], "priority": 3, "assigned_agent": None, "created": "2026-01-01",
        "criteria": 2,
    }  # fmt: skip
    assert [*about["agents"]] == ["ann", "bob", "cid", "default"]


def test_a_task_may_be_called_start() -> None:
    """T-X.8: the net's own start makes room."""
    net = lowered(plan(task("start"), task("b", "start")))
    assert edges(net) == {".start>start", ".start>b", "start>b"}


def test_the_same_files_make_the_same_net() -> None:
    """T-X.38: whatever order tasks stand in."""
    one, two, three = task("a"), task("b", "a"), task("c", OPTIONAL)
    first, second = lowered(plan(one, two, three)), lowered(plan(three, two, one))
    assert first.nodes == second.nodes and first.edges == second.edges
