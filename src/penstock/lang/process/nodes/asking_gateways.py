"""A gateway that asks: a person says which way is taken, in a work item before the ways part (P-X.9, P-X.10).

The answer travels with the token: no variable of the instance has it, and none is hidden by it.
"""

from __future__ import annotations

from typing import Any

from penstock.lang.process.choices import choice_labels
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.fields import Ask
from penstock.lang.process.lowering_context import LoweringContext, SharedContext
from penstock.lang.process.nodes.candidates import INITIATOR, is_target, only_user
from penstock.lang.process.nodes.contract import Fragment, link
from penstock.lang.process.schema import Element, Flow
from penstock.net.model import MERGE, Node, Work

_ANSWER = "choice"
#: Whoever has finished what the token comes from, else the initiator.
PREVIOUS = (
    "fn.if(fn.length(sys.done_by) > 0, "
    "{'type': 'any_of', 'targets': fn.map(sys.done_by, user => fn.concat('user:', user))}, "
    f"{only_user(INITIATOR)})"
)


def asks(element: Element, shared: SharedContext) -> Ask | None:
    """What a gateway asks; nothing is asked where there is one way."""
    gateway = element.gateway
    if gateway is None or gateway.ask is None or gateway.type not in ("exclusiveGateway", "inclusiveGateway"):
        return None
    return gateway.ask if len(shared.graph.outgoing[element.id]) > 1 else None


def ask_fragment(context: LoweringContext, ask: Ask, route: Node) -> Fragment:
    """The work item takes the gateway's place as a join; the route behind it only parts the ways."""
    labels, several = _labels(context, ask), route.split == "every"
    f = context.element.gateway
    assert f is not None
    prompt: dict[str, Any] = {
        "kind": "work",
        "title": f.name or " / ".join(labels.values()),
        "instruction": f.documentation,
        "form": _form(list(labels.values()), several=several),
        "data": {},
        "activity_id": context.id,
        "activity_type": f.type,
        "agent_mode": "MANUAL",
        "priority": "normal",
    }
    item = Node(
        id=f"{context.id}.ask", kind="work", type=f.type or "", label=f.name, scope=context.scope, origin=context.id,
        join=route.join, work=Work(modes=True, candidates=_candidates(ask, context), prompt=prompt),
    )  # fmt: skip
    parts = Node(
        id=context.id, type=f.type or "", label=f.name, scope=context.scope, join=MERGE, split=route.split
    )  # fmt: skip
    return Fragment((item, parts), item.id, parts.id, parts.id, parts.id, (link(item.id, parts.id),))


def choice_guard(flow: Flow, source: Element, ask: Ask, shared: SharedContext) -> str:
    assert source.gateway is not None
    label = quoted(_labels(shared.context_of(source), ask)[flow.id])
    if source.gateway.type == "inclusiveGateway":
        return f"fn.contains(default.{_ANSWER}, {label})"
    return f"default.{_ANSWER} == {label}"


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


def _form(labels: list[str], *, several: bool) -> dict[str, Any]:
    one: dict[str, Any] = {"type": "string", "enum": labels}
    choice = {"type": "array", "items": one, "minItems": 1, "uniqueItems": True} if several else one
    return {"type": "object", "properties": {_ANSWER: choice}, "required": [_ANSWER], "additionalProperties": False}


def _candidates(ask: Ask, context: LoweringContext) -> Any:
    """None: anybody who may work."""
    if ask.who == "anyone":
        return None
    if ask.who == "previous":
        return {"$expr": PREVIOUS}
    if ask.who == "initiator":
        return {"$expr": only_user(INITIATOR)}
    if is_target(ask.who):
        return {"type": "any_of", "targets": [ask.who.strip()]}
    message = f"Who is asked at «{context.element.name}» is not understood: «{ask.who}» is nobody."
    hint = "Write previous, initiator, anyone, user:ID, role:NAME or group:NAME."
    context.error("bad_target", message, "ask/who", hint=hint)
    return {"type": "any_of", "targets": []}
