"""What may happen in a test besides a start: webhooks, signals, claims, verdicts, an end; and every word of `then`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors import ApproverDenied, BadInput, ItemClaimed, Refused, ReleaseNotFound
from penstock.testing import BlockingVirtualPenstock, TestedRun, fails
from tests.app.jobs import CHARGE, a_process, at
from tests.house.files import ROOT

DECISION, PROCESS = ROOT / "examples/decision", ROOT / "examples/process"


def workflow(*nodes: dict[str, Any], **more: Any) -> bytes:
    edges = [{"from": a["id"], "to": b["id"]} for a, b in zip(nodes, nodes[1:], strict=False)]
    return json.dumps({"id": "wf_t", "version": 1, "name": "t", "nodes": nodes, "edges": edges, **more}).encode()


def approval(**more: Any) -> dict[str, Any]:
    request = {"title": "May I?", "approvers": {"type": "role", "targets": ["quality_manager"]}}
    return {"id": "ask", "type": "APPROVAL", "request": request, **more}


def test_a_webhook_starts_what_is_in_force(penstock_test: BlockingVirtualPenstock) -> None:
    trigger = {"type": "webhook", "config": {"path": "/hooks/line"}}
    penstock_test.release(workflow(approval(), trigger=trigger), in_force=True)
    run = penstock_test.webhook("/hooks/line", {"line_id": "L01"})
    assert run.waits[0].node == "ask" and penstock_test.runs == [run]
    with pytest.raises(ReleaseNotFound):
        penstock_test.webhook("/hooks/other")


def test_people_may_only_do_what_they_may(penstock_test: BlockingVirtualPenstock) -> None:
    run = penstock_test.start(workflow(approval()))
    with pytest.raises(ApproverDenied):
        penstock_test.person("qa@example.com").approve("ask")
    assert run.status == "waiting"
    penstock_test.register("user", "second@example.com", {"name": "B", "roles": ["quality_manager"]})
    penstock_test.person("manager@example.com").claim("ask")
    with pytest.raises(ItemClaimed):
        penstock_test.person("second@example.com").approve("ask")
    penstock_test.person("manager@example.com").reject("ask", comment="no")
    assert run.status == "cancelled"


def test_a_review_is_judged_and_not_approved(penstock_test: BlockingVirtualPenstock) -> None:
    routing = {"confidence_threshold": 0.99, "on_low_confidence": "human_review"}
    policy = {"type": "HYBRID", "rule_pack_id": "defect_rules_v3", "routing": routing}
    node = {"id": "judge", "type": "JUDGMENT", "policy": policy, "input": {"data": [{"defect_rate": 0.08}]}}
    run = penstock_test.start(workflow(node))
    (wait,) = run.waits
    reviewer = penstock_test.person("manager@example.com")
    with pytest.raises(Refused, match="asks for a verdict"):
        reviewer.approve(wait.node)
    reviewer.judge(wait.node, "normal", comment="the sensor was wet")
    assert run.variables["judgment_result"]["decision"] == "normal" and run.ended


def test_work_of_a_process_is_taken_and_handed_in(penstock_test: BlockingVirtualPenstock) -> None:
    run = penstock_test.start(PROCESS / "supervised.json", {})
    desk = penstock_test.person("manager@example.com")
    penstock_test.register("user", "desk@example.com", {"name": "D", "roles": ["agent_desk"]})
    desk = penstock_test.person("desk@example.com")
    desk.claim("receive")
    desk.answer("receive", {"text": "late"})
    assert run.path[:3] == ["started", "receive", "draft"]


def test_a_run_that_waits_for_news_or_is_ended(penstock_test: BlockingVirtualPenstock) -> None:
    wait = {"id": "pause", "type": "WAIT", "condition": {"type": "event", "event": {"source": "door.open"}}}
    first, second = penstock_test.start(workflow(wait)), penstock_test.start(workflow(wait))
    penstock_test.signal(first, "door.open", {"by": "Kim"})
    assert (first.status, second.status) == ("completed", "waiting")
    penstock_test.cancel(second)
    assert second.status == "cancelled"


def test_a_stub_stands_for_the_work_and_not_for_what_is_read_before_it(penstock_test: BlockingVirtualPenstock) -> None:
    """P-X.42: an activity's data is read before it, by another effect."""
    activity = {
        "id": "check", "name": "Check", "type": "serviceTask", "agent_mode": "AUTONOMOUS",
        "input_data": [{"name": "rows", "type": "db", "source": "default_sql#quality_log"}],
    }  # fmt: skip
    process = {"process_definition_id": "p", "process_definition_name": "P", "activities": [activity], "version": 1}
    asked: list[Any] = []

    def work(request: Any) -> dict[str, Any]:
        asked.append(request.args["input_data"])
        return {"ok": True}

    penstock_test.stub(executor="process_data", behaviours=[{"rows": [{"line_id": "L01"}]}])
    penstock_test.stub("check", work)
    run = penstock_test.start(json.dumps(process).encode(), {})
    assert asked == [{"rows": [{"line_id": "L01"}]}] and run.status == "COMPLETED"


