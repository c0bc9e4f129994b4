"""Executions over HTTP on both stores: found, looked at, cancelled, tried again (F-6, F-A)."""

from __future__ import annotations

import re
import threading
from contextlib import closing
from typing import Any

import httpx2

from tests.api.pipelines import TENANT, FileSite, files
from tests.api.places import OPERATOR
from tests.api.serving import until
from tests.app.pipelines import a_stage

__all__ = ["files"]
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_f_a_1_one_message_is_one_execution(files: FileSite) -> None:
    """F-A.1, F-6.2, F-6.3, F-X.29, F-X.30: from the message to the stage logs, one trace."""
    code = files.pipeline(a_stage("first", 1), a_stage("second", 2), priority=7)
    execution = files.begun(code)
    assert UUID.fullmatch(execution)
    body = files.ended(execution)
    assert (body["status"], body["triggerType"], body["priority"]) == ("COMPLETED", "UPLOAD", 7)
    assert body["traceId"] == TRACE and body["tenantId"] == TENANT and body["organizationId"] == 123
    assert [(stage["stageCode"], stage["status"]) for stage in body["stages"]] == [
        ("first", "COMPLETED"), ("second", "COMPLETED"),
    ]  # fmt: skip
    assert isinstance(body["durationMs"], int) and isinstance(body["file"]["id"], int)
    assert all(MOMENT.fullmatch(body[name]) for name in ("createdAt", "startedAt", "completedAt"))
    logs = files.viewer.get(f"/pipelines/executions/{execution}/logs").json()["items"]
    assert [(log["stageCode"], log["attempt"], log["retryCount"]) for log in logs] == [
        ("first", 1, 0),
        ("second", 1, 0),
    ]
    assert all(len(log["outputRef"]) <= 512 and MOMENT.fullmatch(log["startedAt"]) for log in logs)


def test_f_6_1_pages_and_filters(files: FileSite) -> None:
    """F-6.1, F-X.22: status, from, to, orgId, pipeline and file narrow; a page says how many there are."""
    code = files.pipeline(a_stage("only", 1))
    made = [files.begun(code, f"{n}.txt", organizationId=10 + n) for n in range(5)]
    for execution in made:
        files.ended(execution)

    def listed(**asked: Any) -> dict[str, Any]:
        answer = files.viewer.get("/pipelines/executions", params={"pipeline": code, **asked})
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def ids(**asked: Any) -> list[str]:
        return [item["executionId"] for item in listed(**asked)["items"]]

    first, second, third = (listed(page=page, size=2) for page in (0, 1, 2))
    assert (first["page"], first["size"], first["total"]) == (0, 2, 5) and listed()["size"] == 20
    pages = [item["executionId"] for body in (first, second, third) for item in body["items"]]
    assert pages == made[::-1] and listed(page=9, size=2)["items"] == []
    assert ids(status="COMPLETED") == made[::-1] and ids(status="FAILED,TIMEOUT") == [] == ids(status="TIMEOUT")
    assert ids(orgId=12) == [made[2]] and ids(orgId=99) == []
    third_body = files.look(made[2])
    assert ids(fileId=third_body["file"]["id"]) == [made[2]]
    at = third_body["createdAt"]
    after, before = ids(**{"from": at}), ids(to=at)
    assert set(after) | set(before) == set(made) and not set(after) & set(before), "from <= created < to"
    assert made[2] in after and made[0] in before
    assert ids(text="3.txt") == [made[3]] and ids(text=made[1]) == [made[1]]
    assert [item["stages"][0]["status"] for item in first["items"]] == ["COMPLETED"] * 2
    assert ids(tenantId=TENANT) == made[::-1]


def test_f_a_10_cancel_waits_for_the_stage_to_end(files: FileSite) -> None:
    """F-A.10, F-6.4, F-2.6, F-X.8: asked again meanwhile it is accepted again."""
    files.held["slow"] = threading.Event()
    code = files.pipeline(files.calls("one", 1, "slow"), a_stage("two", 2), a_stage("three", 3))
    execution = files.begun(code)
    files.running(execution, "one")
    for _ in range(2):
        answer = files.operator.post(f"/pipelines/executions/{execution}:cancel")
        assert (answer.status_code, answer.json()) == (202, {"accepted": True})
    assert files.look(execution)["cancelRequested"] and files.look(execution)["status"] == "RUNNING"
    files.held["slow"].set()
    body = files.ended(execution)
    assert body["status"] == "CANCELLED"
    assert [stage["status"] for stage in body["stages"]] == ["COMPLETED", None, None]


