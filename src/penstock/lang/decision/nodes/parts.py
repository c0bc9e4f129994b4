"""What the node types share: the author's node as a net node, with its policies, its frame and what it tells."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec

from penstock.lang.decision import bounds
from penstock.lang.decision.literals import jq_problem
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Fragment, GuardedFields, NodeFields, NodeType
from penstock.lang.decision.policies import breaker_of, dedupe_of, on_open, retry_of
from penstock.net.model import INCLUSIVE, MERGE, Edge, Effect, Node, OnError, Set, Trigger

HOUR = 3_600_000
#: C-35: one family of units everywhere a duration is written.
_UNITS = {
    "duration_ms": 1, "duration_seconds": 1000, "duration_minutes": 60_000, "duration_hours": HOUR,
    "duration_days": 24 * HOUR,
}  # fmt: skip
#: What a run fetches, tells or checks by itself has this long, unless it is retried.
USUAL_MS = 30_000


# ---- the author's node -----------------------------------------------------------------------------------------------


def node_of(f: NodeFields, site: LoweringContext, **parts: Any) -> Node:
    """The node that does the work; `parts` wins. In a frame it is an inner one, and its output has no name yet."""
    base: dict[str, Any] = {
        "id": site.core, "type": site.step.type.name, "label": f.name, "scope": site.scope, "join": INCLUSIVE,
        "origin": site.origin, "only_if": guard_of(f, site),
        "on_error": (OnError(match="*", action="skip"),) if f.skip_on_error else (),
    }  # fmt: skip
    if not site.framed:
        base |= _named(f, site)
    return Node(**{**base, **parts})


def _named(f: NodeFields, site: LoweringContext) -> dict[str, Any]:
    """The names of an output, and what is set after it."""
    found: dict[str, Any] = {"sets": sets_of(f, site)}
    name = site.shared.names.out[site.step.id]
    if name:
        found["out"] = (name,)
        if site.shared.shown is None or name in site.shared.shown:
            found["result"] = name
    return found


def guard_of(f: NodeFields, site: LoweringContext, *more: str) -> str | None:
    texts = [site.expression(f.condition, "condition")] if isinstance(f, GuardedFields) else []
    held = [one for one in (*texts, *more) if one]
    return " && ".join(f"({one})" for one in held) if held else None


def sets_of(f: NodeFields, site: LoweringContext) -> tuple[Set, ...]:
    """W-6.3.2: all values are computed before any is written."""
    given = f.side_effects.set_variables if f.side_effects is not None else {}
    return tuple(
        Set(name=name, value=_present(site.tree(value, f"side_effects/set_variables/{name}", "output")))
        for name, value in given.items()
    )


def _present(value: Any) -> Any:
    return {"$expr": "null"} if value is None else value


# ---- asking ----------------------------------------------------------------------------------------------------------


def task_of(f: NodeFields, site: LoweringContext, executor: str, args: dict[str, Any], **parts: Any) -> Fragment:
    """A node that asks an executor, with everything that policies put around it."""
    gates = {**idempotency(f, site, args), **parts.pop("gates", {})}
    if "once" in gates and "dedupe" not in gates:
        gates["dedupe"] = gates.pop("once")
    policies = site.workflow.policies
    breaker = f.circuit_breaker if f.circuit_breaker is not None else policies.circuit_breaker
    effect = Effect(
        executor=executor,
        args={**args, **(output_args(f) if site.step.type.finishes(f) else {})},
        sees_run=parts.pop("sees_run", False),
        breaker=breaker_of(breaker, f"{site.workflow.top.id}/{site.step.id}"),
        **gates,
    )
    rows = on_open(breaker, fallback=site.fallback) if effect.breaker is not None else ()
    rows = (*rows, *parts.pop("on_error", ()))
    if f.skip_on_error:
        rows = (*rows, OnError(match="*", action="skip"))
    parts = {
        "retry": retry_of(f.retry if f.retry is not None else policies.retry),
        "timeout_ms": f.timeout_ms or site.step.type.timeout_ms,
        **parts,
    }
    return plain(node_of(f, site, kind="task", effect=effect, on_error=rows, **parts))


def anything(schema: Any) -> bool:
    """Does everything fit it?"""
    return schema is None or schema is True or schema == {}


def schema_of(f: NodeFields) -> Any:
    """What a node's output is held against, if there is something to be held against."""
    return None if f.output is None or anything(f.output.schema) else f.output.schema


