"""Settings of a tenant by four eyes: one proposes a change, another puts it in force (C-82, `config` artifacts)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.registry.artifact_types import check_artifact
from penstock.app.runs.runs import Runs
from penstock.errors import ChangedMeanwhile, FourEyes, ThingNotFound
from penstock.store.artifacts import ArtifactRow

CONFIG = "config"
#: kept apart from what is in force: nobody who reads settings can take one for the other
_PROPOSAL = "config_proposal"
_pack = msgspec.msgpack.Encoder().encode


class SettingProposal(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is None where the settings are to be taken away. `on` marks what was in force when it was made."""

    id: str
    body: dict[str, Any] | None
    by: str
    at: int
    on: str


class SettingProposals:
    def __init__(self, door: Runs) -> None:
        self.door = door

    def put(self, id: str, body: Mapping[str, Any] | None, by: str) -> SettingProposal:
        """Propose a change, in the place of one that waits. Raises ThingInvalid, and ThingNotFound for settings to be
        removed that do not exist."""
        there = self.door.registry.get(CONFIG, id)
        if body is not None:
            check_artifact(CONFIG, id, body)
        elif there is None:
            raise ThingNotFound(type=CONFIG, id=id)
        made = SettingProposal(
            id=id, body=None if body is None else dict(body), by=by, at=self.door.now(), on=_mark(there)
        )
        self.door.store.put_artifacts(
            [ArtifactRow(self.door.tenant, _PROPOSAL, id, "", "pending_approval", _pack(made), made.at)]
        )
        return made

    def each(self) -> list[SettingProposal]:
        rows = self.door.store.artifacts(self.door.tenant, _PROPOSAL)
        return [msgspec.msgpack.decode(row.body, type=SettingProposal) for row in rows]

    def get(self, id: str) -> SettingProposal:
        proposal = next((pending for pending in self.each() if pending.id == id), None)
        if proposal is None:
            raise ThingNotFound(type="proposal of the config", id=id)
        return proposal

    def approve(self, id: str, by: str) -> None:
        """Put a proposal in force. Raises FourEyes for its author, ChangedMeanwhile where the settings have changed."""
        proposal, registry = self.get(id), self.door.registry
        if proposal.by == by:
            raise FourEyes(user=by, what=f"the config «{id}»")
        now = _mark(registry.get(CONFIG, id))
        if now != proposal.on:
            raise ChangedMeanwhile(what=f"config «{id}»", now=now or "nothing")
        if proposal.body is None:
            registry.remove(CONFIG, id)
        else:
            registry.put(CONFIG, id, proposal.body)
        self.drop(id)

    def drop(self, id: str) -> SettingProposal:
        """Remove a proposal: rejected by another person, or withdrawn by its author."""
        proposal = self.get(id)
        self.door.store.drop_artifact(self.door.tenant, _PROPOSAL, id)
        return proposal


def _mark(row: ArtifactRow | None) -> str:
    return "" if row is None else hashlib.blake2b(row.body, digest_size=8).hexdigest()