def test_f_2_6_cancels_of_runs_obey_the_pipelines_rule(files: FileSite) -> None:
    """F-2.6, F-X.8 by /runs/ID/cancel: PENDING is refused, the stage that works may end; /runs/ID/retry resumes."""
    files.held["hold"], files.answers["fails"] = threading.Event(), 400
    code = files.pipeline(
        files.calls("one", 1, "hold"), a_stage("two", 2), configuration={"max_executions": 1}
    )  # fmt: skip
    working = files.begun(code)
    files.running(working, "one")
    waiting = files.begun(code, "b.txt")
    refused = files.operator.post(f"/runs/{waiting}/cancel", json={"mode": "now"})
    assert (refused.status_code, refused.json()["code"], refused.json()["state"]) == (409, "PP-409-STATE", "PENDING")
    accepted = files.operator.post(f"/runs/{working}/cancel", json={"mode": "now"})
    assert accepted.status_code == 200 and files.look(working)["cancelRequested"], accepted.text
    assert files.look(working)["status"] == "RUNNING"
    files.held["hold"].set()
    assert [stage["status"] for stage in files.ended(working)["stages"]] == ["COMPLETED", None]
    assert files.look(working)["status"] == "CANCELLED" and files.ended(waiting)["status"] == "COMPLETED"
    failed = files.begun(files.pipeline(a_stage("fine", 1), files.calls("bad", 2, "fails")))
    assert files.ended(failed)["status"] == "FAILED"
    anew = files.operator.post(f"/runs/{failed}/retry", json={"how": "restart"})
    assert anew.status_code == 400 and "rerun" in anew.json()["hint"]
    del files.answers["fails"]
    assert files.operator.post(f"/runs/{failed}/retry", json={"how": "here"}).status_code == 200
    assert files.ended(failed)["status"] == "COMPLETED"


def test_f_a_11_cancel_elsewhere_is_a_state_conflict(files: FileSite) -> None:
    """F-A.11, F-10.5, F-X.8: PENDING, COMPLETED, FAILED and CANCELLED say how they stand."""
    files.held["wait"], files.answers["bad"] = threading.Event(), 400
    one = files.pipeline(files.calls("one", 1, "wait"), configuration={"max_executions": 1})
    running = files.begun(one)
    files.running(running, "one")
    stand = {"PENDING": files.begun(one, "b.txt")}
    stand["COMPLETED"] = files.begun(files.pipeline(a_stage("only", 1)))
    stand["FAILED"] = files.begun(files.pipeline(files.calls("only", 1, "bad")))
    stand["CANCELLED"] = running
    assert files.operator.post(f"/pipelines/executions/{running}:cancel").status_code == 202
    files.ended(stand["COMPLETED"])
    files.ended(stand["FAILED"])

    def refused(status: str, execution: str) -> None:
        answer = files.operator.post(f"/pipelines/executions/{execution}:cancel")
        body = answer.json()
        assert answer.status_code == 409, (status, answer.text)
        assert (body["code"], body["reason"], body["state"]) == ("PP-409-STATE", "STATE_CONFLICT", status)

    refused("PENDING", stand.pop("PENDING"))
    files.held["wait"].set()
    files.ended(running)
    for status, execution in stand.items():
        refused(status, execution)


def test_f_a_13_resume_goes_on_at_the_failed_stage(files: FileSite) -> None:
    """F-A.13, F-6.5, F-2.7, F-2.8, F-X.7: the same id, and what was done is not done again."""
    files.answers["mended"] = 500
    code = files.pipeline(files.calls("one", 1, "first"), files.calls("two", 2, "mended"), a_stage("three", 3))
    execution = files.begun(code)
    body = files.ended(execution)
    assert (body["status"], body["errorStage"], body["retryCount"]) == ("FAILED", "two", 0)
    assert body["error"]["code"] and body["error"]["message"]
    files.answers["mended"] = 200
    answer = files.operator.post(f"/pipelines/executions/{execution}:retry", json={"mode": "resume"})
    assert (answer.status_code, answer.json()) == (202, {"accepted": True, "newExecutionId": None})
    body = until(lambda: files.look(execution), lambda body: body["status"] == "COMPLETED")
    assert body["error"] is None
    asked = [seen.path for seen in files.place.seen if seen.path.endswith("first")]
    assert len(asked) == 1


