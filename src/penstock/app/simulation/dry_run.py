"""The dry run of a document (W-9.4.2): one virtual run with recorders in the place of everything that has side effects.

It says which nodes were reached, which expressions were evaluated and which references could not be resolved, and what
would have been sent, written, run or deployed: refused and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.app.simulation.virtual.answers import EffectRecord, RecordedAnswers
from penstock.app.simulation.virtual.assumptions import seeded
from penstock.app.simulation.virtual.called_nets import CalledNet, ready
from penstock.app.simulation.virtual.compared_values import compared_values
from penstock.app.simulation.virtual.effect_kinds import REFUSED
from penstock.app.simulation.virtual.history import History
from penstock.app.simulation.virtual.shown_values import ShownValues
from penstock.app.simulation.virtual.virtual_run import ENDLESS, PAUSED, STUCK, VirtualRun, is_shown
from penstock.app.simulation.virtual.watched_net import ExpressionUse, WatchedNet
from penstock.errors import BadInput
from penstock.expr import nearest
from penstock.kernel.state import FAILURE
from penstock.net.compiled import Compiled
from penstock.net.model import Net

_LONGEST = 2_000
#: how often a document is run with other answers, so that each of its branches is taken
VARIATIONS = 32


class NodeReached(msgspec.Struct):
    """A node of the document: how often it fired in the dry run, and in how many of its variations it was reached."""

    id: str
    label: str
    type: str
    reached: int
    reached_in: int = 0
    failed: int = 0
    source: str | None = None
    way_back: bool = False


class Unresolved(msgspec.Struct):
    """A reference that could not be resolved: an expression that failed, or values that nobody could have made."""

    node: str
    field: str
    text: str
    code: str
    message: str


class DryRun(msgspec.Struct, kw_only=True):
    """`variations` runs in all, each with other answers where answers had to be assumed; `status`, `failure`,
    `duration_ms`, `refused` and `output` are of the first, in which everybody approves. `outcomes` count how all of
    them ended; `effects` are those of all, with the count of the first."""

    status: str
    failure: dict[str, Any] | None
    duration_ms: int
    variations: int
    outcomes: dict[str, int]
    nodes: list[NodeReached]
    expressions: list[ExpressionUse]
    unresolved: list[Unresolved]
    effects: list[EffectRecord]
    refused: dict[str, int]
    incidents: list[dict[str, str]]
    output: Any = None

    @property
    def reached(self) -> list[str]:
        return [node.id for node in self.nodes if node.reached_in]

    @property
    def unreached(self) -> list[str]:
        """Without ways back: nobody hopes to reach those."""
        return [node.id for node in self.nodes if not node.reached_in and not node.way_back]

    @property
    def ok(self) -> bool:
        """Every variation came to an end by itself, and everything that the document names could be resolved."""
        return not self.unresolved and not set(self.outcomes) & {STUCK, ENDLESS, PAUSED, "FAILED"}

    def as_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "reached": self.reached, "unreached": self.unreached, "ok": self.ok}


def dry_run(
    net: Net, input: Any, *, now: int, history: History | None = None, answers: Mapping[str, Any] | None = None,
    seed: int = 0, options: dict[str, Any] | None = None, variations: int = VARIATIONS,
    called: dict[str, CalledNet] | None = None, more_inputs: Sequence[Any] = (),
) -> DryRun:  # fmt: skip
    """Run a net in virtual time. `answers` are what nodes are to answer, by their ids; `more_inputs` are what other
    variations than the first start with, in turn. Raises BadInput for an answer of a node that there is not."""
    watched = WatchedNet(net)
    check_answers(watched.net, answers)
    compared = compared_values(watched.net)
    runs, documents, inputs = [], ready(called or {}), [input, *more_inputs]
    for number in range(max(variations, 1)):
        draw = seeded(f"{seed}:dry:{number}")
        recorder = RecordedAnswers(watched.net, draw, history, answers, compared, True, documents)
        recorder.approves = number == 0
        virtual = VirtualRun(watched.net, recorder, now)
        virtual.start(inputs[number % len(inputs)], options)
        runs.append((recorder, virtual))
    return _report(watched, runs)


def check_answers(net: Compiled, answers: Mapping[str, Any] | None) -> None:
    known = {node.id for node in net.nodes} | {node.spec.origin for node in net.nodes}
    unknown = next((id for id in answers or () if id not in known), None)
    if unknown is not None:
        near = nearest(unknown, [node.id for node in net.nodes if is_shown(node)])
        hint = f"Did you mean «{near}»?" if near else "Give the ids of the document's nodes."
        raise BadInput(what=f"the answer of «{unknown}»", why="the document has no such node", hint=hint)


def _report(watched: WatchedNet, runs: list[tuple[RecordedAnswers, VirtualRun]]) -> DryRun:
    net, (recorder, virtual) = watched.net, runs[0]
    st = virtual.run.st
    fired, failed = Counter(virtual.trail), Counter(no for no, status, _ in virtual.settled if status == FAILURE)
    reached = Counter(no for _, each in runs for no in set(each.trail))
    counted = Counter[str]()
    for record in recorder.effects.values():
        counted[record.kind] += record.count
    failure, shown = st.failure, ShownValues(virtual.run, _LONGEST)
    for use in watched.uses:
        use.value = shown(use.value)
    return DryRun(
        status=virtual.status,
        failure=None if failure is None else {"code": failure.code, "message": failure.message, "node": failure.node},
        duration_ms=virtual.elapsed_ms,
        variations=len(runs),
        outcomes=dict(Counter(each.status for _, each in runs)),
        nodes=[
            NodeReached(
                n.id, n.label, n.spec.type or n.spec.kind, fired[n.no], reached[n.no], failed[n.no],
                recorder.sources.get(n.id), n.spec.off_path,
            )
            for n in net.nodes
            if is_shown(n)
        ],
        expressions=[use for use in watched.uses if use.count],
        unresolved=_unresolved(watched, runs),
        effects=_effects(runs, shown),
        refused={kind: counted[kind] for kind in REFUSED},
        incidents=[{"code": code, "node": node} for code, node in virtual.incidents],
        output=shown((st.results or st.scopes[0].last) if st.scopes else None),
    )  # fmt: skip


def _unresolved(watched: WatchedNet, runs: list[tuple[RecordedAnswers, VirtualRun]]) -> list[Unresolved]:
    unresolved = [
        Unresolved(use.node, use.field, use.text, use.code or "", use.error)
        for use in watched.uses
        if use.error is not None
    ]
    problems = {node: problem for recorder, _ in runs for node, problem in recorder.unresolved.items()}
    return unresolved + [Unresolved(node, "args", "", each.code, each.message) for node, each in problems.items()]


def _effects(runs: list[tuple[RecordedAnswers, VirtualRun]], shown: ShownValues) -> list[EffectRecord]:
    records = dict(runs[0][0].effects)
    for recorder, _ in runs[1:]:
        for node, record in recorder.effects.items():
            if node not in records:
                records[node] = EffectRecord(record.node, record.executor, record.kind, record.args)
    for record in records.values():
        record.args = shown(record.args)
    return list(records.values())
