"""Bodies that are made up to reach what they should not: references to others' values, hashes, keys of others."""

from __future__ import annotations

import hashlib
import socket
from typing import Any

import httpx2
import msgspec
import pytest

from penstock.app.access.audit import AuditLog
from tests.api.places import ADMIN, OPERATOR, in_force
from tests.api.serving import Server, until

LARGE = "x" * 70_000 + "canary-4c1f"


def drawn(who: httpx2.Client, name: str, *nodes: dict[str, Any]) -> str:
    """A diagram of nodes in a row; a run of it."""
    row = [{"label": "Start", "type": "start"}, *nodes, {"label": "End", "type": "endpoint"}]
    edges = [{"from": a["label"], "to": b["label"]} for a, b in zip(row, row[1:], strict=False)]
    document = {"version": "light", "name": name, "nodes": row, "connections": edges}
    made = who.post("/diagrams", json={"document": document})
    assert made.status_code == 201, made.text
    return str(who.post(f"/diagrams/{name}/runs", json={}).json()["run_id"])


def ended(who: httpx2.Client, run: str) -> dict[str, Any]:
    found: dict[str, Any] = until(
        lambda: who.get(f"/runs/{run}").json(), lambda one: one["state"] in ("COMPLETED", "FAILED")
    )
    return found


@pytest.fixture(scope="module")
def neighbour(dev: Server) -> httpx2.Client:
    made = dev.client(ADMIN).post("/tenants", json={"id": "bodies", "name": "B", "admin": "boss@bodies"})
    return dev.client(key=made.json()["token"])