def test_f_a_14_rerun_is_asked_for_twice_at_once(files: FileSite) -> None:
    """F-A.14, F-X.7: one is accepted with a new id, parent and key; the other is a conflict."""
    files.answers["wrong"] = 400
    execution = files.begun(files.pipeline(files.calls("only", 1, "wrong")))
    before = files.ended(execution)
    files.held["wrong"] = threading.Event()
    answers: list[httpx2.Response] = []

    def ask() -> None:
        with closing(files.server.client(OPERATOR)) as client:
            answers.append(client.post(f"/pipelines/executions/{execution}:retry", json={"mode": "rerun"}))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted, conflict = sorted(answers, key=lambda answer: answer.status_code)
    assert accepted.status_code == 202 and code_of(conflict) == (409, "PP-409-STATE"), conflict.text
    files.held["wrong"].set()
    child = files.ended(accepted.json()["newExecutionId"])
    assert child["parentExecutionId"] == execution and child["triggerType"] == "RETRY"
    assert child["idempotencyKey"] == f"{before['idempotencyKey']}#retry#1" and child["traceId"] == before["traceId"]
    again = files.operator.post(f"/pipelines/executions/{execution}:retry", json={"mode": "rerun"})
    assert again.status_code == 202, "the one before it has failed"
    second = files.ended(again.json()["newExecutionId"])
    assert second["idempotencyKey"] == f"{before['idempotencyKey']}#retry#2"


def test_f_a_15_what_is_completed_is_not_retried(files: FileSite) -> None:
    """F-A.15, F-2.7, F-10.5."""
    execution = files.begun(files.pipeline(a_stage("only", 1)))
    files.ended(execution)
    for body in (None, {}, {"mode": "resume"}, {"mode": "rerun"}):
        answer = files.operator.post(f"/pipelines/executions/{execution}:retry", json=body)
        assert code_of(answer) == (409, "PP-409-STATE") and answer.json()["state"] == "COMPLETED"


def test_f_a_16_other_tenants_are_out_of_scope(files: FileSite) -> None:
    """F-A.16, F-6.6, F-9.8, F-10.2, F-10.3, F-X.22: by id and by tenantId 403, unknown 404, a list is one's own."""
    execution = files.begun(files.pipeline(a_stage("only", 1)))
    files.ended(execution)
    stranger, at = files.stranger("other"), f"/pipelines/executions/{execution}"
    assert stranger.get("/pipelines/executions").json()["total"] == 0
    assert code_of(stranger.get("/pipelines/executions", params={"tenantId": TENANT})) == (403, "PP-403-SCOPE")
    assert code_of(stranger.get("/pipelines/usage", params={"tenantId": TENANT})) == (403, "PP-403-SCOPE")
    for path in (at, f"{at}/logs", f"{at}/file", f"{at}/stages/only/output"):
        assert code_of(stranger.get(path)) == (403, "PP-403-SCOPE"), path
    for verb in ("cancel", "retry"):
        assert code_of(stranger.post(f"{at}:{verb}")) == (403, "PP-403-SCOPE")
    for unknown in ("01890000-0000-7000-8000-000000000000", "nothing", execution[:8], "a:b"):
        assert code_of(files.viewer.get(f"/pipelines/executions/{unknown}")) == (404, "PP-404-EXEC")
        assert code_of(files.operator.post(f"/pipelines/executions/{unknown}:cancel")) == (404, "PP-404-EXEC")
    sent = stranger.post("/pipelines/ingest", json=files.message("x/y.txt"))
    assert code_of(sent) == (403, "PP-403-SCOPE")


