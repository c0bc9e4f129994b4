"""A job (P-X.28): a worker outside does the activity. It is given variables, and its result becomes variables."""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.process import feel_text
from penstock.lang.process.expression_names import instance_variables, quoted, replaced_names
from penstock.lang.process.fields import ActivityFields
from penstock.lang.process.flow_conditions import unwrapped
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.contract import Fragment, activity_fields
from penstock.net.model import Effect, Set, Trigger

JOB = "job"


def lower_job(context: LoweringContext) -> Fragment:
    """P-X.38: its time is the run's own, so it goes on while nobody serves the type; without `timeout_s` there is no
    limit. What a business error of the worker brings is the output of the path that catches it."""
    f, orchestration = activity_fields(context), context.element.orchestration
    fragment = work_item_fragment(context, job_effect(context), agent=True)
    node = fragment.node(fragment.core)
    triggers = node.triggers
    if "timeout_s" in (f.orchestration or {}):
        late = Trigger(after_ms=max(1, round(orchestration.timeout_s * 1000)), action="fail", code="NODE_TIMEOUT")
        triggers = (*triggers, late)
    sets = node.sets if f.outputs is None else _outputs(f, context)
    return fragment.changed(fragment.core, timeout_ms=None, triggers=triggers, sets=sets, keeps_output=True)


def job_effect(context: LoweringContext, **parts: Any) -> Effect:
    f = activity_fields(context)
    args: dict[str, Any] = {
        "type": _text(f.job, "job", context),
        "variables": VARIABLES if f.params is None else context.value(f.params, "params"),
        "retries": _text(f.job_retries, "job_retries", context),
        "headers": context.literal(f.job_headers, "job_headers"),
        "priority": f.priority,
    }
    return Effect(executor=JOB, args={**args, **parts})


def _text(value: Any, path: str, context: LoweringContext) -> Any:
    """The author's text or number, or the expression that it is: ${…}, or FEEL after «=»."""
    if isinstance(value, str) and value.strip().startswith(("${", "=")):
        return {"$expr": context.expression(value, path) or "null"}
    return value


def _outputs(f: ActivityFields, context: LoweringContext) -> tuple[Set, ...]:
    """P-X.39: names mean members of the result, and where it has none of that name, variables."""
    sets: list[Set] = []
    for name, value in (f.outputs or {}).items():
        path = f"outputs/{name}"
        if isinstance(value, str) and value.strip().startswith(("${", "=")):
            text = context.expression(value, path, *_names(value))  # they need not be variables of the instance
            sets.append(Set(name=name, expr=_over_result(text) if text else "null"))
        else:
            sets.append(Set(name=name, value=context.value(value, path)))
    return tuple(sets)


def _names(value: str) -> set[str]:
    """Of an expression as the author wrote it; none where it cannot be read, which is said elsewhere."""
    text = unwrapped(value)
    try:
        text = feel_text.as_expression(text) if text.startswith("=") else text
        return instance_variables(compile_expression(text, words=True).roots)
    except PenstockError:
        return set()


def _over_result(text: str) -> str:
    names = instance_variables(compile_expression(text, words=True).roots)
    instead = {name: f"fn.coalesce(output[{quoted(name)}], context.variables[{quoted(name)}])" for name in names}
    return replaced_names(text, instead) if instead else text

