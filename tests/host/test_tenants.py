"""What a tenant has registered, as runs find it: versions that are in force, places of secrets, the tenant's clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.registry.registry import artifact
from penstock.app.runs.start_input import calendar_of, zone_of_tenant
from penstock.expr.calendar import compile_calendar
from penstock.host.artifact_versions import version_key
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import StoredTenant
from penstock.store.artifacts import ArtifactRow
from penstock.store.sqlite import Sqlite


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    made = Sqlite(tmp_path / "s.db")
    yield made
    made.close()


def kept(store: Sqlite, **given: Any) -> StoredTenant:
    return StoredTenant("t", store, SecretPlaces(**given), lambda: 0)


def put(store: Sqlite, type: str, id: str, **body: Any) -> None:
    store.put_artifacts([artifact("t", type, id, body, 0)])


@pytest.mark.parametrize("status", ["draft", "pending", "pending_approval", "rejected", "deprecated", "anything"])
@pytest.mark.parametrize("type", ["rule_pack", "prompt", "model", "template"])
def test_only_what_is_approved_is_used(store: Sqlite, type: str, status: str) -> None:
    """C-53, C-82: a newer version that nobody has approved does not judge; nor does one that is asked for by name."""
    put(store, type, "x", version="1", n=1)
    put(store, type, "x", version="2", n=2, status=status)
    put(store, type, "new", version="1", status=status)
    tenant = kept(store)
    assert (tenant.find(type, "x") or {})["n"] == 1 and set(tenant.each(type)) == {"x"}
    assert tenant.find(type, "new") is None
    assert (tenant.find(type, "x", "2") is None) == (status != "deprecated")
    put(store, type, "x", version="3", n=3, status="active")
    assert (kept(store).find(type, "x") or {})["n"] == 3


def test_the_status_of_a_machine_is_data(store: Sqlite) -> None:
    """C-81: an asset that is running has been registered like any other."""
    put(store, "aas", "line.L01", status="running")
    store.put_artifacts([ArtifactRow("t", "aas", "line.L02", "", "running", msgspec.msgpack.encode({"a": 1}), 0)])
    put(store, "connection", "c", status="draft")
    tenant = kept(store)
    assert tenant.find("aas", "line.L01") == {"status": "running"} and tenant.find("aas", "line.L02") == {"a": 1}
    assert tenant.find("connection", "c") is None


def test_versions_are_semantic() -> None:
    """C-53: a candidate comes before what it is a candidate for; whatever somebody writes can be compared."""
    order = ["1", "1.9", "1.10", "2.0.0-alpha", "2.0.0-alpha.1", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0", "10.0", "²"]
    assert sorted(sorted(order), key=version_key) == order
    assert version_key("1.2+build.7") == version_key("v1.2")
    assert max(["9" * 5000, "1"], key=version_key)


def test_a_candidate_does_not_win(store: Sqlite) -> None:
    """C-53."""
    for version in ("2.0.0", "2.0.0-rc.1", "1.9"):
        put(store, "prompt", "p", version=version, system=version)
    assert (kept(store).find("prompt", "p") or {})["system"] == "2.0.0"


def test_a_vault_is_asked_through_the_setting(store: Sqlite) -> None:
    """C-63: `vault:path#key`, in a document or registered, is what the setting `secrets` has under it."""
    put(store, "secret", "token", ref="vault:kv/a#b")
    tenant = kept(store, given={"vault:kv/a#b": "from-the-vault"})
    assert tenant.secret("vault:kv/a#b") == tenant.secret("token") == "from-the-vault"
    asked: list[str] = []
    assert kept(store, given=asked.append).secret("token") is None and asked == ["vault:kv/a#b"]
    assert kept(store).secret("vault:kv/a#b") is None


@pytest.mark.parametrize(
    ("calendar", "config", "zone"),
    [
        (None, None, "Asia/Seoul"),
        ({"holidays": []}, None, "Asia/Seoul"),
        (None, {"timezone": "Europe/Berlin"}, "Europe/Berlin"),
        ({"holidays": []}, {"timezone": "Europe/Berlin"}, "Europe/Berlin"),
        ({"timezone": "UTC"}, {"timezone": "Europe/Berlin"}, "UTC"),
    ],
)
def test_a_tenant_has_one_time_zone(store: Sqlite, calendar: Any, config: Any, zone: str) -> None:
    """C-31, C-48: schedules without a time zone and expressions go by the same clock."""
    if calendar is not None:
        put(store, "calendar", "default", **calendar)
    if config is not None:
        put(store, "config", "tenant", **config)
    assert zone_of_tenant(store, "t") == zone
    assert str(compile_calendar(calendar_of(store, "t")).zone) == zone
