"""Event-based gateways in the shapes that people draw (BPMN 10.6.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.net.soundness import verdict
from tests.conformance.process.make import (
    compiled,
    event,
    findings,
    from_xml,
    gateway,
    in_a_file,
    process,
    service,
    task,
)
from tests.conformance.process.running import Office, awaited

Doc = dict[str, Any]
LATE = event("T", "catch", "timer", timer={"duration": "PT1H"})
CATCHES = {
    "a catch event": event("C", "catch", "message", message="yes"),
    "a receive task": service("C", bpmn="receiveTask", message="yes"),
}


def back(kind: str) -> Doc:
    """To C leads the gateway, and B again where it was not enough."""
    elements = [event("S", "start"), gateway("G", "eventBased"), CATCHES[kind], LATE, task("B"), task("D"),
                gateway("X", conditions={"X>C": "more == true", "default": "X>E"}), event("E", "end")]  # fmt: skip
    return process(elements, ["S>G", "G>C", "G>T", "C>B", "B>X", "X>C", "X>E", "T>D"])


@pytest.mark.parametrize("kind", CATCHES)
@awaited
async def test_what_follows_the_gateway_may_be_reached_otherwise(tmp_path: Path, kind: str) -> None:
    """P-X.25, BPMN 10.6.6, 10.5.4: who comes from the gateway has waited already, who comes by another way waits."""
    async with Office(tmp_path) as office:
        run = await office.start(back(kind))
        await run.p.signal(run.id, "yes", {"n": 1})
        await run.rest()
        assert run.open() == ["B"] and run.look.variables["n"] == 1
        await run.submit("B", {"more": True})
        assert run.open() == [] and [one.name for one in run.look.waiting] == ["yes"]
        await run.p.signal(run.id, "yes", {"n": 2})
        await run.rest()
        assert run.open() == ["B"] and run.look.variables["n"] == 2
        await run.submit("B", {"more": False})
        assert run.status == "COMPLETED"


@pytest.mark.parametrize("kind", CATCHES)
def test_that_is_sound(kind: str) -> None:
    """P-X.12: with and without reductions."""
    assert findings(back(kind)) == []
    net = compiled(back(kind)).net
    assert verdict(net, each=True).status == verdict(net, each=True, reductions=False).status == "sound"


@awaited
async def test_a_gateway_for_all_of_its_events_waits_for_each(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.6.6: `eventGatewayType` Parallel: «all» of the events are waited for, each on its own way."""
    elements = [event("S", "start"), gateway("G", "eventBased", all_events=True), CATCHES["a catch event"],
                service("R", bpmn="receiveTask", message="no"), task("B"), task("D")]  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>G", "G>C", "G>R", "C>B", "R>D"]))
        await run.p.signal(run.id, "yes", {})
        await run.rest()
        assert run.open() == ["B"]
        await run.p.signal(run.id, "no", {})
        await run.rest()
        assert sorted(run.open()) == ["B", "D"]


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25: `eventGatewayType`; read, written and read again."""
    read = from_xml('<eventBasedGateway id="G" eventGatewayType="Parallel"/><eventBasedGateway id="H"/>')
    assert [one.get("all_events", False) for one in read["gateways"]] == [True, False]
    document = process([gateway("G", "eventBased", all_events=True), LATE], ["G>T"])
    assert in_a_file(document)["gateways"][0]["all_events"] is True
