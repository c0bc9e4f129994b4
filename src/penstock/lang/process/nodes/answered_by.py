"""A wait that people may end instead of the message: somebody answers for a pool of which only the border is drawn."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.nodes.candidates import targets_of
from penstock.lang.process.nodes.contract import KEEP_OUTPUT, Fragment, link
from penstock.lang.process.nodes.waits import came
from penstock.net.model import MERGE, Node, Trigger, Work

#: The port by which a work item is left when the message itself has come.
_MESSAGE = "message"


def answerable(context: LoweringContext, trigger: Trigger, base: dict[str, Any], answered_by: list[str]) -> Fragment:
    """A wait that somebody may end instead of the message: a work item that the message takes away again."""
    candidates = {"type": "any_of", "targets": targets_of(answered_by, "answered_by", context)}
    prompt: dict[str, Any] = {
        "kind": "work", "title": context.element.name, "instruction": "", "form": None, "data": {},
        "activity_id": context.id, "activity_type": "receiveTask", "agent_mode": "MANUAL", "agent": None, "role": None,
        "priority": "normal", "due": None, "approvers": [],
    }  # fmt: skip
    after_id = came(context.id)
    item = Node(
        **base, kind="work", work=Work(modes=True, candidates=candidates, prompt=prompt), sets=KEEP_OUTPUT,
        triggers=(msgspec.structs.replace(trigger, port=_MESSAGE),),
    )  # fmt: skip
    after = Node(
        id=after_id, origin=context.id, label=context.element.name, scope=item.scope, join=MERGE, sets=KEEP_OUTPUT
    )
    return Fragment(
        (item, after),
        item.id,
        after_id,
        item.id,
        item.id,
        (link(item.id, after_id), link(item.id, after_id, port=_MESSAGE)),
    )
