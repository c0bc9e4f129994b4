"""Artifacts: what tenants have registered (rules, prompts, connections …), and the profile of the store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from penstock.store.sql import Sql


class ArtifactRow(msgspec.Struct, frozen=True):
    tenant: str
    type: str
    id: str
    version: str
    status: str
    body: bytes
    at: int


class ArtifactStore(Protocol):
    def put_artifacts(self, rows: Iterable[ArtifactRow]) -> None: ...

    def artifacts(self, tenant: str, type: str | None = None) -> list[ArtifactRow]: ...

    def drop_artifact(self, tenant: str, type: str, id: str, version: str = "") -> bool: ...

    def registry_number(self) -> int:
        """Rises with every change of what is registered."""
        ...

    def profile(self) -> str | None:
        """What the store was born with: dev or production; None while nobody has said."""
        ...

    def born_with(self, profile: str) -> str:
        """Say it once; the first word stays."""
        ...


#: what is registered, or which version of it applies, is another
CHANGED = "INSERT INTO mark VALUES('registry', 1) ON CONFLICT(name) DO UPDATE SET value = mark.value + 1"
PROFILES = ("dev", "production")


class SqlArtifacts(Sql):
    def put_artifacts(self, rows: Iterable[ArtifactRow]) -> None:
        with self.transaction():
            self._many(
                "INSERT INTO artifact VALUES(?,?,?,?,?,?,?) ON CONFLICT (tenant,type,id,version)"
                " DO UPDATE SET status=excluded.status,body=excluded.body,at=excluded.at",
                [(a.tenant, a.type, a.id, a.version, a.status, a.body, a.at) for a in rows],
            )
            self._execute(CHANGED)

    def artifacts(self, tenant: str, type: str | None = None) -> list[ArtifactRow]:
        sql = "SELECT tenant,type,id,version,status,body,at FROM artifact WHERE tenant=?"
        if type is None:
            return [ArtifactRow(*row) for row in self._read(sql + " ORDER BY type,id,version", (tenant,))]
        return [ArtifactRow(*row) for row in self._read(sql + " AND type=? ORDER BY id,version", (tenant, type))]

    def drop_artifact(self, tenant: str, type: str, id: str, version: str = "") -> bool:
        with self.transaction():
            where = "tenant=? AND type=? AND id=? AND version=?"
            self._execute(CHANGED)
            return self._execute(f"DELETE FROM artifact WHERE {where}", (tenant, type, id, version)).rowcount > 0

    def registry_number(self) -> int:
        """Rises with every change of what is registered."""
        return int(self._one("SELECT value FROM mark WHERE name='registry'") or 0)

    def profile(self) -> str | None:
        """What the store was born with: dev or production; None while nobody has said."""
        number: int | None = self._one("SELECT value FROM mark WHERE name='profile'")
        return None if number is None else PROFILES[number]

    def born_with(self, profile: str) -> str:
        """Say it once; the first word stays."""
        with self.transaction():
            self._execute("INSERT INTO mark VALUES('profile', ?) ON CONFLICT DO NOTHING", (PROFILES.index(profile),))
        return self.profile() or profile
