"""sendTask and receiveTask: send a message or a signal, or wait for one."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.answered_by import answerable
from penstock.lang.process.nodes.contract import (
    KEEP_OUTPUT,
    ElementType,
    Fragment,
    activity_fields,
    core_id,
    node_base,
    single_node,
)
from penstock.lang.process.nodes.multi_instance import with_instances
from penstock.lang.process.nodes.waits import waited_already, with_way_past
from penstock.net.model import Effect, Node, Trigger

#: in the name of a trigger, where expressions are computed: a name that somebody has drawn has none
_LITERAL = "${'${'}"


def lower_send(context: LoweringContext) -> Fragment:
    f = activity_fields(context)
    kind = "signal" if f.signal else "message"
    return work_item_fragment(context, publish(context, kind, task_message_name(context), f.payload), agent=True)


def publish(context: LoweringContext, kind: str, name: str, payload: Any) -> Effect:
    """The effect that publishes a message or signal; its payload is by default all variables."""
    body = VARIABLES if payload is None else context.value(payload, "payload")
    return Effect(executor="publish", args={"kind": kind, "name": name, "payload": body})


def lower_receive(context: LoweringContext) -> Fragment:
    """Waits like a catch event; it is no work item. After an event-based gateway, which has waited, it passes on."""
    f = activity_fields(context)
    if waited_already(context):
        return single_node(Node(**node_base(context, context.id)))
    base = node_base(context, core_id(context.element))
    trigger = message_trigger(context, task_message_name(context), f.correlation, one=not f.signal)
    if f.answered_by:
        return with_instances(answerable(context, trigger, base, f.answered_by), context)
    node = single_node(Node(**base, kind="wait", sets=KEEP_OUTPUT, triggers=(trigger,)))
    return with_instances(node, context) if f.multi is not None else with_way_past(node, context)


def task_message_name(context: LoweringContext) -> str:
    f = activity_fields(context)
    declared = context.shared.definition.declared_events
    name = f.message or f.signal
    if not name:
        hint = 'Write `"message": "…"`, or `"signal": "…"`.'
        context.error("missing_field", f"A {f.bpmn or f.type} needs the name of a message or signal.", hint=hint)
    return declared.get("signals" if f.signal else "messages", {}).get(name, name)


def message_trigger(context: LoweringContext, name: str, correlation: dict[str, Any] | None, **parts: Any) -> Trigger:
    """The trigger of a message or signal; with a correlation only one whose members have these values."""
    filter = context.value(correlation, "correlation") if correlation else None
    match = "fn.matches_filter(event, filter)" if filter is not None else None
    if filter is not None:
        context.shared.carried.add("tenant_config")
    return Trigger(kind="signal", name=name.replace("${", _LITERAL), filter=filter, match=match, **parts)


SEND_TASK = ElementType("sendTask", lower_send, "Sends a message or a signal.", work=True)
RECEIVE_TASK = ElementType("receiveTask", lower_receive, "Waits for a message or a signal.")
