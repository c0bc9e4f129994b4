"""WAIT (4.7): for an event, a moment, a status, or a person's go."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.expr.filters import problems, unranked
from penstock.lang.decision import bounds, literals
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Fragment, NodeFields, NodeType, OutputFields, Part, without
from penstock.lang.decision.nodes.parts import HOUR, completed, duration_of, idle, node_of, plain, task_of
from penstock.lang.decision.policies import retry_of
from penstock.lang.decision.texts import list_literal
from penstock.net.model import Poll, Trigger

#: C-38: what an event, a poll or a person is waited for when nothing is said.
DEFAULT_MS = 24 * HOUR
#: C-38: so many failed probes in a row are a failure.
ERRORS = 5
_FAILED = ("failed", "rolled_back", "error", "cancelled")
_FROM = {"event": "event.payload", "polling": "polling.response", "manual": "signal.body"}


class Event(Part):
    source: str = ""
    filter: dict[str, Any] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("source",)


class Polling(Part):
    endpoint: str = ""
    connection: str = "default_api"
    method: str = "GET"
    interval_sec: Annotated[float, Meta(gt=0, le=bounds.SECONDS)] = 60
    success_condition: str = ""
    failure_condition: str | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("endpoint", "success_condition")


class Condition(Part):
    type: Literal["event", "time", "polling", "manual"] | None = None
    event: Event | None = None
    polling: Polling | None = None
    time: Any = None
    until: str | None = None
    duration_ms: Any = None
    duration_seconds: Any = None
    duration_minutes: Any = None
    duration_hours: Any = None
    duration_days: Any = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class Timeout(Part):
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
    condition: Condition | None = None
    timeout: Timeout | None = None
    output: WaitOutput | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*NodeFields.REQUIRED, "condition")


def lower(f: WaitFields, site: LoweringContext) -> Fragment:
    condition = f.condition or Condition()
    _durable(f, site)
    text = _from(f, str(condition.type), site)
    if condition.type == "polling":
        return completed(_polling(f, condition, site), f, site, text)
    idle(f, site, "timeout_ms", "circuit_breaker", "idempotency")
    if condition.type == "time":
        triggers = [_moment(condition, site)]
    elif condition.type == "event":
        triggers = [_event(condition, site)]
    else:
        triggers = [Trigger(kind="signal", name=f"manual:{site.step.id}")]
    triggers += _timeout(f, site, default=condition.type != "time")
    retry = retry_of(f.retry if f.retry is not None else site.workflow.policies.retry)
    return completed(plain(node_of(f, site, kind="wait", triggers=tuple(triggers), retry=retry)), f, site, text)


def _durable(f: WaitFields, site: LoweringContext) -> None:
    point = f.checkpoint
    if point is not None and not isinstance(point, bool) and not (point.save_context and point.resume_on_restart):
        message = "A wait is always durable; `false` changes nothing here."
        site.info("wait_is_durable", message, "checkpoint", hint="Leave it out.")


def _takes_part(f: WaitFields) -> bool:
    """Is only a part of the news kept?"""
    kind = f.condition.type if f.condition is not None else None
    usual, text = _FROM.get(str(kind), ""), f.output.from_ if f.output is not None else None
    return bool(usual and text is not None and text != usual and text.startswith((f"{usual}.", f"{usual}[")))


def _from(f: WaitFields, kind: str, site: LoweringContext) -> str | None:
    """`output.from`: what of the news is kept; by default all of it."""
    text, usual = f.output.from_ if f.output is not None else None, _FROM.get(kind, "")
    if text is None or text == usual:
        return None
    if _takes_part(f):
        return site.expression("output" + text[len(usual) :], "output/from", "output")
    brings = f"it brings «{usual}»" if usual else "it brings only the moment"
    hint = f"Write «{usual}», or a member of it." if usual else "Leave it out."
    site.warning("wait_output_from", f"«{text}» is not what this wait brings; {brings}.", "output/from", hint=hint)
    return None


def _moment(condition: Condition, site: LoweringContext) -> Trigger:
    raw = site.step.raw["condition"]
    inner = raw.get("time") if isinstance(raw.get("time"), dict) else {}
    until = condition.until if condition.until is not None else (inner or {}).get("until")
    value = {"resumed_at": {"$expr": "fn.now()"}, "waited_ms": {"$expr": "sys.now - sys.node_started"}}
    if until is not None:
        where = "condition/until" if condition.until is not None else "condition/time/until"
        if "${" not in str(until):
            literals.date(str(until), where, site)
        moment = site.moment(str(until), where)
        at = f"fn.round(fn.date_diff({moment}, '1970-01-01T00:00:00Z', 'second') * 1000)"
        return Trigger(at=at, action="value", value=value)
    after = duration_of(raw, site, "condition")
    more = duration_of(inner or {}, site, "condition/time")
    if after is None and more is None:
        hint = 'Write `"duration_hours": 24`, or `"until": "2025-01-01T09:00:00"`.'
        site.error("missing_field", "A wait for a moment must say when.", "condition", hint=hint)
    return Trigger(after_ms=(after or 0) + (more or 0), action="value", value=value)


def _event(condition: Condition, site: LoweringContext) -> Trigger:
    event = condition.event or Event()
    if condition.event is None:
        hint = 'Write `"event": {"source": "…", "filter": {…}}`.'
        site.error("missing_field", "«event» is missing.", "condition", hint=hint)
    wanted = site.tree(event.filter, "condition/event/filter") if event.filter else None
    for at, why in problems(event.filter):
        hint = "The operators of filters are $eq $ne $gt $gte $lt $lte $in $nin $exists $regex $and $or $not."
        message = f"The filter cannot be meant so: {why}."
        site.error("filter_operator", message, f"condition/event/filter{at}", hint=hint)
    for at, why in unranked(event.filter):
        hint = "Write a word of the scale, or give the tenant one of its own."
        site.warning("filter_scale", f"{why}.", f"condition/event/filter{at}", hint=hint)
    site.shared.carried.add("tenant_config")
    match = "fn.matches_filter(event, filter)" if wanted is not None else None
    name = site.tree(event.source, "condition/event/source")
    return Trigger(kind="signal", name=event.source if name is not None else "", filter=wanted, match=match)


def _polling(f: WaitFields, condition: Condition, site: LoweringContext) -> Fragment:
    """C-38: an error is «not yet», five in a row are a failure; so is a status that says so."""
    poll = condition.polling or Polling()
    if condition.polling is None:
        hint = 'Write `"polling": {"endpoint": …, "interval_sec": 60, "success_condition": …}`.'
        site.error("missing_field", "«polling» is missing.", "condition", hint=hint)
    until = site.expression(poll.success_condition or None, "condition/polling/success_condition", "response")
    fails = site.expression(poll.failure_condition, "condition/polling/failure_condition", "response")
    if fails is None:
        fails = f"fn.type_of(response) == 'object' && fn.contains({list_literal([*_FAILED])}, response.status)"
    site.depend("connection", poll.connection, "condition/polling")
    literals.one_of(poll.method.upper(), literals.API_METHODS, "HTTP method", "condition/polling/method", site)
    args = {
        "connection": site.tree(poll.connection, "condition/polling/connection"),
        "method": poll.method.upper(),
        "path": site.address(poll.endpoint, "condition/polling/endpoint"),
    }
    every = round(poll.interval_sec * 1000)
    return task_of(
        f, site, "api", args, timeout_ms=f.timeout_ms or 30_000, triggers=tuple(_timeout(f, site)),
        poll=Poll(every_ms=every, until=until or "true", fail_if=fails, max_errors=ERRORS - 1),
    )  # fmt: skip


def _timeout(f: WaitFields, site: LoweringContext, *, default: bool = True) -> list[Trigger]:
    """W-4.7.5, C-36."""
    given = f.timeout or Timeout()
    raw = site.step.raw.get("timeout")
    after = duration_of(raw, site, "timeout") if isinstance(raw, dict) else None
    if after is None:
        if not default:
            return []
        after = DEFAULT_MS
    if given.on_timeout == "skip":
        return [Trigger(after_ms=after, action="skip")]
    if given.on_timeout == "default_value":
        if not isinstance(raw, dict) or not {"default", "default_value"} & raw.keys():
            hint = 'Write `"default": …` beside it.'
            site.error("missing_field", "`default_value` needs «default».", "timeout", hint=hint)
        value = site.tree(given.default, "timeout/default")
        return [Trigger(after_ms=after, action="value", value=value)]
    if given.on_timeout == "alternative_path":
        if not given.goto:
            hint = 'Write `"goto": "node_id"` beside it.'
            site.error("missing_field", "`alternative_path` needs «goto».", "timeout", hint=hint)
        return [Trigger(after_ms=after, action="value", port="alternative")]  # nothing came: its output is null
    return [Trigger(after_ms=after, action="fail", code="WAIT_TIMEOUT", again=True)]


def _alias(id: str) -> str:
    rest = without("wait_", id)
    return rest if rest.endswith("_result") else f"{rest}_result" if rest else ""


WAIT = NodeType(
    "WAIT", WaitFields, lower, "Waits for news, a moment, a status or a person.", _alias, effect=False,
    framed=_takes_part,
)  # fmt: skip
