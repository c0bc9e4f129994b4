"""Drawings with several pools: definitions of one release that talk, or somebody outside who answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ProcessInvalid
from penstock.lang.process.drawing import Drawing, read_drawing
from penstock.lang.process.todos import Todo, accepted, answered, todos_of
from tests.conformance.process.running import awaited
from tests.conformance.process.test_message_flows import run_of, settle
from tests.conformance.process.test_starts import desk

HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" id="d" targetNamespace="t">'
    '<collaboration id="c">{pools}{flows}</collaboration>'
)
BUYER = (
    '<process id="buyer"><startEvent id="b0" name="구매 필요"/><userTask id="b1" name="요청서 작성"/>'
    '<intermediateThrowEvent id="b2" name="발주서 보내기"><messageEventDefinition/></intermediateThrowEvent>'
    '<receiveTask id="b3" name="납품 기다림"/><endEvent id="b4"/>'
    '<sequenceFlow id="bf1" sourceRef="b0" targetRef="b1"/><sequenceFlow id="bf2" sourceRef="b1" targetRef="b2"/>'
    '<sequenceFlow id="bf3" sourceRef="b2" targetRef="b3"/><sequenceFlow id="bf4" sourceRef="b3" targetRef="b4"/>'
    "</process>"
)
SELLER = (
    '<process id="seller"><startEvent id="s0" name="발주 받음"><messageEventDefinition/></startEvent>'
    '<userTask id="s1" name="출하 준비"/><endEvent id="s2" name="납품 알림"><messageEventDefinition/></endEvent>'
    '<sequenceFlow id="sf1" sourceRef="s0" targetRef="s1"/><sequenceFlow id="sf2" sourceRef="s1" targetRef="s2"/>'
    "</process>"
)
FLOWS = (("b2", "s0", "발주"), ("s2", "b3", "납품"))


def pool(id: str, name: str, process: str = "") -> str:
    ref = f' processRef="{process}"' if process else ""
    return f'<participant id="{id}" name="{name}"{ref}/>'


def drawing(
    *processes: str, pools: str, flows: tuple[tuple[str, str, str], ...] = FLOWS
) -> Drawing:  # fmt: skip
    arrows = "".join(
        f'<messageFlow id="m{n}" sourceRef="{source}" targetRef="{target}" name="{name}"/>'
        for n, (source, target, name) in enumerate(flows)
    )
    head = HEAD.format(pools=pools, flows=arrows)
    return read_drawing(f"{head}{''.join(processes)}</definitions>", "drawing.bpmn")


def two_pools(**options: Any) -> Drawing:
    return drawing(BUYER, SELLER, pools=pool("B", "한빛정밀", "buyer") + pool("S", "공급사", "seller"), **options)


def black_box() -> Drawing:
    flows = (("b2", "S", "발주"), ("S", "b3", "납품"))
    return drawing(BUYER, pools=pool("B", "한빛정밀", "buyer") + pool("S", "공급사"), flows=flows)


def of_kind(drawing: Drawing, kind: str) -> list[Todo]:
    return [todo for todo in todos_of(drawing) if todo.kind == kind]


def entry(drawing: Drawing, process: str, id: str) -> dict[str, Any]:
    data = drawing.definition(process)
    return next(entry for name in ("activities", "events") for entry in data[name] if entry["id"] == id)


def test_a_second_pool_is_one_to_do() -> None:
    """P-X.25: the second pool is asked about once, in its own words; its messages are not asked about beside it."""
    (todo,) = todos_of(two_pools())
    assert (todo.kind, todo.element, todo.name, todo.required) == ("pool", "S", "공급사", True)
    assert todo.message == "The pool «공급사» is a process of its own, with 2 message flows to another pool."
    assert todo.facts == {"steps": 1, "messages": ["발주", "납품"], "count": 2}
    assert [proposal.kind for proposal in todo.proposals] == ["definition", "outside"]


def test_pools_that_do_not_talk_are_not_asked_about() -> None:
    """P-X.25: two processes of one file without a message flow are two definitions."""
    assert of_kind(two_pools(flows=()), "pool") == []


def test_message_flows_become_messages() -> None:
    """BPMN 8.4.2, P-X.25: both ends have the flow's name, what waits is told by the conversation; nothing is left."""
    taken = answered(two_pools(), "pool:seller:S", {"as": "definition"})
    assert entry(taken, "buyer", "b2")["message"] == entry(taken, "seller", "s0")["message"] == "발주"
    assert entry(taken, "seller", "s2")["message"] == entry(taken, "buyer", "b3")["message"] == "납품"
    assert entry(taken, "buyer", "b3")["correlation"] == {"conversation": "${conversation}"}
    assert "correlation" not in entry(taken, "seller", "s0"), "it begins with what the message brings"
    assert [data["conversation"] for data in taken.definitions] == ["conversation", "conversation"]
    assert todos_of(taken) == []


def test_a_later_message_to_a_pool_is_of_its_conversation() -> None:
    """P-X.25: whoever was begun by a message waits only for the next ones of the same conversation."""
    asks_more = SELLER.replace(
        '<userTask id="s1" name="출하 준비"/>',
        '<receiveTask id="s1" name="확인 기다림"/>',
    )
    flows = (("b1", "s1", "확인"), *FLOWS)
    pools = pool("B", "한빛정밀", "buyer") + pool("S", "공급사", "seller")
    done, _ = accepted(drawing(BUYER, asks_more, pools=pools, flows=flows))
    assert entry(done, "buyer", "b1")["sends"] == ["확인"]
    assert entry(done, "seller", "s1")["correlation"] == {"conversation": "${conversation}"}