def test_no_body_names_a_stored_value(dev: Server, neighbour: httpx2.Client) -> None:
    """Z11: neither by the name that another tenant's facts have, nor by one that is made of the value itself."""
    admin = dev.client(ADMIN)
    run = drawn(admin, "large", {"label": "N", "type": "template_job", "template": LARGE})
    assert ended(admin, run)["output"] == {"End": LARGE}
    facts = admin.get(f"/runs/{run}/facts?limit=200").json()["items"]
    (name,) = {one["data"]["output"]["$blob"] for one in facts if isinstance(one["data"].get("output"), dict)}
    asked = drawn(neighbour, "ask", {"label": "N", "type": "user_response", "prompt": "?"})
    until(lambda: neighbour.get(f"/runs/{asked}").json()["state"], lambda state: state == "WAITING")
    for digest in (name, hashlib.sha256(msgspec.msgpack.encode(LARGE)).hexdigest(), "0" * 64, [1]):
        forged = {"$blob": digest, "size": 1}
        for path, body in (
            ("/diagrams/ask/runs", {"inputs": forged}), ("/runs", {"definition": "ask", "input": {"a": [forged]}}),
            (f"/inbox/{asked}/N/respond", {"value": forged}), ("/runs:batch", {"verb": "signal", "payload": forged}),
            (f"/runs/{asked}/signal", {"name": "x", "payload": forged}),
            ("/events", {"source": "x", "payload": forged}),
        ):  # fmt: skip
            told = neighbour.post(path, json=body)
            assert told.status_code == 400 and "canary" not in told.text, f"{path} {told.text}"
    escaped = neighbour.post(
        f"/inbox/{asked}/N/respond", content=f'{{"value": {{"\\u0024blob": "{name}", "size": 1}}}}',
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert escaped.status_code == 400


def test_no_document_names_a_stored_value(dev: Server, neighbour: httpx2.Client) -> None:
    """Z11: a value that a document makes by itself is that value."""
    admin = dev.client(ADMIN)
    run = drawn(admin, "larger", {"label": "N", "type": "template_job", "template": LARGE + "2"})
    ended(admin, run)
    facts = admin.get(f"/runs/{run}/facts?limit=200").json()["items"]
    (name,) = {one["data"]["output"]["$blob"] for one in facts if isinstance(one["data"].get("output"), dict)}
    forged = {"$blob": name, "size": 1}
    schema = {"type": "object", "properties": {"x": {"type": "object", "default": forged}}}
    document = {
        "id": "w_forge", "version": 1, "input_schema": schema, "edges": [],
        "nodes": [{"id": "n", "type": "WAIT", "condition": {"type": "manual"}}],
        "context": {"variables": {"y": forged}},
    }  # fmt: skip
    in_force(neighbour, neighbour, document)
    begun = neighbour.post("/runs", json={"definition": "w_forge", "input": {}}).json()["id"]
    until(lambda: neighbour.get(f"/runs/{begun}").json()["state"], lambda state: state == "WAITING")
    for view in ("", "/facts", "/trace", "/graph"):
        told = neighbour.get(f"/runs/{begun}{view}")
        assert told.status_code == 200 and "canary" not in told.text, view


def test_an_etag_tells_nothing_of_a_secret(dev: Server) -> None:
    """Z10: whoever may read a connection could else try what its password is, without asking anybody."""
    admin, body = dev.client(ADMIN), {"type": "http", "base_url": "https://example.com", "password": "hunter2"}
    tag = admin.put("/connections/tagged", json=body).headers["ETag"]
    assert admin.get("/connections/tagged").json()["body"]["password"] == "***"
    for packed in (msgspec.msgpack.encode(body), msgspec.json.encode(body)):
        for size in (8, 12):
            assert hashlib.blake2b(packed, digest_size=size).hexdigest() not in tag
    other = {**body, "base_url": "https://example.org"}
    assert admin.put("/connections/tagged", json=other, headers={"If-Match": tag}).status_code == 200
    stale = admin.put("/connections/tagged", json=body, headers={"If-Match": tag})
    assert stale.status_code == 412


def test_an_idempotency_key_is_one_tenants_and_one_users(dev: Server, neighbour: httpx2.Client) -> None:
    """C-66: the same key of somebody else shows nobody an answer."""
    admin, operator, key = dev.client(ADMIN), dev.client(OPERATOR), {"Idempotency-Key": "k-of-mine"}
    body = {"id": "e1", "source": "lab", "payload": {"n": 1}}
    first = admin.post("/events", json=body, headers=key)
    assert first.status_code in (200, 201, 202), first.text
    assert admin.post("/events", json=body, headers=key).headers["Idempotency-Replayed"] == "true"
    theirs = operator.post("/events", json=body, headers=key)
    assert theirs.status_code == 422 or theirs.status_code == 409
    assert first.text not in theirs.text
    other = neighbour.post("/events", json=body, headers=key)
    assert other.status_code == first.status_code and "Idempotency-Replayed" not in other.headers


# ---- what the server does with them ----------------------------------------------------------------------------------


def test_an_entry_looks_at_no_more_than_it_keeps() -> None:
    """Z20, Z23: a body of very many values costs the audit as little as it has room for; what it holds is masked."""
    looked: list[str] = []

    class Counted(dict[str, Any]):
        def items(self) -> Any:
            looked.append("")
            return super().items()

    many = [Counted(password="hunter2", n=n) for n in range(100_000)]
    row = AuditLog(None).row("t", "kim", "POST /events", "events", {"payload": many})  # type: ignore[arg-type]
    assert len(looked) < 10_000 and len(row.body) <= 16_384
    assert b"hunter2" not in row.body and b'"cut"' in row.body
    ones = AuditLog(None).row("t", "kim", "POST /events", "events", [1] * 5000)  # type: ignore[arg-type]
    assert b"after 4096 values" in ones.body
    small = AuditLog(None).row("t", "kim", "POST /events", "events", {"a": [1, {"token": "abc"}]})  # type: ignore[arg-type]
    assert msgspec.json.decode(small.body) == {"a": [1, {"token": "***"}]}


@pytest.mark.parametrize("at", [32_768 - 30, 32_768 - 10, 32_768 - 600, 10])
def test_a_text_that_is_cut_holds_no_half_secret(at: int) -> None:
    """Z10: wherever the end of what is kept falls."""
    secrets = f"https://kim:hunter2-canary@example.com/ ps_0123456789abcdef_{'Z' * 43}"
    text = "x " * (at // 2) + secrets + " y" * 60_000
    row = AuditLog(None).row("t", "kim", "POST /events", "events", [text, "end"])  # type: ignore[arg-type]
    assert b"hunter2" not in row.body and b"ZZZZ" not in row.body and len(row.body) <= 16_384


def sent(dev: Server, *lines: str, body: bytes = b"") -> bytes:
    """The first line of the answer to a request that is written by hand."""
    with socket.create_connection(("127.0.0.1", dev.port)) as wire:
        wire.settimeout(20)
        wire.sendall("\r\n".join((*lines, "", "")).encode() + body)
        with wire.makefile("rb") as said:
            return said.readline().strip()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost:80@evil.example", "evil.example:localhost", "localhost/evil", "[::1", ":80", "@"],
)
def test_a_host_is_known_whole(dev: Server, host: str) -> None:
    """Z22: DNS rebinding; what only looks like our name is another's."""
    assert sent(dev, "GET /api/v1/health HTTP/1.1", f"Host: {host}").startswith(b"HTTP/1.1 400")
    for good in ("localhost", "LocalHost:1234", "127.0.0.1:80", "[::1]:8080", "[::1]"):
        assert sent(dev, "GET /api/v1/health HTTP/1.1", f"Host: {good}").startswith(b"HTTP/1.1 200"), good


def test_a_body_has_one_length(dev: Server) -> None:
    """Z18: a request within a request, where a proxy would have seen one."""
    inner = b"0\r\n\r\nGET /api/v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lines = ("POST /api/v1/events HTTP/1.1", "Host: localhost", f"Content-Length: {len(inner)}")
    assert sent(dev, *lines, "Transfer-Encoding: chunked", body=inner).startswith(b"HTTP/1.1 400")
