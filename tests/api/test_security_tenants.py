"""Tenants of one server: which of them there are, what the operator lends to whom, and that nobody borrows the rest."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.app.penstock import Penstock
from tests.api.places import calling, in_force, place, settings
from tests.api.serving import Server, serving, until
from tests.executors.bench import Server as Place

CANARY, LENT = "canary-9d2e-operators", "canary-9d2e-lent"
KEY = ec.generate_private_key(ec.SECP256R1())
SETTINGS = f"""
[http]
allow = ["127.0.0.1"]

[secrets]
hook_token = "{CANARY}"
lent_token = "{LENT}"
webhook = "{CANARY}"

[tenants.other]
secrets = ["lent_token"]

[jwt]
issuer = "https://i"
audience = "p"
jwks = "jwks.json"
"""


class World:
    """A server with its operator and a neighbour, and a place that hears what documents send."""

    def __init__(self, server: Server, heard: Place) -> None:
        self.server, self.heard = server, heard
        self.operator = server.client(key=Path(server.store).with_name("penstock.db.admin-key").read_text().strip())
        made = self.operator.post("/tenants", json={"id": "other", "name": "Other", "admin": "boss@other"})
        assert made.status_code == 201, made.text
        self.token = str(made.json()["token"])
        self.boss = server.client(key=self.token)

    def sent(self, who: httpx2.Client, id: str, **config: Any) -> dict[str, Any]:
        """The end of a run that sends one webhook."""
        in_force(who, who, calling(self.heard.url, id, **config))
        run = who.post("/runs", json={"definition": id, "input": {}}).json()["id"]
        look: dict[str, Any] = until(
            lambda: who.get(f"/runs/{run}").json(), lambda one: one["state"] in ("COMPLETED", "FAILED")
        )
        return look

    @property
    def said(self) -> str:
        return "".join(json.dumps(one.headers) + one.body.decode() for one in self.heard.seen)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("tenants")
    settings(folder, SETTINGS)
    public = {**jwt.algorithms.ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "k"}
    (folder / "s" / "jwks.json").write_text(json.dumps({"keys": [public]}))
    heard = place()
    with serving(folder, "serve", env={"PENSTOCK_SECRET_ENV_TOKEN": CANARY}) as server:
        yield World(server, heard)
    heard.close()


def header(name: str) -> dict[str, Any]:
    return {"headers": {"X-Token": f"${{secrets.{name}}}"}}


@pytest.mark.parametrize("name", ["hook_token", "env_token", "ENV_TOKEN"])
def test_no_tenant_uses_a_secret_of_the_operators(world: World, name: str) -> None:
    """C-63, C-66: neither one of the settings nor one of the environment; a diagram gets it no more than a workflow."""
    id = f"{name.lower()}_{name.isupper():d}"
    look = world.sent(world.boss, f"w_{id}", **header(name))
    assert look["state"] == "FAILED" and look["failure"]["code"] == "SECRET_NOT_FOUND", look
    nodes = [
        {"label": "Start", "type": "start"}, {"label": "N", "type": "api_job", "url": world.heard.url, **header(name)},
        {"label": "End", "type": "endpoint"},
    ]  # fmt: skip
    edges = [{"from": "Start", "to": "N"}, {"from": "N", "to": "End"}]
    document = {"version": "light", "name": f"d_{id}", "nodes": nodes, "connections": edges}
    assert world.boss.post("/diagrams", json={"document": document}).status_code == 201
    run = world.boss.post(f"/diagrams/d_{id}/runs", json={}).json()["run_id"]
    look = until(lambda: world.boss.get(f"/runs/{run}").json(), lambda one: one["state"] in ("COMPLETED", "FAILED"))
    assert look["state"] == "FAILED" and look["failure"]["code"] == "SECRET_NOT_FOUND", look
    assert CANARY not in world.said


def test_no_document_names_the_place_of_a_secret_of_the_operators(world: World) -> None:
    """C-63: `env:` and its like are the operator's places."""
    document = calling(world.heard.url, "w_place", **header("mine"))
    document["context"] = {"secrets": {"mine": "env:PENSTOCK_SECRET_ENV_TOKEN"}}
    in_force(world.boss, world.boss, document)
    run = world.boss.post("/runs", json={"definition": "w_place", "input": {}}).json()["id"]
    look = until(lambda: world.boss.get(f"/runs/{run}").json(), lambda one: one["state"] in ("COMPLETED", "FAILED"))
    assert look["state"] == "FAILED" and CANARY not in world.said
    made = world.boss.put("/connections/c", json={"type": "http", "base_url": world.heard.url, "secret": "env:PATH"})
    assert made.status_code == 200


