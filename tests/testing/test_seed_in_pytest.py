"""The seed's three workflows, a process with an escalation and a diagram with a limit, with the fixture of pytest."""

from __future__ import annotations

from typing import Any

from penstock.testing import BlockingVirtualPenstock, TestedRun, answer, fails, never
from tests.house.files import ROOT

DECISION, PROCESS, DIAGRAM = (ROOT / "examples" / folder for folder in ("decision", "process", "diagram"))
CRITICAL = [{"line_id": "L01", "defect_count": 7, "defect_rate": 0.08}]
HOUR = 3_600_000


def waits(run: TestedRun) -> dict[str, Any]:
    return {wait.node: (wait.for_, wait.who, wait.until, wait.then) for wait in run.waits}


def alarm(penstock: BlockingVirtualPenstock) -> TestedRun:
    penstock.stub("data_defect", CRITICAL)
    return penstock.start(DECISION / "defect_alert.json", {"line_id": "L01"})


def test_11_1_escalates_after_two_hours(penstock_test: BlockingVirtualPenstock) -> None:
    """W-11.1.4: 11.1 says duration_hours 2 and on_timeout escalate; after three levels it has timed out."""
    run, began = alarm(penstock_test), penstock_test.now
    assert waits(run) == {"request_approval": ("person", ["role:quality_manager"], began + 2 * HOUR, "escalate")}
    penstock_test.advance("1h59m59s")
    assert waits(run)["request_approval"][1] == ["role:quality_manager"]
    penstock_test.advance("1s")
    assert waits(run) == {"request_approval": ("person", ["role:admin"], began + 4 * HOUR, "escalate")}
    penstock_test.finish(run)
    assert run.failure is not None and run.failure["code"] == "APPROVAL_TIMEOUT"
    assert penstock_test.now == began + 8 * HOUR


def test_11_1_tells_everybody_and_ends_when_somebody_approves(penstock_test: BlockingVirtualPenstock) -> None:
    run = alarm(penstock_test)
    assert [message.channel for message in run.messages] == ["slack", "sms", "webhook", "email"]
    assert run.messages[0].to == ["#quality-alerts"] and "L01" in run.messages[0].text
    penstock_test.person("manager@example.com").approve("request_approval", comment="ok")
    assert run.status == "completed" and run.ended and run.waits == []


def test_11_1_tries_a_database_again_that_is_down(penstock_test: BlockingVirtualPenstock) -> None:
    """11.1: retry max 2, backoff_ms 5000."""
    lost = fails("CONNECTION_LOST", category="transient")
    penstock_test.stub("data_defect", lost, lost, CRITICAL)
    run = penstock_test.start(DECISION / "defect_alert.json", {"line_id": "L01"})
    penstock_test.advance("9999ms")
    assert run.path == ["data_defect"]
    penstock_test.advance("1ms")
    assert run.path[-1] == "request_approval"


def test_11_2_the_lab_answers_or_does_not(penstock_test: BlockingVirtualPenstock) -> None:
    """11.2: an event starts it; the lab has 120 minutes, then it fails."""
    row = {"line_id": "L01", "ccp_id": "CCP-1", "value": 90, "lower_limit": 72, "upper_limit": 78}
    penstock_test.stub("data_ccp", [row])
    penstock_test.stub("action_sample_request", {"id": "S-1"}, {"id": "S-2"})
    penstock_test.release(DECISION / "ccp_deviation.json", in_force=True)
    for line in ("L01", "L02"):
        penstock_test.send_event("sensor.ccp.threshold_exceeded", {"line_id": line, "severity": "critical"})
    first, second = penstock_test.runs
    assert [waits(run)["wait_lab"][0] for run in (first, second)] == ["event", "event"]
    penstock_test.advance("1h59m")
    penstock_test.send_event("lab.result.completed", {"sample_id": "S-1", "result": "pass"})
    assert (first.status, second.status) == ("completed", "waiting")
    assert [message.channel for message in first.messages] == ["slack", "email"]
    penstock_test.advance("1m")
    assert (second.status, (second.failure or {})["code"]) == ("failed", "WAIT_TIMEOUT")