def output_args(f: NodeFields) -> dict[str, Any]:
    """What the executor makes of an answer before it is one. A schema is for what comes out in the end."""
    found: dict[str, Any] = {}
    schema = schema_of(f)
    if schema is not None and f.output is not None and f.output.expression is None:
        found["schema"] = schema
    if f.output is not None and f.output.transform is not None:
        found["transform"] = {"type": f.output.transform.type, "expression": f.output.transform.expression}
    return {"output": found} if found else {}


def idempotency(f: NodeFields, site: LoweringContext, args: dict[str, Any]) -> dict[str, Any]:
    """C-49: off unless asked for; the key is the node and its resolved input, or the author's expression."""
    own = f.idempotency is not None
    wanted = f.idempotency if own else site.workflow.policies.idempotency
    if wanted is None or not wanted.enabled:
        return {}
    at = site.at("idempotency") if own else "/policies/idempotency"
    key: Any = {"input": args}
    unsaid = wanted.key_generation is None and wanted.custom_expression is not None
    if unsaid or wanted.key_generation == "custom_expression":
        if wanted.custom_expression is None:
            hint = "Write `custom_expression: …` beside it."
            site.tell_at("missing_field", "«custom_expression» is missing.", at, hint=hint)
        text = site.expression_at(wanted.custom_expression, f"{at}/custom_expression")
        key = {"custom": {"$expr": text or "null"}}
    dedupe = dedupe_of(wanted, key)
    return {"once": dedupe} if dedupe is not None else {}


def plain(node: Node) -> Fragment:
    return Fragment((node,), node.id, node.id, node.id, ports={"failed": ((node.id, "failed"),)})


# ---- before it, and after it -----------------------------------------------------------------------------------------


def framed_by(f: NodeFields, type: NodeType) -> bool:
    """Is the author's node's output something else than what the inner one answered?"""
    if type.framed(f):
        return True
    output = f.output
    if output is None or type.name in ("SWITCH", "COMPENSATION"):
        return False
    if output.expression is not None and not type.computed(f):
        return True
    return (schema_of(f) is not None or output.transform is not None) and not type.finishes(f)


def completed(fragment: Fragment, f: NodeFields, site: LoweringContext, text: str | None = None) -> Fragment:
    """Whatever the type made, with what every node may have: a frame, a message, and what it reads from outside.
    `text` is the node's output as an expression over `output`, the inner one's answer."""
    if site.framed:
        fragment = _frame(fragment, f, site, text)
    made = f.output.transform if f.output is not None else None
    if made is not None and made.expression and (why := jq_problem(made.expression)):
        hint = "Correct the jq program, such as `.items[] | .id`."
        message = f"The transform cannot be read: {why}."
        site.error("expression_syntax", message, "output/transform/expression", hint=hint)
    return _fetched(_told(fragment, f, site), f, site)


