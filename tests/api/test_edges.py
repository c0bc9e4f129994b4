"""Requests at the edge of what can be meant: long and foreign names, HEAD, beginnings of ids, streams that outlive."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from urllib.parse import unquote

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from fastapi import FastAPI
from starlette.testclient import TestClient

from penstock.api import problems
from penstock.api.headers import EdgeMiddleware
from penstock.api.options import Options
from tests.api.places import ADMIN, MANAGER, in_force, settings
from tests.api.serving import ROOT, Server, serving, until
from tests.api.test_decision_words import waiting

LARGE = {"id": "wf_large", "version": 1, "nodes": [{"id": f"n{i}", "type": "WAIT"} for i in range(5001)], "edges": []}


def test_a_name_in_any_letters(dev: Server) -> None:
    """C-66: where a diagram with a Korean name is, is said in letters that a header may have."""
    text = (ROOT / "examples" / "diagram" / "diamond.yaml").read_text().replace("name: diamond", "name: 불량 점검")
    made = dev.client(ADMIN).post("/diagrams", json={"document": text})
    assert made.status_code == 201, made.text
    where = made.headers["location"]
    assert where.isascii() and unquote(where).endswith(f"/{made.json()['id']}/versions/{made.json()['version']}")
    assert httpx2.get(dev.url + where, cookies=dict(dev.client(ADMIN).cookies), timeout=60).status_code == 200


def test_a_path_that_no_file_has(dev: Server) -> None:
    """C-66: a name that is too long for a file is a view like any other, with the headers that browsers obey."""
    for path in ("a" * 300, "a" * 300 + "/b", "a" * 5000):
        answer = httpx2.get(f"{dev.url}/{path}", timeout=60)
        assert answer.status_code == 200 and answer.headers["x-frame-options"] == "DENY", path[:20]


def test_an_unexpected_error_has_all_headers() -> None:
    """C-66: a bug is a problem with a trace id and the headers that browsers obey, and promises nothing."""
    app = FastAPI()
    problems.install(app)

    @app.get("/bug")
    async def bug() -> None:
        raise RuntimeError("unexpected")

    app.add_middleware(EdgeMiddleware, options=Options())
    answer = TestClient(app, raise_server_exceptions=False).get("/bug")
    assert answer.status_code == 500 and answer.json()["code"] == "PS-500"
    assert answer.headers["x-frame-options"] == "DENY" and "content-security-policy" in answer.headers
    assert answer.headers["x-trace-id"] == answer.json()["trace_id"]
    assert "unexpected" not in answer.text.replace("unexpected went", "") and "was done." not in answer.json()["hint"]


def test_head_where_get_is(dev: Server) -> None:
    """C-66: HEAD has the status and the headers of GET, without a body; a stream does not hold it."""
    admin = dev.client(ADMIN)
    for path in ("/me", "/definitions", "/health", "/runs/nothing"):
        got, head = admin.get(path), admin.head(path)
        assert (head.status_code, head.content) == (got.status_code, b""), path
        assert head.headers["content-type"] == got.headers["content-type"]
    assert admin.head("/stream").status_code == 200
    assert httpx2.head(f"{dev.url}/", timeout=60).status_code == 200 and admin.head("/runs:batch").status_code in (
        404,
        405,
    )


def test_who_steers_names_the_whole_run(dev: Server) -> None:
    """C-66: a beginning of an id is enough to look, and never to change anything."""
    admin = dev.client(ADMIN)
    name = in_force(admin, dev.client(MANAGER), waiting("wf_whole"))
    run = admin.post("/runs", json={"definition": name}).json()["id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    part = run[:-1]
    assert admin.get(f"/runs/{part}").status_code == 200
    for path, body in (
        (f"/runs/{part}/cancel", {}), (f"/runs/{part}/pause", {}), (f"/runs/{part}/fork", {"fact": 1}),
        (f"/instances/{part}/cancel", {}), (f"/dlq/{part}/replay", {}),
        ("/runs:batch", {"verb": "cancel", "ids": [part], "dry_run": False}),
    ):  # fmt: skip
        assert admin.post(path, json=body).status_code == 404, path
    assert admin.get(f"/runs/{run}").json()["state"] == "WAITING"
    assert admin.post(f"/runs/{run}/cancel", json={}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        '{"definition":"a","definition":"b"}',
        '{"definition":"a","input":{"x":[{"y":1,"y":1}]}}',
        '{"key":1,"\\u006bey":2}',
    ],
)
def test_a_member_is_there_once(dev: Server, body: str) -> None:
    """C-66: what one reader takes for the first and another for the last is refused."""
    answer = dev.client(ADMIN).post("/runs", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "PS-400-JSON") and "twice" in answer.json()["detail"]


def test_large_documents_are_not_looked_at(dev: Server) -> None:
    """C-66: too many bytes or nodes are 413 at every route that checks, as text too."""
    admin, long = dev.client(ADMIN), "# " + "x" * (2 * 1024 * 1024)
    for document in (LARGE, json.dumps(LARGE), long):
        assert admin.post("/definitions/check", json={"document": document}).status_code == 413
        assert admin.post("/diagrams:validate", json={"document": document}).status_code == 413
    assert admin.post("/workflows/validate", json={"dsl": LARGE}).status_code == 413
    told = admin.post("/definitions/check", json={"document": json.dumps(waiting("wf_ok"))}).json()
    assert told["ok"] and told["language"] == "decision"


def test_a_number_of_many_digits(dev: Server) -> None:
    """C-66: where a reader stopped is a number, and one that cannot be is no error of ours."""
    admin = dev.client(ADMIN)
    with admin.stream("GET", "/stream") as first:
        boot = next(line for line in first.iter_lines() if line.startswith("id: "))[4:].partition("-")[0]
    with admin.stream("GET", "/stream", headers={"Last-Event-ID": f"{boot}-{'9' * 5000}"}) as told:
        assert told.status_code == 200 and "event: reset" in next(told.iter_lines())


def test_streams_tell_moments_as_answers_do(dev: Server) -> None:
    """C-66: ISO 8601 in UTC, in the events of a run and in the tenant's news, and no other form."""
    admin = dev.client(ADMIN)
    name = in_force(admin, dev.client(MANAGER), waiting("wf_moments"))
    with admin.stream("GET", "/stream") as news:
        lines = news.iter_lines()
        next(lines)  # it listens
        run = admin.post("/runs", json={"definition": name}).json()["id"]
        told = next(line for line in lines if line.startswith("data: ") and run in line)
    with admin.stream("GET", f"/runs/{run}/events") as events:
        first = next(line for line in events.iter_lines() if line.startswith("data: "))
    for line in (told, first):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", json.loads(line[6:])["at"]), line


