"""A second pool with a process of its own: another definition of the same release, or somebody outside answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.asked import role_target
from penstock.lang.process.todos.checked import CheckedDrawing
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType
from penstock.lang.process.todos.conversations import (
    Connection,
    MessageFlow,
    Pool,
    decided,
    flows_of,
    pools_of,
    with_part,
)
from penstock.lang.process.todos.edit import known_members, refusal
from penstock.lang.process.todos.outside import who_answers

KIND = "pool"
DEFINITION, OUTSIDE = "definition", "outside"
_HINT = "Take it as a definition of its own, or say who answers for it."


def find(checked: CheckedDrawing) -> Iterator[Todo]:
    """Of several pools with processes that talk, all but the first."""
    drawing = checked.drawing
    pools = pools_of(drawing)
    flows = flows_of(drawing, pools)
    for pool, earlier in _later(pools):
        between = [flow for flow in flows if _joins(flow, pool, earlier)]
        if between and not decided(drawing, pool):
            yield _todo(drawing, pool, between)


def _later(pools: list[Pool]) -> Iterator[tuple[Pool, list[Pool]]]:
    with_process = [pool for pool in pools if pool.process]
    yield from ((pool, with_process[:n]) for n, pool in enumerate(with_process) if n)


def _joins(flow: MessageFlow, pool: Pool, others: list[Pool]) -> bool:
    return flow.of is pool and flow.to in others or flow.to is pool and flow.of in others


def _todo(drawing: Drawing, pool: Pool, flows: list[MessageFlow]) -> Todo:
    steps = len(drawing.definition(pool.process).get("activities") or ())
    messages = [flow.name or flow.message for flow in flows]
    count = f"{len(flows)} message flow{'s' if len(flows) > 1 else ''}"
    facts: dict[str, Any] = {"steps": steps, "messages": [name for name in messages if name], "count": len(flows)}
    return Todo(
        key=f"{KIND}:{pool.process}:{pool.id}", kind=KIND, process=pool.process, element=pool.id,
        element_type="participant", name=pool.name, hint=_HINT, facts=facts,
        covers=[id for flow in flows for id in (flow.source, flow.target) if id not in (flow.of.id, flow.to.id)],
        message=f"The pool «{pool.name}» is a process of its own, with {count} to another pool.",
        proposals=[
            Proposal(
                kind=DEFINITION, answer={"as": DEFINITION}, facts=facts,
                message=f"«{pool.name}» becomes a second definition of the same release; {count} become messages.",
            ),
            Proposal(
                kind=OUTSIDE, answer={"as": OUTSIDE, "who": [role_target(pool.name, pool.id)]},
                facts={"who": pool.name},
                message=f"A person with the role «{pool.name}», or a program over the API, answers for it.",
            ),
        ],
        form={
            "type": "object", "required": ["as"], "additionalProperties": False,
            "properties": {
                "as": {"type": "string", "enum": [DEFINITION, OUTSIDE]},
                "who": {"type": "array", "items": {"type": "string"}},
            },
        },
    )  # fmt: skip


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "as", "who")
    pool = next((pool for pool in pools_of(drawing) if pool.id == at.element and pool.process), None)
    if pool is None:
        raise refusal("todo_unknown", f"The drawing has no pool «{at.element}».", "/key", "Look at its to-dos again.")
    if given.get("as") == DEFINITION:
        return with_part(_connected(drawing, pool), pool, {"part": DEFINITION})
    if given.get("as") != OUTSIDE:
        message = f"A pool is «{DEFINITION}» or «{OUTSIDE}»."
        raise refusal("wrong_type", message, "/as", _HINT)
    return _without(drawing, pool, who_answers(given, role_target(pool.name, pool.id)))


def _connected(drawing: Drawing, pool: Pool) -> Drawing:
    connection = Connection(drawing)
    earlier = next((others for later, others in _later(connection.pools) if later.id == pool.id), [])
    for flow in connection.flows:
        if flow.of.id == pool.id and flow.to in earlier or flow.to.id == pool.id and flow.of in earlier:
            connection.between(flow)
    return connection.result()


def _without(drawing: Drawing, pool: Pool, who: list[str]) -> Drawing:
    """The process of the pool is not a definition of the release: somebody else does what it shows."""
    connection = Connection(drawing)
    for flow in connection.flows:
        if flow.of.id == pool.id and flow.to.process:
            connection.inward(flow, who)
        elif flow.to.id == pool.id and flow.of.process:
            connection.outward(flow)
    connected = with_part(connection.result(), pool, {"part": OUTSIDE, "answered_by": who})
    kept = tuple(data for data in connected.definitions if data["process_definition_id"] != pool.process)
    return msgspec.structs.replace(connected, definitions=kept)


TODO = TodoType(KIND, find, answer, "Is a second pool a process of its own here?", ("missing_field",))
