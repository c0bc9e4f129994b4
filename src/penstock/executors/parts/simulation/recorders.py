"""A tenant for simulations: reads what the real one has, with the candidate in its place; sends and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.executors.contract import Tenant


class SimulationRefused(Exception):
    """Something in a simulation wanted to send or to write."""

    def __init__(self, what: str) -> None:
        super().__init__(f"A simulation does not {what}.")


class RecordingTenant:
    """`refused` counts what was tried and not done (W-4.13.2)."""

    def __init__(self, tenant: Tenant, type: str, id: str, body: Mapping[str, Any]) -> None:
        self.id, self.tenant, self.replaced = tenant.id, tenant, {(type, id): body}
        self.refused = 0

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        return self.replaced.get((type, id)) or self.tenant.find(type, id, version)

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]:
        return {**self.tenant.each(type), **{id: body for (kind, id), body in self.replaced.items() if kind == type}}

    def deployed(self, type: str, id: str, **where: Any) -> Any:
        """The candidate is judged for all samples, so it is routed by no deployment; everything else is as it is."""
        return None if (type, id) in self.replaced else self.tenant.deployed(type, id, **where)

    def versions(self, type: str, id: str) -> Sequence[tuple[str, str, Mapping[str, Any]]]:
        return self.tenant.versions(type, id)

    def secret(self, name: str) -> str | None:
        return self.tenant.secret(name)

    def loads(self) -> Mapping[str, int]:
        return self.tenant.loads()

    async def search(self, collection: str, query: Any, top_k: int) -> list[Any]:
        return await self.tenant.search(collection, query, top_k)

    def keep_simulation(self, record: Any) -> None:
        self._refuse("keep simulations")

    def keep(self, key: str, channel: str, target: str, message: Any, run: str) -> None:
        self._refuse("send messages")

    def turn(self, name: str, key: str, names: Sequence[str]) -> str:
        self._refuse("take turns")
        return names[0]

    async def take(self, source: str, most: int, wait_ms: int) -> None:
        self._refuse("take events")

    def _refuse(self, what: str) -> None:
        self.refused += 1
        raise SimulationRefused(what)
