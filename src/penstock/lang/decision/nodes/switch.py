"""SWITCH (4.8): chooses which of its edges are taken."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.expr import compile_expression
from penstock.expr.limits import MAX_INTEGER, MAX_SOURCE
from penstock.lang.decision import limits
from penstock.lang.decision.expression_literals import expression_literal, list_literal
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import NodeFields, OpenFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.fragments import complete_fragment, net_node, report_unused_fields, single_node
from penstock.lang.decision.shapes import closed

#: C-13: the priority of a case that states none.
DEFAULT_PRIORITY = 1000


class SwitchCase(OpenFields):
    value: Any = None
    condition: str | None = None
    label: str = ""
    goto: str = ""
    priority: Annotated[int, Meta(ge=-limits.COUNT, le=limits.COUNT)] | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("goto",)


class SwitchDefault(OpenFields):
    label: str = ""
    goto: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("goto",)


class MultiMatch(OpenFields):
    enabled: bool = False
    mode: Literal["first", "all", "priority"] = "first"


class SwitchFields(NodeFields):
    expression: Annotated[str | None, Meta(description="The value that is compared.")] = None
    condition: Annotated[str | None, Meta(description="The same, where there is no expression.")] = None
    mode: Literal["value", "condition"] | None = None
    cases: list[SwitchCase] = []
    default: SwitchDefault | None = None
    multi_match: MultiMatch | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*NodeFields.REQUIRED, "cases")


def by_conditions(f: SwitchFields) -> bool:
    """Do the cases' own conditions decide, instead of a compared value (C-11)?"""
    if f.mode is not None:
        return f.mode == "condition"
    return bool(f.cases) and all(case.condition is not None and case.value is None for case in f.cases)


def lower(f: SwitchFields, context: LoweringContext) -> Fragment:
    """The route yields the value it compared and the targets it chose (W-4.8.5); each edge is guarded by its target."""
    conditions = by_conditions(f)
    selector = context.expression(f.expression, "expression")
    field = context.expression(f.condition, "condition")
    if selector is None:
        selector = field
    guard = field if conditions and f.condition is not None else None
    if not conditions and f.expression is None and f.condition is None:
        context.error("missing_field", "What is compared is missing.", hint="Write `expression: ${…}`.")
    _report_unused_settings(f, context, conditions)
    tests = [_test(case, i, conditions, selector or "null", context) for i, case in enumerate(f.cases)]
    if selector is not None and not conditions:
        _check_values(f, selector, context)
    order = _order(f, context)
    every = f.multi_match is not None and f.multi_match.enabled and f.multi_match.mode == "all"
    named = [(tests[i], _case_name(f.cases[i]), f.cases[i].goto) for i in order]
    otherwise = [] if f.default is None else [f.default.label or "default"]
    goto = [] if f.default is None else [f.default.goto]
    texts = {
        "value": selector if selector and not conditions else "null",
        "matched": _choice([(test, name) for test, name, _ in named], otherwise, every),
        "goto": _choice([(test, target) for test, _, target in named], goto, every),
    }
    if any(len(text) > MAX_SOURCE for text in texts.values()):
        message = f"The {len(f.cases)} cases are too long together to be compared in one go."
        context.error("too_many_cases", message, "cases", hint="Split them into two SWITCH nodes, by `default`.")
        texts = dict.fromkeys(texts, "null")
    value = {name: {"$expr": text} for name, text in texts.items()}
    report_unused_fields(f, context, "retry", "timeout_ms", "circuit_breaker", "idempotency")
    return complete_fragment(single_node(net_node(f, context, kind="route", value=value, only_if=guard)), f, context)


