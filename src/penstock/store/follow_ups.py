"""Follow-ups: what is to be done after a commit, in the outbox beside notices and events; no sink sees it."""

from __future__ import annotations

from typing import Protocol

from penstock.store.sql import Sql

TOPIC = "follow-up"


class FollowUpStore(Protocol):
    def follow_ups(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        """Those that may be done now, the oldest first: no, body, tries. Each is for itself."""
        ...

    def follow_ups_left(self) -> bool: ...


class SqlFollowUps(Sql):
    def follow_ups(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        sql = "SELECT no,body,tries FROM outbox WHERE topic=? AND due_at<=? ORDER BY due_at,no LIMIT ?"
        return self._read(sql, (TOPIC, now, limit)).fetchall()

    def follow_ups_left(self) -> bool:
        return self._one("SELECT 1 FROM outbox WHERE topic=? LIMIT 1", (TOPIC,)) is not None
