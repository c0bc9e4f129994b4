"""tool: what undoes an activity, by its name: a function, an HTTP tool, and tools of two real MCP servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.executors.contract import Done, Services
from penstock.executors.function import FunctionExecutor
from penstock.executors.parts.tools import TIMEOUT_MS
from penstock.executors.tool import ToolExecutor
from tests.executors.bench import as_json
from tests.executors.desk import Desk

TOOL = ToolExecutor()
SERVER = """
import asyncio, sys
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer(sys.argv[1], version="1.0.0")

@server.tool()
def cancel_payment(payment_id: str) -> dict:
    return {"cancelled": payment_id, "by": sys.argv[1]}

@server.tool()
def both() -> dict:
    return {}

@server.tool()
def refuses() -> dict:
    raise ToolError("the bank is closed")

@server.tool()
def says_no() -> dict:
    return {"ok": False, "error": "too late"}

@server.tool()
async def sleeps() -> dict:
    await asyncio.sleep(60)
    return {}

server.run("stdio")
"""


class Tools(Desk):
    """A desk whose program has functions of its own."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.own: dict[str, Any] = {}

    @property
    def services(self) -> Services:
        return msgspec.structs.replace(super().services, executors=self.own)

    def function(self, name: str, fn: Any) -> None:
        self.own[name] = FunctionExecutor(name, fn)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = tmp_path_factory.mktemp("tools") / "server.py"
    made.write_text(SERVER)
    return str(made)


@pytest.fixture
def desk(tmp_path: Path) -> Tools:
    made = Tools(tmp_path)
    made.settings["http.allow"] = ["127.0.0.1"]
    return made


def with_server(desk: Tools, script: str, id: str = "bank") -> None:
    pytest.importorskip("mcp")
    desk.register("mcp_server", id, transport="stdio", command=[sys.executable, "-I", script, id])


def test_a_function_of_the_program(desk: Tools) -> None:
    """P-X.3, P-5.3.10: a tool is found by its name; it gets what the undone activity had answered."""
    desk.function("tool:cancel_payment", lambda payment_id: {"gone": payment_id})
    done = desk.done(TOOL, {"tool": "cancel_payment"}, result={"payment_id": "P1"})
    assert done.body == {"gone": "P1"} and done.meta == {"tool": "cancel_payment"}


def test_params_stand_before_the_result(desk: Tools) -> None:
    """P-X.18: an object's `params` are what the tool gets."""
    desk.function("tool:undo", lambda **given: given)
    done = desk.done(TOOL, {"tool": "undo", "params": {"id": 7}}, result={"payment_id": "P1"})
    assert done.body["id"] == 7 and "payment_id" not in done.body


def test_a_tool_of_an_mcp_server(desk: Tools, script: str) -> None:
    """P-5.3.10, P-5.1.1: by its bare name where one server has it, and by `server/tool`."""
    with_server(desk, script)
    assert desk.done(TOOL, {"tool": "cancel_payment"}, result={"payment_id": "P1"}).body == {
        "cancelled": "P1", "by": "bank",
    }  # fmt: skip
    assert desk.done(TOOL, {"tool": "bank/cancel_payment", "params": {"payment_id": "P2"}}).body["cancelled"] == "P2"


def test_two_servers_with_one_tool(desk: Tools, script: str) -> None:
    with_server(desk, script)
    with_server(desk, script, "second")
    failure = desk.failed(TOOL, {"tool": "both"})
    assert failure.code == "TOOL_AMBIGUOUS" and "bank/both" in failure.message and "second/both" in failure.message


def test_a_registered_http_tool(desk: Tools, serve: Any) -> None:
    """P-X.3: an HTTP tool gets its arguments as JSON, with the key of the step."""
    server = serve(lambda seen: (200, {}, as_json({"deleted": seen.json["id"]})[2]))
    desk.register("tool", "delete_record", type="http", url=f"{server.url}/delete")
    assert desk.done(TOOL, {"tool": "delete_record", "params": {"id": "R1"}}).body == {"deleted": "R1"}
    assert server.seen[0].headers["idempotency-key"] == "t/r/n/0/1"


def test_a_stand_in_keeps_what_it_would_have_done(desk: Tools) -> None:
    """P-X.3, C-81: where nobody is there to undo it, the call is kept once, for people to look at."""
    desk.register("tool", "cancel_payment", type="outbox", reply={"cancelled": True})
    for _ in range(2):
        assert desk.done(TOOL, {"tool": "cancel_payment", "params": {"id": "P1"}}).body == {"cancelled": True}
    assert desk.tenant.kept == [("t/r/n/0/1", "tool", "outbox:cancel_payment", {"id": "P1"}, "r")]


@pytest.mark.parametrize(("tool", "said"), [("refuses", "the bank is closed"), ("says_no", "too late")])
def test_what_a_failure_is(desk: Tools, script: str, tool: str, said: str) -> None:
    """P-X.36: an error of the tool, and a reply that says of itself that it is one."""
    with_server(desk, script)
    assert said in desk.failed(TOOL, {"tool": tool}).message


def test_an_empty_reply_is_a_success(desk: Tools) -> None:
    """P-X.36: a falsy reply is no failure."""
    desk.function("tool:quiet", lambda: None)
    assert isinstance(desk.run(TOOL, {"tool": "quiet"}), Done)


def test_a_tool_that_sleeps(desk: Tools, script: str) -> None:
    """P-5.3.10, P-A.14: its time is over after `timeout_s`, which is 30 where nobody says it."""
    with_server(desk, script)
    failure = desk.failed(TOOL, {"tool": "sleeps", "timeout_s": 1.5})
    assert (failure.code, failure.category) == ("NODE_TIMEOUT", "timeout") and "1.5 s" in failure.message
    assert TIMEOUT_MS == 30_000


def test_a_tool_that_is_not_there(desk: Tools) -> None:
    failure = desk.failed(TOOL, {"tool": "nobody"})
    assert failure.code == "TOOL_NOT_FOUND" and "nobody" in failure.message
    assert desk.failed(TOOL, {}).code == "INPUT_INVALID"


def test_a_function_that_raises(desk: Tools) -> None:
    def broken() -> None:
        raise ConnectionError("gone")

    desk.function("tool:broken", broken)
    assert desk.failed(TOOL, {"tool": "broken"}).category == "transient"


def test_a_server_that_is_down_hides_no_other_s_tools(desk: Tools, script: str) -> None:
    """P-5.3.10, P-X.3: an undo by its bare name goes on while another MCP server is away; a tool that nobody has who
    answers may come back."""
    desk.register("mcp_server", "absent", transport="stdio", command=["/nowhere/at/all"])
    with_server(desk, script)
    assert desk.done(TOOL, {"tool": "cancel_payment", "params": {"payment_id": "P1"}}).body["cancelled"] == "P1"
    failure = desk.failed(TOOL, {"tool": "nobody"})
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient") and "absent" in failure.message


def test_a_registered_name_of_an_mcp_tool(desk: Tools, script: str) -> None:
    """P-X.3: a tool of the tenant may be one of an MCP server under another name."""
    with_server(desk, script)
    desk.register("tool", "undo_it", type="mcp", server="bank", tool="cancel_payment")
    assert desk.done(TOOL, {"tool": "undo_it", "params": {"payment_id": "P3"}}).body["cancelled"] == "P3"
    desk.register("tool", "lost", type="mcp", server="gone", tool="x")
    assert desk.failed(TOOL, {"tool": "lost"}).code == "CONNECTION_NOT_FOUND"
