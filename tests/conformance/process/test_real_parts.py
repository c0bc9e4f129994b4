"""The house's own agent, tools, data and assignment in a process: nothing of it is replaced."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock import Penstock
from tests.conformance.process.make import as_bytes, process, service, task
from tests.conformance.process.running import PATIENCE_S, Failing, Instance, awaited
from tests.executors.bench import Server, as_json


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


def says(text: str | None, *calls: tuple[str, dict[str, Any]]) -> Any:
    """What a model answers, as its endpoint writes it."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(calls)
        ]
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return as_json({"model": "tiny-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@contextlib.contextmanager
def a_model(p: Penstock, *answers: Any) -> Iterator[Server]:
    """A model behind a real socket, which is the house's default one, and says these in turn."""
    left = list(answers)
    server = Server(lambda seen: left.pop(0))
    p.register("connection", "default_llm", {"type": "openai", "base_url": f"{server.url}/v1", "model": "tiny-1"})
    try:
        yield server
    finally:
        server.close()


@awaited
async def test_a_model_does_an_activity(tmp_path: Path) -> None:
    """P-1.2.5, P-4.3.2, P-4.3.4: the orchestrator asks a model with the instruction, the data and the tools of the
    activity; a tool that it asks for is called; its result goes on, and what it has cost is kept."""
    p = Penstock(tmp_path / "store.db", settings={"http.allow": ["127.0.0.1"]})
    called: list[Any] = []

    @p.executor("tool:look_up")
    def look_up(request: Any) -> Any:
        called.append(request.args)
        return {"owner": "lee"}

    first = service("A", instruction="누구의 것인가", orchestration={"tools": ["look_up"], "model": "tiny-1"})
    async with p:
        with a_model(p, says(None, ("look_up", {"id": "W7"})), says('{"owner": "lee", "sure": true}')) as server:
            run = await started(p, process([first, task("B")], ["A>B"]), {"id": "W7"})
            assert run.states() == {"A": "DONE", "B": "TODO"} and called == [{"id": "W7"}]
            assert [line.data["output"] for line in run.of("settled", "A")] == [{"owner": "lee", "sure": True}]
    asked = [seen.json for seen in server.seen]
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions"] * 2
    assert [one["model"] for one in asked] == ["tiny-1"] * 2
    texts = [message["content"] or "" for message in asked[0]["messages"]]
    assert texts[-1] == "누구의 것인가" and '"W7"' in texts[-2]
    assert [one["function"]["name"] for one in asked[0]["tools"]] == ["look_up"]
    assert json.loads(asked[1]["messages"][-1]["content"]) == {"owner": "lee"}


@awaited
async def test_a_model_that_cannot_do_it_is_undone_or_asked_again(tmp_path: Path) -> None:
    """P-1.2.5, P-2.2.1: SUPERVISED keeps the model's draft for a person; one without a result fails the activity, and
    what was done before is undone."""
    p = Penstock(tmp_path / "store.db", settings={"http.allow": ["127.0.0.1"]})
    undone: list[Any] = []

    @p.executor("tool:take_back")
    def take_back(request: Any) -> Any:
        undone.append(request.args)
        return {"ok": True}

    async with p:
        with a_model(p, says('{"text": "draft"}')) as server:
            run = await started(p, process([service("A", "SUPERVISED", instruction="쓰라"), task("B")], ["A>B"]))
            assert run.states() == {"A": "SUBMITTED"} and run.item("A").draft == {"text": "draft"}
            with a_model(p, says('{"n": 1}'), says("no JSON"), says("still none")) as other:
                steps = [service("A", compensation="take_back"), service("B")]
                ended = await started(p, process(steps, ["A>B"], process_definition_id="second"))
                assert ended.status == "TERMINATED" and undone == [{"n": 1}]
    assert len(server.seen) == 1 and len(other.seen) == 3


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
