"""ACTION (4.5): tells people and machines: slack, email, sms, webhook, robot, database."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import bounds, literals
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Choosing, Fragment, GuardedFields, NodeType, Part, without
from penstock.lang.decision.nodes.parts import completed, guard_of, task_of
from penstock.net.model import Dedupe, Rate, Retry

HOUR = 3_600_000


class Channel(Choosing):
    type: Literal["slack", "email", "sms", "webhook", "robot", "database"] | None = None
    config: Annotated[dict[str, Any], Meta(description="Settings, flat or under the name of the channel (C-27).")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class Template(Part):
    id: str = ""
    params: dict[str, Any] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)


class Conditions(Part):
    execute_if: str | None = None
    skip_if: str | None = None


class RateLimit(Part):
    max_per_hour: Annotated[int, Meta(ge=1, le=bounds.COUNT)] | None = None
    dedupe_key: str | None = None
    dedupe_window_sec: Annotated[int, Meta(ge=1, le=bounds.SECONDS)] = 3600


class ActionFields(GuardedFields):
    channel: Channel | None = None
    template: Template | None = None
    message: Annotated[str | None, Meta(description="A text instead of a template.")] = None
    conditions: Conditions | None = None
    rate_limit: RateLimit | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "channel")


def lower(f: ActionFields, site: LoweringContext) -> Fragment:
    channel, when = f.channel or Channel(), f.conditions or Conditions()
    args: dict[str, Any] = {
        "channel": site.tree(channel.type, "channel/type"),
        "config": site.tree(channel.config, "channel/config", secrets=True),
    }
    site.depend("channel", channel.type, "channel/type")
    _sent_to(channel, site)
    if f.template is not None:
        site.depend("template", f.template.id, "template/id")
        params = site.tree(f.template.params, "template/params")
        args["template"] = {"id": site.tree(f.template.id, "template/id"), "params": params}
    if f.message is not None:
        args["message"] = site.tree(f.message, "message")
    wanted = site.expression(when.execute_if, "conditions/execute_if")
    unwanted = site.expression(when.skip_if, "conditions/skip_if")
    guard = guard_of(f, site, wanted or "", f"!({unwanted})" if unwanted else "")
    gates = _gates(f, site)
    again: dict[str, Any] = {}
    if channel.type == "robot" and not _once(f, site):
        again["retry"] = Retry()  # C-56: a robot that may have moved is not told twice
    return completed(task_of(f, site, "notify", args, sees_run=True, only_if=guard, gates=gates, **again), f, site)


def _sent_to(channel: Channel, site: LoweringContext) -> None:
    """What a channel is told, flat or under its name (C-27), is looked at as far as it is written out."""
    secret = _reads_secret(channel.config)
    inner = channel.config.get(channel.type or "")
    for path, some in (("channel/config", channel.config), (f"channel/config/{channel.type}", inner)):
        if not isinstance(some, dict):
            continue
        for name in _ADDRESSES:
            if secret and isinstance(some.get(name), str):
                site.fixed_host(some[name], f"{path}/{name}")
        method, operation = some.get("method"), some.get("operation")
        if channel.type == "webhook" and isinstance(method, str):
            literals.one_of(method.upper(), literals.WEBHOOK_METHODS, "HTTP method", f"{path}/method", site)
        if channel.type == "database":
            literals.one_of(operation, literals.OPERATIONS, "operation", f"{path}/operation", site)


#: settings of channels that say where something is sent
_ADDRESSES = ("url", "webhook_url", "base_url", "endpoint")


def _reads_secret(value: Any) -> bool:
    if isinstance(value, str):
        return "secrets" in value or "get_secret" in value
    some = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_reads_secret(one) for one in some)


def _once(f: ActionFields, site: LoweringContext) -> bool:
    wanted = f.idempotency if f.idempotency is not None else site.workflow.policies.idempotency
    return wanted is not None and wanted.enabled


def _gates(f: ActionFields, site: LoweringContext) -> dict[str, Any]:
    """W-4.5.2: more than so many an hour, and what was said before, is skipped."""
    limit = f.rate_limit
    if limit is None:
        return {}
    gates: dict[str, Any] = {}
    name = f"{site.workflow.top.id}/{site.step.id}"
    if limit.max_per_hour is not None:
        gates["rate"] = Rate(name=name, limit=limit.max_per_hour, per_ms=HOUR, over="skip", rolling=True)
    if limit.dedupe_key is not None:
        key = {"dedupe": site.tree(limit.dedupe_key, "rate_limit/dedupe_key")}
        gates["dedupe"] = Dedupe(key=key, ttl_ms=limit.dedupe_window_sec * 1000)
    return gates


ACTION = NodeType(
    "ACTION", ActionFields, lower, "Sends a message or a command.", lambda node: without("action_", node), 30_000,
    finishes=lambda f: True,
)  # fmt: skip