def waiting(penstock: BlockingVirtualPenstock) -> TestedRun:
    penstock.stub("data_defect", [{"line_id": "L01", "defect_rate": 0.08}])
    return penstock.start(DECISION / "defect_alert.json", {"line_id": "L01"})


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ({"status": "completed"}, "expected completed\n    but was  waiting"),
        ({"path": ["data_defect"]}, "path"),
        ({"passes": ["judge_quality", "data_defect"]}, "«data_defect» is not there, or too early"),
        ({"not_reached": ["judge_quality"]}, "it has passed judge_quality"),
        ({"visits": {"data_defect": 2}}, '{"data_defect":1}'),
        ({"waits": {}}, "expected nothing"),
        ({"waits": {"request_approval": "event"}}, '"until":"+2h"'),
        ({"waits": {"request_approval": {"until": "3h"}}}, "request_approval"),
        ({"waits": {"action_log": None}}, "waits.action_log"),
        ({"messages": []}, "expected none"),
        ({"messages": [{"channel": "slack"}, {"channel": "slack"}]}, "messages.1"),
        ({"compensated": ["data_defect"]}, "compensated"),
        ({"variables": {"judgment_result": {"decision": "normal"}}}, "variables.judgment_result.decision"),
        ({"variables": {"nothing": 1}}, "nothing of this name"),
        ({"failure": "APPROVAL_TIMEOUT"}, "failure"),
        ({"holds": "judgment_result.confidence > 0.9"}, "but was  false"),
        ({"took": "1h"}, "but was  0s"),
        ({"runs": 2}, "runs"),
        ({"nodes": {"data_defect": "failed"}}, "nodes.data_defect"),
    ],
)
def test_every_word_of_then_notices_a_difference(
    penstock_test: BlockingVirtualPenstock, then: dict[str, Any], said: str
) -> None:
    run = waiting(penstock_test)
    with pytest.raises(AssertionError) as reported:
        penstock_test.expect(run, **then)
    assert said in str(reported.value) and "timeline" in str(reported.value)


def test_every_word_of_then_holds(penstock_test: BlockingVirtualPenstock) -> None:
    run = waiting(penstock_test)
    penstock_test.expect(
        run, status="waiting", passes=["data_defect", "request_approval"], not_reached=["action_log"],
        visits={"data_defect": 1, "action_log": 0}, compensated=[], failure=None, took="0s", runs=1,
        waits={"request_approval": {"for": "person", "who": ["quality_manager"], "until": "+2h", "then": "escalate"}},
        messages=[{"channel": "slack", "to": "#quality-alerts"}, {"channel": "email", "subject": "승인 요청"}],
        variables={"judgment_result": {"decision": "critical"}}, nodes={"data_defect": "succeeded"},
        holds=["judgment_result.confidence < 0.8", "path[0] == 'data_defect'"],
    )  # fmt: skip
    with pytest.raises(BadInput, match="one of status, path"):
        penstock_test.expect(run, state="waiting")


def test_a_stub_does_the_jobs_of_workers_outside(penstock_test: BlockingVirtualPenstock) -> None:
    """P-X.28: by the executor's name or by the node, with no server and no worker; a failure goes its way."""
    events = (at("broke", "charge", "error"), {"id": "e1", "position": "end"})
    document = a_process(CHARGE, events=events, flows=(("broke", "e1"),))
    penstock_test.stub(None, {"paid": True}, executor="job")
    assert penstock_test.start(document, {"amount": 3}).variables == {"amount": 3, "paid": True}
    penstock_test.stub("charge", fails("NO_MONEY"))
    assert penstock_test.start(document, {"amount": 3}).nodes["e1"] == "DONE"
