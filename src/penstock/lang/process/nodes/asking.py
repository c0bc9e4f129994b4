"""What is asked of a person: which way a gateway takes (P-X.9, P-X.10), or how many instances an activity has.

The answer travels with the token: no variable of the instance has it, and none is hidden by it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from penstock.lang.process.choices import choice_labels
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.fields import CHOOSING, SEVERAL_WAYS, Ask
from penstock.lang.process.lowering_context import LoweringContext, SharedContext
from penstock.lang.process.nodes.candidates import INITIATOR, is_target, only_user
from penstock.lang.process.nodes.contract import Fragment, link
from penstock.lang.process.schema import Element, Flow
from penstock.net.model import MERGE, Join, Node, Work

_CHOICE, COUNT = "choice", "count"
#: So many instances are possible.
MOST_INSTANCES = 1000
#: Whoever has finished what the token comes from, else the initiator.
PREVIOUS = (
    "fn.if(fn.length(sys.done_by) > 0, "
    "{'type': 'any_of', 'targets': fn.map(sys.done_by, user => fn.concat('user:', user))}, "
    f"{only_user(INITIATOR)})"
)


def asks(element: Element, shared: SharedContext) -> Ask | None:
    """What a gateway asks; nothing is asked where there is one way."""
    gateway = element.gateway
    if gateway is None or gateway.ask is None or gateway.type not in CHOOSING:
        return None
    return gateway.ask if len(shared.graph.outgoing[element.id]) > 1 else None


def ask_fragment(context: LoweringContext, ask: Ask, route: Node) -> Fragment:
    """The work item takes the gateway's place as a join; the route behind it only parts the ways."""
    labels, several = _labels(context, ask), route.split == "every"
    title = context.element.fields.name or " / ".join(labels.values())
    form = _form(_CHOICE, {"title": title, **_choice(list(labels.values()), several=several)})
    item = _item(context, ask.who, "ask/who", title=title, form=form, join=route.join)
    parts = msgspec.structs.replace(route, join=MERGE)
    return Fragment((item, parts), item.id, parts.id, parts.id, parts.id, (link(item.id, parts.id),))


def with_asked_count(fragment: Fragment, context: LoweringContext) -> Fragment:
    """Several instances of which a person says how many: asked before they begin."""
    activity = context.element.activity
    multi = activity.multi if activity is not None else None
    if multi is None or not multi.ask or multi.items is not None or multi.count is not None:
        return fragment
    form = _form(COUNT, {"type": "integer", "minimum": 0, "maximum": MOST_INSTANCES})
    item = _item(context, multi.ask, "multi/ask", title=context.element.name, form=form, join=MERGE)
    edges = (link(item.id, fragment.entry), *fragment.edges)
    return replace(fragment, nodes=(item, *fragment.nodes), entry=item.id, edges=edges)


def _item(context: LoweringContext, who: str, at: str, *, title: str, form: dict[str, Any], join: Join) -> Node:
    f = context.element.fields
    type = str((context.element.activity.bpmn if context.element.activity is not None else "") or f.type or "")
    prompt: dict[str, Any] = {
        "kind": "work", "title": title, "instruction": f.documentation, "form": form, "data": {},
        "activity_id": context.id, "activity_type": f.type, "agent_mode": "MANUAL", "priority": "normal",
        "asks": next(iter(form["properties"])),
    }  # fmt: skip
    return Node(
        id=f"{context.id}.ask", kind="work", type=type, label=f.name, scope=context.scope, origin=context.id,
        join=join, work=Work(modes=True, candidates=_candidates(who, at, context), prompt=prompt),
    )  # fmt: skip


def choice_guard(flow: Flow, source: Element, ask: Ask, shared: SharedContext) -> str:
    assert source.gateway is not None
    label = quoted(_labels(shared.context_of(source), ask)[flow.id])
    if source.gateway.type in SEVERAL_WAYS:
        return f"fn.contains(default.{_CHOICE}, {label})"
    return f"default.{_CHOICE} == {label}"


def _labels(context: LoweringContext, ask: Ask) -> dict[str, str]:
    """Flow → the word by which it is chosen; flows that `choices` does not name have their own. Read once: what is
    wrong is reported once."""
    known = context.shared.asked_choices
    if context.id in known:
        return known[context.id]
    drawn = choice_labels(context.element, context.shared.graph)
    labels = known[context.id] = {id: ask.choices.get(id) or label for id, label in drawn.items()}
    for id in ask.choices.keys() - drawn.keys():
        hint = "Name a transition that leaves the gateway."
        message = f"«{id}» is no way out of «{context.element.name}»."
        context.error("unknown_condition", message, f"ask/choices/{id}", hint=hint)
    if len(set(labels.values())) < len(labels):
        message = f"Two ways out of «{context.element.name}» are chosen by one word."
        context.error("condition_conflict", message, "ask/choices", hint="Give each way a word of its own.")
    return labels


def _form(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


def _choice(labels: list[str], *, several: bool) -> dict[str, Any]:
    one: dict[str, Any] = {"type": "string", "enum": labels}
    return {"type": "array", "items": one, "minItems": 1, "uniqueItems": True} if several else one


def _candidates(who: str, at: str, context: LoweringContext) -> Any:
    """None: anybody who may work."""
    if who == "anyone":
        return None
    if who == "previous":
        return {"$expr": PREVIOUS}
    if who == "initiator":
        return {"$expr": only_user(INITIATOR)}
    if is_target(who):
        return {"type": "any_of", "targets": [who.strip()]}
    message = f"Who is asked at «{context.element.name}» is not understood: «{who}» is nobody."
    hint = "Write previous, initiator, anyone, user:ID, role:NAME or group:NAME."
    context.error("bad_target", message, at, hint=hint)
    return {"type": "any_of", "targets": []}
