"""Decisions that need each other's results (a small DRG), each decided once, after those that it requires."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from penstock.errors import ExprSyntaxError
from penstock.executors.parts.rules.dmn.pack_form import ModelDecisions, compile_model
from penstock.executors.parts.rules.expressions import ExpressionCompiler
from penstock.executors.parts.rules.feel_texts import FeelValue, compile_value, plain, reading
from penstock.executors.parts.rules.hit_policy import TableResult
from penstock.executors.parts.rules.pack import Pack, SubDecision, read_table
from penstock.executors.parts.rules.plain_types import plain_type
from penstock.executors.parts.rules.table import CompiledTable, compile_table, fitting
from penstock.feel import coerced, from_python
from penstock.feel.evaluation import Exceeded, Fault
from penstock.feel.types import ANY, Type
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean

FEEL_HINT = "docs/reference/feel.md says how FEEL is written; or make it a table."


class CompiledDecision(NamedTuple):
    """One compiled decision."""

    id: str
    variable: str
    decide: Callable[[Mapping[str, Any]], TableResult]
    size: int = 1  # conditions
    type: Type = ANY  # of its result

    def typed(self, result: TableResult) -> TableResult:
        """The result as its type has it; DMN: what is not of the type is null."""
        if self.type == ANY:
            return result
        try:
            value = coerced(from_python(result.value), self.type)
        except Fault:
            return TableResult(None, result.lines, [])
        return result if value is result.value else _valued(value)._replace(lines=result.lines)


class Decisions:
    """All decisions in the order in which they are made; the last one is judged."""

    def __init__(
        self, order: list[CompiledDecision], inputs: Mapping[str, Type] | None = None, *, in_feel: bool = False
    ) -> None:
        """`inputs` say what the data's fields are; `in_feel`: every text is FEEL, so that inputs and results stay dates
        and decimals for those that require them."""
        self.order, self.in_feel = order, in_feel
        self.inputs = [(name, type) for name, type in (inputs or {}).items() if type != ANY]
        self.size = sum(decision.size for decision in order)

    def decide(self, view: dict[str, Any]) -> tuple[TableResult, list[str]]:
        """The last decision's result, and the lines that hit anywhere. The results are put into the view."""
        matched: list[str] = []
        result = TableResult(None, [], [])
        alone = len(self.order) == 1
        for name, type in self.inputs:
            if name in view:
                value = fitting(type, from_python(view[name]), name)
                view[name] = value if self.in_feel else plain(value, name)
        for decision in self.order:
            result = decision.typed(decision.decide(view))
            shown = result._replace(value=plain(result.value, decision.id), records=plain(result.records, decision.id))
            view[decision.variable] = result.value if self.in_feel else shown.value
            matched += [line.id if alone else f"{decision.id}.{line.id}" for line in result.lines]
            result = shown
        return result, matched


def compile_decisions(pack: Pack, texts: ExpressionCompiler, report: Report) -> Decisions | ModelDecisions:
    """The pack's DMN model, table or decisions; what is wrong is in the report."""
    if pack.dmn is not None:
        model = compile_model(pack.dmn, pack.result)
        report.findings += model.findings
        texts.reads |= model.reads
        return model.decisions if model.decisions is not None else Decisions([])
    names = {
        *pack.names,
        *(decision.variable or decision.name or decision.id for decision in pack.decisions),
        *pack.variables,
    }
    inputs = {name: _type(type, child_pointer("/types", name), report) for name, type in pack.types.items()}
    if pack.table is not None:
        grid = compile_table(read_table(pack.table, "/table", report, ""), "/table", report, names)
        alone = [CompiledDecision("table", "table", grid.decide, grid.size)]
        return Decisions(alone, inputs, in_feel=pack.table.get("language") == "feel")
    made = {
        decision.id: _compile_decision(decision, index, texts, report, names)
        for index, decision in enumerate(pack.decisions)
    }
    order = _order(pack, report)
    languages = {(decision.table or {}).get("language", decision.language) for decision in pack.decisions}
    return Decisions([made[id] for id in order], inputs, in_feel=languages == {"feel"})


def _type(type: Any, at: str, report: Report) -> Type:
    try:
        return plain_type(type)
    except ExprSyntaxError as wrong:
        report.error("expression", str(wrong), at, hint=wrong.hint)
        return ANY


def _compile_decision(
    decision: SubDecision, index: int, texts: ExpressionCompiler, report: Report, names: Collection[str]
) -> CompiledDecision:
    at, variable = f"/decisions/{index}", decision.variable or decision.name or decision.id
    type = _type(decision.type, child_pointer(at, "type"), report) if decision.type else ANY
    if (decision.table is None) == (not decision.expression):
        message = f"The decision «{decision.id}» is a table or an expression."
        report.error(
            "missing_field", message, at, node=decision.id, hint="Write `table: …` or `expression: …`, not both."
        )
        return CompiledDecision(decision.id, variable, _nothing)
    if decision.table is not None:
        table = read_table(decision.table, child_pointer(at, "table"), report, decision.id)
        grid: CompiledTable = compile_table(table, child_pointer(at, "table"), report, names, decision.id)
        return CompiledDecision(decision.id, variable, grid.decide, grid.size, type)
    spot = child_pointer(at, "expression")
    if decision.language == "feel":
        try:
            value = compile_value(decision.expression, names)
        except ExprSyntaxError as wrong:
            report.error("expression", str(wrong), spot, node=decision.id, hint=FEEL_HINT)
            return CompiledDecision(decision.id, variable, _nothing)
        return CompiledDecision(decision.id, variable, lambda view: _in_feel(value, view), 1, type)
    expression = texts.expression(decision.expression, spot, decision.id)
    if expression is None:
        return CompiledDecision(decision.id, variable, _nothing)
    run = expression.run
    return CompiledDecision(decision.id, variable, lambda view: _valued(run(view)))


def _in_feel(text: FeelValue, view: Mapping[str, Any]) -> TableResult:
    row = reading(view, text.names)
    try:
        return _valued(text.value(row))
    except (Exceeded, RecursionError) as error:
        raise row.run.limit(error) from None


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