def test_a_stream_ends_with_its_key(dev: Server) -> None:
    """C-66: a revoked key hears nothing after the next ping, of the tenant and of a run."""
    admin = dev.client(ADMIN)
    name = in_force(admin, dev.client(MANAGER), waiting("wf_streamed"))
    run = admin.post("/runs", json={"definition": name}).json()["id"]
    made = admin.post("/keys", json={"name": "s", "user": "s", "roles": ["viewer"]}).json()
    mine = dev.client(key=made["token"])
    with mine.stream("GET", "/stream") as news, mine.stream("GET", f"/runs/{run}/events") as events:
        assert (news.status_code, events.status_code) == (200, 200)
        assert admin.delete(f"/keys/{made['id']}").status_code == 204
        for _ in news.iter_lines():
            pass
        for _ in events.iter_lines():
            pass


def test_a_session_of_the_companys_sign_in(tmp_path: Path) -> None:
    """C-66: a JWT opens the console, with its roles, until it ends; a wrong one does not."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = {**jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "k"}
    settings(tmp_path, '[jwt]\nissuer = "https://i"\naudience = "p"\njwks = "jwks.json"\n')
    (tmp_path / "s" / "jwks.json").write_text(json.dumps({"keys": [public]}))

    def token(seconds: float, **more: object) -> str:
        said = {"iss": "https://i", "aud": "p", "exp": int(time.time() + seconds), "tenant": "tenant_001", "sub": "kim"}
        return jwt.encode({**said, "roles": ["viewer"], **more}, key, "ES256", headers={"kid": "k"})

    with serving(tmp_path, "serve") as server:
        browser = server.client()
        assert browser.post("/session", json={"token": token(300)}).status_code == 204
        me = browser.get("/me").json()
        assert (me["user"], me["tenant"], me["roles"]) == ("kim", "tenant_001", ["viewer"])
        assert browser.post("/runs", json={"definition": "x"}).status_code == 403
        for seconds in (3, 30):  # on a busy machine it may end before it was used
            short = server.client()
            if {short.post("/session", json={"token": token(seconds)}).status_code, short.get("/me").status_code} == {
                204,
                200,
            }:
                break
        else:
            raise AssertionError("a session that ends soon does not open")
        until(lambda: short.get("/me").status_code, lambda status: status == 401)
        for wrong, status in (({"token": "abc"}, 401), ({"token": token(-120)}, 401), ({}, 422),
                              ({"token": token(300), "key": "x"}, 422),
                              ({"token": token(300, roles=["r" * 50] * 100)}, 401)):  # fmt: skip
            assert server.client().post("/session", json=wrong).status_code == status
