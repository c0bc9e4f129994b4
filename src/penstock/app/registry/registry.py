"""What a tenant has registered: put, looked at, taken away; and the sample tenant that a new store is born with."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock import sample_tenant
from penstock.app.access import four_eyes
from penstock.app.access.audit import masked
from penstock.app.access.candidates import Who
from penstock.app.access.names import folded, same_user
from penstock.app.registry.artifact_types import check_artifact, known_type, read_artifact
from penstock.errors import BadInput, Finding, UserTaken
from penstock.executors.agents import AGENTS
from penstock.executors.parts.secrets import MASK
from penstock.host.artifact_versions import APPROVED_TYPES, status_of, usable
from penstock.host.secret_encryption import sealed
from penstock.host.secrets import places_of
from penstock.host.tenants import Tenants
from penstock.store.address import DEFAULT_TENANT
from penstock.store.artifacts import ArtifactRow
from penstock.store.contract import Store
from penstock.store.simulations import LabelRow, PastJudgmentRow

if TYPE_CHECKING:
    from penstock.app.engine import Engine
    from penstock.app.runs.queries import Queries

#: C-81: the sample tenant, for laptops and examples.
SAMPLE = DEFAULT_TENANT
#: what decides about runs: it comes in force through the gate
GOVERNED = (*APPROVED_TYPES, "config")
_pack = msgspec.msgpack.Encoder().encode


def artifact(tenant: str, type: str, id: str, body: Mapping[str, Any], now: int) -> ArtifactRow:
    """A thing as it is kept; its version and status are those of its body."""
    known_type(type)
    return ArtifactRow(tenant, type, id, str(body.get("version") or ""), status_of(type, body), _pack(body), now)


def shown(row: ArtifactRow) -> dict[str, Any]:
    """A thing for people: the value of a secret is theirs who gave it, wherever it stands."""
    body: dict[str, Any] = masked(msgspec.msgpack.decode(row.body))
    if row.type == "secret" and ("value" in body or "sealed" in body):
        body = {**{name: part for name, part in body.items() if name != "sealed"}, "value": MASK}
    return body


class Registry:
    """What one door's tenant has. Whoever drives the store reads it anew when it has changed."""

    def __init__(self, engine: Engine, door: Queries) -> None:
        self.engine, self.door = engine, door

    def by_two(self, type: str) -> bool:
        """Whether a thing of this type comes in force only by a second person: see `Proposals`."""
        return type in GOVERNED and four_eyes.asked(self.door)

    def put(
        self, type: str, id: str, body: Mapping[str, Any], *, change: four_eyes.Change | None = None,
        by: Who | None = None,
    ) -> list[Finding]:  # fmt: skip
        """Register a thing, or replace it; what is worth knowing about it. Raises ThingInvalid, with all findings;
        FourEyes where another than the author of the change must put it in force, and `by` is none; UserTaken."""
        findings = check_artifact(known_type(type), id, body)
        self._admit(type, id, change, by)
        if type == "user":
            self._refuse_spelling(id)
        self._put(type, id, body)
        return findings

    def put_source(self, type: str, id: str, source: bytes, name: str = "") -> list[Finding]:
        """The same from JSON, YAML or DMN, named so that its ending says which; findings have their lines."""
        body, findings = read_artifact(type, id, source, name)
        self.put(type, id, body)
        return findings

    def _admit(self, type: str, id: str, change: four_eyes.Change | None, by: Who | None) -> None:
        if type in GOVERNED:
            nobodys = four_eyes.Change(f"the {type} «{id}»", None, self.engine.now())
            four_eyes.admit(self.door, change or nobodys, by)

    def _refuse_spelling(self, id: str) -> None:
        """Nobody is registered twice: names are one under every spelling. Nor under a name that nobody can see."""
        if not folded(id):
            raise BadInput(what="the id of the user", why="nobody can see any of its letters")
        for row in self.door.store.artifacts(self.door.tenant, "user"):
            if row.id != id and same_user(row.id, id):
                raise UserTaken(user=id, known=row.id)

    def _put(self, type: str, id: str, body: Mapping[str, Any]) -> None:
        if type == "secret":
            body = sealed(dict(body), f"{self.door.tenant}/{id}", self.engine.settings().get("secrets.key_file"))
        self.door.store.put_artifacts([artifact(self.door.tenant, type, id, body, self.engine.now())])
        self._changed()

    def remove(
        self, type: str, id: str, *, change: four_eyes.Change | None = None, by: Who | None = None
    ) -> int:  # fmt: skip
        """How many versions of it there were. Raises FourEyes, as `put` does."""
        self._admit(type, id, change, by)
        store, tenant = self.door.store, self.door.tenant
        mine = [row for row in store.artifacts(tenant, type) if row.id == id]
        gone = sum(store.drop_artifact(tenant, type, id, row.version) for row in mine)
        self._changed()
        return gone

    def each(self, type: str | None = None) -> list[ArtifactRow]:
        """Every version of everything, or of one type."""
        return self.door.store.artifacts(self.door.tenant, known_type(type) if type is not None else None)

    def get(self, type: str, id: str) -> ArtifactRow | None:
        """The last version of a thing."""
        return next((row for row in reversed(self.each(type)) if row.id == id), None)

    def load_sample(self) -> None:
        """A store of the dev profile has the sample tenant (C-81), from the first time that one is needed."""
        store = self.door.store
        if store.born_with(self.engine.profile()) == "dev" and self.door.tenant == SAMPLE:
            install_sample(store, self.engine.path.parent, self.engine.now())
            self._changed()

    def _changed(self) -> None:
        if self.engine.host is not None:
            self.engine.host.tenants.refresh()


