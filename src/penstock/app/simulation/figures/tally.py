"""What virtual runs have shown, added up: small enough to be sent from one process to another, and merged there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from penstock.app.simulation.virtual.answers import RecordedAnswers
from penstock.app.simulation.virtual.virtual_run import VirtualRun, is_shown
from penstock.kernel.state import COMPLETED, FAILURE
from penstock.net.compiled import Compiled

#: durations of one node that are kept for its percentiles
_MOST_DURATIONS = 20_000


class PathTally(msgspec.Struct):
    """Runs that fired the same nodes equally often; `trail` is the order in the first of them."""

    count: int = 0
    trail: list[int] = []
    durations: list[int] = []


class NodeTally(msgspec.Struct):
    runs: int = 0
    visits: int = 0
    failures: int = 0
    total_ms: int = 0
    durations: list[int] = []


class RoleTally(msgspec.Struct):
    """Work items of a role, or attempts of a place of a pool."""

    items: int = 0
    runs: int = 0
    total_ms: int = 0
    durations: list[int] = []


class Tally(msgspec.Struct):
    """Keys of `nodes` and `paths` are node numbers of the net that all the runs are of."""

    runs: int = 0
    outcomes: dict[str, int] = {}
    failures: dict[str, int] = {}
    completed: list[int] = []  # durations of the runs that were completed
    others: list[int] = []  # durations of all other runs
    paths: dict[str, PathTally] = {}
    nodes: dict[int, NodeTally] = {}
    roles: dict[str, RoleTally] = {}
    places: dict[str, RoleTally] = {}
    sources: dict[str, dict[str, int]] = {}
    kinds: dict[str, int] = {}
    incidents: dict[str, int] = {}

    def add(self, net: Compiled, virtual: VirtualRun, answers: RecordedAnswers) -> None:
        st = virtual.run.st
        self.runs += 1
        _count(self.outcomes, virtual.status)
        if st.failure is not None:
            _count(self.failures, st.failure.code)
        (self.completed if st.status == COMPLETED else self.others).append(virtual.elapsed_ms)
        self._add_path(net, virtual)
        self._add_nodes(virtual)
        everybody = [virtual, *answers.calls]
        items = [(role, done.open_ms) for each in everybody for done in each.work for role in done.roles or ("",)]
        places = [taken for each in everybody for taken in each.places]
        for loads, taken_by in ((self.roles, items), (self.places, places)):
            for name, ms in taken_by:
                _add_load(loads, name, ms)
            for name in {name for name, _ in taken_by}:
                loads[name].runs += 1
        for node, source in answers.sources.items():
            _count(self.sources.setdefault(node, {}), source)
        for record in answers.effects.values():
            _count(self.kinds, record.kind, record.count)
        for code in {code for code, _ in virtual.incidents}:
            _count(self.incidents, code)

    def _add_path(self, net: Compiled, virtual: VirtualRun) -> None:
        trail = [no for no in virtual.trail if is_shown(net.nodes[no])]
        key = " ".join(map(str, sorted(trail)))
        path = self.paths.get(key)
        if path is None:
            path = self.paths[key] = PathTally(0, trail, [])
        path.count += 1
        path.durations.append(virtual.elapsed_ms)

    def _add_nodes(self, virtual: VirtualRun) -> None:
        for no, visits in Counter(virtual.trail).items():
            node = self.nodes.get(no)
            if node is None:
                node = self.nodes[no] = NodeTally(durations=[])
            node.runs += 1
            node.visits += visits
        for no, ms in virtual.spent:
            node = self.nodes[no] if no in self.nodes else self.nodes.setdefault(no, NodeTally(durations=[]))
            node.total_ms += ms
            if len(node.durations) < _MOST_DURATIONS:
                node.durations.append(ms)
        for no, status, _ in virtual.settled:
            if status == FAILURE:
                self.nodes[no].failures += 1

    def merge(self, other: Tally) -> None:
        self.runs += other.runs
        for mine, its in (
            (self.outcomes, other.outcomes), (self.failures, other.failures), (self.kinds, other.kinds),
            (self.incidents, other.incidents),
        ):  # fmt: skip
            for name, count in its.items():
                _count(mine, name, count)
        self.completed += other.completed
        self.others += other.others
        for key, path in other.paths.items():
            known = self.paths.setdefault(key, PathTally(0, path.trail, []))
            known.count += path.count
            known.durations += path.durations
        for no, node in other.nodes.items():
            _add_up(self.nodes.setdefault(no, NodeTally(durations=[])), node)
        for loads, its_loads in ((self.roles, other.roles), (self.places, other.places)):
            for name, load in its_loads.items():
                _add_up(loads.setdefault(name, RoleTally(durations=[])), load)
        for node_id, sources in other.sources.items():
            for source, count in sources.items():
                _count(self.sources.setdefault(node_id, {}), source, count)


def _count(counts: dict[str, int], name: str, by: int = 1) -> None:
    counts[name] = counts.get(name, 0) + by


def _add_load(loads: dict[str, RoleTally], name: str, ms: int) -> None:
    load = loads.get(name)
    if load is None:
        load = loads[name] = RoleTally(durations=[])
    load.items += 1
    load.total_ms += ms
    if len(load.durations) < _MOST_DURATIONS:
        load.durations.append(ms)


def _add_up(mine: Any, other: Any) -> None:
    for field in mine.__struct_fields__:
        setattr(mine, field, getattr(mine, field) + getattr(other, field))
    del mine.durations[_MOST_DURATIONS:]
