"""FEEL in process files: what is translated means the same here, and what would not is refused by name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.errors import ProcessInvalid

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DATA = {"list": [10, 20], "grid": [[1, 2], [3, 4]], "i": 1}


def asked(condition: str) -> bytes:
    """A gateway that takes the way «yes» where the condition holds."""
    return (
        f'<definitions xmlns="{BPMN}" targetNamespace="x"><process id="p" isExecutable="true"><startEvent id="s"/>'
        '<exclusiveGateway id="g" default="no"/><userTask id="yes"/><userTask id="other"/><endEvent id="e"/>'
        '<sequenceFlow id="f" sourceRef="s" targetRef="g"/><sequenceFlow id="y" sourceRef="g" targetRef="yes">'
        f"<conditionExpression>{escape(condition)}</conditionExpression></sequenceFlow>"
        '<sequenceFlow id="no" sourceRef="g" targetRef="other"/><sequenceFlow id="a" sourceRef="yes" targetRef="e"/>'
        '<sequenceFlow id="b" sourceRef="other" targetRef="e"/></process></definitions>'
    ).encode()


def way(folder: Path, condition: str) -> str:
    async def scene() -> Any:
        async with Penstock(folder / "s.db") as door:
            await Processes(door).define(asked(condition), by="kim")
            run = await WorkItems(door).initiate("p", by="kim", input=DATA)
            await door.wait(run, until_waiting=True)
            return next(iter(door.inbox.each())).node

    return str(asyncio.run(scene()))


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=list[1] = 10", "yes"), ("=list[2] = 10", "other"), ("=list[-1] = 20", "yes"), ("=grid[1][2] = 2", "yes"),
        ('="list[1]" = "list[1]"', "yes"), ("${list[1] == 20}", "yes"),
    ],
)  # fmt: skip
def test_feel_counts_from_one(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.4, 10.3.2.5: list[1] is the first, list[-1] the last. JUEL's `${…}` counts from 0."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize("condition", ["=list[0] = 10", "=list[item > 15] = 20", "=list[i] = 10"])
def test_a_filter_and_a_computed_index_are_refused(tmp_path: Path, condition: str) -> None:
    """What an index is can only be said of a number: `list[i]` is the first here, and would be the second."""
    with pytest.raises(ProcessInvalid) as refused:
        way(tmp_path, condition)
    (finding,) = refused.value.findings
    assert finding.rule == "expression_syntax" and "FEEL" in finding.message and finding.where.line
