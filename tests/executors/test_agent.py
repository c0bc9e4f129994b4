"""agent: every kind of agent over its real wire: a scripted model with real MCP tools, HTTP, a program, a graph."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.executors.agent import AgentExecutor
from penstock.executors.contract import Done
from penstock.executors.graph import GraphExecutor
from tests.executors.bench import as_json
from tests.executors.test_tool import Tools, script, with_server  # noqa: F401

AGENT = AgentExecutor()
KEY = "sk-live-0123456789abcdef"


@pytest.fixture
def desk(tmp_path: Path) -> Tools:
    made = Tools(tmp_path)
    made.settings["http.allow"] = ["127.0.0.1"]
    return made


def says(text: str | None = None, *calls: tuple[str, dict[str, Any]], tokens: int = 10) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(calls)
        ]
    usage = {"prompt_tokens": tokens - 1, "completion_tokens": 1, "total_tokens": tokens}
    return as_json({"model": "tiny-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@pytest.fixture
def model(desk: Tools, serve: Any) -> Any:
    """A model that says the given things in turn."""

    def start(*answers: Any) -> Any:
        left = list(answers)
        server = serve(lambda seen: left.pop(0) if len(left) > 1 else left[0])
        desk.tenant.secrets["K"] = KEY
        desk.register("connection", "default_llm", type="openai", base_url=f"{server.url}/v1", secret="K")
        return server

    return start


def test_the_house_s_own_agent(desk: Tools, model: Any, script: str) -> None:  # noqa: F811
    """P-4.3.2, P-4.3.4: instruction, data and the tools of the activity; a tool is called, then there is a result."""
    with_server(desk, script)
    server = model(says(None, ("bank_cancel_payment", {"payment_id": "P7"})), says('{"done": true}'))
    args = {"instruction": "Cancel it", "input_data": {"id": "P7"}, "tools": ["cancel_payment"]}
    done = desk.done(AGENT, args)
    assert done.body == {"done": True}
    assert done.meta is not None and done.meta["token_usage"]["total"] == 20 and done.meta["model"] == "tiny-1"
    first, second = server.seen[0].json, server.seen[1].json
    assert [one["function"]["name"] for one in first["tools"]] == ["bank_cancel_payment"]
    assert first["tools"][0]["function"]["parameters"]["required"] == ["payment_id"]
    assert "Cancel it" in first["messages"][-1]["content"] and '"P7"' in first["messages"][1]["content"]
    answered = second["messages"][-1]
    assert answered["role"] == "tool" and json.loads(answered["content"]) == {"cancelled": "P7", "by": "bank"}
    told = [one["role"] for one in done.meta["transcript"]]
    assert told == ["system", "user", "user", "assistant", "tool", "assistant"]
    assert server.seen[0].headers["idempotency-key"] != server.seen[1].headers["idempotency-key"]


def test_a_tool_that_is_not_allowed(desk: Tools, model: Any, script: str) -> None:  # noqa: F811
    """P-4.3.4: only the activity's own tools; a model that asks for another hears so, and nothing is called."""
    with_server(desk, script)
    called: list[str] = []
    desk.function("tool:delete_all", lambda: called.append("x"))
    server = model(says(None, ("delete_all", {})), says('{"ok": 1}'))
    assert desk.done(AGENT, {"instruction": "x", "tools": ["bank/cancel_payment"]}).body == {"ok": 1}
    assert not called and "no tool delete_all" in server.seen[1].json["messages"][-1]["content"]


def test_a_tool_that_fails_is_told_to_the_model(desk: Tools, model: Any, script: str) -> None:  # noqa: F811
    with_server(desk, script)
    server = model(says(None, ("bank_refuses", {})), says('{"gave_up": true}'))
    assert desk.done(AGENT, {"instruction": "x", "tools": ["bank/*"]}).body == {"gave_up": True}
    assert "the bank is closed" in server.seen[1].json["messages"][-1]["content"]
    assert len(server.seen[0].json["tools"]) == 5


def test_a_result_of_the_wrong_shape_is_repaired_once(desk: Tools, model: Any) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    model(says("no JSON"), says('{"n": 3}'))
    assert desk.done(AGENT, {"instruction": "x", "schema": schema}).body == {"n": 3}
    model(says('{"n": "a"}'), says('{"n": "b"}'))
    assert desk.failed(AGENT, {"instruction": "x", "schema": schema}).code == "OUTPUT_SCHEMA"


