"""Proposes a model that the history shows: always of type discovered, always waiting for a person (P-7.5.1)."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.error_words import process_words
from penstock.app.process.mining.conformance import check_conformance
from penstock.app.process.mining.maps import Maps, Source, definition_of, variants_of
from penstock.app.process.mining.model_diff import ModelDiff, model_diff
from penstock.app.process.mining.tree_definition import tree_definition
from penstock.app.process.models import import_discovered
from penstock.app.process.version_writer import DISCOVERED, Defined, origin_of
from penstock.app.timestamps import iso
from penstock.errors import BadInput
from penstock.mining.activity_map import ActivityMap
from penstock.mining.conformance import Conformance
from penstock.mining.inductive_miner import discover_tree
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

ALGORITHM = "inductive miner"


class Proposal(msgspec.Struct, frozen=True):
    """The model that waits, with what it says of the history. `diff` is None where no process was there before."""

    saved: Defined
    conformance: Conformance
    diff: ModelDiff | None


class _Found(msgspec.Struct, frozen=True):
    definition: dict[str, Any]
    conformance: Conformance
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
        mined = await asyncio.to_thread(_discovered, source, found, noise)
        metadata = {
            "algorithm": ALGORITHM if not noise else f"{ALGORITHM}, noise {noise:g}",
            "fitness": mined.conformance.fitness, "precision": mined.conformance.precision, "case_count": found.cases,
        }  # fmt: skip
        base = source.row
        with process_words():
            saved = await import_discovered(
                self.door, source.id, mined.definition, metadata, by=by, base=None if base is None else base.name,
                more=_evidence(source, found, mined, noise),
            )  # fmt: skip
        return Proposal(saved, mined.conformance, mined.diff)


def _discovered(source: Source, found: ActivityMap, noise: float) -> _Found:
    variants, base = variants_of(found), None if source.row is None else definition_of(source.row)
    id = base["process_definition_id"] if base is not None else _id_of(source)
    model = tree_definition(discover_tree(variants, noise), base, str(id), source.name)
    fits = check_conformance(model, variants)
    diff = None if base is None else model_diff(base, model, variants, found)
    return _Found(model, fits, diff)


def _id_of(source: Source) -> str:
    return f"mined_{hashlib.sha256(source.id.encode()).hexdigest()[:12]}"


def _evidence(source: Source, found: ActivityMap, mined: _Found, noise: float) -> dict[str, Any]:
    """What whoever decides later is shown, as it was when the model was mined."""
    fits = mined.conformance
    more: dict[str, Any] = {
        "noise": noise, "event_count": found.events,
        "source_kind": "runs" if source.log is None else "log",
        "period": {"from": _moment(source.begin, found.begin), "to": _moment(source.end, found.end)},
        "conformance": msgspec.to_builtins(
            {"fitting": fits.fitting, "cases": fits.cases, "bounded": fits.bounded, "deviations": fits.deviations}
        ),
    }  # fmt: skip
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
