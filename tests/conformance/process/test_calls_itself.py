"""Which version is called, and processes that call themselves, also by way of others (P-X.4; BPMN 2.0.2, 10.3.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.app.process.definitions import Processes
from penstock.app.process.version_writer import AskedVersion
from penstock.app.process.work_items import WorkItems
from penstock.app.releases.releases import Releases
from penstock.lang.compile import check_document
from penstock.net.calls import AGAIN, DOCUMENT
from tests.conformance.process.make import as_bytes, compiled, event, gateway, process, task
from tests.conformance.process.running import PATIENCE_S, Instance, Office, awaited


def call(id: str, of: str, **fields: Any) -> dict[str, Any]:
    return task(id, type="subProcess", orchestration={"sub_process": of, **fields})


def countdown(id: str = "down", then: str = "down", *more: dict[str, Any], **top: Any) -> dict[str, Any]:
    """Calls `then` with one less as long as something is left; `out` names how many rounds there were below."""
    again = call("C", then, input={"left": "${left - 1}", "rounds": 0}, output={"rounds": "rounds"})
    count = task("N", type="scriptTask", python_code="result = {'rounds': rounds + 1}")
    choice = gateway("X", conditions={"X>C": "left > 0", "default": "X>N"})
    elements = [event("S", "start"), choice, again, count, event("E", "end"), *more]
    return process(elements, ["S>X", "X>C", "X>N", "C>N", "N>E"], process_definition_id=id, **top)


async def begun(office: Office, id: str, **input: Any) -> Instance:
    run = Instance(office, await WorkItems(office.p).initiate(id, by="kim", input={"rounds": 0, **input}))
    await run.p.wait(run.id, timeout=PATIENCE_S)
    return run


def asked(document: dict[str, Any]) -> AskedVersion:
    return AskedVersion(document, None, "boss", False, None, False)


@awaited
async def test_the_version_in_force_is_called(tmp_path: Path) -> None:
    """P-X.4: a later one that is out of force is called only by its number."""
    async with Office(tmp_path) as office:
        held = Processes(office.p)
        for n in (1, 2):
            script = task("N", type="scriptTask", python_code=f"result = {{'rounds': {n}}}")
            await held.define(process([script], [], process_definition_id="child"), by="boss")
        Releases(office.p).activate(held.named("child")[0].name, 1, by="boss")
        for id, version, rounds in (("either", {}, 1), ("second", {"version": 2}, 2)):
            calls = call("A", "child", output={"rounds": "rounds"}, **version)
            await held.define(process([calls], [], process_definition_id=id), by="boss")
            assert (await begun(office, id)).look.variables["rounds"] == rounds


@awaited
async def test_a_process_calls_itself(tmp_path: Path) -> None:
    """P-X.4, BPMN 10.3.6: «a Call Activity identifies a point in the Process where a global Process … is used»: it may
    be the process itself; every call is an instance of its own, and has its caller's result."""
    async with Office(tmp_path) as office:
        await Processes(office.p).define(countdown(), by="boss")
        run = await begun(office, "down", left=3)
        assert (run.status, run.look.variables["rounds"]) == ("COMPLETED", 4)


@awaited
async def test_it_is_its_own_version_that_is_called(tmp_path: Path) -> None:
    """P-X.4, P-2.3.2: an instance of the second version calls the second version, by id or by name, and one of the
    first the first, whichever is in force."""
    second = countdown()
    second["activities"][1]["python_code"] = "result = {'rounds': rounds + 10}"
    async with Office(tmp_path) as office:
        await Processes(office.p).define(countdown(then="P"), by="boss")
        run = Instance(office, await WorkItems(office.p).initiate("down", by="kim", input={"left": 1, "rounds": 0}))
        await Processes(office.p).define(second, by="boss")
        await Processes(office.p).define({**second, "activities": countdown(then="P")["activities"][:1]
                                          + second["activities"][1:]}, by="boss")  # fmt: skip
        await run.p.wait(run.id, timeout=PATIENCE_S)
        assert run.look.variables["rounds"] == 2
        for version in (2, 3):
            id = await WorkItems(office.p).initiate("down", by="kim", input={"left": 2, "rounds": 0}, version=version)
            run = Instance(office, id)
            await run.p.wait(run.id, timeout=PATIENCE_S)
            assert run.look.variables["rounds"] == 30


@awaited
async def test_two_processes_of_a_drawing_call_each_other(tmp_path: Path) -> None:
    """P-X.4: released in one commit, whichever is begun; and again when only one of them is changed later."""
    pair = [countdown("down", "up"), countdown("up", "down")]
    async with Office(tmp_path) as office:
        held = Processes(office.p)
        await held._writer.saved([asked(each) for each in pair])
        assert (await begun(office, "down", left=3)).look.variables["rounds"] == 4
        assert (await begun(office, "up", left=2)).look.variables["rounds"] == 3
        await held.define({**countdown("up", "down"), "description": "again"}, by="boss")
        assert (await begun(office, "up", left=3)).look.variables["rounds"] == 4


@awaited
async def test_one_that_is_called_from_outside_of_the_circle(tmp_path: Path) -> None:
    """P-X.4: two that call each other are called by a third, each of them: they find each other all the same."""
    calls = [call("A", "down", input={"left": 2, "rounds": 0}), call("B", "up", input={"left": 1, "rounds": 0})]
    third = process(calls, ["A>B"], process_definition_id="third")
    async with Office(tmp_path) as office:
        await Processes(office.p)._writer.saved([asked(countdown("down", "up")), asked(countdown("up", "down"))])
        await Processes(office.p).define(third, by="boss")
        run = await begun(office, "third")
        assert run.status == "COMPLETED" and len(office.p.runs()) == 1 + 3 + 2


@awaited
async def test_a_circle_that_never_ends_is_ended(tmp_path: Path) -> None:
    """P-X.4: calls go as deep as the tenant's limit `call_depth`; the call beyond it fails, and an error event may
    catch that."""
    endless = countdown()
    endless["gateways"][0]["conditions"]["X>C"] = "left < 1000"
    async with Office(tmp_path) as office:
        await Processes(office.p).define(endless, by="boss")
        run = await begun(office, "down", left=900)
        assert run.status == "TERMINATED"
        runs = [office.p.view(row.id).failure for row in office.p.runs(limit=100)]
        assert len(runs) == 33 and [failure["code"] for failure in runs if failure].count("CALL_DEPTH_LIMIT") == 1


def test_it_is_compiled_without_knowing_its_own_hash() -> None:
    """P-X.4: the call names the mark of its document, which the net bears; what nobody calls bears none."""
    net = compiled(countdown()).net
    (node,) = [node for node in net.nodes if node.id == "C"]
    assert node.effect is not None and node.effect.args[AGAIN] == net.declares.policies[DOCUMENT]
    assert DOCUMENT not in compiled(process([task("A")], [])).net.declares.policies


def test_it_is_checked_like_any_other() -> None:
    """P-X.4, P-X.31: nothing is wrong with it, alone or by way of others; other languages keep their refusal."""
    documents = {"down": as_bytes(countdown("down", "up")), "up": as_bytes(countdown("up", "down"))}
    for data in (as_bytes(countdown()), *documents.values()):
        found = check_document(data, name="p.json", resolve=lambda name: documents[name])[1]
        assert found == []
