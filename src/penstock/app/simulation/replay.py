"""Replay of real runs on another version of their document, with their recorded answers: what would have differed.

A run that somebody has steered by hand (paused, cancelled, retried, migrated, forked) is left out: what was done to it
belongs to the version that it was on. A recorded answer is one to what was asked then: where the other version asks
something else, nobody knows what it would be answered, and the run is not called the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.releases.triggers import active_release
from penstock.app.simulation.virtual.answers import RecordedAnswers
from penstock.app.simulation.virtual.assumptions import seeded
from penstock.app.simulation.virtual.compared_values import Compared, compared_values
from penstock.app.simulation.virtual.computed_effects import compute, is_computed
from penstock.app.simulation.virtual.history import (
    AskedEffect,
    EffectSample,
    History,
    JournalReader,
    NewsSample,
    PersonSample,
    ended_runs,
)
from penstock.app.simulation.virtual.virtual_run import EffectAnswer, NewsAnswer, PersonAnswer, VirtualRun, is_shown
from penstock.errors import ReleaseNotFound
from penstock.executors.contract import Done, Failed
from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import STATUS, Firing, State, Wait
from penstock.net.compiled import WAIT, CNode, Compiled

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.store.releases import ReleaseRow
    from penstock.store.run_store import RunRow

#: facts of a run that somebody has steered
_BY_HAND = frozenset({F.PAUSED, F.MIGRATED, F.FORKED, F.REVIVED, F.REOPENED, F.DRAINING, F.STOPPING})
#: what was never answered is not answered again
_NEVER_MS = 3_153_600_000_000
#: members that hold moments or durations: no two runs have the same
_MOMENTS = ("_at", "_ms", "_time", "timestamp")
#: a moment inside a text
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?")
_MOST_LISTED = 100


class RunDifference(msgspec.Struct, kw_only=True):
    """A run that would have gone otherwise: nodes by their ids, more often first."""

    run: str
    path_removed: list[str]
    path_added: list[str]
    status: dict[str, str]
    result_changed: list[str]
    was_ms: int
    now_ms: int
    not_comparable: list[str] = []


class ReplayReport(msgspec.Struct, kw_only=True):
    """`unanswered` are nodes that no recorded run had an answer for: theirs were assumed. `not_comparable` are nodes
    that ask something else than what their recorded answers were given to; `unknown` counts the runs that went the same
    way only with such an answer."""

    name: str
    version: int
    against: int
    runs: int = 0
    same: int = 0
    different: int = 0
    unknown: int = 0
    skipped: int = 0
    differences: list[RunDifference] = []
    unanswered: list[str] = []
    not_comparable: list[str] = []
    was: dict[str, int] = {}
    now: dict[str, int] = {}
    warnings: list[str] = []

    def as_json(self) -> dict[str, Any]:
        share = self.same / self.runs if self.runs else None
        return {**msgspec.to_builtins(self), "share_same": share}

    def as_html(self, locale: str = "en") -> str:
        from penstock.app.simulation.pages.report_page import replay_page

        return replay_page(self, locale)


def replay_release(
    door: Queries, name: str, version: int, *, against: int | None = None, limit: int = 200
) -> ReplayReport:
    """The newest ended runs of one version, replayed on another. Raises ReleaseNotFound."""
    new, old = _release(door, name, version), _release(door, name, against)
    report = ReplayReport(
        name=name, version=new.version, against=old.version, differences=[], unanswered=[], not_comparable=[], was={},
        now={}, warnings=[],
    )  # fmt: skip
    net = door.nets.get(new.net)
    compared = compared_values(net)
    unanswered: dict[str, None] = {}
    asks_otherwise: dict[str, None] = {}
    for row in ended_runs(door, [old.net], limit):
        replayed = replay_run(door, row, net, compared)
        if replayed is None:
            report.skipped += 1
            continue
        difference, missing = replayed
        report.runs += 1
        unanswered.update(dict.fromkeys(missing))
        asks_otherwise.update(dict.fromkeys(difference.not_comparable))
        _count(report.was, difference.status["was"])
        _count(report.now, difference.status["now"])
        if difference.path_removed or difference.path_added or difference.result_changed or _moved(difference):
            report.different += 1
            if len(report.differences) < _MOST_LISTED:
                report.differences.append(difference)
        elif difference.not_comparable:
            report.unknown += 1
        else:
            report.same += 1
    report.unanswered, report.not_comparable = list(unanswered), list(asks_otherwise)
    if not report.runs:
        report.warnings.append("NO_RUNS")
    if report.not_comparable:
        report.warnings.append("NOT_COMPARABLE")
    return report


def _release(door: Queries, name: str, version: int | None) -> ReleaseRow:
    row = (
        active_release(door.store, door.tenant, name)
        if version is None
        else door.store.release(door.tenant, name, version)
    )
    if row is None:
        raise ReleaseNotFound(name=name, version=version)
    return row


def _moved(difference: RunDifference) -> bool:
    return difference.status["was"] != difference.status["now"]


def replay_run(door: Queries, row: RunRow, net: Compiled, compared: Compared) -> tuple[RunDifference, list[str]] | None:
    """One run on another net, and the nodes whose answers had to be assumed; None where it was steered by hand."""
    reading = door.reading(row)
    turns = [(turn.at, F.decode_facts(turn.body)) for turn in reading.journal()]
    if not turns or any(fact[0] in _BY_HAND for _, facts in turns for fact in facts):
        return None
    recorded, resolve = History(), Blobs(door.store).of(row.tenant)
    JournalReader(recorded, reading.net, door.net_of, resolve, keep_args=True).read(turns)
    state, begun = reading.state, turns[0][0]
    answers = ReplayedAnswers(net, recorded, compared)
    virtual = VirtualRun(net, answers, begun)
    virtual.start(resolve(state.input), dict(state.options), name=row.id, seed=state.seed or row.id, tenant=row.tenant)
    was = Counter(reading.net.nodes[fact[2]].id for _, facts in turns for fact in facts if _fired(reading.net, fact))
    now = Counter(net.nodes[no].id for no in virtual.trail if is_shown(net.nodes[no]))
    difference = RunDifference(
        run=row.id, path_removed=list((was - now).elements()), path_added=list((now - was).elements()),
        status={"was": STATUS[state.status], "now": virtual.status},
        result_changed=_changed(_results(state, resolve), _results(virtual.run.st, lambda body: body)),
        was_ms=state.at - begun, now_ms=virtual.elapsed_ms, not_comparable=answers.not_comparable,
    )  # fmt: skip
    return difference, answers.missing


def _fired(net: Compiled, fact: list[Any]) -> bool:
    return fact[0] in (F.PASSED, F.FIRED, F.FIRED_VIA) and is_shown(net.nodes[fact[2]])


def _results(st: State, resolve: Any) -> dict[str, Any]:
    return {name: resolve(body) for name, body in st.results.items()}


def _changed(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of results that differ in more than moments and durations."""
    return [name for name in {**was, **now} if not same_result(was.get(name), now.get(name))]