def _report_unused_settings(f: SwitchFields, context: LoweringContext, conditions: bool) -> None:
    """C-11: either values are compared or conditions decide; settings of the other kind are reported."""
    hint = "Leave it out, or write `mode: value` or `mode: condition`."
    if f.expression is not None and (conditions or f.condition is not None):
        name = "expression" if conditions else "condition"
        reason = "the cases' own conditions decide" if conditions else "«expression» is what is compared"
        context.warning("switch_setting", f"«{name}» is not read: {reason}.", name, hint=hint)
    raw = context.node.raw.get("cases")
    raw_cases = [case for case in raw if isinstance(case, dict)] if isinstance(raw, list) else []
    if len(raw_cases) != len(f.cases):
        return  # some could not be read, which is reported
    for i, (case, read_case) in enumerate(zip(raw_cases, f.cases, strict=True)):
        if conditions:
            if "value" in case and read_case.condition is not None:
                message = "«value» is not read: the cases' own conditions decide."
                context.warning("switch_setting", message, f"cases/{i}/value", hint=hint)
        elif "value" not in case:
            what = (
                "has a condition only, but values are compared" if read_case.condition is not None else "has no value"
            )
            context.error("missing_field", f"The case {what}.", f"cases/{i}", hint='Write `"value": …`.')
        elif read_case.condition is not None:
            message = "«condition» is not read: values are compared."
            context.warning("switch_setting", message, f"cases/{i}/condition", hint=hint)


def _test(case: SwitchCase, i: int, conditions: bool, selector: str, context: LoweringContext) -> str:
    if conditions:
        if case.condition is None:
            hint = 'Write `"condition": "…"`.'
            context.error("missing_field", "The case has no condition.", f"cases/{i}", hint=hint)
        text = context.expression(case.condition, f"cases/{i}/condition")
        return f"({text or 'false'})"
    value = case.value
    if isinstance(value, str) and "${" in value:
        text = context.expression(value, f"cases/{i}/value")
        return f"(({selector}) == ({text or 'null'}))"
    return f"(({selector}) == {_case_literal(value, context, f'cases/{i}/value')})"


def _check_values(f: SwitchFields, selector: str, context: LoweringContext) -> None:
    """A case that what is compared can never equal."""
    shape = context.member_check(selector, "").shape_of(compile_expression(selector, words=True).tree)
    for i, case in enumerate(f.cases):
        if case.value is not None and not (isinstance(case.value, str) and "${" in case.value):
            context.member_check(selector, context.at(f"cases/{i}/value")).value(shape, case.value, selector)


def _order(f: SwitchFields, context: LoweringContext) -> list[int]:
    """The order of the cases: by priority where `multi_match` asks for it, else as written (C-13)."""
    order = list(range(len(f.cases)))
    if f.multi_match is None or not f.multi_match.enabled or f.multi_match.mode != "priority":
        return order
    edge_priorities = {edge.dst: edge.fields.priority for edge in context.workflow.edges if edge.src == context.id}

    def rank(i: int) -> int:
        case = f.cases[i]
        priority = case.priority if case.priority is not None else edge_priorities.get(case.goto)
        return DEFAULT_PRIORITY if priority is None else priority

    return sorted(order, key=rank)


def _case_name(case: SwitchCase) -> Any:
    return case.label or (case.value if case.value is not None else case.goto)


def _choice(cases: list[tuple[str, Any]], otherwise: list[Any], every: bool) -> str:
    """An expression for the first case that matches, or for all of them.

    `coalesce` stops at the first match, and the expression stays flat however many cases there are."""
    last = list_literal(otherwise)
    if not cases:
        return last
    if every:
        matches = ", ".join(f"fn.if({test}, {list_literal([name])}, [])" for test, name in cases)
        return f"fn.first(fn.map([fn.flatten([{matches}])], m => fn.if(fn.is_empty(m), {last}, m)))"
    return f"fn.coalesce({', '.join(f'fn.if({test}, {list_literal([name])}, null)' for test, name in cases)}, {last})"


def _case_literal(value: Any, context: LoweringContext, path: str) -> str:
    text = expression_literal(value)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        text = "null"
    if text == "null" and value is not None:
        hint = "Write a text, a number, true, false or null."
        context.error("case_value", "This value cannot be compared with.", path, hint=hint)
    return text


SWITCH = NodeType("SWITCH", SwitchFields, "Chooses the way.", lower=lower, effect=False,
    output_shape=lambda f: closed("value", "matched", "goto"),
)  # fmt: skip
