"""Decision tables: which lines hit, and what a hit policy makes of them (DMN 1.3, section 8.2.8)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from penstock.errors import ExprError, ExprNotSupported, ExprSyntaxError
from penstock.executors.parts.rules.feel import NotSupported, compile_test, compile_value
from penstock.executors.parts.rules.feel.functions import extreme
from penstock.executors.parts.rules.feel.numbers import is_number, total
from penstock.executors.parts.rules.feel.temporal import TEMPORAL_TYPES
from penstock.executors.parts.rules.feel.types import Convert, Unfit, base_kind, converter
from penstock.executors.parts.rules.feel.values import equal
from penstock.executors.parts.rules.pack import Column, Output, Table
from penstock.expr import compile_expression, compile_template
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

View = Mapping[str, Any]
Closure = Callable[[View], Any]
Cell = Callable[[View, Any], Any]

POLICIES = {
    "UNIQUE": "U", "ANY": "A", "PRIORITY": "P", "FIRST": "F", "RULE ORDER": "R", "OUTPUT ORDER": "O", "COLLECT": "C",
    "COLLECT SUM": "C+", "COLLECT MIN": "C<", "COLLECT MAX": "C>", "COLLECT COUNT": "C#",
}  # fmt: skip
_MANY = frozenset("ROC")
_AGGREGATES = frozenset({"C+", "C<", "C>", "C#"})


class TableConflict(Exception):
    """Lines that may not hit together did; `lines` names them."""

    def __init__(self, why: str, lines: list[str]) -> None:
        self.lines = lines
        super().__init__(why)


class NotAllowed(Exception):
    """A value that an input column does not take."""


class CompiledRow(NamedTuple):
    id: str
    name: str
    tests: tuple[tuple[int, Cell], ...]  # (column, test); columns that take everything are left out
    values: tuple[Closure, ...]


class TableResult(NamedTuple):
    """The result as DMN has it (a value, an object of outputs, a list of either), and the lines that gave it. The
    values are FEEL's own until the last decision is made."""

    value: Any
    lines: list[CompiledRow]
    records: list[Any]  # what each of these lines says, in the same order; one for an aggregate


