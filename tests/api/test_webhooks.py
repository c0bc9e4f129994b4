"""Webhooks over HTTP: who gets in, how often, and that one request starts one run."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.api.serving import Server
from tests.api.test_decision_words import in_force

ADMIN, VIEWER = "admin@example.com", "viewer@example.com"
SECRET = "whsec-3f9c1b7a"


def hook(id: str, version: int = 1, **config: Any) -> dict[str, Any]:
    return {
        "id": id, "name": id, "version": version, "trigger": {"type": "webhook", "config": config},
        "input_schema": {
            "type": "object", "properties": {"line_id": {"type": "string"}, "n": {"type": "integer", "default": 7}},
            "required": ["line_id"],
        },
        "nodes": [{"id": "wait_go", "type": "WAIT", "condition": {"type": "manual"}}], "edges": [],
    }  # fmt: skip


@pytest.fixture(scope="module")
def key(dev: Server) -> str:
    """A key that may start runs and nothing else."""
    made = dev.client(ADMIN).post("/keys", json={"name": "hooks", "user": ADMIN, "scopes": ["run.start"]})
    return str(made.json()["token"])


@pytest.fixture(scope="module")
def name(dev: Server) -> str:
    done = dev.client(ADMIN).put("/secrets/webhook_wf_hook", json={"value": SECRET})
    assert done.status_code == 204
    return in_force(dev, hook("wf_hook", auth="bearer_token"))


def _runs(dev: Server, name: str) -> int:
    return len(dev.client(ADMIN).get(f"/runs?name={name}&limit=200").json()["items"])


def _post(dev: Server, path: str, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx2.post(
        f"{dev.url}{path}", content=content, headers={"Content-Type": "application/json", **headers}, timeout=60
    )


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_token_starts_it_and_its_input_is_the_body(dev: Server, key: str, name: str) -> None:
    """W-3.2.4, W-3.2.6, W-3.2.7, W-3.2.8: 202 with instance_id; a wrong body is 422 and starts nothing."""
    path = f"/api/v1/workflows/{name}/trigger"
    done = _post(dev, path, {"line_id": "L01"}, **_bearer(key))
    assert done.status_code == 202, done.text
    found = dev.client(ADMIN).get(f"/instances/{done.json()['instance_id']}").json()
    assert found["input"] == {"line_id": "L01", "n": 7} and found["trigger"]["type"] == "webhook"
    alias = _post(dev, path.replace("/api/v1", "/api"), {"line_id": "L02"}, **_bearer(key))
    assert alias.status_code == 202, alias.text
    before = _runs(dev, name)
    refused = _post(dev, path, {"line": "L01"}, **_bearer(key))
    assert refused.status_code == 422 and refused.json()["code"] == "INPUT_INVALID"
    assert _post(dev, path, b"{", **_bearer(key)).status_code == 400
    assert _post(dev, path, b"<a/>", **{**_bearer(key), "Content-Type": "text/xml"}).status_code == 415
    assert _runs(dev, name) == before


def test_who_has_no_good_token_is_refused(dev: Server, key: str, name: str) -> None:
    """W-3.2.4: missing and wrong tokens are 401, one without the permission 403; nothing starts."""
    path, body, before = f"/api/v1/workflows/{name}/trigger", {"line_id": "L01"}, _runs(dev, name)
    viewer = dev.client(ADMIN).post("/keys", json={"name": "v", "user": VIEWER}).json()["token"]
    cases = [
        ({}, 401), (_bearer("nonsense"), 401), (_bearer(SECRET[:-1]), 401), (_bearer(key[:-1] + "~"), 401),
        ({"Authorization": "Basic eDp5"}, 401), (_bearer(viewer), 403),
        ({**_bearer(SECRET), "X-Penstock-Tenant": "another"}, 401),
    ]  # fmt: skip
    for headers, status in cases:
        answer = _post(dev, path, body, **headers)
        assert answer.status_code == status, f"{headers} {answer.text}"
        assert answer.headers["content-type"] == "application/problem+json"
    assert _post(dev, "/api/v1/workflows/nothing/trigger", body).status_code == 401
    assert _post(dev, "/api/v1/workflows/nothing/trigger", body, **_bearer(key)).status_code == 404
    assert _runs(dev, name) == before
    assert _post(dev, path, body, **_bearer(SECRET)).status_code == 202, "the tenant's own secret is a token"


def _signed(body: bytes, id: str, at: int | None = None, secret: str = SECRET) -> dict[str, str]:
    moment = str(int(time.time()) if at is None else at)
    mark = hmac.digest(secret.encode(), f"{id}.{moment}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": id, "webhook-timestamp": moment, "webhook-signature": f"v1,{base64.b64encode(mark).decode()}"
    }  # fmt: skip


def _plain(body: bytes, path: str, method: str = "POST", secret: str = SECRET) -> dict[str, str]:
    moment = str(int(time.time()))
    mark = hmac.digest(secret.encode(), f"{moment}.{method}.{path}.".encode() + body, hashlib.sha256).hex()
    return {"X-Timestamp": moment, "X-Signature": f"sha256={mark}"}


def test_what_was_signed_for_one_webhook_is_not_done_by_another(dev: Server) -> None:
    """W-3.2.4: with one secret for all, a request that is sent again to another path starts nothing there."""
    assert dev.client(ADMIN).put("/secrets/webhook", json={"value": "whsec-of-all"}).status_code == 204
    first, second = (in_force(dev, hook(name)) for name in ("wf_hook_a", "wf_hook_b"))
    a, b = (f"/api/v1/workflows/{name}/trigger" for name in (first, second))
    body = b'{"line_id":"L01"}'
    plain, standard = _plain(body, a, secret="whsec-of-all"), _signed(body, "evt-of-a", secret="whsec-of-all")
    for headers, status in ((plain, 401), (standard, 409)):
        assert _post(dev, a, body, **headers).status_code == 202
        assert _post(dev, b, body, **headers).status_code == status
    assert _post(dev, f"{a}?parent_instance_id=x", body, **plain).status_code == 401, "the query is signed, too"
    assert (_runs(dev, first), _runs(dev, second)) == (2, 0)
    assert dev.client(ADMIN).delete("/secrets/webhook").status_code == 204


def test_a_signature_must_be_right_and_fresh(dev: Server, name: str) -> None:
    """W-3.2.4: HMAC over id, time and body; every way to get it wrong is 401 and starts nothing."""
    path, body, now = f"/api/v1/workflows/{name}/trigger", b'{"line_id":"L01"}', int(time.time())
    good, before = _signed(body, "evt-1"), _runs(dev, name)
    wrong: list[tuple[bytes, dict[str, str]]] = [
        (body + b" ", good), (body, {**good, "webhook-id": "evt-2"}),
        (body, {**good, "webhook-timestamp": str(now + 1)}), (body, _signed(body, "evt-1", now - 301)),
        (body, _signed(body, "evt-1", now + 900)), (body, _signed(body, "evt-1", secret="another")),
        (body, {**good, "webhook-signature": ""}), (body, {**good, "webhook-signature": good["webhook-signature"][3:]}),
        (body, {**good, "webhook-timestamp": "soon"}), (body, {**_signed(body, "")}),
        (body, {**good, "webhook-signature": good["webhook-signature"].replace("v1", "v2")}),
        (body, {**good, "X-Penstock-Tenant": "another"}),
    ]  # fmt: skip
    for text, headers in wrong:
        answer = _post(dev, path, text, **headers)
        assert answer.status_code == 401 and answer.json()["code"] == "PS-401-SIGNATURE", f"{headers} {answer.text}"
    assert _runs(dev, name) == before
    assert _post(dev, path, body, **good).status_code == 202
    rotating = {**good, "webhook-id": "evt-3"}
    rotating["webhook-signature"] = (
        f"v1,b2xk {_signed(body, 'evt-3', int(good['webhook-timestamp']))['webhook-signature']}"
    )
    assert _post(dev, path, body, **rotating).status_code == 202, "one of several is enough while a secret changes"


def test_the_same_request_again_starts_nothing(dev: Server, key: str, name: str) -> None:
    """W-3.2.4, C-74: a replayed signature, at once and later, and one Idempotency-Key, are one run."""
    path, body, before = f"/api/v1/workflows/{name}/trigger", b'{"line_id":"L09"}', _runs(dev, name)
    headers = _signed(body, "evt-replayed")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: _post(dev, path, body, **headers), range(60)))
    assert {one.status_code for one in answers} == {202}
    assert len({one.json()["instance_id"] for one in answers}) == 1 and not answers[-1].json()["new"]
    plain = _plain(body, path)
    assert len({_post(dev, path, body, **plain).json()["instance_id"] for _ in range(3)}) == 1
    keyed = {**_bearer(key), "Idempotency-Key": "order-77"}
    assert len({_post(dev, path, body, **keyed).json()["instance_id"] for _ in range(3)}) == 1
    assert _runs(dev, name) == before + 3
    other = _post(dev, path, {"line_id": "L10"}, **keyed)
    assert other.status_code == 409, other.text


def test_the_rate_is_counted_per_workflow(dev: Server, key: str) -> None:
    """W-3.2.4: over rate_limit is 429 with Retry-After, and another workflow is not concerned."""
    slow = in_force(dev, hook("wf_slow", rate_limit={"requests": 3, "window_sec": 3600}))
    quick = in_force(dev, hook("wf_quick", rate_limit={"requests": 3, "window_sec": 3600}))
    path, body = f"/api/v1/workflows/{slow}/trigger", {"line_id": "L01"}
    answers = [_post(dev, path, body, **_bearer(key)) for _ in range(5)]
    assert [one.status_code for one in answers] == [202, 202, 202, 429, 429]
    assert 3500 < int(answers[-1].headers["retry-after"]) <= 3600 and answers[-1].json()["code"] == "PS-429-RATE"
    assert _post(dev, f"/api/v1/workflows/{quick}/trigger", body, **_bearer(key)).status_code == 202
    assert _runs(dev, slow) == 3


def test_a_path_of_its_own_and_another_method(dev: Server, key: str) -> None:
    """W-3.2.4, W-3.2.8: the trigger's own path and method; it goes with the version that is in force."""
    name = in_force(dev, hook("wf_path", path="/hooks/{workflow_id}/in", method="PUT"))
    body = {"line_id": "L01"}
    put = httpx2.put(f"{dev.url}/hooks/wf_path/in", json=body, headers=_bearer(key), timeout=60)
    assert put.status_code == 202, put.text
    assert httpx2.post(f"{dev.url}/hooks/wf_path/in", json=body, headers=_bearer(key), timeout=60).status_code == 404
    assert httpx2.put(f"{dev.url}/hooks/wf_path/in", json=body, timeout=60).status_code == 401
    assert _post(dev, "/api/v1/workflows/wf_path/trigger", body, **_bearer(key)).status_code == 404
    assert dev.client(ADMIN).post(f"/workflows/{name}/versions/1/deprecate").status_code == 200
    assert httpx2.put(f"{dev.url}/hooks/wf_path/in", json=body, headers=_bearer(key), timeout=60).status_code == 404
    taken = httpx2.put(f"{dev.url}/api/v1/health", json=body, headers=_bearer(key), timeout=60)
    assert taken.status_code == 405 and taken.headers["allow"] == "GET"


