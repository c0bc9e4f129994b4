"""Builds the net fragment of a workflow node: its net node, policies, wrapper, prefetch and notifications."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from penstock.lang.decision import limits
from penstock.lang.decision.literal_checks import jq_syntax_problem
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, NodeFields
from penstock.lang.decision.nodes.contract import Fragment
from penstock.lang.decision.policies import breaker_of, dedupe_of, on_open, retry_of
from penstock.lang.decision.workflow import NodeTraits
from penstock.net.model import INCLUSIVE, MERGE, Edge, Effect, Node, OnError, Set, Trigger

HOUR = 3_600_000
#: C-35: the fields of a duration, and their unit in milliseconds.
_UNITS = {
    "duration_ms": 1, "duration_seconds": 1000, "duration_minutes": 60_000, "duration_hours": HOUR,
    "duration_days": 24 * HOUR,
}  # fmt: skip
#: Node types that say themselves who is told of what.
_OWN_NOTIFICATIONS = ("APPROVAL", "COMPENSATION", "DEPLOY", "ROLLBACK")
#: The timeout of effects that the lowering adds: fetching, checking.
ADDED_EFFECT_TIMEOUT_MS = 30_000


# ---- the author's node -----------------------------------------------------------------------------------------------


def net_node(f: NodeFields, context: LoweringContext, **parts: Any) -> Node:
    """The net node that does the work; `parts` override what is common. A wrapped node's output has no name yet."""
    base: dict[str, Any] = {
        "id": context.core, "type": context.node.type.name, "label": f.name, "scope": context.scope, "join": INCLUSIVE,
        "origin": context.origin, "only_if": skip_guard(f, context),
        "on_error": (OnError(match="*", action="skip"),) if f.skip_on_error else (),
    }  # fmt: skip
    if not context.wrapped:
        base |= _output_names(f, context)
    return Node(**{**base, **parts})


def _output_names(f: NodeFields, context: LoweringContext) -> dict[str, Any]:
    """The names of the output, and the variables that are set after it."""
    parts: dict[str, Any] = {"sets": variable_writes(f, context)}
    name = context.shared.symbols.outputs[context.node.id]
    if name:
        parts["out"] = (name,)
        if context.shared.result_names is None or name in context.shared.result_names:
            parts["result"] = name
    return parts


def skip_guard(f: NodeFields, context: LoweringContext, *more: str) -> str | None:
    texts = [context.expression(f.condition, "condition")] if isinstance(f, GuardedFields) else []
    conditions = [condition for condition in (*texts, *more) if condition]
    return " && ".join(f"({condition})" for condition in conditions) if conditions else None


def variable_writes(f: NodeFields, context: LoweringContext) -> tuple[Set, ...]:
    """`side_effects.set_variables`: all values are computed before any is written (W-6.3.2)."""
    variables = f.side_effects.set_variables if f.side_effects is not None else {}
    return tuple(
        Set(name=name, value=_present(context.template_tree(value, f"side_effects/set_variables/{name}", "output")))
        for name, value in variables.items()
    )


def _present(value: Any) -> Any:
    return {"$expr": "null"} if value is None else value


# ---- effects ---------------------------------------------------------------------------------------------------------


def task_fragment(
    f: NodeFields, context: LoweringContext, executor: str, args: dict[str, Any], **parts: Any
) -> Fragment:
    """A node with an effect, and the retries, breaker, idempotency and timeout of its policies."""
    gates = {**idempotency(f, context, args), **parts.pop("gates", {})}
    if "once" in gates and "dedupe" not in gates:
        gates["dedupe"] = gates.pop("once")
    policies = context.workflow.policies
    breaker = f.circuit_breaker if f.circuit_breaker is not None else policies.circuit_breaker
    effect = Effect(
        executor=executor,
        args={**args, **(output_args(f) if context.node.type.shapes_output(f) else {})},
        sees_run=parts.pop("sees_run", False),
        breaker=breaker_of(breaker, f"{context.workflow.top.id}/{context.node.id}"),
        **gates,
    )
    rows = on_open(breaker, fallback=context.fallback) if effect.breaker is not None else ()
    rows = (*rows, *parts.pop("on_error", ()))
    if f.skip_on_error:
        rows = (*rows, OnError(match="*", action="skip"))
    parts = {
        "retry": retry_of(f.retry if f.retry is not None else policies.retry),
        "timeout_ms": f.timeout_ms or context.node.type.timeout_ms,
        **parts,
    }
    return single_node(net_node(f, context, kind="task", effect=effect, on_error=rows, **parts))


