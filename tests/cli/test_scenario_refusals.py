"""Scenario files that would be green for nothing, reach the world by themselves, or write where they should not."""

from __future__ import annotations

import asyncio
import json
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ScenarioInvalid
from penstock.testing.scenario import play, read_scenarios
from penstock.testing.scenario.junit import junit_xml
from tests.cli.shell import Shell
from tests.cli.test_scenario_files import DEFECT, WARNING, findings, written

START = "{when: {start: {line_id: L01}}}"
STUBBED = f"stubs: {{nodes: {{data_defect: {{answer: {WARNING}}}}}}}"


def of_story(folder: Path, steps: str) -> list[tuple[str, int, str]]:
    """Rule, column and words of what is found in the steps, which stand in line 4."""
    return [(rule, column, said) for rule, line, column, said in findings(written(folder, steps)) if line == 4]


def of_given(folder: Path, given: str) -> list[tuple[str, int, str]]:
    found = findings(written(folder, f"[{START}]", given))
    return [(rule, column, said) for rule, line, column, said in found if line == 2]


@pytest.mark.parametrize("word", ["real", "never"])
def test_a_stub_that_says_no_is_refused(word: str, tmp_path: Path) -> None:
    given = f"{{stubs: {{nodes: {{data_defect: {{{word}: false}}}}}}}}"
    ((rule, column, said),) = of_given(tmp_path, given)
    assert rule == "scenario_stub" and column == len("given: ") + given.index("false") + 1
    assert word in said and "eave it out" in said


def test_a_cancel_that_says_no_is_refused(tmp_path: Path) -> None:
    ((rule, column, said),) = of_story(tmp_path, f"[{START}, {{when: {{cancel: false}}}}]")
    assert (rule, column) == ("scenario_step", 58) and "eave it out" in said


@pytest.mark.parametrize("given", ["{real: [sql]}", "{stubs: {nodes: {data_defect: {real: true}}}}"])
def test_only_the_caller_lets_a_file_reach_the_world(given: str, penstock: Shell, tmp_path: Path) -> None:
    file = written(tmp_path, "[{when: {start: {line_id: nowhere}}, then: {passes: [data_defect]}}]", given)
    ((rule, line, _, said),) = findings(file)
    assert (rule, line) == ("scenario_real", 2) and "--real" in said
    assert penstock("test", str(file), code=None).code == 2
    assert penstock("test", str(file), "--real", code=None).code == 0


@pytest.mark.parametrize(
    "name",
    [
        "hooks.commands", "http.allow", "http.ports", "llm.claude_code", "llm.base_url", "agents.env", "mcp.commands",
        "agent.commands.x", "tenants.default.http.allow", "sql.roots", "pipelines.commands", "secrets", "plans.roots",
        "python.modules", "pipelines.events.url", "secrets_folder", "code.max_ms",
    ],
)  # fmt: skip
def test_what_only_the_operator_sets(name: str, tmp_path: Path) -> None:
    ((rule, column, said),) = of_given(tmp_path, f"{{settings: {{{name}: [sh]}}}}")
    assert (rule, column) == ("scenario_setting", 20) and name in said


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("limits.fan_itens: 3", "limits.fan_items"),
        ("limits.fan_items: many", "whole number"),
        ("limits.fan_items: true", "whole number"),
        ("waits.timeout_s: null", "whole number"),
        ("environment: 7", "text"),
        ("nothing_like_it: 7", "no setting"),
        ("tenants.a.limits.nothing: 7", "no setting"),
    ],
)
def test_settings_that_there_are_not(setting: str, said: str, tmp_path: Path) -> None:
    ((rule, _, words),) = of_given(tmp_path, f"{{settings: {{{setting}}}}}")
    assert rule == "scenario_setting" and said in words


@pytest.mark.parametrize("setting", ["limits.fan_items: 3", "environment: staging", "tenants.default.share: 2"])
def test_settings_that_a_scenario_may_have(setting: str, penstock: Shell, tmp_path: Path) -> None:
    file = written(
        tmp_path, f"[{START}, {{then: {{status: completed}}}}]", f"{{settings: {{{setting}}}, {STUBBED}}}"
    )  # fmt: skip
    assert penstock("test", str(file), code=None).code == 0


