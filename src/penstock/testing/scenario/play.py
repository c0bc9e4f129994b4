"""Plays a scenario: each on a store of its own, step by step, until something is not as expected."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.errors import BadInput, Finding, PenstockError, Place
from penstock.testing.behaviours import Stub
from penstock.testing.expectations import differences, moment_of
from penstock.testing.scenario.checks import VERBS
from penstock.testing.scenario.form import Given, Scenario, ScenarioFile, Step
from penstock.testing.snapshots import SnapshotChanged, compare_snapshot
from penstock.testing.tested_run import TestedRun
from penstock.testing.virtual_penstock import PATIENCE_S, VirtualPenstock


class ScenarioResult(msgspec.Struct, kw_only=True):
    """`problems` is empty where all was as expected; each has the place in the file that says so."""

    file: Path
    name: str
    line: int
    problems: list[Finding] = []
    timeline: str = ""
    wall_s: float = 0.0
    virtual_ms: int = 0
    updated: list[str] = []  # snapshots that were written
    unused_stubs: list[str] = []  # that nothing has asked

    @property
    def ok(self) -> bool:
        return not self.problems


async def play(
    file: ScenarioFile, scenario: Scenario, *, update: bool = False, patience_s: float = PATIENCE_S
) -> ScenarioResult:
    """One scenario, from its first step to the first that is not as expected. Raises nothing of ours."""
    began = time.perf_counter()
    place = file.source.place(scenario.pointer)
    result = ScenarioResult(file=file.path, name=scenario.name, line=place.line or 1)
    player = _Player(file, scenario, result, update)
    step = scenario.pointer
    try:
        async with player.opened(patience_s) as penstock:
            try:
                player.furnish()
                for number in scenario.steps:
                    step = number.pointer
                    await player.step(number)
                    if result.problems:
                        break
            finally:
                result.unused_stubs = player.unused()
                result.virtual_ms = penstock.now - penstock.began_at
                if player.run is not None:
                    result.timeline = player.run.timeline()
    except PenstockError as error:
        result.problems.append(_problem(error, file, player.pointer or step))
    except Exception as error:  # a fault of ours: other scenarios are still played, and told of
        result.problems.append(_fault(error, file.source.place(player.pointer or step)))
    result.wall_s = time.perf_counter() - began
    return result


def _problem(error: PenstockError, file: ScenarioFile, at: str) -> Finding:
    hint = str(error.facts.get("hint") or error.hint)
    return Finding(error.code, "error", str(error), file.source.place(at), hint, str(error.facts.get("node", "")))


def _fault(error: Exception, where: Place) -> Finding:
    message = f"{type(error).__name__}: {error}"
    return Finding(PenstockError.code, "error", message, where, "Please report it, with the scenario.")


class _Player:
    def __init__(self, file: ScenarioFile, scenario: Scenario, result: ScenarioResult, update: bool) -> None:
        self.file, self.scenario, self.result, self.update = file, scenario, result, update
        self.given: Given = scenario.given
        self.run: TestedRun | None = None
        self.pointer = ""
        self.looked = Counter[str]()  # messages of each run that an expectation has looked at

    def opened(self, patience_s: float) -> VirtualPenstock:
        given = self.given
        self.penstock = VirtualPenstock(
            now=given.now, folder=self.file.path.parent, tenant=given.tenant, settings=given.settings, real=given.real,
            patience_s=patience_s,
        )  # fmt: skip
        return self.penstock

    def furnish(self) -> None:
        penstock, given = self.penstock, self.given
        self.pointer = f"{self.scenario.pointer}/given" if self.scenario.pointer else "/given"
        for kind, things in given.registered.items():
            for id, body in things.items():
                penstock.register(kind, id, body)
        places = penstock.stubs
        groups = {"nodes": places.by_node, "executors": places.by_executor, "effects": places.by_effect}
        for group, stubs in given.stubs.items():
            for name, (behaviours, undo) in stubs.items():
                groups[group][name] = Stub(behaviours, undo)
        for document in given.documents:
            penstock.release(document, in_force=True)
        if given.in_force:
            penstock.release(self.file.document, in_force=True)
        self.pointer = ""

    def unused(self) -> list[str]:
        """Names of stubs that nothing has asked; of those of the whole file no story needs all."""
        stubs, own = self.penstock.stubs, self.scenario.own_stubs
        every = {**stubs.by_effect, **stubs.by_executor, **stubs.by_node}
        return [name for name, stub in every.items() if name in own and not stub.was_asked]

    async def step(self, step: Step) -> None:
        penstock = self.penstock
        if step.after_ms is not None:
            self.pointer = f"{step.pointer}/after"
            await penstock.advance(step.after_ms)
        elif step.at:
            self.pointer = f"{step.pointer}/at"
            await penstock.advance_to(moment_of(step.at, penstock))
        if step.when is not None:
            self.pointer = f"{step.pointer}/when"
            await self._when(step.when)
        if step.then is not None:
            self.pointer = f"{step.pointer}/then"
            self._then(step.then, self.pointer)
        self.pointer = ""

    # -- when ----------------------------------------------------------------------------------------------------------

    async def _when(self, when: Mapping[str, Any]) -> None:
        penstock = self.penstock
        if "start" in when:
            options = {"by": self._user(when["by"])} if when.get("by") else {}
            self.run = await penstock.start(when.get("document") or self.file.document, when["start"], **options)
        elif "event" in when:
            await penstock.send_event(when["event"], when.get("payload"))
        elif "signal" in when:
            await penstock.signal(self._selected(when), when["signal"], when.get("payload"))
        elif "webhook" in when:
            self.run = await penstock.webhook(when["webhook"], when.get("payload"), method=when.get("method", "POST"))
        elif "person" in when:
            await self._act(when)
        elif when.get("cancel"):
            await penstock.cancel(self._selected(when))

    async def _act(self, when: Mapping[str, Any]) -> None:
        person = self.penstock.person(self._user(when["person"]))
        verb = next(verb for verb in VERBS if verb in when)
        node, where = when[verb], {"within": when.get("within") or "0s"}
        more: dict[str, Any] = {**where, "run": self._selected(when) if when.get("run") else None}
        comment = when.get("comment")
        if verb == "approves":
            await person.approve(node, comment=comment, value=when.get("value"), **more)
        elif verb == "rejects":
            await person.reject(node, comment=comment, value=when.get("value"), **more)
        elif verb == "judges":
            await person.judge(node, when.get("verdict", ""), comment=comment, **more)
        elif verb == "answers":
            await person.answer(node, when.get("value"), **more)
        else:
            await person.claim(node, **more)

    def _user(self, name: str) -> str:
        return self.given.people.get(name, name)

    def _selected(self, words: Mapping[str, Any]) -> TestedRun:
        """The run that is meant: by its number, else the last that has started. Raises BadInput."""
        runs, number = self.penstock.runs, words.get("run") or len(self.penstock.runs)
        if not 1 <= number <= len(runs):
            why = f"{len(runs)} have started" if runs else "none has started"
            raise BadInput(what="the run", why=why, hint="Is the document in force (`given.in_force`)?")
        return runs[number - 1]

    # -- then ----------------------------------------------------------------------------------------------------------

    def _then(self, then: Mapping[str, Any], at: str) -> None:
        penstock, place = self.penstock, self.file.source.place
        if not penstock.runs and set(then) <= {"runs"}:
            count = then["runs"]
            if count:
                self._fail(at, f"expected {count} runs, and none has started")
            return
        run = self.run = self._selected(then) if "run" in then or self.run is None else self.run
        expected = {word: value for word, value in then.items() if word not in ("run", "timeline")}
        for mismatch in differences(penstock, run, expected, self.looked[run.id]):
            self.result.problems.append(Finding("expected", "error", mismatch.text(), place(f"{at}/{mismatch.at}")))
        if "messages" in then:
            self.looked[run.id] = len(run.messages)
        if then.get("timeline") and not (self.update and self.result.problems):
            self._timeline(run, then["timeline"], f"{at}/timeline")

    def _timeline(self, run: TestedRun, name: str, at: str) -> None:
        folder = self.file.path.parent.resolve()
        file = (folder / name).resolve()
        if not file.is_relative_to(folder):
            raise BadInput(what=f"the snapshot «{name}»", why="it lies outside the folder of the scenario")
        try:
            if compare_snapshot(file, run.timeline(), update=self.update):
                self.result.updated.append(str(file))
        except SnapshotChanged as changed:
            self._fail(at, str(changed), "`penstock test --update` writes it anew.")

    def _fail(self, at: str, message: str, hint: str = "") -> None:
        where: Place = self.file.source.place(at)
        self.result.problems.append(Finding("expected", "error", message, where, hint))
