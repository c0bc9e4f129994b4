"""Tenants: the one way from an executor to what belongs to somebody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Tenant
from penstock.executors.parts.similar import Similar
from penstock.host.secrets import SecretPlaces
from penstock.host.taken import Source, Taken
from penstock.host.versions import usable, version_key
from penstock.store.contract import JudgmentRow, MessageRow, Store

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
_POLL_S = 0.05
_FRESH_MS = 500  # what another process registers is seen after so long
_SIMILAR = 2000  # so many judgments are looked through
_JUDGED: Mapping[str, Any] = {"source": "judgments"}  # a collection that nobody has registered


class Kept:
    """One tenant, as the store has it. What is registered is read again when the store's registry has changed."""

    def __init__(self, id: str, store: Store, places: SecretPlaces, now: Callable[[], int]) -> None:
        self.id = id
        self.store, self.places, self.now = store, places, now
        self.held: dict[str, dict[str, list[tuple[str, str, Mapping[str, Any]]]]] = {}
        self.sources: dict[str, Source] = {}
        self.number, self.looked = -1, -_FRESH_MS  # of the registry as it is held, and when that was asked
        self.indexes: dict[str, _Index] = {}

    def refresh(self) -> None:
        self.held.clear()

    def _of(self, type: str) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
        now = self.now()
        if not 0 <= now - self.looked < _FRESH_MS:
            number, self.looked = self.store.registry_number(), now
            if number != self.number:
                self.held.clear()
                self.number = number
        found = self.held.get(type)
        if found is None:
            found = {}
            for row in self.store.artifacts(self.id, type):
                found.setdefault(row.id, []).append((row.version, row.status, _unpack(row.body)))
            self.held[type] = found
        return found

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        """The version asked for, which must have been approved; else the newest one that is."""
        asked = version is not None
        versions = [one for one in self._of(type).get(id, []) if usable(type, one[1], asked_for=asked)]
        if asked:
            return next((body for known, _, body in versions if known == version), None)
        return max(versions, key=lambda one: version_key(one[0]))[2] if versions else None

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]:
        found = {id: self.find(type, id) for id in self._of(type)}
        return {id: body for id, body in found.items() if body is not None}

    def secret(self, name: str) -> str | None:
        return self.places.find(name, self.find("secret", name) if ":" not in name else None, self.id)

    def keep(self, key: str, channel: str, target: str, message: Any, run: str) -> None:
        self.store.put_message(MessageRow(key, self.id, run, channel, target, _pack(message), self.now()))

    async def search(self, collection: str, query: Any, top_k: int) -> list[Any]:
        body = self.find("collection", collection) or _JUDGED
        index = self.indexes.get(collection)
        if index is None or index.body is not body:  # registered anew
            index = self.indexes[collection] = _Index(body)
        if body.get("source") == "judgments":
            index.take(self.store.judgments(self.id, since=index.at, limit=_SIMILAR))
        return index.similar.search(query, top_k)

    async def take(self, source: str, most: int, wait_ms: int) -> Taken | None:
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
        self.body, self.similar, self.at = body, Similar(), 0
        self.known: dict[str, int] = {}  # judgment → its time, in the order they came
        for i, one in enumerate(body.get("documents") or []):
            self.similar.add(str(one.get("id", i)) if isinstance(one, dict) else str(i), one, {"document": one})

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

    def __init__(self, store: Store, places: SecretPlaces, now: Callable[[], int]) -> None:
        self.store, self.places, self.now = store, places, now
        self.known: dict[str, Kept] = {}

    def __call__(self, id: str) -> Tenant:
        found = self.known.get(id)
        if found is None:
            found = self.known[id] = Kept(id, self.store, self.places, self.now)
        return found

    def refresh(self) -> None:
        """Something was registered: read it again when it is next asked for."""
        for one in self.known.values():
            one.refresh()
