"""Nobody gets more rights than they have: not by taking something away, and not by sending back what was masked."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from penstock.app.access.audit import masked
from tests.api.places import ADMIN
from tests.api.serving import Server


@pytest.fixture(scope="module")
def keeper(dev: Server) -> httpx2.Client:
    """Somebody who keeps the users, and may do little else."""
    admin = dev.client(ADMIN)
    allowed = ["user.write", "run.read", "registry.read"]
    assert admin.put("/roles/keeper", json={"permissions": allowed}).status_code == 200
    made = admin.post("/keys", json={"name": "keeper", "user": "keeper", "roles": ["keeper"]})
    return dev.client(key=made.json()["token"])


def test_taking_away_does_not_widen(dev: Server, keeper: httpx2.Client) -> None:
    """C-66: a narrowed role is not given its old rights back, nor is somebody with more rights changed or removed."""
    admin = dev.client(ADMIN)
    assert admin.put("/roles/operator", json={"permissions": ["run.read"]}).status_code == 200
    assert keeper.delete("/roles/operator").status_code == 403
    assert keeper.delete(f"/users/{ADMIN}").status_code == 403
    assert keeper.put(f"/users/{ADMIN}", json={"roles": []}).status_code == 403
    assert keeper.put("/roles/approver", json={"permissions": []}).status_code == 403, "it may do more than they may"
    assert admin.get(f"/users/{ADMIN}").json()["body"]["roles"] == ["admin"]
    assert admin.delete("/roles/operator").status_code == 204
    assert keeper.put("/users/u1", json={"roles": ["keeper"]}).status_code == 200
    assert keeper.delete("/users/u1").status_code == 204


def test_who_is_gone_has_no_key(dev: Server) -> None:
    """C-66: the keys of a user go with the user."""
    admin = dev.client(ADMIN)
    assert admin.put("/users/leaver", json={"roles": ["viewer"]}).status_code == 200
    made = admin.post("/keys", json={"name": "l", "user": "leaver", "roles": ["operator"]}).json()
    mine = dev.client(key=made["token"])
    assert mine.get("/me").status_code == 200
    assert admin.delete("/users/leaver").status_code == 204
    assert mine.get("/me").json()["code"] == "PS-401-KEY-REVOKED"


@pytest.mark.parametrize("roles", [[1, {"a": 1}], ["viewer", None], [""], "viewer"])
def test_roles_are_names(dev: Server, roles: Any) -> None:
    """C-66: what cannot be a role is refused when it comes, with its place."""
    answer = dev.client(ADMIN).put("/users/u2", json={"roles": roles})
    assert answer.status_code == 422 and answer.json()["findings"][0]["where"]["pointer"].startswith("/roles")
    assert dev.client(ADMIN).get("/users").status_code == 200


def test_what_is_masked() -> None:
    """C-29: secrets in every spelling, in headers and in addresses; what is none stays readable."""
    secret = {
        "clientSecret": "s3cret", "accessToken": "s3cret", "X-API-Key": "s3cret", "privateKey": "s3cret",
        "headers": {"X-Auth": "s3cret", "X-Session": "s3cret", "X-Key": "s3cret"}, "dbPassword": "s3cret",
        "dsn": "Server=db;Uid=sa;Pwd=s3cret;", "url": "postgresql://u:s3/cr?et@h/db", "other": "redis://:s3cret@h",
        "at": "https://h/x?api_key=s3cret&y=1", "two": "postgres://u:p@s3cret@h/db",
    }  # fmt: skip
    shown = masked(secret)
    for part in ("s3cret", "s3/cr", "et@"):
        assert part not in json.dumps(shown).replace("***@", ""), shown
    assert shown["dsn"] == "Server=db;Uid=sa;Pwd=***;" and shown["url"] == "postgresql://***@h/db"
    plain = {
        "url": "https://h:8080/a/@me", "mail": "https://h/x?to=a@b", "auth": "bearer_token", "token": "${secrets.X}",
        "headers": {"Accept": "x", "Authorization": "${secrets.A}"}, "at": "https://h/?token=${secrets.X}",
        "max_tokens": 5, "text": "the password is asked for", "monkey": "x",
    }  # fmt: skip
    assert masked(plain) == plain


def test_a_masked_secret_goes_nowhere_else(dev: Server) -> None:
    """C-29: sent back masked it is kept; with another address it has to be sent again."""
    admin, path = dev.client(ADMIN), "/connections/lab"
    body = {"type": "http", "url": "https://lab.example.com", "clientSecret": "s3cret", "headers": {"X-Auth": "abc"}}
    assert admin.put(path, json=body).status_code == 200
    shown = admin.get(path).json()["body"]
    assert (shown["clientSecret"], shown["headers"]) == ("***", {"X-Auth": "***"})
    assert admin.put(path, json={**shown, "note": "x"}).status_code == 200
    for wrong in ({"url": "https://evil.example.com"}, {"host": "evil"}, {"webhook_url": "https://evil.example.com"}):
        answer = admin.put(path, json={**shown, **wrong})
        assert answer.status_code == 400 and "again" in answer.json()["hint"], answer.text
    moved = {**body, "url": "https://lab2.example.com", "clientSecret": "new", "headers": {"X-Auth": "new"}}
    assert admin.put(path, json=moved).status_code == 200
    dsn = {"type": "postgresql", "dsn": "postgresql://u:p/x@h/db"}
    assert admin.put("/connections/db", json=dsn).status_code == 200
    there = admin.get("/connections/db").json()["body"]
    assert there["dsn"] == "postgresql://***@h/db" and admin.put("/connections/db", json=there).status_code == 200
    assert admin.put("/connections/db", json={**there, "dsn": "postgresql://***@evil/db"}).status_code == 400


def test_drafts_need_a_permission_and_have_a_number(dev: Server) -> None:
    """C-66: a key that may do nothing keeps nothing, and nobody keeps more than 200."""
    admin = dev.client(ADMIN)
    nobody = dev.client(key=admin.post("/keys", json={"name": "n", "user": "n", "scopes": []}).json()["token"])
    assert nobody.put("/drafts/x", json={"body": 1}).status_code == 403 and nobody.get("/drafts").status_code == 403
    made = admin.post("/keys", json={"name": "d", "user": "drafter", "roles": ["viewer"]}).json()["token"]
    mine = dev.client(key=made)
    assert {mine.put(f"/drafts/d{i}", json={"body": i}).status_code for i in range(200)} == {200}
    assert mine.put("/drafts/d200", json={"body": 1}).status_code == 400
    assert mine.put("/drafts/d0", json={"body": 2}, headers={"If-Match": '"1"'}).status_code == 200
