"""What a tenant has registered: put, looked at, taken away; and the sample tenant that a new store is born with."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.home import DEFAULT_TENANT
from penstock.errors import BadInput, DocumentInvalid, Finding, PenstockError, Place
from penstock.executors.parts.secret import MASK
from penstock.expr import compile_template
from penstock.store.contract import ArtifactRow, Store

#: C-81: the sample tenant, for laptops and examples.
SAMPLE = DEFAULT_TENANT
TYPES = (
    "aas", "calendar", "channel", "collection", "config", "connection", "mcp_server", "model", "prompt", "robot",
    "rule_pack", "secret", "template", "user",
)  # fmt: skip
CONNECTIONS = ("sqlite", "postgresql", "http", "file", "smtp", "mqtt", "sqs", "events", "openai", "stub")
_pack = msgspec.msgpack.Encoder().encode


def artifact(tenant: str, type: str, id: str, body: Mapping[str, Any], now: int) -> ArtifactRow:
    """A thing as it is kept; its version and status are those of its body."""
    if type not in TYPES:
        raise BadInput(what="the type", why=f"«{type}» is none of {', '.join(TYPES)}")
    status = str(body.get("status") or "approved")
    return ArtifactRow(tenant, type, id, str(body.get("version") or ""), status, _pack(body), now)


def shown(row: ArtifactRow) -> dict[str, Any]:
    """A thing for people: the value of a secret is theirs who gave it."""
    body: dict[str, Any] = msgspec.msgpack.decode(row.body)
    if row.type == "secret" and "value" in body:
        body = {**body, "value": MASK}
    return body


def checked(type: str, id: str, body: Mapping[str, Any]) -> None:
    """Raises DocumentInvalid, with all findings, for what could not be used."""
    if not id or len(id) > 200 or any(ord(c) < 32 for c in id):
        raise BadInput(what="the id", why="it is empty, too long, or holds a control character")
    if type == "rule_pack":
        from penstock.executors.parts.rules.evaluate import check_pack

        _refuse(check_pack({"id": id, **body}))
    elif type == "calendar":
        from penstock.app.calendars import expand_holidays
        from penstock.expr.calendar import compile_calendar

        compile_calendar(expand_holidays(body))
    elif type == "template":
        _refuse([one for name in ("subject", "body", "channel_config") for one in _texts(body.get(name), f"/{name}")])
    elif type == "secret" and not ({"value", "ref"} & body.keys()):
        raise BadInput(what="the secret", why="it has neither «value» nor «ref»", hint='Write {"ref": "env:NAME"}.')
    elif type == "connection" and body.get("type") not in CONNECTIONS:
        why = f"its «type» must be one of {', '.join(CONNECTIONS)}"
        raise BadInput(what=f"the connection «{id}»", why=why, hint='Write {"type": "sqlite", "path": "data.db"}.')
    elif type == "user" and not all(isinstance(body.get(name, []), list) for name in ("roles", "groups")):
        why = "«roles» and «groups» are lists"
        raise BadInput(what=f"the user «{id}»", why=why, hint='Write {"roles": ["quality_manager"]}.')


def _refuse(findings: list[Finding]) -> None:
    if any(one.severity == "error" for one in findings):
        raise DocumentInvalid(findings)


def _texts(value: Any, at: str) -> list[Finding]:
    """Templates that cannot be read, each with its place."""
    if isinstance(value, Mapping):
        return [one for name, part in value.items() for one in _texts(part, f"{at}/{name}")]
    if isinstance(value, list):
        return [one for i, part in enumerate(value) for one in _texts(part, f"{at}/{i}")]
    if isinstance(value, str):
        try:
            compile_template(value)
        except PenstockError as wrong:
            return [Finding("expression_syntax", "error", str(wrong), Place(at), wrong.hint)]
    return []


def sample_rows(now: int = 0) -> list[ArtifactRow]:
    """Everything that the sample tenant has."""
    here = files("penstock.app") / "sample"
    things = msgspec.json.decode((here / "tenant.json").read_bytes())
    rows = [artifact(SAMPLE, type, id, body, now) for type, each in things.items() for id, body in each.items()]
    for pack in sorted((here / "rule_packs").iterdir(), key=lambda one: one.name):
        if pack.name.endswith(".json"):
            body = msgspec.json.decode(pack.read_bytes())
            rows.append(artifact(SAMPLE, "rule_pack", body["id"], body, now))
    return rows


def known_to(store: Store | None, tenant: str = SAMPLE) -> Callable[[str, str], bool]:
    """Whether a tenant has a thing; before there is a store, whether it will have it."""
    rows = store.artifacts(tenant) if store is not None else []
    if not rows and (store is None or store.profile() != "production"):
        rows = sample_rows()
    held = {(row.type, row.id) for row in rows}
    return lambda kind, name: (kind, name) in held


def install_sample(store: Store, folder: Path, now: int) -> None:
    """Everything with which the seed's workflows run unmodified and offline; nothing that is there is changed."""
    if store.artifacts(SAMPLE, "connection"):
        return
    script = (files("penstock.app") / "sample" / "sample.sql").read_text("utf-8")
    _sample_database(folder / "sample.db", script)
    dropped = folder / "files"
    dropped.mkdir(parents=True, exist_ok=True)
    beside = {"type": "file", "root": str(dropped.resolve())}
    store.put_artifacts([*sample_rows(now), artifact(SAMPLE, "connection", "default_file", beside, now)])


def _sample_database(path: Path, script: str) -> None:
    if path.exists():
        return
    half = path.with_suffix(".new")
    half.unlink(missing_ok=True)
    with closing(sqlite3.connect(half)) as c:
        c.executescript(script)
        c.commit()
    half.replace(path)
