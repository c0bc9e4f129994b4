"""What a tenant has registered: put, looked at, taken away; and the sample tenant that a new store is born with."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.home import DEFAULT_TENANT
from penstock.errors import BadInput
from penstock.store.contract import ArtifactRow, Store

#: C-81: the sample tenant, for laptops and examples.
SAMPLE = DEFAULT_TENANT
TYPES = (
    "aas", "calendar", "channel", "collection", "config", "connection", "mcp_server", "model", "prompt", "robot",
    "rule_pack", "secret", "template", "user",
)  # fmt: skip
_pack = msgspec.msgpack.Encoder().encode


def artifact(tenant: str, type: str, id: str, body: Mapping[str, Any], now: int) -> ArtifactRow:
    """A thing as it is kept; its version and status are those of its body."""
    if type not in TYPES:
        raise BadInput(what="the type", why=f"«{type}» is none of {', '.join(TYPES)}")
    status = str(body.get("status") or "approved")
    return ArtifactRow(tenant, type, id, str(body.get("version") or ""), status, _pack(body), now)


def install_sample(store: Store, folder: Path, now: int) -> None:
    """Everything with which the seed's workflows run unmodified and offline; nothing that is there is changed."""
    if store.artifacts(SAMPLE, "connection"):
        return
    here = files("penstock.app") / "sample"
    things = msgspec.json.decode((here / "tenant.json").read_bytes())
    rows = [artifact(SAMPLE, type, id, body, now) for type, each in things.items() for id, body in each.items()]
    for pack in (here / "rule_packs").iterdir():
        if pack.name.endswith(".json"):
            body = msgspec.json.decode(pack.read_bytes())
            rows.append(artifact(SAMPLE, "rule_pack", body["id"], body, now))
    _sample_database(folder / "sample.db", (here / "sample.sql").read_text("utf-8"))
    (folder / "files").mkdir(parents=True, exist_ok=True)
    store.put_artifacts(rows)


def _sample_database(path: Path, script: str) -> None:
    if path.exists():
        return
    half = path.with_suffix(".new")
    half.unlink(missing_ok=True)
    with closing(sqlite3.connect(half)) as c:
        c.executescript(script)
        c.commit()
    half.replace(path)
