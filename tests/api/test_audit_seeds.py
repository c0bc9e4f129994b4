"""The seed's workflows, triggers and diagrams over HTTP: `penstock dev` on both stores, and the same journals."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from tests.api.journals import compared, told
from tests.api.places import MANAGER, OPERATOR, place
from tests.api.serving import ROOT, until
from tests.api.sites import Site
from tests.conformance.decision.make import seeds
from tests.executors.bench import as_json

Sites = dict[str, Site]
DEFECT, CCP = "wf_defect_alert_v2", "wf_ccp_deviation_v2"
SENSOR, LAB = "sensor.ccp.threshold_exceeded", "lab.result.completed"
DIAGRAMS = ("loop", "loop_skippable", "early_exit", "epochs", "optional_check", "diamond", "quorum", "keep_going")


def sent(site: Site, source: str, payload: Any, **more: Any) -> dict[str, Any]:
    answer = site.admin.post("/events", json={"source": source, "payload": payload, **more})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def put(site: Site, what: str, **body: Any) -> None:
    done = site.admin.put(f"/{what}", json=body)
    assert done.status_code in (200, 204), done.text


def ms(moment: str) -> int:
    return round(datetime.datetime.fromisoformat(moment).timestamp() * 1000)


def ran(look: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["status"] for one in look["firings"] if one["type"] != "NOTIFY" and one["node"] != "end"}


# ---- 11.1 ------------------------------------------------------------------------------------------------------------


def test_a_normal_check_has_the_trace_of_the_seed(sites: Sites) -> None:
    """TC-WF-001, W-10.2.1, W-10.2.2, W-11.1.2, W-11.1.3, H15: four nodes, no other; the trace in the seed's shape."""

    def scene(site: Site) -> list[str]:
        run = site.begun(DEFECT, {"line_id": "L02"})
        look = site.stands(run, "COMPLETED")
        four = ["data_defect", "judge_quality", "switch_severity", "action_log"]
        assert ran(look) == dict.fromkeys(four, "succeeded")
        told = site.operator.get(f"/instances/{run}/trace").json()["workflow_execution"]
        assert set(told) == {
            "workflow_id", "instance_id", "version", "tenant_id", "started_at", "completed_at", "duration_ms", "status",
            "trigger", "input_summary", "output_summary", "nodes_executed", "errors", "checkpoints",
        }  # fmt: skip
        assert (told["workflow_id"], told["version"], told["status"]) == (DEFECT, 2, "completed")
        assert [one["node_id"] for one in told["nodes_executed"]] == four and told["errors"] == []
        judged = told["nodes_executed"][1]
        assert judged["model"] == "stub" and judged["tokens_used"] > 0
        assert told["output_summary"]["decision"] == "normal" and told["input_summary"] == {"line_id": "L02"}
        assert told["trigger"] == {"type": "manual", "source": f"user:{OPERATOR}"}
        return [run]

    compared(sites, scene)


@pytest.mark.parametrize(("verb", "state"), [("approve", "COMPLETED"), ("reject", "CANCELLED")])
def test_a_critical_alert_is_decided(sites: Sites, verb: str, state: str) -> None:
    """W-11.1.5, W-11.1.8, W-11.1.9, W-11.1.12, W-10.2.2, H15: the operator is refused, the manager decides, once."""

    def scene(site: Site) -> list[str]:
        run = site.begun(DEFECT, {"line_id": "L01"})
        facts = site.stands(run, "WAITING")["facts"]
        where = f"/inbox/{run}/request_approval/{verb}"
        refused = site.operator.post(where, json={"comment": "확인"})
        assert (refused.status_code, refused.json()["code"]) == (403, "PS-403-PERMISSION")
        assert site.look(run)["facts"] == facts
        assert site.manager.post(where, json={"comment": "확인"}).status_code == 200
        look = site.stands(run, state)
        assert site.manager.post(where, json={"comment": "확인"}).status_code == 409
        assert look["variables"]["approval_result"]["approver"] == MANAGER
        assert len([one for one in look["firings"] if one["node"].startswith("action_")]) == 3, "each of them once"
        told = site.operator.get(f"/instances/{run}/trace").json()["workflow_execution"]
        assert told["output_summary"]["actions_taken"] == ["slack_notification", "sms_notification", "webhook"]
        return [run]

    compared(sites, scene, in_order=False)


def test_a_schedule_is_fired_by_hand(sites: Sites) -> None:
    """W-3.2.1, W-3.2.6, C-31, W-11.1.1, H15: 08, 14 and 20 o'clock in Seoul; one run for each input of the tenant."""

    def scene(site: Site) -> list[str]:
        (listed,) = [one for one in site.operator.get("/schedules").json()["items"] if one["name"] == DEFECT]
        assert (listed["cron"], listed["zone"]) == ("0 8,14,20 * * *", "Asia/Seoul")
        assert {one[11:16] for one in listed["upcoming"]} == {"23:00", "05:00", "11:00"}, "they are told in UTC"
        fired = site.operator.post(f"/schedules/{DEFECT}/fire")
        assert fired.status_code == 201, fired.text
        looks = [site.look(run) for run in fired.json()["runs"]]
        assert sorted(one["input"]["line_id"] for one in looks) == ["L01", "L02"]
        assert {one["trigger"]["type"] for one in looks} == {"schedule"}
        runs = {one["input"]["line_id"]: one["id"] for one in looks}
        site.stands(runs["L02"], "COMPLETED")
        site.stands(runs["L01"], "WAITING")
        return [runs["L02"]]

    compared(sites, scene)