def test_f_6_6_organisations_are_apart(files: FileSite) -> None:
    """F-6.6, F-9.8, F-X.22: whoever belongs to one organisation lists, reads, steers and begins nothing of another."""
    code = files.pipeline(a_stage("only", 1))
    ours, theirs = (files.begun(code, f"{org}.txt", organizationId=org, traceId=f"{code}-{org}") for org in (7, 8))
    theirs_file = files.ended(theirs)["file"]["id"]
    files.ended(ours)
    made = files.admin.put("/users/seven@x", json={"name": "7", "roles": ["author"], "organization_id": 7})
    assert made.status_code in (200, 201), made.text
    assert files.admin.put("/users/eight@x", json={"roles": [], "organization_id": "8"}).status_code == 422
    token = files.admin.post("/keys", json={"name": "seven", "user": "seven@x"}).json()["token"]
    seven = files.server.client(key=token)
    listed = seven.get("/pipelines/executions", params={"pipeline": code}).json()
    assert [item["executionId"] for item in listed["items"]] == [ours] and listed["total"] == 1
    assert code_of(seven.get("/pipelines/executions", params={"orgId": 8})) == (403, "PP-403-SCOPE")
    assert seven.get("/pipelines/executions", params={"orgId": 7, "pipeline": code}).json()["total"] == 1
    at = f"/pipelines/executions/{theirs}"
    for path in (at, f"{at}/logs", f"{at}/file", f"{at}/stages/only/output"):
        assert code_of(seven.get(path)) == (403, "PP-403-SCOPE"), path
        assert seven.get(path.replace(theirs, ours)).status_code == 200, path
    for verb in ("cancel", "retry"):
        assert code_of(seven.post(f"{at}:{verb}")) == (403, "PP-403-SCOPE")
    for path in ("dlq", "overview", "metrics", "usage"):
        assert code_of(seven.get(f"/pipelines/{path}")) == (403, "PP-403-SCOPE"), f"{path} is of the whole tenant"
        assert files.viewer.get(f"/pipelines/{path}").status_code == 200, path
    assert code_of(seven.get(f"/pipelines/traces/{code}-8")) == (404, "PP-404-EXEC")
    (traced,) = seven.get(f"/pipelines/traces/{code}-7").json()["executions"]
    assert traced["executionId"] == ours
    for path in ("/runs", f"/runs/{theirs}", f"/runs/{theirs}/facts", "/home"):
        assert seven.get(path).status_code == 403, f"{path} knows no organisations"
    for verb in ("cancel", "retry"):
        assert seven.post(f"/runs/{theirs}/{verb}", json={}).status_code == 403
    message = files.message(f"{code}/more.txt")
    assert code_of(seven.post("/pipelines/ingest", json={**message, "organizationId": 8})) == (403, "PP-403-SCOPE")
    del message["organizationId"]
    (taken,) = seven.post("/pipelines/ingest", json=message).json()["files"]
    assert files.look(taken["executionIds"][0])["organizationId"] == 7
    begin = f"/pipelines/definitions/{code}/executions"
    assert code_of(seven.post(begin, json={"fileId": theirs_file})) == (403, "PP-403-SCOPE")
    hand = seven.post(begin, json={"bucket": "bkt", "key": f"{code}/more.txt", "organizationId": 8})
    assert code_of(hand) == (403, "PP-403-SCOPE")
    hand = seven.post(begin, json={"bucket": "bkt", "key": f"{code}/more.txt"})
    assert hand.status_code == 202 and files.look(hand.json()["executionId"])["organizationId"] == 7


def test_f_a_17_what_is_large_lies_in_the_bucket(files: FileSite) -> None:
    """F-A.17, F-7.3, F-9.7, F-X.16: a log holds the key; the object is readable, and its beginning alone."""
    data = bytes(range(256)) * 4 * 1024 * 5
    execution = files.begun(files.pipeline(a_stage("copy", 1)), data=data)
    files.ended(execution)
    answer = files.viewer.get(f"/pipelines/executions/{execution}/logs")
    (log,) = answer.json()["items"]
    assert len(log["outputRef"]) <= 512 and len(answer.content) < 4096
    assert log["outputRef"].startswith(f"tenants/{TENANT}/executions/{execution}/1-copy/1/output")
    assert (files.folder / "artifacts" / log["outputRef"]).read_bytes() == data
    got = files.viewer.get(f"/pipelines/executions/{execution}/stages/copy/output")
    assert got.status_code == 200 and got.content == data
    got = files.viewer.get(f"/pipelines/executions/{execution}/file", headers={"Range": "bytes=0-99"})
    assert got.status_code == 206 and got.content == data[:100]
    assert got.headers["content-range"] == f"bytes 0-99/{len(data)}"


