"""What undoes an activity (P-X.18): a tool, or the handler of another activity; off every path, one step each."""

from __future__ import annotations

from typing import Any

from penstock.lang.process import limits
from penstock.lang.process.fields import Compensation
from penstock.lang.process.lowering_context import LoweringContext, quoted
from penstock.lang.process.nodes.contract import Fragment
from penstock.lang.process.nodes.parts import core_id
from penstock.lang.process.nodes.script_task import code_args
from penstock.lang.process.nodes.tasks import agent_args
from penstock.lang.process.schema import Element
from penstock.net.model import Effect, Node, Retry, Work

UNDONE = {"$expr": "undone"}


def undone(fragment: Fragment, site: LoweringContext) -> Fragment:
    """The same piece of the net, with what undoes its work."""
    node = _handler(site)
    if node is None:
        return fragment
    found = fragment.changed(fragment.core, undo=(node.id,))
    return Fragment((*found.nodes, node), found.entry, found.exit, found.core, found.host, found.edges)


def _handler(site: LoweringContext) -> Node | None:
    element, elements = site.element, site.shared.definition.elements
    named = site.shared.graph.handler_at(element.id) or element.undo
    if named is None:
        return None
    base: dict[str, Any] = {"id": f"{element.id}.undo", "origin": element.id, "off_path": True}
    if isinstance(named, Compensation):
        return _tool(base, named, site)
    if named == element.id:
        hint = "Name another activity, or a tool."
        site.error("compensation_target", f"«{element.name}» cannot undo itself.", "compensation", hint=hint)
        return None
    if named not in elements:
        return _tool(base, Compensation(tool=named), site)
    other = elements[named]
    if other.activity is None:
        hint = "Name an activity, or a tool."
        site.error("compensation_target", f"«{named}» is no activity and undoes nothing.", "compensation", hint=hint)
        return None
    return _activity(base, other, site)


def _tool(base: dict[str, Any], undo: Compensation, site: LoweringContext) -> Node:
    timeout = max(1, round(undo.timeout * 1000))
    f = site.element.activity
    path = "compensation/tool" if f is not None and isinstance(f.compensation, dict) else "compensation"
    site.shared.depends.append(("tool", undo.tool, site.at(path)))
    args: dict[str, Any] = {"tool": undo.tool, "data": UNDONE, "timeout_s": undo.timeout, "activity_id": site.id}
    if undo.params is not None:
        args["params"] = site.value(undo.params, "compensation/params", "undone")
    return Node(
        **base, kind="task", type="compensation", label=undo.tool, timeout_ms=timeout, retry=_retry(undo, site),
        effect=Effect(executor="tool", args=args),
    )  # fmt: skip


def _retry(undo: Compensation, site: LoweringContext) -> Retry:
    """P-X.21: none unless it is asked for."""
    if undo.retry is None:
        return Retry()
    most, wait = undo.retry.get("max", 0), undo.retry.get("backoff_ms", 1000)
    for name, value, bound in (("max", most, limits.RETRIES), ("backoff_ms", wait, limits.SECONDS * 1000)):
        if type(value) is not int or not 0 <= value <= bound:
            hint = 'Write `"retry": {"max": 5, "backoff_ms": 2000}`.'
            message = f"«{name}» of «retry» is a whole number from 0 to {bound}."
            site.error("wrong_type", message, "compensation/retry", hint=hint)
            return Retry()
    return Retry(max=most, base_ms=wait, cap_ms=max(wait, 30_000))


def _activity(base: dict[str, Any], other: Element, site: LoweringContext) -> Node | None:
    """The other activity's own work, done with what is to be undone: by an agent, a script or a person."""
    f, there = other.activity, site.shared.site(other)
    assert f is not None
    base |= {"type": f.bpmn or f.type or "", "label": f.name}
    if f.type == "subProcess" or f.multi is not None:
        message = f"«{other.name}» cannot undo «{site.element.name}»: a handler is one task."
        hint = "Name a human, service or script task, or a tool."
        site.error("compensation_target", message, "compensation", hint=hint)
        return None
    timeout = max(1, round(other.orchestration.timeout_s * 1000))
    if f.type == "scriptTask":
        args = {**code_args(there), "inputs": {"undone": UNDONE, "variables": {"$expr": "context.variables"}}}
        return Node(**base, kind="task", timeout_ms=timeout, effect=Effect(executor="code", args=args))
    args = {**agent_args(there), "input_data": {"undone": UNDONE}}
    if f.agent_mode == "AUTONOMOUS":
        return Node(**base, kind="task", timeout_ms=timeout, effect=Effect(executor="agent", args=args))
    data = {"undone": {"$expr": f"nodes[{quoted(core_id(site.element))}].output"}}
    prompt = {
        "kind": "work", "title": other.name, "instruction": f.instruction, "form": there.literal(f.form, "form"),
        "data": data, "activity_id": other.id, "activity_type": f.type, "agent_mode": "MANUAL", "agent": f.agent,
        "role": f.role, "priority": f.priority, "due": None, "approvers": [],
    }  # fmt: skip
    return Node(**base, kind="work", work=Work(prompt=prompt))
