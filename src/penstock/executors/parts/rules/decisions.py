"""Decisions that need each other's results (a small DRG), each decided once, after those that it requires."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from penstock.errors import ExprNotSupported, ExprSyntaxError
from penstock.executors.parts.rules.expressions import ExpressionCompiler
from penstock.executors.parts.rules.feel import NotSupported, compile_value
from penstock.executors.parts.rules.feel.types import Convert, Type, Unfit, converter
from penstock.executors.parts.rules.feel.values import plain
from penstock.executors.parts.rules.pack import Pack, SubDecision, read_table
from penstock.executors.parts.rules.table import CompiledTable, NotAllowed, TableResult, compile_table
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

FEEL_HINT = "Write it with what docs/reference/feel.md lists, or as a table."


class CompiledDecision(NamedTuple):
    """One compiled decision."""

    id: str
    variable: str
    decide: Callable[[Mapping[str, Any]], TableResult]
    size: int = 1  # conditions
    convert: Convert | None = None  # to the type of its result

    def typed(self, result: TableResult) -> TableResult:
        """The result as its type has it; DMN: what is not of the type is null."""
        if self.convert is None:
            return result
        try:
            value = self.convert(result.value)
        except Unfit:
            return TableResult(None, result.lines, [])
        return result if value is result.value else _valued(value)._replace(lines=result.lines)

    def plain(self, result: TableResult) -> TableResult:
        try:
            return result._replace(value=plain(result.value), records=plain(result.records))
        except NotSupported as refusal:
            raise ExprNotSupported(why=str(refusal), expression=self.id) from None


class Decisions:
    """All decisions in the order in which they are made; the last one is judged."""

    def __init__(
        self, order: list[CompiledDecision], inputs: Mapping[str, Convert] | None = None, *, keeps_moments: bool = False
    ) -> None:
        """`inputs` read the data's fields as what they are; `keeps_moments`: every text is FEEL, so that results stay
        dates and decimals for those that require them."""
        self.order, self.inputs, self.keeps_moments = order, list((inputs or {}).items()), keeps_moments
        self.size = sum(decision.size for decision in order)

    def decide(self, view: dict[str, Any]) -> tuple[TableResult, list[str]]:
        """The last decision's result, and the lines that hit anywhere. The results are put into the view."""
        matched: list[str] = []
        result = TableResult(None, [], [])
        alone = len(self.order) == 1
        for name, convert in self.inputs:
            if name in view:
                try:
                    view[name] = convert(view[name])
                except Unfit as wrong:
                    raise NotAllowed(f"«{name}»: {wrong}") from None
        for decision in self.order:
            result = decision.typed(decision.decide(view))
            plainly = decision.plain(result)
            view[decision.variable] = result.value if self.keeps_moments else plainly.value
            matched += [line.id if alone else f"{decision.id}.{line.id}" for line in result.lines]
            result = plainly
        return result, matched


def compile_decisions(pack: Pack, texts: ExpressionCompiler, report: Report) -> Decisions:
    """The pack's table or decisions; what is wrong is in the report."""
    names = {
        *pack.names,
        *(decision.variable or decision.name or decision.id for decision in pack.decisions),
        *pack.variables,
    }
    inputs = {name: _converter(type, child_pointer("/types", name), report) for name, type in pack.types.items()}
    if pack.table is not None:
        grid = compile_table(read_table(pack.table, "/table", report, ""), "/table", report, names)
        return Decisions([CompiledDecision("table", "table", grid.decide, grid.size)], inputs)
    made = {
        decision.id: _compile_decision(decision, index, texts, report, names)
        for index, decision in enumerate(pack.decisions)
    }
    order = _order(pack, report)
    languages = {(decision.table or {}).get("language", decision.language) for decision in pack.decisions}
    return Decisions([made[id] for id in order], inputs, keeps_moments=languages == {"feel"})


