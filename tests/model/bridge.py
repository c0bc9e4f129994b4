"""The same net twice: a net of the model as a net of the product.

Every expression of the model's net must be an `Fn`, which carries the text; `DEFAULT` becomes `default: true`.
`count(node, epoch)` of the model is `counters['node']` in the product: visits in the firing's own scope and epoch.
"""

from __future__ import annotations

from typing import Any

from penstock.net import model as product
from tests.model import net as model


class NoText(Exception):
    """An expression that has no text, so the product cannot run it."""


def text(expr: Any, where: str) -> str | None:
    if expr is None:
        return None
    if not isinstance(expr, model.Fn):
        raise NoText(where)
    return expr.text


def to_product(net: model.Net, name: str = "model") -> product.Net:
    return product.Net(
        name=name,
        nodes=tuple(to_node(n) for n in net.nodes),
        edges=tuple(to_edge(e) for e in net.edges),
        limits=dict(net.limits),
        on_stuck=net.on_stuck,
        on_fail=net.on_fail,
        undo_policy=net.undo_policy,
        run_retry=product.RunRetry(max=net.retry_run[0], delay_ms=net.retry_run[1]),
        active_timeout_ms=net.active_ms,
        max_visits=net.max_visits,
        tracks_origin=net.tracks,
    )


def to_edge(edge: model.Edge) -> product.Edge:
    is_default = edge.guard is model.DEFAULT
    return product.Edge(
        id=edge.id,
        src=edge.src,
        dst=edge.dst,
        port=edge.port,
        guard=None if is_default else text(edge.guard, f"guard of {edge.id}"),
        default=is_default,
        raises=edge.raises,
        role=edge.role,
        transform=text(edge.transform, f"transform of {edge.id}"),
        ttl_ms=edge.ttl,
        capacity=edge.capacity,
        priority=edge.priority,
    )


def to_node(node: model.Node) -> product.Node:
    return product.Node(
        id=node.id,
        kind=node.kind,
        origin=node.origin,
        scope=node.scope,
        priority=node.priority,
        join=product.Join(mode=node.join.mode, k=node.join.k, take=node.join.take, late=node.join.late),
        split=node.split,
        no_match=node.no_match,
        sets=tuple(product.Set(name=name, expr=text(expr, f"{name} of {node.id}")) for name, expr in node.sets),
        out=node.out,
        max_iter=node.max_iter,
        join_timeout_ms=node.join_timeout,
        group=node.group,
        off_path=node.off_path,
        effect=to_effect(node),
        retry=to_retry(node.retry),
        on_error=tuple(product.OnError(match=match, action=action) for match, action in node.on_error),
        poll=to_poll(node),
        undo=node.undo,
        undo_on=node.undo_on,
        undo_if=text(node.undo_if, f"undo_if of {node.id}"),
        on_final=node.on_final,
        late_success=node.late_success,
        work=to_work(node),
        triggers=tuple(to_trigger(t, f"{node.id} {i}") for i, t in enumerate(node.triggers)),
        body=to_body(node),
        ends=node.ends,
        only=node.only,
    )


def to_effect(node: model.Node) -> product.Effect | None:
    """The executor is the model's effect name; without one, the kind."""
    if node.kind not in ("task", "call") and not (node.kind == "work" and (node.agent or node.modes)):
        return None
    return product.Effect(executor=node.effect or node.kind, args=to_value(node.arg, f"arg of {node.id}"))


def to_value(expr: Any, where: str) -> dict | None:
    found = text(expr, where)
    return None if found is None else {"$expr": found}


def to_retry(retry: model.Retry) -> product.Retry:
    return product.Retry(
        max=retry.max,
        base_ms=retry.base,
        kind=retry.kind,
        multiplier=retry.multiplier,
        cap_ms=retry.cap,
        jitter=retry.jitter,
        delays_ms=retry.delays,
        on=retry.on,
    )


def to_poll(node: model.Node) -> product.Poll | None:
    if node.poll is None:
        return None
    return product.Poll(
        every_ms=node.poll.every,
        until=text(node.poll.until, f"until of {node.id}"),
        fail_if=text(node.poll.fail_if, f"fail_if of {node.id}"),
        max_errors=node.poll.max_errors,
    )


def to_work(node: model.Node) -> product.Work | None:
    if node.kind != "work":
        return None
    return product.Work(
        agent=node.agent,
        approve=node.approve,
        approve_if=text(node.approve_if, f"approve_if of {node.id}"),
        quorum=node.quorum,
        all_of=node.all_of,
        candidates=list(node.candidates) or None,
        modes=node.modes,
    )


def to_trigger(trigger: model.Trigger, where: str) -> product.Trigger:
    return product.Trigger(
        port=trigger.port,
        kind=trigger.kind,
        after_ms=trigger.after,
        at=text(trigger.at, f"at of trigger {where}"),
        name=trigger.name,
        filter=to_value(trigger.filter, f"filter of trigger {where}"),
        match=text(trigger.match, f"match of trigger {where}"),
        interrupting=trigger.interrupting,
        repeat_ms=trigger.repeat,
        times=trigger.times,
        action=trigger.action,
        value=trigger.value,
        code=trigger.code,
    )


def to_body(node: model.Node) -> product.Body | None:
    if node.kind != "scope":
        return None
    body = node.body
    branches = [
        product.Branch(key=key, entry=entry, guard=text(guard, f"branch {key} of {node.id}"), required=required)
        for key, entry, guard, required in body.branches
    ]
    return product.Body(
        mode=body.mode,
        branches=tuple(branches),
        items=text(body.items, f"items of {node.id}"),
        entry=body.entry,
        again=text(body.again, f"again of {node.id}"),
        until=text(body.until, f"until of {node.id}"),
        need=0 if body.need == "all" else body.need,
        timeout_ms=body.timeout,
        on_fail=body.on_fail,
        collect=body.collect,
        locals=body.locals,
    )
