"""The work item of an activity: its data, its candidates, its due time and its escalation."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.lang.process.fields import ActivityFields, DataUse, ProcessData
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.candidates import candidates_of, targets_of
from penstock.lang.process.nodes.contract import Fragment, activity_fields, core_id, link, node_base
from penstock.lang.process.nodes.due_time import due_time
from penstock.lang.process.nodes.multi_instance import with_instances
from penstock.lang.process.nodes.result_outputs import result_sets
from penstock.net.model import ALL, Edge, Effect, Node, Trigger, Work

#: An overdue item is escalated again and again, as long as it is open.
MAX_ESCALATIONS = 1_000_000
VARIABLES = {"$expr": "context.variables"}


# ---- the work item ---------------------------------------------------------------------------------------------------


def work_item_fragment(
    context: LoweringContext, effect: Effect, *, agent: bool, approve: bool = False, modes: bool = False
) -> Fragment:
    """The fragment of a work item, with the data read before it and written after it."""
    f, orchestration = activity_fields(context), context.element.orchestration
    id = core_id(context.element)
    chosen, candidates = candidates_of(f, context)
    data = {"$expr": "input_data"} if f.input_data else {}
    if f.params is not None and f.type == "humanTask":
        data = context.value(f.params, "params")
    prompt: dict[str, Any] = {
        "kind": "work",
        "title": context.element.name,
        "instruction": f.instruction,
        "form": context.literal(f.form, "form"),
        "data": data,
        "activity_id": context.id,
        "activity_type": f.type,
        "agent_mode": f.agent_mode,
        "agent": f.agent,
        "role": f.role,
        "priority": f.priority,
        "due": _due(f, context),
        "approvers": targets_of(orchestration.approvers, "orchestration/approvers", context),
    }
    if f.multi is not None:
        prompt["item"] = None if f.multi.mode == "loop" else {"$expr": f.multi.item or "item"}
    node = Node(
        **node_base(context, id), kind="work", effect=effect, timeout_ms=max(1, round(orchestration.timeout_s * 1000)),
        work=Work(agent=agent, approve=approve, modes=modes, candidates=candidates, prompt=prompt),
        triggers=_escalation(f, context), sets=result_sets(f, context),
    )  # fmt: skip
    return with_instances(_with_data(node, f, context, chosen), context)


def _with_data(node: Node, f: ActivityFields, context: LoweringContext, chosen: Node | None) -> Fragment:
    """P-X.42: before the work its data is read and its user is chosen, side by side; results are written after it."""
    before = [prior for prior in (_read_node(f, context, node), chosen) if prior is not None]
    nodes: list[Node] = [*before, node]
    edges: list[Edge] = []
    entry, exit = node.id, node.id
    if len(before) == 2:
        entry = f"{node.id}.before"
        nodes.insert(0, Node(**{**node_base(context, entry), "type": ""}))
        edges += [link(entry, prior.id) for prior in before]
        nodes[-1] = msgspec.structs.replace(node, join=ALL)
    elif before:
        entry = before[0].id
    edges += [link(prior.id, node.id, var="input_data" if prior.id.endswith(".in") else "assigned") for prior in before]
    if f.output_data:
        args = {
            "op": "write", "data": data_sources(f.output_data, "output_data", context), "result": {"$expr": "default"},
            "variables": VARIABLES,
        }  # fmt: skip
        written = Node(
            **node_base(context, f"{node.id}.out"), kind="task", effect=Effect(executor="process_data", args=args)
        )
        nodes.append(written)
        edges.append(link(node.id, written.id))
        exit = written.id
    return Fragment(tuple(nodes), entry, exit, node.id, node.id, tuple(edges))


def _read_node(f: ActivityFields, context: LoweringContext, node: Node) -> Node | None:
    if not f.input_data:
        return None
    args = {"op": "read", "data": data_sources(f.input_data, "input_data", context), "variables": VARIABLES}
    return Node(**node_base(context, f"{node.id}.in"), kind="task", effect=Effect(executor="process_data", args=args))


def data_sources(uses: list[DataUse], path: str, context: LoweringContext) -> list[dict[str, Any]]:
    sources: list[dict[str, Any]] = []
    for i, use in enumerate(uses):
        shared = context.shared.definition.data.get(use.name)
        source: ProcessData = use if use.source or use.type or shared is None else shared
        for name in ("type", "source"):
            if not getattr(source, name):
                hint = f"Write `{name}: …` here, or name a source of the process's `data`."
                context.error("missing_field", f"«{name}» is missing.", f"{path}/{i}", hint=hint)
        connection, mark, _ = source.source.partition("#")
        if mark and connection.strip():
            context.shared.dependencies.append(("connection", connection.strip(), context.at(f"{path}/{i}/source")))
        fields = list(use.fields or source.fields)
        sources.append({"name": use.name, "type": source.type, "source": source.source, "fields": fields})
    return sources


# ---- due time --------------------------------------------------------------------------------------------------------


def _due(f: ActivityFields, context: LoweringContext) -> Any:
    if f.due is None:
        return None
    after, moment = due_time(f.due, context)
    return {"$expr": moment or f"sys.now + {after}"}


def _escalation(f: ActivityFields, context: LoweringContext) -> tuple[Trigger, ...]:
    """An overdue item goes to other candidates, who have the same time again."""
    targets = targets_of(f.escalate_to, "escalate_to", context)
    if f.escalate_to and f.due is None:
        hint = "Write `due: PT8H` beside it."
        context.warning("idle_field", "«escalate_to» is used only with «due».", "escalate_to", hint=hint)
    if f.due is None or not targets:
        return ()
    after, moment = due_time(f.due, context)
    others = {"type": "any_of", "targets": targets}
    return (Trigger(after_ms=after, at=moment, action="reopen", times=MAX_ESCALATIONS, value=others, code="DUE"),)
