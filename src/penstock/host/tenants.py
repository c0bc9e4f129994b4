"""Tenants: the one way from an executor to what belongs to somebody."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from penstock.executors.contract import Services, Tenant
from penstock.executors.parts.files.path_policy import PathPolicy
from penstock.executors.parts.rollout.model import Deployed
from penstock.executors.parts.similarity_search import SimilarityIndex
from penstock.executors.parts.simulation.history import PastJudgment
from penstock.executors.parts.simulation.record import SimulationRecord
from penstock.host.artifact_versions import usable, version_key
from penstock.host.deployments import TenantDeployments
from penstock.host.judgment_history import Wanted, judged_between, judged_pages, simulation_row
from penstock.host.secrets import Lends, SecretPlaces
from penstock.host.stream_cursor import Source, StreamBatch
from penstock.host.tenant_versions import TenantVersions
from penstock.store.artifacts import ArtifactRow, ArtifactStore
from penstock.store.deployments import DeploymentStore
from penstock.store.events import EventStore
from penstock.store.judgments import JudgmentRow, JudgmentStore
from penstock.store.messages import MessageRow, MessageStore
from penstock.store.releases import ReleaseStore
from penstock.store.run_store import RunStore
from penstock.store.simulations import SimulationStore
from penstock.store.work_items import WorkItemStore

#: Which tenants are not the operator of this machine, and so have folders of their own.
Shared = Literal["none", "others", "all"]
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")
_OWN = ("secrets.key_file", "checkpoint.key_file", "secrets.folder")
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
_POLL_S = 0.05
_FRESH_MS = 500  # what another process registers is seen after so long
_SIMILAR = 2000  # so many judgments are looked through
_LOADS = 20_000  # so many open work items are counted
ENVIRONMENT = "production"
_JUDGED: Mapping[str, Any] = {"source": "judgments"}  # a collection that nobody has registered


class TenantStore(
    ArtifactStore, DeploymentStore, EventStore, JudgmentStore, MessageStore, ReleaseStore, RunStore, SimulationStore,
    WorkItemStore, Protocol,
):  # fmt: skip
    """What belongs to a tenant in a store."""


class StoredTenant:
    """One tenant, as the store has it. What is registered is read again when the store's registry has changed."""

    def __init__(
        self, id: str, store: TenantStore, places: SecretPlaces, now: Callable[[], int],
        environment: str = ENVIRONMENT,
    ) -> None:  # fmt: skip
        self.id, self.environment = id, environment
        self.store, self.places, self.now = store, places, now
        self.held: dict[str, dict[str, list[tuple[str, str, Mapping[str, Any]]]]] = {}
        self.sources: dict[str, Source] = {}
        self.number, self.looked = -1, -_FRESH_MS  # of the registry as it is held, and when that was asked
        self.indexes: dict[str, _Index] = {}
        self.artifact_versions = TenantVersions(self)
        self.deployments = TenantDeployments(self)

    def refresh(self) -> None:
        self.held.clear()
        self.artifact_versions.refresh()

    def look(self) -> None:
        """Has somebody registered or deployed something? Asked now and then."""
        now = self.now()
        if not 0 <= now - self.looked < _FRESH_MS:
            number, self.looked = self.store.registry_number(), now
            if number != self.number:
                self.refresh()
                self.number = number

    def _of(self, type: str) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
        self.look()
        by_id = self.held.get(type)
        if by_id is None:
            by_id = {}
            for row in self.store.artifacts(self.id, type):
                by_id.setdefault(row.id, []).append((row.version, row.status, _unpack(row.body)))
            self.held[type] = by_id
        return by_id

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        """The version asked for, which must have been approved; else the newest one that is."""
        asked = version is not None
        versions = [
            version_row for version_row in self._of(type).get(id, []) if usable(type, version_row[1], asked_for=asked)
        ]
        if asked:
            return next((body for known, _, body in versions if known == version), None)
        return max(versions, key=lambda version_row: version_key(version_row[0]))[2] if versions else None

    def deployed(
        self, type: str, id: str, *, environment: str = "", line: str = "", run: str = "", version: str | None = None
    ) -> Deployed | None:
        return self.artifact_versions.deployed(type, id, environment or self.environment, line, run, version)

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]:
        newest = {id: self.find(type, id) for id in self._of(type)}
        return {id: body for id, body in newest.items() if body is not None}

    def versions(self, type: str, id: str) -> list[tuple[str, str, Mapping[str, Any]]]:
        return list(self._of(type).get(id, []))

    def judged(self, since: int, until: int, *, limit: int) -> list[PastJudgment]:
        return judged_between(self.store, self.id, since, until, limit)

    def judged_pages(self, since: int, until: int, wanted: Wanted) -> Iterator[list[PastJudgment]]:
        return judged_pages(self.store, self.id, since, until, wanted)

    def keep_simulation(self, record: SimulationRecord) -> None:
        self.store.put_simulation(simulation_row(self.id, record))

    def secret(self, name: str) -> str | None:
        return self.places.find(name, self.find("secret", name) if ":" not in name else None, self.id)

    def keep(self, key: str, channel: str, target: str, message: Any, run: str) -> None:
        self.store.put_message(MessageRow(key, self.id, run, channel, target, _pack(message), self.now()))

    def turn(self, name: str, key: str, names: Sequence[str]) -> str:
        """The next of several, one after another; for the same key the same one again."""
        last = next((row for row in self.store.artifacts(self.id, "turn") if row.id == name), None)
        known: dict[str, Any] = {} if last is None else _unpack(last.body)
        if known.get("key") == key and known.get("name") in names:
            return str(known["name"])
        before = known.get("name")
        chosen = names[(names.index(before) + 1) % len(names)] if before in names else names[0]
        body = _pack({"name": chosen, "key": key})
        self.store.put_artifacts([ArtifactRow(self.id, "turn", name, "", "approved", body, self.now())])
        return chosen

    def loads(self) -> Mapping[str, int]:
        """How many open work items each person has who is named for them by name."""
        counts: dict[str, int] = {}
        for row in self.store.open_items(self.id, _LOADS):
            who = _unpack(row.candidates) if row.candidates is not None else None
            targets = who.get("targets") if isinstance(who, dict) else None
            for target in targets if isinstance(targets, list) else ():
                if isinstance(target, str) and target.startswith("user:"):
                    counts[target[5:]] = counts.get(target[5:], 0) + 1
        return counts

    async def search(self, collection: str, query: Any, top_k: int) -> list[Any]:
        body = self.find("collection", collection) or _JUDGED
        index = self.indexes.get(collection)
        if index is None or index.body is not body:  # registered anew
            index = self.indexes[collection] = _Index(body)
        if body.get("source") == "judgments":
            index.take(self.store.judgments(self.id, since=index.at, limit=_SIMILAR))
        return index.similar.search(query, top_k)

    async def take(self, source: str, most: int, wait_ms: int) -> StreamBatch | None:
        """An event is news for whoever asks first."""
        reading = self.sources.get(source)
        if reading is None:
            reading = self.sources[source] = Source(self.store, self.id, source, self.now())
        waited = 0.0
        while (taken := reading.take(most)) is None and waited * 1000 < wait_ms:
            await asyncio.sleep(_POLL_S)
            waited += _POLL_S
        return taken


