"""Definitions, schedules and executions by hand over HTTP, on both stores (F-X.23)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

from tests.api.pipelines import FileSite, files
from tests.api.serving import until
from tests.api.test_pipelines import MOMENT, code_of
from tests.app.pipelines import a_pipeline, a_stage

__all__ = ["files"]
AT = "/pipelines/definitions"


def kept(files: FileSite, code: str, **more: Any) -> str:
    stages = more.pop("stages", [a_stage("only", 1)])
    done = files.admin.post(AT, json=a_pipeline(code, file_type="ANY", stages=stages, **more))
    assert done.status_code == 201, done.text
    return code


def test_f_x_23_definitions_are_made_read_changed_and_switched_off(files: FileSite) -> None:
    """F-X.23, F-X.4, F-X.2, F-1.1.21: each change is a version, executions keep theirs, and nothing is deleted."""
    document = a_pipeline("LIFE", stages=[a_stage("one", 1)])
    made = files.admin.post(AT, json=document)
    assert made.status_code == 201 and made.json()["status"] == "active" and made.json()["new"], made.text
    again = files.admin.post(AT, json=document)
    assert again.status_code == 200 and not again.json()["new"] and again.json()["version"] == 1
    other = files.admin.post(AT, json={**document, "priority": 3})
    assert code_of(other) == (409, "PS-409-VERSION") and "PUT" in other.json()["hint"]
    put = files.admin.put(f"{AT}/LIFE", json={**document, "priority": 3})
    assert put.status_code == 200 and put.json()["version"] == 2
    read = files.viewer.get(f"{AT}/LIFE").json()
    assert (read["version"], read["priority"], read["is_active"], read["stages"]) == (2, 3, True, 1)
    asleep = files.admin.post(AT, json={**document, "pipeline_code": "ASLEEP", "is_active": 0})
    assert asleep.json()["status"] == "active", asleep.text
    assert files.viewer.get(f"{AT}/ASLEEP").json()["is_active"] is False, "F-1.1.20: by its own word, in force or not"
    assert read["definition"]["stages"][0]["stage_code"] == "one" and MOMENT.fullmatch(read["created_at"])
    assert files.viewer.get(f"{AT}/LIFE", params={"version": 1}).json()["priority"] == 7
    listed = files.viewer.get(AT, params={"size": 100}).json()
    assert {"LIFE"} <= {item["pipeline_code"] for item in listed["items"]} and listed["page"] == 0
    assert files.admin.delete(f"{AT}/LIFE").status_code == 204
    assert code_of(files.admin.delete(f"{AT}/LIFE")) == (404, "PS-404-RELEASE")
    assert "LIFE" not in {item["pipeline_code"] for item in files.viewer.get(AT, params={"size": 100}).json()["items"]}
    off = files.viewer.get(f"{AT}/LIFE").json()
    assert (off["is_active"], off["status"]) == (False, "deprecated")
    gone = files.operator.post(f"{AT}/LIFE/executions", json={"bucket": "bkt", "key": "a"})
    assert code_of(gone) == (404, "PS-404-RELEASE")
    back = files.admin.put(f"{AT}/LIFE", json={**document, "priority": 3})
    assert back.status_code == 200 and back.json()["status"] == "active"


def test_what_is_wrong_with_a_definition_is_said(files: FileSite) -> None:
    """F-X.14, F-X.12: nothing is kept of what cannot be used."""
    good = a_pipeline("WRONG")
    for document in (
        {}, {"pipeline_code": 3}, {**good, "stages": []}, {**good, "stages": [a_stage("x", 1, processor_type="No")]},
        {**good, "priority": "high"}, {**good, "file_type": "FILM"}, {**good, "dependencies": {"after": ["WRONG"]}},
        {**good, "pipeline_code": "x" * 60}, {**good, "max_retries": -1}, {**good, "surprise": 1},
    ):  # fmt: skip
        answer = files.admin.post(AT, json=document)
        assert 400 <= answer.status_code < 500 and answer.json()["code"], (document, answer.text)
    assert files.viewer.get(f"{AT}/WRONG").status_code == 404
    assert code_of(files.admin.put(f"{AT}/WRONG", json=good)) == (404, "PS-404-RELEASE")
    kept(files, "RIGHT")
    assert code_of(files.admin.put(f"{AT}/RIGHT", json=good)) == (400, "PS-400-INPUT")
    for body in (b"{", b"[]", b"3", b'"x"'):
        answer = files.admin.post(AT, content=body, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500, (body, answer.text)


def test_f_x_31_only_who_may_writes_definitions(files: FileSite) -> None:
    """F-X.31: pipeline.admin, also by the way of all documents; who writes other documents has not got it."""
    for name, permissions in (("writer", ["definition.write"]), ("filer", ["definition.write", "pipeline.admin"])):
        assert files.admin.put(f"/roles/{name}", json={"permissions": permissions}).status_code in (200, 201)
        assert files.admin.put(f"/users/{name}@x", json={"name": name, "roles": [name]}).status_code in (200, 201)
    writer, filer = (
        files.server.client(key=files.admin.post("/keys", json={"name": name, "user": f"{name}@x"}).json()["token"])
        for name in ("writer", "filer")
    )
    document = a_pipeline("WRITTEN", stages=[a_stage("only", 1)])
    for answer in (
        writer.post(AT, json=document), writer.put(f"{AT}/WRITTEN", json=document), writer.delete(f"{AT}/WRITTEN"),
        writer.post("/definitions", json={"document": document}),
    ):  # fmt: skip
        assert code_of(answer) == (403, "PS-403-PERMISSION") and "pipeline.admin" in answer.text
    assert filer.post("/definitions", json={"document": document}).status_code == 201


def test_f_x_19_one_key_begins_once(files: FileSite) -> None:
    """F-X.19, F-10.4: the same payload is answered with the id of before, another one is a conflict; a key is one
    tenant's, and every execution has one."""
    kept(files, "HAND", default_params={"a": 1, "b": 1})
    files.message("hand.txt")
    asked = {"bucket": "bkt", "key": "hand.txt", "params": {"b": 2}}
    begin = f"{AT}/HAND/executions"
    headers = {"Idempotency-Key": "order-17"}
    first = files.operator.post(begin, json=asked, headers=headers)
    assert first.status_code == 202 and first.json()["accepted"], first.text
    id = first.json()["executionId"]
    for _ in range(2):
        again = files.operator.post(begin, json=asked, headers=headers)
        assert (again.status_code, again.json()["executionId"]) == (200, id)
    other = files.operator.post(begin, json={**asked, "params": {"b": 3}}, headers=headers)
    assert code_of(other) == (409, "PP-409-IDEMP")
    kept(files, "HAND2")
    assert code_of(files.operator.post(f"{AT}/HAND2/executions", json=asked, headers=headers)) == (409, "PP-409-IDEMP")
    body = files.ended(id)
    assert (body["triggerType"], body["status"], body["idempotencyKey"]) == ("MANUAL", "COMPLETED", "request#order-17")
    alone = files.operator.post(begin, json=asked)
    assert alone.status_code == 202
    id = alone.json()["executionId"]
    body = files.ended(id)
    assert body["idempotencyKey"] == f"manual#{id}"
    by_number = files.operator.post(begin, json={"fileId": body["file"]["id"]})
    assert by_number.status_code == 202
    assert files.ended(by_number.json()["executionId"])["file"]["key"] == "hand.txt"
    long = {"Idempotency-Key": "k" * 200}
    ids = {files.operator.post(begin, json=asked, headers=long).json()["executionId"] for _ in range(2)}
    assert len(ids) == 1 and len(files.ended(ids.pop())["idempotencyKey"]) <= 150