@pytest.mark.parametrize(
    ("text", "rule", "said"),
    [
        ("scenario: x\nsteps: null\n", "missing_field", "«steps»"),
        ("scenarios:\n  - {scenario: x, steps: null}\n", "missing_field", "«steps»"),
        ("scenarios: []\n", "wrong_type", "at least one"),
        (
            f"scenarios:\n  - {{scenario: x, steps: [{START}]}}\n  - {{scenario: x, steps: [{START}]}}\n",
            "scenario_name",
            "«x»",
        ),
    ],
)
def test_files_without_a_story(text: str, rule: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.scenario.yaml"
    file.write_text(f"document: {DEFECT}\n{text}")
    ((found, line, _, words),) = findings(file)
    assert found == rule and said in words and line > 0


def test_a_story_that_expects_nothing_is_warned_of(penstock: Shell, tmp_path: Path) -> None:
    file = written(tmp_path, f"[{START}]")
    ended = penstock("test", str(file), code=None)
    assert ended.code == 0 and "warning scenario_expects_nothing" in ended.out and "«told»" in ended.out
    (warned,) = json.loads(penstock("test", str(file), "--json", code=None).out)["warnings"]
    assert warned["rule"] == "scenario_expects_nothing" and warned["file"] == str(file)
    file = written(tmp_path, f"[{START}, {{then: {{status: completed}}}}]")
    assert "warning" not in penstock("test", str(file), code=None).out


@pytest.mark.parametrize(
    "part",
    [
        "then: {took: null}", "then: {holds: null}", "then: {passes: null}", "then: {visits: null}",
        "then: {status: null}", "then: {messages: null}", "then: {timeline: null}", "then: {run: null}", "then: null",
        "then: {messages: [{to: null}]}", "then: {messages: [{text: null}]}",
        "then: {waits: {request_approval: {until: null}}}", "then: {waits: {request_approval: {who: null}}}",
        "then: {holds: [null]}", "when: null", "when: {event: null}", "when: {signal: null}", "when: {cancel: null}",
        "when: {person: null, approves: request_approval}", "when: {person: qa@example.com, approves: null}",
        "after: null",
    ],
)  # fmt: skip
def test_nothing_is_no_expectation(part: str, tmp_path: Path) -> None:
    steps = f"[{START}, {{{part}}}]"
    assert {("wrong_type", 8 + steps.index("null"))} <= {each[:2] for each in of_story(tmp_path, steps)}


def test_nothing_is_no_count(tmp_path: Path) -> None:
    ((rule, _, said),) = of_story(tmp_path, f"[{START}, {{then: {{visits: {{data_defect: null}}}}}}]")
    assert rule == "wrong_type" and "visits" in said


def test_values_that_may_be_nothing_are_read(penstock: Shell, tmp_path: Path) -> None:
    steps = (
        "[{when: {start: null}, then: {failure: null, output: null, waits: {}}},"
        " {when: {event: door.open, payload: null}, then: {status: completed}}]"
    )
    ended = penstock("test", str(written(tmp_path, steps)), code=None)
    assert ended.code in (0, 3) and "PS-500" not in ended.out + ended.err


def test_a_fault_of_ours_reddens_one_scenario_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else is still played, and JUnit XML is written."""
    file = written(tmp_path, f"[{START}, {{then: {{status: completed}}}}]")

    def broken(*_: Any) -> list[Any]:
        raise OverflowError("too large")

    monkeypatch.setattr(import_module("penstock.testing.scenario.play"), "differences", broken)
    read = read_scenarios(file)
    result = asyncio.run(play(read, read.scenarios[0]))
    (problem,) = result.problems
    assert problem.rule == "PS-500" and "OverflowError: too large" in problem.message and problem.where.line == 4
    assert ET.fromstring(junit_xml([result], [])).find(".//failure") is not None


@pytest.mark.parametrize(
    "part",
    [
        "after: 999999999999w", "at: +999999999999w", "after: 3000000d", "then: {took: 999999999999w}",
        "when: {person: qa@example.com, approves: request_approval, within: 999999999999w}",
        "then: {waits: {request_approval: {until: 999999999999w}}}",
    ],
)  # fmt: skip
def test_time_ends_with_the_year_9999(part: str, tmp_path: Path) -> None:
    ((rule, _, said),) = of_story(tmp_path, f"[{START}, {{{part}}}]")
    assert rule == "scenario_time" and "9999" in said


def test_spans_add_up_to_the_year_9999(tmp_path: Path) -> None:
    ((rule, _, said),) = of_story(tmp_path, f"[{START}, {{after: 2900000d}}, {{after: 2900000d}}]")
    assert rule == "scenario_time" and "9999" in said
    given = "{stubs: {nodes: {data_defect: {answer: 1, takes: 999999999999w}}}}"
    ((rule, _, said),) = of_given(tmp_path, given)
    assert rule == "scenario_time" and "9999" in said


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("{start: {}, payload: 1}", "payload"),
        ("{event: x, verdict: normal}", "verdict"),
        ("{cancel: true, value: 1}", "value"),
        ("{event: x, run: 1}", "run"),
        ("{person: qa@example.com, claims: request_approval, comment: mine}", "comment"),
    ],
)
def test_fields_that_belong_to_another_event(when: str, said: str, tmp_path: Path) -> None:
    ((rule, _, words),) = of_story(tmp_path, f"[{START}, {{when: {when}}}]")
    assert rule == "scenario_step" and f"«{said}»" in words


# -- messages of several runs ------------------------------------------------------------------------------------------


def test_messages_are_looked_at_run_by_run(penstock: Shell, tmp_path: Path) -> None:
    """What one run has sent counts as looked at for this run alone."""
    begin = "when: {start: {line_id: L01}}"
    one = "messages: [{channel: slack}]"
    steps = f"[{{{begin}}}, {{{begin}, then: {{run: 2, {one}}}}}, {{then: {{run: 1, messages: []}}}}]"
    ended = penstock("test", str(written(tmp_path, steps)), code=None)
    assert ended.code == 3 and "expected none" in ended.out
    steps = f"[{{{begin}}}, {{{begin}, then: {{run: 2, {one}}}}}, {{then: {{run: 1, {one}}}}}]"
    assert penstock("test", str(written(tmp_path, steps)), code=None).code == 0


# -- snapshots ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["defect_alert.json", "told.txt", "a.scenario.yaml", ".timeline.txt/x"])
def test_a_snapshot_says_in_its_name_what_it_is(name: str, tmp_path: Path) -> None:
    ((rule, _, said),) = of_story(tmp_path, f"[{START}, {{then: {{timeline: {name}}}}}]")
    assert rule == "scenario_timeline" and ".timeline.txt" in said


def test_update_writes_over_timelines_only(penstock: Shell, tmp_path: Path) -> None:
    kept = tmp_path / "a.timeline.txt"
    kept.write_text("my notes about the line\n")
    file = written(tmp_path, f"[{START}, {{then: {{timeline: a.timeline.txt}}}}]")
    ended = penstock("test", str(file), "--update", code=None)
    assert ended.code == 3 and "does not look like a timeline" in ended.out
    assert kept.read_text() == "my notes about the line\n"
    kept.write_text("+0s  a  old\n")
    assert penstock("test", str(file), "--update", code=None).code == 0
    assert "data_defect" in kept.read_text("utf-8")


def test_update_writes_nothing_where_something_else_differs(penstock: Shell, tmp_path: Path) -> None:
    file = written(tmp_path, f"[{START}, {{then: {{status: failed, timeline: a.timeline.txt}}}}]")
    ended = penstock("test", str(file), "--update", code=None)
    assert ended.code == 3 and "expected failed" in ended.out and not (tmp_path / "a.timeline.txt").exists()


def test_stubs_that_nobody_asked_are_named(penstock: Shell, tmp_path: Path) -> None:
    given = f"{{stubs: {{nodes: {{data_defect: {{answer: {WARNING}}}, action_log: {{answer: 1}}}}}}}}"
    file = written(tmp_path, f"[{START}, {{then: {{status: completed}}}}]", given)
    ended = penstock("test", str(file), code=None)
    assert ended.code == 0 and "never asked: action_log" in ended.out
    (played,) = json.loads(penstock("test", str(file), "--json", code=None).out)["scenarios"]
    assert played["unused_stubs"] == ["action_log"]


def test_all_findings_are_told_at_once(tmp_path: Path) -> None:
    file = written(tmp_path, f"[{START}, {{then: {{took: null}}}}]", "{real: [sql], settings: {http.allow: ['*']}}")
    with pytest.raises(ScenarioInvalid) as refused:
        read_scenarios(file)
    errors = [each for each in refused.value.findings if each.severity == "error"]
    assert {each.rule for each in errors} == {"scenario_real", "scenario_setting", "wrong_type"}