def same_result(was: Any, now: Any, name: str = "") -> bool:
    if name.endswith(_MOMENTS) or name == "at":
        return True
    if isinstance(was, dict) and isinstance(now, dict):
        return all(same_result(was.get(key), now.get(key), str(key)) for key in {**was, **now})
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(same_result(a, b) for a, b in zip(was, now, strict=True))
    return bool(was == now)


def same_question(was: AskedEffect, executor: str, written: Any, args: Any) -> bool:
    """Is an effect asked for what it was asked for then? Where the document still says the same, values may differ in
    moments: no two runs have the same."""
    if was.executor != executor:
        return False
    if was.written == written:
        return same_result(_without_moments(was.args), _without_moments(args))
    return bool(was.args == args)


def _without_moments(value: Any) -> Any:
    if isinstance(value, str):
        return _MOMENT.sub("", value)
    if isinstance(value, dict):
        return {key: _without_moments(member) for key, member in value.items()}
    return [_without_moments(item) for item in value] if isinstance(value, list | tuple) else value


class ReplayedAnswers(RecordedAnswers):
    """The answers of one real run, each once and in the order in which they were asked for. Nodes that the run never
    reached get assumed answers, and are listed as `missing`; nodes that ask something else now are listed as
    `not_comparable`, unless the answer can be computed."""

    def __init__(self, net: Compiled, recorded: History, compared: Compared) -> None:
        super().__init__(net, seeded("replay"), None, None, compared)
        self.recorded, self.missing, self.not_comparable = recorded, list[str](), list[str]()
        for samples in recorded.effects.values():
            samples.sort(key=lambda sample: sample.order)

    def effect(self, run: Run, node: CNode, firing: Firing) -> EffectAnswer:
        sample: EffectSample | None = _next(self.recorded.effects, node.id)
        if sample is None and node.id in self.recorded.effects:
            return EffectAnswer(_NEVER_MS, Done(None))
        if sample is None:
            self._miss(node)
            return super().effect(run, node, firing)
        if sample.asked is not None and not _is_asked_again(sample.asked, node, firing):
            outcome = compute(run, node, firing) if is_computed(node) else None
            if outcome is not None:
                return EffectAnswer(sample.ms, outcome)
            if node.id not in self.not_comparable:
                self.not_comparable.append(node.id)
        return EffectAnswer(sample.ms, Failed(sample.failure) if sample.failure is not None else Done(sample.body))

    def person(self, run: Run, node: CNode, firing: Firing, submitted: bool) -> PersonAnswer | None:
        recorded = self.recorded.approvals if submitted else self.recorded.people
        sample: PersonSample | None = _next(recorded, node.id)
        if sample is None and node.id in recorded:
            return None
        if sample is None:
            self._miss(node)
            return super().person(run, node, firing, submitted)
        return PersonAnswer(sample.ms, sample.verb, sample.data) if sample.verb else None

    def news(self, run: Run, node: CNode, firing: Firing, wait: Wait) -> NewsAnswer | None:
        sample: NewsSample | None = _next(self.recorded.news, node.id)
        if sample is None and (node.id in self.recorded.news or node.kind != WAIT):
            return None
        if sample is None:
            self._miss(node)
            return super().news(run, node, firing, wait)
        return NewsAnswer(sample.ms, sample.payload) if sample.came else None

    def _miss(self, node: CNode) -> None:
        if node.id not in self.missing:
            self.missing.append(node.id)


def _is_asked_again(was: AskedEffect, node: CNode, firing: Firing) -> bool:
    assert node.effect is not None
    args = node.effect.args if node.args_static else firing.args
    return same_question(was, node.effect.executor, node.effect.args, args)


def _next(recorded: dict[str, list[Any]], node: str) -> Any:
    samples = recorded.get(node)
    return samples.pop(0) if samples else None


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1
