"""What is shown of a process that was mined: its map, how far its cases fit it, and the model that waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process.definitions import CONTAINERS, Processes
from penstock.app.process.mining.conformance import check_conformance
from penstock.app.process.mining.discovery import pending_of
from penstock.app.process.mining.histories.history import newest_end
from penstock.app.process.mining.histories.logs import Reading, in_period, options_of
from penstock.app.process.mining.histories.maps import Maps, Source, definition_of, variants_of
from penstock.app.process.version_writer import DISCOVERED, origin_of
from penstock.errors import BadInput
from penstock.host.limits import TenantLimits
from penstock.mining.activity_map import ActivityMap, Bottleneck, activity_map
from penstock.mining.conformance import Conformance, Deviation
from penstock.mining.event_logs import read_log
from penstock.store.event_logs import EventLogRow
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

#: variants and hand-overs of a map that are told, the most frequent ones; all of them are counted
MOST_VARIANTS, MOST_HANDOVERS = 500, 200


class MinedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One process that has a history, or a log that is of no process yet. `fitness` is the share of cases that fit the
    version in force."""

    id: str
    name: str
    version: int | None
    source: str  # runs, log
    cases: int
    events: int
    fitness: float | None
    median_case_ms: int
    bottleneck: Bottleneck | None
    pending_model: str | None


class PendingModel(msgspec.Struct, frozen=True):
    """A discovered model that waits for a person; `would_fit`: so many of the cases that it was mined from."""

    model_id: str
    version: int
    changes: int
    would_fit: int


class MinedMap(msgspec.Struct, frozen=True):
    source: Source
    map: ActivityMap
    conformance: Conformance | None
    pending: PendingModel | None
    still: frozenset[tuple[str, str, str]]  # deviations that the pending model does not have either


class Overview:
    def __init__(self, door: Runs) -> None:
        self.door, self.maps = door, Maps(door)

    def sources(self) -> list[Source]:
        """Processes with instances that have ended, or a log; then logs of no process."""
        logs = self.maps.logs.each()
        named = {log.process for log in logs}
        found: list[Source] = []
        for row in Processes(self.door).each():
            if row.kind == DISCOVERED or row.kind in CONTAINERS:
                continue
            if row.name in named or newest_end(self.door, row.name) is not None:
                found.append(self.maps.source(row.name))
        known = {source.row.name for source in found if source.row is not None}
        return found + [Source(None, log) for log in logs if log.process not in known]

    async def lines(self, sources: Iterable[Source]) -> AsyncIterator[MinedLine]:
        """One after the other: each may have a long history to be read."""
        for source in sources:
            await asyncio.sleep(0)
            found = await self.map(source)
            fits = found.conformance
            yield MinedLine(
                id=id_of(source), name=source.name, version=None if source.row is None else source.row.version,
                source=kind_of(source), cases=found.map.cases, events=found.map.events,
                fitness=None if fits is None else share(fits), median_case_ms=found.map.median_case_ms,
                bottleneck=found.map.bottleneck, pending_model=found.pending.model_id if found.pending else None,
            )  # fmt: skip

    async def map(self, source: Source) -> MinedMap:
        found, row = await self.maps.map(source), source.row
        if row is None or not found.cases:
            return MinedMap(source, found, None, None, frozenset())
        fits = await self.maps.conformance(source, definition_of(row), row.hash)
        model = pending_of(self.door, row.name)
        if model is None:
            return MinedMap(source, found, fits, None, frozenset())
        return MinedMap(source, found, fits, pending_model(model), still_deviating(model))

    async def held_against(self, mined: MinedMap, row: ReleaseRow) -> MinedMap:
        """A file's map against a process: nothing of it is kept."""
        fits = await asyncio.to_thread(check_conformance, definition_of(row), variants_of(mined.map))
        return MinedMap(msgspec.structs.replace(mined.source, row=row), mined.map, fits, None, frozenset())


