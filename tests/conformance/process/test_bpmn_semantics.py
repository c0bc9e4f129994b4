"""Processes run as BPMN 2.0.2 says: each test has the sentence of the standard that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.net.soundness import verdict
from tests.conformance.process.make import as_bytes, compiled, event, findings, gateway, process, rules, task
from tests.conformance.process.running import Office, awaited


def sub(id: str, **fields: Any) -> dict[str, Any]:
    return task(id, type="subProcess", **fields)


# ---- 13.5.6: end events ----------------------------------------------------------------------------------------------
# «For a None End Event: the token that arrives is consumed … the Process instance is completed if all start nodes have
# been visited and no token is left»: an end event takes every token that arrives, and the last one ends the instance.


FORK = [event("S", "start"), gateway("F", "parallel"), task("A"), task("B"), event("E", "end")]
TO_ONE_END: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "side by side": (FORK, ["S>F", "F>A", "F>B", "A>E", "B>E"]),
    "a merge before it": ([*FORK, gateway("M")], ["S>F", "F>A", "F>B", "A>M", "B>M", "M>E"]),
    "no task at all": (FORK[:2] + FORK[-1:] + [task("A")], ["S>F", "F>E", "F>A", "A>E"]),
    "two flows of one task": (
        [event("S", "start"), task("A"), task("B"), event("E", "end")], ["S>A", "A>B", "A>E", "B>E"],
    ),
    "beside a task that goes on": (
        [event("S", "start"), task("A"), event("N", "boundary", "timer", attached_to="A", timer={"duration": "PT1H"},
         interrupting=False), task("B"), event("E", "end")], ["S>A", "A>E", "N>B", "B>E"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TO_ONE_END)
def test_p_x_25_several_tokens_may_reach_one_end_event(name: str) -> None:
    """P-X.25, BPMN 13.5.6: nothing is wrong with it, with and without reductions."""
    elements, ways = TO_ONE_END[name]
    document = process(elements, ways)
    assert findings(document) == []
    net = compiled(document).net
    assert verdict(net, each=True).status == verdict(net, each=True, reductions=False).status == "sound"


def test_p_x_25_a_token_at_the_end_does_not_hide_a_deadlock() -> None:
    """P-X.25, P-X.12: what is stuck beside a token that has ended is told as stuck, and before what."""
    choice = gateway("X", conditions={"X>C": "c == 1", "default": "X>D"})
    join = gateway("J", "parallel")
    elements = [*FORK, choice, task("C"), task("D"), join]
    ways = ["S>F", "F>A", "F>B", "A>E", "B>X", "X>C", "X>D", "C>J", "D>J", "J>E"]
    unsound = [finding for finding in findings(process(elements, ways)) if finding.rule == "unsound"]
    assert [finding.node for finding in unsound] == ["J"] and "waits for" in unsound[0].message


def test_p_x_25_work_that_would_be_done_twice_is_still_told() -> None:
    """P-X.25: what runs side by side and meets before a task without waiting would do the task twice."""
    elements = [*FORK, task("T")]
    assert rules(process(elements, ["S>F", "F>A", "F>B", "A>T", "B>T", "T>E"])) == ["unsound"]


@awaited
async def test_p_x_11_the_last_token_ends_the_instance(tmp_path: Path) -> None:
    """P-X.11, BPMN 13.5.6: it goes on until the last token has arrived."""
    async with Office(tmp_path) as office:
        run = await office.start(process(*TO_ONE_END["side by side"]))
        await run.submit("A")
        assert (run.status, run.open()) == ("RUNNING", ["B"])
        await run.submit("B")
        assert run.status == "COMPLETED" and len(run.of("fired", "E")) == 2


# ---- 10.5.1, 13.5.1: signals -----------------------------------------------------------------------------------------
# «A Signal … is broadcast … any number of catching events that are active can react»: who listens at the moment of the
# throw has it, who begins to listen later does not.


def listening(interrupting: bool, *more: dict[str, Any], ways: tuple[str, ...] = ()) -> dict[str, Any]:
    handler = [sub("H", triggered_by_event=True), task("N", parent="H"),
               event("HS", "start", "signal", signal="news", interrupting=interrupting, parent="H")]  # fmt: skip
    elements = [event("S", "start"), event("T", "throw", "signal", signal="news", payload={"n": 7}), *handler, *more]
    return process(elements, ["S>T", "HS>N", *ways])


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_p_x_25_a_signal_reaches_the_event_sub_process_around_it(tmp_path: Path, interrupting: bool) -> None:
    """P-X.25, BPMN 10.5.1: thrown in the step in which its level began, and the last thing there."""
    document = listening(interrupting, event("E", "end"), ways=("T>E",))
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert (run.status, run.open(), run.look.variables) == ("RUNNING", ["N"], {"n": 7})
        assert len(run.of("signal.used")) == 1 and bool(run.of("fired", "E")) is not interrupting
        await run.submit("N")
        assert run.status == "COMPLETED"


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_p_x_25_a_signal_reaches_the_boundary_around_it(tmp_path: Path, interrupting: bool, end: bool) -> None:
    """P-X.25, BPMN 10.5.1: thrown inside a sub-process, by a throw or an end event, caught at its border."""
    throw = event("T", "end" if end else "throw", "signal", signal="news", parent="P")
    border = event("B", "boundary", "signal", signal="news", attached_to="P", interrupting=interrupting)
    elements = [sub("P"), event("PS", "start", parent="P"), throw, border, task("N"), task("Z")]
    document = process(elements, ["PS>T", "P>Z", "B>N"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert sorted(run.open()) == (["N"] if interrupting else ["N", "Z"])
        assert len(run.of("signal.used")) == 1


@awaited
async def test_p_x_25_who_listens_later_does_not_hear_a_signal(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.1: the catch event right after the throw is not active when it is thrown."""
    catch = event("C", "catch", "signal", signal="news")
    elements = [event("S", "start"), event("T", "throw", "signal", signal="news"), catch, task("Z")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>T", "T>C", "C>Z"]))
        other = await office.start(process([task("Q")], [], process_definition_id="q"))
        await other.submit("Q")
        assert (run.status, run.open(), run.of("signal.used")) == ("RUNNING", [], [])
        await run.p.signal(run.id, "news")
        await run.rest()
        assert run.open() == ["Z"]


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_p_x_25_a_signal_of_a_called_process_reaches_the_callers_boundary(
    tmp_path: Path, interrupting: bool
) -> None:
    """P-X.25, BPMN 10.5.1: the call activity is active when the called process throws, and ends right after it."""
    (tmp_path / "child.json").write_bytes(
        as_bytes(process([event("S", "start"), event("T", "end", "signal", signal="news")], ["S>T"]))
    )
    border = event("B", "boundary", "signal", signal="news", attached_to="C", interrupting=interrupting)
    caller = process([sub("C", orchestration={"sub_process": "child.json"}), border, task("N"), task("Z")],
                     ["C>Z", "B>N"], process_definition_id="caller")  # fmt: skip
    (tmp_path / "caller.json").write_bytes(as_bytes(caller))
    async with Office(tmp_path) as office:
        run = await office.start(tmp_path / "caller.json")
        await run.until(lambda one: "N" in one.open())
        assert sorted(run.open()) == (["N"] if interrupting else ["N", "Z"])