def test_11_3_a_day_on_staging_then_a_canary(penstock_test: BlockingVirtualPenstock) -> None:
    """11.3: 24 hours on staging; both managers; 10, 40, 70 and 100 % an hour apart; polled each 5 minutes."""
    penstock_test.stub("simulate_impact", {"changed": 3})
    given = {"rule_pack_id": "quality_rules_v2", "target_env": "production"}
    run, began = penstock_test.start(DECISION / "rule_deploy.json", given), penstock_test.now
    penstock_test.person("qa@example.com").approve("approval_staging")
    assert waits(run)["wait_staging_test"][:3:2] == ("time", began + 24 * HOUR)
    penstock_test.person("manager@example.com").approve("approval_production", within="25h")
    assert penstock_test.now == began + 24 * HOUR and "deploy_production" not in run.path
    penstock_test.person("it@example.com").approve("approval_production")
    assert run.path[-1] == "monitor_deploy"
    penstock_test.advance("2h59m")
    assert run.status == "waiting"
    penstock_test.finish(run)
    assert run.status == "completed" and penstock_test.now == began + 27 * HOUR + 5 * 60_000


def test_a_process_escalates_when_work_is_overdue(penstock_test: BlockingVirtualPenstock) -> None:
    """`due` P2D, `escalate_to` user:lead."""
    penstock_test.register("user", "lead", {"name": "Lead", "roles": ["lead"]})
    penstock_test.register("user", "clerk", {"name": "Clerk", "roles": ["accounting"]})
    penstock_test.stub("tax", {"tax": 10})
    run, began = penstock_test.start(PROCESS / "fork_join.json", {"amount": 100}), penstock_test.now
    penstock_test.person("lead").answer("open")
    penstock_test.advance("47h59m")
    assert waits(run)["sales"] == ("person", ["user:clerk"], began + 48 * HOUR, "escalate")
    penstock_test.advance("1m")
    assert waits(run)["sales"][1] == ["user:lead"]
    for node in ("sales", "stock", "report"):
        penstock_test.person("lead").answer(node)
    assert run.status == "COMPLETED"


def test_a_saga_is_undone_in_reverse(penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.stub(executor="agent", behaviours=[{"ok": True}])
    penstock_test.stub("approve", fails("REJECTED", category="permanent"))
    run = penstock_test.start(PROCESS / "saga.json", {})
    assert run.compensated == ["tell", "report", "optimise", "register"]
    penstock_test.expect(run, status="COMPENSATED", compensated=["tell", "report", "optimise", "register"])


def test_a_diagram_stops_at_its_limit(penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.stub("PersonJob", "one", "two", "three")
    penstock_test.stub("Ask", answer("A title", takes="2m"))
    run = penstock_test.start(DIAGRAM / "loop.yaml")
    assert run.path == ["Start", *["PersonJob", "Condition"] * 3, "Ask"]
    penstock_test.advance("2m")
    assert run.output == {"Endpoint": "A title"}


def test_a_question_that_nobody_answers(penstock_test: BlockingVirtualPenstock) -> None:
    run, began = penstock_test.start(DIAGRAM / "ask.yaml"), penstock_test.now
    assert waits(run)["Ask name"][:3:2] == ("person", began + 24 * HOUR)
    penstock_test.finish(run)
    assert penstock_test.now == began + 24 * HOUR and (run.failure or {})["code"] == "RESPONSE_TIMEOUT"


def test_what_never_answers_runs_into_the_time_of_its_node(penstock_test: BlockingVirtualPenstock) -> None:
    """11.1: three tries of 30 s each (what a DATA node has at most), five seconds between them."""
    penstock_test.stub("data_defect", never())
    run, began = penstock_test.start(DECISION / "defect_alert.json", {"line_id": "L01"}), penstock_test.now
    penstock_test.finish(run)
    assert (run.failure or {})["code"] == "NODE_TIMEOUT" and penstock_test.now == began + 100_000
