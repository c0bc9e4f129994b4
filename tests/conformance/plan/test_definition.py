"""Plans as documents: every field with its type and default, and what is said where one is wrong."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.lang.compile import check_document, compile_document
from penstock.lang.plan.checks import created_ms, schedule_parts
from penstock.lang.plan.definition import recognise
from penstock.lang.plan.fields import AgentFields, PlanFields, TaskFields
from tests.conformance.plan.make import findings, lowered, node, plan, rules, task

SETTINGS = [
    ("T-7.2.1", "max_concurrent", 3),
    ("T-X.15", "max_retries", 3),
    ("T-X.15", "retry_delays_s", [0, 5, 10]),
    ("T-X.19", "timeout_s", 3600),
    ("T-5.2.8", "review_below", 80),
    ("T-X.20", "recovery_complete_at", 80),
    ("T-X.7", "heartbeat_s", 300),
    ("T-8.2.3", "term_s", 30),
    ("T-8.2.4", "kill_s", 10),
    ("T-X.5", "stuck_s", 3600),
    ("T-7.1.6", "wait_s", 30),
    ("T-9.1.4", "autosave_s", 300),
    ("T-X.13", "criterion_timeout_s", 60),
    ("T-X.6", "critical_files", ["CLAUDE.md", ".claude/settings.json|settings.json"]),
    ("T-X.8", "tasks_dir", "tasks"),
    ("T-X.9", "agents_dir", "agents"),
    ("T-X.11", "skills_dir", "skills"),
]
TASK_FIELDS: list[tuple[str, Any]] = [
    ("status", "pending"),
    ("priority", None),
    ("assigned_agent", None),
    ("depends_on", []),
    ("references", []),
    ("success_criteria", []),
    ("skill", None),
    ("schedule", None),
    ("timeout_s", None),
    ("created", None),
    ("updated", None),
    ("retry_count", 0),
    ("last_error", None),
    ("review_required", False),
]


@pytest.mark.parametrize(("source", "name", "default"), SETTINGS)
def test_the_defaults_of_a_plan(source: str, name: str, default: Any) -> None:
    """T-7.2.1, T-X.5, T-X.6, T-X.7, T-X.15, T-X.19, T-X.34: every interval is a setting with the seed's default."""
    assert getattr(PlanFields(), name) == default
    net = lowered(plan(task("a")))
    assert net.declares.policies["plan"]["settings"][name] == default


@pytest.mark.parametrize(("name", "default"), TASK_FIELDS)
def test_the_fields_of_a_task(name: str, default: Any) -> None:
    """T-X.8, T-X.40: each is known, and may be left out."""
    assert getattr(TaskFields(), name) == default


def test_the_fields_of_an_agent() -> None:
    """T-X.9: name, command, skills, max_tasks."""
    agent = msgspec.to_builtins(AgentFields(name="ann"))
    assert agent["max_tasks"] == 1 and agent["skills"] == [] and agent["command"] is None
    two = {"name": "ann", "max_tasks": 2}
    assert rules(plan(task("a"), agents=[two])) == [("wrong_type", "/agents/0/max_tasks")]


def test_a_plan_is_known_by_its_settings() -> None:
    """T-X.8: one file can hold all of it."""
    assert recognise(plan(task("a"))) and not recognise({"plan": "x"}) and not recognise([])
    assert findings(plan(task("a"))) == []


def test_one_yaml_file_can_hold_a_whole_plan() -> None:
    """T-X.8: lines are those of the file; a task without a title is called by its id."""
    text = b"plan:\n  name: one\ntasks:\n  - id: a\n  - id: b\n    depends_on: [a, z]\n"
    language, (finding,) = check_document(text, name="plan.yaml")
    assert (language, finding.rule, finding.where.line) == ("plan", "unknown_dependency", 6)
    net = compile_document(text.replace(b", z", b""), name="plan.yaml").net
    assert node(net, "b").label == "b" and net.source_map["b"].line == 5


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"max_concurrent": 0}, "/plan/max_concurrent"),
        ({"max_concurrent": "3"}, "/plan/max_concurrent"),
        ({"max_retries": -1}, "/plan/max_retries"),
        ({"retry_delays_s": [0, -1]}, "/plan/retry_delays_s/1"),
        ({"timeout_s": 0}, "/plan/timeout_s"),
        ({"review_below": 101}, "/plan/review_below"),
        ({"recovery_complete_at": 102}, "/plan/recovery_complete_at"),
        ({"merge": "never"}, "/plan/merge"),
        ({"budget": {"tokens": 0}}, "/plan/budget/tokens"),
        ({"budget": {"cost_usd": "1"}}, "/plan/budget/cost_usd"),
        ({"env": "PATH"}, "/plan/env"),
        ({"preset": "other"}, "/plan/preset"),
        ({"recovery": {"complete_at": 102}}, "/plan/recovery/complete_at"),
    ],
)
def test_a_wrong_setting_is_told_at_its_place(settings: dict[str, Any], where: str) -> None:
    """T-X.34: types and bounds."""
    assert rules(plan(task("a"), **settings)) == [("wrong_type", where)]


