"""The to-dos of a drawing: what is missing before it runs, answers to that, and all proposals at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import ProcessInvalid
from penstock.lang.contract import Resolve
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.expression_names import beside_elements
from penstock.lang.process.todos import (
    assignment,
    black_box,
    called_process,
    event_condition,
    event_names,
    finding,
    form,
    gateway_conditions,
    lane_role,
    pool,
    repetition,
    rules,
    script,
    service,
    soundness,
    timer_value,
)
from penstock.lang.process.todos.checked import CheckedDrawing, checked
from penstock.lang.process.todos.contract import Proposal, Todo, TodoPlace, TodoType
from penstock.lang.process.todos.edit import entries, refusal

#: In the order in which they are listed at one element.
TODO_TYPES: dict[str, TodoType] = {
    type.kind: type
    for type in (
        pool.TODO, black_box.TODO, lane_role.TODO, assignment.TODO, event_condition.TODO,
        gateway_conditions.TODO, event_names.MESSAGE_NAME, event_names.SIGNAL_NAME, timer_value.TODO, script.TODO,
        rules.TODO, service.TODO, called_process.TODO, repetition.INSTANCES, repetition.LOOP, form.TODO, soundness.TODO,
        finding.TODO,
    )
}  # fmt: skip
#: One proposal may bring another to-do to light; a drawing that is not at rest after so many rounds is left there.
_ROUNDS = 50


class Taken(msgspec.Struct, frozen=True):
    """A proposal that was taken: the to-do's, the first one."""

    key: str
    answer: dict[str, Any]
    proposal: Proposal
    todo: Todo


def todos_of(drawing: Drawing, resolve: Resolve | None = None) -> list[Todo]:
    """What is missing, along the flow. `resolve` gives the processes that are called and not in the drawing."""
    return todos_of_checked(checked(drawing, resolve))


def todos_of_checked(drawing: CheckedDrawing) -> list[Todo]:
    todos = [todo for type in TODO_TYPES.values() for todo in type.find(drawing)]
    covered = {id for todo in todos for id in todo.covers}  # the answer about a pool names its messages
    todos = [todo for todo in todos if todo.kind != "message_name" or todo.element not in covered]
    rules = {type.kind: type.rules for type in TODO_TYPES.values()}
    todos += finding.remaining(drawing, todos, rules)
    pools = {process.id: number for number, process in enumerate(drawing.processes)}
    order = {process.id: process.order for process in drawing.processes}
    todos.sort(key=lambda todo: (pools.get(todo.process, -1), order.get(todo.process, {}).get(todo.element, -1)))
    return todos


def answered(drawing: Drawing, key: str, answer: dict[str, Any]) -> Drawing:
    """The drawing with an answer in it. Raises ProcessInvalid for an answer that does not fit."""
    at = _place(drawing, key)
    if not isinstance(answer, dict):
        raise refusal("wrong_type", "An answer is a map.", "", "Look at the form of the to-do.")
    data = drawing.definition(at.process)
    nodes = (node for name in ("activities", "gateways", "events") for node in entries(data, name))
    with beside_elements(str(node.get("id")) for node in nodes):
        return TODO_TYPES[at.kind].answer(drawing, at, answer)


def accepted(
    drawing: Drawing, resolve: Resolve | None = None, look: Callable[[Drawing], list[Todo]] | None = None
) -> tuple[Drawing, list[Taken]]:  # fmt: skip
    """The drawing with the first proposal of every to-do taken, also of those that come to light by it. `look` gives
    the to-dos of a drawing where somebody knows them already."""
    taken: dict[str, Taken] = {}
    for _ in range(_ROUNDS):
        todos = todos_of(drawing, resolve) if look is None else look(drawing)
        new = [todo for todo in todos if todo.proposals and todo.key not in taken]
        if not new:
            break
        for todo in new:
            proposal = todo.proposals[0]
            try:
                drawing = answered(drawing, todo.key, proposal.answer)
            except ProcessInvalid:
                continue  # another answer of this round has taken its element away
            taken[todo.key] = Taken(todo.key, proposal.answer, proposal, todo)
    return drawing, list(taken.values())


def _place(drawing: Drawing, key: str) -> TodoPlace:
    kind, _, rest = key.partition(":")
    ids = [data.get("process_definition_id") for data in drawing.definitions]
    for id in sorted((id for id in ids if isinstance(id, str) and id), key=len, reverse=True):
        if kind in TODO_TYPES and rest.startswith(f"{id}:"):
            return TodoPlace(kind, id, rest[len(id) + 1 :])
    message = f"The drawing has no to-do «{key}»."
    raise refusal("todo_unknown", message, "", "A key is the kind, the process and the element: kind:process:element.")


__all__ = ["TODO_TYPES", "Proposal", "Taken", "Todo", "TodoType", "accepted", "answered", "todos_of"]
