"""Processes with a planted truth: random blocks, played with drawn times, their figures known.

Nothing here is shared with the code: a case is a list of `Done`, and what a map should say is worked out case by case
by looking for the predecessor of each activity among all others.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

MINUTE, HOUR = 60_000, 3_600_000
BEGIN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
#: a wait that nothing else of a process comes near to
STUCK = (40 * HOUR, 90 * HOUR)


class Done(NamedTuple):
    activity: str
    started: int
    ended: int
    resource: str
    mode: str


class Leaf(NamedTuple):
    name: str
    work: tuple[int, int]
    wait: tuple[int, int]
    people: tuple[str, ...]
    modes: tuple[str, ...]


class Block(NamedTuple):
    kind: str  # sequence | choice | parallel | loop
    children: tuple[Any, ...]


class Planted:
    """A process of 5 to 12 activities and the cases that were played of it."""

    def __init__(self, seed: int, cases: int = 120) -> None:
        self.rng = random.Random(seed)
        self.leaves: list[Leaf] = []
        first, last = self._leaf(), self._leaf()
        self.stuck = self._leaf(wait=STUCK)
        self.root = Block("sequence", (first, self._block(3), self.stuck, self._block(2), last))
        self.before_stuck: set[str] = set()
        self.cases = [(f"C-{number:04d}", self._play(number)) for number in range(cases)]

    def _leaf(self, wait: tuple[int, int] = (MINUTE, 3 * HOUR)) -> Leaf:
        rng, number = self.rng, len(self.leaves)
        people = tuple(rng.sample(["kim", "lee", "park", "choi", "jung"], rng.randint(1, 3)))
        modes = rng.choice([("MANUAL",), ("MANUAL",), ("SUPERVISED", "MANUAL"), ("AUTONOMOUS",)])
        leaf = Leaf(f"활동 {chr(65 + number)}", (MINUTE, rng.randint(5, 90) * MINUTE), wait, people, modes)
        self.leaves.append(leaf)
        return leaf

    def _block(self, depth: int) -> Any:
        kind = self.rng.choice(["leaf", "sequence", "choice", "parallel", "loop"]) if depth else "leaf"
        if kind == "leaf" or len(self.leaves) > 9:
            return self._leaf()
        children = 1 if kind == "loop" else 2
        return Block(kind, tuple(self._block(depth - 1) for _ in range(children)))

    # ---- playing -----------------------------------------------------------------------------------------------------

    def _play(self, number: int) -> list[Done]:
        begin = int((BEGIN + timedelta(hours=number, minutes=self.rng.randint(0, 59))).timestamp() * 1000)
        done: list[Done] = []
        self._walk(self.root, begin, done)
        ends: set[int] = set()
        for place, each in enumerate(done):  # no two at the same moment, so that their order is no matter of taste
            ended = each.ended
            while ended in ends:
                ended += 1
            ends.add(ended)
            done[place] = each._replace(ended=ended)
        return done

    def _walk(self, block: Any, at: int, done: list[Done]) -> int:
        rng = self.rng
        if isinstance(block, Leaf):
            mode = rng.choice(block.modes)
            started = at + rng.randint(*block.wait)
            ended = started + rng.randint(*block.work)
            resource = rng.choice(block.people) if mode == "MANUAL" else f"agent-{mode.lower()}"
            done.append(Done(block.name, started, ended, resource, mode))
            return ended
        if block.kind == "choice":
            return self._walk(block.children[0 if rng.random() < 0.7 else 1], at, done)
        if block.kind == "parallel":
            return max(self._walk(child, at, done) for child in block.children)
        if block.kind == "loop":
            at = self._walk(block.children[0], at, done)
            while rng.random() < 0.25:
                at = self._walk(block.children[0], at, done)
            return at
        for child in block.children:
            at = self._walk(child, at, done)
        return at

    # ---- the truth ---------------------------------------------------------------------------------------------------

    def truth(self) -> dict[str, Any]:
        """What a map of these cases should say, in plain dicts."""
        flows: dict[tuple[str, str], list[int | None]] = defaultdict(list)
        flow_cases: dict[tuple[str, str], set[str]] = defaultdict(set)
        work: dict[str, list[int]] = defaultdict(list)
        modes: Counter[tuple[str, bool]] = Counter()
        handovers: dict[tuple[str, str], list[int]] = defaultdict(list)
        people: dict[str, set[str]] = defaultdict(set)
        elapsed: dict[str, int] = {}
        variants: dict[tuple[str, ...], list[str]] = defaultdict(list)
        repeats: dict[str, list[int]] = defaultdict(list)
        for id, done in self.cases:
            elapsed[id] = max(each.ended for each in done) - min(each.started for each in done)
            sequence = [each.activity for each in sorted(done, key=lambda each: each.ended)]
            variants[tuple(sequence)].append(id)
            for name in set(sequence):
                if sequence.count(name) > 1:
                    repeats[name].append(sequence.count(name) - 1)
            for each in done:
                work[each.activity].append(each.ended - each.started)
                modes[each.activity, each.mode == "MANUAL"] += 1
                if each.mode == "MANUAL":
                    people[each.activity].add(each.resource)
                earlier = [other for other in done if other.ended < each.ended]
                before = max(earlier, key=lambda other: other.ended, default=None)
                pair = (before.activity if before else "", each.activity)
                flow_cases[pair].add(id)
                if before is None:
                    flows[pair].append(None)
                else:
                    wait = max(0, each.started - before.ended)
                    flows[pair].append(wait)
                    if before.resource != each.resource:
                        handovers[before.resource, each.resource].append(wait)
                if not any(other.ended > each.ended for other in done):
                    flows[each.activity, ""].append(None)
                    flow_cases[each.activity, ""].add(id)
        return {
            "elapsed": elapsed,
            "variants": variants,
            "repeats": repeats,
            "work": work,
            "modes": modes,
            "people": people,
            "handovers": handovers,
            "flow_cases": flow_cases,
            "flows": {pair: [wait for wait in waits if wait is not None] for pair, waits in flows.items()},
            "flow_counts": {pair: len(waits) for pair, waits in flows.items()},
        }

    # ---- files -------------------------------------------------------------------------------------------------------

    def xes(self) -> bytes:
        """Start and complete without instances, as most tools write them; traces in any order."""
        traces = []
        for id, done in self.rng.sample(self.cases, len(self.cases)):
            moments = [(each.started, 0, each) for each in done] + [(each.ended, 1, each) for each in done]
            events = "".join(
                f'<event><string key="org:resource" value="{each.resource}"/>'
                f'<date key="time:timestamp" value="{_zoned(at, 9)}"/>'
                f'<string key="lifecycle:transition" value="{("start", "complete")[kind]}"/>'
                f'<string key="concept:name" value="{each.activity}"/>'
                f'<string key="axiom:agent_mode" value="{each.mode}"/></event>'
                for at, kind, each in sorted(moments)
            )
            traces.append(f'<trace><string key="concept:name" value="{id}"/>{events}</trace>')
        return f'<?xml version="1.0" encoding="UTF-8"?><log xes.version="2.0">{"".join(traces)}</log>'.encode()

    def csv(self) -> bytes:
        """One row per activity, all cases mixed."""
        rows = [
            f"{id};{each.activity};{_zoned(each.started, 0)};{_zoned(each.ended, 2)};{each.resource};{each.mode}"
            for id, done in self.cases
            for each in done
        ]
        self.rng.shuffle(rows)
        return "\r\n".join(["Case ID;Activity;Start Timestamp;Complete Timestamp;Resource;agent_mode", *rows]).encode()


def median(values: list[int]) -> int | None:
    return int(statistics.median(values)) if values else None


def p95(values: list[int]) -> int | None:
    """The smallest that at least 95 % do not exceed."""
    return next((v for v in sorted(values) if sum(w <= v for w in values) * 100 >= 95 * len(values)), None)


def _zoned(at: int, hours: int) -> str:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
    local = (moment + timedelta(hours=hours)).replace(tzinfo=None)
    return f"{local.isoformat(timespec='milliseconds')}+{hours:02d}:00"
