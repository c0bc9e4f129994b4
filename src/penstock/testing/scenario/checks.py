"""Checks of a scenario against its document: nodes, executors, people and times that there are not are found here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock import sample_tenant
from penstock.app.durations import BEYOND, duration_words, read_duration, read_moment
from penstock.errors import BadInput, DocumentInvalid, PenstockError
from penstock.expr.compile import compile_expression
from penstock.kernel.flow import LAST_MOMENT
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean
from penstock.net.compiled import Compiled
from penstock.store.address import DEFAULT_TENANT
from penstock.testing.behaviours import EFFECTS
from penstock.testing.documents import compiled_file, node_ids
from penstock.testing.expectations import CHECKS
from penstock.testing.scenario.form import Given
from penstock.testing.snapshots import SNAPSHOT_ENDING

_NOTIFY = "notify"
#: what people do with a node
VERBS = ("approves", "rejects", "judges", "answers", "claims")
#: what happens, of which a `when` has one
HAPPENS = ("start", "event", "signal", "webhook", "cancel", "person")
#: what happens, or what a person does → fields that say more about it
_MORE: dict[str, tuple[str, ...]] = {
    "start": ("document", "by"), "event": ("payload",), "signal": ("payload", "run"), "webhook": ("payload", "method"),
    "cancel": ("run",), "approves": ("comment", "value", "within", "run"),
    "rejects": ("comment", "value", "within", "run"), "judges": ("verdict", "comment", "within", "run"),
    "answers": ("value", "within", "run"), "claims": ("within", "run"),
}  # fmt: skip
_NODE_LISTS = ("path", "passes", "not_reached", "compensated")
_NODE_MAPS = ("visits", "waits", "nodes")


class Checks:
    """Of one file; `begin` is called for every scenario of it."""

    def __init__(self, path: Path, report: Report) -> None:
        self.path, self.report = path, report
        self.nodes: set[str] = set()
        self.executors: set[str] = set()
        self.known = False  # whether all documents could be read
        self._given: Given | None = None
        self._at = 0  # at least so much time has passed
        self._started = False

    def look_at(self, document: str, givens: list[Any]) -> None:
        """Compile the documents; what is wrong with one of them is found where it is named."""
        named = [(document, "/document")] if document else []
        for i, given in enumerate(givens):
            at = "/given" if i == 0 else f"/scenarios/{i - 1}/given"
            listed = given.get("documents") if isinstance(given, dict) else None
            for j, name in enumerate(listed if isinstance(listed, list) else []):
                if isinstance(name, str):
                    named.append((name, f"{at}/documents/{j}"))
        self.known = bool(document)
        for name, at in named:
            self._compile(name, at)

    def _compile(self, name: str, at: str) -> None:
        try:
            document = compiled_file(self.path.parent / name, {}).document
        except DocumentInvalid as error:
            errors = [finding for finding in error.findings if finding.severity == "error"] or error.findings
            first = errors[0]
            place = f"{name}:{first.where.line}:{first.where.column}" if first.where.line else name
            message = f"«{name}» has {len(errors)} error(s); the first, at {place}: {first.message}"
            self._refuse(message, at, f"`penstock check {self.path.parent / name}` lists them all.")
        except PenstockError as error:
            self._refuse(f"«{name}» cannot be used: {error}", at, str(error.facts.get("hint") or error.hint))
        else:
            self.nodes |= node_ids(document)
            for net in (document.net, *document.children.values()):
                effects = (node.effect for node in Compiled(net).nodes)
                self.executors |= {effect.executor for effect in effects if effect is not None}

    def _refuse(self, message: str, at: str, hint: str) -> None:
        self.known = False
        self.report.error("scenario_document", message, at, hint=hint or "Name a file beside this one.")

    def begin(self, given: Given) -> None:
        self._given, self._at, self._started = given, given.now, False

    # -- stubs ---------------------------------------------------------------------------------------------------------

    def stub(self, group: str, name: str, at: str) -> None:
        if group == "nodes":
            self.node(name, at, key=True)
        elif group == "effects" and name not in EFFECTS:
            hint = did_you_mean(name, EFFECTS, f"An effect is one of {', '.join(EFFECTS)}.")
            self.report.error("scenario_stub", f"No effect does «{name}».", at, hint=hint, key=True)
        elif group == "executors":
            self.executor(name, at, key=True)

    def executor(self, name: Any, at: str, *, key: bool = False) -> None:
        """One that a node of the documents uses; whoever tells people of a run is used by the engine itself."""
        if self.known and isinstance(name, str) and name not in {*self.executors, _NOTIFY}:
            hint = did_you_mean(name, self.executors, "Its nodes use none.")
            self.report.error("scenario_stub", f"No node of the document uses the executor «{name}».", at,
                                  hint=hint, key=True)  # fmt: skip

    def node(self, name: Any, at: str, *, key: bool = False) -> None:
        if self.known and isinstance(name, str) and name not in self.nodes:
            hint = did_you_mean(name, self.nodes, "`penstock draw` shows the nodes of the document.")
            self.report.error("scenario_node", f"The document has no node «{name}».", at, hint=hint, key=key)

    # -- time ----------------------------------------------------------------------------------------------------------

    def passes(self, ms: int, at: str) -> None:
        self._at += ms
        if self._at > LAST_MOMENT:
            self._at = LAST_MOMENT
            self.report.error("scenario_time", "Time would go on beyond the year 9999.", at, hint="Wait less long.")

    def reaches(self, text: str, at: str) -> None:
        """A moment of the story; it is not before the one that it follows."""
        moment = self.moment(text, at)
        if moment is None:
            return
        if moment < self._at:
            message = f"«{text}» lies {duration_words(self._at - moment)} before the step that it follows."
            self.report.error("scenario_time", message, at, hint="Time goes on: put the steps in order.")
        self._at = max(self._at, moment)

    def moment(self, text: Any, at: str) -> int | None:
        """+2h since the beginning, 2h from now on, or ISO 8601."""
        if not isinstance(text, str):
            return None
        try:
            moment = self._read_moment(text)
            if moment > LAST_MOMENT:
                raise BadInput(what="the time", why=BEYOND)
            return moment
        except BadInput as error:
            hint = "Write +2h since the beginning, or 2026-01-05T09:00:00Z."
            self.report.error("scenario_time", f"«{text}» is no time: {error.facts['why']}.", at, hint=hint)
            return None

    def _read_moment(self, text: str) -> int:
        assert self._given is not None
        if text.startswith("+"):
            return self._given.now + read_duration(text[1:])
        if text[:1].isdigit() and "-" in text:
            return read_moment(text)
        return self._at + read_duration(text)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def when(self, when: dict[str, Any], at: str) -> None:
        happens = [name for name in HAPPENS if name in when]
        if when.get("cancel") is False:
            message = "«cancel: false» says what does not happen."
            self.report.error("scenario_step", message, f"{at}/cancel", hint="Leave it out.")
        if len(happens) != 1:
            message = f"One thing happens at a time, of {', '.join(HAPPENS)}; here are {', '.join(happens) or 'none'}."
            self.report.error("scenario_step", message, at, hint="Write a step for each.")
        if not self._started and not {"start", "event", "webhook"} & when.keys() and not self._by_schedule():
            hint = "The first step that happens is `when: {start: {…}}`."
            self.report.error("scenario_step", "Nothing has started yet.", at, hint=hint)
        self._started = True
        verbs = [verb for verb in VERBS if verb in when]
        if "person" in when:
            self._person(when, verbs, at)
        elif verbs:
            hint = f"Write `person: WHO` before `{verbs[0]}`."
            self.report.error(
                "scenario_person", "Nobody is named who does it.", f"{at}/{verbs[0]}", hint=hint, key=True
            )
        for verb in verbs:
            self.node(when[verb], f"{at}/{verb}")
        self._more(when, [name for name in (*happens, *verbs) if name in _MORE], at)
        if when.get("document"):
            self._compile(when["document"], f"{at}/document")

    def _more(self, when: dict[str, Any], named: list[str], at: str) -> None:
        """Fields that say more about something else than what happens would be read by nobody."""
        if len(named) != 1:
            return
        for name in when:
            if name not in (*HAPPENS, *VERBS, *_MORE[named[0]]):
                others = [word for word, more in _MORE.items() if name in more]
                hint = f"Leave it out; it belongs to {', '.join(others)}."
                self.report.error("scenario_step", f"«{name}» says nothing about «{named[0]}».", f"{at}/{name}",
                                  hint=hint, key=True)  # fmt: skip

    def _by_schedule(self) -> bool:
        return self._given is not None and self._given.in_force

    def _person(self, when: dict[str, Any], verbs: list[str], at: str) -> None:
        if len(verbs) != 1:
            message = f"A person does one thing: {', '.join(VERBS)}; here are {', '.join(verbs) or 'none'}."
            self.report.error("scenario_person", message, at, hint="Write for example `approves: NODE`.")
        assert self._given is not None
        given, name = self._given, when["person"]
        users = set(given.registered.get("user", {}))
        if given.tenant == DEFAULT_TENANT:
            users |= {id for kind, id, _ in sample_tenant.registered() if kind == "user"}
        if isinstance(name, str) and name not in given.people and name not in users:
            hint = did_you_mean(name, [*given.people, *users], "Name them in `given.people`, or register them.")
            self.report.error("scenario_person", f"There is nobody called «{name}».", f"{at}/person", hint=hint)

    def then(self, then: dict[str, Any], at: str) -> None:
        for word in _NODE_LISTS:
            listed = then.get(word)
            for i, node in enumerate(listed if isinstance(listed, list) else []):
                self.node(node, f"{at}/{word}/{i}")
        for word in _NODE_MAPS:
            mapped = then.get(word)
            for node in mapped if isinstance(mapped, dict) else {}:
                self.node(node, child_pointer(f"{at}/{word}", node), key=True)
        self._holds(then.get("holds"), f"{at}/holds")
        name = then.get("timeline")
        if isinstance(name, str) and not name.endswith(SNAPSHOT_ENDING):
            hint = f"Call it for example {self.path.name.removesuffix('.scenario.yaml')}{SNAPSHOT_ENDING}."
            message = f"A timeline is kept in a file NAME{SNAPSHOT_ENDING}, and not in «{name}»."
            self.report.error("scenario_timeline", message, f"{at}/timeline", hint=hint)
        if isinstance(then.get("took"), str):
            try:
                read_duration(then["took"])
            except BadInput as error:
                message, hint = f"«{then['took']}»: {error.facts['why']}.", "Write it as 90s, 30m, 2h or 1d."
                self.report.error("scenario_time", message, f"{at}/took", hint=hint)
        if not any(word in then for word in (*CHECKS, "timeline")):
            hint = f"Write one of {', '.join(CHECKS)}."
            self.report.error("scenario_step", "«then» expects nothing.", at, hint=hint)

    def _holds(self, texts: Any, at: str) -> None:
        listed = isinstance(texts, list)
        for i, text in enumerate(texts if listed else [texts] if isinstance(texts, str) else []):
            try:
                compile_expression(str(text))
            except PenstockError as error:
                where = f"{at}/{i}" if listed else at
                self.report.error("scenario_expression", f"«{text}» cannot be read: {error}", where,
                                  hint="It is an expression such as output.total > 100.")  # fmt: skip
