"""Every field does something where it stands, or it is told that it does not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox.respond import answer
from penstock.app.process.definitions import Processes
from penstock.app.process.extraction import propose
from penstock.app.process.work_items import WorkItems, folded
from penstock.errors import NotAllowed, ProcessState
from penstock.kernel import fact as F
from tests.conformance.process.make import event, findings, gateway, process, service, task
from tests.conformance.process.running import Office, awaited

TIMER = {"timer": {"duration": "PT1H"}}
CHILD = task("C", parent="A")


def _receive(**more: Any) -> dict[str, Any]:
    return task("A", bpmn="receiveTask", message="m", **more)


def _script(**more: Any) -> dict[str, Any]:
    return task("A", type="scriptTask", python_code="result = {}", **more)


#: what was written, and where it changes nothing
IDLE: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a person's message": ([task("A", message="m")], "message"),
    "a person's rules": ([task("A", rule_pack="r")], "rule_pack"),
    "a person's call": ([task("A", orchestration={"sub_process": "p"})], "orchestration/sub_process"),
    "a form of what is only waited for": ([_receive(form={"type": "object"})], "form"),
    "a time of what is only waited for": ([_receive(due="PT1H")], "due"),
    "an agent of a script": ([_script(agent="x")], "agent"),
    "an approval of a script": ([_script(agent_mode="SUPERVISED")], "agent_mode"),
    "approvers of a script": ([_script(orchestration={"approvers": ["user:x"]})], "orchestration/approvers"),
    "a sub-process that tells": ([task("A", type="subProcess", instruction="do"), CHILD], "instruction"),
    "a sub-process with an agent": ([task("A", type="subProcess", agent_mode="SUPERVISED"), CHILD], "agent_mode"),
    "items of a loop": ([task("A", multi={"mode": "loop", "most": 2, "items": "x"})], "multi/items"),
    "rounds of a list": ([task("A", multi={"items": "x", "most": 2})], "multi/most"),
}
EVENTS: dict[str, tuple[dict[str, Any], str]] = {
    "a border that is none": (event("E", "catch", "timer", attached_to="A", **TIMER), "attached_to"),
    "a time of a message": (event("E", "catch", "message", message="m", **TIMER), "timer"),
    "a code of a message": (event("E", "catch", "message", message="m", code="X"), "code"),
    "what a waiting one sends": (event("E", "catch", "message", message="m", payload={"a": 1}), "payload"),
    "whom a sending one means": (event("E", "throw", "message", message="m", correlation={"a": 1}), "correlation"),
    "a message of nothing": (event("E", "throw", "none", message="m"), "message"),
    "what is not undone": (event("E", "throw", "signal", signal="s", activity="A"), "activity"),
}


def _idle(document: dict[str, Any]) -> list[str]:
    return [one.where.pointer for one in findings(document) if one.rule == "idle_field"]


@pytest.mark.parametrize("case", IDLE)
def test_a_field_of_an_activity_that_changes_nothing_is_told(case: str) -> None:
    """P-2.2.6, P-X.17, P-X.42: whoever writes it means something by it."""
    elements, path = IDLE[case]
    assert _idle(process(elements, [])) == [f"/activities/0/{path}"]


@pytest.mark.parametrize("case", EVENTS)
def test_a_field_of_an_event_that_changes_nothing_is_told(case: str) -> None:
    """P-X.25: events of BPMN have what their trigger needs, and nothing else."""
    one, path = EVENTS[case]
    assert _idle(process([task("A"), one], ["A>E"])) == [f"/events/0/{path}"]


def test_a_default_that_nobody_asks_for_is_told() -> None:
    """P-2.2.7, P-3.2.13."""
    found = process([gateway("G", "parallel", default="G>A"), task("A"), task("B")], ["G>A", "G>B"])
    assert _idle(found) == ["/gateways/0/default"]


def test_what_the_seed_writes_out_in_full_is_not_told() -> None:
    """P-2.2.6: a model that is written with all of its defaults says nothing idle."""
    whole: dict[str, Any] = {
        "instruction": "", "input_data": [], "output_data": [], "python_code": None, "agent": None,
        "agent_mode": "MANUAL", "orchestration": None, "compensation": None,
    }  # fmt: skip
    found = process([task("A", **whole), {**_script(), **whole, "python_code": "result = {}"}], [])
    found["activities"][1]["id"] = "S"
    assert _idle(found) == []


@awaited
async def test_data_of_the_process_is_named_by_its_activities(tmp_path: Path) -> None:
    """P-2.2.4, P-2.2.9, P-X.42: a source that the process declares is read, and written, by its name alone; an activity
    may ask for fewer of its fields."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "o.json").write_text('[{"id": 1, "sum": 5, "note": "x"}]')
    source = {"name": "orders", "type": "file", "source": "shop#o.json", "fields": ["id", "sum"]}
    steps = [
        task("A", input_data=[{"name": "orders"}]),
        task("B", input_data=[{"name": "orders", "fields": ["sum"]}]),
    ]
    async with Office(tmp_path) as office:
        office.p.registry.put("connection", "shop", {"type": "file", "root": "."})
        run = await office.start(process(steps, ["A>B"], data=[source]))
        assert run.item("A").prompt["data"] == {"orders": [{"id": 1, "sum": 5}]}
        await run.submit("A")
        assert run.item("B").prompt["data"] == {"orders": [{"sum": 5}]}


