"""mcp: tools, resources and prompts of two real servers, one a process and one over HTTP."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.executors.contract import Done, Skipped
from penstock.executors.mcp import McpExecutor
from tests.executors.bench import as_json
from tests.executors.desk import Desk

pytest.importorskip("mcp")
MCP = McpExecutor()
SAMPLE = {"type": "jq", "expression": ".items | map({code: .item_code, qty: .quantity})"}

SERVER = '''
import asyncio, json, os, sys
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("erp", version="1.4.2")

@server.tool()
def get_inventory(item_code: str, warehouse: str = "WH01") -> dict:
    """What is in stock."""
    return {"items": [{"item_code": item_code, "quantity": 7, "warehouse": warehouse, "via": sys.argv[1]}]}

@server.tool(structured_output=False)
def as_text(what: str) -> str:
    return what

@server.tool()
def fails() -> str:
    raise ToolError("the ERP is closed, its word was " + os.environ.get("MCP_SECRET", "none"))

@server.tool()
def environment() -> dict:
    return dict(os.environ)

@server.tool()
async def sleeps(mark: str) -> str:
    open(mark, "w").write(str(os.getpid()))
    await asyncio.sleep(60)
    return "late"

@server.tool()
def huge() -> str:
    return "x" * 20_000_000

@server.resource("config://limits")
def limits() -> str:
    return json.dumps({"max": 5})

@server.resource("stock://{item}/level")
def level(item: str) -> str:
    return "level of " + item

@server.prompt()
def report(line: str) -> str:
    return "Write a report about " + line

if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
'''


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    made = tmp_path_factory.mktemp("mcp") / "server.py"
    made.write_text(SERVER)
    return str(made)


@pytest.fixture(scope="module")
def http(script):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([sys.executable, "-I", script, str(port)], stdout=quiet, stderr=quiet)
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/mcp"
    server.terminate()
    server.wait(10)


@pytest.fixture
def desk(tmp_path, script, http):
    made = Desk(tmp_path)
    made.settings["http.allow"] = ["127.0.0.1"]
    command = [sys.executable, "-I", script, "stdio"]
    made.register("mcp_server", "erp_mcp_server", transport="stdio", command=command, version="1.4.2")
    made.register("mcp_server", "erp_mcp_backup", transport="http", url=http)
    made.register("mcp_server", "broken", transport="stdio", command=["/nowhere/at-all"], version="1.0.0")
    return made


def call(type, name, arguments=None, server="erp_mcp_server", version=None, **more):
    wanted = {"id": server} if version is None else {"id": server, "version": version}
    return {"server": wanted, "operation": {"type": type, "name": name, "arguments": arguments}, **more}


BOTH = pytest.mark.parametrize("server", ["erp_mcp_server", "erp_mcp_backup"])


@BOTH
def test_a_tool(desk, server):
    """W-4.4.1, W-4.4.2: tools/call over both transports, its structured content through the sample transform."""
    args = call("tool", "get_inventory", {"item_code": "A1", "warehouse": "WH02"}, server, "1.0.0")
    done = desk.done(MCP, args)
    assert done.body["items"][0]["warehouse"] == "WH02"
    assert desk.done(MCP, {**args, "output": {"transform": SAMPLE}}).body == [{"code": "A1", "qty": 7}]


@BOTH
def test_a_resource_and_a_prompt(desk, server):
    """W-4.4.1: resources/read and prompts/get."""
    assert desk.done(MCP, call("resource", "config://limits", server=server)).body == {"max": 5}
    args = call("resource", "stock://{item}/level", {"item": "a b"}, server)
    assert desk.done(MCP, args).body == "level of a b"
    done = desk.done(MCP, call("prompt", "report", {"line": "L01"}, server))
    assert done.body["messages"] == [
        {"role": "user", "content": "Write a report about L01"},
    ]


def test_text_that_is_json_is_a_value(desk):
    for text, value in (('{"a": 1}', {"a": 1}), ("just words", "just words")):
        assert desk.done(MCP, call("tool", "as_text", {"what": text}, "erp_mcp_backup")).body == value


@pytest.mark.parametrize(
    ("version", "fits"),
    [("1.0.0", True), ("1.4.2", True), ("1.4", True), ("1.4.3", False), ("1.5.0", False), ("2.0.0", False),
     ("0.9", False), ("1.4.2-beta", True), ("x", False)],
)  # fmt: skip
def test_versions(desk, version, fits):
    """C-54, W-4.4.4: the same major and no newer than the server's (registered, or as it tells), else permanent."""
    for server in ("erp_mcp_server", "erp_mcp_backup") if version in ("1.4.2", "2.0.0") else ("erp_mcp_backup",):
        outcome = desk.run(MCP, call("tool", "as_text", {"what": "1"}, server, version))
        if fits:
            assert isinstance(outcome, Done), outcome
        else:
            assert (outcome.failure.code, outcome.failure.category) == ("MCP_VERSION", "permanent")


