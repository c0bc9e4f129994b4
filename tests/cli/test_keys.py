"""`penstock keys`: a key is made, used, listed and revoked, without a server being asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.app.access.audit import AuditLog
from penstock.app.penstock import Penstock
from tests.api.serving import serving


def test_a_key_is_made_listed_and_revoked(tmp_path: Path, penstock: Any) -> None:
    """C-66, Z23: its secret is shown once and kept nowhere; scopes and expiry are what was asked for; who did it is in
    the audit."""
    door = Penstock(tmp_path / "a.db", drive=False)
    door.open()
    door.load_sample()
    door.close()
    store = ("--store", "a.db")
    asked = ("make", "line 1", "--user", "operator@example.com", "--scope", "run.read", "--scope", "run.start")
    made = penstock("keys", *asked, "--expires", "30d", "--rate", "60", "--json", *store).json()
    assert made["token"].startswith(f"ps_{made['id']}_") and made["scopes"] == ["run.read", "run.start"]
    assert made["expires_at"] - made["created_at"] > 29 * 86_400_000 and made["rate"] == 60
    plain = penstock("keys", "make", "boss", "--user", "new@example.com", "--role", "admin", *store)
    token = plain.out.strip()
    assert token.startswith("ps_") and "\n" not in token and "this once" in plain.err
    told = penstock("keys", "ls", *store).out
    assert "line 1" in told and "run.read, run.start" in told and "good until" in told and "never used" in told
    listed = penstock("keys", "ls", "--json", *store)
    assert [one["name"] for one in listed.json()] == ["line 1", "boss"] and "token" not in listed.json()[0]
    secret, other = made["token"].split("_", 2)[2], token.split("_", 2)[2]
    everywhere = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert secret.encode() not in everywhere and other.encode() not in everywhere
    assert "revoked" in penstock("keys", "revoke", made["id"], *store).out
    assert "revoked" in penstock("keys", "ls", *store).out
    with_reader = Penstock(tmp_path / "a.db", drive=False)
    with_reader.open()
    said = [(one.action, one.target) for one in AuditLog(with_reader.store).each("tenant_001")]
    with_reader.close()
    assert said == [("key.revoke", f"keys/{made['id']}"), ("key.create", "keys/boss"), ("key.create", "keys/line 1")]


def test_a_key_that_would_be_good_for_nothing_is_not_made(tmp_path: Path, penstock: Any) -> None:
    """C-66: what cannot be meant is refused with a hint, and nothing is written."""
    assert penstock("keys", "ls", "--store", "none.db", "--json", code=2).error()["code"] == "PS-404-STORE"
    assert not (tmp_path / "none.db").exists()
    door = Penstock(tmp_path / "a.db", drive=False)
    door.open()
    door.load_sample()
    door.close()
    ops = ("--user", "operator@example.com")
    for words, about in (
        (("--user", "nobody@example.com"), "--user"), ((*ops, "--role", "wizard"), "--role"),
        ((*ops, "--scope", "run.fly"), "run.fly"), ((*ops, "--expires", "soon"), "--expires"),
        ((*ops, "--expires", "2001-01-01"), "expired"),
    ):  # fmt: skip
        error = penstock("keys", "make", "x", *words, "--store", "a.db", "--json", code=2).error()
        assert about in error["message"], error
    assert "nothing" not in penstock("keys", "revoke", "feed", "--store", "a.db", code=2).out
    assert penstock("keys", "ls", "--store", "a.db", "--json").json() == []


def test_a_key_made_beside_a_running_server_opens_it_until_it_is_revoked(tmp_path: Path, penstock: Any) -> None:
    """C-66: no restart in between."""
    with serving(tmp_path, "dev", "--quiet") as server:
        words = ("--store", server.store, "--json")
        made = penstock("keys", "make", "ci", "--user", "operator@example.com", "--scope", "run.read", *words).json()
        mine = server.client(key=made["token"])
        assert mine.get("/runs").status_code == 200
        refused = mine.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}})
        assert refused.status_code == 403
        penstock("keys", "revoke", made["id"], *words)
        assert mine.get("/runs").status_code == 401
