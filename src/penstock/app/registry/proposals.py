"""What a tenant registers by four eyes: one proposes a change, another puts it in force (C-82)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.access import four_eyes
from penstock.app.access.candidates import Who
from penstock.app.registry.artifact_types import check_artifact
from penstock.app.registry.registry import GOVERNED
from penstock.app.runs.runs import Runs
from penstock.errors import BadInput, ChangedMeanwhile, ThingNotFound
from penstock.store.artifacts import ArtifactRow

CONFIG = "config"
_pack = msgspec.msgpack.Encoder().encode


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is None where it is to be taken away. `on` marks what was in force when it was made."""

    id: str
    body: dict[str, Any] | None
    by: str
    at: int
    on: str
    type: str = CONFIG


class Proposals:
    """The changes of one type that wait for a second person."""

    def __init__(self, door: Runs, type: str = CONFIG) -> None:
        if type not in GOVERNED:
            raise BadInput(what="the type", why=f"«{type}» needs no second person: it is none of {', '.join(GOVERNED)}")
        self.door, self.type = door, type
        #: kept apart from what is in force: nobody who reads the one can take it for the other
        self._kept_as = f"{type}_proposal"

    def put(self, id: str, body: Mapping[str, Any] | None, by: str) -> Proposal:
        """Propose a change, in the place of one that waits. Raises ThingInvalid, and ThingNotFound for what is to be
        removed and does not exist."""
        there = self.door.registry.get(self.type, id)
        if body is not None:
            check_artifact(self.type, id, body)
        elif there is None:
            raise ThingNotFound(type=self.type, id=id)
        made = Proposal(
            id=id, body=None if body is None else dict(body), by=by, at=self.door.now(), on=_mark(there), type=self.type
        )
        self.door.store.put_artifacts(
            [ArtifactRow(self.door.tenant, self._kept_as, id, "", "pending_approval", _pack(made), made.at)]
        )
        return made

    def each(self) -> list[Proposal]:
        rows = self.door.store.artifacts(self.door.tenant, self._kept_as)
        return [msgspec.msgpack.decode(row.body, type=Proposal) for row in rows]

    def get(self, id: str) -> Proposal:
        proposal = next((pending for pending in self.each() if pending.id == id), None)
        if proposal is None:
            raise ThingNotFound(type=f"proposal of the {self.type}", id=id)
        return proposal

    def approve(self, id: str, by: Who) -> None:
        """Put a proposal in force. Raises FourEyes for its author, ChangedMeanwhile where it has changed."""
        proposal, registry = self.get(id), self.door.registry
        change = four_eyes.Change(f"the {self.type} «{id}»", proposal.by, proposal.at, always=True)
        four_eyes.admit(self.door, change, by)
        now = _mark(registry.get(self.type, id))
        if now != proposal.on:
            raise ChangedMeanwhile(what=f"{self.type} «{id}»", now=now or "nothing")
        if proposal.body is None:
            registry.remove(self.type, id, change=change, by=by)
        else:
            registry.put(self.type, id, proposal.body, change=change, by=by)
        self.drop(id)

    def drop(self, id: str) -> Proposal:
        """Remove a proposal: rejected by another person, or withdrawn by its author."""
        proposal = self.get(id)
        self.door.store.drop_artifact(self.door.tenant, self._kept_as, id)
        return proposal


def _mark(row: ArtifactRow | None) -> str:
    return "" if row is None else hashlib.blake2b(row.body, digest_size=8).hexdigest()
