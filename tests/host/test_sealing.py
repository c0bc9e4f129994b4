"""Secrets at rest: sealed with a key beside the store; moved to another name, tenant or key they cannot be opened."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.registry.registry import shown
from penstock.errors import SecretSealed
from penstock.host.secret_encryption import sealed, unsealed
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import StoredTenant

VALUE = "hunter2-very-secret"


def test_a_value_is_sealed_and_opened(tmp_path: Path) -> None:
    """C-63: the row holds no value; whoever has the key file has it again."""
    file = tmp_path / "k"
    body = sealed({"value": VALUE, "about": "x"}, "t/name", file)
    assert set(body) == {"sealed", "about"} and VALUE not in body["sealed"]
    assert unsealed(body["sealed"], "t/name", file) == VALUE
    assert SecretPlaces(key_file=file).find("name", body, "t") == VALUE
    assert file.stat().st_mode & 0o777 == 0o600
    assert sealed({"ref": "env:X"}, "t/name", file) == {"ref": "env:X"}
    for owner, key in (("t/other", file), ("u/name", file), ("t/name", tmp_path / "none"), ("t/name", None)):
        with pytest.raises(SecretSealed, match="cannot be opened"):
            unsealed(body["sealed"], owner, key)
    (tmp_path / "k2").write_text("another")
    with pytest.raises(SecretSealed):
        unsealed(body["sealed"], "t/name", tmp_path / "k2")
    with pytest.raises(SecretSealed):
        unsealed(body["sealed"].replace("data", "dbta"), "t/name", file)


def test_what_is_registered_lies_sealed_in_the_store(tmp_path: Path) -> None:
    """C-63, C-66: put through the door; shown masked; read by the tenant; old plain rows still open."""
    door = Penstock(tmp_path / "p.db", drive=False).open()
    try:
        door.register("secret", "api_key", {"value": VALUE})
        (row,) = [one for one in door.registry.each("secret") if one.id == "api_key"]
        assert set(msgspec.msgpack.decode(row.body)) == {"sealed"} and shown(row) == {"value": "***"}
        kept = StoredTenant(door.tenant, door.store, SecretPlaces(key_file=tmp_path / "p.db.secret-key"), lambda: 0)
        assert kept.secret("api_key") == VALUE
    finally:
        door.close()
    assert not any(VALUE.encode() in file.read_bytes() for file in tmp_path.iterdir())
    assert SecretPlaces().find("old", {"value": VALUE}) == VALUE
