"""sendTask and receiveTask: a message or a signal goes out, or is waited for."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import KEPT, ElementType, Fragment, plain
from penstock.lang.process.nodes.parts import VARIABLES, activity_of, base_of, core_id, repeated, work_of
from penstock.net.model import Effect, Node, Trigger


def lower_send(site: LoweringContext) -> Fragment:
    f = activity_of(site)
    kind = "signal" if f.signal else "message"
    return work_of(site, publish(site, kind, name_of_task(site), f.payload), agent=True)


def publish(site: LoweringContext, kind: str, name: str, payload: Any) -> Effect:
    """All variables go along unless the author says what does."""
    body = VARIABLES if payload is None else site.value(payload, "payload")
    return Effect(executor="publish", args={"kind": kind, "name": name, "payload": body})


def lower_receive(site: LoweringContext) -> Fragment:
    """It rests like a catch event: nobody has it on the desk."""
    f = activity_of(site)
    node = Node(
        **base_of(site, core_id(site.element)), kind="wait", sets=KEPT,
        triggers=(news_of(site, name_of_task(site), f.correlation, one=not f.signal),),
    )  # fmt: skip
    return repeated(plain(node), f, site)


def name_of_task(site: LoweringContext) -> str:
    f = activity_of(site)
    news = site.shared.definition.news
    name = f.message or f.signal
    if not name:
        hint = 'Write `"message": "…"`, or `"signal": "…"`.'
        site.error("missing_field", f"A {f.bpmn or f.type} needs the name of a message or signal.", hint=hint)
    return news.get("signals" if f.signal else "messages", {}).get(name, name)


def news_of(site: LoweringContext, name: str, correlation: dict[str, Any] | None, **parts: Any) -> Trigger:
    """A message or signal that is waited for; with a correlation only one whose members have these values."""
    wanted = site.value(correlation, "correlation") if correlation else None
    match = "fn.matches_filter(event, filter)" if wanted is not None else None
    if wanted is not None:
        site.shared.carried.add("tenant_config")
    return Trigger(kind="signal", name=name.replace("${", "$ {"), filter=wanted, match=match, **parts)


SEND_TASK = ElementType("sendTask", lower_send, "Sends a message or a signal.", work=True)
RECEIVE_TASK = ElementType("receiveTask", lower_receive, "Waits for a message or a signal.")
