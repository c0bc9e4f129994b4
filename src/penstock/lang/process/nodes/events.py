"""Start, end, catch, throw and boundary events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.lowering_context import LoweringContext, SharedContext, main_scope
from penstock.lang.process.nodes.answered_by import answerable
from penstock.lang.process.nodes.contract import (
    KEEP_OUTPUT,
    ElementType,
    Fragment,
    core_id,
    link,
    one_after_another,
    single_node,
)
from penstock.lang.process.nodes.conversation import start_sets
from penstock.lang.process.nodes.event_triggers import (
    each_trigger,
    event_code,
    event_fields,
    event_name,
    refuse_event,
    trigger_of,
)
from penstock.lang.process.nodes.messages import publish
from penstock.lang.process.nodes.waits import waited_already, with_way_past
from penstock.lang.process.schema import Element
from penstock.net.model import ALL, MERGE, Effect, Node, Set

#: The error by which a terminate event ends a level that runs in an inner scope.
TERMINATED = "PROCESS_TERMINATED"
#: The error by which a cancel end event ends its transaction.
CANCELLED = "TRANSACTION_CANCELLED"
_ENDING = ("error", "terminate")


def _base(context: LoweringContext, id: str = "") -> dict[str, Any]:
    f = event_fields(context)
    base = {
        "id": id or context.id,
        "type": f"{f.position}Event",
        "label": f.name,
        "scope": context.scope,
        "join": MERGE,
    }
    return {**base, "origin": context.id} if id else base


# ---- start and end ---------------------------------------------------------------------------------------------------


def lower_start(context: LoweringContext) -> Fragment:
    """At the top of a process its input becomes its variables (P-X.8), in an event sub-process what the news bring."""
    f = event_fields(context)
    top = f.parent == "" and context.scope == ""
    handler = context.shared.definition.elements.get(f.parent)
    brings = handler is not None and _brings_news(context, handler.fields.parent)
    sets: tuple[Set, ...] = KEEP_OUTPUT if brings else ()
    if top and len(context.shared.graph.alternatives()) == 1:
        sets = start_sets(context.shared)  # of several beginnings the one before them all does it
    return single_node(Node(**_base(context), kind="start", sets=sets))


def _brings_news(context: LoweringContext, of: str) -> bool:
    """A message, a signal, or an error with what a worker has said; `of` is the activity or level that is left."""
    found = {event_fields(one).trigger for one in each_trigger(context)}
    return not found.isdisjoint(("message", "signal")) or (
        "error" in found and context.shared.graph.errors_bring_data(of)
    )


def lower_end(context: LoweringContext) -> Fragment:
    """What it sends is sent before it ends. Of several each is sent, and one may end more than its path."""
    refuse_event(context, "end")
    f = event_fields(context)
    if f.trigger == "multiple":
        return _several_ends(context)
    if f.trigger in ("message", "signal", "compensation"):
        return one_after_another(_thrown(context, f"{context.id}.throw"), _end_node(context, ""))
    return _end_node(context, f.trigger)


def _several_ends(context: LoweringContext) -> Fragment:
    """BPMN 10.5.3: «there are multiple consequences of ending the Process. All of them will occur.»"""
    each = each_trigger(context)
    ending = [one for one in each if event_fields(one).trigger in _ENDING]
    if len(ending) > 1:
        words = " and by ".join(event_fields(one).trigger for one in ending)
        hint = "Keep one of them: after it nothing is left that could end again."
        context.error("bpmn_not_supported", f"«{context.element.name}» ends by {words}.", "triggers", hint=hint)
    last = _end_node(ending[0], event_fields(ending[0]).trigger) if ending else _end_node(context, "")
    sent = [one for one in each if one not in ending]
    return one_after_another(*(_thrown(one, f"{context.id}.throw{n}") for n, one in enumerate(sent, 1)), last)


def _end_node(context: LoweringContext, trigger: str) -> Fragment:
    ends = {
        "terminate": "terminate", "error": f"error:{event_code(context)}", "cancel": f"error:{CANCELLED}",
        "escalation": f"escalate:{event_code(context)}",
    }.get(trigger, "")  # fmt: skip
    if trigger == "terminate" and context.scope == main_scope(context.element.fields.parent):
        ends = f"error:{TERMINATED}"
    return single_node(Node(**_base(context), kind="end", ends=ends))


# ---- catch and throw -------------------------------------------------------------------------------------------------


def lower_catch(context: LoweringContext) -> Fragment:
    """Waits for the event, or for one of several; after an event-based gateway, which has waited already, and as the
    second half of a link it only passes on."""
    f = event_fields(context)
    if refuse_event(context, "catch") or f.trigger == "link":
        return single_node(Node(**_base(context)))
    if waited_already(context):
        return single_node(Node(**_base(context)))
    if f.trigger == "parallelMultiple":
        return _all_of_them(context)
    if f.answered_by and f.trigger in ("message", "signal"):
        return answerable(context, trigger_of(context), _base(context), f.answered_by)
    triggers = tuple(trigger_of(one) for one in each_trigger(context))
    wait = Node(**_base(context), kind="wait", triggers=triggers, sets=KEEP_OUTPUT)
    return with_way_past(single_node(wait), context)


def _all_of_them(context: LoweringContext) -> Fragment:
    """BPMN 10.5.4: «all of the specified triggers are required»: a wait for each, side by side."""
    fork = Node(**_base(context, f"{context.id}.fork"))
    waits = [
        Node(**_base(context, f"{context.id}.{n}"), kind="wait", triggers=(trigger_of(one),), sets=KEEP_OUTPUT)
        for n, one in enumerate(each_trigger(context), 1)
    ]
    join = Node(**{**_base(context), "join": ALL})
    edges = (*(link(fork.id, wait.id) for wait in waits), *(link(wait.id, join.id) for wait in waits))
    return Fragment((fork, *waits, join), fork.id, join.id, join.id, join.id, edges)


def lower_throw(context: LoweringContext) -> Fragment:
    f = event_fields(context)
    if refuse_event(context, "throw") or f.trigger in ("none", "link"):
        return single_node(Node(**_base(context)))
    if f.trigger != "multiple":
        return _thrown(context, "")
    sent = [_thrown(one, f"{context.id}.throw{n}") for n, one in enumerate(each_trigger(context), 1)]
    return one_after_another(*sent, single_node(Node(**_base(context))))


def _thrown(context: LoweringContext, id: str) -> Fragment:
    """One thing that is sent. An escalation leaves beside what goes on; so does a compensation that is not waited
    for (BPMN 10.5.5)."""
    f = event_fields(context)
    beside = f.trigger == "compensation" and not f.wait_for_completion
    if f.trigger != "escalation" and not beside:
        return single_node(_throw_node(context, id))
    node = Node(**_base(context, id))
    last = Node(
        **_base(context, f"{node.id}.throw"), kind="end", ends="" if beside else f"escalate:{event_code(context)}"
    )
    others = (_throw_node(context, f"{node.id}.undo"), last) if beside else (last,)
    links = (link(a.id, b.id) for a, b in zip((node, *others), others, strict=False))
    return Fragment((node, *others), node.id, node.id, node.id, node.id, tuple(links))


def _throw_node(context: LoweringContext, id: str = "") -> Node:
    f = event_fields(context)
    if f.trigger == "compensation":
        return Node(**_base(context, id), kind="undo", only=_compensated_activities(context))
    name = event_name(context)
    effect: Effect = publish(context, f.trigger, name, f.payload)
    return Node(**_base(context, id), kind="task", effect=effect)


def _compensated_activities(context: LoweringContext) -> tuple[str, ...]:
    f = event_fields(context)
    if not f.activity:
        return ()
    target = context.shared.definition.elements.get(f.activity)
    if target is None or target.activity is None:
        hint = "Name an activity that has a compensation, or none: then everything is undone."
        context.error("compensation_target", f"There is no activity «{f.activity}» to undo.", "activity", hint=hint)
        return ()
    return tuple(_compensated_with(target, context.shared))


def _compensated_with(target: Element, shared: SharedContext) -> Iterator[str]:
    """BPMN 13.5.5: what is done in a sub-process is compensated with it, unless it has a handler of its own."""
    yield target.id if shared.graph.is_embedded(target) else core_id(target)
    if target.undo is None and not shared.graph.boundary_handler(target.id):
        for id in shared.graph.children.get(target.id, ()):
            if (inner := shared.definition.elements[id]).activity is not None:
                yield from _compensated_with(inner, shared)


# ---- boundary --------------------------------------------------------------------------------------------------------


def lower_boundary(context: LoweringContext) -> Fragment:
    """A node to pass: the trigger itself belongs to the activity. A worker's business error brings variables."""
    f = event_fields(context)
    if f.trigger != "multiple":
        sets = KEEP_OUTPUT if _brings_news(context, f.attached_to) else ()
        return single_node(Node(**_base(context), sets=sets))
    base = _base(context)
    each = [
        Node(**{**base, "id": port, "origin": context.id}, sets=KEEP_OUTPUT if _brings_news(one, f.attached_to) else ())
        for port, one in border_ports(context)
    ]
    return Fragment(
        (*each, Node(**base)),
        context.id,
        context.id,
        context.id,
        context.id,
        tuple(link(node.id, context.id) for node in each),
    )


def border_ports(context: LoweringContext) -> list[tuple[str, LoweringContext]]:
    """The ports by which an activity is left for an event at its border: one for each thing that the event waits for,
    each with a node of that id."""
    if event_fields(context).trigger != "multiple":
        return [(context.id, context)]
    return [(f"{context.id}.{n}", one) for n, one in enumerate(each_trigger(context), 1)]


START = ElementType("startEvent", lower_start, "Where a process or sub-process begins.")
END = ElementType("endEvent", lower_end, "Where a path ends; it may end more than its path.")
CATCH = ElementType("catchEvent", lower_catch, "Waits for a moment, a message, a signal or a condition.")
THROW = ElementType("throwEvent", lower_throw, "Sends, escalates or undoes, and goes on.")
BOUNDARY = ElementType("boundaryEvent", lower_boundary, "Comes true while its activity is open.")