def test_f_x_19_the_same_key_at_once(files: FileSite) -> None:
    """F-X.19: of ten requests at once one begins, and all have its id."""
    kept(files, "ATONCE")
    files.message("once.txt")
    begin, asked = f"{AT}/ATONCE/executions", {"bucket": "bkt", "key": "once.txt"}
    barrier = threading.Barrier(10)

    def ask(_: int) -> httpx2.Response:
        client = files.server.client("operator@example.com")
        barrier.wait()
        try:
            return client.post(begin, json=asked, headers={"Idempotency-Key": "ten"})
        finally:
            client.close()

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(ask, range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] * 9 + [202]
    assert len({answer.json()["executionId"] for answer in answers}) == 1


def test_a_file_by_hand_has_to_be_there_and_to_fit(files: FileSite) -> None:
    """F-1.3.4, F-X.9, F-A.16: a number of another tenant's file, or an object in its part of a bucket, is none."""
    kept(files, "PICKY", max_file_size=3)
    files.message("large.txt", b"large")
    files.message("tenants/someone/x.txt", b"x")
    begin = f"{AT}/PICKY/executions"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "PS-400-INPUT"), ({"fileId": 999_999}, "PS-404-FILE"), ({"bucket": "bkt", "key": "no.txt"}, "PS-404-FILE"),
        ({"bucket": "nowhere", "key": "a"}, "PS-404-FILE"), ({"bucket": "bkt", "key": "large.txt"}, "PS-400-INPUT"),
        ({"bucket": "bkt", "key": "../x"}, "PS-404-FILE"), ({"bucket": "bkt"}, "PS-404-FILE"),
        ({"bucket": "bkt", "key": "tenants/someone/x.txt"}, "PP-403-SCOPE"),
        ({"fileId": 1, "bucket": "bkt", "key": "a"}, "PS-400-INPUT"), ({"fileId": "x"}, "PS-422-REQUEST"),
        ({"bucket": "bkt", "key": "large.txt", "params": []}, "PS-422-REQUEST"),
    ]  # fmt: skip
    for body, code in wrong:
        answer = files.operator.post(begin, json=body)
        assert answer.json().get("code") == code, (body, answer.text)
    unknown = files.operator.post(f"{AT}/NOTHING/executions", json={"bucket": "bkt", "key": "a"})
    assert code_of(unknown) == (404, "PS-404-RELEASE")
    bad = files.operator.post(begin, json={}, headers={"Idempotency-Key": ""})
    assert 400 <= bad.status_code < 500


