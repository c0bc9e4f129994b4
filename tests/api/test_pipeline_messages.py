"""Messages over HTTP on both stores: taken once, dead with their cause, sent again (F-A.2 to F-A.4)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.api.forked import ROOT
from tests.api.pipelines import TENANT, FileSite, files
from tests.api.serving import until
from tests.api.test_pipelines import code_of
from tests.app.pipelines import a_stage

__all__ = ["files"]
INGEST, DLQ, REDRIVE = "/pipelines/ingest", "/pipelines/dlq", "/pipelines/dlq:redrive"
METRICS = "/pipelines/metrics"
#: one of ten processes that send the same at the same time
SENDER = """
import http.client, json, sys
port, cookie, body = int(sys.argv[1]), sys.argv[2], sys.argv[3]
sys.stdin.readline()
door = http.client.HTTPConnection("localhost", port, timeout=60)
headers = {"content-type": "application/json", "cookie": cookie, "x-penstock": "1"}
door.request("POST", "/api/v1/pipelines/ingest", body, headers)
answer = door.getresponse()
print(answer.status, answer.read().decode())
"""


def test_f_a_2_ten_processes_send_the_same_at_once(files: FileSite) -> None:
    """F-A.2, F-9.1, F-X.19: exactly one execution; nine are told which it is."""
    code = files.pipeline(a_stage("only", 1))
    body = json.dumps(files.message(f"{code}/same.txt"))
    cookie = "; ".join(f"{name}={value}" for name, value in files.operator.cookies.items())
    words = [sys.executable, "-c", SENDER, str(files.server.port), cookie, body]
    senders = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(10)
    ]
    for sender in senders:
        assert sender.stdin is not None
        sender.stdin.write("go\n")
        sender.stdin.flush()
    printed = [sender.communicate(timeout=60)[0] for sender in senders]
    assert all(text.startswith("202 ") for text in printed), printed
    taken = [json.loads(text[4:])["files"][0] for text in printed]
    assert sum(len(each["executionIds"]) for each in taken) == 1
    assert sum(len(each["duplicateIds"]) for each in taken) == 9
    ids = {id for each in taken for id in (*each["executionIds"], *each["duplicateIds"])}
    assert files.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["total"] == 1 == len(ids)
    assert files.ended(ids.pop())["status"] == "COMPLETED"


def test_f_a_1_from_the_queue(files: FileSite) -> None:
    """F-A.1, F-3.3: put on the queue, the consumer takes it; sent again it begins nothing."""
    code = files.pipeline(a_stage("only", 1))
    message = files.message(f"{code}/queued.txt")
    for _ in range(2):
        sent = files.operator.post(INGEST, json=message, params={"queue": True})
        assert sent.status_code == 202 and sent.json()["messageId"] and sent.json()["files"] == []

    def listed() -> Any:
        return files.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["items"]

    (item,) = until(listed, lambda items: len(items) > 0)
    assert files.ended(item["executionId"])["triggerType"] == "UPLOAD"
    assert len(listed()) == 1


def test_f_a_3_and_f_a_4_dead_messages(files: FileSite) -> None:
    """F-A.3, F-A.4, F-3.5, F-8.4, F-S.6, F-10.1: after five receives it is dead with its cause; a sample, one, all of a
    cause; sent again it begins nothing twice; another tenant sees none of it."""
    code = files.pipeline(a_stage("only", 1))
    without = {name: value for name, value in files.message(f"{code}/a.txt").items() if name != "bucket"}
    refused = files.operator.post(INGEST, json=without)
    assert code_of(refused) == (400, "PP-400-JSON") and "/bucket" in refused.text
    dead_id = files.operator.post(INGEST, json=without, params={"queue": True}).json()["messageId"]
    stranger = files.stranger("letters")
    before = files.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["total"]
    page = until(lambda: files.viewer.get(DLQ).json(), lambda page: page["total"] > 0, seconds=90)
    assert (page["queue"], page["page"], page["size"]) == ("ff-pipeline-ingest-dlq", 0, 20)
    (dead,) = page["items"]
    assert (dead["id"], dead["code"], dead["receives"], dead["tenantId"]) == (dead_id, "PP-400-JSON", 5, TENANT)
    assert json.loads(dead["body"]) == without
    (cause,) = page["causes"]
    assert (cause["code"], cause["count"], cause["curable"]) == ("PP-400-JSON", 1, False)
    assert cause["sample"] == [dead] and "bucket" in cause["why"]
    assert files.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["total"] == before == 0
    assert stranger.get(DLQ).json()["total"] == 0 and stranger.get(DLQ).json()["causes"] == []
    assert code_of(stranger.post(REDRIVE, json={"ids": [dead_id]})) == (404, "PS-404-MESSAGE")
    assert stranger.post(REDRIVE, json={"all": True}).json()["sent"] == 0
    assert code_of(files.viewer.post(REDRIVE, json={"all": True})) == (403, "PS-403-PERMISSION")
    for wrong in ({}, {"all": False}, {"ids": []}, {"ids": [dead_id], "all": True}, {"ids": "x"}, {"code": 3}):
        assert code_of(files.operator.post(REDRIVE, json=wrong)) == (422, "PS-422-REQUEST"), wrong
    assert code_of(files.operator.post(REDRIVE, json={"ids": ["nothing"]})) == (404, "PS-404-MESSAGE")
    assert files.operator.post(REDRIVE, json={"code": "PP-500-IO"}).json()["sent"] == 0
    once = files.operator.post(REDRIVE, json={"ids": [dead_id]}).json()
    assert (once["sent"], once["failed"]) == (1, 0)
    assert files.viewer.get(DLQ).json()["total"] == 0
    assert code_of(files.operator.post(REDRIVE, json={"ids": [dead_id]})) == (404, "PS-404-MESSAGE")


def test_f_a_20_metrics_tell_what_became_of_executions(files: FileSite) -> None:
    """F-A.20, F-7.2, F-9.9, F-X.32, F-A.2: success rate, PENDING dwell, failing stages, retry rate, throughput, DLQ
    rate, duplicates and usage; an alarm where a line is crossed. Another tenant has figures of its own."""
    files.answers["metrics"] = 500
    good, bad = files.pipeline(a_stage("only", 1)), files.pipeline(files.calls("call", 1, "metrics"))
    before = files.viewer.get(METRICS).json()
    message = files.message(f"{good}/m.txt")
    for _ in range(3):
        assert files.operator.post(INGEST, json=message).status_code == 202
    assert files.ended(files.begun(bad))["status"] == "FAILED"
    now = until(
        lambda: files.viewer.get(METRICS).json(),
        lambda now: (now["completed"], now["failed"]) == (before["completed"] + 1, before["failed"] + 1),
    )
    assert now["tenantId"] == TENANT and now["ended"] >= 2 and now["throughputPerMinute"] > 0
    assert now["successRate"] == now["completed"] / (now["completed"] + now["failed"])
    assert 0 <= now["retryRate"] <= 1 and now["pending"]["count"] == 0 and now["pending"]["meanMs"] >= 0
    assert {"pipelineCode": bad, "stageCode": "call", "failures": 1} in now["failingStages"]
    assert now["ingest"]["duplicate"] == before["ingest"]["duplicate"] + 2
    assert now["dlq"]["messages"] >= 0 and now["usage"][-1]["executions"] >= 2
    raised = {alarm["metric"]: alarm["raised"] for alarm in now["alarms"]}
    assert raised["pipeline_success_rate"] == (now["successRate"] < 0.95)
    assert set(raised) == {
        "pipeline_success_rate", "pipeline_pending_oldest_seconds", "pipeline_retry_rate", "pipeline_dlq_messages",
    }  # fmt: skip
    other = files.stranger("figures")
    assert other.get(METRICS).json()["ended"] == 0 and other.get(METRICS).json()["successRate"] is None
    assert code_of(other.get(METRICS, params={"tenantId": TENANT})) == (403, "PP-403-SCOPE")
    for wrong in ({"top": 0}, {"days": "x"}, {"days": 5000}):
        assert code_of(files.viewer.get(METRICS, params=wrong)) == (422, "PS-422-REQUEST")


def test_usage_is_ones_own(files: FileSite) -> None:
    """F-8.3, F-X.35: by day, of one's own tenant."""
    execution = files.begun(files.pipeline(a_stage("only", 1)))
    files.ended(execution)
    (today,) = files.viewer.get("/pipelines/usage").json()["items"]
    assert today["tenantId"] == TENANT and today["executions"] >= 1 and today["bytesIn"] > 0
    assert files.viewer.get("/pipelines/usage", params={"to": "2020-01-01T00:00:00Z"}).json()["items"] == []
    for wrong in ({"from": "x"}, {"to": "x"}, {"nothing": 1}):
        assert 400 <= files.viewer.get("/pipelines/usage", params=wrong).status_code < 500
