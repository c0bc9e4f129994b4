"""Executions that begin together, whatever began them: each once by its key, heard of when all are in the store."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition
from penstock.host.embedded import ReplyWaiter
from penstock.kernel import command as C
from penstock.lang.pipeline.matching import run_input
from penstock.lang.pipeline.messages import FileMessage

#: the trigger of executions that a file begins (F-1.3.8)
UPLOAD = "UPLOAD"
#: HTTP's word for «later»: a tenant has as many open runs as it may
NO_ROOM = 429


class Begun(NamedTuple):
    """`new`: nobody had begun it before."""

    id: str
    new: bool


class ExecutionStarts:
    """Of a door that drives its store. `known` are the ids of executions that were there before, by tenant and key."""

    def __init__(self, door: Penstock, known: Mapping[tuple[str, str], str]) -> None:
        door.begin()
        self.door, self.host, self.known = door, door.host, known
        self._committed = _Committed()

    def begin(
        self, definition: Definition, message: FileMessage, file_id: int, *, key: str, trigger: dict[str, Any],
        params: Mapping[str, Any] | None = None, parent: str = "", id: str = "",
    ) -> Begun:  # fmt: skip
        """`params` lie over those of the definition (F-X.33). Raises what refuses it now: a tenant without room."""
        host, tenant = self.host, message.tenant_id
        unborn = host.turns.starting.get((tenant, key))
        if unborn is not None:
            host.send(unborn.no, C.nudge(), self._committed.next())  # in the store when this is answered
            return Begun(unborn.id, False)
        if (tenant, key) in self.known:
            return Begun(self.known[tenant, key], False)
        host.start_limits.check(tenant)
        both = {**(definition.about.get("default_params") or {}), **(params or {})}
        options = {
            "trigger": trigger, "organization_id": message.organization_id, "file_id": file_id,
            "bucket": message.bucket,
        }  # fmt: skip
        made = host.start(
            definition.net, run_input(message, file_id=file_id, params=both), id=id or execution_id(self.door.now()),
            key=key, tenant=tenant, options=options, priority=definition.priority, parent=parent,
            trace=message.trace_id, reply=self._committed.next(),
        )  # fmt: skip
        return Begun(made, True)

    async def heard(self) -> None:
        """Until all of them are in the store."""
        self._committed.close()
        self.host.wake_up()
        await self.door.heard(self._committed)


class _Committed(ReplyWaiter):
    """Counts while it is handed out: it has been heard when it is closed and all have answered."""

    def __init__(self) -> None:
        super().__init__(1)

    def next(self) -> _Committed:
        self.left += 1
        return self

    def close(self) -> None:
        self(None)


def execution_id(now: int) -> str:
    """F-1.3.2, F-X.29: a UUID, of the kind that grows with time."""
    number = (now & (1 << 48) - 1) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=number))