def accepts_anything(schema: Any) -> bool:
    """Does every value fit this schema?"""
    return schema is None or schema is True or schema == {}


def output_schema_of(f: NodeFields) -> Any:
    """The schema that a node's output is checked against; None when every value fits."""
    return None if f.output is None or accepts_anything(f.output.schema) else f.output.schema


def output_args(f: NodeFields) -> dict[str, Any]:
    """What the executor does with an answer: transform it, and check the schema unless an expression follows."""
    output: dict[str, Any] = {}
    schema = output_schema_of(f)
    if schema is not None and f.output is not None and f.output.expression is None:
        output["schema"] = schema
    if f.output is not None and f.output.transform is not None:
        output["transform"] = {"type": f.output.transform.type, "expression": f.output.transform.expression}
    return {"output": output} if output else {}


def idempotency(f: NodeFields, context: LoweringContext, args: dict[str, Any]) -> dict[str, Any]:
    """C-49: off unless asked for; the key is the node and its resolved input, or the author's expression."""
    own = f.idempotency is not None
    settings = f.idempotency if own else context.workflow.policies.idempotency
    if settings is None or not settings.enabled:
        return {}
    at = context.at("idempotency") if own else "/policies/idempotency"
    key: Any = {"input": args}
    unsaid = settings.key_generation is None and settings.custom_expression is not None
    if unsaid or settings.key_generation == "custom_expression":
        if settings.custom_expression is None:
            hint = "Write `custom_expression: …` beside it."
            context.error_once_at("missing_field", "«custom_expression» is missing.", at, hint=hint)
        text = context.expression_at(settings.custom_expression, f"{at}/custom_expression")
        key = {"custom": {"$expr": text or "null"}}
    dedupe = dedupe_of(settings, key)
    return {"once": dedupe} if dedupe is not None else {}


def single_node(node: Node) -> Fragment:
    return Fragment((node,), node.id, node.id, node.id, ports={"failed": ((node.id, "failed"),)})


# ---- what surrounds the node -----------------------------------------------------------------------------------------


def needs_wrapper(f: NodeFields, type: NodeTraits) -> bool:
    """Is the node's output something else than the answer of the effect, so that an inner node must do the work?"""
    if type.wrapped(f):
        return True
    output = f.output
    if output is None or type.name in ("SWITCH", "COMPENSATION"):
        return False
    if output.expression is not None and not type.computes_output(f):
        return True
    return (output_schema_of(f) is not None or output.transform is not None) and not type.shapes_output(f)


def complete_fragment(fragment: Fragment, f: NodeFields, context: LoweringContext, text: str | None = None) -> Fragment:
    """The fragment of a type with what every node may have: a wrapper, a notification, and prefetched reads. `text` is
    the node's output as an expression over `output`, the inner node's answer."""
    if context.wrapped:
        fragment = _wrapped(fragment, f, context, text)
    transform = f.output.transform if f.output is not None else None
    if transform is not None and transform.expression and (why := jq_syntax_problem(transform.expression)):
        hint = "Correct the jq program, such as `.items[] | .id`."
        message = f"The transform cannot be read: {why}."
        context.error("expression_syntax", message, "output/transform/expression", hint=hint)
    return _with_external_reads(_with_notification(fragment, f, context), f, context)


