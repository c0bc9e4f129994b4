"""Votes: a decision that would not fit its node's schema is refused before it is one, so nobody has decided in vain."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.inbox.open_items import InboxItem
from penstock.app.runs.reading import RunReading
from penstock.errors import AnswerInvalid
from penstock.executors.shape import present
from penstock.kernel.work_item import decided, enough, read_vote


def vote_for(reading: RunReading, item: InboxItem, by: str, data: dict[str, Any]) -> dict[str, Any]:
    """The vote as it was given. Raises AnswerInvalid where it would decide, and what comes of it does not fit
    `output.schema` (W-4.6, W-4.0.3); who had nothing to say has no comment, and not one that is null."""
    net, held = reading.net, reading.state.items.get(item.firing)
    schema = net.net.declares.policies.get("nodes", {}).get(item.node, {}).get("answer")
    spec = net.nodes[reading.state.firings[item.firing].node].spec.work if held is not None else None
    if schema is None or held is None or spec is None or by in held.votes:
        return data  # whoever has voted already hears of that
    vote = read_vote(data, item.opened_at)  # any moment will do to see whether it fits
    with_it = msgspec.structs.replace(held, votes={**held.votes, by: vote})
    if vote["vote"] == "approved" and not enough(with_it.votes, spec, held.candidates):
        return data
    from penstock.executors.parts.json_schema import schema_failure

    wrong = schema_failure(present(decided(with_it, vote["vote"], by, vote["at"], item.id)), schema)
    if wrong is not None:
        raise AnswerInvalid(item=item.id, why=wrong.failure.message.rstrip("."))
    return data