def map_of_file(path: Path, limits: TenantLimits, reading: Reading, begin: int | None, end: int | None) -> MinedMap:
    """Of a file that is not kept; its log has no id."""
    try:
        found = activity_map(in_period(read_log(path, path.name, options_of(limits, reading)), begin, end))
    except OSError as error:
        raise BadInput(what=str(path), why=error.strerror or "it cannot be read") from error
    log = EventLogRow(
        tenant="", id="", name=path.name, process=None, sha256="", size=0, cases=found.cases, events=found.events,
        begin_at=found.begin, end_at=found.end, reading=None, added_by=None, added_at=0,
    )  # fmt: skip
    return MinedMap(Source(None, log, begin, end), found, None, None, frozenset())


def pending_model(row: ReleaseRow) -> PendingModel:
    origin = origin_of(row)
    changes = (origin.get("model_diff") or {}).get("changes") or ()
    fitting = (origin.get("conformance") or {}).get("fitting") or 0
    return PendingModel(row.name, row.version, len(changes), int(fitting))


def still_deviating(row: ReleaseRow) -> frozenset[tuple[str, str, str]]:
    deviations = (origin_of(row).get("conformance") or {}).get("deviations") or ()
    return frozenset((str(each["kind"]), str(each["activity"]), str(each["before"])) for each in deviations)


def share(fits: Conformance) -> float:
    """Of the cases that fit."""
    return fits.fitting / fits.cases if fits.cases else 1.0


def kind_of(source: Source) -> str:
    return "runs" if source.log is None else "log"


def id_of(source: Source) -> str:
    if source.row is not None:
        return source.row.name
    return source.log.id or source.log.name if source.log is not None else ""


# ---- as it is sent ---------------------------------------------------------------------------------------------------


def map_body(mined: MinedMap) -> dict[str, Any]:
    """What the API sends and the command writes as JSON. Moments are milliseconds."""
    source, found = mined.source, mined.map
    row = source.row
    ids = activity_ids(row)
    return {
        "id": id_of(source), "name": source.name, "version": None if row is None else row.version,
        "source": kind_of(source), "log_id": None if source.log is None else source.log.id or None,
        "period": {"from": found.begin, "to": found.end}, "cases": found.cases, "events": found.events,
        "median_case_ms": found.median_case_ms,
        "activities": [
            {**msgspec.to_builtins(each), "activity_id": ids.get(each.name)} for each in found.activities
        ],
        "flows": [msgspec.to_builtins(each) for each in found.flows],
        "variants": _variants(mined), "variants_total": len(found.variants),
        "bottleneck": msgspec.to_builtins(found.bottleneck),
        "rework": [msgspec.to_builtins(each) for each in found.rework],
        "handovers": [msgspec.to_builtins(each) for each in found.handovers[:MOST_HANDOVERS]],
        "conformance": _conformance(mined), "discovered": msgspec.to_builtins(mined.pending),
    }  # fmt: skip


def _variants(mined: MinedMap) -> list[dict[str, Any]]:
    fits = mined.conformance
    return [
        {
            "rank": rank + 1, "activities": list(each.activities), "cases": each.cases, "share": each.share,
            "median_ms": each.median_ms, "fits": None if fits is None else fits.fits[rank],
            "deviating": [] if fits is None else list(fits.deviating[rank]), "case_ids": list(each.case_ids),
        }
        for rank, each in enumerate(mined.map.variants[:MOST_VARIANTS])
    ]  # fmt: skip


def _conformance(mined: MinedMap) -> dict[str, Any] | None:
    fits = mined.conformance
    if fits is None or mined.source.row is None:
        return None
    return {
        "version": mined.source.row.version, "fitting": fits.fitting, "cases": fits.cases, "fitness": share(fits),
        "precision": fits.precision, "bounded": fits.bounded,
        "deviations": [_deviation(each, mined) for each in fits.deviations],
    }  # fmt: skip


def _deviation(each: Deviation, mined: MinedMap) -> dict[str, Any]:
    known = None if mined.pending is None else (each.kind, each.activity, each.before) not in mined.still
    return {
        "kind": each.kind, "activity": each.activity, "before": each.before, "after": each.after, "cases": each.cases,
        "variants": [number + 1 for number in each.variants if number < MOST_VARIANTS], "in_discovered": known,
    }  # fmt: skip


def activity_ids(row: ReleaseRow | None) -> dict[str, str]:
    """The ids of the activities of a process by their names."""
    if row is None:
        return {}
    activities = definition_of(row).get("activities") or ()
    return {str(each.get("name") or each.get("id")): str(each.get("id")) for each in activities}
