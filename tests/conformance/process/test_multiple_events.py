"""Multiple and parallel multiple events: several things in one event (BPMN 10.5.1)."""

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
from tests.conformance.process.running import Instance, Office, awaited

Doc = dict[str, Any]
NEWS = [{"trigger": "message", "message": "paid"}, {"trigger": "signal", "signal": "closed"},
        {"trigger": "conditional", "condition": "amount > 100"}]  # fmt: skip


def waiting(trigger: str, triggers: list[Doc], *more: Doc, ways: tuple[str, ...] = ()) -> Doc:
    catch = event("C", "catch", trigger, triggers=triggers)
    return process([event("S", "start"), catch, task("B"), *more], ["S>C", "C>B", *ways])


async def tell(run: Instance, name: str, **payload: Any) -> None:
    await run.p.signal(run.id, name, payload)
    await run.rest()


@pytest.mark.parametrize(("news", "brings"), [("paid", {"n": 1}), ("closed", {}), ("", {})])
@awaited
async def test_any_of_them_ends_the_wait(tmp_path: Path, news: str, brings: Doc) -> None:
    """P-X.25, BPMN 10.5.4: «only one of them is required» of a Multiple event; what a message brings are variables."""
    async with Office(tmp_path) as office:
        run = await office.start(waiting("multiple", NEWS), None if news else {"amount": 200})
        if news:
            assert run.open() == []
            await tell(run, news, **brings)
        assert run.open() == ["B"] and brings.items() <= run.look.variables.items()


