"""Blocking for processes: agents and tools that are functions of a program without an event loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Blocking
from tests.conformance.process.make import as_bytes, process, service

STEPS = [
    service("book", agent="clerk", compensation={"tool": "cancel", "params": {"id": "${undone.id}"}}),
    service("ship", agent="carrier"),
]
DOCUMENT = as_bytes(process(STEPS, ["book>ship"], process_definition_id="order"))


def test_a_function_undoes_what_an_agent_did(tmp_path: Path) -> None:
    """P-4.3.2, P-5.3.10, P-X.3, P-X.18: `tool` registers what undoes it, and it is called with its parameters, once."""
    undone: list[dict[str, Any]] = []
    with Blocking(tmp_path / "runs.db") as penstock:

        @penstock.agent("clerk")
        def clerk(input_data: dict[str, Any]) -> dict[str, Any]:
            return {"id": input_data["order"]}

        @penstock.agent("carrier")
        def carrier() -> None:
            raise ValueError("no lorry")

        @penstock.tool("cancel")
        def cancel(id: str) -> dict[str, Any]:
            undone.append({"id": id})
            return {"ok": True}

        assert cancel("x") == {"ok": True} and undone.pop() == {"id": "x"}, "it stays a function of the program"
        look = penstock.wait(penstock.start(penstock.release(DOCUMENT, name="order.json"), {"order": "o-1"}))
        assert (look.status, undone) == ("TERMINATED", [{"id": "o-1"}])


def test_a_tool_that_refuses_and_one_that_agents_use(tmp_path: Path) -> None:
    """P-X.20, P-X.36: a reply of `ok: false` is a failure, and the step can be done again; a tool that nobody has
    registered fails by name."""
    replies: list[Any] = [{"ok": False, "error": "locked"}, {"ok": True}]
    with Blocking(tmp_path / "runs.db") as penstock:
        penstock.agent("clerk")(lambda: {"id": 7})
        penstock.agent("carrier")(_fails)
        release = penstock.release(DOCUMENT, name="order.json")
        run = penstock.start(release)
        look = penstock.wait(run)
        assert look.status == "TERMINATED" and look.internal_status == "FAILED"
        assert any("There is no tool «cancel»" in str(one.data) for one in penstock.inner.lines(run))

        @penstock.tool("cancel")
        def cancel(id: int) -> Any:
            assert id == 7
            return replies.pop(0)

        for expected in ("FAILED", "COMPENSATED"):
            penstock.compensate(run)
            assert penstock.wait(run).internal_status == expected
    assert replies == []


def _fails() -> None:
    raise ValueError("no lorry")


def test_a_name_is_asked_for(tmp_path: Path) -> None:
    """P-X.3: what cannot be called is refused where it is registered, not when somebody fails."""
    with Blocking(tmp_path / "runs.db") as penstock, pytest.raises(TypeError):
        penstock.tool("cancel")(3)  # type: ignore[type-var]