def _frame(fragment: Fragment, f: NodeFields, site: LoweringContext, text: str | None) -> Fragment:
    """The author's node stands behind an inner one: it yields what is made of the answer, or what another answered."""
    output = f.output
    if text is None and output is not None and output.expression is not None:
        text = site.expression(output.expression, "output/expression", "output")
    shape: dict[str, Any] = {}
    if schema_of(f) is not None and (text is not None or not site.step.type.finishes(f)):
        shape["schema"] = schema_of(f)
    if output is not None and output.transform is not None and not site.step.type.finishes(f):
        shape["transform"] = {"type": output.transform.type, "expression": output.transform.expression}
    base: dict[str, Any] = {
        "id": site.id, "origin": site.origin, "type": site.step.type.name, "label": f.name, "scope": site.scope,
        "join": MERGE, "only_if": f'nodes["{site.core}"].status != \'skipped\'', **_named(f, site),
    }  # fmt: skip
    if shape:
        args: dict[str, Any] = {"value": {"$expr": text or "output"}, "output": shape}
        if site.step.type.name == "APPROVAL" and text is None and "transform" not in shape:
            args["null_is_absent"] = True  # nobody has to comment where the schema does not require it
        node = Node(kind="task", effect=Effect(executor="shape", args=args), timeout_ms=USUAL_MS, **base)
    else:
        node = Node(kind="route", value={"$expr": text} if text is not None else None, **base)
    way = Edge(id=f"{fragment.exit}>{site.id}", src=fragment.exit, dst=site.id, var="output")
    failed = (*fragment.ports.get("failed", ()), (site.id, "failed"))
    return dataclasses.replace(
        fragment, nodes=(*fragment.nodes, node), exit=site.id, edges=(*fragment.edges, way),
        ports={**fragment.ports, "failed": failed},
    )  # fmt: skip


def _fetched(fragment: Fragment, f: NodeFields, site: LoweringContext) -> Fragment:
    """What the node reads from outside the run is fetched before it, by an effect whose value is journaled. A condition
    that needs none of it is asked first; what is skipped because it could not be fetched skips the node."""
    if not site.needs:
        return fragment
    core = next(node for node in fragment.nodes if node.id == fragment.core)
    before = Node(
        id=f"{site.id}.context", kind="task", type="CONTEXT", origin=site.step.id, scope=site.scope, join=core.join,
        effect=Effect(executor="context", args=site.needs.args()), timeout_ms=USUAL_MS,
        retry=retry_of(f.retry if f.retry is not None else site.workflow.policies.retry),
        out=(f"{site.step.id}.context",),
        only_if=core.only_if if core.only_if and not site.outside(core.only_if) else None,
        on_error=(OnError(match="*", action="skip"),) if f.skip_on_error else (),
    )  # fmt: skip
    nodes = fragment.nodes
    if f.skip_on_error:
        held = " && ".join(f"({one})" for one in ("default != null", core.only_if) if one)
        nodes = tuple(msgspec.structs.replace(n, only_if=held) if n.id == core.id else n for n in nodes)
    way = Edge(id=f"{before.id}>{fragment.entry}", src=before.id, dst=fragment.entry)
    ports = {**fragment.ports, "failed": (*fragment.ports.get("failed", ()), (before.id, "failed"))}
    return dataclasses.replace(
        fragment, nodes=(before, *nodes), entry=before.id, edges=(way, *fragment.edges), ports=ports
    )  # fmt: skip


# ---- telling ---------------------------------------------------------------------------------------------------------


def _told(fragment: Fragment, f: NodeFields, site: LoweringContext) -> Fragment:
    """W-4.0.3: a node with `notification` tells of its success, and of its begin where `on_start` asks for it. An
    approval tells by itself."""
    said = f.notification
    if not isinstance(said, dict) or not said or site.step.type.name in ("APPROVAL", "COMPENSATION"):
        return fragment
    about = {"node_id": site.step.id, "node_name": f.name or site.step.id}
    tellers = tell(said, about, site, template="node_notification_v1")
    nodes, edges = list(fragment.nodes), list(fragment.edges)
    if said.get("on_complete") is not False:
        status = f"{site.step.id}.status == 'succeeded'"
        done = '{"event": "completed", "output": body}'
        edges += [
            Edge(id=f"{fragment.exit}>{one.id}", src=fragment.exit, dst=one.id, guard=status, transform=done)
            for one in tellers if one.scope == site.scope
        ]  # fmt: skip
    if said.get("on_start") is True:
        value = {"event": "started", "output": None}
        start = Trigger(after_ms=0, interrupting=False, port="notify", action="value", value=value)
        at = next(i for i, node in enumerate(nodes) if node.id == fragment.core)
        nodes[at] = msgspec.structs.replace(nodes[at], triggers=(*nodes[at].triggers, start))
        edges += told_by(fragment.core, "notify", tellers, site)
    return dataclasses.replace(fragment, nodes=(*nodes, *tellers), edges=tuple(edges))