@awaited
async def test_an_event_whose_ways_nobody_can_take(tmp_path: Path) -> None:
    """P-X.11: conditions may stand behind an event, too; where none holds the instance has failed, and is not done."""
    ways = [("S>A", {"condition": "x == 1"}), ("S>B", {"condition": "x == 2"})]
    document = process([event("S", "start"), task("A"), task("B")], ways)
    async with Office(tmp_path) as office:
        assert (await office.start(document, {"x": 2})).open() == ["B"]
        run = await office.start(document, {"x": 3})
        assert run.status == "TERMINATED" and run.look.failure is not None
        assert run.look.failure["code"] == "NO_MATCHING_BRANCH"


@pytest.mark.parametrize("count", [None, -1, 1.5, "3", 1001, [1]], ids=str)
@awaited
async def test_a_number_of_instances_that_is_none(count: Any, tmp_path: Path) -> None:
    """P-X.16: what cannot be counted is neither a thousand instances nor none at all; the activity has failed, in words
    that its author knows."""
    document = process([task("A", multi={"count": "n"})], [])
    async with Office(tmp_path) as office:
        run = await office.start(document, {} if count is None else {"n": count})
        assert run.status == "TERMINATED" and run.items() == []
        assert run.look.failure is not None and "fn." not in str(run.look.failure["message"])
        assert len((await office.start(document, {"n": 3})).items()) == 3


@awaited
async def test_others_go_on_while_a_text_is_read(tmp_path: Path) -> None:
    """P-X.2: a long text is read beside the loop."""
    async with Office(tmp_path) as office:
        order: list[str] = []

        async def read() -> None:
            await propose(office.p, "1. The clerk checks it.\n2. The manager files it.")
            order.append("read")

        async def other() -> None:
            order.append("other")

        await asyncio.gather(read(), other())
        assert order == ["other", "read"]


@awaited
async def test_a_long_instance_is_not_folded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.5: who looks at one item of many after another pays for what is new, and sees it."""
    async with Office(tmp_path) as office:
        await Processes(office.p).define(process([task("A", multi={"count": 60}), task("B")], ["A>B"]), by="boss")
        held = WorkItems(office.p)
        run = await held.initiate("p", by="lee")
        row, whole = held.instance(run)
        first, second = list(whole.items.values())[:2]
        read: list[int] = []
        decode = F.decode_facts

        def counted(body: bytes) -> list[list[Any]]:
            facts = decode(body)
            read.append(len(facts))
            return facts

        monkeypatch.setattr(F, "decode_facts", counted)
        assert held.get(second.id)[0].status == "TODO" and read == []
        await held.start(first.id, by="kim")
        read.clear()
        item, _, history = held.get(first.id)
        assert (item.status, item.assignee, [one.to for one in history]) == (
            "IN_PROGRESS",
            "kim",
            ["TODO", "IN_PROGRESS"],
        )
        assert sum(read) < 20 < folded(office.p, row).st.n


@awaited
async def test_an_answer_in_the_inbox_is_a_submit(tmp_path: Path) -> None:
    """P-X.13, P-X.28: whoever answers needs the permission to work, and does not answer what another one is on."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), task("B")], ["A>B"]))
        with pytest.raises(NotAllowed, match=r"process\.work"):
            await answer(office.p, run.id, "A", {}, by="kim", permissions=("inbox.decide",))
        await run.do("A", "start", by="lee")
        with pytest.raises(ProcessState, match="lee is on it"):
            await answer(office.p, run.id, "A", {}, by="kim", permissions=("process.work",))
        await answer(office.p, run.id, "A", {"n": 1}, by="lee", permissions=("process.work",))
        assert run.states() == {"A": "DONE", "B": "TODO"}


def test_a_supervised_service_is_told_nothing() -> None:
    """P-4.2.2: what a mode needs is used."""
    one = service(
        "A", "SUPERVISED", agent="x", form={"type": "object"}, orchestration={"approvers": ["user:b"], "tools": []}
    )
    assert _idle(process([one], [])) == []
