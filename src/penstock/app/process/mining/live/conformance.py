"""Live conformance: every completed run of a process held against the version that it ran by, a little after its end.

A run is read once, after its end; what its activities were is looked up among the variants of its version that
are known already, and only a new one is replayed, beside the loop. So a run costs what reading its journal costs.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process.definitions import Processes
from penstock.app.process.mining.controls import controls_of
from penstock.app.process.mining.definition_model import definition_model
from penstock.app.runs.long.read_limits import LOOP_FACTS
from penstock.errors import DocumentInvalid
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED
from penstock.mining.conformance import conformance
from penstock.store.releases import ReleaseRow
from penstock.store.run_fits import RunFitCount, RunFitRow
from penstock.store.run_store import RunRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.app.runs.runs import Runs

_PAGE = 100
#: a commit may come a little later than its time says: so much is read again, which changes nothing
_AGAIN_MS = 10_000
#: variants whose answer is kept, and states that are looked at for a new one
_KEPT, _MOST_STATES = 10_000, 3_000

_Variant = tuple[str, ...]


class LiveConformance:
    """Of one store; kept by whoever follows it, so that what was replayed once need not be again."""

    def __init__(self) -> None:
        self.answers: OrderedDict[tuple[str, str, int, _Variant], dict[str, Any] | None] = OrderedDict()

    async def collect(self, door: Queries, turn: AsyncIterator[None]) -> int:
        """How many runs were read. `turn` lets others have theirs. Stopped in between, the next time begins where this
        one has, and reads the same again."""
        releases = {row.net: row for row in door.store.releases(door.tenant, kind="*") if _is_process(row)}
        mark, count = door.store.run_fit_mark(door.tenant), 0
        since, after = max(0, mark - _AGAIN_MS), (-1, 0)
        while releases:
            page = door.store.touched_runs(door.tenant, sorted(releases), since, after, _PAGE)
            rows: list[RunFitRow] = []
            for run in page:
                if run.status == COMPLETED:
                    rows += await self._fit(door, run, releases[run.net], turn)
                count += 1
            if page:
                after = (page[-1].updated_at, page[-1].no)
                door.store.put_run_fits(door.tenant, rows, after[0])
            if len(page) < _PAGE:
                break
        return count

    async def _fit(
        self, door: Queries, run: RunRow, release: ReleaseRow, turn: AsyncIterator[None]
    ) -> list[RunFitRow]:  # fmt: skip
        variant = await _variant(door, run, turn)
        key = (door.tenant, release.name, release.version, variant)
        if key not in self.answers:
            self.answers[key] = await asyncio.to_thread(_answer, release.document, variant)
            while len(self.answers) > _KEPT:
                self.answers.popitem(last=False)
        answer = self.answers[key]
        if answer is None:
            return []
        about = (door.tenant, run.no, run.id, release.name, release.version, run.updated_at)
        return [RunFitRow(*about, **answer)]


def _is_process(row: ReleaseRow) -> bool:
    return row.document.startswith(b'{"') and b'"process_definition_id"' in row.document


async def _variant(door: Queries, run: RunRow, turn: AsyncIterator[None]) -> _Variant:
    """The names of its activities in the order in which they were done, every time that they were."""
    names: dict[int, str] = {}
    done: list[str] = []
    read = 0
    for page in door.store.journal(run.no):
        facts = F.decode_facts(page.body)
        for f in facts:
            if f[0] == F.WORK_OPENED and isinstance(f[3], dict):
                names[f[1]] = str(f[3].get("title") or f[3].get("activity_id") or "")
            elif f[0] == F.WORK_MOVED and f[2] == "DONE" and names.get(f[1]):
                done.append(names[f[1]])
        read += len(facts)
        if read > LOOP_FACTS:
            read = 0
            await anext(turn)
    await anext(turn)
    return tuple(done)


def _answer(document: bytes, variant: _Variant) -> dict[str, Any] | None:
    """What its row says of it; None where the definition cannot be replayed."""
    try:
        definition = msgspec.json.decode(document)
        found = conformance(definition_model(definition), {variant: 1}, _MOST_STATES, controls_of(definition))
    except DocumentInvalid:
        return None
    if found.fitting:
        return {}
    first = found.deviations[0] if found.deviations else None
    if first is None:
        return {"kind": "order", "bounded": 1}
    about = {name: getattr(first, name) for name in ("kind", "activity", "before", "after")}
    return {**about, "bounded": int(found.bounded)}


class VersionFit(msgspec.Struct, frozen=True):
    """`deviations`: the first of each run that does not fit, with how many runs have it; the most frequent first."""

    process: str
    version: int
    runs: int
    fitting: int
    deviations: tuple[RunFitCount, ...]


def live_fits(door: Queries, process: str | None = None) -> list[VersionFit]:
    """Of every version of a process, or of all; as far as ended runs were read."""
    by_version: dict[tuple[str, int], list[RunFitCount]] = {}
    for count in door.store.run_fit_counts(door.tenant, process):
        by_version.setdefault((count.process, count.version), []).append(count)
    return [
        VersionFit(
            *key, sum(one.runs for one in counts), sum(one.runs for one in counts if not one.kind),
            tuple(one for one in counts if one.kind),
        )
        for key, counts in by_version.items()
    ]  # fmt: skip


def fits_body(door: Runs, id: str) -> dict[str, Any]:
    """The same as it is sent. Raises ProcessNotFound."""
    name = Processes(door).get(id).name
    versions = [
        {
            "version": one.version, "runs": one.runs, "fitting": one.fitting, "fitness": one.fitting / one.runs,
            "deviations": [_deviation(count) for count in one.deviations],
        }
        for one in live_fits(door, name)
    ]  # fmt: skip
    return {"id": name, "read_to": door.store.run_fit_mark(door.tenant) or None, "versions": versions}


def _deviation(count: RunFitCount) -> dict[str, Any]:
    return {name: getattr(count, name) for name in ("kind", "activity", "before", "after", "runs")}


def deviating_runs(
    door: Runs, id: str, version: int, deviation: tuple[str, str, str, str], after: int, limit: int
) -> list[RunFitRow]:
    """The runs of a version that have it as their first, behind the number of a run. Raises ProcessNotFound."""
    name = Processes(door).get(id).name
    return door.store.run_fits(door.tenant, name, version, deviation, after, limit)
