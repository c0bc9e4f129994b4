"""Messages at activities that are no send or receive tasks: those that come before one, and those that follow it."""

from __future__ import annotations

from typing import Any

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.contract import KEEP_OUTPUT, Fragment, activity_fields, link
from penstock.lang.process.nodes.messages import message_trigger, publish
from penstock.net.model import MERGE, Node


def with_messages(fragment: Fragment, context: LoweringContext) -> Fragment:
    """BPMN 7.5.1: the messages that an activity needs come before it, those that it sends after it, and the answers to
    them last. `host` stays the activity: its boundary events watch the work, not the mail."""
    f = activity_fields(context)
    first = [_waiting(context, f"{context.id}.receive{n}", name) for n, name in enumerate(f.receives, 1)]
    last = [_sending(context, f"{context.id}.send{n}", name) for n, name in enumerate(f.sends, 1)]
    last += [_waiting(context, f"{context.id}.reply{n}", name) for n, name in enumerate(f.replies, 1)]
    if not first and not last:
        return fragment
    ids = [*(node.id for node in first), "", *(node.id for node in last)]  # "": the activity itself
    ways_in = [id or fragment.entry for id in ids]
    ways_out = [id or fragment.exit for id in ids]
    edges = [link(source, target) for source, target in zip(ways_out[:-1], ways_in[1:], strict=True)]
    return Fragment(
        (*first, *fragment.nodes, *last), ways_in[0], ways_out[-1], fragment.core, fragment.host,
        (*fragment.edges, *edges),
    )  # fmt: skip


def _base(context: LoweringContext, id: str) -> dict[str, Any]:
    return {"id": id, "origin": context.id, "label": context.element.name, "scope": context.scope, "join": MERGE}


def _waiting(context: LoweringContext, id: str, name: str) -> Node:
    trigger = message_trigger(context, name, activity_fields(context).correlation, one=True)
    return Node(**_base(context, id), kind="wait", triggers=(trigger,), sets=KEEP_OUTPUT)


def _sending(context: LoweringContext, id: str, name: str) -> Node:
    effect = publish(context, "message", name, activity_fields(context).payload)
    return Node(**_base(context, id), kind="task", effect=effect)