@awaited
async def test_all_of_them_are_waited_for(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.4: «all of the types of triggers … MUST be triggered» of a Parallel Multiple event, in any
    order; another engine takes the run up in between."""
    async with Office(tmp_path) as office:
        id = (await office.start(waiting("parallelMultiple", NEWS), {"amount": 1})).id
    async with Office(tmp_path) as office:
        await tell(Instance(office, id), "closed")
    async with Office(tmp_path) as office:
        run = Instance(office, id)
        await tell(run, "paid", amount=200)
        assert run.open() == ["B"] and run.look.variables["amount"] == 200
        await run.submit("B")
        assert run.status == "COMPLETED" and len(run.of("fired", "B")) == 1


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_several_at_the_border(tmp_path: Path, interrupting: bool) -> None:
    """P-X.25, BPMN 10.5.4: whichever comes; without interrupting, each of them and as often as it comes."""
    border = event("C", "boundary", "multiple", attached_to="A", interrupting=interrupting, triggers=NEWS)
    document = process([task("A"), border, task("H")], ["C>H"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await tell(run, "paid", n=1)
        assert run.look.variables == {"n": 1} and sorted(run.open()) == (["H"] if interrupting else ["A", "H"])
        if not interrupting:
            await tell(run, "closed")
            assert [item.node for item in run.items()].count("H") == 2


@awaited
async def test_an_error_among_several_at_the_border(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.4: an error that its activity throws, or a timer."""
    triggers = [{"trigger": "timer", "timer": {"duration": "PT1H"}}, {"trigger": "error", "code": "BAD"}]
    border = event("C", "boundary", "multiple", attached_to="P", triggers=triggers)
    inner = [event("PS", "start", parent="P"), event("X", "end", "error", code="BAD", parent="P")]
    document = process([task("P", type="subProcess"), *inner, border, task("H"), task("N")], ["PS>X", "P>N", "C>H"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.open() == ["H"]


@awaited
async def test_several_begin_an_event_sub_process(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.2: a Multiple start of an event sub-process; what a timer brings is no variable."""
    handler = task("H", type="subProcess", triggered_by_event=True)
    triggers = [{"trigger": "message", "message": "stop"}, {"trigger": "timer", "timer": {"duration": "PT0.05S"}}]
    begin = event("HS", "start", "multiple", parent="H", interrupting=False, triggers=triggers)
    document = process([event("S", "start"), task("A"), handler, begin, task("N", parent="H")], ["S>A", "HS>N"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.until(lambda one: "N" in one.states())
        assert run.look.variables == {}
        await tell(run, "stop", why="late")
        assert run.look.variables == {"why": "late"} and [one.node for one in run.items()].count("N") == 2


@pytest.mark.parametrize("position", ["throw", "end"])
@awaited
async def test_each_of_them_is_sent(tmp_path: Path, position: str) -> None:
    """P-X.25, BPMN 10.5.3, 10.5.4: «All of them will occur» of a Multiple event that is thrown."""
    sent = [{"trigger": "message", "message": "m", "payload": {"n": 1}}, {"trigger": "signal", "signal": "s"},
            {"trigger": "escalation", "code": "BIG"}]  # fmt: skip
    inner = [event("PS", "start", parent="P"), event("T", position, "multiple", triggers=sent, parent="P")]
    heard = [event("M", "catch", "message", message="m"), event("G", "catch", "signal", signal="s")]
    border = event("X", "boundary", "escalation", code="BIG", attached_to="P", interrupting=False)
    elements = [gateway("F", "parallel"), *heard, task("P", type="subProcess"), *inner, border]
    more = [task("M1"), task("G1"), task("X1"), task("P1")]
    ways = ["F>M", "F>G", "F>P", "PS>T", "M>M1", "G>G1", "X>X1", "P>P1"]
    async with Office(tmp_path) as office:
        run = await office.start(process([*elements, *more], ways))
        await run.until(lambda one: {"M1", "G1", "X1", "P1"} <= set(one.open()))
        assert run.look.variables == {"n": 1}


@awaited
async def test_one_of_them_may_end_more_than_its_path(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.3: what is sent is sent, then the process ends by the error."""
    sent = [{"trigger": "error", "code": "E42"}, {"trigger": "compensation"}]
    document = process([service("A", compensation="undo"), event("E", "end", "multiple", triggers=sent)], ["A>E"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.status == "TERMINATED" and [tool for tool, _ in office.undone] == ["undo"]
        assert run.look.failure is not None and run.look.failure["code"] == "E42"


@awaited
async def test_it_may_follow_an_event_gateway(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.6.6: «Multiple (which can only include Event triggers from the previous list)»."""
    late = event("T", "catch", "timer", timer={"duration": "PT1H"})
    catch = event("C", "catch", "multiple", triggers=NEWS)
    elements = [event("S", "start"), gateway("G", "eventBased"), catch, late, task("B"), task("D")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>G", "G>C", "G>T", "C>B", "T>D"]))
        await tell(run, "closed")
        assert run.open() == ["B"]


def test_it_is_sound() -> None:
    """P-X.12: waits side by side meet again."""
    assert verdict(compiled(waiting("parallelMultiple", NEWS)).net, each=True).status == "sound"
    assert findings(waiting("multiple", NEWS)) == []


@pytest.mark.parametrize("position", ["boundary", "start"])
def test_where_all_of_them_cannot_be_waited_for(position: str) -> None:
    """P-X.25: refused by name, with what to draw instead."""
    fields = {"attached_to": "A"} if position == "boundary" else {}
    one = event("C", position, "parallelMultiple", triggers=NEWS[:2], **fields)
    ways = ["C>B"] if position == "boundary" else ["C>B", "B>A"]
    (found,) = [x for x in findings(process([task("A"), one, task("B")], ways)) if x.severity == "error"]
    assert (found.rule, found.node) == ("bpmn_not_supported", "C") and "parallel multiple catch" in found.hint


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25: several event definitions in one event, and `parallelMultiple`; read, written and read again."""
    timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>"
    inner = f'<messageEventDefinition id="d1"/>{timer}'
    read = from_xml(
        f'<intermediateCatchEvent id="C" parallelMultiple="true">{inner}</intermediateCatchEvent>'
        f'<intermediateCatchEvent id="D">{inner}</intermediateCatchEvent>'
    )
    every, any_of = read["events"]
    assert (every["trigger"], any_of["trigger"]) == ("parallelMultiple", "multiple")
    assert any_of["triggers"] == [{"trigger": "message"}, {"trigger": "timer", "timer": {"duration": "PT1H"}}]
    document = waiting("parallelMultiple", NEWS)
    (again,) = [one for one in in_a_file(document)["events"] if one["id"] == "C"]
    plain = [{name: value for name, value in one.items() if name != "name_ref"} for one in again["triggers"]]
    assert again["trigger"] == "parallelMultiple" and plain == NEWS
    rich = [{**NEWS[0], "correlation": {"order": "${order}"}}, NEWS[1]]
    (again,) = [one for one in in_a_file(waiting("multiple", rich))["events"] if one["id"] == "C"]
    assert again["triggers"] == rich
