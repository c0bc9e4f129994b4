"""The compensation of an activity (P-X.18): a tool or another activity, as one node that lies on no path."""

from __future__ import annotations

from typing import Any

from penstock.lang.process import limits
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.fields import Compensation
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.activities import VARIABLES
from penstock.lang.process.nodes.candidates import candidates_of_item
from penstock.lang.process.nodes.contract import Fragment, core_id
from penstock.lang.process.nodes.job_task import job_effect
from penstock.lang.process.nodes.script_task import code_args
from penstock.lang.process.nodes.tasks import agent_args, tool_args
from penstock.lang.process.schema import Element
from penstock.net.model import Effect, Node, Retry, Work

UNDONE = {"$expr": "undone"}


def with_compensation(fragment: Fragment, context: LoweringContext) -> Fragment:
    """The fragment with the node that undoes its work."""
    node = _handler_node(context)
    if node is None:
        return fragment
    whole = context.shared.graph.is_embedded(context.element)  # BPMN 13.5.5: instead of what was done in it
    changed = fragment.changed(fragment.core, undo=(node.id,), undo_whole=whole)
    return Fragment((*changed.nodes, node), changed.entry, changed.exit, changed.core, changed.host, changed.edges)


def _handler_node(context: LoweringContext) -> Node | None:
    element, elements = context.element, context.shared.definition.elements
    named = context.shared.graph.boundary_handler(element.id) or element.undo
    if named is None:
        return None
    base: dict[str, Any] = {"id": f"{element.id}.undo", "origin": element.id, "off_path": True}
    if isinstance(named, Compensation):
        return _tool_node(base, named, context)
    if named == element.id:
        hint = "Name another activity, or a tool."
        context.error("compensation_target", f"«{element.name}» cannot undo itself.", "compensation", hint=hint)
        return None
    if named not in elements:
        return _tool_node(base, Compensation(tool=named), context)
    other = elements[named]
    if other.activity is None:
        hint = "Name an activity, or a tool."
        context.error("compensation_target", f"«{named}» is no activity and undoes nothing.", "compensation", hint=hint)
        return None
    return _activity_node(base, other, context)


def _tool_node(base: dict[str, Any], undo: Compensation, context: LoweringContext) -> Node:
    timeout = max(1, round(undo.timeout * 1000))
    f = context.element.activity
    path = "compensation/tool" if f is not None and isinstance(f.compensation, dict) else "compensation"
    context.shared.dependencies.append(("tool", undo.tool, context.at(path)))
    args: dict[str, Any] = {"tool": undo.tool, "data": UNDONE, "timeout_s": undo.timeout, "activity_id": context.id}
    if undo.params is not None:
        args["params"] = context.value(undo.params, "compensation/params", "undone")
    return Node(
        **base, kind="task", type="compensation", label=undo.tool, timeout_ms=timeout, retry=_retry(undo, context),
        effect=Effect(executor="tool", args=args),
    )  # fmt: skip


def _retry(undo: Compensation, context: LoweringContext) -> Retry:
    """No retries unless the compensation asks for them (P-X.21)."""
    if undo.retry is None:
        return Retry()
    max_retries, wait = undo.retry.get("max", 0), undo.retry.get("backoff_ms", 1000)
    for name, value, bound in (("max", max_retries, limits.RETRIES), ("backoff_ms", wait, limits.SECONDS * 1000)):
        if type(value) is not int or not 0 <= value <= bound:
            hint = 'Write `"retry": {"max": 5, "backoff_ms": 2000}`.'
            message = f"«{name}» of «retry» is a whole number from 0 to {bound}."
            context.error("wrong_type", message, "compensation/retry", hint=hint)
            return Retry()
    return Retry(max=max_retries, base_ms=wait, cap_ms=max(wait, 30_000))


def _activity_node(base: dict[str, Any], other: Element, context: LoweringContext) -> Node | None:
    """Another activity does it, by an agent, a script or a person, and is given what is to be undone."""
    f, other_context = other.activity, context.shared.context_of(other)
    assert f is not None
    base |= {"type": f.bpmn or f.type or "", "label": f.name}
    if f.type == "subProcess" or f.multi is not None:
        message = f"«{other.name}» cannot undo «{context.element.name}»: a handler is one task."
        hint = "Name a human, service or script task, or a tool."
        context.error("compensation_target", message, "compensation", hint=hint)
        return None
    timeout = max(1, round(other.orchestration.timeout_s * 1000))
    if f.type == "scriptTask":
        args = {**code_args(other_context), "inputs": {"undone": UNDONE, "variables": {"$expr": "context.variables"}}}
        return Node(**base, kind="task", timeout_ms=timeout, effect=Effect(executor="code", args=args))
    if f.job:
        given = {} if f.params is not None else {"variables": {"undone": UNDONE, "variables": VARIABLES}}
        return Node(**base, kind="task", effect=job_effect(other_context, **given))
    if f.tool:
        args = {"params": UNDONE, **tool_args(other_context)}
        return Node(**base, kind="task", timeout_ms=timeout, effect=Effect(executor="tool", args=args))
    args = {**agent_args(other_context), "input_data": {"undone": UNDONE}}
    if f.agent_mode == "AUTONOMOUS":
        return Node(**base, kind="task", timeout_ms=timeout, effect=Effect(executor="agent", args=args))
    data = {"undone": {"$expr": f"nodes[{quoted(core_id(context.element))}].output"}}
    prompt = {
        "kind": "work", "title": other.name, "instruction": f.instruction,
        "form": other_context.literal(f.form, "form"), "data": data, "activity_id": other.id,
        "activity_type": f.type, "agent_mode": "MANUAL", "agent": f.agent,
        "role": f.role, "priority": f.priority, "due": None, "approvers": [],
    }  # fmt: skip
    return Node(**base, kind="work", work=Work(candidates=candidates_of_item(f, other_context), prompt=prompt))
