"""Decision tables: inputs that are tested, rules that hit, and what the hit policy makes of them (DMN 1.5, 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from penstock.executors.parts.rules.dmn.boxed.contract import (
    Box,
    Coerce,
    Compiler,
    Names,
    ReadBox,
    Run,
    Scope,
    Spot,
    Test,
    Value,
    common,
    null,
)
from penstock.executors.parts.rules.dmn.boxed.literal import is_foreign
from penstock.executors.parts.rules.dmn.moments import tested_with_moment
from penstock.executors.parts.rules.dmn.xml import Element, children, content_of, first, line_of, text_of
from penstock.executors.parts.rules.hit_policy import AGGREGATES, POLICIES, RANKED, TableConflict, settle, settle_none

_AGGREGATIONS = {"SUM": "C+", "MIN": "C<", "MAX": "C>", "COUNT": "C#"}
_WANTED = {"C+": "sum", "C<": "least value", "C>": "greatest value"}


class Cell(NamedTuple):
    text: str
    line: int
    language: str


class InputClause(NamedTuple):
    label: str
    expression: Cell
    type_ref: str
    values: str


class OutputClause(NamedTuple):
    name: str
    type_ref: str
    values: Cell
    default: Cell | None
    line: int


class Rule(NamedTuple):
    id: str
    name: str
    when: tuple[Cell, ...]
    then: tuple[Cell, ...]
    line: int


@dataclass(frozen=True, slots=True)
class TableBox(Box):
    policy: str
    inputs: tuple[InputClause, ...]
    outputs: tuple[OutputClause, ...]
    rules: tuple[Rule, ...]


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(element: Element, read_box: ReadBox) -> TableBox:
    policy = (element.get("hitPolicy") or "UNIQUE").strip().upper()
    policy = POLICIES.get(policy, policy)
    aggregation = (element.get("aggregation") or "").strip().upper()
    if policy == "C" and aggregation:
        policy = _AGGREGATIONS.get(aggregation, f"C {aggregation}")
    return TableBox(
        **common(element),
        policy=policy,
        inputs=tuple(map(_input, children(element, "input"))),
        outputs=tuple(_output(output, element) for output in children(element, "output")),
        rules=tuple(_rule(rule, index) for index, rule in enumerate(children(element, "rule"))),
    )


def _cell(element: Element) -> Cell:
    return Cell(text_of(element), line_of(element), element.get("expressionLanguage") or "")


def _input(element: Element) -> InputClause:
    expression = first(element, "inputExpression")
    label = element.get("label") or ""
    cell = _cell(expression) if expression is not None else Cell("", line_of(element), "")
    if not cell.text:
        cell = cell._replace(text=label)
    type_ref = (expression.get("typeRef") or "") if expression is not None else ""
    return InputClause(label or cell.text, cell, type_ref, text_of(first(element, "inputValues")))


def _output(element: Element, table: Element) -> OutputClause:
    default, values = first(element, "defaultOutputEntry"), first(element, "outputValues")
    return OutputClause(
        (element.get("name") or element.get("label") or table.get("outputLabel") or "").strip(),
        element.get("typeRef") or "",
        _cell(values) if values is not None else Cell("", 0, ""),
        _cell(default) if default is not None and text_of(default) else None,
        line_of(element),
    )


def _rule(element: Element, index: int) -> Rule:
    note = first(element, "description")
    if note is None:
        note = first(element, "annotationEntry")
    return Rule(
        element.get("id") or str(index + 1),
        content_of(note),
        tuple(map(_cell, children(element, "inputEntry"))),
        tuple(map(_cell, children(element, "outputEntry"))),
        line_of(element),
    )


# ---- compiling -------------------------------------------------------------------------------------------------------


class _Input(NamedTuple):
    name: str
    read: Value
    coerce: Coerce | None
    allowed: Test | None
    spot: Spot
    typed: bool  # its texts are texts, whatever they look like


class _Output(NamedTuple):
    name: str
    coerce: Coerce | None
    allowed: Test | None
    spot: Spot


class _Row(NamedTuple):
    id: str
    name: str
    tests: tuple[tuple[int, Test, Spot], ...]  # by column; those that take everything are left out
    values: tuple[Value, ...]


def compile(box: TableBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    maker = _Maker(box, compiler, names, spot.inner("decision table", "table", box.line))
    if not maker.is_sound():
        return maker.hindered
    return _Table(box.policy, maker).evaluate


class _Maker:
    """Makes the closures of one table."""

    def __init__(self, box: TableBox, compiler: Compiler, names: Names, spot: Spot) -> None:
        self.box, self.compiler, self.names, self.spot = box, compiler, names, spot
        self.hindrance = ("", "", spot)  # the code, message and place of what hinders

    def hindered(self, scope: Scope, run: Run) -> Any:
        """The value of a table that is not sound."""
        code, message, spot = self.hindrance
        return run.note(spot, code, message)

    def is_sound(self) -> bool:
        """Whether there is a table to decide with: what hinders is a finding."""
        box, policy = self.box, self.box.policy
        if policy not in POLICIES.values():
            known = ", ".join(POLICIES.values())
            self._error("hit_policy", f"There is no hit policy «{policy}».", f"Known are {known}.")
        elif policy in AGGREGATES and len(box.outputs) != 1:
            message = f"«{policy}» makes one value of one output; the table has {len(box.outputs)}."
            self._error("hit_policy", message, "Keep one output, or use C.")
        elif policy in RANKED and not any(output.values.text for output in box.outputs):
            message = f"«{policy}» needs to know the order of the outputs."
            self._error("hit_policy", message, "List the values of an output, the most important first.")
        elif not box.outputs:
            self._error("missing_field", "The table has no output.", "Give it one.")
        elif len(box.outputs) > 1 and not all(output.name for output in box.outputs):
            self._error("missing_field", "An output has no name.", "Name every output where there are several.")
        elif all(map(self._has_width, range(len(box.rules)))):
            return True
        return False

    def _has_width(self, index: int) -> bool:
        rule, box = self.box.rules[index], self.box
        for cells, columns, name in ((rule.when, box.inputs, "input"), (rule.then, box.outputs, "output")):
            if len(cells) != len(columns):
                message = f"The rule «{rule.id}» has {len(cells)} {name} entries, the table {len(columns)}."
                inner = self.spot.inner(f"rule «{rule.id}»", f"rules/{index}", rule.line)
                self._error("table_width", message, "Write one entry for every column; - takes all.", inner)
                return False
        return True

    def _error(self, rule: str, message: str, hint: str, spot: Spot | None = None) -> None:
        self.hindrance = (rule, message, spot or self.spot)
        self.compiler.error(rule, message, spot or self.spot, hint)

    def inputs(self) -> list[_Input]:
        made = []
        for index, clause in enumerate(self.box.inputs):
            spot = self.spot.inner(f"input «{clause.label}»", f"inputs/{index}", clause.expression.line)
            allowed = self.compiler.tests(clause.values, self.names, spot) if clause.values else None
            made.append(
                _Input(
                    clause.label,
                    self._text(clause.expression, spot),
                    self._coerce(clause.type_ref, spot),
                    allowed,
                    spot,
                    self._is_typed(clause, spot),
                )
            )
        return made

    def _is_typed(self, clause: InputClause, spot: Spot) -> bool:
        return self._coerce(clause.type_ref, spot) is not None or self.compiler.declares(clause.expression.text)

    def outputs(self) -> list[_Output]:
        made = []
        for index, clause in enumerate(self.box.outputs):
            spot = self.spot.inner(
                f"output «{clause.name}»" if clause.name else "output", f"outputs/{index}", clause.line
            )
            allowed = self.compiler.tests(clause.values.text, self.names, spot) if clause.values.text else None
            made.append(_Output(clause.name, self._coerce(clause.type_ref, spot), allowed, spot))
        return made

    def ranks(self) -> list[Value]:
        """The values of every output as a list, where their order matters."""
        if self.box.policy not in RANKED:
            return []
        ranks = []
        for index, clause in enumerate(self.box.outputs):
            spot = self.spot.inner(f"output «{clause.name}»", f"outputs/{index}", clause.values.line)
            ranks.append(self.compiler.text(f"[{clause.values.text}]", self.names, spot))
        return ranks

    def defaults(self) -> list[Value] | None:
        if not any(clause.default for clause in self.box.outputs):
            return None
        return [
            self._text(clause.default, self.spot.inner("default output", f"outputs/{index}/default", clause.line))
            if clause.default
            else null
            for index, clause in enumerate(self.box.outputs)
        ]

    def rows(self) -> list[_Row]:
        return [self._row(index, rule) for index, rule in enumerate(self.box.rules)]

    def _row(self, index: int, rule: Rule) -> _Row:
        tests, values = [], []
        for column, cell in enumerate(rule.when):
            part = f"rule «{rule.id}», input «{self.box.inputs[column].label}»"
            spot = self.spot.inner(part, f"rules/{index}/when/{column}", cell.line)
            if self._is_ours(cell, spot) and (test := self._tests(cell, column, spot)) is not None:
                tests.append((column, test, spot))
        for column, cell in enumerate(rule.then):
            part = f"rule «{rule.id}», output «{self.box.outputs[column].name or column + 1}»"
            values.append(self._text(cell, self.spot.inner(part, f"rules/{index}/then/{column}", cell.line)))
        return _Row(rule.id, rule.name, tuple(tests), tuple(values))

    def _tests(self, cell: Cell, column: int, spot: Spot) -> Test | None:
        type = self.compiler.type(self.box.inputs[column].type_ref, spot)
        return self.compiler.tests(cell.text, self.names, spot, type)

    def _is_ours(self, cell: Cell, spot: Spot) -> bool:
        if is_foreign(cell.language):
            message = f"«{cell.language}» is an expression language that is not read."
            self.compiler.error("dmn_part", message, spot, "Write it in FEEL.")
            return False
        return True

    def _text(self, cell: Cell, spot: Spot) -> Value:
        if not cell.text or not self._is_ours(cell, spot):
            return null
        return self.compiler.text(cell.text, self.names, spot)

    def _coerce(self, type_ref: str, spot: Spot) -> Coerce | None:
        return self.compiler.coerce(type_ref, spot)


class _Table:
    """A compiled table."""

    def __init__(self, policy: str, maker: _Maker) -> None:
        self.policy, self.spot = policy, maker.spot
        self.inputs, self.outputs, self.rows = maker.inputs(), maker.outputs(), maker.rows()
        self.ranks, self.defaults = maker.ranks(), maker.defaults()
        self.names = [output.name for output in self.outputs]

    def evaluate(self, scope: Scope, run: Run) -> Any:
        given = []
        for clause in self.inputs:
            value = clause.read(scope, run)
            if clause.coerce is not None:
                value = clause.coerce(value, run)
            if clause.allowed is not None and not _allows(clause.allowed, value, scope, run, clause.spot):
                message = f"{run.shown(value)} is not among the values that «{clause.name}» takes."
                return run.note(clause.spot, "input_not_allowed", message)
            given.append(value)
        hits = self._hits(given, scope, run)
        try:
            if hits:
                ranks = [values(scope, run) or [] for values in self.ranks]
                settled = settle(self.policy, hits, lambda row: self._valued(row.values, scope, run), self.names, ranks)
            else:
                defaults = self.defaults
                settled = settle_none(
                    self.policy, None if defaults is None else lambda: self._valued(defaults, scope, run), self.names
                )
        except TableConflict as wrong:
            return run.note(self.spot, "table_conflict", f"In this table {wrong}.")
        run.hit(self.spot, settled)
        if settled.value is None and hits and self.policy in _WANTED:
            lines = ", ".join(line.id for line in hits[:20])
            return run.note(self.spot, "table_aggregate", f"The outputs of {lines} have no {_WANTED[self.policy]}.")
        return settled.value

    def _hits(self, given: list[Any], scope: Scope, run: Run) -> list[_Row]:
        hits: list[_Row] = []
        outer = run.spot
        run.step(len(self.rows))
        moments = [
            value if clause.typed else run.moment(value) for clause, value in zip(self.inputs, given, strict=True)
        ]
        for row in self.rows:
            for column, test, run.spot in row.tests:
                value, moment = given[column], moments[column]
                if moment is value:
                    if test(value, scope, run) is not True:
                        break
                elif tested_with_moment(test, value, moment, scope, run) is not True:
                    break
            else:
                hits.append(row)
                if self.policy == "F":
                    break
        run.spot = outer
        return hits

    def _valued(self, values: Sequence[Value], scope: Scope, run: Run) -> list[Any]:
        row = []
        for value, output in zip(values, self.outputs, strict=True):
            result = value(scope, run)
            if output.coerce is not None:
                result = output.coerce(result, run)
            allowed = output.allowed
            if result is not None and allowed is not None and not _allows(allowed, result, scope, run, output.spot):
                message = f"{run.shown(result)} is not among the values of the output."
                result = run.note(output.spot, "output_not_allowed", message)
            row.append(result)
        return row


def _allows(test: Test, value: Any, scope: Scope, run: Run, spot: Spot) -> bool:
    outer, run.spot = run.spot, spot
    truth = test(value, scope, run)
    run.spot = outer
    return truth is True