def test_the_budget_of_tokens_and_steps(desk: Tools, model: Any) -> None:
    model(says(None, ("none", {}), tokens=600))
    failure = desk.failed(AGENT, {"instruction": "x", "orchestration": {"tokens": 1000}})
    assert failure.code == "AGENT_BUDGET" and failure.detail["token_usage"]["total"] == 1200
    assert failure.detail["transcript"]
    model(says(None, ("none", {})))
    assert "after 3 steps" in desk.failed(AGENT, {"instruction": "x", "orchestration": {"steps": 3}}).message


def test_what_a_person_has_said_of_the_last_draft(desk: Tools, model: Any) -> None:
    """P-X.14: the comment of a rejection reaches the agent, with its draft."""
    server = model(says("{}"))
    desk.done(AGENT, {"instruction": "Draft", "remarks": "shorter", "draft": {"text": "long"}})
    assert "shorter" in server.seen[0].json["messages"][-1]["content"]
    assert "long" in server.seen[0].json["messages"][1]["content"]


def test_secrets_are_in_no_prompt(desk: Tools, model: Any) -> None:
    server = model(says('{"k": "' + KEY + '"}'))
    done = desk.done(AGENT, {"instruction": f"use {KEY}", "input_data": {"k": KEY}})
    assert KEY not in server.seen[0].body.decode() and KEY not in json.dumps(done.body)
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_no_model_is_set_up(desk: Tools) -> None:
    assert desk.failed(AGENT, {"instruction": "x"}).code == "CONNECTION_NOT_FOUND"
    desk.register("connection", "default_llm", type="stub")
    assert desk.done(AGENT, {"instruction": "sum", "input_data": {"a": 1}}).body == {"a": 1, "summary": "sum"}


def test_a_function_of_the_program(desk: Tools) -> None:
    """P-X.3: a registered Python callable is an agent."""
    desk.function("agent:classify", lambda instruction, input_data: {"said": instruction, "class": input_data["n"]})
    assert desk.done(AGENT, {"agent": "classify", "instruction": "i", "input_data": {"n": 4}}).body == {
        "said": "i", "class": 4,
    }  # fmt: skip

    def broken() -> None:
        raise ValueError("no idea")

    desk.function("agent:broken", broken)
    assert "no idea" in desk.failed(AGENT, {"agent": "broken"}).message
    assert desk.failed(AGENT, {"agent": "nobody"}).code == "AGENT_UNKNOWN"


def test_echo(desk: Tools) -> None:
    """P-X.3: the built-in agent that works offline."""
    assert desk.done(AGENT, {"agent": "echo", "input_data": {"a": 1}}).body == {"a": 1}
    told = {"agent": "echo", "orchestration": {"result": {"has_issue": True}}}
    assert desk.done(AGENT, told).body == {"has_issue": True}
    failure = desk.failed(AGENT, {"agent": "echo", "orchestration": {"fails": "no answer"}})
    assert (failure.code, failure.message) == ("AGENT_ERROR", "no answer")


def test_an_agent_behind_an_address(desk: Tools, serve: Any) -> None:
    """P-X.3: an HTTP endpoint is an agent; its key goes along."""
    server = serve(lambda seen: as_json({"echo": seen.json["input_data"]}))
    desk.tenant.secrets["A"] = KEY
    desk.register("agent", "remote", kind="http", url=f"{server.url}/act", secret="A")
    assert desk.done(AGENT, {"agent": "remote", "instruction": "i", "input_data": {"a": 1}}).body == {"echo": {"a": 1}}
    assert server.seen[0].json["key"] == "t/r/n/0/1" and server.seen[0].headers["authorization"] == f"Bearer {KEY}"
    desk.register("agent", "down", kind="http", url="http://127.0.0.1:1/x")
    assert desk.failed(AGENT, {"agent": "down"}).code == "CONNECTION_LOST"
    desk.settings["http.allow"] = []
    assert desk.failed(AGENT, {"agent": "remote"}).category == "authorization"


