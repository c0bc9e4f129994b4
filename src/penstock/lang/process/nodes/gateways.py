"""The gateways: each is both a split and a join (P-3.4.4)."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import KEPT, ElementType, Fragment, plain
from penstock.lang.process.nodes.events import trigger_of
from penstock.lang.process.nodes.messages import name_of_task, news_of
from penstock.net.model import ALL, INCLUSIVE, MERGE, Node, Trigger


def _node(site: LoweringContext, **parts: Any) -> Fragment:
    f = site.element.gateway
    assert f is not None
    return plain(Node(id=site.id, type=f.type or "", label=f.name, scope=site.scope, **parts))


def lower_exclusive(site: LoweringContext) -> Fragment:
    """P-3.2.12: the first branch whose condition holds; P-X.11: with none the submit is refused."""
    return _node(site, join=MERGE, split="first")


def lower_parallel(site: LoweringContext) -> Fragment:
    """P-3.4.4: waits for all ways in, and takes all ways out."""
    return _node(site, join=ALL)


def lower_inclusive(site: LoweringContext) -> Fragment:
    """P-X.10: every branch whose condition holds, and the join waits for those that were taken."""
    return _node(site, join=INCLUSIVE, split="every")


def lower_event_based(site: LoweringContext) -> Fragment:
    """Whatever comes first decides the way: every event after it is a trigger with a port of its own."""
    triggers: list[Trigger] = []
    for flow in site.shared.graph.outs[site.id]:
        target = site.shared.definition.elements[flow.fields.target]
        other = site.shared.site(target)
        activity, event = target.activity, target.event
        if event is not None and event.position == "catch" and event.trigger in ("timer", "message", "signal"):
            triggers.append(trigger_of(other, port=target.id))
        elif activity is not None and activity.bpmn == "receiveTask":
            one = not activity.signal
            triggers.append(news_of(other, name_of_task(other), activity.correlation, port=target.id, one=one))
        else:
            message = f"After «{site.element.name}» comes «{target.name}», for which nobody can wait."
            hint = "An event-based gateway leads to timer, message or signal events, or to receive tasks."
            at = flow.pointer
            site.shared.report.error("event_gateway_target", message, at, hint=hint, node=site.id)
    f = site.element.gateway
    assert f is not None
    node = Node(
        id=site.id, kind="wait", type=f.type or "", label=f.name, scope=site.scope, join=MERGE,
        triggers=tuple(triggers) or (Trigger(),), sets=KEPT,
    )  # fmt: skip
    return plain(node)


EXCLUSIVE = ElementType("exclusiveGateway", lower_exclusive, "Takes the first way whose condition holds.")
PARALLEL = ElementType("parallelGateway", lower_parallel, "Takes all ways; joins all of them.")
INCLUSIVE_GATEWAY = ElementType("inclusiveGateway", lower_inclusive, "Takes every way whose condition holds.")
EVENT_BASED = ElementType("eventBasedGateway", lower_event_based, "Goes the way of whatever comes first.")
