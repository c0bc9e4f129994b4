"""A store with real runs of a released workflow: what simulations learn from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.app.inbox import inbox
from penstock.app.penstock import Penstock
from penstock.app.releases.start_release import start as start_release
from penstock.executors.contract import Done, Outcome, Request, Services
from tests.conformance.decision.make import act, approval, document, judge, switch

NAME = "wf_line"


class ScriptedExecutor:
    """Answers as a function of the request says, and never reaches anything."""

    def __init__(self, name: str, answer: Callable[[Request], Outcome]) -> None:
        self.name, self._answer = name, answer

    async def run(self, request: Request, services: Services) -> Outcome:
        return self._answer(request)


def line_workflow(version: int = 1, **changed: Any) -> dict[str, Any]:
    """A judgment, an approval where it is critical, a message where it warns."""
    cases = changed.pop("cases", [("critical", "stop"), ("warning", "warn")])
    nodes = [
        judge("judge"), switch("which", "${judgment_result.decision}", cases, default={"goto": "log"}),
        approval("stop", "quality_manager", **changed.pop("approval", {})), act("warn"), act("log"),
    ]  # fmt: skip
    body = document([*nodes, *changed.pop("more", ())], ("judge>which", *changed.pop("ways", ())), **changed)
    return {**body, "id": NAME, "version": version}


def decided(request: Request) -> Outcome:
    """The verdict that the run's input asks for."""
    data = request.args["data"]
    return Done({"decision": data["say"], "confidence": 0.9, "needs_review": False, "reasoning": ""})


def scripted(door: Penstock) -> Penstock:
    """A door whose judgments and messages reach nothing."""
    door.add_executor(ScriptedExecutor("judgment", decided))
    door.add_executor(ScriptedExecutor("notify", lambda request: Done({"sent": True})))
    return door


def with_runs(
    path: Path, decisions: list[str], *, answers: list[str] | None = None, open_last: bool = False, **changed: Any
) -> list[str]:
    """Release version 1 and run it with these verdicts; approvals are decided as `answers` says, in turn, but for the
    last one if it is to stay open. The runs' ids."""

    async def scene() -> list[str]:
        async with scripted(Penstock(path)) as door:
            release(door, line_workflow(**changed))
            runs, left = [], list(answers or ())
            for i, decision in enumerate(decisions):
                run = await start_release(door, NAME, {"say": decision})
                runs.append(run)
                waits = decision == "critical"
                if waits and not (open_last and i == len(decisions) - 1):
                    await until(lambda: bool(inbox.open_items(door)))
                    (item,) = inbox.open_items(door)
                    vote = left.pop(0) if left else "approved"
                    decide = door.inbox.approve if vote == "approved" else door.inbox.reject
                    await decide(item.id, by="manager@example.com")
                if waits and open_last and i == len(decisions) - 1:
                    await until(lambda: bool(inbox.open_items(door)))
                else:
                    await door.wait(run)
            return runs

    return asyncio.run(scene())


def release(door: Penstock, body: dict[str, Any], *, active: bool = True) -> None:
    row = door.releases.submit(json.dumps(body).encode(), by="kim").release
    if active:
        door.releases.approve(row.name, row.version, by="lee")
        door.releases.activate(row.name, row.version)


async def until(holds: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came")