def test_a_program_of_the_operator(desk: Tools, tmp_path: Path) -> None:
    """P-X.3: a subprocess is an agent, when the operator has named it; task on its input, result on its output."""
    program = tmp_path / "agent.py"
    program.write_text(
        "import json, os, sys\ntask = json.load(sys.stdin)\n"
        "print(json.dumps({'n': task['input_data']['n'] + 1, 'env': sorted(os.environ)}))\n"
    )
    desk.settings["agent.commands.adder"] = [sys.executable, "-I", str(program)]
    desk.register("agent", "plus", kind="process", command="adder")
    body = desk.done(AGENT, {"agent": "plus", "input_data": {"n": 2}}).body
    assert body["n"] == 3 and "PENSTOCK_KEY" in body["env"] and "HOME" not in body["env"]
    desk.register("agent", "evil", kind="process", command="/bin/sh")
    assert desk.failed(AGENT, {"agent": "evil"}).code == "AGENT_COMMAND"
    program.write_text("import sys\nsys.stderr.write('broken pipe')\nsys.exit(3)\n")
    assert "ended with 3" in desk.failed(AGENT, {"agent": "plus", "input_data": {}}).message


def test_its_time_is_over_and_nothing_is_left_running(desk: Tools, tmp_path: Path) -> None:
    """P-X.39, P-5.5.8: a cancelled or late agent is really stopped, with everything it has started."""
    mark = tmp_path / "pid"
    program = tmp_path / "agent.py"
    program.write_text(f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    desk.settings["agent.commands.sleeper"] = [sys.executable, "-I", str(program)]
    desk.register("agent", "slow", kind="process", command="sleeper")
    failure = desk.failed(AGENT, {"agent": "slow", "orchestration": {"timeout_s": 3}})
    assert (failure.code, failure.category) == ("AGENT_TIMEOUT", "timeout")
    _gone(int(mark.read_text()))
    mark.unlink()

    async def cancelled() -> None:
        task = asyncio.create_task(AGENT.run(desk.request({"agent": "slow"}), desk.services))
        while not (mark.exists() and mark.read_text()):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    _gone(int(mark.read_text()))


def test_a_program_dies_with_its_worker(tmp_path: Path) -> None:
    """P-X.39: kill -9 of the worker: its agent does not go on beside the one that is asked again."""
    mark, program = tmp_path / "pid", tmp_path / "agent.py"
    program.write_text(f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    text = (
        "import asyncio, sys\nfrom penstock.executors.agents.program import _run_program\n"
        "from penstock.executors.contract import Request\n"
        "asked = Request(key='k', tenant='t', run='r', node='n', executor='agent', args=None)\n"
        "asyncio.run(_run_program([sys.executable, '-I', sys.argv[1]], b'{}', asked))\n"
    )
    home = {**os.environ, "PYTHONPATH": str(Path(penstock.__file__).parents[1])}
    worker = subprocess.Popen([sys.executable, "-c", text, str(program)], env=home)
    ends = time.monotonic() + 60
    while not (mark.exists() and mark.read_text()) and time.monotonic() < ends:
        time.sleep(0.02)
    worker.kill()
    assert worker.wait() == -signal.SIGKILL
    _gone(int(mark.read_text()))


def _gone(pid: int) -> None:
    ends = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists() and time.monotonic() < ends:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_compiled_graph_is_an_agent(desk: Tools) -> None:
    """P-4.2.1, P-X.3: LangGraph really installed; its thread is the key, so that its checkpointer goes on."""
    graphs = pytest.importorskip("langgraph.graph", reason="the extra «langgraph» is not installed")
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.config import get_config
    from typing_extensions import TypedDict

    class State(TypedDict, total=False):
        instruction: str
        input_data: dict[str, Any]
        result: dict[str, Any]

    threads: list[str] = []

    def classify(state: State) -> State:
        threads.append(get_config()["configurable"]["thread_id"])
        return {"result": {"class": "핵심" if state["input_data"]["n"] > 1 else "일반", "told": state["instruction"]}}

    made = graphs.StateGraph(State)
    made.add_node("classify", classify)
    made.add_edge(graphs.START, "classify")
    made.add_edge("classify", graphs.END)
    desk.own["agent:graph"] = GraphExecutor("agent:graph", made.compile(checkpointer=InMemorySaver()))
    done = desk.done(AGENT, {"agent": "graph", "instruction": "분류", "input_data": {"n": 2}})
    assert isinstance(done, Done) and done.body == {"class": "핵심", "told": "분류"} and threads == ["t/r/n/0/1"]

    def broken(state: State) -> State:
        raise RuntimeError("graph broke")

    worse = graphs.StateGraph(State)
    worse.add_node("broken", broken)
    worse.add_edge(graphs.START, "broken")
    desk.own["agent:worse"] = GraphExecutor("agent:worse", worse.compile())
    assert "graph broke" in desk.failed(AGENT, {"agent": "worse"}).message


def test_tools_inside_a_graph(desk: Tools, script: str) -> None:  # noqa: F811
    """P-4.3.4, P-X.3: a compiled graph gets the activity's tools of a real MCP server as functions, and no others."""
    graphs = pytest.importorskip("langgraph.graph", reason="the extra «langgraph» is not installed")
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.config import get_config
    from typing_extensions import TypedDict

    class State(TypedDict, total=False):
        tools: list[str]
        input_data: dict[str, Any]
        result: dict[str, Any]

    with_server(desk, script)
    desk.function("tool:local", lambda n: {"n": n + 1})

    async def undo(state: State) -> State:
        tools = get_config()["configurable"]["tools"]
        assert sorted(tools) == ["bank/cancel_payment", "cancel_payment", "local"] == sorted(state["tools"])
        first = await tools["cancel_payment"](payment_id=state["input_data"]["id"])
        again = await asyncio.create_task(tools["bank/cancel_payment"](payment_id="P8"))
        return {"result": {"first": first, "again": again, "local": await tools["local"](n=1)}}

    async def fails(state: State) -> State:
        return {"result": await get_config()["configurable"]["tools"]["bank/says_no"]()}

    for id, node in (("undoer", undo), ("failer", fails)):
        made = graphs.StateGraph(State)
        made.add_node("only", node)
        made.add_edge(graphs.START, "only")
        desk.own[f"agent:{id}"] = GraphExecutor(f"agent:{id}", made.compile(checkpointer=InMemorySaver()))
    asked = {"agent": "undoer", "input_data": {"id": "P7"}, "tools": ["cancel_payment", "local"]}
    assert desk.done(AGENT, asked).body == {
        "first": {"cancelled": "P7", "by": "bank"}, "again": {"cancelled": "P8", "by": "bank"}, "local": {"n": 2},
    }  # fmt: skip
    assert "too late" in desk.failed(AGENT, {"agent": "failer", "tools": ["bank/says_no"]}).message
    assert desk.failed(AGENT, {"agent": "failer", "tools": ["nobody"]}).code == "TOOL_NOT_FOUND"


def test_two_tools_are_never_one(desk: Tools, model: Any) -> None:
    """P-4.3.4: names that an endpoint cannot tell apart are made to differ; each call reaches its own tool."""
    called: list[str] = []
    desk.function("tool:a/b", lambda: called.append("a/b"))
    desk.function("tool:a_b", lambda: called.append("a_b"))
    desk.function("tool:../%", lambda: called.append("dots"))
    server = model(says(None, ("a_b", {}), ("a_b_1", {}), ("tool_2", {})), says("{}"))
    desk.done(AGENT, {"instruction": "x", "tools": ["a/b", "a_b", "../%"]})
    offered = [one["function"]["name"] for one in server.seen[0].json["tools"]]
    assert offered == ["a_b", "a_b_1", "tool_2"] and called == ["a/b", "a_b", "dots"]


def test_the_key_of_a_call_is_its_own(desk: Tools, model: Any, serve: Any) -> None:
    """P-4.3.4: a later attempt that calls the same has the same key; another call never has it."""
    shop = serve(lambda seen: as_json({}))
    desk.register("tool", "charge", type="http", url=shop.url)
    for first in ({"n": 1, "to": "a"}, {"n": 2}):
        model(says(None, ("charge", first)), says(None, ("charge", {"to": "a", "n": 1})), says("{}"))
        desk.done(AGENT, {"instruction": "x", "tools": ["charge"]})
    keys = [one.headers["idempotency-key"] for one in shop.seen]
    assert len(set(keys[:2])) == 2 and keys[3] == keys[0] and keys[2] not in keys[:2]


def test_what_tools_tell_of_secrets(desk: Tools, model: Any) -> None:
    """P-4.3.4: not in what a tool answers, a schema or an agent's own words: no prompt and no transcript has them."""
    desk.function("tool:leak", lambda: {"key": KEY})
    server = model(says(None, ("leak", {})), says("{}"))
    schema = {"type": "object", "title": KEY}
    asked = {"instruction": "${secrets.K}", "tools": ["leak"], "schema": schema, "orchestration": {"system": KEY}}
    done = desk.done(AGENT, asked)
    assert done.meta is not None and KEY not in json.dumps(done.meta)
    assert all(KEY not in one.body.decode() for one in server.seen)
    assert "${secrets.K}" in server.seen[0].json["messages"][-1]["content"], "a reference in a text is a text"


def test_a_transcript_has_a_size(desk: Tools, model: Any) -> None:
    """P-4.3.8: what is said at length is kept at its beginning; the result itself is whole, up to its own limit."""
    desk.function("tool:t", lambda **given: {"long": "y" * 50_000})
    model(says(None, ("t", {"a": "x" * 100_000})), says(json.dumps({"a": "z" * 100_000})))
    done = desk.done(AGENT, {"instruction": "x" * 100_000, "tools": ["t"]})
    assert len(done.body["a"]) == 100_000
    assert done.meta is not None and max(len(json.dumps(one)) for one in done.meta["transcript"]) < 20_000
    desk.function("agent:long", lambda: {"a": "x" * 100_000})
    told = desk.done(AGENT, {"agent": "long"}).meta
    assert told is not None and len(json.dumps(told["transcript"])) < 20_000
    desk.function("agent:huge", lambda: {"a": "x" * 11 * 1024 * 1024})
    failure = desk.failed(AGENT, {"agent": "huge"})
    assert (failure.code, failure.category) == ("OUTPUT_TOO_LARGE", "resource")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("print('x' * 50_000_000)", "says more than"),
        ("import sys\nwhile True: sys.stderr.write('x' * 1000)", "says more than"),
        ("import os, time\nif os.fork() == 0: os.setsid(); time.sleep(20)\nelse: print('{}')", "no result within"),
        ("print('[' * 100_000)", None),
        ("print('{\"a\": NaN}')", None),
    ],
    ids=["huge", "stderr", "held open", "deep", "nan"],
)
def test_a_program_that_misbehaves(desk: Tools, tmp_path: Path, text: str, says: str | None) -> None:
    """P-X.3: what it prints has a limit, and what it leaves behind keeps nobody waiting; no JSON is a text."""
    program = tmp_path / "agent.py"
    program.write_text(text)
    desk.settings["agent.commands.bad"] = [sys.executable, "-I", str(program)]
    desk.register("agent", "bad", kind="process", command="bad")
    began = time.monotonic()
    asked = {"agent": "bad", "orchestration": {"timeout_s": 5}}
    if says is None:
        assert isinstance(desk.done(AGENT, asked).body["result"], str)
    else:
        assert says in desk.failed(AGENT, asked).message
    assert time.monotonic() - began < 18