def told_by(src: str, port: str, tellers: tuple[Node, ...], site: LoweringContext) -> list[Edge]:
    """Ways from a port to everyone who tells."""
    return [
        Edge(id=f"{src}:{port}>{one.id}", src=src, port=port, dst=one.id)
        for one in tellers if one.scope == site.scope
    ]  # fmt: skip


def tell(said: dict[str, Any], about: dict[str, Any], site: LoweringContext, *, template: str) -> tuple[Node, ...]:
    """A node that says what people are told, when a token reaches it; the host delivers it, to each channel for itself,
    and nobody waits for that. It reads `event` and more from the token. Without channels the tenant's own are used
    (W-4.6.6)."""
    given = said.get("template", template)
    id = given.get("id", template) if isinstance(given, dict) else given
    more = given.get("params") if isinstance(given, dict) else None
    about = {**about, **(site.tree(more, "notification/template/params") if isinstance(more, dict) else {})}
    site.depend("template", id, "notification/template")
    channels = said.get("channels")
    if channels is not None and (not isinstance(channels, list) or not all(isinstance(one, str) for one in channels)):
        hint = 'Write `"channels": ["slack", "email"]`.'
        site.error("wrong_type", "«channels» must be a list of channels.", "notification/channels", hint=hint)
        channels = []
    for i, channel in enumerate(channels or ()):
        site.depend("channel", channel, f"notification/channels/{i}")
    live = {name: {"$expr": f"default.{name}"} for name in ("event", "escalation_level", "output")}
    message = {
        "channels": None if channels is None else site.tree(channels, "notification/channels"),
        "template": {"id": site.tree(id, "notification/template"), "params": {**about, **live}},
    }
    node = Node(
        id=f"{site.id}.notify", kind="end", type="NOTIFY", origin=site.step.id, scope=site.scope, join=MERGE,
        value=message, on_error=(OnError(match="*", action="skip"),),
    )  # fmt: skip
    return (node,)


# ---- small things ----------------------------------------------------------------------------------------------------


def duration_of(block: dict[str, Any], site: LoweringContext, path: str) -> int | None:
    """The milliseconds of a block, its units summed; None when it has none."""
    found: float | None = None
    for unit, factor in _UNITS.items():
        value = block.get(unit)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value * factor <= bounds.MS:
            most = bounds.MS // factor
            hint = f"Write a number from 0 to {most}: ten years."
            site.error("wrong_type", f"«{unit}» must be a number from 0 to {most}.", f"{path}/{unit}", hint=hint)
            value = 0
        found = (found or 0) + value * factor
    return None if found is None else round(found)


def route(id: str, site: LoweringContext, **parts: Any) -> Node:
    """An inner node that only hands on."""
    return Node(id=id, origin=site.step.id, scope=site.scope, **{"join": MERGE, **parts})


def idle(f: NodeFields, site: LoweringContext, *names: str) -> None:
    """W-4.0.3: accepted on any node; where it cannot do anything that is said."""
    for name in names:
        if getattr(f, name, None) is not None and site.step.raw.get(name) is not None:
            message = f"«{name}» changes nothing at a {site.step.type.name}."
            site.info("idle_setting", message, name, hint="Leave it out, or set it where the work is done.")