@pytest.mark.parametrize(("confidence", "state"), [(0.79, "WAITING"), (0.8, "COMPLETED")])
def test_who_is_sure_asks_nobody(sites: Sites, confidence: float, state: str) -> None:
    """TC-WF-002, W-11.1.8, W-11.1.4, C-51, H15: critical and less than 0.8 is asked about; 0.8 goes to the end."""

    def scene(site: Site) -> list[str]:
        said = {"decision": "critical", "confidence": confidence}
        put(site, "connections/default_llm", type="stub", options={"answer": said})
        try:
            run = site.begun(DEFECT, {"line_id": "L01"})
            look = site.stands(run, state)
        finally:
            put(site, "connections/default_llm", type="stub", options={"answer": {"confidence": 0.7}})
        assert look["variables"]["judgment_result"]["confidence"] == confidence
        assert ran(look).get("request_approval") == ("running" if state == "WAITING" else None)
        return [run]

    compared(sites, scene, in_order=False)


def no_ticket(site: Site, look: dict[str, Any]) -> None:
    """How the run, its nodes, facts, history and letter stand after the third refusal."""
    run, ticket = look["id"], "action_create_ticket"
    tries = [one for one in told(site, run) if one["fact"] == "attempt.failed"]
    assert [(one["node"], one["data"]["failure"]["code"]) for one in tries] == [(ticket, "HTTP_5XX")] * 2
    assert [one["data"]["next_at"] - ms(one["at"]) for one in tries] == [5000, 5000]
    assert {node for node, status in ran(look).items() if status == "failed"} == {ticket, "parallel_emergency"}
    assert (look["failure"]["code"], look["failure"]["category"]) == ("HTTP_5XX", "external")
    assert "approval_required" not in ran(look) and "parallel_results" not in look["variables"]
    moved = site.operator.get(f"/instances/{run}/history").json()["items"]
    of_it = [one["to"] for one in moved if one["of"] == "instance" and one["event"] != "node_complete"]
    assert of_it == ["created", "pending", "running", "failed"], "nothing is undone"
    letter = site.admin.get(f"/dlq/{run}").json()
    assert (letter["error"]["node_id"], letter["error"]["retry_count"]) == (ticket, 2)
    assert letter["input"] == {"line_id": "L01"}


def test_the_ticket_cannot_be_written(sites: Sites) -> None:
    """W-11.1.11, W-11.1.1, W-7.2.2, C-15, C-22, W-2.2.3, H15: 11.1 as the seed prints it. Three calls under one key,
    5 s apart; the others are told once; PARALLEL and run FAILED, nothing is undone, a letter. Mended by hand it goes on
    to its approval, and nobody is told twice."""
    (seed,) = [one for one in seeds("11.1") if one.get("id") == DEFECT]

    def scene(site: Site) -> list[str]:
        assert site.operator.get(f"/workflows/{DEFECT}/versions/2").json()["dsl"] == seed
        status = [503]
        jira = place({"/jira": lambda seen: as_json({"key": "QA-1"}, status[0])})
        put(site, "secrets/jira_webhook", value=f"{jira.url}/jira")
        # what other tests have sent does not count for the breaker
        site.operator.post(f"/circuit-breakers/{DEFECT}/action_create_ticket/reset")
        try:
            run = site.begun(DEFECT, {"line_id": "L01"})
            look = site.stands(run, "FAILED")
            no_ticket(site, look)
            assert len(jira.seen) == 3 and len({seen.headers["idempotency-key"] for seen in jira.seen}) == 1
            status[0] = 201
            site.done(run, "retry")
            look = site.stands(run, "WAITING")
            assert ran(look)["request_approval"] == "running" and len(jira.seen) == 4
            sent_ = [one["channel"] for one in site.admin.get(f"/outbox?run={run}").json()["items"]]
            assert (sent_.count("slack"), sent_.count("sms")) == (1, 1), sent_
            return [run]
        finally:
            put(site, "secrets/jira_webhook", value="outbox:jira")
            jira.close()

    compared(sites, scene, in_order=False, at_once=True)


# ---- 11.2 ------------------------------------------------------------------------------------------------------------


