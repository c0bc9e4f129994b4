"""`penstock inbox`, `approve`, `reject`, `outbox` and `registry`: the desk of people, and what a tenant has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from tests.app.test_inbox import TWICE
from tests.cli.shell import ROOT, Shell

ALARM = str(ROOT / "examples/decision/defect_alert.json")
REVIEW = {
    "id": "wf_review", "version": 1, "edges": [],
    "nodes": [
        {"id": "judge_line", "type": "JUDGMENT", "policy": {"type": "ESCALATE"},
         "input": {"data": [{"defect_rate": 0.9}]}}
    ],
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_w_11_1_9_the_manager_approves_what_the_alarm_asks(here: Path, penstock: Any) -> None:
    """W-11.1.9, W-4.6.4, C-34, C-81: it waits for the role, refuses others, is decided once; a key names the run."""
    waits = penstock("run", ALARM, "--input", '{"line_id": "L01"}', "--key", "alarm", code=4)
    assert "penstock approve" in waits.out and "긴급 불량 알람 검토 요청" in waits.out
    (one,) = penstock("inbox", "--json").json()
    assert (one["node"], one["kind"], one["candidates"]["targets"]) == (
        "request_approval", "approval", ["role:quality_manager"],
    )  # fmt: skip
    assert one["status"] == "pending"
    assert penstock("inbox", "--by", "qa@example.com", "--json").json() == []
    assert "role:quality_manager" in penstock("inbox").out
    refused = penstock("approve", "alarm", "--by", "qa@example.com", "--json", code=2).error()
    assert refused["code"] == "APPROVER_DENIED"
    told = penstock("respond", "alarm", "request_approval", "yes", "--json", code=2).error()
    assert "penstock approve" in told["hint"]
    done = penstock("approve", "alarm", "-m", "확인함", "--json").json()
    assert done["status"] == "completed"
    approval = done["output"]["approval_result"]
    assert (approval["status"], approval["approver"], approval["comment"]) == (
        "approved", "manager@example.com", "확인함",
    )  # fmt: skip
    assert penstock("approve", "alarm", "--json", code=2).error()["code"] == "PS-409-STATUS"
    assert "Nothing waits" in penstock("inbox").out


def test_a_rejection_cancels(here: Path, penstock: Any) -> None:
    """W-4.6.2, C-40: no edge takes the rejection, so the instance is cancelled."""
    penstock("run", ALARM, "--input", '{"line_id": "L01"}', "--key", "alarm", code=4)
    assert penstock("reject", "alarm/request_approval", "--json", code=3).json()["status"] == "cancelled"


def test_c_32_who_starts_it_does_not_approve_it(here: Path, penstock: Any) -> None:
    """C-32: `run --by` says who asks; where the document wants two persons, another one decides."""
    who = {"type": "any_of", "targets": ["role:admin", "role:qa_lead"], "allow_self_approval": False}
    ask = {"id": "ask", "type": "APPROVAL", "request": {"title": "t", "approvers": who}}
    (here / "two.json").write_text(json.dumps({"id": "wf_two", "version": 1, "edges": [], "nodes": [ask]}))
    penstock("run", "two.json", "--by", "admin@example.com", "--key", "two", code=4)
    refused = penstock("approve", "two", "--by", "admin@example.com", "--json", code=2).error()
    assert "admin@example.com" in refused["message"] and refused["hint"]
    assert penstock("approve", "two", "--json").json()["output"]["approval_result"]["approver"] == "qa@example.com"


def test_c_81_what_would_be_sent_is_in_the_outbox(here: Path, penstock: Any) -> None:
    """C-81: slack, sms and the ticket are kept, each once, with their text."""
    penstock("run", ALARM, "--input", '{"line_id": "L01"}', "--key", "alarm", code=4)
    kept = penstock("outbox", "alarm", "--json").json()
    by_channel = [(one["channel"], one["target"]) for one in kept]
    assert {("slack", "outbox:slack"), ("sms", "outbox:sms"), ("webhook", "outbox:jira")} <= set(by_channel)
    assert len(by_channel) == len(set(by_channel))
    assert "L01" in penstock("outbox", "alarm").out


def test_a_person_gives_the_verdict(here: Path, penstock: Any) -> None:
    """C-52, W-4.3.1: ESCALATE waits for a reviewer; the verdict is one of four words, decided by a person."""
    Path("review.json").write_text(json.dumps(REVIEW), "utf-8")
    penstock("run", "review.json", "--key", "r", code=4)
    wrong = penstock("approve", "r", "--json", code=2).error()
    assert "--decision" in wrong["hint"]
    done = penstock("approve", "r", "--decision", "critical", "--json").json()
    verdict = done["output"]["judgment_result"]
    assert (verdict["decision"], verdict["decided_by"], verdict["confidence"]) == ("critical", "human", 1.0)


def test_what_a_tenant_has_is_registered_checked_and_taken_away(here: Path, penstock: Any) -> None:
    """C-24, C-53, C-55, C-63: bad bodies are refused with a hint, and the value of a secret is never shown."""
    assert penstock("registry", "put", "secret", "key", '{"value": "s3cret-value"}', "--json").json()["id"] == "key"
    shown = penstock("registry", "get", "secret", "key")
    assert "s3cret-value" not in shown.out and "***" in shown.out
    for type, body in (
        ("connection", '{"type": "oracle"}'), ("user", '{"roles": "admin"}'), ("template", '{"body": "${x"}'),
        ("rule_pack", '{"rules": [{"id": "r"}]}'), ("calendar", '{"timezone": "Nowhere/Else"}'), ("secret", "{}"),
        ("connection", "[]"), ("nothing", "{}"),
    ):  # fmt: skip
        said = penstock("registry", "put", type, "bad", body, "--json", code=2)
        assert said.error()["hint"] or said.json().get("findings"), type
        assert "bad" not in [one["id"] for one in penstock("registry", "ls", "--json").json()]
    penstock("registry", "put", "connection", "mine", '{"type": "sqlite", "path": "x.db"}')
    assert "mine" in penstock("registry", "ls", "connection").out
    penstock("registry", "rm", "connection", "mine")
    assert penstock("registry", "get", "connection", "mine", "--json", code=2).error()["code"] == "PS-400-INPUT"


def test_w_9_2_2_check_names_what_the_tenant_does_not_have(here: Path, penstock: Any) -> None:
    """W-9.2.2 missing_dependency: a warning, also before there is a store; what is registered later is found."""
    node = {"id": "data_x", "type": "DATA", "source": {"type": "sql", "connection": "mine", "query": "SELECT 1"}}
    document = {"id": "wf", "version": 1, "nodes": [node], "edges": []}
    Path("w.json").write_text(json.dumps(document), "utf-8")
    (found,) = penstock("check", "w.json", "--json").json()["findings"]
    assert (found["rule"], found["severity"]) == ("missing_dependency", "warning") and found["hint"]
    assert "1 warning" in penstock("check", "w.json").out
    penstock("registry", "put", "connection", "mine", '{"type": "sqlite", "path": "x.db"}')
    assert penstock("check", "w.json", "--json").json()["findings"] == []


def test_c_81_a_production_store_is_born_empty(here: Path, penstock: Any) -> None:
    """C-81: without the sample tenant a run fails by name, `check` says what is missing, and the store stays so."""
    said = penstock("run", ALARM, "--profile", "production", "--json", code=3).json()
    assert said["failure"]["code"] == "CONNECTION_NOT_FOUND"
    assert penstock("registry", "ls", "--json").json() == []
    penstock("run", ALARM, "--json", code=3)
    assert penstock("registry", "ls", "--json").json() == []
    missing = {one["rule"] for one in penstock("check", ALARM, "--json").json()["findings"]}
    assert missing == {"missing_dependency"}
    assert "production" in penstock("run", ALARM, "--profile", "dev", "--json", code=2).error()["message"]
    assert penstock("run", ALARM, "--profile", "other", "--json", code=2).error()["code"] == "PS-400-INPUT"


def test_d_3_2_one_of_two_that_a_node_asks(here: Path, penstock: Any) -> None:
    """D-3.2: the inbox gives each its own id; a short one lists them."""
    (here / "twice.light.json").write_text(json.dumps(TWICE))
    penstock("run", "twice.light.json", "--key", "twice", code=4)
    one, two = penstock("inbox", "--json").json()
    assert one["id"] == f"{one['run']}/Ask~{one['firing']}" and one["id"] != two["id"]
    several = penstock("respond", "twice", "Ask", "x", "--json", code=2).error()
    assert f"Ask~{one['firing']}" in several["message"] and f"Ask~{two['firing']}" in several["message"]
    assert two["id"] in penstock("approve", "twice", "--json", code=2).error()["message"]
    penstock("respond", "twice", f"Ask~{two['firing']}", "second", code=4)
    (left,) = penstock("inbox", "--json").json()
    assert left["id"] == f"{one['run']}/Ask" and left["firing"] == one["firing"]
    penstock("respond", "twice", "Ask", "first")


def test_an_approval_by_its_firing(here: Path, penstock: Any) -> None:
    """W-4.6.4: whoever has the long id of what waits gets in with it."""
    penstock("run", ALARM, "--input", '{"line_id": "L01"}', "--key", "alarm", code=4)
    (one,) = penstock("inbox", "--json").json()
    assert penstock("approve", f"alarm/{one['node']}~{one['firing'] + 99}", "--json", code=2).error()
    assert penstock("approve", f"alarm/{one['node']}~{one['firing']}", "--json").json()["status"] == "completed"


def test_c_38_the_usual_timeout_of_a_wait_is_a_setting(penstock: Shell) -> None:
    """C-38: beside the store, for what is run and for what is submitted; one that is no time is refused."""
    penstock.store.parent.mkdir(exist_ok=True)
    settings = penstock.store.parent / "settings.toml"
    settings.write_text("[waits]\ntimeout_s = 60\n")
    document = {"id": "wf_go", "version": 1, "edges": [],
                "nodes": [{"id": "go", "type": "WAIT", "condition": {"type": "manual"}}]}  # fmt: skip
    penstock.write("wf.json", json.dumps(document))
    run = penstock("run", "wf.json", "--json", code=4).json()["run_id"]
    penstock.write("other.json", json.dumps({**document, "id": "wf_other"}))
    penstock("releases", "submit", "other.json")
    door = Penstock(penstock.store, drive=False, create=False).open()
    try:
        row, (release,) = door.row(run), door.store.releases(door.tenant, "wf_other")
        assert row.wake_at is not None and 60_000 <= row.wake_at - row.created_at < 70_000
        afters = [trigger.after_ms for node in door.nets.get(release.net).nodes for trigger in node.spec.triggers]
        assert [after for after in afters if after] == [60_000]
    finally:
        door.close()
    settings.write_text('[waits]\ntimeout_s = "soon"\n')
    assert "waits.timeout_s" in penstock("run", "wf.json", "--json", code=2).error()["message"]
