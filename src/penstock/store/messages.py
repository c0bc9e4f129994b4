"""Messages to people: those that were sent, and notices that are still to be delivered."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from penstock.store.sql import Sql


class MessageRow(msgspec.Struct, frozen=True):
    key: str
    tenant: str
    run: str
    channel: str
    target: str
    body: bytes
    at: int
    no: int = 0


class MessageStore(Protocol):
    def put_message(self, message: MessageRow) -> None:
        """Keep a message; one with the same key, channel and target is kept once."""
        ...

    def messages(self, tenant: str, run: str | None = None, limit: int = 100) -> list[MessageRow]: ...

    def notices(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        """Messages to people that may be delivered now: no, body, tries. Each is for itself."""
        ...

    def notices_left(self) -> bool: ...

    def first_notice_at(self) -> int | None:
        """When the next of them may be delivered; None: there are none."""
        ...


class SqlMessages(Sql):
    def put_message(self, message: MessageRow) -> None:
        with self.transaction():
            self._execute(
                "INSERT INTO message(key,tenant,run,channel,target,body,at) VALUES(?,?,?,?,?,?,?)"
                " ON CONFLICT DO NOTHING",
                (message.key, message.tenant, message.run, message.channel, message.target, message.body, message.at),
            )

    def messages(self, tenant: str, run: str | None = None, limit: int = 100) -> list[MessageRow]:
        sql = "SELECT key,tenant,run,channel,target,body,at,no FROM message WHERE tenant=?"
        values: list[Any] = [tenant]
        if run is not None:
            sql, values = sql + " AND run=?", [*values, run]
        rows = self._read(sql + " ORDER BY no DESC LIMIT ?", (*values, limit)).fetchall()
        return [MessageRow(*row) for row in reversed(rows)]

    def notices(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        sql = "SELECT no,body,tries FROM outbox WHERE topic='notice' AND due_at<=? ORDER BY no LIMIT ?"
        return self._read(sql, (now, limit)).fetchall()

    def notices_left(self) -> bool:
        return self._one("SELECT 1 FROM outbox WHERE topic='notice' LIMIT 1") is not None

    def first_notice_at(self) -> int | None:
        at = self._one("SELECT min(due_at) FROM outbox WHERE topic='notice'")
        return None if at is None else int(at)