def sample_rows(now: int = 0) -> list[ArtifactRow]:
    """Everything that the sample tenant has."""
    return [artifact(SAMPLE, type, id, body, now) for type, id, body in sample_tenant.registered()]


def rows_of(store: Store | None, tenant: str = SAMPLE) -> list[ArtifactRow]:
    """What a tenant has registered; before there is a store, what it will have."""
    rows = store.artifacts(tenant) if store is not None else []
    if not rows and tenant == SAMPLE and (store is None or store.profile() != "production"):
        return sample_rows()
    return rows


def known_to(store: Store | None, tenant: str = SAMPLE) -> Callable[[str, str], bool]:
    """Whether a tenant has a thing; before there is a store, whether it will have it."""
    rows = rows_of(store, tenant)
    held = {(row.type, row.id) for row in rows if usable(row.type, row.status)}
    servers = {id for type, id in held if type == "mcp_server"}

    def has(kind: str, name: str) -> bool:
        if kind == "job":  # a worker outside has asked for such jobs
            return store is None or bool(store.job_workers(tenant, name))
        if kind == "agent" and name in AGENTS:  # one of the house's own
            return True
        server, slash, _ = name.partition("/")
        if kind == "tool" and (server in servers if slash else servers):  # which tools it has, only a server knows
            return True
        return (kind, name) in held

    return has


def install_sample(store: Store, folder: Path, now: int) -> None:
    """Everything with which the seed's workflows run unmodified and offline; nothing that is there is changed."""
    if store.artifacts(SAMPLE, "connection"):
        return
    dropped = folder / "files"
    dropped.mkdir(parents=True, exist_ok=True)  # and with it the folder: beside a database there may be none
    _sample_database(folder / "sample.db", sample_tenant.database_script())
    beside = {"type": "file", "root": str(dropped.resolve())}
    rows = sample_rows(now)
    _deploy_sample(store, rows, now)
    _past_of_sample(store, now)
    store.put_artifacts([*rows, artifact(SAMPLE, "connection", "default_file", beside, now)])


def _deploy_sample(store: Store, rows: list[ArtifactRow], now: int) -> None:
    """What is in force from the start: it comes first, so that it replaces no newer version."""
    wanted = sample_tenant.deployed()
    versions = {(part["type"], part["id"], part["version"]) for part in wanted}
    store.put_artifacts([row for row in rows if (row.type, row.id, row.version) in versions])
    deployments = Tenants(store, places_of({}), lambda: now).of(SAMPLE).deployments
    for part in wanted:
        deployments.switch(
            part["type"], part["id"], environment=part["environment"], version=part["version"], at=now,
            key=f"sample:{part['type']}:{part['id']}",
        )  # fmt: skip


def _past_of_sample(store: Store, now: int) -> None:
    """Last week's judgments with what people said of them: a first simulation has something to replay."""
    rows, labels = [], []
    for past in sample_tenant.past_judgments(now):
        policy = {"type": "RULE_ONLY", "rule_pack_id": past["rule_pack_id"]}
        output = {"decision": past["decision"], "confidence": past["confidence"], "decided_by": "rule"}
        body = {"input": {"data": past["data"], "context": past["context"], "policy": policy}, "output": output}
        rows.append(
            PastJudgmentRow(SAMPLE, past["id"], past["rule_pack_id"], past["decision"], _pack(body), past["at"])
        )
        labels.append(LabelRow(SAMPLE, past["id"], past["label"], "qa_lead", "", past["at"]))
    store.put_past_judgments(rows)
    store.put_labels(labels)


def _sample_database(path: Path, script: str) -> None:
    if path.exists():
        return
    half = path.with_suffix(".new")
    half.unlink(missing_ok=True)
    with closing(sqlite3.connect(half)) as c:
        c.executescript(script)
        c.commit()
    half.replace(path)
