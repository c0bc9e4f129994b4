"""Keys, tenants, users, the audit, drafts and many runs at once, over HTTP."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx2

from tests.api.serving import Server, serving, until
from tests.api.test_decision_words import in_force, waiting

ADMIN, OPERATOR, VIEWER = "admin@example.com", "operator@example.com", "viewer@example.com"
MANAGER = "manager@example.com"


def test_a_key_is_shown_once_and_ends_when_it_is_revoked(dev: Server) -> None:
    """C-66: made with a role and scopes, listed without its secret, refused after it is revoked."""
    admin = dev.client(ADMIN)
    made = admin.post("/keys", json={"name": "ci", "user": "robot", "roles": ["operator"], "scopes": ["run.read"]})
    assert made.status_code == 201, made.text
    token, id = made.json()["token"], made.json()["id"]
    robot = dev.client(key=token)
    assert robot.get("/me").json()["permissions"] == ["run.read"]
    assert robot.post("/runs", json={"definition": "wf_defect_alert_v2"}).status_code == 403
    listed = admin.get("/keys").json()["items"]
    assert [one["scopes"] for one in listed if one["id"] == id] == [["run.read"]]
    assert token.split("_", 2)[2] not in json.dumps(listed)
    assert admin.delete(f"/keys/{id}").status_code == 204
    gone = robot.get("/me")
    assert gone.status_code == 401 and gone.json()["code"] == "PS-401-KEY-REVOKED"
    assert gone.headers["www-authenticate"] == "Bearer"
    assert admin.delete("/keys/0000000000000000").status_code == 404


def test_keys_expire_and_have_a_rate(dev: Server) -> None:
    """C-66: an expired key is 401, one that is used too often 429 with Retry-After."""
    admin = dev.client(ADMIN)
    past = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    assert admin.post("/keys", json={"name": "late", "expires_at": past}).status_code == 400
    assert admin.post("/keys", json={"name": "late", "expires_at": "someday"}).status_code == 400
    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    token = admin.post("/keys", json={"name": "soon", "expires_at": soon}).json()["token"]
    answer = until(lambda: dev.client(key=token).get("/me"), lambda one: one.status_code == 401)
    assert answer.json()["code"] == "PS-401-KEY-EXPIRED"
    slow = dev.client(key=admin.post("/keys", json={"name": "slow", "rate": 2}).json()["token"])
    statuses = [slow.get("/me") for _ in range(4)]
    assert [one.status_code for one in statuses] == [200, 200, 429, 429]
    assert 1 <= int(statuses[-1].headers["retry-after"]) <= 60


def test_a_secret_that_is_shown_once_is_not_kept_for_repeats(dev: Server) -> None:
    """C-29: the same request again makes no second key, and its answer has no token."""
    admin, asked = dev.client(ADMIN), {"name": "once", "user": "robot"}
    first = admin.post("/keys", json=asked, headers={"Idempotency-Key": "key-1"})
    again = admin.post("/keys", json=asked, headers={"Idempotency-Key": "key-1"})
    assert again.headers["idempotency-replayed"] == "true" and again.json()["id"] == first.json()["id"]
    assert first.json()["token"] and again.json()["token"] is None
    secret = first.json()["token"].split("_", 2)[2].encode()
    folder = Path(dev.store).parent
    assert not any(secret in path.read_bytes() for path in folder.iterdir() if path.is_file())


def test_nobody_gives_rights_that_they_do_not_have(dev: Server) -> None:
    """C-66: whoever may make keys, users or roles cannot make one that may do more than they may."""
    admin = dev.client(ADMIN)
    may = ["key.write", "user.write", "registry.read", "run.read"]
    assert admin.put("/roles/clerk", json={"permissions": may}).status_code == 200
    assert admin.put("/users/clerk@example.com", json={"name": "Clerk", "roles": ["clerk"]}).status_code == 200
    clerk = dev.client(key=admin.post("/keys", json={"name": "c", "user": "clerk@example.com"}).json()["token"])
    for refused in (
        clerk.post("/keys", json={"name": "mine", "roles": ["admin"]}),
        clerk.post("/keys", json={"name": "mine", "user": ADMIN}),
        clerk.put("/users/clerk@example.com", json={"roles": ["clerk", "admin"]}),
        clerk.put("/roles/clerk", json={"permissions": [*may, "tenant.write"]}),
    ):
        assert refused.status_code == 403 and refused.json()["code"] == "PS-403-GIVE", refused.text
    assert clerk.get("/me").json()["permissions"] == sorted(may)
    assert clerk.post("/keys", json={"name": "less", "scopes": ["run.read"]}).status_code == 201
    wrong = admin.put("/roles/odd", json={"permissions": ["fly"]})
    assert wrong.status_code == 422 and wrong.json()["findings"][0]["where"]["pointer"] == "/permissions/0"


def test_roles_are_listed_and_registered_secrets_are_not_shown(dev: Server) -> None:
    """C-29, C-66: the roles that every tenant has are there too; what looks like a secret in a thing is masked, and who
    sends it back masked does not lose it."""
    admin, viewer = dev.client(ADMIN), dev.client(VIEWER)
    roles = {one["id"]: one for one in viewer.get("/roles").json()["items"]}
    assert {"admin", "operator", "viewer"} <= roles.keys() and roles["viewer"]["status"] == "built-in"
    assert "run.start" in viewer.get("/roles/operator").json()["body"]["permissions"]
    assert admin.delete("/roles/operator").status_code == 404
    body = {"type": "http", "base_url": "http://a.example.com", "api_key": "literal-91d2"}
    assert admin.put("/connections/shop", json=body).status_code == 200
    seen = viewer.get("/connections/shop")
    assert "literal-91d2" not in seen.text and "literal-91d2" not in viewer.get("/connections").text
    changed = {**seen.json()["body"], "timeout": 3}
    kept = admin.put("/connections/shop", json=changed, headers={"If-Match": seen.headers["etag"]})
    assert kept.status_code == 200, kept.text
    again = admin.put("/connections/shop", json={**changed, "api_key": "literal-91d2"})
    tags = [one.headers["etag"].partition("-")[2] for one in (kept, again)]
    assert tags[0] == tags[1], "the content is the same: it was still there"


def test_a_tenant_is_made_with_its_administrator(dev: Server) -> None:
    """C-78: a new tenant has nobody else's things; a second one of its name is refused."""
    admin = dev.client(ADMIN)
    made = admin.post("/tenants", json={"id": "acme", "name": "Acme", "admin": "boss@acme"})
    assert made.status_code == 201, made.text
    boss = dev.client(key=made.json()["token"])
    me = boss.get("/me").json()
    assert (me["tenant"], me["user"]) == ("acme", "boss@acme") and "tenant.write" in me["permissions"]
    assert boss.get("/definitions").json()["items"] == [] and boss.get("/connections").json()["items"] == []
    assert admin.post("/tenants", json={"id": "acme", "admin": "x@y"}).status_code == 409
    assert admin.post("/tenants", json={"id": "tenant_001", "admin": "x@y"}).status_code == 409
    assert admin.post("/tenants", json={"id": "No Name", "admin": "x@y"}).status_code == 422
    assert {"acme", "tenant_001"} <= {one["id"] for one in admin.get("/tenants").json()["items"]}
    assert [one["id"] for one in boss.get("/tenants").json()["items"]] == ["acme"]


