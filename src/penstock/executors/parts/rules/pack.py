"""The fields of a rule pack (C-53), and reading one; everything that is wrong is reported at once.

A pack has one of four forms: `rules`, each with a condition; one `table`; several `decisions` (tables and expressions)
that need each other's results; or `dmn`, a DMN model. `params` are values that rules read as `params.NAME`;
`variables` are expressions that rules read by their bare name. A text with `${…}` in `params` is computed, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from penstock.lang.document import Document, Mark, child_pointer
from penstock.lang.fields import Fields, read_fields, unknown_fields
from penstock.lang.report import Report

Decision = Literal["normal", "warning", "critical", "unknown"]
Scope = Literal["dataset", "each", "latest"]
DECISIONS = ("normal", "warning", "critical", "unknown")
RANK = {"unknown": 0, "normal": 1, "warning": 2, "critical": 3}
Confidence = Annotated[float, msgspec.Meta(ge=0, le=1)]
MAX_RULES = 10_000


class Default(Fields):
    """What is judged when no rule matches."""

    OPEN: ClassVar[bool] = True
    decision: Decision = "normal"
    confidence: Confidence = 1.0
    reasoning: str = ""
    recommendations: list[str] = []


class Rule(Fields):
    """One rule. `scope` says over what its condition is asked: the whole data, each row, or the last row (the one with
    the greatest `latest_by`, where a field is named)."""

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("id", "when", "decision")
    id: str = ""
    name: str = ""
    priority: int = 0
    enabled: bool = True
    scope: Scope = "dataset"
    when: str | bool = False
    threshold: Any = None
    params: dict[str, Any] = {}
    decision: Decision = "unknown"
    confidence: Confidence = 1.0
    reasoning: str = ""
    recommendations: list[str] = []
    latest_by: str = ""


class Column(Fields):
    """An input column: its expression (or the name of what it reads), and which values may come."""

    OPEN: ClassVar[bool] = True
    name: str = ""
    expression: str = ""
    type: Any = ""  # as `types` of the pack
    values: str = ""  # unary tests


class Output(Fields):
    """An output column. The order of `values` is their priority for the hit policies P and O."""

    OPEN: ClassVar[bool] = True
    name: str = ""
    type: Any = ""
    values: list[Any] = []
    default: Any = None


class TableRow(Fields):
    """A line of a table: one unary test for every input, one value for every output."""

    OPEN: ClassVar[bool] = True
    id: str = ""
    name: str = ""
    when: list[Any] = []
    then: list[Any] = []


class Table(Fields):
    """A decision table. With `language: feel` inputs and outputs are FEEL, as DMN has them; with `expr` inputs are
    expressions of ours and texts in outputs are templates. Tests are FEEL unary tests in both."""

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("inputs", "outputs", "rules")
    inputs: list[Any] = []
    outputs: list[Any] = []
    rules: list[Any] = []
    hit_policy: str = "U"
    language: Literal["expr", "feel"] = "expr"


class SubDecision(Fields):
    """A decision of several: its result is read under `variable` by those that require it, and is null where it is not
    of its `type`, as DMN has it."""

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)
    id: str = ""
    name: str = ""
    variable: str = ""
    type: Any = ""
    requires: list[str] = []
    table: dict[str, Any] | None = None
    expression: str = ""
    language: Literal["expr", "feel"] = "expr"


class Test(Fields):
    """What the pack says about itself: `expected` fields must be in the verdict of `input` {data, context}."""

    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("input", "expected")
    __test__: ClassVar[bool] = False  # no test of pytest
    name: str = ""
    input: dict[str, Any] = {}
    expected: dict[str, Any] = {}


class Pack(Fields):
    OPEN: ClassVar[bool] = True
    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)
    id: str = ""
    name: str = ""
    version: str | int = "1"
    summary: str = ""
    status: str = ""
    hit_policy: Literal["first", "priority", "severity_max", "collect"] = "severity_max"
    scope: Scope = "each"  # of a table and of decisions; a rule has its own
    params: dict[str, Any] = {}
    variables: dict[str, str] = {}
    rules: list[Any] = []
    table: dict[str, Any] | None = None
    decisions: list[Any] = []
    dmn: dict[str, Any] | None = None  # {model: a DMN file as a text, imports: [the files that it imports]}
    names: list[str] = []  # that FEEL texts may read; needed only for those with spaces
    #: What the data's fields are: number, string, boolean, date, time, date and time, days and time duration, years and
    #: months duration, {list: type}, {fields: {name: type}} or {type, values: unary tests}.
    types: dict[str, Any] = {}
    result: str = ""  # the decision whose result is judged; by default the one that no other requires
    default: Default | None = None
    tests: list[Any] = []


def document_of(body: Any) -> Document:
    """A body without a text: its places are pointers only."""
    return body if isinstance(body, Document) else Document("rule pack", body, Mark(0, 0))


def read_pack(document: Document, report: Report) -> Pack:
    """The pack; what cannot be read keeps its default and is in the report."""
    data = document.data
    if not isinstance(data, Mapping):
        hint = "Write {id, version, rules: [{id, when, decision}]}."
        report.error("wrong_type", "A rule pack is a map.", "", hint=hint)
        return Pack()
    pack, rest = read_fields(Pack, dict(data), "", report)
    unknown_fields(rest, Pack, "", report)
    pack.rules = read_list(Rule, "rule", pack.rules, "/rules", report)
    pack.decisions = read_list(SubDecision, "step", pack.decisions, "/decisions", report)
    pack.tests = read_list(Test, "test", pack.tests, "/tests", report)
    _unique([rule.id for rule in pack.rules], "/rules", "rule", report)
    _unique([decision.id for decision in pack.decisions], "/decisions", "decision", report)
    _one_form(pack, report)
    return pack


def read_list(kind: type[Any], noun: str, values: list[Any], at: str, report: Report) -> list[Any]:
    """A struct for every entry; an entry that is no map is told and stays empty."""
    entries = []
    if len(values) > MAX_RULES:
        message = f"{len(values):,} entries are more than the {MAX_RULES:,} that one list may have."
        report.error("too_many_rules", message, at, hint="Split the pack.")
        values = values[:MAX_RULES]
    for index, value in enumerate(values):
        spot = child_pointer(at, index)
        if not isinstance(value, Mapping):
            hint = f"Write the fields of a {noun}."
            report.error("wrong_type", "Here a map is expected.", spot, hint=hint)
            entries.append(kind())  # the others keep their places
            continue
        node = str(value.get("id") or value.get("name") or "")
        entry, rest = read_fields(kind, dict(value), spot, report, node=node)
        unknown_fields(rest, kind, spot, report, node=node)
        entries.append(entry)
    return entries


def read_table(data: Mapping[str, Any], at: str, report: Report, node: str) -> Table:
    table, rest = read_fields(Table, dict(data), at, report, node=node)
    unknown_fields(rest, Table, at, report, node=node)
    table.inputs = read_list(Column, "column", table.inputs, child_pointer(at, "inputs"), report)
    table.outputs = read_list(Output, "output", table.outputs, child_pointer(at, "outputs"), report)
    table.rules = read_list(TableRow, "line", table.rules, child_pointer(at, "rules"), report)
    return table


def _unique(ids: list[str], at: str, what: str, report: Report) -> None:
    seen: set[str] = set()
    for index, id in enumerate(ids):
        if id and id in seen:
            message = f"Two {what}s are called «{id}»."
            report.error("duplicate_rule", message, f"{at}/{index}/id", node=id, hint="Give one of them another id.")
        seen.add(id)


def _one_form(pack: Pack, report: Report) -> None:
    forms = [name for name in ("rules", "table", "decisions", "dmn") if getattr(pack, name)]
    if len(forms) > 1:
        message = f"A pack has one form; here are {' and '.join(forms)}."
        report.error("two_forms", message, f"/{forms[1]}", hint="Make two packs of it.")
    if not forms:
        report.error("no_rules", "The pack has no rules.", "", hint="Write `rules`, a `table`, `decisions` or `dmn`.")
