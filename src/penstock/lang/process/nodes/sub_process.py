"""subProcess: embedded as a scope, or called as another definition with an instance of its own (P-X.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from penstock.errors import Place
from penstock.lang.contract import Lowered
from penstock.lang.process.lowering_context import LoweringContext, once_scope
from penstock.lang.process.nodes.activities import VARIABLES, work_item_fragment
from penstock.lang.process.nodes.contract import ElementType, Fragment, activity_fields, link, single_node
from penstock.lang.process.nodes.level_entries import frame_entry, listening_start
from penstock.lang.process.nodes.multi_instance import instance_body, output_node, scope_node
from penstock.net.calls import AGAIN
from penstock.net.codec import content_hash
from penstock.net.model import MERGE, Body, Edge, Effect, Node, Set

#: BPMN elements that hold what is done in them, and call nothing.
SUB_PROCESSES = ("subProcess", "transaction", "adHocSubProcess")


class LevelBody(NamedTuple):
    """How often the elements of a sub-process are done, which variables get the results, and what that needs."""

    body: Body
    sets: tuple[Set, ...] = ()
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()


def lower_embedded(context: LoweringContext) -> Fragment:
    """The scope of an embedded sub-process; its elements are lowered by themselves."""
    level = level_body(context, context.id)
    fragment = single_node(scope_node(context, level.body, level.sets))
    return replace(fragment, nodes=(*fragment.nodes, *level.nodes), edges=level.edges)


def level_body(context: LoweringContext, scope: str) -> LevelBody:
    """The body of the scope node `scope`. Where each instance gives something of its own, it has a scope inside."""
    f, graph = activity_fields(context), context.shared.graph
    listens = bool(graph.event_sub_processes(context.id))
    entry = listening_start(context.id) if listens else frame_entry(context.id, graph)
    one = Body(mode="one", entry=entry, names={})
    if f.multi is None:
        return LevelBody(one)
    sets = (Set(name=f.multi.collect, expr="output"),) if f.multi.collect else ()
    result = output_node(f.multi, scope, context)
    if result is None:
        return LevelBody(instance_body(f.multi, entry, context), sets)
    once = Node(
        id=once_scope(context.id), kind="scope", scope=scope, origin=context.id, label=f.name, join=MERGE, body=one
    )  # fmt: skip
    return LevelBody(instance_body(f.multi, once.id, context), sets, (once, result), (link(once.id, result.id),))


def lower_call(context: LoweringContext) -> Fragment:
    """The item stays IN_PROGRESS until the child instance ends; a child that is TERMINATED is a failure."""
    f, call = activity_fields(context), context.element.orchestration
    args: dict[str, Any] = {
        **_called_net(context),
        "name": call.sub_process or "",
        "input": VARIABLES if call.input is None else context.value(call.input, "orchestration/input"),
    }
    if call.output is not None:
        args["variables"] = dict(call.output)
    fragment = work_item_fragment(context, Effect(executor="call", args=args), agent=True)
    work = fragment.node(fragment.core).work
    assert work is not None, "a call is shown as a work item"
    limited = {} if "timeout_s" in (f.orchestration or {}) else {"timeout_ms": None}
    return fragment.changed(fragment.core, work=msgspec.structs.replace(work, alone=True), triggers=(), **limited)


def _called_net(context: LoweringContext) -> dict[str, Any]:
    """The called process as arguments of the call; one that calls itself is found when it runs (P-X.4)."""
    orchestration, setting = context.element.orchestration, context.shared.setting
    if not orchestration.sub_process:
        if activity_fields(context).bpmn in SUB_PROCESSES:
            hint = "Draw what is done in it, or make it a task."
            context.error("sub_process_missing", f"«{context.element.name}» is empty.", hint=hint)
            return {"net": ""}
        hint = 'Write `"orchestration": {"sub_process": "…"}`, or draw elements whose `parent` it is.'
        context.error("sub_process_missing", f"«{context.element.name}» calls nothing and holds nothing.", hint=hint)
        return {"net": ""}
    name, version, top = orchestration.sub_process, orchestration.version, context.shared.definition.top
    called = name if version is None else f"{name}@{version}"
    ask = setting.under_way
    if ask is not None and (mark := ask(called, top.process_definition_id, top.process_definition_name)):
        return {"net": "", AGAIN: mark}
    child = _called_process(called, context) if setting.call is not None else None
    return {"net": content_hash(child.net) if child is not None else ""}


def _called_process(called: str, context: LoweringContext) -> Lowered | None:
    call = context.shared.setting.call
    assert call is not None, "somebody can compile it"
    lowered, findings = call(called)
    place = context.shared.report.document.place(context.at("orchestration/sub_process"))
    for finding in findings:
        if finding.rule == "file_not_found":
            hint = "Release the called process first, or correct its id."
            message = f"There is no process «{called}» to call."
            context.error("sub_process_unknown", message, "orchestration/sub_process", hint=hint)
            continue
        message = (
            f"In «{called}» at {finding.where}: {finding.message}" if finding.where != Place() else finding.message
        )
        context.shared.report.findings.append(
            msgspec.structs.replace(finding, message=message, where=place, node=context.id)
        )
    if lowered is not None:
        context.shared.children |= {**lowered.children, content_hash(lowered.net): lowered.net}
    return lowered


EMBEDDED = ElementType("subProcess", lower_embedded, "Holds elements of its own.")
CALL_ACTIVITY = ElementType("callActivity", lower_call, "Calls another process.", work=True)