def test_every_change_is_in_the_audit_and_its_chain_holds(dev: Server) -> None:
    """C-29, C-66: who, what and on what; a refused one says so, secrets are masked; verify says that nothing was
    changed since."""
    admin, operator = dev.client(ADMIN), dev.client(OPERATOR)
    assert admin.put("/secrets/audited", json={"value": "hush-0c77"}).status_code == 204
    assert operator.put("/secrets/audited", json={"value": "hush-0c78"}).status_code == 403
    found = admin.get("/audit?target=secret:audited").json()["items"]
    assert [(one["actor"], one["action"]) for one in found][-1] == (ADMIN, "PUT /secrets/{name}")
    assert found[0]["body"] == {"refused": "PS-403-PERMISSION"} and "hush" not in json.dumps(found)
    first = admin.get("/audit?limit=2").json()
    rest = admin.get(f"/audit?limit=2&cursor={first['next']}").json()
    numbers = [one["no"] for one in (*first["items"], *rest["items"])]
    assert numbers == list(range(numbers[0], numbers[0] - 4, -1))
    verified = admin.get("/audit/verify").json()
    assert verified["ok"] and verified["entries"] >= numbers[0] and verified["breaks"] == []


def test_two_windows_do_not_overwrite_a_draft(dev: Server) -> None:
    """C-66: a draft has an ETag; one that was changed meanwhile is 412, and nobody else's is seen."""
    one, other = dev.client(ADMIN), dev.client(OPERATOR)
    first = one.put("/drafts/run/note".replace("run/", "run-"), json={"body": {"text": "a"}})
    assert first.status_code == 200 and first.headers["etag"] == '"1"'
    second = one.put("/drafts/run-note", json={"body": {"text": "b"}}, headers={"If-Match": '"1"'})
    assert second.headers["etag"] == '"2"'
    stale = one.put("/drafts/run-note", json={"body": {"text": "c"}}, headers={"If-Match": '"1"'})
    assert stale.status_code == 412 and stale.json()["code"] == "PS-412-CHANGED"
    assert one.put("/drafts/run-note", json={"body": 1}, headers={"If-Match": "x"}).status_code == 400
    assert one.get("/drafts/run-note").json()["body"] == {"text": "b"}
    assert other.get("/drafts/run-note").status_code == 404 and other.get("/drafts").json()["items"] == []
    assert one.delete("/drafts/run-note", headers={"If-Match": '"1"'}).status_code == 412
    assert one.delete("/drafts/run-note").status_code == 204 and one.get("/drafts/run-note").status_code == 404