class CompiledTable:
    """A table, compiled."""

    def __init__(
        self,
        policy: str,
        inputs: list[Closure],
        allowed: list[tuple[int, str, Cell]],
        lines: list[CompiledRow],
        table: Table,
        types: list[tuple[int, str, Convert]],
        default: list[Closure] | None,
    ) -> None:
        self.policy, self.inputs, self.allowed, self.lines, self.types = policy, inputs, allowed, lines, types
        self.table, self.default = table, default
        self.outputs: list[Output] = table.outputs
        self.names = [output.name for output in table.outputs]
        self.size = sum(len(line.tests) for line in lines)

    def decide(self, view: View) -> TableResult:
        given = [read(view) for read in self.inputs]
        for column, name, convert in self.types:
            try:
                given[column] = convert(given[column])
            except Unfit as wrong:
                raise NotAllowed(f"«{name}»: {wrong}") from None
        for column, name, test in self.allowed:
            if test(view, given[column]) is not True:
                raise NotAllowed(f"{given[column]!r:.60} is not among the values that «{name}» takes")
        return self._settled(self._hits(view, given), view)

    def _hits(self, view: View, given: list[Any]) -> list[CompiledRow]:
        hits: list[CompiledRow] = []
        stop = self.policy == "F"
        try:
            for line in self.lines:
                for column, test in line.tests:
                    if test(view, given[column]) is not True:
                        break
                else:
                    hits.append(line)
                    if stop:
                        break
        except NotSupported as refusal:
            cell = self.table.rules[self.lines.index(line)].when[column]
            raise ExprNotSupported(why=f"{refusal} (line «{line.id}»)", expression=str(cell)) from None
        return hits

    def _settled(self, hits: list[CompiledRow], view: View) -> TableResult:
        policy = self.policy
        if not hits:
            return self._nothing(view)
        if policy == "U" and len(hits) > 1:
            ids = [line.id for line in hits]
            raise TableConflict(f"the lines {', '.join(ids)} hit together in a table where only one may", ids)
        rows = [[value(view) for value in line.values] for line in hits]
        if policy == "A" and any(not equal(row, rows[0]) for row in rows[1:]):
            ids = [line.id for line in hits]
            raise TableConflict(f"the lines {', '.join(ids)} hit together and say different things", ids)
        if policy in _AGGREGATES:
            value = self._aggregate([row[0] for row in rows])
            return TableResult(value, hits, [value])
        if policy in ("P", "O"):
            order = sorted(range(len(rows)), key=lambda index: self._rank(rows[index]))
            hits, rows = [hits[index] for index in order], [rows[index] for index in order]
        records = [self._record(row) for row in rows]
        if policy in _MANY:
            return TableResult(records, hits, records)
        return TableResult(records[0], hits[:1], records[:1])

    def _nothing(self, view: View) -> TableResult:
        if self.policy == "C#":
            return TableResult(0, [], [0])
        if self.default is not None:
            record = self._record([value(view) for value in self.default])
            return TableResult([record] if self.policy in _MANY else record, [], [record])
        return TableResult([] if self.policy in _MANY else None, [], [])

    def _record(self, row: list[Any]) -> Any:
        return row[0] if len(row) == 1 else dict(zip(self.names, row, strict=True))

    def _rank(self, row: list[Any]) -> tuple[int, ...]:
        """The place of every output among its values; what is not listed comes last."""
        ranks = []
        for output, value in zip(self.outputs, row, strict=True):
            places = (place for place, known in enumerate(output.values) if equal(known, value))
            ranks.append(next(places, len(output.values)))
        return tuple(ranks)

    def _aggregate(self, values: list[Any]) -> Any:
        if self.policy == "C#":
            return len(values)
        if self.policy == "C+":
            return total(values) if all(map(is_number, values)) else None
        return extreme(values, -1 if self.policy == "C<" else 1)


# ---- compiling -------------------------------------------------------------------------------------------------------


def compile_table(table: Table, at: str, report: Report, names: Collection[str], node: str = "") -> CompiledTable:
    """The table, ready to decide. `names` are those that FEEL texts may read and that may hold spaces."""
    maker = _TableCompiler(table, at, report, names, node)
    policy = maker.policy()
    inputs = [maker.input(column, index) for index, column in enumerate(table.inputs)]
    allowed = [
        (index, column.name or column.expression, test)
        for index, column in enumerate(table.inputs)
        if (test := maker.test(column.values, child_pointer(maker.spot("inputs", index), "values"), column)) is not None
    ]
    types = [
        (index, column.name or column.expression, converter(column.type))
        for index, column in enumerate(table.inputs)
        if column.type and (table.language == "feel" or base_kind(column.type) in TEMPORAL_TYPES)
    ]
    lines = [maker.line(index) for index in range(len(table.rules))]
    default = None
    if any(output.default is not None for output in table.outputs):
        default = [
            maker.value(output.default, child_pointer(maker.spot("outputs", index), "default"))
            for index, output in enumerate(table.outputs)
        ]
    for index, output in enumerate(table.outputs):
        if not output.name and len(table.outputs) > 1:
            hint = "Write `name: …` here."
            report.error("missing_field", "«name» is missing.", maker.spot("outputs", index), node=node, hint=hint)
    return CompiledTable(policy, inputs, allowed, lines, table, types, default)