class _Index:
    """A collection made searchable once; judgments are added as they come, and the oldest go."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body, self.similar, self.at = body, SimilarityIndex(), 0
        self.known: dict[str, int] = {}  # judgment → its time, in the order they came
        for i, document in enumerate(body.get("documents") or []):
            self.similar.add(
                str(document.get("id", i)) if isinstance(document, dict) else str(i), document, {"document": document}
            )

    def take(self, rows: list[JudgmentRow]) -> None:
        """Newest first; those of the last moment may be known already."""
        for row in reversed(rows):
            id = f"{row.run}/{row.firing}"
            if self.known.get(id) == row.at:
                continue
            self.known.pop(id, None)
            self.known[id] = self.at = row.at
            held = _unpack(row.body)
            if held.get("input") is not None:
                self.similar.add(id, held["input"], {"decision": row.decision, **held})
        while len(self.known) > _SIMILAR:
            oldest = next(iter(self.known))
            del self.known[oldest]
            self.similar.remove(oldest)


class Tenants:
    """Every tenant that has been asked for, made once."""

    def __init__(
        self, store: TenantStore, places: SecretPlaces, now: Callable[[], int],
        settings: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.store, self.places, self.now, self.settings = store, places, now, settings or {}
        self.known: dict[str, StoredTenant] = {}

    def __call__(self, id: str) -> Tenant:
        return self.of(id)

    def of(self, id: str) -> StoredTenant:
        tenant = self.known.get(id)
        if tenant is None:
            where = environment_of(self.settings, id)
            tenant = self.known[id] = StoredTenant(id, self.store, self.places, self.now, where)
        return tenant

    def refresh(self) -> None:
        """Something was registered: read it again when it is next asked for."""
        for tenant in self.known.values():
            tenant.refresh()


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """Where on this machine the engine stands: its store, and whose tenants it serves. `home` is the tenant that the
    sample beside the store belongs to."""

    store: Path | None = None
    shared: Shared = "none"
    home: str = ""

    def secret_grants(self, settings: Mapping[str, Any]) -> Lends | None:
        """Which of the operator's secrets a tenant gets: those that `tenants.NAME.secrets` lists, «*» for all. Where
        nothing is said the tenant at home gets them all, and no other one any."""
        if self.shared == "none":
            return None

        def lent(tenant: str, name: str) -> bool:
            granted = settings.get(f"tenants.{tenant}.secrets")
            if granted is None:
                return tenant == self.home
            return bool({"*", name} & set(_lines(granted)))

        return lent


class TenantServices:
    """What is lent to executors: to tenants that share a machine, each in folders of its own beside the store."""

    def __init__(self, installation: Installation, services: Services) -> None:
        self.installation = installation
        self.known: dict[str, Services] = {}
        if installation.store is None:
            self.base = services
            return
        self.folder = Path(os.path.realpath(installation.store.parent))
        own = [self.folder / "settings.toml", *(services.settings.get(name) for name in _OWN)]
        self.path_policy = PathPolicy(
            store=self.folder / installation.store.name, own=tuple(_real(path) for path in own if path is not None)
        )
        declared = (services.output_dir, services.input_dir, self.folder / "files")
        policy = msgspec.structs.replace(self.path_policy, open=tuple(map(_real, declared)))
        lend = None if installation.shared == "none" else self.to
        self.base = msgspec.structs.replace(services, path_policy=policy, lend=lend)

    def to(self, tenant: str) -> Services:
        services = self.known.get(tenant)
        if services is None:
            at_home = self.installation.shared == "others" and tenant == self.installation.home
            services = self.known[tenant] = self.base if at_home else self._apart(tenant)
        return services

    def _apart(self, tenant: str) -> Services:
        settings, around = self.base.settings, self.folder / "tenants"
        folder = around / folder_name(tenant)
        for name in ("input", "output", "files"):
            with contextlib.suppress(OSError):  # it is said when a file is wanted
                (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        given, made, dropped = (_real(folder / name) for name in ("input", "output", "files"))
        # What a document writes is no database: a forged one would make SQLite do more than read.
        databases = [given, dropped, *_listed(settings, tenant, "sql.roots")]
        folders = [given, made, dropped, *_listed(settings, tenant, "file.roots")]
        sql_base = dropped
        if tenant == self.installation.home:
            sql_base = _real(settings.get("sql.root") or self.folder)
            databases.append(self.folder / "sample.db")
            folders.append(self.folder / "files")
        policy = msgspec.structs.replace(
            self.path_policy, open=(*databases, *folders), shared=True, sql_base=sql_base,
            file_base=folder, sql_roots=tuple(databases), file_roots=tuple(folders),
            apart=_real(around), mine=_real(folder),
        )  # fmt: skip
        return msgspec.structs.replace(
            self.base,
            input_dir=given,
            output_dir=made,
            path_policy=policy,
            settings=self._settings(tenant),
            machine=settings,
        )

    def _settings(self, tenant: str) -> dict[str, Any]:
        """The machine's, without what is the operator's alone: its secrets, and the right to start programs."""
        settings = self.base.settings
        secrets = self.base.tenant(tenant).secret if self.base.tenant is not None else None
        return {**settings, "secrets": secrets, "mcp.commands": listed_for(settings, tenant, "mcp.commands")}


def environment_of(settings: Mapping[str, Any], tenant: str) -> str:
    """Where a tenant's runs are at work, when nobody says otherwise (C-82)."""
    return str(settings.get(f"tenants.{tenant}.environment") or settings.get("environment") or ENVIRONMENT)


def folder_name(tenant: str) -> str:
    """A name that no other tenant has, on a disk that does not tell cases apart either."""
    return tenant if _PLAIN.match(tenant) else f"~{hashlib.sha256(tenant.encode('utf-8', 'surrogatepass')).hexdigest()}"


def listed_for(settings: Mapping[str, Any], tenant: str, name: str) -> list[Any]:
    """A list of the settings: what is said for everybody, and for one tenant."""
    return [*_lines(settings.get(name)), *_lines(settings.get(f"tenants.{tenant}.{name}"))]


def _lines(setting: Any) -> list[Any]:
    return [] if setting is None else [setting] if isinstance(setting, str | Path) else list(setting)


def _listed(settings: Mapping[str, Any], tenant: str, name: str) -> list[Path]:
    return [_real(path) for path in listed_for(settings, tenant, name)]


def _real(path: str | Path) -> Path:
    return Path(os.path.realpath(path))
