"""WAIT (4.7): waits for an event, a moment, a status, or a person."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.expr.filters import problems, unranked
from penstock.lang.decision import limits, literal_checks
from penstock.lang.decision.expression_literals import list_literal
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import NodeFields, OpenFields, OutputFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType, id_without
from penstock.lang.decision.nodes.fragments import (
    HOUR,
    complete_fragment,
    net_node,
    read_duration,
    report_unused_fields,
    single_node,
    task_fragment,
)
from penstock.lang.decision.policies import retry_of
from penstock.lang.decision.shapes import Shape, closed
from penstock.net.model import Poll, Trigger

#: C-38: the timeout of an event, a poll or a manual wait that states none, unless the machine has another.
DEFAULT_MS = 24 * HOUR
TIMEOUT_MS = "wait_timeout_ms"
#: C-38: so many failed polls in a row fail the node.
MAX_FAILED_POLLS = 5
_FAILED = ("failed", "rolled_back", "error", "cancelled")
_ARRIVED = {"event": "event.payload", "polling": "polling.response", "manual": "signal.body"}


class WaitEvent(OpenFields):
    source: str = ""
    filter: dict[str, Any] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("source",)


class Polling(OpenFields):
    endpoint: str = ""
    connection: str = "default_api"
    method: str = "GET"
    interval_sec: Annotated[float, Meta(gt=0, le=limits.SECONDS)] = 60
    success_condition: str = ""
    failure_condition: str | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("endpoint", "success_condition")


class WaitCondition(OpenFields):
    type: Literal["event", "time", "polling", "manual"] | None = None
    event: WaitEvent | None = None
    polling: Polling | None = None
    time: Any = None
    until: str | None = None
    duration_ms: Any = None
    duration_seconds: Any = None
    duration_minutes: Any = None
    duration_hours: Any = None
    duration_days: Any = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class WaitTimeout(OpenFields):
    on_timeout: Literal["fail", "skip", "default_value", "alternative_path"] = "fail"
    default: Any = None
    goto: str = ""
    duration_ms: Any = None
    duration_seconds: Any = None
    duration_minutes: Any = None
    duration_hours: Any = None
    duration_days: Any = None

    ALIASES: ClassVar[dict[str, str]] = {
        "default_value": "default", "alternative_path": "goto", "alternative_node": "goto",
    }  # fmt: skip


class WaitOutput(OutputFields):
    from_: Annotated[str | None, Meta(description="What of the news is kept: event.payload, or a member of it.")] = None


class WaitFields(NodeFields):
    condition: WaitCondition | None = None
    timeout: WaitTimeout | None = None
    output: WaitOutput | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*NodeFields.REQUIRED, "condition")


def lower(f: WaitFields, context: LoweringContext) -> Fragment:
    condition = f.condition or WaitCondition()
    _check_checkpoint(f, context)
    text = _output_expression(f, str(condition.type), context)
    if condition.type == "polling":
        return complete_fragment(_polling(f, condition, context), f, context, text)
    report_unused_fields(f, context, "timeout_ms", "circuit_breaker", "idempotency")
    if condition.type == "time":
        triggers = [_time_trigger(condition, context)]
    elif condition.type == "event":
        triggers = [_event_trigger(condition, context)]
    else:
        triggers = [Trigger(kind="signal", name=f"manual:{context.node.id}")]
    triggers += _timeout_triggers(f, context, default=condition.type != "time")
    retry = retry_of(f.retry if f.retry is not None else context.workflow.policies.retry)
    return complete_fragment(
        single_node(net_node(f, context, kind="wait", triggers=tuple(triggers), retry=retry)), f, context, text
    )


def _check_checkpoint(f: WaitFields, context: LoweringContext) -> None:
    point = f.checkpoint
    if point is not None and not isinstance(point, bool) and not (point.save_context and point.resume_on_restart):
        message = "A wait is always durable; `false` changes nothing here."
        context.info("wait_is_durable", message, "checkpoint", hint="Leave it out.")


def _keeps_part(f: WaitFields) -> bool:
    """Is only a part of what arrived kept as the output?"""
    kind = f.condition.type if f.condition is not None else None
    arrived, text = _ARRIVED.get(str(kind), ""), f.output.from_ if f.output is not None else None
    return bool(arrived and text is not None and text != arrived and text.startswith((f"{arrived}.", f"{arrived}[")))


def _output_expression(f: WaitFields, kind: str, context: LoweringContext) -> str | None:
    """`output.from` as an expression: the part of what arrived that is the output; None means all of it."""
    text, arrived = f.output.from_ if f.output is not None else None, _ARRIVED.get(kind, "")
    if text is None or text == arrived:
        return None
    if _keeps_part(f):
        return context.expression("output" + text[len(arrived) :], "output/from", "output")
    brings = f"it brings «{arrived}»" if arrived else "it brings only the moment"
    hint = f"Write «{arrived}», or a member of it." if arrived else "Leave it out."
    context.warning("wait_output_from", f"«{text}» is not what this wait brings; {brings}.", "output/from", hint=hint)
    return None


def _time_trigger(condition: WaitCondition, context: LoweringContext) -> Trigger:
    raw = context.node.raw["condition"]
    inner = raw.get("time") if isinstance(raw.get("time"), dict) else {}
    until = condition.until if condition.until is not None else (inner or {}).get("until")
    value = {"resumed_at": {"$expr": "fn.now()"}, "waited_ms": {"$expr": "sys.now - sys.node_started"}}
    if until is not None:
        where = "condition/until" if condition.until is not None else "condition/time/until"
        if "${" not in str(until):
            literal_checks.check_date(str(until), where, context)
        moment = context.template_expression(str(until), where)
        at = f"fn.round(fn.date_diff({moment}, '1970-01-01T00:00:00Z', 'second') * 1000)"
        return Trigger(at=at, action="value", value=value)
    after = read_duration(raw, context, "condition")
    more = read_duration(inner or {}, context, "condition/time")
    if after is None and more is None:
        hint = 'Write `"duration_hours": 24`, or `"until": "2025-01-01T09:00:00"`.'
        context.error("missing_field", "A wait for a moment must say when.", "condition", hint=hint)
    return Trigger(after_ms=(after or 0) + (more or 0), action="value", value=value)


def _event_trigger(condition: WaitCondition, context: LoweringContext) -> Trigger:
    event = condition.event or WaitEvent()
    if condition.event is None:
        hint = 'Write `"event": {"source": "…", "filter": {…}}`.'
        context.error("missing_field", "«event» is missing.", "condition", hint=hint)
    filter = context.template_tree(event.filter, "condition/event/filter") if event.filter else None
    for at, why in problems(event.filter):
        hint = "The operators of filters are $eq $ne $gt $gte $lt $lte $in $nin $exists $regex $and $or $not."
        message = f"The filter cannot be meant so: {why}."
        context.error("filter_operator", message, f"condition/event/filter{at}", hint=hint)
    for at, why in unranked(event.filter):
        hint = "Write a word of the scale, or give the tenant one of its own."
        context.warning("filter_scale", f"{why}.", f"condition/event/filter{at}", hint=hint)
    context.shared.carried.add("tenant_config")
    match = "fn.matches_filter(event, filter)" if filter is not None else None
    name = context.template_tree(event.source, "condition/event/source")
    return Trigger(kind="signal", name=event.source if name is not None else "", filter=filter, match=match)


def _polling(f: WaitFields, condition: WaitCondition, context: LoweringContext) -> Fragment:
    """C-38: a failed poll means not yet; five in a row fail the node, and so does a status that says so."""
    poll = condition.polling or Polling()
    if condition.polling is None:
        hint = 'Write `"polling": {"endpoint": …, "interval_sec": 60, "success_condition": …}`.'
        context.error("missing_field", "«polling» is missing.", "condition", hint=hint)
    until = context.expression(poll.success_condition or None, "condition/polling/success_condition", "response")
    fails = context.expression(poll.failure_condition, "condition/polling/failure_condition", "response")
    if fails is None:
        fails = f"fn.type_of(response) == 'object' && fn.contains({list_literal([*_FAILED])}, response.status)"
    context.depend("connection", poll.connection, "condition/polling")
    literal_checks.check_choice(
        poll.method.upper(), literal_checks.API_METHODS, "HTTP method", "condition/polling/method", context
    )
    args = {
        "connection": context.template_tree(poll.connection, "condition/polling/connection"),
        "method": poll.method.upper(),
        "path": context.url_expression(poll.endpoint, "condition/polling/endpoint"),
    }
    every = round(poll.interval_sec * 1000)
    return task_fragment(
        f, context, "api", args, timeout_ms=f.timeout_ms or 30_000, triggers=tuple(_timeout_triggers(f, context)),
        poll=Poll(every_ms=every, until=until or "true", fail_if=fails, max_errors=MAX_FAILED_POLLS - 1),
    )  # fmt: skip


def _timeout_triggers(f: WaitFields, context: LoweringContext, *, default: bool = True) -> list[Trigger]:
    """What happens when nothing came in time (W-4.7.5, C-36)."""
    timeout = f.timeout or WaitTimeout()
    raw = context.node.raw.get("timeout")
    after = read_duration(raw, context, "timeout") if isinstance(raw, dict) else None
    if after is None:
        if not default:
            return []
        after = context.shared.setting.defaults.get(TIMEOUT_MS, DEFAULT_MS)
    if timeout.on_timeout == "skip":
        return [Trigger(after_ms=after, action="skip")]
    if timeout.on_timeout == "default_value":
        if not isinstance(raw, dict) or not {"default", "default_value"} & raw.keys():
            hint = 'Write `"default": …` beside it.'
            context.error("missing_field", "`default_value` needs «default».", "timeout", hint=hint)
        value = context.template_tree(timeout.default, "timeout/default")
        return [Trigger(after_ms=after, action="value", value=value)]
    if timeout.on_timeout == "alternative_path":
        if not timeout.goto:
            hint = 'Write `"goto": "node_id"` beside it.'
            context.error("missing_field", "`alternative_path` needs «goto».", "timeout", hint=hint)
        return [Trigger(after_ms=after, action="value", port="alternative")]  # nothing came: its output is null
    return [Trigger(after_ms=after, action="fail", code="WAIT_TIMEOUT", again=True)]


def _alias(id: str) -> str:
    rest = id_without("wait_", id)
    return rest if rest.endswith("_result") else f"{rest}_result" if rest else ""


def _resumed_shape(f: WaitFields) -> Shape | None:
    """W-4.7.4: a wait for a moment brings the moment; any other what has come."""
    timed = f.condition is not None and f.condition.type == "time" and f.timeout is None
    return closed("resumed_at", "waited_ms") if timed else None


WAIT = NodeType(
    "WAIT", WaitFields, "Waits for news, a moment, a status or a person.", lower=lower, alias=_alias, effect=False,
    wrapped=_keeps_part, output_shape=_resumed_shape,
)  # fmt: skip