class _TableCompiler:
    """Makes the closures of one table; what cannot be read is told, and takes nothing."""

    def __init__(self, table: Table, at: str, report: Report, names: Collection[str], node: str) -> None:
        self.table, self.at, self.report, self.names, self.node = table, at, report, names, node

    def spot(self, part: str, index: int) -> str:
        return child_pointer(child_pointer(self.at, part), index)

    def policy(self) -> str:
        written = self.table.hit_policy.strip().upper()
        policy = POLICIES.get(written, written)
        spot = child_pointer(self.at, "hit_policy")
        if policy not in POLICIES.values():
            known = [*POLICIES.values(), *POLICIES]
            hint = did_you_mean(written, known, f"Known are {', '.join(POLICIES.values())}.")
            message = f"There is no hit policy «{self.table.hit_policy}»."
            self.report.error("hit_policy", message, spot, node=self.node, hint=hint)
            return "U"
        if policy in _AGGREGATES and len(self.table.outputs) != 1:
            message = f"«{policy}» makes one value of one output; the table has {len(self.table.outputs)}."
            self.report.error("hit_policy", message, spot, node=self.node, hint="Keep one output, or use C.")
        if policy in ("P", "O") and not any(output.values for output in self.table.outputs):
            message = f"«{policy}» needs to know the order of the outputs."
            hint = "List the `values` of an output, the most important first."
            self.report.error("hit_policy", message, spot, node=self.node, hint=hint)
        return policy

    def input(self, column: Column, index: int) -> Closure:
        spot = child_pointer(self.spot("inputs", index), "expression")
        text = column.expression or column.name
        if not text.strip():
            hint = "Write `expression: …`, the value that this column tests."
            self.report.error("missing_field", "«expression» is missing.", spot, node=self.node, hint=hint)
            return _null
        if self.table.language == "feel":
            return self._compiled(lambda: compile_value(text, self.names), spot)
        return self._compiled(lambda: compile_expression(text).run, spot)

    def line(self, index: int) -> CompiledRow:
        line, spot = self.table.rules[index], self.spot("rules", index)
        id = line.id or str(index + 1)
        for name, wanted in (("when", self.table.inputs), ("then", self.table.outputs)):
            if len(getattr(line, name)) != len(wanted):
                count = len(getattr(line, name))
                message = f"The line «{id}» has {count} entries in «{name}», the table {len(wanted)}."
                hint = "Write one entry for every column; - takes everything."
                self.report.error("table_width", message, child_pointer(spot, name), node=id, hint=hint)
        tests = [
            (column, test)
            for column, cell in enumerate(line.when[: len(self.table.inputs)])
            if (test := self.test(cell, f"{spot}/when/{column}", self.table.inputs[column], id)) is not None
        ]
        values = [self.value(cell, f"{spot}/then/{column}", id) for column, cell in enumerate(line.then)]
        return CompiledRow(id, line.name, tuple(tests), tuple(values))

    def test(self, cell: Any, spot: str, column: Column, node: str = "") -> Cell | None:
        """A text is a unary test; a number, true or false is itself; nothing takes everything."""
        if cell is None:
            return None
        if isinstance(cell, str):
            try:
                return compile_test(cell, self.names, base_kind(column.type))
            except ExprSyntaxError as wrong:
                self._report(wrong, spot, node, 'A cell holds unary tests: <5, [1..3), "a","b", not(…) or -.')
                return None
        return lambda view, it: equal(it, cell)

    def value(self, cell: Any, spot: str, node: str = "") -> Closure:
        if isinstance(cell, str):
            if self.table.language == "feel":
                return self._compiled(lambda: compile_value(cell, self.names), spot, node) if cell.strip() else _null
            return self._compiled(lambda: compile_template(cell).run, spot, node)
        return lambda view: cell

    def _compiled(self, make: Callable[[], Closure], spot: str, node: str = "") -> Closure:
        try:
            return make()
        except (ExprSyntaxError, ExprError) as wrong:
            hint = "Write it with what docs/reference/feel.md lists." if self.table.language == "feel" else wrong.hint
            self._report(wrong, spot, node, hint)
            return _null

    def _report(self, wrong: ExprSyntaxError | ExprError, spot: str, node: str, hint: str) -> None:
        self.report.error("expression", str(wrong), spot, node=node or self.node, hint=hint)


def _null(view: View) -> Any:
    return None
