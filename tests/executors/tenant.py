"""A tenant in memory: what is registered, its secrets, and a local outbox that can be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class MemoryTenant:
    """`things` is {type: {id: body}}; `kept` is the outbox: (key, channel, target, message, run) each."""

    def __init__(
        self,
        id: str = "t",
        things: dict[str, dict[str, Mapping[str, Any]]] | None = None,
        secrets: dict[str, str] | None = None,
    ) -> None:
        self.id = id
        self.things = things if things is not None else {}
        self.secrets = secrets if secrets is not None else {}
        self.kept: list[tuple[str, str, str, Any, str]] = []
        self.found: dict[str, list[Any]] = {}  # collection -> what a search answers
        self.events: dict[str, list[Any]] = {}  # source -> what has arrived

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        return self.things.get(type, {}).get(id if version is None else f"{id}@{version}")

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]:
        return self.things.get(type, {})

    def secret(self, name: str) -> str | None:
        return self.secrets.get(name)

    def keep(self, key: str, channel: str, target: str, message: Any, run: str) -> None:
        if all(one[0] != key for one in self.kept):
            self.kept.append((key, channel, target, message, run))

    async def search(self, collection: str, query: Any, top_k: int) -> list[Any]:
        return self.found.get(collection, [])[:top_k]

    async def take(self, source: str, most: int, wait_ms: int) -> list[Any]:
        waiting = self.events.get(source, [])
        taken, self.events[source] = waiting[:most], waiting[most:]
        return taken
