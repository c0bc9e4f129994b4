"""The house's own agent, tools, data and assignment in a process: nothing of it is replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock import Penstock
from tests.conformance.process.make import as_bytes, process, service, task
from tests.conformance.process.running import PATIENCE_S, Failing, Instance, awaited


class House(Instance):
    """An instance in a house without a test's own executors."""

    def __init__(self, p: Penstock, run: str) -> None:
        self.p, self.id = p, run


async def started(p: Penstock, document: dict[str, Any], input: Any = None) -> House:
    run = House(p, await p.start(p.release(as_bytes(document), name="p.json"), input, trigger={"initiator": "lee"}))
    await p.wait(run.id, until_waiting=True, timeout=PATIENCE_S)
    return run


@awaited
async def test_an_agent_of_the_program_and_tools_that_undo(tmp_path: Path) -> None:
    """P-4.3.2, P-4.3.4, P-5.3.10, P-A.11, P-X.3: agents and tools are functions by name; tools get what they undo."""
    p = Penstock(tmp_path / "store.db")
    undone: list[Any] = []

    @p.executor("agent:writer")
    def writer(request: Any) -> Any:
        assert request.args["instruction"] == "쓰라" and request.args["input_data"] == {"topic": "물"}
        return {"text": "…"}

    @p.executor("agent:broken")
    def broken(request: Any) -> Any:
        raise Failing("no model")

    @p.executor("tool:delete_text")
    def delete_text(request: Any) -> Any:
        undone.append(request.args)
        return {"ok": True}

    document = process(
        [service("A", agent="writer", instruction="쓰라", compensation="delete_text"), service("B", agent="broken")],
        ["A>B"],
    )
    async with p:
        run = await started(p, document, {"topic": "물"})
        assert run.status == "TERMINATED" and run.states() == {"A": "COMPENSATED", "B": "CANCELLED"}
    assert undone == [{"text": "…"}]


@awaited
async def test_the_echo_agent_and_its_draft(tmp_path: Path) -> None:
    """P-X.3, P-A.8: the built-in agent works without any model."""
    async with Penstock(tmp_path / "store.db") as p:
        run = await started(p, process([service("A", "SUPERVISED", agent="echo"), task("B")], ["A>B"]), {"k": 1})
        assert run.states() == {"A": "SUBMITTED"} and isinstance(run.item("A").draft, dict)
        await run.do("A", "approve", by="manager")
        assert run.open() == ["B"]


@awaited
async def test_a_file_that_is_read_and_one_that_is_written(tmp_path: Path) -> None:
    """P-X.42: rows cut to the fields before the work; result[name] after it."""
    (tmp_path / "orders.json").write_text(json.dumps([{"id": 1, "secret": 2}]), "utf-8")
    read = [{"name": "orders", "type": "file", "source": "docs#orders.json", "fields": ["id"]}]
    write = [{"name": "report", "type": "file", "source": "report.json"}]
    async with Penstock(tmp_path / "store.db", output_dir=tmp_path / "out") as p:
        p.register("connection", "docs", {"type": "file", "root": str(tmp_path)})
        run = await started(p, process([task("A", input_data=read, output_data=write), task("B")], ["A>B"]))
        assert run.item("A").prompt["data"] == {"orders": [{"id": 1}]}
        await run.submit("A", {"report": {"n": 1}, "more": 2})
        assert run.open() == ["B"] and run.of("put")[-1].data["body"] == {"report": {"n": 1}, "more": 2}
    assert json.loads((tmp_path / "out" / "report.json").read_text("utf-8")) == {"n": 1}


@awaited
async def test_whoever_has_the_role(tmp_path: Path) -> None:
    """P-X.13: round_robin goes from one to the next."""
    roles = [{"id": "clerk", "name": "담당자", "assignment_rule": "round_robin"}]
    async with Penstock(tmp_path / "store.db") as p:
        for user in ("ahn", "bae"):
            p.register("user", user, {"id": user, "roles": ["clerk"]})
        chosen = []
        for _ in range(3):
            run = await started(p, process([task("A", role="clerk")], [], roles=roles))
            chosen.append(run.item("A").candidates["targets"][0])
        assert set(chosen) == {"user:ahn", "user:bae"} and chosen[0] != chosen[1]
