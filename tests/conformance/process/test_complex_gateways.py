"""Complex gateways: some of the ways in, and every way out whose condition holds (BPMN 10.6.5, 13.4.5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.lang.process.nodes.complex_gateway import ways_needed
from penstock.net.soundness import verdict
from tests.conformance.process.make import compiled, event, findings, from_xml, gateway, in_a_file, process, rules, task
from tests.conformance.process.running import Office, awaited

Doc = dict[str, Any]


def three(*more: Doc, ways: tuple[Any, ...] = ("C>Z",), **fields: Any) -> Doc:
    """Three tasks side by side, then the gateway."""
    elements = [event("S", "start"), gateway("F", "parallel"), task("A"), task("B"), task("D"),
                gateway("C", "complex", **fields), task("Z")]  # fmt: skip
    return process([*elements, *more], ["S>F", "F>A", "F>B", "F>D", "A>C", "B>C", "D>C", *ways])


@pytest.mark.parametrize("fields", [{"count": 2}, {"activation": "activationCount >= 2"}])
@awaited
async def test_it_goes_on_when_enough_has_come(tmp_path: Path, fields: Doc) -> None:
    """P-X.25, BPMN 13.4.5: «The Gateway is activated» when its activationCondition is true, once: what comes later
    is consumed and «reset»s it."""
    async with Office(tmp_path) as office:
        run = await office.start(three(**fields))
        await run.submit("A")
        assert sorted(run.open()) == ["B", "D"]
        await run.submit("D")
        assert sorted(run.open()) == ["B", "Z"]
        await run.submit("B")
        assert run.open() == ["Z"] and len(run.of("fired", "Z")) == 1
        await run.submit("Z")
        assert run.status == "COMPLETED"


@awaited
async def test_it_is_ready_for_the_next_round(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.4.5: after the reset it waits for so many again."""
    again = gateway("X", conditions={"X>F": "more == true", "default": "X>E"})
    document = three(again, event("E", "end"), ways=("C>Z", "Z>X", "X>F", "X>E"), count=2)
    document["gateways"][0] = gateway("F", "parallel")
    merge = gateway("M")
    document["gateways"].append(merge)
    document["transitions"] = [
        {**way, "target": "M"} if way["target"] == "F" else way for way in document["transitions"]
    ] + [{"id": "M>F", "source": "M", "target": "F"}]
    async with Office(tmp_path) as office:
        run = await office.start(document)
        for more in (True, False):
            for node in ("A", "B", "D"):
                await run.submit(node)
            assert run.open() == ["Z"], more
            await run.submit("Z", {"more": more})
        assert run.status == "COMPLETED" and len(run.of("fired", "Z")) == 2


@awaited
async def test_it_takes_every_way_whose_condition_holds(tmp_path: Path) -> None:
    """P-X.25, P-X.10, BPMN 13.4.5: «each gate … whose condition is true»; the default when none is."""
    conditions = {"C>P": "n > 1", "C>Q": "n > 2", "default": "C>R"}
    document = process(
        [task("A"), gateway("C", "complex", conditions=conditions), *(task(id) for id in "PQR")],
        ["A>C", "C>P", "C>Q", "C>R"],
    )
    async with Office(tmp_path) as office:
        for n, open in ((3, ["P", "Q"]), (2, ["P"]), (0, ["R"])):
            run = await office.start(document)
            await run.submit("A", {"n": n})
            assert sorted(run.open()) == open


@pytest.mark.parametrize(
    ("text", "needed"),
    [("2", 2), ("activationCount >= 2", 2), ("activationCount > 2", 3), ("activationCount == 1", 1),
     ("x1+x2 + x3>=2", 2), ("${activationCount >= 3}", 3), ("=activationCount>=2", 2), ("amount > limit", None),
     ("a && b", None), ("", None)],
)  # fmt: skip
def test_how_many_it_waits_for(text: str, needed: int | None) -> None:
    """P-X.25, BPMN 10.6.5: «x1+x2+…+xm >= 3» is the standard's own example; what says no number is not guessed."""
    assert ways_needed(text) == needed


def test_what_is_not_said_is_told() -> None:
    """P-X.25: a condition without a number is refused with what to write; none at all waits like an inclusive one."""
    assert rules(three(activation="urgent == true")) == ["activation_not_understood"]
    assert rules(three(), "warning") == ["join_without_count"] and rules(three()) == []
    assert verdict(compiled(three()).net, each=True).status == "sound"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_it_is_sound(count: int) -> None:
    """P-X.12: with and without reductions."""
    net = compiled(three(count=count)).net
    assert verdict(net, each=True).status == verdict(net, each=True, reductions=False).status == "sound"


def test_what_can_never_come_is_a_deadlock() -> None:
    """P-X.12: two of two exclusive ways never come together."""
    choice = gateway("F", conditions={"F>A": "a == 1", "default": "F>B"})
    elements = [event("S", "start"), choice, task("A"), task("B"), gateway("C", "complex", count=2), task("Z")]
    found = rules(process(elements, ["S>F", "F>A", "F>B", "A>C", "B>C", "C>Z"]))
    assert found and set(found) <= {"unsound", "join_never_satisfied"}


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25: `activationCondition`; read, written and read again, with its number as ours."""
    read = from_xml(
        '<complexGateway id="C" default="f"><activationCondition xsi:type="tFormalExpression">activationCount &gt;= 2'
        "</activationCondition></complexGateway>"
    )
    assert (read["gateways"][0]["activation"], read["gateways"][0]["default"]) == ("activationCount >= 2", "f")
    (again,) = [one for one in in_a_file(three(activation="activationCount >= 2"))["gateways"] if one["id"] == "C"]
    assert again["activation"] == "activationCount >= 2"
    (again,) = [one for one in in_a_file(three(count=2))["gateways"] if one["id"] == "C"]
    assert again["count"] == 2
    assert [one.rule for one in findings(in_a_file(three(count=2)))] == []