def test_f_x_15_sync_is_waited_for(files: FileSite) -> None:
    """F-X.15: the call of a SYNC pipeline answers with what came of it."""
    kept(files, "SYNCED", pipeline_type="SYNC", stages=[a_stage("sum", 1, processor_type="Checksum")])
    files.message("sync.txt", b"abc")
    answer = files.operator.post(f"{AT}/SYNCED/executions", json={"bucket": "bkt", "key": "sync.txt"})
    assert answer.status_code == 200, answer.text
    execution = answer.json()["execution"]
    assert execution["status"] == "COMPLETED" and execution["executionId"] == answer.json()["executionId"]
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1: SHA-256 of «abc»
    assert digest in str(execution["stages"][0]["output"])


def test_f_x_23_schedules_are_made_listed_and_ended(files: FileSite) -> None:
    """F-X.23, F-1.5.2, F-X.2, F-6.6: under the names of their columns; another tenant has none of them."""
    at, code = "/pipelines/schedules", kept(files, "CLOCKED")
    asked = {
        "schedule_name": "nightly", "pipeline_code": code, "schedule_type": "CRON", "cron_expression": "30 2 * * *",
        "timezone": "Asia/Seoul", "target_filter": {"last": "PT1H"},
    }  # fmt: skip
    made = files.admin.post(at, json=asked)
    assert made.status_code == 201, made.text
    body = made.json()
    assert body["next_execution_at"].endswith("T17:30:00.000Z"), "02:30 in Seoul"
    assert {name: body[name] for name in asked} == asked and body["is_active"]
    listed = files.viewer.get(at).json()
    assert body["id"] in [item["id"] for item in listed["items"]] and listed["total"] == len(listed["items"])
    assert files.viewer.get(f"{at}/{body['id']}").json()["id"] == body["id"]
    stranger = files.stranger("clocks")
    assert stranger.get(at).json()["total"] == 0
    assert code_of(stranger.get(f"{at}/{body['id']}")) == (404, "PS-404-SCHEDULE")
    assert code_of(stranger.delete(f"{at}/{body['id']}")) == (404, "PS-404-SCHEDULE")
    assert code_of(stranger.post(at, json={**asked, "tenant_id": "tenant_001"})) == (403, "PP-403-SCOPE")
    for wrong in (
        {}, {**asked, "cron_expression": "x"}, {**asked, "interval_seconds": 5}, {**asked, "schedule_type": "NEVER"},
        {**asked, "pipeline_code": "NOTHING"}, {**asked, "timezone": "Mars/North"}, {**asked, "target_filter": 3},
    ):  # fmt: skip
        answer = files.admin.post(at, json=wrong)
        assert 400 <= answer.status_code < 500 and answer.json()["code"], (wrong, answer.text)
    assert files.admin.delete(f"{at}/{body['id']}").status_code == 204
    assert files.viewer.get(f"{at}/{body['id']}").json()["is_active"] is False
    assert body["id"] not in [item["id"] for item in files.viewer.get(at).json()["items"]]


def test_a_schedule_begins_executions(files: FileSite) -> None:
    """F-1.3.8, F-X.11: an interval of a second begins one for the file that fits."""
    code = kept(files, "TICKING", pipeline_type="SCHEDULED")
    announced = files.operator.post("/pipelines/ingest", json=files.message("tick/a.txt"))
    assert announced.status_code == 202
    file = announced.json()["files"][0]["fileId"]
    only = {"field": "key", "op": "eq", "value": "tick/a.txt"}
    asked = {
        "schedule_name": "tick", "pipeline_code": code, "schedule_type": "INTERVAL", "interval_seconds": 1,
        "target_filter": only, "execution_params": {"by": "clock"},
    }  # fmt: skip
    made = files.admin.post("/pipelines/schedules", json=asked)
    assert made.status_code == 201, made.text

    def begun() -> Any:
        return files.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["items"]

    first = until(begun, lambda items: len(items) > 0)[-1]
    assert files.admin.delete(f"/pipelines/schedules/{made.json()['id']}").status_code == 204
    assert (first["triggerType"], first["file"]["id"]) == ("SCHEDULED", file)
    assert first["idempotencyKey"].startswith(f"schedule#{made.json()['id']}#")
