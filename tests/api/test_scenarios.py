"""The seed's workflows and the operator's hand, as a black box: started processes, HTTP only, equal journals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.journals import on_every_store
from tests.api.places import MANAGER, calling
from tests.api.serving import until
from tests.api.sites import Site

DEFECT, CCP = "wf_defect_alert_v2", "wf_ccp_deviation_v2"
SENSOR, LAB = "sensor.ccp.threshold_exceeded", "lab.result.completed"
EMERGENCY = ["action_slack_emergency", "action_sms_manager", "action_create_ticket"]


def nodes(look: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["status"] for one in look["firings"] if one["type"] != "NOTIFY" and one["node"] != "end"}


def hand(id: str) -> dict[str, Any]:
    """Waits for a hand, twice."""
    wait = {"type": "WAIT", "condition": {"type": "manual"}}
    return {
        "id": id, "version": 1, "nodes": [
            {"id": "first", **wait, "output": {"variable": "one"}},
            {"id": "second", **wait, "output": {"variable": "two"}},
        ],
        "edges": [{"from": "first", "to": "second"}],
    }  # fmt: skip


# ---- 11.1 ------------------------------------------------------------------------------------------------------------


def critical(site: Site) -> str:
    run = site.begun(DEFECT, {"line_id": "L01"})
    look = site.stands(run, "WAITING")
    assert look["variables"]["judgment_result"]["decision"] == "critical"
    done = nodes(look)
    assert [done[node] for node in EMERGENCY] == ["succeeded"] * 3 and done["request_approval"] == "running"
    return run


@on_every_store(in_order=False)
def test_a_critical_alert_is_approved(site: Site) -> list[str]:
    """W-11.1.4, W-11.1.7, W-11.1.8, W-11.1.9, W-11.1.12: three alerts, the manager is asked and says yes."""
    run = critical(site)
    done = site.manager.post(f"/inbox/{run}/request_approval/approve", json={"comment": "확인"})
    assert done.status_code == 200, done.text
    look = site.stands(run, "COMPLETED")
    result = look["variables"]["approval_result"]
    assert (result["status"], result["approver"], result["comment"]) == ("approved", MANAGER, "확인")
    assert list(look["variables"]["parallel_results"]) == ["branch_slack", "branch_sms", "branch_ticket"]
    moved = [one["to"] for one in site.operator.get(f"/runs/{run}/history").json()["items"] if one["of"] == "instance"]
    assert [one for one in moved if one in ("waiting", "completed")] == ["waiting", "completed"]
    return [run]


@on_every_store(in_order=False)
def test_a_critical_alert_is_rejected(site: Site) -> list[str]:
    """W-11.1.9, C-40: the manager says no: CANCELLED, nothing waits any more, and it is no dead letter."""
    run = critical(site)
    done = site.manager.post(f"/inbox/{run}/request_approval/reject", json={"comment": "오탐"})
    assert done.status_code == 200, done.text
    look = site.stands(run, "CANCELLED")
    assert look["variables"]["approval_result"]["status"] == "rejected"
    assert run not in [one["run"] for one in site.manager.get("/inbox").json()["items"]]
    assert site.admin.get(f"/dlq/{run}").status_code == 404
    return [run]


@pytest.mark.parametrize(
    ("line", "decision", "last"),
    [
        ("L03", "warning", ["action_warning", "approval_required"]), ("L02", "normal", ["action_log"]),
        ("L09", "unknown", []),
    ],
)  # fmt: skip
@on_every_store()
def test_other_verdicts_end_by_themselves(site: Site, line: str, decision: str, last: list[str]) -> list[str]:
    """W-11.1.4, W-11.1.6, C-14: a warning is told, a normal check is written down, unknown goes nowhere."""
    look = site.stands(site.begun(DEFECT, {"line_id": line}), "COMPLETED")
    assert look["variables"]["judgment_result"]["decision"] == decision
    begin = ["data_defect", "judge_quality", "switch_severity"]
    assert nodes(look) == dict.fromkeys([*begin, *last], "succeeded")
    assert [one["code"] for one in look["warnings"]] == ([] if last else ["SWITCH_NO_MATCH"])
    return [look["id"]]


# ---- 11.2 ------------------------------------------------------------------------------------------------------------


def send(site: Site, source: str, payload: Any, **more: Any) -> dict[str, Any]:
    answer = site.admin.post("/events", json={"source": source, "payload": payload, **more})
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    return found


def alarmed(site: Site) -> str:
    site.lab_is_real()
    (run,) = send(site, SENSOR, {"line_id": "L01", "severity": "high"})["started"]
    return str(run)


def reported(site: Site, run: str, sample: str) -> None:
    look = site.stands(run, "COMPLETED")
    assert look["variables"]["lab_result"] == {"sample_id": sample, "ok": False}
    assert nodes(look)["action_report"] == "succeeded"


@on_every_store()
def test_severities_below_the_threshold_start_nothing(site: Site) -> list[str]:
    """W-11.2.1, C-30: and the same event again is the same run."""
    for severity in ("info", "normal", "low", None):
        assert send(site, SENSOR, {"line_id": "L02", "severity": severity})["started"] == []
    first = send(site, SENSOR, {"line_id": "L02", "severity": "critical"}, id="alarm-1")
    again = send(site, SENSOR, {"line_id": "L02", "severity": "critical"}, id="alarm-1")
    assert again["started"] == first["started"] and not again["new"]
    look = site.stands(first["started"][0], "COMPLETED")
    assert look["variables"]["judgment_result"]["decision"] == "normal" and "wait_lab" not in nodes(look)
    return [look["id"]]


@on_every_store(in_order=False)
def test_the_lab_answers_late(site: Site) -> list[str]:
    """W-11.2.7, W-11.2.8, W-11.2.9, C-37: another sample resumes nobody, the right one does, and only once."""
    run = alarmed(site)
    site.stands(run, "WAITING")
    sample = site.samples[-1]
    assert send(site, LAB, {"sample_id": "S-other"})["resumed"] == []
    assert site.look(run)["state"] == "WAITING"
    assert send(site, LAB, {"sample_id": sample, "ok": False})["resumed"] == [run]
    reported(site, run, sample)
    assert send(site, LAB, {"sample_id": sample, "ok": True})["resumed"] == []
    return [run]


@on_every_store(in_order=False)
def test_the_lab_answers_early(site: Site) -> list[str]:
    """C-37, W-11.2.8: the result is there before the lab has said that it takes the sample."""
    site.asked.clear()
    site.going.clear()
    site.hangs = True
    try:
        run = alarmed(site)
        assert site.asked.wait(20), "the lab was not asked"
        sample = site.samples[-1]
        assert send(site, LAB, {"sample_id": sample, "ok": False})["resumed"] == []
    finally:
        site.hangs = False
        site.going.set()
    reported(site, run, sample)
    return [run]


# ---- an operator's hand ----------------------------------------------------------------------------------------------


@on_every_store()
def test_pause_signal_resume(site: Site) -> list[str]:
    """W-2.2.3, W-4.7.4: while it is paused a signal is taken and nothing new begins; then it goes on."""
    run = site.begun(site.released(hand("wf_paused")))
    site.stands(run, "WAITING")
    assert site.done(run, "pause")["paused"]
    site.done(run, "signal", {"name": "manual:first", "payload": {"n": 1}})
    assert "second" not in nodes(site.look(run))
    assert not site.done(run, "resume")["paused"]
    look = until(lambda: site.look(run), lambda one: nodes(one).get("second") == "running")
    assert look["variables"]["one"] == {"n": 1}
    site.done(run, "signal", {"name": "manual:second", "payload": {"n": 2}})
    assert site.stands(run, "COMPLETED")["variables"]["two"] == {"n": 2}
    return [run]


@on_every_store()
def test_cancel(site: Site) -> list[str]:
    """W-2.2.3, C-41: once; what has ended is not ended again, and takes no signal."""
    run = site.begun(site.released(hand("wf_cancelled")))
    site.stands(run, "WAITING")
    site.done(run, "cancel", {"reason": "enough"})
    assert site.stands(run, "CANCELLED")["ended_at"] is not None
    site.done(run, "cancel", status=409)
    site.done(run, "signal", {"name": "manual:first"}, status=409)
    return [run]


def called(site: Site, id: str) -> str:
    """A workflow that calls the plant. Where that is differs from site to site, and is no part of the document."""
    done = site.admin.put("/secrets/plant", json={"value": site.plant.url})
    assert done.status_code == 204, done.text
    return site.released(calling("${secrets.plant}", id))


@on_every_store()
def test_retry_where_it_failed(site: Site) -> list[str]:
    """W-2.2.3, W-7.5.2, W-4.5.8: FAILED with a letter; mended, only the failed call is made again, under its key; a
    run that has ended well is no letter."""
    name = called(site, "wf_retried")
    site.down = True
    run = site.begun(name, {"n": 1})
    assert site.stands(run, "FAILED")["failure"]["code"] == "HTTP_4XX"
    assert site.admin.get(f"/dlq/{run}").json()["input"] == {"n": 1}
    site.down = False
    site.done(run, "retry")
    site.stands(run, "COMPLETED")
    until(lambda: site.admin.get(f"/dlq/{run}").status_code, lambda status: status == 404)
    keys = [seen.headers["idempotency-key"] for seen in site.plant.seen if run in seen.headers["idempotency-key"]]
    assert len(keys) == 2 and len(set(keys)) == 1
    site.done(run, "retry", status=409)
    return [run]


@on_every_store()
def test_a_dead_letter_is_replayed_three_times(site: Site) -> list[str]:
    """W-7.5.2, W-7.5.3: each replay is a new run with the letter's input; the fourth is refused."""
    name = called(site, "wf_letter")
    site.down = True
    run = site.begun(name, {"n": 5})
    site.stands(run, "FAILED")
    site.down = False
    letter = until(lambda: site.admin.get(f"/dlq?name={name}").json()["items"], bool)[0]
    assert (letter["run"], letter["code"], letter["queue"]) == (run, "HTTP_4XX", "workflow_dlq")
    replayed = []
    for n in (1, 2, 3):
        made = site.admin.post(f"/dlq/{run}/replay")
        assert made.status_code == 201, made.text
        look = site.stands(made.json()["run"], "COMPLETED")
        assert look["input"] == {"n": 5} and look["id"] != run
        assert site.admin.get(f"/dlq/{run}").json()["replays"] == n
        replayed.append(look["id"])
    assert site.admin.post(f"/dlq/{run}/replay").status_code == 409
    return [run, *replayed]


@on_every_store()
def test_fork(site: Site) -> list[str]:
    """W-8.3.2: a new run from the fact at which the first hand was waited for; the old run is as it was."""
    run = site.begun(site.released(hand("wf_forked")))
    waits = site.stands(run, "WAITING")["facts"]
    site.done(run, "signal", {"name": "manual:first", "payload": "old"})
    until(lambda: site.look(run), lambda one: nodes(one).get("second") == "running")
    facts = site.look(run)["facts"]
    other = site.done(run, "fork", {"fact": waits}, status=201)["id"]
    site.stands(other, "WAITING")
    assert "second" not in nodes(site.look(other))
    site.done(other, "signal", {"name": "manual:first", "payload": "new"})
    until(lambda: site.look(other), lambda one: nodes(one).get("second") == "running")
    site.done(other, "signal", {"name": "manual:second"})
    assert site.stands(other, "COMPLETED")["variables"]["one"] == "new"
    now = site.look(run)
    assert (now["facts"], now["variables"]["one"], now["state"]) == (facts, "old", "WAITING")
    site.done(run, "fork", {"fact": 10_000}, status=400)
    return [run, other]
