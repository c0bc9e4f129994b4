"""The history that simulations replay, from the store's rows; and a simulation as a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import islice
from typing import Any

import msgspec

from penstock.executors.parts.simulation.history import PastJudgment, line_of
from penstock.executors.parts.simulation.record import SimulationRecord
from penstock.store.judgments import JudgmentRow
from penstock.store.simulations import PastJudgmentRow, SimulationRow, SimulationStore

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
_PAGE = 2_000  # rows that are read at once
Wanted = Callable[[PastJudgment], bool]


def judgment_id(run: str, firing: int) -> str:
    """How labels name a judgment of a run."""
    return f"{run}/{firing}"


def judged_between(store: SimulationStore, tenant: str, since: int, until: int, limit: int) -> list[PastJudgment]:
    """Newest first: judgments of runs and imported ones, with people's labels. A judgment whose input was not to be
    written down cannot be made again, and is left out."""
    return _labelled(store, tenant, list(islice(_judged(store, tenant, since, until), limit)))


def judged_pages(
    store: SimulationStore, tenant: str, since: int, until: int, wanted: Wanted
) -> Iterator[list[PastJudgment]]:  # fmt: skip
    """The same page by page, of each page what is wanted: who asks may let others work between two pages."""
    judged = _judged(store, tenant, since, until)
    while page := list(islice(judged, _PAGE)):
        yield _labelled(store, tenant, [judgment for judgment in page if wanted(judgment)])


def _judged(store: SimulationStore, tenant: str, since: int, until: int) -> Iterator[PastJudgment]:
    own = _rows(partial(store.judgments_between, tenant, since), until, lambda row: (row.run, row.firing))
    imported = _rows(partial(store.past_judgments, tenant, since), until, lambda row: row.id)
    both = merge(map(_of_run, own), map(_imported, imported), key=lambda dated: -dated[0])
    return (judgment for _, judgment in both if judgment is not None)


def _rows(read: Callable[[int, int], Sequence[Any]], until: int, key: Callable[[Any], Any]) -> Iterator[Any]:
    """All rows until then, newest first, read page by page: the next page begins with the last moment of the one
    before, without the rows that were there already."""
    seen: set[Any] = set()
    size = _PAGE
    while True:
        rows = read(until, size)
        fresh = [row for row in rows if key(row) not in seen]
        yield from fresh
        if len(rows) < size:
            return
        last = rows[-1].at
        size = size if last < until else size + _PAGE  # a moment with more rows than a page
        seen = {key(row) for row in rows if row.at == last}
        until = last


def _labelled(store: SimulationStore, tenant: str, judged: list[PastJudgment]) -> list[PastJudgment]:
    labels = store.labels(tenant, [judgment.judgment for judgment in judged])
    return [
        msgspec.structs.replace(judgment, label=labels[judgment.judgment].decision)
        if judgment.judgment in labels
        else judgment
        for judgment in judged
    ]


def _of_run(row: JudgmentRow) -> tuple[int, PastJudgment | None]:
    judgment = _judgment(judgment_id(row.run, row.firing), row.at, row.decision, _unpack(row.body))
    return row.at, None if judgment is None else msgspec.structs.replace(judgment, run=row.run, node=row.node)


def _imported(row: PastJudgmentRow) -> tuple[int, PastJudgment | None]:
    return row.at, _judgment(row.id, row.at, row.decision, _unpack(row.body))


def _judgment(id: str, at: int, decision: str, body: Mapping[str, Any]) -> PastJudgment | None:
    given = body.get("input")
    if not isinstance(given, Mapping) or given.get("data") is None:
        return None
    proposed = body["proposed"] if isinstance(body.get("proposed"), Mapping) else {}
    output = body["output"] if isinstance(body.get("output"), Mapping) else {}
    policy = given.get("policy")
    llm = body.get("llm")
    data, context = given["data"], given.get("context")
    return PastJudgment(
        judgment=id, at=at, data=data, context=context, policy=policy if isinstance(policy, Mapping) else {},
        decision=decision, confidence=_number(output.get("confidence")),
        decided_by=str(output.get("decided_by") or ""), reviewed=output.get("decided_by") == "human",
        proposed=str(proposed["decision"]) if proposed.get("decision") else None,
        proposed_confidence=_number(proposed.get("confidence")),
        llm=llm if isinstance(llm, Mapping) else None, line=line_of(data, context),
    )  # fmt: skip


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def simulation_row(tenant: str, record: SimulationRecord) -> SimulationRow:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    return SimulationRow(tenant=tenant, **{**fields, "result": _pack(record.result)})
