"""`penstock process` and `penstock items`: defined, begun, submitted, approved, done again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.process.make import process, service, task

AB = process([task("A"), task("B")], ["A>B"], process_definition_id="ab", process_definition_name="에이비")
BPMN = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:t">
  <process id="drawn" name="절차"><startEvent id="s"/><userTask id="a" name="접수"/><endEvent id="e"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="e"/>
  </process>
</definitions>"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ab.json"
    path.write_text(json.dumps(AB, ensure_ascii=False))
    return path


def test_two_tasks_from_the_command_line(file: Path, penstock: Any) -> None:
    """P-A.1, P-A.2, P-X.28: defined, begun, submitted twice; the second submit of one is refused with exit code 2."""
    assert "ab v1 base approved" in penstock("process", "define", str(file), "--by", "lee").out
    assert penstock("process", "define", str(file), "--json").json()["new"] is False
    begun = penstock("process", "start", "ab", "--by", "lee", "--input", '{"n": 1}', "--json", code=4).json()
    assert begun["status"] == "RUNNING"
    (item,) = penstock("items", "ls", "--json").json()
    assert (item["activity_id"], item["status"], item["agent_mode"]) == ("A", "TODO", "MANUAL")
    done = penstock("items", "submit", item["id"], "--by", "kim", "--result", '{"ok": true}', "--json", code=4).json()
    assert done["next_nodes"] == ["B"]
    refused = penstock("items", "submit", item["id"], "--by", "kim", "--json", code=2).error()
    assert (refused["code"], refused["message"]) == ("PROC-409-STATE", "Cannot submit workitem in DONE status")
    (second,) = penstock("items", "ls", "--status", "TODO", "--json").json()
    assert penstock("items", "submit", second["id"], "--by", "kim", "--json").json()["status"] == "COMPLETED"
    assert penstock("items", "ls", "--json").json() == []
    shown = penstock("items", "show", item["id"], "--json").json()
    assert (shown["result"], shown["assignee"]) == ({"ok": True}, "kim")


def test_the_command_line_asks_who_may_start(file: Path, penstock: Any) -> None:
    """P-X.13: `process start`, `run` and `fork`, by whom --by names; who is not named is nobody whom the file means."""
    file.write_text(json.dumps({**AB, "starters": ["role:clerk"]}, ensure_ascii=False))
    penstock("registry", "put", "user", "kim", '{"roles": ["clerk"]}')
    penstock("registry", "put", "user", "ria", '{"roles": ["manager"]}')
    penstock("process", "define", str(file))
    for command in (["process", "start", "ab"], ["run", str(file)]):
        for who in (["--by", "ria"], []):
            assert "may not start" in penstock(*command, *who, "--json", code=2).error()["message"]
        run = penstock(*command, "--by", "kim", "--json", code=4).json()["run_id"]
    assert "may not start" in penstock("fork", run, "--at", "1", "--json", code=2).error()["message"]
    assert penstock("fork", run, "--at", "1", "--by", "kim", "--json", code=4).json()["run_id"] != run


def test_versions_and_bpmn(file: Path, penstock: Any) -> None:
    """P-A.18, P-X.8, P-X.25: the next version with its diff; out as BPMN, and BPMN in."""
    penstock("process", "define", str(file))
    changed = process([task("A"), task("C")], ["A>C"], process_definition_id="ab", process_definition_name="에이비")
    file.write_text(json.dumps(changed, ensure_ascii=False))
    told = penstock("process", "define", str(file)).out
    assert "ab v2" in told and "added    activities/C" in told and "removed  activities/B" in told
    assert [one["version"] for one in penstock("process", "versions", "ab", "--json").json()] == [1, 2]
    assert "에이비" in penstock("process", "show", "ab").out and "<bpmn:" in penstock("process", "bpmn", "ab").out
    drawn = file.with_name("drawn.bpmn")
    drawn.write_text(BPMN)
    assert "drawn v1" in penstock("process", "define", str(drawn)).out
    assert [one["id"] for one in penstock("process", "ls", "--type", "base", "--json").json()] == ["ab", "drawn"]


def test_a_bpmn_file_is_run(file: Path, penstock: Any) -> None:
    """P-1.1.1, P-X.25: `penstock run FILE.bpmn`; it waits for somebody, and is answered."""
    drawn = file.with_name("drawn.bpmn")
    drawn.write_text(BPMN)
    begun = penstock("run", str(drawn), "--json", code=4).json()
    assert begun["status"] == "RUNNING"
    (item,) = penstock("items", "ls", "--json").json()
    assert penstock("items", "submit", item["id"], "--by", "kim", "--json").json()["status"] == "COMPLETED"


def test_drafts_and_modes(file: Path, penstock: Any) -> None:
    """P-A.8, P-A.9, P-X.15, P-X.40: a draft is rejected and approved; a mode is set; finished work is done again."""
    penstock("registry", "put", "agent", "scribe", '{"kind": "echo", "result": {"text": "draft"}}')
    drafts = process([service("W", "SUPERVISED", agent="scribe"), task("N")], ["W>N"], process_definition_id="d")
    file.write_text(json.dumps(drafts))
    penstock("process", "define", str(file))
    penstock("process", "start", "d", "--by", "lee", code=4)
    (item,) = penstock("items", "ls", "--json").json()
    assert (item["status"], item["assignee"]) == ("SUBMITTED", "scribe")
    penstock("items", "reject", item["id"], "--by", "boss", "-m", "다시", code=4)
    penstock("items", "approve", item["id"], "--by", "boss", code=4)
    assert {one["activity_id"]: one["status"] for one in penstock("items", "ls", "--json").json()} == {"N": "TODO"}
    penstock("items", "rework", item["id"], "--by", "boss", code=4)
    (again,) = penstock("items", "ls", "--json").json()
    assert (again["id"], again["status"]) == (item["id"], "SUBMITTED")
    penstock("items", "approve", item["id"], "--by", "boss", code=4)
    (after,) = penstock("items", "ls", "--json").json()
    assert penstock("items", "set-mode", after["id"], "SOMETIMES", "--by", "boss", "--json", code=2).error()
    penstock("items", "start", after["id"], "--by", "kim", code=4)
    penstock("items", "take-over", after["id"], "--by", "lee", code=4)
    assert penstock("items", "submit", after["id"], "--by", "lee", "--json").json()["status"] == "COMPLETED"


def test_check_names_agents_and_tools_that_nobody_has(file: Path, penstock: Any) -> None:
    """P-X.3, P-5.3.10, P-X.18: a warning at its place, with and without a store; released all the same."""
    asks = service("A", agent="nobody", compensation={"tool": "undo_it"}, orchestration={"tools": ["look_up"]})
    known = service("B", "SUPERVISED", agent="echo", compensation="cancel_payment")
    made = process([asks, known, service("C", agent="verifier")], ["A>B", "B>C"], process_definition_id="who")
    file.write_text(json.dumps(made))

    def told(*more: str) -> dict[str, str]:
        found = penstock("check", str(file), "--json", *more).json()["findings"]
        assert {(one["rule"], one["severity"]) for one in found} <= {("missing_dependency", "warning")}
        assert all("penstock registry put" in one["hint"] for one in found)
        return {one["pointer"]: one["message"] for one in found}

    missing = {
        "/activities/0/agent": "There is no agent «nobody» here.",
        "/activities/0/orchestration/tools/0": "There is no tool «look_up» here.",
        "/activities/0/compensation/tool": "There is no tool «undo_it» here.",
    }
    assert told() == missing
    assert "who v1 base approved" in penstock("process", "define", str(file)).out
    penstock("registry", "put", "agent", "nobody", '{"kind": "echo"}')
    penstock("registry", "put", "tool", "undo_it", '{"type": "outbox"}')
    assert list(told()) == ["/activities/0/orchestration/tools/0"]
    penstock("registry", "put", "mcp_server", "crm", '{"url": "http://127.0.0.1:9/mcp"}')
    assert told() == {}, "which tools an MCP server has, only the server knows"
    assert len(told("--tenant", "another")) == 5, "another tenant has nothing of it"
