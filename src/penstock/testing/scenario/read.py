"""Reads a scenario file: every finding has its line, and nothing is played while there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.app.durations import read_duration, read_moment
from penstock.app.releases.documents import read_source
from penstock.errors import BadInput, PenstockError, ScenarioInvalid
from penstock.lang.document import child_pointer
from penstock.lang.fields import Fields, read_fields, takes_null, unknown_fields
from penstock.lang.read import read_document
from penstock.lang.report import Report
from penstock.store.address import DEFAULT_TENANT
from penstock.testing.behaviours import Behaviour
from penstock.testing.scenario.checks import Checks
from penstock.testing.scenario.form import (
    FailsFields,
    FileFields,
    Given,
    GivenFields,
    MessageFields,
    Scenario,
    ScenarioFields,
    ScenarioFile,
    Step,
    StepFields,
    StubFields,
    ThenFields,
    WaitFields,
    WhenFields,
)  # fmt: skip
from penstock.testing.scenario.settings import checked_settings
from penstock.testing.virtual_penstock import START

MOST_SCENARIOS, MOST_STEPS = 5_000, 500
_STUB_KINDS = ("answer", "fails", "never", "real", "in_turn")
#: a step of a story that has only one of these does nothing
_DOES = ("after", "at", "when", "then")


def read_scenarios(path: Path, *, real: bool = False) -> ScenarioFile:
    """`real`: the caller lets it reach the world. Raises ScenarioInvalid with all findings, BadInput,
    DocumentUnreadable, DocumentTooLarge."""
    try:
        source = read_document(read_source(path), name=path.name)
    except PenstockError as error:
        error.facts.setdefault("file", path)
        raise
    report = Report(source)
    reader = _Reader(path, report, source.data, real)
    scenarios = reader.scenarios() if isinstance(source.data, dict) else []
    if not isinstance(source.data, dict):
        report.error("wrong_type", "A scenario file is a map.", "", hint="It begins with `document: FILE`.")
    if any(finding.severity == "error" for finding in report.findings):
        raise ScenarioInvalid(report.findings, file=path)
    return ScenarioFile(
        path=path, document=reader.document, scenarios=scenarios, source=source, warnings=report.findings
    )  # fmt: skip


class _Reader:
    def __init__(self, path: Path, report: Report, data: Any, real: bool) -> None:
        self.path, self.report, self.data, self.real = path, report, data, real
        self.document = ""
        self.checks = Checks(path, report)

    def scenarios(self) -> list[Scenario]:
        data, report = self.data, self.report
        top = {name: value for name, value in data.items() if name not in ("given", "scenarios", "steps")}
        fields, rest = read_fields(FileFields, top, "", report)
        unknown_fields(rest, FileFields, "", report)
        self.document = fields.document
        shared = data.get("given")
        written = self._stories(data)
        self.checks.look_at(fields.document, [shared, *(story.get("given") for _, story in written)])
        return [self._scenario(at, story, shared) for at, story in written]

    def _stories(self, data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """With their pointers; the only one of a file may stand at its top."""
        given = data.get("scenarios")
        if given is None:
            story: dict[str, Any] = {name: data[name] for name in ("scenario", "steps") if name in data}
            story.setdefault("scenario", self.path.name.removesuffix(".scenario.yaml"))
            if data.get("steps") is None:
                hint = "Write `steps:` with what happens, or `scenarios:` with several stories."
                self.report.error("missing_field", "«steps» is missing.", "", hint=hint)
            return [("", story)]
        if not isinstance(given, list) or not given:
            message = "«scenarios» must be a list with at least one story."
            self.report.error("wrong_type", message, "/scenarios", hint="Write `- scenario: …` and below it `steps:`.")
            return []
        if len(given) > MOST_SCENARIOS:
            message = f"{len(given)} scenarios; at most {MOST_SCENARIOS} are played of one file."
            self.report.error("scenario_too_long", message, "/scenarios", hint="Split the file.")
            return []
        for extra in ("scenario", "steps"):
            if extra in data:
                hint = "Keep one of the two forms."
                self.report.error("scenario_two_forms", f"«{extra}» and «scenarios» exclude each other.",
                                  f"/{extra}", hint=hint, key=True)  # fmt: skip
        each = [(f"/scenarios/{i}", story) for i, story in enumerate(given)]
        for at, story in each:
            if not isinstance(story, dict):
                self.report.error("wrong_type", "A scenario is a map.", at, hint="It begins with `scenario: …`.")
        stories = [(at, story) for at, story in each if isinstance(story, dict)]
        self._same_names(stories)
        return stories

    def _same_names(self, stories: list[tuple[str, dict[str, Any]]]) -> None:
        """--only and JUnit know a story by its name."""
        names = set[str]()
        for at, story in stories:
            name = story.get("scenario")
            if isinstance(name, str) and name in names:
                hint = "Say what is different about it."
                self.report.error("scenario_name", f"Two stories are called «{name}».", f"{at}/scenario", hint=hint)
            elif isinstance(name, str):
                names.add(name)

    def _scenario(self, at: str, story: dict[str, Any], shared: Any) -> Scenario:
        name = story.get("scenario", "")
        if at:
            plain = {key: value for key, value in story.items() if key not in ("given", "steps")}
            fields, rest = read_fields(ScenarioFields, {**plain, "steps": story.get("steps")}, at, self.report)
            unknown_fields(rest, ScenarioFields, at, self.report)
            name = fields.scenario
        given = self._given([(shared, "/given"), (story.get("given") if at else None, f"{at}/given")])
        self.checks.begin(given)
        steps = self._steps(story.get("steps"), f"{at}/steps")
        if steps and not any(step.then for step in steps):
            hint = "Write `then: {status: …}` in a step."
            self.report.warning("scenario_expects_nothing", f"«{name}» expects nothing: whatever happens is right.",
                                f"{at}/steps", hint=hint, key=True)  # fmt: skip
        own = _stub_names(story.get("given") if at else shared)
        return Scenario(name=str(name), pointer=at, given=given, steps=steps, own_stubs=own)

    # -- given ---------------------------------------------------------------------------------------------------------

    def _given(self, parts: list[tuple[Any, str]]) -> Given:
        """Those of the scenario lie over those of the file."""
        given = Given(
            now=read_moment(START), tenant=DEFAULT_TENANT, registered={}, documents=[], in_force=False, people={},
            stubs={"nodes": {}, "executors": {}, "effects": {}}, real=[], settings={},
        )  # fmt: skip
        for data, at in parts:
            if data is None:
                continue
            if not isinstance(data, dict):
                self.report.error("wrong_type", "«given» must be a map.", at, hint="Write a map here.")
                continue
            self._add(given, data, at)
        return given

    def _add(self, given: Given, data: dict[str, Any], at: str) -> None:
        plain = {name: value for name, value in data.items() if name != "stubs"}
        fields, rest = read_fields(GivenFields, plain, at, self.report)
        unknown_fields(rest, GivenFields, at, self.report, also=("stubs",))
        if fields.now:
            given.now = self._moment(fields.now, f"{at}/now", given.now)
        given.tenant = fields.tenant or given.tenant
        given.in_force = data.get("in_force", given.in_force) is True
        given.people.update(fields.people)
        given.real += fields.real
        if fields.real:
            self._reaches_world(f"{at}/real")
        for i, name in enumerate(fields.real):
            self.checks.executor(name, f"{at}/real/{i}")
        given.settings.update(checked_settings(fields.settings, f"{at}/settings", self.report))
        given.documents += fields.documents
        for kind, things in fields.registered.items():
            if not isinstance(things, dict):
                where = child_pointer(f"{at}/registered", kind)
                self.report.error("wrong_type", f"«{kind}» must be a map of ids.", where, hint="Write `ID: {…}`.")
                continue
            given.registered.setdefault(kind, {}).update(things)
        self._stubs(given, data.get("stubs"), f"{at}/stubs")

    def _reaches_world(self, at: str) -> None:
        if not self.real:
            hint = "Whoever plays it allows that: penstock test --real. Or let a stub answer."
            self.report.error("scenario_real", "«real» reaches the world, which a file does not do by itself.", at,
                              hint=hint, key=True)  # fmt: skip

    def _stubs(self, given: Given, data: Any, at: str) -> None:
        if data is None:
            return
        if not isinstance(data, dict):
            self.report.error("wrong_type", "«stubs» must be a map.", at, hint="Write `nodes:` and below it `NODE:`.")
            return
        for group, stubs in data.items():
            where = child_pointer(at, group)
            if group not in given.stubs:
                hint = "Stubs stand below `nodes`, `executors` or `effects`."
                self.report.error("unknown_field", f"Nobody reads the field «{group}».", where, hint=hint, key=True)
                continue
            if not isinstance(stubs, dict):
                self.report.error("wrong_type", f"«{group}» must be a map.", where, hint="Write `NAME: {answer: …}`.")
                continue
            for name, stub in stubs.items():
                self.checks.stub(group, name, child_pointer(where, name))
                read = self._stub(stub, child_pointer(where, name))
                if read is not None:
                    given.stubs[group][name] = read

    def _stub(self, data: Any, at: str) -> tuple[tuple[Behaviour, ...], tuple[Behaviour, ...]] | None:
        if not isinstance(data, dict):
            hint = "Write `{answer: VALUE}`, `{fails: CODE}`, `{never: true}` or `{in_turn: [...]}`."
            self.report.error("scenario_stub", "A stub says what it does.", at, hint=hint)
            return None
        fields, rest = read_fields(StubFields, data, at, self.report)
        unknown_fields(rest, StubFields, at, self.report)
        if self._nothing(StubFields, data, at):
            return None
        undo = self._stub(fields.undo, f"{at}/undo") if fields.undo is not None else None
        kinds = [kind for kind in _STUB_KINDS if kind in data]
        if len(kinds) != 1:
            message = f"A stub is one of {', '.join(_STUB_KINDS)}; here are {', '.join(kinds) or 'none'}."
            self.report.error("scenario_stub", message, at, hint="Keep one; several in turn are `in_turn: [...]`.")
            return None
        if kinds[0] in ("never", "real") and data[kinds[0]] is False:
            message, hint = (
                f"«{kinds[0]}: false» says what the stub does not do.",
                "Leave it out, and write what it does.",
            )
            self.report.error("scenario_stub", message, f"{at}/{kinds[0]}", hint=hint)
            return None
        if kinds[0] == "real":
            self._reaches_world(f"{at}/real")
        if fields.takes and kinds[0] not in ("answer", "fails"):
            hint = f"Write it at each stub of it, or leave it out of {kinds[0]}."
            self.report.error("scenario_stub", "«takes» says how long an answer or a failure takes.", f"{at}/takes",
                              hint=hint, key=True)  # fmt: skip
        if kinds[0] == "in_turn":
            each = [self._stub(part, f"{at}/in_turn/{i}") for i, part in enumerate(fields.in_turn)]
            behaviours = tuple(behaviour for part in each if part is not None for behaviour in part[0])
            if not behaviours:
                self.report.error("scenario_stub", "«in_turn» is empty.", f"{at}/in_turn", hint="Write a stub in it.")
        else:
            behaviours = (self._behaviour(kinds[0], fields, at),)
        return behaviours, undo[0] if undo is not None else ()

    def _behaviour(self, kind: str, fields: StubFields, at: str) -> Behaviour:
        takes = self._duration(fields.takes, f"{at}/takes") if fields.takes else 0
        if kind == "answer":
            return Behaviour(kind="answer", value=fields.answer, takes_ms=takes)
        if kind != "fails":
            return Behaviour(kind="never" if kind == "never" else "real")
        written = {"code": fields.fails} if isinstance(fields.fails, str) else fields.fails or {}
        failure, rest = read_fields(FailsFields, written, f"{at}/fails", self.report)
        unknown_fields(rest, FailsFields, f"{at}/fails", self.report)
        message = failure.message or f"the stub fails with {failure.code}"
        return Behaviour(kind="fails", code=failure.code, category=failure.category, message=message, takes_ms=takes)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _steps(self, data: Any, at: str) -> list[Step]:
        if not isinstance(data, list) or not data:
            if data is not None:
                message = "«steps» must be a list with at least one step."
                self.report.error("wrong_type", message, at, hint="Write `- when: {start: {…}}`.")
            return []
        if len(data) > MOST_STEPS:
            message = f"{len(data)} steps; at most {MOST_STEPS} are played."
            self.report.error("scenario_too_long", message, at, hint="Split the story.")
            return []
        return [self._step(step, f"{at}/{i}") for i, step in enumerate(data)]

    def _step(self, data: Any, at: str) -> Step:
        step = Step(pointer=at)
        if not isinstance(data, dict):
            self.report.error("wrong_type", "A step is a map.", at, hint="Write `after: 2h`, `when: {…}`, `then: {…}`.")
            return step
        plain = {name: value for name, value in data.items() if name not in ("when", "then")}
        fields, rest = read_fields(StepFields, plain, at, self.report)
        unknown_fields(rest, StepFields, at, self.report, also=("when", "then"))
        self._nothing(StepFields, data, at)
        if not any(name in data for name in _DOES):
            self.report.error("scenario_step", "The step does nothing.", at, hint=f"Write one of {', '.join(_DOES)}.")
        if fields.after and fields.at:
            hint = "Keep one of them."
            self.report.error("scenario_step", "«after» and «at» exclude each other.", f"{at}/at", hint=hint, key=True)
        if fields.after:
            step.after_ms = self._duration(fields.after, f"{at}/after")
            self.checks.passes(step.after_ms, f"{at}/after")
        elif fields.at:
            step.at = fields.at
            self.checks.reaches(fields.at, f"{at}/at")
        step.when = self._map(WhenFields, data.get("when"), f"{at}/when")
        step.then = self._map(ThenFields, data.get("then"), f"{at}/then")
        if step.when is not None:
            self.checks.when(step.when, f"{at}/when")
            if step.when.get("within"):
                self._duration(step.when["within"], f"{at}/when/within")
        if step.then or data.get("then") == {}:  # one that has only wrong fields is told of already
            assert step.then is not None
            messages = step.then.get("messages")
            for i, message in enumerate(messages if isinstance(messages, list) else []):
                if isinstance(message, dict):
                    self._nothing(MessageFields, message, f"{at}/then/messages/{i}")
            self._waits(step.then.get("waits"), f"{at}/then/waits")
            self.checks.then(step.then, f"{at}/then")
        return step

    def _map(self, kind: Any, data: Any, at: str) -> dict[str, Any] | None:
        """What was written, checked field by field; a field that is not written is not there."""
        if data is None:
            return None
        if not isinstance(data, dict):
            name = at.rpartition("/")[2]
            self.report.error("wrong_type", f"«{name}» must be a map.", at, hint="Write a map here.")
            return None
        _, rest = read_fields(kind, data, at, self.report)
        unknown_fields(rest, kind, at, self.report)
        empty = self._nothing(kind, data, at)
        return {name: value for name, value in data.items() if name not in rest and name not in empty}

    def _nothing(self, kind: type[Fields], data: dict[str, Any], at: str) -> list[str]:
        """Fields of a map that hold null, though they may not: it is no value to wait for or to compare with."""
        empty = [name for name, value in data.items() if value is None and not takes_null(kind, name)]
        for name in empty:
            hint = "Write a value, or leave the field out."
            self.report.error("wrong_type", f"«{name}» holds nothing.", child_pointer(at, name), hint=hint)
        return empty

    def _waits(self, waits: Any, at: str) -> None:
        for node, wanted in waits.items() if isinstance(waits, dict) else ():
            where = child_pointer(at, node)
            if isinstance(wanted, dict):
                fields, rest = read_fields(WaitFields, wanted, where, self.report)
                unknown_fields(rest, WaitFields, where, self.report)
                self._nothing(WaitFields, wanted, where)
                if fields.until:
                    self.checks.moment(fields.until, f"{where}/until")
            elif wanted is not None and not isinstance(wanted, str):
                hint = "Write what it waits for: person, event, time; or {for, until, who, then}."
                self.report.error("wrong_type", "A wait is a text or a map.", where, hint=hint)

    def _duration(self, text: str, at: str) -> int:
        try:
            return read_duration(text)
        except BadInput as error:
            message = f"«{text}» cannot pass: {error.facts['why']}."
            self.report.error("scenario_time", message, at, hint=str(error.facts.get("hint", "")))
            return 0

    def _moment(self, text: str, at: str, otherwise: int) -> int:
        try:
            return read_moment(text)
        except BadInput as error:
            self.report.error("scenario_time", f"«{text}» is no moment.", at, hint=str(error.facts.get("hint", "")))
            return otherwise


def _stub_names(given: Any) -> set[str]:
    stubs = given.get("stubs") if isinstance(given, dict) else None
    groups = stubs.values() if isinstance(stubs, dict) else ()
    return {name for group in groups if isinstance(group, dict) for name in group}
