"""Metrics of executions and everything with one trace id over HTTP, on both stores."""

from __future__ import annotations

from tests.api.pipelines import TENANT, FileSite, files
from tests.api.test_pipelines import code_of
from tests.app.pipelines import a_stage

__all__ = ["files"]


def test_f_a_20_metrics_over_http(files: FileSite) -> None:
    """F-A.20, F-7.2, F-A.2: success rate, PENDING dwell, top-K failing stages, retry rate, throughput, DLQ rate, usage;
    what is sent again is counted as a duplicate."""
    code = files.pipeline(a_stage("only", 1))
    before = files.viewer.get("/pipelines/metrics").json()
    message = files.message(f"{code}/counted.txt")
    for _ in range(3):
        assert files.operator.post("/pipelines/ingest", json=message).status_code == 202
    (id,) = [
        each["executionId"]
        for each in files.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["items"]
    ]
    files.ended(id)
    told = files.viewer.get("/pipelines/metrics").json()
    assert told["tenantId"] == TENANT and told["windowMs"] == 3_600_000
    assert told["completed"] == before["completed"] + 1 and 0 < told["successRate"] <= 1
    assert told["ingest"]["duplicate"] - before["ingest"]["duplicate"] == 2
    assert told["pending"]["count"] >= 0 and told["throughputPerMinute"] > 0 and told["retryRate"] is not None
    assert {"messages", "rate"} == set(told["dlq"]) and isinstance(told["failingStages"], list)
    assert [day["tenantId"] for day in told["usage"]] == [TENANT]
    assert [alarm["metric"] for alarm in told["alarms"]] == [
        "pipeline_success_rate", "pipeline_pending_oldest_seconds", "pipeline_retry_rate", "pipeline_dlq_messages",
    ]  # fmt: skip
    assert code_of(files.viewer.get("/pipelines/metrics", params={"tenantId": "other"})) == (403, "PP-403-SCOPE")
    assert 400 <= files.viewer.get("/pipelines/metrics", params={"top": 0}).status_code < 500


def test_f_7_1_everything_with_one_trace_id(files: FileSite) -> None:
    """F-7.1, F-9.5: from the trace id of an execution to its file and its stages; an unknown one is not found."""
    id = files.begun(files.pipeline(a_stage("only", 1)))
    look = files.ended(id)
    told = files.viewer.get(f"/pipelines/traces/{look['traceId']}").json()
    assert id in [each["executionId"] for each in told["executions"]]
    assert look["file"]["id"] in [each["id"] for each in told["files"]]
    assert code_of(files.viewer.get("/pipelines/traces/" + "0" * 31 + "x")) == (404, "PP-404-EXEC")