@BOTH
def test_a_tools_error_is_external(desk, server):
    """C-80: MCP_ERROR, external; also for a tool that is not there."""
    failure = desk.failed(MCP, call("tool", "fails", server=server))
    assert (failure.code, failure.category) == ("MCP_ERROR", "external")
    assert "the ERP is closed" in failure.message
    assert desk.failed(MCP, call("tool", "no_such_tool", server=server)).code == "MCP_ERROR"
    assert desk.failed(MCP, call("resource", "no://such", server=server)).code == "MCP_ERROR"


# ---- fallbacks (W-4.4.3) ---------------------------------------------------------------------------------------------


def test_fail_is_the_default(desk):
    """W-4.4.3."""
    assert desk.failed(MCP, call("tool", "fails", server="broken")).code == "MCP_ERROR"
    assert desk.failed(MCP, call("tool", "fails", server="broken", fallback={"on_error": "fail"})).code == "MCP_ERROR"


def test_skip(desk):
    """W-4.4.3: the node is skipped."""
    assert isinstance(desk.run(MCP, call("tool", "x", server="broken", fallback={"on_error": "skip"})), Skipped)


def test_a_default_value_is_not_transformed(desk):
    """W-4.4.3: the default stands as it is, and the trace says that it is one."""
    fallback = {"on_error": "default_value", "default": {"quantity": 0, "status": "unavailable"}}
    done = desk.done(MCP, call("tool", "x", server="broken", fallback=fallback, output={"transform": SAMPLE}))
    assert done.body == {"quantity": 0, "status": "unavailable"}
    assert done.meta["_fallback"] is True


def test_the_alternative_server_gets_the_same_call(desk):
    """W-4.4.3: its answer is transformed as the first one's would be; its failure is the node's."""
    fallback = {"on_error": "alternative_server", "alternative_server": "erp_mcp_backup"}
    args = call("tool", "get_inventory", {"item_code": "A1"}, "broken", fallback=fallback)
    done = desk.done(MCP, {**args, "output": {"transform": SAMPLE}})
    assert done.body == [{"code": "A1", "qty": 7}]
    assert (done.meta["_fallback"], done.meta["server"]) == (True, "erp_mcp_backup")
    failure = desk.failed(MCP, call("tool", "fails", server="broken", fallback=fallback))
    assert failure.code == "MCP_ERROR"
    assert failure.detail["first"]["error"] == "MCP_ERROR"
    nowhere = {"on_error": "alternative_server", "alternative_server": "none"}
    assert desk.failed(MCP, call("tool", "x", server="broken", fallback=nowhere)).code == "CONNECTION_NOT_FOUND"


def test_retries_come_before_the_fallback(desk):
    """W-4.4.3: after retries; an attempt that is not the last one fails."""
    fallback = {"on_error": "skip", "max_attempts": 3}
    args = call("tool", "x", server="broken", fallback=fallback)
    assert desk.failed(MCP, args, attempt=2).code == "MCP_ERROR"
    assert isinstance(desk.run(MCP, args, attempt=3), Skipped)
    again = call("tool", "x", server="broken", fallback={"on_error": "skip"}, retries_left=1)
    assert desk.failed(MCP, again).code == "MCP_ERROR"


# ---- what it may see and how it ends ---------------------------------------------------------------------------------


def test_a_process_sees_only_what_is_registered(desk, script, monkeypatch):
    """C-54: the environment of a server is its own; its secret is filled last and scrubbed from what comes back."""
    monkeypatch.setenv("PENSTOCK_TEST_WORD", "visible")
    command = [sys.executable, "-I", script, "stdio"]
    env = {"ERP_URL": "x", "ERP_KEY": "${secrets.key}"}
    desk.register("mcp_server", "own", transport="stdio", command=command, env=env, secret="key")
    assert desk.failed(MCP, call("tool", "environment", server="own")).code == "SECRET_NOT_FOUND"
    desk.tenant.secrets["key"] = "long-secret-word"
    seen = desk.done(MCP, call("tool", "environment", server="own")).body
    assert seen.pop("LC_CTYPE", "") in ("", "C.UTF-8")  # Python itself sets it
    assert seen == {"ERP_URL": "x", "ERP_KEY": "***", "MCP_SECRET": "***"}
    failure = desk.failed(MCP, call("tool", "fails", server="own"))
    assert "long-secret-word" not in str(failure)


def alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def ended(pid: int) -> bool:
    ends = time.monotonic() + 60
    while alive(pid) and time.monotonic() < ends:
        time.sleep(0.05)
    return not alive(pid)


def test_a_timeout_ends_the_process(desk, tmp_path):
    """A slow tool is a timeout, and its process does not stay."""
    mark = tmp_path / "pid"
    args = call("tool", "sleeps", {"mark": str(mark)})
    for timeout_ms in (6000, 60_000):
        failure = desk.failed(MCP, args, timeout_ms=timeout_ms)
        assert (failure.code, failure.category) == ("NODE_TIMEOUT", "timeout")
        if mark.exists():  # on a machine that is busy the first one may be over before the process is there
            break
    assert ended(int(mark.read_text()))


def test_a_cancel_ends_the_process(desk, tmp_path):
    mark = tmp_path / "pid"

    async def cancelled():
        args = call("tool", "sleeps", {"mark": str(mark)})
        task = asyncio.create_task(MCP.run(desk.request(args), desk.services))
        ends = time.monotonic() + 60
        while not (mark.exists() and mark.read_text()) and time.monotonic() < ends:
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ended(int(mark.read_text()))


@BOTH
def test_a_huge_answer_is_refused(desk, server):
    assert desk.run(MCP, call("tool", "huge", server=server), timeout_ms=15_000).failure.code in (
        "MCP_ERROR",
        "CONNECTION_LOST",
    )


def test_http_goes_through_the_guard(desk, http):
    """C-28: a private address is reached only if the operator has listed it."""
    desk.settings["http.allow"] = []
    failure = desk.failed(MCP, call("tool", "as_text", {"what": "1"}, "erp_mcp_backup"))
    assert (failure.code, failure.category) == ("HTTP_BLOCKED", "authorization")


def test_http_carries_the_secret_and_the_key(desk, serve):
    server = serve(lambda seen: as_json({}, 500))
    desk.register("mcp_server", "remote", transport="http", url=server.url, secret="key", version="1.0.0")
    desk.tenant.secrets["key"] = "long-secret-word"
    failure = desk.failed(MCP, call("tool", "x", server="remote"), timeout_ms=5000)
    assert failure.category in ("external", "transient", "timeout")
    assert server.seen[0].headers["authorization"] == "Bearer long-secret-word"
    assert server.seen[0].headers["idempotency-key"] == "t/r/n/0/1"


def test_nobody_is_there(desk):
    desk.register("mcp_server", "gone", transport="http", url="http://127.0.0.1:1/mcp", version="1.0.0")
    failure = desk.failed(MCP, call("tool", "x", server="gone"), timeout_ms=5000)
    assert failure.code in ("CONNECTION_LOST", "MCP_ERROR")
    desk.register("mcp_server", "dies", transport="stdio", command=["/bin/true"], version="1.0.0")
    failure = desk.failed(MCP, call("tool", "x", server="dies"))
    assert failure.category in ("external", "transient")


def test_commands_may_be_limited(desk):
    desk.settings["mcp.commands"] = ["/usr/bin/erp"]
    failure = desk.failed(MCP, call("tool", "x"))
    assert (failure.code, failure.category) == ("MCP_COMMAND", "authorization")


@pytest.mark.parametrize(
    "args",
    [
        None,
        {"server": {"id": "none"}, "operation": {"type": "tool", "name": "x"}},
        {"server": {"id": "erp_mcp_server"}},
        {"server": {"id": "erp_mcp_server"}, "operation": {"type": "shell", "name": "x"}},
        {"server": {"id": "erp_mcp_server"}, "operation": {"type": "tool", "name": ""}},
        {"server": {"id": "erp_mcp_server"}, "operation": {"type": "tool", "name": "x", "arguments": [1]}},
    ],
)
def test_arguments_of_the_wrong_kind(desk, args):
    assert desk.failed(MCP, args).category == "validation"


def test_no_process_is_left(desk):
    desk.done(MCP, call("tool", "as_text", {"what": "1"}))
    left = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert not [pid for pid in left if b"server.py\0stdio" in Path(f"/proc/{pid}/cmdline").read_bytes()]
