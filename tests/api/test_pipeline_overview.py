"""The first look at pipelines, and dead letters by cause, over HTTP on both stores (F-7.2, F-8.4, F-9.9)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.pipelines import FileSite, files
from tests.api.places import ADMIN
from tests.api.serving import serving, until
from tests.app.pipelines import a_stage

__all__ = ["files"]


def test_f_7_2_the_overview_counts_what_waits_runs_and_failed_today(files: FileSite) -> None:
    """F-9.9: each number against what was done; failures by code, ways in by trigger, and they add up."""
    before = files.viewer.get("/pipelines/overview").json()
    code = files.pipeline(a_stage("first", 1), files.calls("second", 2, "there"))
    for n in range(3):
        assert files.ended(files.begun(code, f"good{n}.txt"))["status"] == "COMPLETED"
    files.answers["there"] = 503
    failed = [files.begun(code, f"bad{n}.txt") for n in range(2)]
    assert [files.ended(execution)["status"] for execution in failed] == ["FAILED"] * 2
    files.answers.pop("there")
    after = files.viewer.get("/pipelines/overview").json()
    assert (after["completed"] - before["completed"], after["ended"] - before["ended"]) == (3, 5)
    assert _count(after["failures"], "HTTP_5XX") - _count(before["failures"], "HTTP_5XX") == 2
    assert after["counts"]["FAILED"] - before["counts"].get("FAILED", 0) == 2
    assert _count(after["waysIn"], "UPLOAD", "trigger") - _count(before["waysIn"], "UPLOAD", "trigger") == 5
    assert sum(way["count"] for way in after["waysIn"]) == after["ended"] + after["pending"] + after["running"]
    assert (after["pending"], after["oldestPendingAt"]) == (0, None) and after["dwellP95Ms"] >= 0
    assert {"code": code, "name": "Pictures"} in after["pipelines"]
    assert after["queue"]["name"] == "ff-pipeline-ingest" and after["dead"]["name"] == "ff-pipeline-ingest-dlq"
    assert (after["oldestLimitS"], after["successLimit"]) == (300, 0.95)  # F-X.32


def _count(rows: list[dict[str, Any]], name: str, field: str = "code") -> int:
    return sum(row["count"] for row in rows if row[field] == name)


def test_f_8_4_dead_letters_are_counted_by_cause_and_say_whether_trying_again_can_help(files: FileSite) -> None:
    """What a service refused may succeed another time; what breaks a rule of the definition will not."""
    refused = files.pipeline(files.calls("ask", 1, "closed", stage_name="Ask the service"))
    rule = {"type": "object", "required": ["never"]}
    wrong = files.pipeline(a_stage("check", 1, processor_type="Checksum", output_validation=rule))
    files.answers["closed"] = 503
    executions = [files.begun(refused, f"{n}.txt") for n in range(3)] + [files.begun(wrong)]
    assert [files.ended(execution)["status"] for execution in executions] == ["FAILED"] * 4
    files.answers.pop("closed")
    told = files.viewer.get("/dead-letters").json()
    causes = {(cause["name"], cause["code"]): cause for cause in told["items"]}
    asked, checked = causes[refused, "HTTP_5XX"], causes[wrong, "VALIDATION"]
    assert (asked["count"], asked["node"], asked["label"], asked["curable"]) == (3, "ask", "Ask the service", True)
    assert (checked["count"], checked["curable"], checked["run"]) == (1, False, executions[-1])
    assert sum(asked["pieces"]) == 3 and asked["first_at"] <= asked["last_at"]
    assert told["total"] == sum(cause["count"] for cause in told["items"]) and told["causes"] == len(told["items"])
    korean = files.viewer.get("/dead-letters", headers={"Accept-Language": "ko"}).json()["items"]
    assert next(cause for cause in korean if cause["name"] == refused)["message"] != asked["message"]
    ids = [run["id"] for run in files.viewer.get(
        "/runs", params={"state": "FAILED", "name": refused, "code": "HTTP_5XX", "failed_node": "ask"}
    ).json()["items"]]  # fmt: skip
    assert sorted(ids) == sorted(executions[:3]), "a cause leads to its runs"
    assert files.stranger("elsewhere").get("/dead-letters").json()["total"] == 0


def test_f_x_20_that_a_new_demo_has_files_to_look_at(tmp_path: Path) -> None:
    """F-X.10: one table is processed, the other breaks the rule of its stage; both need nothing but the store."""
    with serving(tmp_path, "dev") as server, closing(server.client(ADMIN)) as client:
        listed = until(
            lambda: client.get("/pipelines/executions").json()["items"],
            lambda items: len(items) == 2 and all(item["completedAt"] for item in items),
        )
    told = {item["file"]["key"].rpartition("/")[2]: (item["status"], item["error"]) for item in listed}
    assert told["orders-2026-11.csv"] == ("COMPLETED", None)
    status, error = told["orders-2026-12.csv"]
    assert (status, error["code"]) == ("FAILED", "VALIDATION")