def _wrapped(fragment: Fragment, f: NodeFields, context: LoweringContext, text: str | None) -> Fragment:
    """The author's node behind an inner one: it yields what is made of the inner answer, or a fallback's answer."""
    output = f.output
    if text is None and output is not None and output.expression is not None:
        text = context.expression(output.expression, "output/expression", "output")
    shape: dict[str, Any] = {}
    if output_schema_of(f) is not None and (text is not None or not context.node.type.shapes_output(f)):
        shape["schema"] = output_schema_of(f)
    if output is not None and output.transform is not None and not context.node.type.shapes_output(f):
        shape["transform"] = {"type": output.transform.type, "expression": output.transform.expression}
    base: dict[str, Any] = {
        "id": context.id, "origin": context.origin, "type": context.node.type.name, "label": f.name,
        "scope": context.scope, "join": MERGE,
        "only_if": f'nodes["{context.core}"].status != \'skipped\'', **_output_names(f, context),
    }  # fmt: skip
    if shape:
        args: dict[str, Any] = {"value": {"$expr": text or "output"}, "output": shape}
        if context.node.type.name == "APPROVAL" and text is None and "transform" not in shape:
            args["null_is_absent"] = True  # a comment may be missing where the schema does not require it
        node = Node(kind="task", effect=Effect(executor="shape", args=args), timeout_ms=ADDED_EFFECT_TIMEOUT_MS, **base)
    else:
        node = Node(kind="route", value={"$expr": text} if text is not None else None, **base)
    edge = Edge(id=f"{fragment.exit}>{context.id}", src=fragment.exit, dst=context.id, var="output")
    failed = (*fragment.ports.get("failed", ()), (context.id, "failed"))
    return dataclasses.replace(
        fragment, nodes=(*fragment.nodes, node), exit=context.id, edges=(*fragment.edges, edge),
        ports={**fragment.ports, "failed": failed},
    )  # fmt: skip


def _with_external_reads(fragment: Fragment, f: NodeFields, context: LoweringContext) -> Fragment:
    """An effect before the node fetches what its expressions read from outside; its value is journaled.

    A condition that needs none of it is evaluated first. A fetch that failed and was skipped skips the node."""
    if not context.external_reads:
        return fragment
    core = next(node for node in fragment.nodes if node.id == (fragment.first or fragment.core))
    before = Node(
        id=f"{context.id}.context", kind="task", type="CONTEXT", origin=context.node.id, scope=context.scope,
        join=core.join, effect=Effect(executor="context", args=context.external_reads.args()),
        timeout_ms=ADDED_EFFECT_TIMEOUT_MS,
        retry=retry_of(f.retry if f.retry is not None else context.workflow.policies.retry),
        out=(f"{context.node.id}.context",),
        only_if=core.only_if if core.only_if and not context.reads_outside(core.only_if) else None,
        on_error=(OnError(match="*", action="skip"),) if f.skip_on_error else (),
    )  # fmt: skip
    nodes = fragment.nodes
    if f.skip_on_error:
        guard = " && ".join(f"({condition})" for condition in ("default != null", core.only_if) if condition)
        nodes = tuple(msgspec.structs.replace(n, only_if=guard) if n.id == core.id else n for n in nodes)
    edge = Edge(id=f"{before.id}>{fragment.entry}", src=before.id, dst=fragment.entry)
    ports = {**fragment.ports, "failed": (*fragment.ports.get("failed", ()), (before.id, "failed"))}
    return dataclasses.replace(
        fragment, nodes=(before, *nodes), entry=before.id, edges=(edge, *fragment.edges), ports=ports
    )  # fmt: skip


# ---- notifications ---------------------------------------------------------------------------------------------------