def test_kept_messages_are_listed(dev: Server) -> None:
    """C-81: in dev messages are kept and not sent, and can be looked at, those of one run alone too."""
    admin = dev.client(ADMIN)
    run = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    found = admin.get(f"/outbox?run={run}").json()["items"]
    assert {one["channel"] for one in found} >= {"slack", "sms"} and {one["run"] for one in found} == {run}


def test_many_runs_at_once_with_a_dry_run_first(dev: Server) -> None:
    """C-66: count, sample and every refusal with its reason; the dry run changes nothing, the other does it."""
    name, operator = in_force(dev, waiting("wf_many")), dev.client(OPERATOR)
    runs = [operator.post("/runs", json={"definition": name}).json()["id"] for _ in range(4)]
    for run in runs:
        until(lambda one=run: operator.get(f"/runs/{one}").json()["state"], lambda state: state == "WAITING")
    assert operator.post(f"/runs/{runs[0]}/cancel", json={}).status_code == 200
    asked = {"verb": "cancel", "filter": {"name": name}}
    dry = operator.post("/runs:batch", json=asked).json()
    assert (dry["dry_run"], dry["count"], dry["sample"], dry["more"]) == (True, 3, runs[:0:-1], False)
    assert [(one["run"], one["code"]) for one in dry["refused"]] == [(runs[0], "ILLEGAL_TRANSITION")]
    assert "cancelled" in dry["refused"][0]["reason"]
    assert operator.get(f"/runs/{runs[1]}").json()["state"] == "WAITING"
    done = operator.post("/runs:batch", json={**asked, "dry_run": False}).json()
    assert (done["count"], len(done["refused"])) == (3, 1)
    assert {operator.get(f"/runs/{run}").json()["state"] for run in runs} == {"CANCELLED"}
    some = operator.post("/runs:batch", json={"verb": "retry", "ids": [runs[0], "nothing"], "dry_run": False}).json()
    assert some["count"] == 0 and [one["code"] for one in some["refused"]] == ["ILLEGAL_TRANSITION", "PS-404-RUN"]
    for wrong in ({"verb": "cancel"}, {"verb": "cancel", "filter": {}}, {"verb": "signal", "ids": runs}):
        assert operator.post("/runs:batch", json=wrong).status_code == 400, wrong
    assert dev.client(VIEWER).post("/runs:batch", json=asked).status_code == 403


def test_the_first_start_makes_a_key_and_says_where(tmp_path: Path) -> None:
    """C-66: `penstock serve` makes the administrator's key once, for its owner's eyes; without a key nobody gets in,
    and nobody chooses whom to be."""
    with serving(tmp_path, "serve") as server:
        assert server.process is not None and server.process.stdout is not None
        said = server.process.stdout.readline()
        path = Path(server.store).with_name("penstock.db.admin-key")
        assert str(path) in said and path.stat().st_mode & 0o777 == 0o600
        key = path.read_text().strip()
        me = server.client(key=key).get("/me").json()
        assert me["roles"] == ["admin"] and me["profile"] in ("dev", "production")
        assert httpx2.get(f"{server.url}/api/v1/me", timeout=60).status_code == 401
        assert httpx2.post(f"{server.url}/api/v1/dev/session", json={"user": ADMIN}, timeout=60).status_code == 404
        opened = httpx2.post(f"{server.url}/api/v1/session", json={"key": key}, timeout=60)
        cookie = opened.headers["set-cookie"]
        assert opened.status_code == 204 and "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
        assert httpx2.post(f"{server.url}/api/v1/session", json={"key": "ps_nonsense"}, timeout=60).status_code == 401
        server.stop()
        path.unlink()
        server.start()
        assert not path.exists() and server.client(key=key).get("/me").status_code == 200


def test_many_runs_are_paused_and_resumed(dev: Server) -> None:
    """C-66: by ids and by a filter, which knows a variable as a list does; one that is paused already refuses."""
    name, operator = in_force(dev, waiting("wf_many_paused")), dev.client(OPERATOR)
    runs = [operator.post("/runs", json={"definition": name}).json()["id"] for _ in range(3)]
    for run in runs:
        until(lambda one=run: operator.get(f"/runs/{one}").json()["state"], lambda state: state == "WAITING")
    nobody = {"verb": "pause", "filter": {"name": name, "var": "decision:critical"}, "dry_run": False}
    assert operator.post("/runs:batch", json=nobody).json()["count"] == 0
    asked = {"verb": "pause", "ids": runs[1:], "dry_run": False}
    assert operator.post("/runs:batch", json=asked).json()["sample"] == runs[1:]
    assert [operator.get(f"/runs/{run}").json()["paused"] for run in runs] == [False, True, True]
    again = operator.post("/runs:batch", json=asked).json()
    assert again["count"] == 0 and {one["run"] for one in again["refused"]} == {*runs[1:]}
    back = operator.post("/runs:batch", json={"verb": "resume", "filter": {"name": name}, "dry_run": False}).json()
    assert (back["count"], [one["run"] for one in back["refused"]]) == (2, runs[:1])
    assert operator.post("/runs:batch", json={"verb": "pause", "filter": {"var": "nonsense"}}).status_code == 400