def test_what_is_lent_is_used(world: World) -> None:
    """C-63: by the tenant that is named, and by the server's own."""
    assert world.sent(world.boss, "w_lent", **header("lent_token"))["state"] == "COMPLETED"
    assert world.sent(world.operator, "w_own", **header("lent_token"))["state"] == "COMPLETED"
    assert world.said.count(LENT) == 2
    assert world.boss.put("/secrets/hook_token", json={"value": "their-own-9d2e"}).status_code == 204
    assert world.sent(world.boss, "w_theirs", **header("hook_token"))["state"] == "COMPLETED"
    assert "their-own-9d2e" in world.said
    assert world.boss.delete("/secrets/hook_token").status_code == 204


def test_no_webhook_of_a_tenant_opens_with_the_operators_secret(world: World) -> None:
    """W-3.2.4: the secret «webhook» of the settings is the server's own tenant's."""
    node = {"id": "wait_go", "type": "WAIT", "condition": {"type": "manual"}}
    document = {
        "id": "w_hook", "version": 1, "trigger": {"type": "webhook", "config": {"auth": "bearer_token"}},
        "nodes": [node], "edges": [],
    }  # fmt: skip
    for who, tenant, status in ((world.boss, "other", 401), (world.operator, "tenant_001", 202)):
        in_force(who, who, document)
        headers = {"Authorization": f"Bearer {CANARY}", "X-Penstock-Tenant": tenant}
        path = f"{world.server.url}/api/v1/workflows/w_hook/trigger"
        assert httpx2.post(path, json={}, headers=headers, timeout=60).status_code == status


# ---- tenants that a token names --------------------------------------------------------------------------------------


def token(tenant: str, **more: Any) -> str:
    said = {"iss": "https://i", "aud": "p", "exp": int(time.time()) + 300, "tenant": tenant, "sub": "kim"}
    return jwt.encode({**said, "roles": ["admin"], **more}, KEY, "ES256", headers={"kid": "k"})


@pytest.mark.parametrize("tenant", ["nowhere", "OTHER", "other ", "../other", "tenant_001\n", "*"])
def test_a_token_makes_no_tenant(world: World, tenant: str) -> None:
    """Z11, Z17: whoever signs tokens knows people; which tenants there are is told by the server."""
    mine = world.server.client(key=token(tenant))
    refused = mine.get("/me")
    assert (refused.status_code, refused.json()["code"]) == (403, "PS-403-TENANT")
    assert mine.put("/users/x", json={"roles": ["admin"]}).status_code == 403
    assert world.server.client().post("/session", json={"token": token(tenant)}).status_code == 403
    assert tenant not in [one["id"] for one in world.operator.get("/tenants").json()["items"]]


def test_a_token_opens_a_tenant_that_there_is(world: World) -> None:
    """Z17: the server's own, and those that it has made."""
    for tenant in ("tenant_001", "other"):
        assert world.server.client(key=token(tenant)).get("/me").json()["tenant"] == tenant


def test_a_token_with_an_end_that_is_no_time(world: World) -> None:
    """Z17: the issuer's slips are refused, and trip nobody."""
    for end in (float("inf"), "never", None, [1]):
        assert world.server.client(key=token("other", exp=end)).get("/me").status_code == 401


def test_a_tenant_that_is_closed(tmp_path: Path) -> None:
    """Z11: neither a key nor a webhook opens it; the server's own cannot lock itself out."""
    with serving(tmp_path, "serve") as server:
        admin = Path(server.store).with_name("penstock.db.admin-key").read_text().strip()
        made = server.client(key=admin).post("/tenants", json={"id": "other", "name": "Other", "admin": "boss@other"})
        boss = made.json()["token"]
        browser = server.client()
        assert browser.post("/session", json={"key": boss}).status_code == 204
        server.stop()
        door = Penstock(server.store, drive=False).open()
        for tenant in ("other", "tenant_001"):
            door.of(tenant).registry.put("config", "tenant", {"active": False})
        door.close()
        server.start()
        for who in (server.client(key=boss), browser):
            assert who.get("/me").json()["code"] == "PS-403-TENANT"
        assert server.client().post("/session", json={"key": boss}).status_code == 403
        assert server.client(key=admin).get("/me").status_code == 200
