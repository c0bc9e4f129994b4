"""Proposes a model that the history shows: always of type discovered, always waiting for a person (P-7.5.1)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.process.called_definitions import Called, called_by
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.error_words import process_words
from penstock.app.process.mining.histories.maps import Maps, Source, definition_of, variants_of
from penstock.app.process.mining.model_diff import ModelDiff, model_diff
from penstock.app.process.mining.proposal import LEAST_SHARE, propose_model
from penstock.app.process.mining.proposal import Proposal as MinedModel
from penstock.app.process.models import import_discovered
from penstock.app.process.version_writer import DISCOVERED, Defined, origin_of
from penstock.app.timestamps import iso
from penstock.errors import BadInput
from penstock.mining.activity_map import ActivityMap
from penstock.mining.conformance import Conformance
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs


class Proposal(msgspec.Struct, frozen=True):
    """The model that waits, with what it says of the history. `diff` is None where no process was there before."""

    saved: Defined
    conformance: Conformance
    diff: ModelDiff | None


class _Found(msgspec.Struct, frozen=True):
    model: MinedModel
    diff: ModelDiff | None


class Discovery:
    def __init__(self, door: Runs) -> None:
        self.door, self.maps = door, Maps(door)

    async def propose(self, source: Source, *, by: Who, noise: float = 0.0) -> Proposal:
        """Nothing is applied: the model is saved under an id of its own, with its evidence, and waits. The same history
        again changes nothing."""
        if not 0 <= noise < 1:
            raise BadInput(what="«noise»", why="it is a share from 0 to less than 1")
        found = await self.maps.map(source)
        if not found.cases:
            raise BadInput(what="the history", why="no case has ended in it", hint="Choose another period, or a log.")
        mined, base = await asyncio.to_thread(_mined, source, found, noise, _called(self.door, source)), source.row
        fits = mined.model.conformance
        metadata = {
            "algorithm": mined.model.algorithm if not noise else f"{mined.model.algorithm}, noise {noise:g}",
            "fitness": fits.fitness, "precision": fits.precision, "case_count": found.cases,
        }  # fmt: skip
        with process_words():
            saved = await import_discovered(
                self.door, source.id, mined.model.definition, metadata, by=by, base=None if base is None else base.name,
                more=_evidence(source, found, mined, noise),
            )  # fmt: skip
        return Proposal(saved, fits, mined.diff)


def _mined(source: Source, found: ActivityMap, noise: float, called: Called | None) -> _Found:
    """`noise` is a share of a log without a process, and the least share of the cases that change one."""
    variants = variants_of(found)
    if source.row is None:
        return _Found(propose_model(None, variants, id=_id_of(source), name=source.name, noise=noise), None)
    base, least = definition_of(source.row), max(noise, LEAST_SHARE)
    model = propose_model(base, variants, least_share=least, resolve=called)
    return _Found(model, model_diff(base, model.definition, variants, found, called, model.steps))


def _called(door: Runs, source: Source) -> Called | None:
    """What the process calls: without it nobody could say whether the model can be run."""
    return None if source.row is None else Called(called_by(door, definition_of(source.row)))


def _id_of(source: Source) -> str:
    return f"mined_{hashlib.sha256(source.id.encode()).hexdigest()[:12]}"


def _evidence(source: Source, found: ActivityMap, mined: _Found, noise: float) -> dict[str, Any]:
    """What whoever decides later is shown, as it was when the model was mined."""
    fits = mined.model.conformance
    more: dict[str, Any] = {
        "noise": noise, "event_count": found.events,
        "source_kind": "runs" if source.log is None else "log",
        "period": {"from": _moment(source.begin, found.begin), "to": _moment(source.end, found.end)},
        "conformance": msgspec.to_builtins(
            {"fitting": fits.fitting, "cases": fits.cases, "bounded": fits.bounded, "deviations": fits.deviations}
        ),
    }  # fmt: skip
    if mined.model.not_learned:
        more["not_learned"] = [msgspec.to_builtins(each) for each in mined.model.not_learned]
    if found.bottleneck is not None:
        more["bottlenecks"] = [msgspec.to_builtins(found.bottleneck)]
    if mined.diff is not None and source.row is not None:
        more["base_version"] = source.row.version
        more["model_diff"] = msgspec.to_builtins(mined.diff)
    return more


def _moment(asked: int | None, found: int | None) -> str | None:
    at = found if asked is None else asked
    return None if at is None else iso(at)


def proposals_of(door: Runs, base: str) -> list[ReleaseRow]:
    """The newest version of every model that was mined for a process, the newest first."""
    rows = [row for row in _newest_models(door) if origin_of(row).get("base_proc_def_id") == base]
    return sorted(rows, key=lambda row: (-row.created_at, row.name))


def pending_of(door: Runs, base: str) -> ReleaseRow | None:
    return next((row for row in proposals_of(door, base) if approval_of(row) == "pending"), None)


def _newest_models(door: Runs) -> list[ReleaseRow]:
    newest: dict[str, ReleaseRow] = {}
    for row in door.store.releases(door.tenant, kind=DISCOVERED):
        newest[row.name] = row
    return list(newest.values())


def model_of(door: Runs, id: str) -> ReleaseRow:
    """The newest version of a discovered model."""
    return Processes(door).versions(id)[-1]
