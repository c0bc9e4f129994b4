"""The decision tables of rule packs: columns in our own expressions or in FEEL, cells that are FEEL unary tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from penstock.errors import ExprError, ExprSyntaxError
from penstock.executors.parts.rules.dmn.compiler import misfit
from penstock.executors.parts.rules.feel_texts import Cell, Reading, Value, compile_test, compile_value, reading
from penstock.executors.parts.rules.hit_policy import (
    AGGREGATES,
    POLICIES,
    RANKED,
    NotAllowed,
    TableResult,
    settle,
    settle_none,
)
from penstock.executors.parts.rules.pack import Column, Table
from penstock.executors.parts.rules.plain_types import plain_type
from penstock.expr import compile_expression, compile_template
from penstock.feel import from_python
from penstock.feel.evaluation import Exceeded, Fault
from penstock.feel.types import ANY, Type, coerced
from penstock.feel.values.compare import equal
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

View = Mapping[str, Any]


class CompiledRow(NamedTuple):
    id: str
    name: str
    tests: tuple[tuple[int, Cell], ...]  # (column, test); columns that take everything are left out
    values: tuple[Value, ...]


class CompiledTable:
    """A table, compiled."""

    def __init__(self, policy: str, maker: _TableCompiler) -> None:
        table = maker.table
        self.policy, self.names = policy, [output.name for output in table.outputs]
        self.inputs = [maker.input(column, index) for index, column in enumerate(table.inputs)]
        self.allowed = maker.allowed()
        self.types = maker.types()
        self.lines = [maker.line(index) for index in range(len(table.rules))]
        self.default = maker.default()
        self.ranks = [[from_python(value) for value in output.values] for output in table.outputs]
        self.reads = frozenset(maker.reads)
        self.size = sum(len(line.tests) for line in self.lines)

    def decide(self, view: View) -> TableResult:
        """Raises TableConflict, NotAllowed and FeelLimit."""
        row = reading(view, self.reads)
        try:
            return self._decide(row)
        except (Exceeded, RecursionError) as error:
            raise row.run.limit(error) from None

    def _decide(self, row: Reading) -> TableResult:
        given = [from_python(read(row)) for read in self.inputs]
        for column, name, type in self.types:
            given[column] = fitting(type, given[column], name)
        for column, name, test in self.allowed:
            if test(row, given[column]) is not True:
                raise NotAllowed(f"{row.run.shown(given[column])} is not among the values that «{name}» takes")
        hits = self._hits(row, given)
        if hits:
            return settle(
                self.policy,
                hits,
                lambda line: [from_python(value(row)) for value in line.values],
                self.names,
                self.ranks,
            )
        default = self.default
        valued = None if default is None else lambda: [from_python(value(row)) for value in default]
        return settle_none(self.policy, valued, self.names)

    def _hits(self, row: Reading, given: list[Any]) -> list[CompiledRow]:
        hits: list[CompiledRow] = []
        stop = self.policy == "F"
        for line in self.lines:
            for column, test in line.tests:
                if test(row, given[column]) is not True:
                    break
            else:
                hits.append(line)
                if stop:
                    break
        return hits


def fitting(type: Type, value: Any, name: str) -> Any:
    """A value of the data as its type has it; NotAllowed says what it is instead. Null stays null."""
    value = type.read(value)
    try:
        return coerced(value, type)
    except Fault:
        raise NotAllowed(f"«{name}»: {misfit(value, type)}") from None


# ---- compiling -------------------------------------------------------------------------------------------------------


def compile_table(table: Table, at: str, report: Report, names: Collection[str], node: str = "") -> CompiledTable:
    """The table, ready to decide. `names` are those that FEEL texts may read and that may hold spaces."""
    maker = _TableCompiler(table, at, report, names, node)
    policy = maker.policy()
    for index, output in enumerate(table.outputs):
        if not output.name and len(table.outputs) > 1:
            hint = "Write `name: …` here."
            report.error("missing_field", "«name» is missing.", maker.spot("outputs", index), node=node, hint=hint)
    return CompiledTable(policy, maker)


class _TableCompiler:
    """Makes the closures of one table; what cannot be read is told, and takes nothing."""

    def __init__(self, table: Table, at: str, report: Report, names: Collection[str], node: str) -> None:
        self.table, self.at, self.report, self.names, self.node = table, at, report, names, node
        self.reads: set[str] = set()  # what FEEL texts read

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
        if policy in AGGREGATES and len(self.table.outputs) != 1:
            message = f"«{policy}» makes one value of one output; the table has {len(self.table.outputs)}."
            self.report.error("hit_policy", message, spot, node=self.node, hint="Keep one output, or use C.")
        if policy in RANKED and not any(output.values for output in self.table.outputs):
            message = f"«{policy}» needs to know the order of the outputs."
            hint = "List the `values` of an output, the most important first."
            self.report.error("hit_policy", message, spot, node=self.node, hint=hint)
        return policy

    def input(self, column: Column, index: int) -> Value:
        spot = child_pointer(self.spot("inputs", index), "expression")
        text = column.expression or column.name
        if not text.strip():
            hint = "Write `expression: …`, the value that this column tests."
            self.report.error("missing_field", "«expression» is missing.", spot, node=self.node, hint=hint)
            return _null
        if self.table.language == "feel":
            return self._compiled(lambda: self._feel(text), spot)
        return self._compiled(lambda: _over_view(compile_expression(text).run), spot)

    def allowed(self) -> list[tuple[int, str, Cell]]:
        return [
            (index, column.name or column.expression, test)
            for index, column in enumerate(self.table.inputs)
            if (test := self.test(column.values, child_pointer(self.spot("inputs", index), "values"), column))
            is not None
        ]

    def types(self) -> list[tuple[int, str, Type]]:
        """What the columns are; those of our own expressions are read only where JSON has no such kind."""
        types = []
        for index, column in enumerate(self.table.inputs):
            type = self._type(column, child_pointer(self.spot("inputs", index), "type"))
            if type != ANY and (self.table.language == "feel" or _is_temporal(type)):
                types.append((index, column.name or column.expression, type))
        return types

    def _type(self, column: Column, spot: str = "") -> Type:
        try:
            return plain_type(column.type)
        except ExprSyntaxError as wrong:
            if spot:
                self._report(wrong, spot, "", wrong.hint)
            return ANY

    def default(self) -> list[Value] | None:
        if all(output.default is None for output in self.table.outputs):
            return None
        return [
            self.value(output.default, child_pointer(self.spot("outputs", index), "default"))
            for index, output in enumerate(self.table.outputs)
        ]

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
                test = compile_test(cell, self.names, self._type(column))
            except ExprSyntaxError as wrong:
                self._report(wrong, spot, node, 'A cell holds unary tests: <5, [1..3), "a","b", not(…) or -.')
                return None
            if test is None:
                return None
            self.reads.update(test.names)
            return test.test
        wanted = from_python(cell)
        return lambda row, value: equal(value, wanted)

    def value(self, cell: Any, spot: str, node: str = "") -> Value:
        if isinstance(cell, str):
            if self.table.language == "feel":
                return self._compiled(lambda: self._feel(cell), spot, node) if cell.strip() else _null
            return self._compiled(lambda: _over_view(compile_template(cell).run), spot, node)
        return lambda row: cell

    def _feel(self, text: str) -> Value:
        compiled = compile_value(text, self.names)
        self.reads.update(compiled.names)
        return compiled.value

    def _compiled(self, make: Callable[[], Value], spot: str, node: str = "") -> Value:
        try:
            return make()
        except (ExprSyntaxError, ExprError) as wrong:
            hint = "docs/reference/feel.md says how FEEL is written." if self.table.language == "feel" else wrong.hint
            self._report(wrong, spot, node, hint)
            return _null

    def _report(self, wrong: ExprSyntaxError | ExprError, spot: str, node: str, hint: str) -> None:
        self.report.error("expression", str(wrong), spot, node=node or self.node, hint=hint)


def _over_view(run: Callable[[View], Any]) -> Value:
    return lambda row: run(row.view)


def _is_temporal(type: Type) -> bool:
    return str(type).partition(" (")[0] in (
        "date", "time", "date and time", "duration", "days and time duration", "years and months duration"
    )  # fmt: skip


def _null(row: Reading) -> Any:
    return None