def _converter(type: Type, at: str, report: Report, *, whole: bool = False) -> Convert:
    try:
        return converter(type, whole=whole)
    except ExprSyntaxError as wrong:
        report.error("expression", str(wrong), at, hint=wrong.hint)
        return lambda value: value


def _compile_decision(
    decision: SubDecision, index: int, texts: ExpressionCompiler, report: Report, names: Collection[str]
) -> CompiledDecision:
    at, variable = f"/decisions/{index}", decision.variable or decision.name or decision.id
    convert = _converter(decision.type, child_pointer(at, "type"), report, whole=True) if decision.type else None
    if (decision.table is None) == (not decision.expression):
        message = f"The decision «{decision.id}» is a table or an expression."
        report.error(
            "missing_field", message, at, node=decision.id, hint="Write `table: …` or `expression: …`, not both."
        )
        return CompiledDecision(decision.id, variable, _nothing)
    if decision.table is not None:
        table = read_table(decision.table, child_pointer(at, "table"), report, decision.id)
        grid: CompiledTable = compile_table(table, child_pointer(at, "table"), report, names, decision.id)
        return CompiledDecision(decision.id, variable, grid.decide, grid.size, convert)
    spot = child_pointer(at, "expression")
    if decision.language == "feel":
        try:
            value = compile_value(decision.expression, names)
        except ExprSyntaxError as wrong:
            report.error("expression", str(wrong), spot, node=decision.id, hint=FEEL_HINT)
            return CompiledDecision(decision.id, variable, _nothing)
        return CompiledDecision(decision.id, variable, lambda view: _valued(value(view)), 1, convert)
    expression = texts.expression(decision.expression, spot, decision.id)
    if expression is None:
        return CompiledDecision(decision.id, variable, _nothing)
    run = expression.run
    return CompiledDecision(decision.id, variable, lambda view: _valued(run(view)))


def _valued(value: Any) -> TableResult:
    return TableResult(value, [], [] if value is None else value if isinstance(value, list) else [value])


def _nothing(view: Mapping[str, Any]) -> TableResult:
    return TableResult(None, [], [])


def _order(pack: Pack, report: Report) -> list[str]:
    """The ids of what the result needs, each after what it requires, and the result last."""
    requires: dict[str, list[str]] = {}
    for index, decision in enumerate(pack.decisions):
        for place, name in enumerate(decision.requires):
            if not any(name == other.id for other in pack.decisions):
                hint = did_you_mean(name, [other.id for other in pack.decisions], "Correct its id.")
                spot = f"/decisions/{index}/requires/{place}"
                report.error("decision_unknown", f"There is no decision «{name}».", spot, node=decision.id, hint=hint)
        requires[decision.id] = [
            name for name in decision.requires if any(name == other.id for other in pack.decisions)
        ]
    try:
        order = list(TopologicalSorter(requires).static_order())
    except CycleError as ring:
        shown = " → ".join(reversed(ring.args[1]))
        message, hint = f"These decisions require each other: {shown}.", "A decision may not need its own result."
        report.error("decision_cycle", message, "/decisions", node=ring.args[1][0], hint=hint)
        return []
    result = _result(pack, requires, report)
    if result is None:
        return []
    needed, left = {result}, [result]
    while left:
        for name in requires[left.pop()]:
            if name not in needed:
                needed.add(name)
                left.append(name)
    return [id for id in order if id in needed and id != result] + [result]


def _result(pack: Pack, requires: Mapping[str, list[str]], report: Report) -> str | None:
    if pack.result:
        if pack.result in requires:
            return pack.result
        hint = did_you_mean(pack.result, list(requires), "Correct its id.")
        report.error("decision_unknown", f"There is no decision «{pack.result}».", "/result", hint=hint)
        return None
    used = {name for names in requires.values() for name in names}
    last = [id for id in requires if id not in used]
    if len(last) == 1:
        return last[0]
    message = f"{', '.join(last)}: none of them is required by another, so it is not clear which is the result."
    report.error("decision_unknown", message, "/decisions", hint="Write `result: …` with the id of one.")
    return None
