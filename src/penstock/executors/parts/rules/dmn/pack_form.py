"""A DMN file as a rule pack: the pack carries the file itself, and judging asks one of its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from penstock.errors import DocumentInvalid, Finding, PenstockError, Place
from penstock.executors.parts.rules.dmn.engine import Model, read_model
from penstock.executors.parts.rules.dmn.graph import Key
from penstock.executors.parts.rules.dmn.model import Decision
from penstock.executors.parts.rules.dmn.run import ModelRun, ModelWarning
from penstock.executors.parts.rules.feel_texts import plain
from penstock.executors.parts.rules.hit_policy import NotAllowed, TableConflict, TableResult
from penstock.feel.evaluation import Exceeded
from penstock.feel.values import DateTime
from penstock.feel.values.python import to_json
from penstock.feel.values.temporal import at_instant
from penstock.lang.report import did_you_mean

_MOST_IMPORTS = 50
_CLOCK = {"now", "today"}  # FEEL's functions that read the run's clock


def import_dmn(
    content: bytes, *, id: str = "", version: str = "1", result: str = "", imports: Iterable[bytes] = ()
) -> tuple[dict[str, Any], list[Finding]]:
    """The file as the body of a rule pack, and what is worth knowing about it. Raises DocumentInvalid and its like.

    `result` is the decision that judges, by id or name; by default the one that no other requires."""
    others = list(imports)
    model = read_model(content, others)
    definitions = model.definitions
    body: dict[str, Any] = {
        "id": id or definitions.id or definitions.name or "dmn",
        "name": definitions.name,
        "version": version,
        "dmn": {"model": content.decode("utf-8-sig")},
    }
    if others:
        body["dmn"]["imports"] = [other.decode("utf-8-sig") for other in others]
    if result:
        body["result"] = result
    findings = check_model(model, result)
    if any(finding.severity == "error" for finding in findings):
        raise DocumentInvalid(findings)
    return body, findings


def model_of(form: Mapping[str, Any]) -> Model:
    """The model that a pack carries. Raises DocumentInvalid and its like."""
    text, imports = form.get("model"), form.get("imports") or []
    if not isinstance(text, str) or not isinstance(imports, list) or not all(isinstance(one, str) for one in imports):
        hint = "Write {model: the DMN file as a text, imports: [those that it imports]}."
        raise DocumentInvalid([Finding("wrong_type", "error", "«dmn» has no model.", Place("/dmn"), hint)])
    if len(imports) > _MOST_IMPORTS:
        message = f"{len(imports)} imports are more than the {_MOST_IMPORTS} that a pack may have."
        raise DocumentInvalid([Finding("too_many_rules", "error", message, Place("/dmn/imports"), "Merge some.")])
    return read_model(text.encode(), [other.encode() for other in imports])


def check_model(model: Model, result: str) -> list[Finding]:
    """Everything there is to say about a model that judges by one of its decisions."""
    findings = model.check()
    if not model.definitions.decisions:
        where = Place("", model.definitions.line)
        findings.append(Finding("no_rules", "error", "The file has no decision.", where, "Export the decisions."))
    elif isinstance(asked := result_of(model, result), Finding):
        findings.append(asked)
    return findings


def result_of(model: Model, result: str) -> Key | Finding:
    """The decision that judges: the one named, or the only one that no other requires."""
    graph = model.graph
    if result:
        key = graph.find(result)
        if key is not None and isinstance(graph.elements[key], Decision):
            return key
        hint = did_you_mean(result, [decision.id for decision in graph.main.decisions], "Correct its id.")
        return Finding("decision_unknown", "error", f"There is no decision «{result}».", Place("/result"), hint)
    last = graph.results()
    if len(last) == 1:
        return last[0]
    shown = ", ".join(graph.elements[key].name for key in last[:20])
    message = f"{shown}: none of them is required by another, so it is not clear which is the result."
    where = Place("/decisions", model.definitions.line)
    return Finding("decision_unknown", "error", message, where, "Write `result: …` with the id of one.")


class CompiledModel(NamedTuple):
    """What became of a pack of this form: its decisions where nothing is wrong, and what the run must bring along."""

    findings: list[Finding]
    decisions: ModelDecisions | None = None
    reads: frozenset[str] = frozenset()


def compile_model(form: Mapping[str, Any], result: str) -> CompiledModel:
    """The model that a pack carries, ready to judge."""
    try:
        model = model_of(form)
    except DocumentInvalid as wrong:
        return CompiledModel(wrong.findings)
    except PenstockError as wrong:
        return CompiledModel([Finding("dmn_model", "error", str(wrong), Place("/dmn/model"), wrong.hint)])
    findings, key = check_model(model, result), result_of(model, result)
    if isinstance(key, Finding) or any(finding.severity == "error" for finding in findings):
        return CompiledModel(findings)
    reads_clock = any(file.words & _CLOCK for file in model.graph.files.values())
    reads = frozenset({"$now"}) if reads_clock else frozenset()
    return CompiledModel(findings, ModelDecisions(model, key), reads)


class ModelDecisions:
    """A model that judges rows: what a rule pack of this form is compiled into."""

    def __init__(self, model: Model, key: Key) -> None:
        self.model, self.key = model, key
        order = [each for each in model.graph.order(key) if isinstance(model.graph.elements[each], Decision)]
        self.alone = len(order) == 1
        self.size = max(1, sum(model.size(each) for each in order))

    def decide(self, view: dict[str, Any]) -> tuple[TableResult, list[str]]:
        """The decision's result as plain data, and the lines of all tables that hit on the way.

        Raises NotAllowed for inputs that are not what the file declares and TableConflict, where DMN says null: a
        judgment of data that the rules are not made for is none."""
        run = ModelRun(_moment(view), lenient=True)
        try:
            value = plain(self.model.decide(self.key, view, run), self.key[1])
        except (Exceeded, RecursionError) as error:
            raise run.limit(error) from None
        for note in run.notes:
            _refuse(note)
        matched = [
            line.id if self.alone else f"{hit.element}.{line.id}" for hit in run.hits for line in hit.result.lines
        ]
        own = next((hit.result for hit in reversed(run.hits) if hit.element == self.key[1]), None)
        if own is not None and len(own.records) == len(own.lines) and to_json(own.value) == value:
            return TableResult(value, own.lines, to_json(own.records)), matched
        return TableResult(value, [], [] if value is None else value if isinstance(value, list) else [value]), matched


def _moment(view: Mapping[str, Any]) -> DateTime | None:
    """The run's time, where it carries one: milliseconds since 1970."""
    try:
        at = view["$now"]
    except KeyError:
        return None
    if isinstance(at, bool) or not isinstance(at, int | float):
        return None
    return at_instant(int(at) * 1_000_000, 0)


def _refuse(note: ModelWarning) -> None:
    if note.code in ("input_type", "input_not_allowed"):
        raise NotAllowed(note.message.rstrip("."))
    if note.code == "table_conflict":
        raise TableConflict(note.message.removeprefix("In this table ").rstrip("."), [note.spot.id])
