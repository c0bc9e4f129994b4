"""events, releases, schedules: what they print, for people and for programs, alone and beside another process."""

from __future__ import annotations

import json
import signal

import pytest

from tests.cli.shell import ROOT, Shell

CCP = ROOT / "examples/decision/ccp_deviation.json"
DEFECT = ROOT / "examples/decision/defect_alert.json"
ALARM, LAB = "sensor.ccp.threshold_exceeded", "lab.result.completed"
PAYLOAD = '{"line_id": "L01", "severity": "high"}'


def in_force(penstock: Shell, file: object, name: str, version: int = 2) -> None:
    penstock("releases", "submit", str(file), "--by", "kim")
    penstock("releases", "approve", name, str(version), "--by", "lee")
    penstock("releases", "activate", name, str(version))


def test_a_workflow_from_its_file_to_its_event(penstock: Shell) -> None:
    """W-9.4.1, C-37: submit, approve, activate, an event that starts it and one that resumes it."""
    submitted = penstock("releases", "submit", str(CCP), "--json").json()
    assert (submitted["status"], submitted["version"], submitted["new"]) == ("pending_approval", 2, True)
    assert len(submitted["dsl_hash"]) == 64 and submitted["change_summary"].startswith("First version")
    assert not penstock("releases", "submit", str(CCP), "--json").json()["new"]
    assert "before" in penstock("releases", "submit", str(CCP)).out
    refused = penstock("releases", "activate", "wf_ccp_deviation_v2", "2", "--json", code=2).error()
    assert refused["code"] == "PS-409-STATUS"
    in_force(penstock, CCP, "wf_ccp_deviation_v2")
    assert "active" in penstock("releases", "ls").out

    sent = penstock("events", "send", ALARM, PAYLOAD, "--id", "a1", "--json").json()
    (run,) = sent["started"]
    assert sent["runs"][0]["status"] == "waiting" and sent["new"] and sent["delivered"]
    assert "come before" in penstock("events", "send", ALARM, PAYLOAD, "--id", "a1").out
    assert "nobody waits" in penstock("events", "send", LAB, '{"sample_id": "other"}').out
    told = penstock("events", "send", LAB, json.dumps({"sample_id": f"sample-{run}"})).out
    assert "resumed" in told and "completed" in told and run in told
    kept = penstock("events", "ls", "--json").json()
    assert [(one["source"], len(one["resumed"])) for one in kept] == [(ALARM, 0), (LAB, 0), (LAB, 1)]
    assert penstock("events", "ls", "--source", LAB, "--limit", "1").out.count("\n") == 1


def test_an_event_to_a_store_that_another_process_drives(penstock: Shell) -> None:
    """C-37: the row is enough; the driver delivers it, and its receipt comes back."""
    in_force(penstock, CCP, "wf_ccp_deviation_v2")
    driver = penstock.start("work")
    try:
        assert driver.stdout is not None and "working" in driver.stdout.readline()
        sent = penstock("events", "send", ALARM, PAYLOAD, "--json").json()
        assert sent["delivered"] and len(sent["started"]) == 1
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.communicate()


def test_versions_and_what_differs(penstock: Shell) -> None:
    """C-61, W-9.3.1: a conflict is said in words, a rejection keeps its reason, and a diff names places."""
    document = json.loads(DEFECT.read_text(encoding="utf-8"))
    penstock("releases", "submit", str(DEFECT))
    changed = penstock.write("changed.json", json.dumps({**document, "policies": {"timeout_ms": 5000}}))
    conflict = penstock("releases", "submit", changed, "--json", code=2).error()
    assert conflict["code"] == "PS-409-VERSION" and "version" in conflict["hint"]
    del document["version"]
    document["nodes"][0]["timeout_ms"] = 1000
    newer = penstock.write("newer.json", json.dumps(document))
    assert penstock("releases", "submit", newer, "-m", "slower", "--json").json()["version"] == 3
    found = penstock("releases", "diff", "wf_defect_alert_v2", "2", "3", "--json").json()
    assert [(one["part"], one["pointer"]) for one in found] == [("nodes", "/nodes/0/timeout_ms")]
    assert "/nodes/0/timeout_ms" in penstock("releases", "diff", "wf_defect_alert_v2", "2", "3").out
    rejected = penstock("releases", "reject", "wf_defect_alert_v2", "3", "-m", "why so slow?").out
    assert "draft" in rejected and "why so slow?" in rejected
    shown = penstock("releases", "show", "wf_defect_alert_v2", "3").out
    assert json.loads(shown)["nodes"][0]["timeout_ms"] == 1000
    assert penstock("releases", "show", "wf_x", "--json", code=2).error()["code"] == "PS-404-RELEASE"
    bad = penstock.write("bad.json", json.dumps({**document, "nodes": document["nodes"] * 2}))
    assert penstock("releases", "submit", bad, "--json", code=2).error()["findings"]