def test_an_address_that_sends_elsewhere(desk: Tools, serve: Any) -> None:
    """P-X.3: an HTTP agent that redirects is not followed, wherever it points."""
    server = serve(lambda seen: (307, {"Location": "http://169.254.169.254/"}, b""))
    desk.register("agent", "away", kind="http", url=server.url)
    assert desk.failed(AGENT, {"agent": "away"}).code == "HTTP_REDIRECT"


def test_an_activity_does_not_say_where_its_agent_lives(desk: Tools, serve: Any) -> None:
    """P-2.2.6: orchestration never turns a registered agent into another one."""
    server = serve(lambda seen: as_json({"stolen": True}))
    desk.register("agent", "calm", kind="echo")
    more = {"kind": "http", "url": server.url, "command": "x", "connection": "y", "secret": "K"}
    assert desk.done(AGENT, {"agent": "calm", "input_data": {"a": 1}, "orchestration": more}).body == {"a": 1}
    assert not server.seen


def test_a_server_that_dies_in_the_middle(desk: Tools, model: Any, tmp_path: Path) -> None:
    """P-4.3.4, P-X.36: the model hears that a tool's server is gone, and may end its work without it."""
    pytest.importorskip("mcp")
    died = tmp_path / "dies.py"
    died.write_text(
        "import os\nfrom mcp.server.mcpserver import MCPServer\nserver = MCPServer('x', version='1')\n"
        "@server.tool()\ndef dies() -> dict:\n    os._exit(3)\nserver.run('stdio')\n"
    )
    desk.register("mcp_server", "frail", transport="stdio", command=[sys.executable, "-I", str(died)])
    server = model(says(None, ("frail_dies", {})), says('{"went_on": true}'))
    assert desk.done(AGENT, {"instruction": "x", "tools": ["frail/*"]}).body == {"went_on": True}
    assert "Connection closed" in server.seen[1].json["messages"][-1]["content"]
