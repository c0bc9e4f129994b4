"""Compensation that is not waited for: `waitForCompletion` false (BPMN 10.5.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.net.soundness import verdict
from tests.conformance.process.make import compiled, event, findings, from_xml, in_a_file, process, service, task
from tests.conformance.process.running import Office, awaited

Doc = dict[str, Any]


def undoing(position: str, **fields: Any) -> Doc:
    elements = [event("S", "start"), service("A", compensation="undo"), event("C", position, "compensation", **fields)]
    ways = ["S>A", "A>C"]
    if position == "throw":
        elements, ways = [*elements, task("B"), event("E", "end")], [*ways, "C>B", "B>E"]
    return process(elements, ways)


@pytest.mark.parametrize("waits", [True, False])
@awaited
async def test_the_path_goes_on_before_everything_is_undone(tmp_path: Path, waits: bool) -> None:
    """P-X.25, P-X.18, BPMN 10.5.5: «waitForCompletion … If set to true, the … event waits for the compensation to
    complete»; false: it goes on at once, and what is undone is undone beside it."""
    async with Office(tmp_path) as office:
        run = await office.start(undoing("throw", wait_for_completion=waits))
        await run.until(lambda one: bool(one.of("undo.ended")))
        (begun,), (undone,) = run.of("fired", "B"), run.of("undo.ended")
        assert (begun.seq > undone.seq) is waits
        await run.submit("B")
        assert run.status == "COMPLETED" and [tool for tool, _ in office.undone] == ["undo"]


@pytest.mark.parametrize("position", ["throw", "end"])
@awaited
async def test_everything_is_undone_before_the_instance_ends(tmp_path: Path, position: str) -> None:
    """P-X.25, P-X.18: the instance is completed when nothing is left to be undone, at an end event as well."""
    async with Office(tmp_path) as office:
        run = await office.start(undoing(position, wait_for_completion=False))
        if position == "throw":
            await run.submit("B")
        await run.rest()
        assert run.status == "COMPLETED" and [tool for tool, _ in office.undone] == ["undo"]


def test_it_is_sound() -> None:
    """P-X.12: what goes on beside ends by itself."""
    for position in ("throw", "end"):
        document = undoing(position, wait_for_completion=False)
        assert findings(document) == []
        assert verdict(compiled(document).net, each=True).status == "sound"


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25: `waitForCompletion`; read, written and read again."""
    read = from_xml(
        '<intermediateThrowEvent id="C"><compensateEventDefinition waitForCompletion="false"/></intermediateThrowEvent>'
    )
    assert read["events"][0]["wait_for_completion"] is False
    (again,) = [one for one in in_a_file(undoing("throw", wait_for_completion=False))["events"] if one["id"] == "C"]
    assert again["wait_for_completion"] is False
