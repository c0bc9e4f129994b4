"""SWITCH (4.8): chooses the ways that are taken."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.expr.limits import MAX_INTEGER, MAX_SOURCE
from penstock.lang.decision import bounds
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Fragment, NodeFields, NodeType, Part
from penstock.lang.decision.nodes.parts import completed, idle, node_of, plain
from penstock.lang.decision.texts import list_literal, text_literal

#: C-13: the priority of what has none.
USUAL = 1000


class Case(Part):
    value: Any = None
    condition: str | None = None
    label: str = ""
    goto: str = ""
    priority: Annotated[int, Meta(ge=-bounds.COUNT, le=bounds.COUNT)] | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("goto",)


class Default(Part):
    label: str = ""
    goto: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("goto",)


class MultiMatch(Part):
    enabled: bool = False
    mode: Literal["first", "all", "priority"] = "first"


class SwitchFields(NodeFields):
    expression: Annotated[str | None, Meta(description="The value that is compared.")] = None
    condition: Annotated[str | None, Meta(description="The same, where there is no expression.")] = None
    mode: Literal["value", "condition"] | None = None
    cases: list[Case] = []
    default: Default | None = None
    multi_match: MultiMatch | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*NodeFields.REQUIRED, "cases")


def by_conditions(f: SwitchFields) -> bool:
    """C-11: the cases' own conditions decide."""
    if f.mode is not None:
        return f.mode == "condition"
    return bool(f.cases) and all(one.condition is not None and "value" not in _given(one) for one in f.cases)


def _given(case: Case) -> set[str]:
    return {"value"} if case.value is not None else set()


def lower(f: SwitchFields, site: LoweringContext) -> Fragment:
    """The route yields what it saw and chose (W-4.8.5); the edges out ask whether their target is among them."""
    conditions = by_conditions(f)
    selector = site.expression(f.expression, "expression")
    field = site.expression(f.condition, "condition")
    if selector is None:
        selector = field
    guard = field if conditions and f.condition is not None else None
    if not conditions and f.expression is None and f.condition is None:
        site.error("missing_field", "What is compared is missing.", hint="Write `expression: ${…}`.")
    _unheeded(f, site, conditions)
    tests = [_test(case, i, conditions, selector or "null", site) for i, case in enumerate(f.cases)]
    order = _order(f, site)
    every = f.multi_match is not None and f.multi_match.enabled and f.multi_match.mode == "all"
    named = [(tests[i], _name(f.cases[i]), f.cases[i].goto) for i in order]
    otherwise = [] if f.default is None else [f.default.label or "default"]
    goto = [] if f.default is None else [f.default.goto]
    texts = {
        "value": selector if selector and not conditions else "null",
        "matched": _pick([(test, name) for test, name, _ in named], otherwise, every),
        "goto": _pick([(test, target) for test, _, target in named], goto, every),
    }
    if any(len(text) > MAX_SOURCE for text in texts.values()):
        message = f"The {len(f.cases)} cases are too long together to be compared in one go."
        site.error("too_many_cases", message, "cases", hint="Split them into two SWITCH nodes, by `default`.")
        texts = dict.fromkeys(texts, "null")
    value = {name: {"$expr": text} for name, text in texts.items()}
    idle(f, site, "retry", "timeout_ms", "circuit_breaker", "idempotency")
    return completed(plain(node_of(f, site, kind="route", value=value, only_if=guard)), f, site)


def _unheeded(f: SwitchFields, site: LoweringContext, conditions: bool) -> None:
    """C-11: either values are compared or conditions asked; what is written for the other is told."""
    hint = "Leave it out, or write `mode: value` or `mode: condition`."
    if f.expression is not None and (conditions or f.condition is not None):
        name = "expression" if conditions else "condition"
        said = "the cases' own conditions decide" if conditions else "«expression» is what is compared"
        site.warning("switch_setting", f"«{name}» is not read: {said}.", name, hint=hint)
    raw = site.step.raw.get("cases")
    given = [one for one in raw if isinstance(one, dict)] if isinstance(raw, list) else []
    if len(given) != len(f.cases):
        return  # some could not be read, which has been told
    for i, (case, one) in enumerate(zip(given, f.cases, strict=True)):
        if conditions:
            if "value" in case and one.condition is not None:
                message = "«value» is not read: the cases' own conditions decide."
                site.warning("switch_setting", message, f"cases/{i}/value", hint=hint)
        elif "value" not in case:
            what = "has a condition only, but values are compared" if one.condition is not None else "has no value"
            site.error("missing_field", f"The case {what}.", f"cases/{i}", hint='Write `"value": …`.')
        elif one.condition is not None:
            message = "«condition» is not read: values are compared."
            site.warning("switch_setting", message, f"cases/{i}/condition", hint=hint)


def _test(case: Case, i: int, conditions: bool, selector: str, site: LoweringContext) -> str:
    if conditions:
        if case.condition is None:
            hint = 'Write `"condition": "…"`.'
            site.error("missing_field", "The case has no condition.", f"cases/{i}", hint=hint)
        text = site.expression(case.condition, f"cases/{i}/condition")
        return f"({text or 'false'})"
    value = case.value
    if isinstance(value, str) and "${" in value:
        text = site.expression(value, f"cases/{i}/value")
        return f"(({selector}) == ({text or 'null'}))"
    return f"(({selector}) == {literal(value, site, f'cases/{i}/value')})"


def _order(f: SwitchFields, site: LoweringContext) -> list[int]:
    """C-13: by priority, where that is asked for; else as written."""
    order = list(range(len(f.cases)))
    if f.multi_match is None or not f.multi_match.enabled or f.multi_match.mode != "priority":
        return order
    ways = {way.dst: way.fields.priority for way in site.workflow.edges if way.src == site.id}

    def rank(i: int) -> int:
        case = f.cases[i]
        priority = case.priority if case.priority is not None else ways.get(case.goto)
        return USUAL if priority is None else priority

    return sorted(order, key=rank)


def _name(case: Case) -> Any:
    return case.label or (case.value if case.value is not None else case.goto)


def _pick(cases: list[tuple[str, Any]], otherwise: list[Any], every: bool) -> str:
    """The first that fits, later ones unasked; or all. `coalesce` stops at the first, and stays flat however long."""
    last = list_literal(otherwise)
    if not cases:
        return last
    if every:
        found = ", ".join(f"fn.if({test}, {list_literal([one])}, [])" for test, one in cases)
        return f"fn.first(fn.map([fn.flatten([{found}])], m => fn.if(fn.is_empty(m), {last}, m)))"
    return f"fn.coalesce({', '.join(f'fn.if({test}, {list_literal([one])}, null)' for test, one in cases)}, {last})"


def literal(value: Any, site: LoweringContext, path: str) -> str:
    text = text_literal(value)
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        text = "null"
    if text == "null" and value is not None:
        hint = "Write a text, a number, true, false or null."
        site.error("case_value", "This value cannot be compared with.", path, hint=hint)
    return text


SWITCH = NodeType("SWITCH", SwitchFields, lower, "Chooses the way.", effect=False)