def test_schedules_are_listed_paused_and_fired(penstock: Shell) -> None:
    """C-31, W-3.2.1: the sample tenant's two lines; times are read in the schedule's zone."""
    in_force(penstock, DEFECT, "wf_defect_alert_v2")
    (row,) = penstock("schedules", "ls", "--json").json()
    assert (row["zone"], row["cron"], row["paused"]) == ("Asia/Seoul", "0 8,14,20 * * *", False)
    assert row["inputs"] == [{"line_id": "L01"}, {"line_id": "L02"}]
    assert "paused" in penstock("schedules", "pause", "wf_defect_alert_v2").out
    assert penstock("schedules", "ls", "--json").json()[0]["paused"]
    assert "next" in penstock("schedules", "resume", "wf_defect_alert_v2").out
    times = ("--from", "2025-01-06T08:00", "--to", "2025-01-06T14:00")
    filled = penstock("schedules", "backfill", "wf_defect_alert_v2", *times, "--json").json()
    assert [(one["at"], len(one["runs"])) for one in filled] == [(1736118000000, 2), (1736139600000, 2)]
    assert penstock("schedules", "backfill", "wf_defect_alert_v2", *times, "--json").json() == filled
    assert len(penstock("schedules", "fire", "wf_defect_alert_v2", "--json").json()[0]["runs"]) == 2
    assert "no time" in penstock("schedules", "backfill", "wf_defect_alert_v2", "--from", "2025-01-06T09:00", "--to",
                                 "2025-01-06T10:00").out  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("events", "send", "", "{}"), "PS-400-INPUT"),
        (("events", "send", "a", "{nope"), "PS-400-INPUT"),
        (("schedules", "pause", "nothing"), "PS-404-SCHEDULE"),
        (("schedules", "backfill", "x", "--from", "a", "--to", "b"), "PS-404-SCHEDULE"),
        (("releases", "approve", "nothing", "1"), "PS-404-RELEASE"),
        (("releases", "approve", "nothing", "one"), "PS-400-USAGE"),
        (("releases", "submit", "absent.json"), "PS-400-INPUT"),
        (("events", "nothing"), "PS-400-USAGE"),
    ],
)
def test_what_is_wrong_is_said(penstock: Shell, arguments: tuple[str, ...], code: str) -> None:
    penstock("releases", "submit", str(DEFECT))
    assert penstock(*arguments, "--json", code=2).error()["code"] == code


def test_a_store_that_is_not_there(penstock: Shell) -> None:
    for arguments in (("events", "ls"), ("schedules", "ls"), ("releases", "ls")):
        assert penstock(*arguments, "--json", code=2).error()["code"] == "PS-404-STORE"
    assert "send" in penstock("events", "--help").out


def test_the_first_event_makes_the_store(penstock: Shell) -> None:
    """As `run` does: it is kept for runs that wait for it later."""
    said = penstock("events", "send", "lab.result", '{"ok": true}').out
    assert "it starts nothing" in said and "penstock releases" in said
    (one,) = penstock("events", "ls", "--json").json()
    assert (one["source"], one["payload"], one["delivered"]) == ("lab.result", {"ok": True}, True)