def _with_notification(fragment: Fragment, f: NodeFields, context: LoweringContext) -> Fragment:
    """W-4.0.3: a node with `notification` notifies of its success, and with `on_start` of its start. Approvals and
    deployments have notifications of their own."""
    notification = f.notification
    if not isinstance(notification, dict) or not notification or context.node.type.name in _OWN_NOTIFICATIONS:
        return fragment
    params = {"node_id": context.node.id, "node_name": f.name or context.node.id}
    notifier = notification_node(notification, params, context, template="node_notification_v1")
    nodes, edges = list(fragment.nodes), list(fragment.edges)
    if notification.get("on_complete") is not False:
        status = f"{context.node.id}.status == 'succeeded'"
        done = '{"event": "completed", "output": body}'
        id = f"{fragment.exit}>{notifier.id}"
        edges.append(Edge(id=id, src=fragment.exit, dst=notifier.id, guard=status, transform=done))
    if notification.get("on_start") is True:
        value = {"event": "started", "output": None}
        start = Trigger(after_ms=0, interrupting=False, port="notify", action="value", value=value)
        at = next(i for i, node in enumerate(nodes) if node.id == fragment.core)
        nodes[at] = msgspec.structs.replace(nodes[at], triggers=(*nodes[at].triggers, start))
        edges.append(port_edge(fragment.core, "notify", notifier.id))
    return dataclasses.replace(fragment, nodes=(*nodes, notifier), edges=tuple(edges))


def port_edge(src: str, port: str, dst: str) -> Edge:
    """The edge from a port of a node."""
    return Edge(id=f"{src}:{port}>{dst}", src=src, port=port, dst=dst)


def notification_node(
    notification: dict[str, Any], params: dict[str, Any], context: LoweringContext, *, template: str,
    built_in: bool = False,
) -> Node:  # fmt: skip
    """A node that sends a notification when a token reaches it. It reads `event` and more from the token. The host
    delivers the message to each channel, and no path waits for that. Without channels the tenant's own are used
    (W-4.6.6). A template that is `built_in` need not be registered."""
    template_field = notification.get("template", template)
    id = template_field.get("id", template) if isinstance(template_field, dict) else template_field
    more = template_field.get("params") if isinstance(template_field, dict) else None
    params = {
        **params,
        **(context.template_tree(more, "notification/template/params") if isinstance(more, dict) else {}),
    }
    if not built_in or id != template:
        context.depend("template", id, "notification/template")
    channels = notification.get("channels")
    if channels is not None and (
        not isinstance(channels, list) or not all(isinstance(channel, str) for channel in channels)
    ):
        hint = 'Write `"channels": ["slack", "email"]`.'
        context.error("wrong_type", "«channels» must be a list of channels.", "notification/channels", hint=hint)
        channels = []
    for i, channel in enumerate(channels or ()):
        context.depend("channel", channel, f"notification/channels/{i}")
    live = {name: {"$expr": f"default.{name}"} for name in ("event", "escalation_level", "output")}
    message = {
        "channels": None if channels is None else context.template_tree(channels, "notification/channels"),
        "template": {"id": context.template_tree(id, "notification/template"), "params": {**params, **live}},
    }
    return Node(
        id=f"{context.id}.notify", kind="end", type="NOTIFY", origin=context.node.id, scope=context.scope, join=MERGE,
        value=message, on_error=(OnError(match="*", action="skip"),),
    )  # fmt: skip


# ---- settings --------------------------------------------------------------------------------------------------------


def read_duration(block: dict[str, Any], context: LoweringContext, path: str) -> int | None:
    """The duration that a block of fields gives, its units summed; None when it gives none."""
    total: float | None = None
    for unit, factor in _UNITS.items():
        value = block.get(unit)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value * factor <= limits.MS:
            most = limits.MS // factor
            hint = f"Write a number from 0 to {most}: ten years."
            context.error("wrong_type", f"«{unit}» must be a number from 0 to {most}.", f"{path}/{unit}", hint=hint)
            value = 0
        total = (total or 0) + value * factor
    return None if total is None else round(total)


def report_unused_fields(f: NodeFields, context: LoweringContext, *names: str) -> None:
    """W-4.0.3: fields that every node accepts are reported where they change nothing."""
    for name in names:
        if getattr(f, name, None) is not None and context.node.raw.get(name) is not None:
            message = f"«{name}» changes nothing at a {context.node.type.name}."
            context.info("idle_setting", message, name, hint="Leave it out, or set it where the work is done.")
