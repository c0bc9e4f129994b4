"""A tenant of a store of its own, in a file that goes with it: what is registered, its secrets, outbox and events."""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.host.artifact_versions import status_of
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import StoredTenant
from penstock.store.artifacts import ArtifactRow
from penstock.store.events import EventRow
from penstock.store.sqlite import Sqlite

_pack = msgspec.msgpack.encode
Things = dict[str, dict[str, Mapping[str, Any]]]


class KeptTenant(StoredTenant):
    """`things` is {type: {id: body}}, where an id may be ID@VERSION, and may be changed at any time; so may `secrets`.
    What is put into `events[source]` arrives; `kept` is the outbox: (key, channel, target, message, run) each."""

    def __init__(self, id: str = "t", things: Things | None = None, secrets: dict[str, str] | None = None) -> None:
        folder = tempfile.TemporaryDirectory(prefix="penstock-tenant-")
        store = Sqlite(Path(folder.name) / "store.db")
        weakref.finalize(self, _gone, store, folder)
        self.things: Things = things if things is not None else {}
        self.secrets = secrets if secrets is not None else {}
        self.events = _Events(id, store)
        self.mutex = threading.Lock()  # tests of attempts at the same moment ask from several threads
        super().__init__(id, store, SecretPlaces(self.secrets, environment={}), lambda: 1_000_000)

    def _of(self, type: str) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
        wanted = [self._row(type, key, body) for key, body in self.things.get(type, {}).items()]
        with self.mutex:
            known = self.store.artifacts(self.id, type)
            if sorted(map(repr, wanted)) != sorted(map(repr, known)):
                for row in known:
                    self.store.drop_artifact(self.id, type, row.id, row.version)
                self.store.put_artifacts(wanted)
                self.refresh()
            return super()._of(type)

    def _row(self, type: str, key: str, body: Mapping[str, Any]) -> ArtifactRow:
        id, at, version = key.rpartition("@")
        known = (id, version) if at and type != "user" else (key, str(body.get("version") or ""))
        return ArtifactRow(self.id, type, *known, status_of(type, body), _pack(body), 0)

    @property
    def kept(self) -> list[tuple[str, str, str, Any, str]]:
        rows = self.store.messages(self.id)
        return [(row.key, row.channel, row.target, msgspec.msgpack.decode(row.body), row.run) for row in rows]


class _Events:
    def __init__(self, tenant: str, store: Sqlite) -> None:
        self.tenant, self.store, self.count = tenant, store, 0

    def __setitem__(self, source: str, bodies: list[Any]) -> None:
        for body in bodies:
            self.count += 1
            self.store.put_event(EventRow(self.tenant, f"e{self.count}", source, _pack(body), 0))


def _gone(store: Sqlite, folder: tempfile.TemporaryDirectory[str]) -> None:
    store.close()
    folder.cleanup()
