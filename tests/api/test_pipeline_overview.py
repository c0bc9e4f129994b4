"""The first look at pipelines, and dead letters by cause, over HTTP on both stores (F-7.2, F-8.4, F-9.9)."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.api.pipelines import FileSite, file_site, files
from tests.api.places import ADMIN
from tests.api.serving import serving, until
from tests.app.pipelines import a_pipeline, a_stage

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


def test_f_7_2_the_overview_tells_the_last_hours_in_a_bounded_number_of_pieces(files: FileSite) -> None:
    """F-9.9: per pipeline and together; what waits and runs now is the newest of each, what ended and failed is counted
    where it ended."""
    held = files.held["series"] = threading.Event()
    code = files.pipeline(files.calls("ask", 1, "series"), configuration={"max_executions": 1})
    first, second = files.begun(code, "1.txt"), files.begun(code, "2.txt")
    files.running(first, "ask")

    def lately() -> tuple[dict[str, Any], dict[str, Any]]:
        told = files.viewer.get("/pipelines/overview").json()["lately"]
        return told["all"], next(each for each in told["pipelines"] if each["code"] == code)

    every, mine = lately()
    assert {len(mine[name]) for name in ("waiting", "running", "ended", "failed", "waitedMs")} == {24}
    assert (mine["waiting"][-1], mine["running"][-1], sum(mine["ended"])) == (1, 1, 0)
    assert (every["waiting"][-1], every["running"][-1]) == (1, 1)
    assert mine["waiting"][0] == mine["running"][0] == 0, "four hours ago there was nothing"
    files.answers["series"] = 404
    held.set()
    assert [files.ended(each)["status"] for each in (first, second)] == ["FAILED"] * 2
    every, mine = lately()
    assert (mine["waiting"][-1], mine["running"][-1]) == (0, 0)
    assert (sum(mine["ended"]), sum(mine["failed"])) == (2, 2)
    assert sum(each is not None for each in mine["waitedMs"]) in (1, 2) and mine["waitedMs"][-1] != 0
    assert every["code"] is None and sum(every["ended"]) >= 2
    assert files.stranger("quiet").get("/pipelines/overview").json()["lately"]["all"]["ended"] == [0] * 24


def test_f_4_1_what_waits_says_which_limit_has_no_place(files: FileSite) -> None:
    """F-X.6, F-4.4: the definition's own places; its own next attempt; and nothing for what runs."""
    held = files.held["slow"] = threading.Event()
    code = files.pipeline(files.calls("ask", 1, "slow"), configuration={"max_executions": 1})
    first, second = files.begun(code, "1.txt"), files.begun(code, "2.txt")
    files.running(first, "ask")
    limit = files.look(second)["why"]
    assert [(why["kind"], why["what"], why["of"]) for why in limit] == [("limit", "executions", 1)]
    wanted = {"status": "PENDING", "pipeline": code}
    (row,) = files.viewer.get("/pipelines/executions", params=wanted).json()["items"]
    assert (row["executionId"], row["why"]) == (second, limit)
    assert files.look(first)["why"] == []
    held.set()
    assert (files.ended(first)["why"], files.ended(second)["why"]) == ([], [])
    files.answers["closed"] = 503
    code = files.pipeline(files.calls("ask", 1, "closed"), max_retries=1, retry_delay_seconds=600)
    execution = files.begun(code)
    waits = until(lambda: files.look(execution), lambda body: body["nextAttemptAt"] is not None)
    files.answers.pop("closed")
    assert [(why["kind"], why["until"]) for why in waits["why"]] == [("backoff", waits["nextAttemptAt"])]


def test_f_7_2_the_overview_tells_duplicates_the_next_schedule_and_how_fast_messages_are_taken(files: FileSite) -> None:
    """F-X.19, F-1.5.12: sections of ways in that are not set up are absent."""
    before = files.viewer.get("/pipelines/overview").json()
    assert (before["now"]["sqs"], before["now"]["folders"]) == (None, [])
    code = files.pipeline(a_stage("first", 1))
    message = files.message(f"{code}/a.txt")
    for _ in range(3):
        assert files.operator.post("/pipelines/ingest", params={"queue": True}, json=message).status_code == 202
    for name, hour in (("late", 23), ("soon", 1)):
        asked = {
            "schedule_name": name,
            "pipeline_code": code,
            "schedule_type": "INTERVAL",
            "interval_seconds": hour * 3600,
        }
        assert files.admin.post("/pipelines/schedules", json=asked).status_code == 201
    after = until(
        lambda: files.viewer.get("/pipelines/overview").json(),
        lambda body: body["duplicates"] - before["duplicates"] == 2,
    )
    assert after["now"]["consumers"] == 1 and after["now"]["perSecond"] > 0
    schedules = files.viewer.get("/pipelines/schedules").json()["items"]
    soonest = min(schedules, key=lambda schedule: schedule["next_execution_at"])
    assert after["nextSchedule"]["name"] == soonest["schedule_name"] == "soon"
    assert after["nextSchedule"]["nextAt"] == soonest["next_execution_at"]


def test_f_x_20_the_overview_names_files_that_are_still_being_written(tmp_path: Path) -> None:
    """They are left alone until they are whole; then they count as taken."""
    scan = tmp_path / "scan"
    scan.mkdir()
    watched = f'scan = "file://{scan}"\n[pipelines.watch]\nscan = "tenant_001"\n'
    with file_site(tmp_path, "sqlite", watched) as site:
        site.defined(a_pipeline("SCANS", file_type="ANY", stages=[a_stage("sum", 1, processor_type="Checksum")]))

        def folder() -> dict[str, Any]:
            (state,) = site.viewer.get("/pipelines/overview").json()["now"]["folders"]
            return dict(state)

        def write() -> dict[str, Any]:
            with (scan / "batch_0711.txt").open("a") as file:
                file.write("more")
            return folder()

        writing = until(write, lambda state: state["unfinished"] == 1)
        assert (writing["bucket"], writing["writing"], writing["taken"]) == ("scan", ["batch_0711.txt"], 0)
        whole = until(folder, lambda state: state["taken"] == 1)
        assert (whole["unfinished"], whole["writing"]) == (0, []) and whole["lastAt"]
        assert site.stranger("elsewhere").get("/pipelines/overview").json()["now"]["folders"] == []


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