def test_files_are_never_sent_as_something_that_runs(files: FileSite) -> None:
    """F-X.34: what browsers would run is shown as text, or kept; nothing is sniffed."""
    code = files.pipeline(a_stage("copy", 1))
    kinds = {
        "text/html": ("text/plain; charset=utf-8", "inline"), "image/svg+xml": ("text/plain; charset=utf-8", "inline"),
        "image/png": ("image/png", "inline"), "application/pdf": ("application/octet-stream", "attachment"),
        "application/x-msdownload": ("application/octet-stream", "attachment"),
    }  # fmt: skip
    for number, (mime, (sent, how)) in enumerate(kinds.items()):
        name = f'{number} "한\r\n.bin'.replace("\r\n", "x")
        execution = files.begun(code, name, b"<script>alert(1)</script>", mime=mime)
        files.ended(execution)
        got = files.viewer.get(f"/pipelines/executions/{execution}/file")
        assert got.headers["content-type"] == sent and got.headers["content-disposition"].startswith(how)
        assert (
            got.headers["x-content-type-options"] == "nosniff" and "sandbox" in got.headers["content-security-policy"]
        )
    got = files.viewer.get(f"/pipelines/executions/{execution}/file", params={"download": True})
    assert got.headers["content-disposition"].startswith("attachment; filename*=UTF-8''4%20%22%ED%95%9C")
    (files.bucket / f"{code}/{name}").unlink()
    assert code_of(files.viewer.get(f"/pipelines/executions/{execution}/file")) == (404, "PS-404-FILE")
    missing = files.viewer.get(f"/pipelines/executions/{execution}/stages/nothing/output")
    assert code_of(missing) == (404, "PS-404-FILE")


def test_who_may_not_is_refused(files: FileSite) -> None:
    """F-6.4, F-6.5, F-X.23: each permission is one's own: who may cancel may not retry."""
    execution = files.begun(files.pipeline(a_stage("only", 1)))
    files.ended(execution)
    for role in ("read", "cancel", "retry", "trigger", "admin"):
        done = files.admin.put(f"/roles/only_{role}", json={"permissions": [f"pipeline.{role}"]})
        assert done.status_code in (200, 201), done.text
        done = files.admin.put(f"/users/{role}@x", json={"name": role, "roles": [f"only_{role}"]})
        assert done.status_code in (200, 201), done.text
    clients = {
        role: files.server.client(
            key=files.admin.post("/keys", json={"name": role, "user": f"{role}@x"}).json()["token"]
        )
        for role in ("read", "cancel", "retry", "trigger", "admin")
    }
    at = f"/pipelines/executions/{execution}"
    asked: dict[str, Any] = {
        "read": lambda client: client.get(at), "cancel": lambda client: client.post(f"{at}:cancel"),
        "retry": lambda client: client.post(f"{at}:retry"),
        "trigger": lambda client: client.post("/pipelines/ingest", json={}),
    }  # fmt: skip
    for role, client in clients.items():
        for needs, ask in asked.items():
            assert (ask(client).status_code != 403) == (role == needs), (role, needs)


def test_bad_questions_have_a_code(files: FileSite) -> None:
    """F-10.1: what cannot be read is said, and never as an error of the server."""
    for asked in (
        {"page": -1}, {"page": "x"}, {"size": 0}, {"size": 101}, {"from": "garbage"}, {"to": "yesterday"},
        {"status": "DONE"}, {"orgId": "x"}, {"orgId": 2**70}, {"fileId": -1}, {"nothing": 1}, {"sort": "x"},
        {"from": "9999-99-99"}, {"text": "x" * 300}, {"tenantId": "x" * 60},
    ):  # fmt: skip
        answer = files.viewer.get("/pipelines/executions", params=asked)
        assert 400 <= answer.status_code < 500 and answer.json()["code"], (asked, answer.text)
    execution = files.begun(files.pipeline(a_stage("only", 1)))
    at = f"/pipelines/executions/{execution}"
    for body in (b"{", b"[]", b'"x"', b'{"mode": 3}', b'{"mode": "again"}', b'{"other": 1}', b"\xff"):
        answer = files.operator.post(f"{at}:retry", content=body, headers={"content-type": "application/json"})
        assert 400 <= answer.status_code < 500 and answer.json()["code"], (body, answer.text)
    wrong: tuple[Any, ...] = ({}, [], "x", 3, None, {"bucket": "b"}, {**files.message("k"), "size": -1}, [[]] * 3)
    for value in wrong:
        answer = files.operator.post("/pipelines/ingest", json=value)
        assert code_of(answer)[0] in (400, 422) and answer.json()["code"], (value, answer.text)
    assert code_of(files.operator.post("/pipelines/ingest", json={})) == (400, "PP-400-JSON")
    answer = files.operator.post("/pipelines/ingest", content=b"{no", headers={"content-type": "application/json"})
    assert code_of(answer) == (400, "PP-400-JSON")
    large = files.operator.post("/pipelines/ingest", json={**files.message("k"), "more": "x" * 20_000_000})
    assert large.status_code in (400, 413) and large.json()["code"]
