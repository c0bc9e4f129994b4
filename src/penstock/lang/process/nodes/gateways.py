"""The gateways; each is both a split and a join (P-3.4.4)."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.event_positions import AMONG_SEVERAL
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.asking import ask_fragment, asks
from penstock.lang.process.nodes.contract import KEEP_OUTPUT, ElementType, Fragment, single_node
from penstock.lang.process.nodes.event_triggers import each_trigger, trigger_of
from penstock.lang.process.nodes.messages import message_trigger, task_message_name
from penstock.lang.process.schema import Element
from penstock.net.model import ALL, INCLUSIVE, MERGE, Node, Trigger


def _node(context: LoweringContext, **parts: Any) -> Fragment:
    f = context.element.gateway
    assert f is not None
    return single_node(Node(id=context.id, type=f.type or "", label=f.name, scope=context.scope, **parts))


def _asking(context: LoweringContext, fragment: Fragment) -> Fragment:
    """Where the gateway asks, somebody answers before the ways part."""
    ask = asks(context.element, context.shared)
    return fragment if ask is None else ask_fragment(context, ask, fragment.node(context.id))


def lower_exclusive(context: LoweringContext) -> Fragment:
    """Takes the first branch whose condition holds (P-3.2.12); with none the submit is refused (P-X.11)."""
    return _asking(context, _node(context, join=MERGE, split="first"))


def lower_parallel(context: LoweringContext) -> Fragment:
    """Waits for all incoming flows, and takes all outgoing ones (P-3.4.4)."""
    return _node(context, join=ALL)


def lower_inclusive(context: LoweringContext) -> Fragment:
    """Takes every branch whose condition holds; the join waits for those that were taken (P-X.10)."""
    return _asking(context, _node(context, join=INCLUSIVE, split="every"))


def lower_event_based(context: LoweringContext) -> Fragment:
    """The event that comes first decides: each event after the gateway is a trigger with its own port."""
    triggers: dict[str, tuple[Trigger, ...]] = {}  # by target: two flows to one event are one way
    for flow in context.shared.graph.outgoing[context.id]:
        target = context.shared.definition.elements[flow.fields.target]
        if target.id in triggers:
            continue
        awaited = _awaited(target, context)
        if not awaited:
            message = f"After «{context.element.name}» comes «{target.name}», for which nobody can wait."
            hint = "An event-based gateway leads to timer, message, signal or conditional events, or to receive tasks."
            context.shared.report.error("event_gateway_target", message, flow.pointer, hint=hint, node=context.id)
            continue
        triggers[target.id] = awaited
        _check_target(target, context)
    f = context.element.gateway
    assert f is not None
    if f.all_events or context.shared.graph.instantiates(context.element):
        return _node(context, join=MERGE, split="all" if f.all_events else "first")
    every = tuple(trigger for awaited in triggers.values() for trigger in awaited)
    node = Node(
        id=context.id, kind="wait", type=f.type or "", label=f.name, scope=context.scope, join=MERGE,
        triggers=every or (Trigger(),), sets=KEEP_OUTPUT,
    )  # fmt: skip
    return single_node(node)


def _awaited(target: Element, context: LoweringContext) -> tuple[Trigger, ...]:
    """What ends the wait for an event or a receive task after the gateway (BPMN 10.6.6)."""
    other, activity, event = context.shared.context_of(target), target.activity, target.event
    if event is not None and event.position == "catch" and event.trigger in (*AMONG_SEVERAL["catch"], "multiple"):
        return tuple(trigger_of(one, port=target.id) for one in each_trigger(other))
    if activity is not None and activity.bpmn == "receiveTask":
        name = task_message_name(other)
        return (message_trigger(other, name, activity.correlation, port=target.id, one=not activity.signal),)
    return ()


def _check_target(target: Element, context: LoweringContext) -> None:
    """BPMN 10.6.6: the gateway waits for it, so nothing may be attached to it."""
    graph, gateway = context.shared.graph, context.element.gateway
    if target.activity is None or gateway is None or gateway.all_events:
        return
    if graph.boundaries.get(target.id) or target.activity.multi is not None:
        why = "it has a boundary event" if graph.boundaries.get(target.id) else "it has several instances"
        message = f"«{context.element.name}» waits for «{target.name}», but {why}: there nobody would wait."
        hint = "Lead only the event-based gateway to it, and let an event of its own follow elsewhere."
        context.shared.report.error("event_gateway_target", message, target.pointer, hint=hint, node=target.id)


EXCLUSIVE = ElementType("exclusiveGateway", lower_exclusive, "Takes the first way whose condition holds.")
PARALLEL = ElementType("parallelGateway", lower_parallel, "Takes all ways; joins all of them.")
INCLUSIVE_GATEWAY = ElementType("inclusiveGateway", lower_inclusive, "Takes every way whose condition holds.")
EVENT_BASED = ElementType("eventBasedGateway", lower_event_based, "Goes the way of whatever comes first.")
