"""Definitions and answers of any shape: to-dos are found and answers refused, and nothing ever crashes."""

from __future__ import annotations

import contextlib
import copy
import random
from typing import Any

import pytest

from penstock.errors import ProcessInvalid
from penstock.lang.process.drawing import Drawing
from penstock.lang.process.todos import accepted, answered, todos_of
from tests.conformance.process.make import event, gateway, process, task

ANYTHING: list[Any] = [
    None, True, 0, -1, 3.5, "", "x", "${a}", "= b", [], {}, [1], ["a"], {"a": 1}, {"id": "A"}, [{"id": "A"}], [None],
    "A", "g", "s",
]  # fmt: skip
MEMBERS = (
    "ask", "conditions", "default", "name", "kind", "value", "by", "code", "who", "count", "items", "again", "most",
    "changes", "condition", "form", "process", "rule_pack", "tool",
)  # fmt: skip
UNFINISHED = process(
    [event("s", "start"), task("A", name="Do", multi={"mode": "parallel"}, form={"type": "object"}), gateway("g"),
     task("B", type="subProcess"), task("C", type="scriptTask"), event("t", "catch", "timer"),
     event("m", "catch", "message", name_ref="M"), event("b", "boundary", "conditional", attached_to="A"),
     gateway("j", "parallel"), event("e", "end"), task("L", multi={"mode": "loop"}),
     task("R", type="serviceTask", bpmn="businessRuleTask"),
     task("S", type="serviceTask", bpmn="serviceTask", tool="t", params={"a": "${b"})],
    ["s>A", "A>g", "g>B", "g>C", "B>t", "C>m", "t>j", "m>j", "j>L", "L>R", "R>S", "S>e"],
    lanes=[{"id": "l", "name": "L", "elements": ["A"]}], roles=[{"id": "r", "name": "R"}], messages=[{"id": "M"}],
)  # fmt: skip


def changed(rng: random.Random, data: dict[str, Any]) -> dict[str, Any]:
    """The same with some parts taken away, and others exchanged for anything."""
    data = copy.deepcopy(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at: Any = data
        while at:
            key = rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            if isinstance(at[key], dict | list) and at[key] and rng.random() < 0.75:
                at = at[key]
                continue
            if rng.random() < 0.2 and isinstance(at, dict):
                del at[key]
            else:
                at[key] = copy.deepcopy(rng.choice(ANYTHING))
            break
    return data


@pytest.mark.parametrize("seed", range(150))
def test_nothing_that_is_written_crashes_the_todos(seed: int) -> None:
    """P-X.25: what does not fit is a finding or a refusal with a hint."""
    rng = random.Random(f"todos {seed}")
    drawing = Drawing(({"process_definition_id": "p", **changed(rng, UNFINISHED)},))  # without one nothing is read
    for todo in todos_of(drawing):
        answer = {rng.choice(MEMBERS): copy.deepcopy(rng.choice(ANYTHING)) for _ in range(rng.choice((1, 1, 2)))}
        if rng.random() < 0.3 and todo.proposals:
            answer = changed(rng, todo.proposals[0].answer)
        with contextlib.suppress(ProcessInvalid):
            todos_of(answered(drawing, todo.key, answer))
    done, _ = accepted(drawing)
    assert accepted(done)[1] == []