@awaited
async def test_two_pools_run_as_one_release(tmp_path: Path) -> None:
    """P-X.25: bought twice, delivered in the other order: every buyer gets its own delivery."""
    done, taken = accepted(two_pools())
    assert [each.key for each in taken] == ["pool:seller:S"]
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        for data in done.definitions:
            await one.define(data)
        buyers = [await one.begin("buyer", item=item) for item in ("A", "B")]
        for run in buyers:
            await one.submit(run, "b1")
        await settle(one)
        sellers = [run_of(one, "seller", run) for run in buyers]
        assert [one.door.view(run).variables["item"] for run in sellers] == ["A", "B"]
        await one.submit(sellers[1], "s1")
        await settle(one)
        assert [one.door.view(run).status for run in buyers][1] == "COMPLETED"
        assert one.open(buyers[0]) == ["b3"]
        await one.submit(sellers[0], "s1")
        await settle(one)
        assert [one.door.view(run).status for run in buyers] == ["COMPLETED", "COMPLETED"]


def test_a_second_pool_may_stay_outside() -> None:
    """P-X.25, P-X.13: then it is no definition, and people with its name or a program answer for it."""
    taken = answered(two_pools(), "pool:seller:S", {"as": "outside"})
    assert [data["process_definition_id"] for data in taken.definitions] == ["buyer"]
    assert entry(taken, "buyer", "b3")["answered_by"] == ["role:공급사"]
    assert "correlation" not in entry(taken, "buyer", "b3")
    assert todos_of(taken) == []


def test_a_black_box_is_answered_for() -> None:
    """P-X.25: only its border is drawn: somebody with the pool's name, or a program, gives what it would send."""
    (todo,) = of_kind(black_box(), "black_box")
    assert todo.message == "Of the pool «공급사» only the border is drawn, and nobody says who answers for it."
    done, _ = accepted(black_box())
    assert entry(done, "buyer", "b3")["answered_by"] == ["role:공급사"]
    assert entry(done, "buyer", "b2")["message"] == "발주서 보내기", "the event's own name"
    programs = answered(black_box(), todo.key, {"who": []})
    assert "answered_by" not in entry(programs, "buyer", "b3") and of_kind(programs, "black_box") == []


TASKS = (
    '<process id="p"><startEvent id="x0"/><task id="x1" name="Ask"/><endEvent id="x2"/>'
    '<sequenceFlow id="xf1" sourceRef="x0" targetRef="x1"/><sequenceFlow id="xf2" sourceRef="x1" targetRef="x2"/>'
    '</process><process id="q"><startEvent id="y0"/><task id="y1" name="Answer"/><endEvent id="y2"/>'
    '<sequenceFlow id="yf1" sourceRef="y0" targetRef="y1"/><sequenceFlow id="yf2" sourceRef="y1" targetRef="y2"/>'
    "</process>"
)


def test_plain_tasks_that_ask_and_answer() -> None:
    """BPMN 7.5.1: the one with the first message flow asks and waits after it; the other needs the message first, and
    takes its conversation from it."""
    both = drawing(
        TASKS, pools=pool("P", "P", "p") + pool("Q", "Q", "q"), flows=(("x1", "y1", "ask"), ("y1", "x1", "answer"))
    )
    done, _ = accepted(both)
    asks, answers = entry(done, "p", "x1"), entry(done, "q", "y1")
    assert (asks["sends"], asks.get("receives")) == (["ask"], None)
    assert (answers["receives"], answers["sends"], answers.get("correlation")) == (["ask"], ["answer"], None)


def test_a_flow_to_a_pool_begins_its_process() -> None:
    """BPMN 9.4: a message flow may end at the border of a pool; where it has one plain start, it begins there."""
    both = drawing(TASKS, pools=pool("P", "P", "p") + pool("Q", "Q", "q"), flows=(("x1", "Q", "go"),))
    done, _ = accepted(both)
    assert (entry(done, "q", "y0")["trigger"], entry(done, "q", "y0")["message"]) == ("message", "go")
    assert entry(done, "p", "x1")["sends"] == ["go"]


WRONG = [
    ({}, "wrong_type", "/as"),
    ({"as": "else"}, "wrong_type", "/as"),
    ({"as": "outside", "who": "me"}, "wrong_type", "/who"),
    ({"as": "outside", "who": ["me"]}, "bad_target", "/who/0"),
    ({"as": "definition", "more": 1}, "unknown_field", "/more"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "rule", "where"), WRONG)
def test_an_answer_that_does_not_fit(given: dict[str, Any], rule: str, where: str) -> None:
    """P-X.25, P-X.13: it is refused with its place, and nothing changes."""
    with pytest.raises(ProcessInvalid) as refused:
        answered(two_pools(), "pool:seller:S", given)
    (finding,) = refused.value.findings
    assert (finding.rule, finding.where.pointer) == (rule, where)
    with pytest.raises(ProcessInvalid):
        answered(two_pools(), "pool:seller:nobody", {"as": "definition"})
