"""Monte Carlo of a document: how long its runs take, how they end, who has how much to do, and which way they go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.app.simulation.figures.percentiles import Bar, Durations, durations_of, histogram_of, percentile, wilson
from penstock.app.simulation.figures.tally import NodeTally, RoleTally, Tally
from penstock.app.simulation.figures.workers import Share, run_all
from penstock.app.simulation.virtual import assumptions
from penstock.app.simulation.virtual.called_nets import CalledNet
from penstock.app.simulation.virtual.history import History
from penstock.app.simulation.virtual.virtual_run import is_shown
from penstock.net import codec
from penstock.net.compiled import CALL, TASK, WAIT, WORK, CNode, Compiled

_DAY_MS = 86_400_000
_MOST_PATHS = 10
#: kinds of nodes that take time of their own: a scope's time is that of what lies in it
_LASTING = (TASK, WORK, WAIT, CALL)


class OutcomeShare(msgspec.Struct):
    status: str
    count: int
    share: float


class DueOdds(msgspec.Struct):
    """The share of runs that are completed in time, with its 95 % interval."""

    limit_ms: int
    odds: float
    low: float
    high: float


class RoleLoad(msgspec.Struct):
    """What a role, a person, or a place of a pool has to do; `items_per_day` by how often runs were started so far."""

    role: str
    kind: str  # role, place
    items_per_run: float
    runs_share: float
    open_ms_p50: float
    open_ms_p90: float
    open_ms_per_run: float
    items_per_day: float | None = None


class NodeForecast(msgspec.Struct):
    id: str
    label: str
    type: str
    reached_share: float
    visits: float
    failures: float
    duration_p50_ms: float
    duration_p90_ms: float
    time_share: float
    source: str | None
    samples: int


class PathShare(msgspec.Struct):
    share: float
    count: int
    nodes: list[str]
    labels: list[str]
    duration_p50_ms: float


class HistoryUsed(msgspec.Struct):
    runs: int
    since: int
    until: int
    runs_per_day: float | None = None


class MonteCarlo(msgspec.Struct, kw_only=True):
    runs: int
    seed: int
    outcomes: list[OutcomeShare]
    failures: dict[str, int]
    duration_ms: Durations | None
    histogram: list[Bar]
    due: DueOdds | None
    roles: list[RoleLoad]
    nodes: list[NodeForecast]
    paths: list[PathShare]
    refused: dict[str, int]
    incidents: dict[str, int]
    history: HistoryUsed
    assumptions: list[dict[str, Any]]


def monte_carlo(
    net: Compiled, *, inputs: list[Any], now: int, runs: int, seed: int = 0, history: History | None = None,
    answers: dict[str, Any] | None = None, options: dict[str, Any] | None = None, due_ms: int | None = None,
    state: bytes | None = None, processes: int | None = None, resolve: Callable[[Any], Any] | None = None,
    called: dict[str, CalledNet] | None = None,
) -> MonteCarlo:  # fmt: skip
    """Virtual runs of a net; with a `state` they all go on from there, and `resolve` gives values that are kept by
    reference. Inputs are drawn from those given."""
    known = history or History()
    share = Share(
        net=codec.encode(net.net), history=known, given=answers or {}, inputs=inputs, options=options or {}, seed=seed,
        now=now, first=0, count=runs, state=state, called=called or {},
    )  # fmt: skip
    return forecast_of(net, run_all(share, processes, resolve), known, seed, due_ms)


def forecast_of(net: Compiled, tally: Tally, history: History, seed: int, due_ms: int | None) -> MonteCarlo:
    rate = _runs_per_day(history)
    statuses = sorted(tally.outcomes.items(), key=lambda each: (-each[1], each[0]))
    durations = tally.completed + tally.others
    return MonteCarlo(
        runs=tally.runs, seed=seed,
        outcomes=[OutcomeShare(status, count, count / tally.runs) for status, count in statuses],
        failures=dict(sorted(tally.failures.items(), key=lambda each: -each[1])),
        duration_ms=durations_of(durations), histogram=histogram_of(durations),
        due=_due(tally, due_ms) if due_ms is not None else None,
        roles=_loads(tally, tally.roles, "role", rate) + _loads(tally, tally.places, "place", rate),
        nodes=_nodes(net, tally, history),
        paths=_paths(net, tally),
        refused={kind: count for kind, count in tally.kinds.items() if kind not in ("compute", "read", "call")},
        incidents=tally.incidents,
        history=HistoryUsed(history.runs, history.since, history.until, rate),
        assumptions=_assumptions(net, tally),
    )  # fmt: skip


def _due(tally: Tally, limit: int) -> DueOdds:
    kept = sum(1 for ms in tally.completed if ms <= limit)
    return DueOdds(limit, kept / tally.runs if tally.runs else 0.0, *wilson(kept, tally.runs))


def _runs_per_day(history: History) -> float | None:
    """Of the runs that were read; fewer than two, or all at one moment, have no rate."""
    span = history.until - history.since
    return None if history.runs < 2 or span <= 0 else (history.runs - 1) * _DAY_MS / span


def _loads(tally: Tally, loads: dict[str, RoleTally], kind: str, rate: float | None) -> list[RoleLoad]:
    rows = []
    for role, load in loads.items():
        ordered = sorted(load.durations)
        per_run = load.items / tally.runs
        rows.append(
            RoleLoad(
                role, kind, per_run, load.runs / tally.runs, percentile(ordered, 0.5), percentile(ordered, 0.9),
                load.total_ms / tally.runs, None if rate is None else per_run * rate,
            )
        )  # fmt: skip
    return sorted(rows, key=lambda row: (-row.items_per_run, row.role))


def _nodes(net: Compiled, tally: Tally, history: History) -> list[NodeForecast]:
    lasting = sum(n.total_ms for no, n in tally.nodes.items() if net.nodes[no].kind in _LASTING) or 1
    rows = []
    for node in net.nodes:
        if not is_shown(node):
            continue
        mine = tally.nodes.get(node.no) or NodeTally()
        ordered = sorted(mine.durations)
        sources = tally.sources.get(node.id)
        rows.append(
            NodeForecast(
                node.id, node.label, node.spec.type or node.spec.kind, mine.runs / tally.runs,
                mine.visits / tally.runs, mine.failures / tally.runs, percentile(ordered, 0.5),
                percentile(ordered, 0.9), mine.total_ms / lasting if node.kind in _LASTING else 0.0,
                max(sources, key=lambda name: sources[name]) if sources else None, history.samples(node.id),
            )
        )  # fmt: skip
    return rows


def _paths(net: Compiled, tally: Tally) -> list[PathShare]:
    """The most likely ways, the first one first."""
    often = sorted(tally.paths.values(), key=lambda path: (-path.count, path.trail))[:_MOST_PATHS]
    return [
        PathShare(
            path.count / tally.runs, path.count, [net.nodes[no].id for no in path.trail],
            [net.nodes[no].label for no in path.trail], percentile(sorted(path.durations), 0.5),
        )
        for path in often
    ]  # fmt: skip


def _assumptions(net: Compiled, tally: Tally) -> list[dict[str, Any]]:
    """What was assumed, node by node: a reader must see how much of the forecast nobody has measured."""
    rows: dict[str, dict[str, Any]] = {}
    for id, sources in tally.sources.items():
        node = net.by_id[id]
        shown = net.by_id.get(node.spec.origin, node)
        if "assumed" in sources and (shown.id not in rows or shown is node):  # a node speaks for its lowered parts
            rows[shown.id] = {"node": shown.id, "label": shown.label, **assumed_for(node)}
    return list(rows.values())


def assumed_for(node: CNode) -> dict[str, Any]:
    if node.kind == WAIT:
        return {"what": "news", "middle_ms": assumptions.NEWS_MS}
    work = node.spec.work
    if work is not None and not work.agent:
        by_vote = bool(work.quorum or work.all_of)
        share = {"approved_share": assumptions.APPROVED_SHARE} if by_vote else {}
        return {"what": "person", "middle_ms": assumptions.PERSON_MS, **share}
    executor = node.effect.executor if node.effect is not None else ""
    if executor == "rollout":
        return {"what": "rollout", "executor": executor}
    return {"what": "effect", "executor": executor, "middle_ms": assumptions.middle_ms(executor)}
