"""Several decisions that need each other's results (a small DRG): each is made once, after what it requires."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from penstock.errors import ExprSyntaxError
from penstock.executors.parts.rules.feel import compile_value
from penstock.executors.parts.rules.feel_values import plain
from penstock.executors.parts.rules.names import Texts
from penstock.executors.parts.rules.pack import Pack, SubDecision, read_table
from penstock.executors.parts.rules.table import Found, Grid, compile_table
from penstock.lang.document import child_pointer
from penstock.lang.report import Report, did_you_mean


class Made(NamedTuple):
    """One compiled decision."""

    id: str
    variable: str
    decide: Callable[[Mapping[str, Any]], Found]
    size: int = 1  # conditions


class Decisions:
    """All decisions in the order in which they are made; the last one is judged."""

    def __init__(self, order: list[Made]) -> None:
        self.order = order
        self.size = sum(one.size for one in order)

    def decide(self, view: dict[str, Any]) -> tuple[Found, list[str]]:
        """The last decision's result, and the lines that hit anywhere. The results are put into the view."""
        matched: list[str] = []
        found = Found(None, [], [])
        alone = len(self.order) == 1
        for one in self.order:
            found = one.decide(view)
            view[one.variable] = found.value
            matched += [line.id if alone else f"{one.id}.{line.id}" for line in found.lines]
        return found, matched


def compile_decisions(pack: Pack, texts: Texts, report: Report) -> Decisions:
    """The pack's table or decisions; what is wrong is in the report."""
    names = {*pack.names, *(one.variable or one.name or one.id for one in pack.decisions), *pack.variables}
    if pack.table is not None:
        grid = compile_table(read_table(pack.table, "/table", report, ""), "/table", report, names)
        return Decisions([Made("table", "table", grid.decide, grid.size)])
    made = {one.id: _made(one, index, texts, report, names) for index, one in enumerate(pack.decisions)}
    return Decisions([made[id] for id in _order(pack, report)])


def _made(one: SubDecision, index: int, texts: Texts, report: Report, names: Collection[str]) -> Made:
    at, variable = f"/decisions/{index}", one.variable or one.name or one.id
    if (one.table is None) == (not one.expression):
        message = f"The decision «{one.id}» is a table or an expression."
        report.error("missing_field", message, at, node=one.id, hint="Write `table: …` or `expression: …`, not both.")
        return Made(one.id, variable, _nothing)
    if one.table is not None:
        table = read_table(one.table, child_pointer(at, "table"), report, one.id)
        grid: Grid = compile_table(table, child_pointer(at, "table"), report, names, one.id)
        return Made(one.id, variable, grid.decide, grid.size)
    spot = child_pointer(at, "expression")
    if one.language == "feel":
        try:
            value = compile_value(one.expression, names)
        except ExprSyntaxError as wrong:
            report.error("expression", str(wrong), spot, node=one.id, hint="Simple FEEL expressions are read here.")
            return Made(one.id, variable, _nothing)
        return Made(one.id, variable, lambda view: _valued(plain(value(view))))
    found = texts.expression(one.expression, spot, one.id)
    if found is None:
        return Made(one.id, variable, _nothing)
    run = found.run
    return Made(one.id, variable, lambda view: _valued(run(view)))


def _valued(value: Any) -> Found:
    return Found(value, [], [] if value is None else value if isinstance(value, list) else [value])


def _nothing(view: Mapping[str, Any]) -> Found:
    return Found(None, [], [])


def _order(pack: Pack, report: Report) -> list[str]:
    """The ids of what the result needs, each after what it requires, and the result last."""
    requires: dict[str, list[str]] = {}
    for index, one in enumerate(pack.decisions):
        for place, name in enumerate(one.requires):
            if not any(name == other.id for other in pack.decisions):
                hint = did_you_mean(name, [other.id for other in pack.decisions], "Correct its id.")
                spot = f"/decisions/{index}/requires/{place}"
                report.error("decision_unknown", f"There is no decision «{name}».", spot, node=one.id, hint=hint)
        requires[one.id] = [name for name in one.requires if any(name == other.id for other in pack.decisions)]
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