def test_the_nested_names_of_settings_are_read() -> None:
    """T-X.6, T-X.20: `health.critical_files`, `recovery.complete_at`; and the seed's `maxConcurrent`."""
    nested = {"health": {"critical_files": [], "stuck_s": 5}, "recovery": {"complete_at": 101}, "maxConcurrent": 7}
    net = lowered(plan(task("a"), **nested))
    settings = net.declares.policies["plan"]["settings"]
    assert (settings["critical_files"], settings["stuck_s"], settings["recovery_complete_at"]) == ([], 5, 101)
    assert net.pools["agents"].most == 7
    assert rules(plan(task("a"), health={"other": 1})) == [("unknown_field", "/plan/health")]


@pytest.mark.parametrize(
    ("fields", "rule", "where"),
    [
        ({"status": "done"}, "wrong_type", "/tasks/0/status"),
        ({"status": "PENDING"}, "wrong_type", "/tasks/0/status"),
        ({"priority": "high"}, "wrong_type", "/tasks/0/priority"),
        ({"priority": 1.5}, "wrong_type", "/tasks/0/priority"),
        ({"assigned_agent": "zoe"}, "unknown_agent", "/tasks/0/assigned_agent"),
        ({"references": ["/etc/passwd"]}, "path_outside", "/tasks/0/references/0"),
        ({"references": ["a/../../b"]}, "path_outside", "/tasks/0/references/0"),
        ({"timeout_s": -1}, "wrong_type", "/tasks/0/timeout_s"),
        ({"created": "yesterday"}, "bad_date", "/tasks/0/created"),
        ({"schedule": "sometimes"}, "bad_schedule", "/tasks/0/schedule"),
        ({"schedule": "0 9 * * 1 Mars/Base"}, "bad_schedule", "/tasks/0/schedule"),
        ({"success_criteria": [""]}, "bad_criterion", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [{}]}, "bad_criterion", "/tasks/0/success_criteria/0"),
        ({"success_criteria": ["x", {"file_exists": "../x"}]}, "path_outside", "/tasks/0/success_criteria/1"),
        ({"success_criteria": [{"output_matches": "("}]}, "bad_criterion", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [{"command": []}]}, "bad_command", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [{"command": "echo 'x"}]}, "bad_command", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [{"command": "true", "exit": 256}]}, "bad_criterion", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [{"text": "a", "command": "b"}]}, "bad_criterion", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [{"text": "a", "exit": 0}]}, "bad_criterion", "/tasks/0/success_criteria/0"),
        ({"success_criteria": [3]}, "wrong_type", "/tasks/0/success_criteria/0"),
        ({"titel": "x"}, "unknown_field", "/tasks/0/titel"),
    ],
)
def test_a_wrong_field_of_a_task_is_told_at_its_place(fields: dict[str, Any], rule: str, where: str) -> None:
    """T-X.8, T-X.13, T-X.19, T-X.40: as an error, with its place."""
    document = plan(task("a", **fields))
    assert rules(document) == [(rule, where)]
    assert findings(document)[0].severity == "error"


@pytest.mark.parametrize(
    "criterion",
    ["It is done", {"text": "It is done"}, {"file_exists": "a/b.txt"}, {"output_matches": "ok [0-9]+"},
     {"command": ["make", "test"]}, {"command": "make test", "exit": 2}],
)  # fmt: skip
def test_the_shapes_of_a_criterion(criterion: Any) -> None:
    """T-X.13: a text, or one of four checks; the executor is told it as it was written."""
    net = lowered(plan(task("a", success_criteria=[criterion])))
    effect = node(net, "a").effect
    assert effect is not None and effect.args["task"]["success_criteria"] == [criterion]


def test_a_skill_that_is_not_there_is_a_warning() -> None:
    """T-X.11: of a task and of an agent; the run would only be told that it is missing."""
    document = plan(task("a", skill="writing"), agents=[{"name": "ann", "skills": ["drawing"]}])
    assert [(f.rule, f.severity, f.where.pointer) for f in findings(document)] == [
        ("unknown_skill", "warning", "/agents/0/skills/0"),
        ("unknown_skill", "warning", "/tasks/0/skill"),
    ]
    assert lowered(document)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0 9 * * 1", ("0 9 * * 1", "UTC")),
        ("0 9 * * 1 Asia/Seoul", ("0 9 * * 1", "Asia/Seoul")),
        ("@daily", ("@daily", "UTC")),
        ("@daily Europe/Berlin", ("@daily", "Europe/Berlin")),
        ("0 9 * *", None),
        ("", None),
        ("0 9 * * 1 Asia/Seoul extra", None),
    ],
)
def test_the_times_of_a_schedule(text: str, parts: tuple[str, str] | None) -> None:
    """T-X.40: "<cron> [zone]"."""
    assert schedule_parts(text) == parts


def test_created_is_a_moment() -> None:
    """T-X.28: dates and times, in UTC where no zone is said."""
    assert created_ms("1970-01-02") == 86_400_000
    assert created_ms("1970-01-01T09:00:00+09:00") == 0
    assert created_ms("1970-01-01 00:00:01") == 1000
    assert created_ms(None) is None and created_ms("x") is None


@pytest.mark.parametrize("command", [[], "", [""], [1], "a 'b"])
def test_a_command_line_that_is_none(command: Any) -> None:
    """T-X.12: of an agent and of the plan."""
    rule = "wrong_type" if command == [1] else "bad_command"
    if command not in ("", []):
        assert [r for r, _ in rules(plan(task("a"), command=command))] == [rule]
    assert [r for r, _ in rules(plan(task("a"), agents=[{"name": "ann", "command": command}]))] == [rule]
