"""A pool of which only the border is drawn, and from which messages come: who answers for it?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos.asked import role_target
from penstock.lang.process.todos.checked import CheckedDrawing
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType
from penstock.lang.process.todos.conversations import (
    Connection,
    MessageFlow,
    Pool,
    decided,
    pools_of,
    waits_by_itself,
    with_part,
)
from penstock.lang.process.todos.edit import known_members, refusal
from penstock.lang.process.todos.outside import who_answers

KIND = "black_box"
OUTSIDE = "outside"
_HINT = "Say who may give what it would send: user:ID, role:NAME, group:NAME; nobody means only programs."


def find(checked: CheckedDrawing) -> Iterator[Todo]:
    connection = Connection(checked.drawing)
    for pool in connection.pools:
        if pool.process or decided(checked.drawing, pool):
            continue
        flows = [flow for flow in connection.flows if flow.of is pool and flow.to.process]
        flows = [flow for flow in flows if waits_by_itself(connection.entry(flow.to, flow.target))]
        if flows:
            yield _todo(checked.drawing, pool, flows)


def _todo(drawing: Drawing, pool: Pool, flows: list[MessageFlow]) -> Todo:
    process = str(drawing.definitions[0]["process_definition_id"])
    messages = [flow.name or flow.message for flow in flows]
    facts = {"messages": [name for name in messages if name], "count": len(flows), "who": pool.name}
    return Todo(
        key=f"{KIND}:{process}:{pool.id}", kind=KIND, process=process, element=pool.id, element_type="participant",
        name=pool.name, hint=_HINT, facts=facts, covers=[flow.target for flow in flows],
        message=f"Of the pool «{pool.name}» only the border is drawn, and nobody says who answers for it.",
        proposals=[
            Proposal(
                kind=OUTSIDE, answer={"who": [role_target(pool.name, pool.id)]}, facts=facts,
                message=f"A person with the role «{pool.name}», or a program over the API, answers for it.",
            ),
        ],
        form={
            "type": "object", "required": ["who"], "additionalProperties": False,
            "properties": {"who": {"type": "array", "items": {"type": "string"}}},
        },
    )  # fmt: skip


def answer(drawing: Drawing, at: TodoPlace, given: dict[str, Any]) -> Drawing:
    known_members(given, "who")
    pool = next((pool for pool in pools_of(drawing) if pool.id == at.element and not pool.process), None)
    if pool is None:
        raise refusal("todo_unknown", f"The drawing has no pool «{at.element}».", "/key", "Look at its to-dos again.")
    who = who_answers(given, role_target(pool.name, pool.id))
    connection = Connection(drawing)
    for flow in connection.flows:
        if flow.of.id == pool.id and flow.to.process:
            connection.inward(flow, who)
        elif flow.to.id == pool.id and flow.of.process:
            connection.outward(flow)
    return with_part(connection.result(), pool, {"part": OUTSIDE, "answered_by": who})


TODO = TodoType(KIND, find, answer, "Who answers for a pool of which only the border is drawn?", ("missing_field",))
