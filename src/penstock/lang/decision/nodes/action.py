"""ACTION (4.5): sends a message or a command: slack, email, sms, webhook, robot, database."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import limits, literal_checks
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType, alias_from
from penstock.lang.decision.nodes.fragments import complete_fragment, skip_guard, task_fragment
from penstock.net.model import Dedupe, Rate, Retry

HOUR = 3_600_000


class ChannelFields(TemplatedFields):
    type: Literal["slack", "email", "sms", "webhook", "robot", "database"] | None = None
    config: Annotated[dict[str, Any], Meta(description="Settings, flat or under the name of the channel (C-27).")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class MessageTemplate(OpenFields):
    id: str = ""
    params: dict[str, Any] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)


class ActionConditions(OpenFields):
    execute_if: str | None = None
    skip_if: str | None = None


class RateLimit(OpenFields):
    max_per_hour: Annotated[int, Meta(ge=1, le=limits.COUNT)] | None = None
    dedupe_key: str | None = None
    dedupe_window_sec: Annotated[int, Meta(ge=1, le=limits.SECONDS)] = 3600


class ActionFields(GuardedFields):
    channel: ChannelFields | None = None
    template: MessageTemplate | None = None
    message: Annotated[str | None, Meta(description="A text instead of a template.")] = None
    conditions: ActionConditions | None = None
    rate_limit: RateLimit | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "channel")


def lower(f: ActionFields, context: LoweringContext) -> Fragment:
    channel, when = f.channel or ChannelFields(), f.conditions or ActionConditions()
    args: dict[str, Any] = {
        "channel": context.template_tree(channel.type, "channel/type"),
        "config": context.template_tree(channel.config, "channel/config", secrets=True),
    }
    context.depend("channel", channel.type, "channel/type")
    _check_channel(channel, context)
    if f.template is not None:
        context.depend("template", f.template.id, "template/id")
        params = context.template_tree(f.template.params, "template/params")
        args["template"] = {"id": context.template_tree(f.template.id, "template/id"), "params": params}
    if f.message is not None:
        args["message"] = context.template_tree(f.message, "message")
    execute_if = context.expression(when.execute_if, "conditions/execute_if")
    skip_if = context.expression(when.skip_if, "conditions/skip_if")
    guard = skip_guard(f, context, execute_if or "", f"!({skip_if})" if skip_if else "")
    gates = _gates(f, context)
    overrides: dict[str, Any] = {}
    if channel.type == "robot" and not _is_idempotent(f, context):
        overrides["retry"] = Retry()  # C-56: a robot that may have moved gets no second command
    return complete_fragment(
        task_fragment(f, context, "notify", args, sees_run=True, only_if=guard, gates=gates, **overrides), f, context
    )


def _check_channel(channel: ChannelFields, context: LoweringContext) -> None:
    """Checks the settings of a channel that are written out, flat or under the channel's name (C-27)."""
    secret = _reads_secret(channel.config)
    inner = channel.config.get(channel.type or "")
    for path, config in (("channel/config", channel.config), (f"channel/config/{channel.type}", inner)):
        if not isinstance(config, dict):
            continue
        for name in _ADDRESSES:
            if secret and isinstance(config.get(name), str):
                context.fixed_host(config[name], f"{path}/{name}")
        method, operation = config.get("method"), config.get("operation")
        if channel.type == "webhook" and isinstance(method, str):
            literal_checks.check_choice(
                method.upper(), literal_checks.WEBHOOK_METHODS, "HTTP method", f"{path}/method", context
            )
        if channel.type == "database":
            literal_checks.check_choice(operation, literal_checks.OPERATIONS, "operation", f"{path}/operation", context)


#: Settings of channels that hold an address.
_ADDRESSES = ("url", "webhook_url", "base_url", "endpoint")


def _reads_secret(value: Any) -> bool:
    if isinstance(value, str):
        return "secrets" in value or "get_secret" in value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_reads_secret(member) for member in members)


def _is_idempotent(f: ActionFields, context: LoweringContext) -> bool:
    idempotency = f.idempotency if f.idempotency is not None else context.workflow.policies.idempotency
    return idempotency is not None and idempotency.enabled


def _gates(f: ActionFields, context: LoweringContext) -> dict[str, Any]:
    """W-4.5.2: a message over the hourly limit, or sent before, is skipped."""
    limit = f.rate_limit
    if limit is None:
        return {}
    gates: dict[str, Any] = {}
    name = f"{context.workflow.top.id}/{context.node.id}"
    if limit.max_per_hour is not None:
        gates["rate"] = Rate(name=name, limit=limit.max_per_hour, per_ms=HOUR, over="skip", rolling=True)
    if limit.dedupe_key is not None:
        key = {"dedupe": context.template_tree(limit.dedupe_key, "rate_limit/dedupe_key")}
        gates["dedupe"] = Dedupe(key=key, ttl_ms=limit.dedupe_window_sec * 1000)
    return gates


ACTION = NodeType(
    "ACTION", ActionFields, "Sends a message or a command.", lower=lower,
    alias=alias_from("action_"), timeout_ms=30_000, shapes_output=lambda f: True,
)  # fmt: skip
