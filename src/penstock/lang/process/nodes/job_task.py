"""A job (P-X.28): a worker outside does the activity. It is given variables, and its result becomes variables."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.contract import Fragment, activity_fields
from penstock.net.model import Effect, Trigger

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
    return fragment.changed(fragment.core, timeout_ms=None, triggers=triggers, keeps_output=True)


def job_effect(context: LoweringContext, **parts: Any) -> Effect:
    f = activity_fields(context)
    if not _is_expression(f.job):
        context.shared.jobs.append((f.job, context.at("job"), context.id))
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
    if _is_expression(value):
        return {"$expr": context.expression(value, path) or "null"}
    return value


def _is_expression(value: Any) -> bool:
    return isinstance(value, str) and value.strip().startswith(("${", "="))