def test_no_deviation_sends_nothing(sites: Sites) -> None:
    """W-3.2.2, W-3.2.3, W-11.2.2, W-11.2.3, W-11.2.4, W-11.2.5, H15: begun by its event alone; its input is the
    payload, and its end is silent."""

    def scene(site: Site) -> list[str]:
        assert sent(site, "sensor.other", {"line_id": "L02", "severity": "critical"})["started"] == []
        assert sent(site, SENSOR, {"line_id": "L02", "severity": "low"})["started"] == []
        (run,) = sent(site, SENSOR, {"line_id": "L02", "severity": "warning"}, id="calm")["started"]
        look = site.stands(run, "COMPLETED")
        assert look["input"] == {"line_id": "L02", "severity": "warning"} and look["trigger"]["type"] == "event"
        assert ran(look) == dict.fromkeys(["data_ccp", "judge_ccp", "switch_ccp"], "succeeded")
        assert [one for one in site.admin.get(f"/outbox?run={run}").json()["items"] if one] == []
        return [run]

    compared(sites, scene)


def test_a_deviation_outlives_the_server(sites: Sites) -> None:
    """W-11.2.6, W-11.2.8, W-11.2.9, W-11.2.10, C-81, H15: unmodified and offline; it is killed while the lab works, the
    wrong sample resumes nobody, and the right one ends it."""

    def scene(site: Site) -> list[str]:
        (run,) = sent(site, SENSOR, {"line_id": "L01", "severity": "critical"}, id="deviation")["started"]
        site.stands(run, "WAITING")
        site.server.kill()
        site.start()
        look = site.stands(run, "WAITING")
        assert ran(look)["action_ccp_alert"] == "succeeded" and ran(look)["wait_lab"] == "running"
        sample = look["variables"]["sample_request"]["id"]
        assert sent(site, LAB, {"sample_id": "another"}, id="wrong")["resumed"] == []
        assert sent(site, LAB, {"sample_id": sample, "ok": False}, id="right")["resumed"] == [run]
        look = site.stands(run, "COMPLETED")
        assert look["variables"]["lab_result"] == {"sample_id": sample, "ok": False}
        assert [one["node"] for one in look["firings"]].count("action_ccp_alert") == 1
        assert ran(look)["action_report"] == "succeeded"
        return [run]

    compared(sites, scene, in_order=False)


# ---- input -----------------------------------------------------------------------------------------------------------


def test_an_input_that_does_not_fit_starts_nothing(sites: Sites) -> None:
    """W-3.2.5, W-3.2.6, W-3.2.7, H15: 422 with the place, at every door; what fits is filled up with defaults."""
    schema = {"type": "object", "required": ["line_id"], "properties": {
        "line_id": {"type": "string"}, "n": {"type": "integer", "default": 7}}}  # fmt: skip
    one_more = {"id": "v", "type": "DATA", "source": {"type": "expression"}, "output": {"expression": "input.n + 1"}}
    document = {"id": "wf_asks", "version": 1, "input_schema": schema, "edges": [], "nodes": [one_more]}

    def scene(site: Site) -> list[str]:
        name = site.released(document)
        wrong: list[Any] = [None, {}, {"line_id": 5}, {"line_id": "L", "n": "x"}, []]
        for given in wrong:
            for path, body in (("/runs", {"definition": name}), ("/instances", {"workflow_id": name})):
                answer = site.operator.post(path, json={**body, "input": given})
                assert (answer.status_code, answer.json()["code"]) == (422, "INPUT_INVALID"), (path, given, answer.text)
        assert site.operator.get(f"/runs?name={name}").json()["items"] == []
        run = site.begun(name, {"line_id": "L"})
        look = site.stands(run, "COMPLETED")
        assert look["output"] == 8 and look["trigger"]["type"] == "manual"
        return [run]

    compared(sites, scene)


# ---- diagrams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_leaves_the_same(sites: Sites, name: str) -> None:
    """H15, D-X.29, D-A.1, D-A.2, D-A.3, D-A.8, D-A.13: what it publishes and consumes is the same on both stores."""
    document = (ROOT / "examples" / "diagram" / f"{name}.yaml").read_text()

    def scene(site: Site) -> list[str]:
        run = site.drawn(document, {"strict": False, "express": True})
        look = f"/diagram-runs/{run}"
        ended = until(lambda: site.operator.get(look).json(), lambda one: one["status"] == "COMPLETED")
        assert ended["run_id"] == run
        return [run]

    compared(sites, scene, in_order=name in ("loop", "loop_skippable", "early_exit", "epochs", "keep_going"))


def test_an_answer_leaves_the_same(sites: Sites) -> None:
    """H15, D-A.16: a person is asked; the value reaches the next node, and the second answer leaves nothing."""
    document = (ROOT / "examples" / "diagram" / "ask.yaml").read_text()

    def scene(site: Site) -> list[str]:
        run = site.drawn(document)
        site.diagram(run, "WAITING")
        where = f"/diagram-runs/{run}/nodes/Ask name:respond"
        assert site.admin.post(where, json={"value": "Kim"}).status_code == 200
        ended = site.diagram(run, "COMPLETED")
        assert "Hello Kim!" in json.dumps(ended["outputs"])
        assert site.admin.post(where, json={"value": "Lee"}).status_code == 409
        return [run]

    compared(sites, scene)