def test_a_workflow_is_a_part_of_another(dev: Server, key: str, name: str) -> None:
    """C-18: the trigger takes parent_instance_id, of the tenant's own instances only."""
    path = f"/api/v1/workflows/{name}/trigger"
    parent = _post(dev, path, {"line_id": "L01"}, **_bearer(key)).json()["instance_id"]
    for child in (
        _post(dev, f"{path}?parent_instance_id={parent}", {"line_id": "L01"}, **_bearer(key)),
        _post(dev, path, {"line_id": "L01", "parent_instance_id": parent}, **_bearer(key)),
    ):
        found = dev.client(ADMIN).get(f"/instances/{child.json()['instance_id']}").json()
        assert found["parent_instance_id"] == parent and "parent_instance_id" not in found["input"]
    assert _post(dev, f"{path}?parent_instance_id=nobody", {"line_id": "L01"}, **_bearer(key)).status_code == 404


def test_a_webhook_is_in_the_audit_without_secrets(dev: Server, name: str) -> None:
    """C-29: who called is written down; the token and the signature are not."""
    assert _post(dev, f"/api/v1/workflows/{name}/trigger", {"line_id": "L01"}, **_bearer(SECRET)).status_code == 202
    entries = dev.client(ADMIN).get(f"/audit?actor=webhook:{name}").json()["items"]
    assert entries and SECRET not in json.dumps(dev.client(ADMIN).get("/audit?limit=200").json())
