"""What is counted of processes (P-8): definitions, instances, undoing, extracted and mined models, exported logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from penstock.app.process.definitions import approval_of, in_force
from penstock.app.process.event_log import exported_of
from penstock.app.process.thresholds import THRESHOLDS
from penstock.app.process.version_writer import origin_of
from penstock.dialects.process.instance import Instance
from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.kernel.state import COMPENSATED, FAILED
from penstock.net.compiled import Compiled
from penstock.store.contract import Store
from penstock.store.releases import ReleaseRow
from penstock.store.run_store import RunRow

_LOOKED_AT = 200  # of the newest runs that were undone, and of those that have failed
SLICE = 2_000  # facts that one reading folds; the others are counted by the next ones
_ELEMENTS = ("activities", "gateways", "transitions", "roles", "data", "events")


#: what is said about each metric
HELP = {
    "process_definitions": "Processes that are defined, whatever their versions.",
    "process_running_instances": "Process instances that have not ended.",
    "process_compensation_failure_rate": "Of the newest instances that were undone: those with a step that failed.",
    "process_extraction_accuracy": "Elements read out of texts that were approved as they were read.",
    "process_discovered_fitness": "Fitness of the mined model that fits its log least.",
    "process_log_events_exported_total": "Events that were exported.",
    "process_log_export_records": "Events of the largest export of an event log, 24 hours.",
    "process_discovered_approval_rate": "Approved of approved and rejected mined models.",
}


class Numbers(msgspec.Struct, kw_only=True):
    """Of one tenant, or of several together. A pair is a part and the whole."""

    definitions: int = 0
    running: int = 0
    not_undone: tuple[int, int] = (0, 0)  # instances that were to be undone
    kept: tuple[int, int] = (0, 0)  # elements that were read out of texts, and approved as they were read
    fitness: float | None = None  # of the mined model that fits its log least; rejected ones do not count
    approved: tuple[int, int] = (0, 0)  # mined models that somebody has decided about
    largest_export: int = 0
    exported: int = 0

    def values(self) -> dict[str, float | None]:
        """By the names of their metrics; without a whole there is no share."""
        return {
            "process_definitions": self.definitions, "process_running_instances": self.running,
            "process_compensation_failure_rate": _share(self.not_undone),
            "process_extraction_accuracy": _share(self.kept), "process_discovered_fitness": self.fitness,
            "process_log_export_records": self.largest_export,
            "process_discovered_approval_rate": _share(self.approved),
        }  # fmt: skip

    def counters(self) -> dict[str, float]:
        return {"process_log_events_exported_total": self.exported}

    def families(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        return {}


def together(many: Iterable[Numbers]) -> Numbers:
    every = Numbers()
    for numbers in many:
        every.definitions += numbers.definitions
        every.running += numbers.running
        every.not_undone, every.kept = _added(every.not_undone, numbers.not_undone), _added(every.kept, numbers.kept)
        every.approved = _added(every.approved, numbers.approved)
        every.fitness = min((x for x in (every.fitness, numbers.fitness) if x is not None), default=None)
        every.largest_export = max(every.largest_export, numbers.largest_export)
        every.exported += numbers.exported
    return every


class Figures:
    """Asked every few seconds: definitions are read again when there are others, a run that has ended once."""

    thresholds, help = THRESHOLDS, HELP

    def __init__(self, store: Store, net_of: Callable[[str], Compiled]) -> None:
        self.store, self.net_of = store, net_of
        self._models: dict[str, tuple[Any, Numbers]] = {}
        self._failed: dict[tuple[int, int], bool] = {}
        self._folds: dict[str, dict[tuple[int, int], Iterator[tuple[int, bool]]]] = {}  # by tenant: not at their end
        self._left = SLICE

    def read(self, versions: Mapping[str, Any], now: int) -> Numbers:
        """Of these tenants together."""
        self._left = SLICE
        return together(self._of(tenant, now, seen) for tenant, seen in versions.items())

    def channels(self, tenant: str) -> list[Mapping[str, Any]]:
        return []

    def of(self, tenant: str, now: int, versions: Any = None) -> Numbers:
        """`versions` changes whenever a version comes or moves; None: nobody knows."""
        self._left = SLICE
        return self._of(tenant, now, versions)

    def _of(self, tenant: str, now: int, versions: Any) -> Numbers:
        known = self._models.get(tenant)
        if known is None or versions is None or known[0] != versions:
            known = self._models[tenant] = (versions, self._of_models(tenant))
        nets = {no for no, _, _, language in self.store.nets() if language == "process"}
        numbers, log = msgspec.structs.replace(known[1]), exported_of(self.store, tenant, now)
        numbers.largest_export, numbers.exported = log.largest, log.total
        if nets:
            numbers.running = sum(count for _, net, _, count in self.store.open_counts(tenant, 0) if net in nets)
            numbers.not_undone = self._undoing(tenant, nets)
        return numbers

    # -- models --------------------------------------------------------------------------------------------------------

    def _of_models(self, tenant: str) -> Numbers:
        by_name: dict[str, list[ReleaseRow]] = {}
        for row in self.store.releases(tenant, kind="*"):
            by_name.setdefault(row.name, []).append(row)
        known = list(by_name.values())
        mined = [rows for rows in known if rows[0].kind == "discovered"]
        approvals = [approval_of(rows[-1]) for rows in mined]
        taken = [rows for rows, approval in zip(mined, approvals, strict=True) if approval != "rejected"]
        fits = [origin_of(rows[0]).get("fitness") for rows in taken]
        return Numbers(
            definitions=len(known), kept=_kept(known),
            fitness=min((float(fitness) for fitness in fits if fitness is not None), default=None),
            approved=(approvals.count("approved"), len(approvals) - approvals.count("pending")),
        )  # fmt: skip

    # -- instances -----------------------------------------------------------------------------------------------------

    def _undoing(self, tenant: str, nets: set[int]) -> tuple[int, int]:
        """Of the instances that were undone: those in which something could not be. As far back as both are known."""
        both = [self.store.ended_runs(tenant, status, 0, _LOOKED_AT) for status in (COMPENSATED, FAILED)]
        since = max((rows[-1].updated_at for rows in both if len(rows) == _LOOKED_AT), default=0)
        well, badly = ([row for row in rows if row.net in nets and row.updated_at >= since] for rows in both)
        self._fold(tenant, [row for row in badly if _moment(row) not in self._failed])
        partial = sum(self._failed.get(_moment(row), False) for row in badly)
        return partial, len(well) + partial

    def _fold(self, tenant: str, rows: list[RunRow]) -> None:
        """As many of their facts as the reading may still fold, the newest runs first."""
        if len(self._failed) > 100 * _LOOKED_AT:
            self._failed.clear()
        begun = self._folds.get(tenant) or {}
        folds = self._folds[tenant] = {_moment(row): begun.get(_moment(row)) or self._folding(row) for row in rows}
        for at, fold in folds.items():
            for facts, failed in fold if self._left > 0 else ():
                self._left -= facts
                if not facts:
                    self._failed[at] = failed
                elif self._left <= 0:
                    return

    def _folding(self, row: RunRow) -> Iterator[tuple[int, bool]]:
        """How many facts were folded, turn by turn; in the end none, and whether something could not be undone."""
        made = Instance(self.net_of, Blobs(self.store).of(row.tenant))
        for turn in self.store.journal(row.no):
            made.turn(turn.at, turn.seq_from, F.decode_facts(turn.body))
            yield turn.seq_to - turn.seq_from + 1, False
        yield 0, made.compensation_status == "PARTIAL"


def _moment(row: RunRow) -> tuple[int, int]:
    return row.no, row.updated_at


def _kept(known: list[list[ReleaseRow]]) -> tuple[int, int]:
    """P-X.22, P-X.43: the elements of approved models as they were read, and how many of them are as they were."""
    same = every = 0
    for rows in known:
        if origin_of(rows[0]).get("source") == "extracted" and approval_of(in_force(rows)) == "approved":
            read, now = _elements(rows[0]), _elements(in_force(rows))
            same += sum(now.get(key) == element for key, element in read.items())
            every += len(read)
    return same, every


def _elements(row: ReleaseRow) -> Mapping[tuple[str, str], Any]:
    document: dict[str, Any] = msgspec.json.decode(row.document)
    return {
        (name, str(element.get("id") or element.get("name"))): element
        for name in _ELEMENTS
        for element in document.get(name) or ()
        if isinstance(element, dict)
    }


def _share(of: tuple[int, int]) -> float | None:
    return of[0] / of[1] if of[1] else None


def _added(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return first[0] + second[0], first[1] + second[1]
