"""Changes by which a drawing that cannot run as it is drawn could: small ones, and each of them is tried.

A join that waits for all ways, or for one, where the ways part in another manner; a way that leads back to a start, or
on from an end; an event without anything to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from penstock.lang.process.choices import choice_labels
from penstock.lang.process.schema import Element
from penstock.lang.process.todos.asked import asked_words, who_is_asked
from penstock.lang.process.todos.checked import CheckedDrawing, CheckedProcess
from penstock.lang.process.todos.edit import entries

#: element or flow → its new fields
Changes = dict[str, dict[str, Any]]
_WAITS = {
    "exclusiveGateway": "lets each way through by itself", "parallelGateway": "waits for all of its ways",
    "inclusiveGateway": "waits for those of its ways that were taken",
}  # fmt: skip
#: what a join could be instead where all ways before it part in one manner; else it waits for those that were taken
_LIKE = {"exclusiveGateway": "exclusiveGateway", "parallelGateway": "parallelGateway"}
#: triggers that an event may have on a way that goes on
_PASSED = ("none", "message", "signal", "escalation", "compensation")
_MOST_TRIED, _WORK = 16, 2000


class Repair(NamedTuple):
    kind: str
    message: str
    changes: Changes


def repairs(drawing: CheckedDrawing, process: CheckedProcess, node: str, rules: set[str]) -> Iterator[Repair]:
    """Those after which these rules are not broken at the element any more, and no other one is; the first only."""
    element = process.elements.get(node)
    most = max(4, min(_MOST_TRIED, _WORK // max(1, len(process.elements))))
    for repair in islice(_candidates(process, element, rules), most):
        if _helps(drawing, process, node, rules, repair.changes):
            yield repair
            return


def _helps(drawing: CheckedDrawing, process: CheckedProcess, node: str, rules: set[str], changes: Changes) -> bool:
    def errors(findings: Any) -> list[tuple[str, str]]:
        return [(f.rule, f.node) for f in findings if f.severity == "error"]

    before = errors(process.findings)
    after = errors(drawing.check(with_changes(process.data, changes)))
    left = [error for error in after if error not in before]
    if "unsound" in rules:
        return not left and after.count(("unsound", node)) < before.count(("unsound", node))
    gone = not any(error in after for error in before if error[1] == node and error[0] in rules)
    return gone and all(rule == "unsound" for rule, _ in left)  # that is looked at when nothing else is wrong


def with_changes(data: dict[str, Any], changes: Changes) -> dict[str, Any]:
    new = dict(data)
    for collection in ("activities", "gateways", "events", "transitions"):
        if collection in data:
            held = entries(data, collection)
            new[collection] = [{**entry, **changes.get(str(entry.get("id")), {})} for entry in held]
    return new


# ---- what could be changed -------------------------------------------------------------------------------------------


def _candidates(process: CheckedProcess, element: Element | None, rules: set[str]) -> Iterator[Repair]:
    if "unsound" in rules:
        yield from _joins(process, element)
    if element is None:
        return
    if "start_with_incoming" in rules:
        yield from _after_start(process, element)
    if {"UNBOUNDED_LOOP", "cycle_without_choice"} & rules:
        yield from _way_out(process, element)
    if "cancel_outside_transaction" in rules:
        yield from _cancelled(process, element)
    if element.event is not None:
        yield from _other_event(process, element, rules)
    if "event_gateway_target" in rules:
        yield from _asking(process, element)


def _joins(process: CheckedProcess, element: Element | None) -> Iterator[Repair]:
    """Joins in another manner: the one that is shown, those near it, and all of a kind."""
    graph, order = process.graph, process.order
    joins = [
        gateway for gateway in process.elements.values()
        if gateway.gateway is not None and gateway.gateway.type in _WAITS
        and len(graph.incoming[gateway.id]) > 1 and len(graph.outgoing[gateway.id]) < 2
    ]  # fmt: skip
    at = order.get(element.id, 0) if element is not None else 0
    joins.sort(key=lambda gateway: abs(order[gateway.id] - at))
    for join in joins[:4]:
        for type in _instead(process, join):
            words = f"{process.drawn(join)} {_WAITS[type]}."
            yield Repair("join", words, {join.id: {"type": type}})
    for kind in _WAITS:
        same = [join for join in joins if join.fields.type == kind]
        for type in _WAITS if len(same) > 1 else ():
            names = ", ".join(process.drawn(join) for join in same)
            words = f"Each of these {_WAITS[type]}: {names}."
            if type != kind:
                yield Repair("joins", words, {join.id: {"type": type} for join in same})
    if len(joins) > 1:
        words = "Every gateway in which ways meet waits for those that were taken."
        yield Repair("joins", words, {join.id: {"type": "inclusiveGateway"} for join in joins})


def _instead(process: CheckedProcess, join: Element) -> list[str]:
    """What the join could be, the likeliest first."""
    splits, pending, reached = set[str](), [join.id], set[str]()
    while pending:
        for flow in process.graph.incoming[pending.pop()]:
            source = process.elements[flow.fields.source]
            if source.id not in reached:
                reached.add(source.id)
                pending.append(source.id)
            if source.gateway is not None and len(process.graph.outgoing[source.id]) > 1:
                splits.add(str(source.gateway.type))
    (only,) = splits if len(splits) == 1 else [""]
    types = dict.fromkeys([_LIKE.get(only, "inclusiveGateway"), "inclusiveGateway", "exclusiveGateway",
                           "parallelGateway"])  # fmt: skip
    return [type for type in types if type != join.fields.type]


def _after_start(process: CheckedProcess, start: Element) -> Iterator[Repair]:
    """A way back to the beginning leads to what comes after the start."""
    flows = process.graph.outgoing[start.id]
    if len(flows) != 1 or start.event is None or start.event.position != "start":
        return
    target = process.elements[flows[0].fields.target]
    changes = {flow.id: {"target": target.id} for flow in process.graph.incoming[start.id]}
    yield Repair("after_start", f"The way back leads to {_inside(process.drawn(target))}, after the start.", changes)


def _other_event(process: CheckedProcess, element: Element, rules: set[str]) -> Iterator[Repair]:
    event, drawn = element.event, process.drawn(element)
    assert event is not None
    if "end_with_outgoing" in rules and event.position == "end" and event.trigger in _PASSED:
        yield Repair("passed", f"{drawn} is passed, and the way goes on.", {element.id: {"position": "throw"}})
    if "bpmn_not_supported" in rules and event.position == "catch" and event.trigger == "none":
        yield Repair("passed", f"{drawn} waits for nothing, and is passed.", {element.id: {"position": "throw"}})
    if "bpmn_not_supported" in rules and event.position == "throw" and event.trigger in ("timer", "conditional"):
        yield Repair("waits", f"{drawn} waits for it.", {element.id: {"position": "catch"}})
    if {"bpmn_not_supported", "event_sub_process_start"} & rules and event.position == "start":
        plain = {element.id: {"trigger": "none"}}
        yield Repair("plain_start", f"{drawn} begins when it is reached, or by hand.", plain)
    no_end = {"bpmn_not_supported", "cancel_outside_transaction", "ad_hoc_element"} & rules
    if no_end and event.position == "end" and event.trigger != "none":
        yield Repair("plain_end", f"{drawn} ends its path, and nothing more.", {element.id: {"trigger": "none"}})


def _cancelled(process: CheckedProcess, element: Element) -> Iterator[Repair]:
    """A cancel event makes a transaction of the sub-process it belongs to; at the border of a task it is an error."""
    event = element.event
    assert event is not None
    owner = process.elements.get(event.attached_to if event.position == "boundary" else event.parent)
    if owner is not None and process.graph.is_embedded(owner):
        words = f"{process.drawn(owner)} is a transaction: what was done in it is undone when it is cancelled."
        yield Repair("transaction", words, {owner.id: {"bpmn": "transaction"}})
    if event.position == "boundary":
        yield Repair("error", f"{process.drawn(element)} catches errors.", {element.id: {"trigger": "error"}})


def _way_out(process: CheckedProcess, element: Element) -> Iterator[Repair]:
    """A loop that is left and gone again at once, at a gateway that takes all of its ways: there somebody chooses."""
    graph = process.graph
    after = _reached(element.id, lambda at: [flow.fields.target for flow in graph.outgoing[at]])
    before = _reached(element.id, lambda at: [flow.fields.source for flow in graph.incoming[at]])
    for id in sorted(after & before, key=process.order.__getitem__):
        gateway, flows = process.elements[id], graph.outgoing[id]
        if gateway.gateway is None or gateway.gateway.type != "parallelGateway" or len(flows) < 2:
            continue
        if any(flow.fields.target not in after & before for flow in flows):
            yield _choice(process, gateway)


def _reached(id: str, following: Callable[[str], list[str]]) -> set[str]:
    pending, reached = [id], {id}
    while pending:
        new = [other for other in following(pending.pop()) if other not in reached]
        reached.update(new)
        pending += new
    return reached


def _asking(process: CheckedProcess, element: Element) -> Iterator[Repair]:
    """A gateway that waits for events, where somebody has to do something instead, asks which way is taken."""
    sources = (process.elements[flow.fields.source] for flow in process.graph.incoming[element.id])
    for gateway in (element, *sources):
        if gateway.gateway is None or gateway.gateway.type != "eventBasedGateway":
            continue
        yield _choice(process, gateway)


def _choice(process: CheckedProcess, gateway: Element) -> Repair:
    who = who_is_asked(process, gateway)
    ask = {"who": who, "choices": choice_labels(gateway, process.graph)}
    words = f"{asked_words(who, process, gateway)} chooses which way is taken at {_inside(process.drawn(gateway))}."
    return Repair("asks", words, {gateway.id: {"type": "exclusiveGateway", "ask": ask}})


def _inside(words: str) -> str:
    return words[:1].lower() + words[1:]
