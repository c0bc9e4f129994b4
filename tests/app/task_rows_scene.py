"""A host that drives one run of a plan, with agents whose outcomes are scripted; rows are compared with the journal."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from penstock.app.maintenance.verify import verify
from penstock.dialects.plan.live_tasks import TaskChange
from penstock.dialects.plan.runtime import PlanRuntime
from penstock.dialects.projection import rows_of
from penstock.errors import PenstockError
from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.kernel import fact as F
from penstock.lang.compile import compile_document
from penstock.net.model import Net
from penstock.store.projects import ProjectRow
from penstock.store.sqlite import Sqlite
from penstock.store.tables import PROJECTIONS
from penstock.store.task_tables import TASK, TASK_AGENT, TASK_EXECUTION

MANY = 400


class Agents:
    """Each task has a list of what its attempts come to; one that is not there yet is waited for."""

    name = "cli_agent"

    def __init__(self, **script: list[Any]) -> None:
        self.script = script
        self.asked: list[Request] = []
        self.told: dict[str, str] = {}
        self.at_work = self.most = 0

    async def run(self, request: Request, services: Services) -> Outcome:
        self.asked.append(request)
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        try:
            while not self.script.get(request.node):
                await asyncio.sleep(0)
                if request.key in self.told:
                    return failed("STOPPED", "transient", "it was told to end", detail={"pid": 9})
            outcome: Outcome = self.script[request.node].pop(0)
            return outcome
        finally:
            self.at_work -= 1

    def stop(self, key: str, attempt: int, why: str) -> None:
        self.told[key] = why


def done(confidence: float = 100, **more: Any) -> Done:
    told = {
        "pid": 77, "pid_started_at": 5, "started_at": 1_000_100, "completed_at": 1_000_350, "exit_code": 0,
        "progress": 100, "confidence": confidence, "matched": ["it builds"], "review_notes": "looked at",
        "completed_by_recovery": False, "tokens_in": 10, "tokens_out": 20, "cost_usd": 0.25, "merge": "merged",
        "criteria": [{"text": "it builds", "matched": True, "how": "result"}],
        "diff_stat": {"files": 1, "added": 2, "removed": 0},
    }  # fmt: skip
    return Done({**told, **more})


def exited(code: str = "EXIT_CODE", category: str = "transient", message: str = "exit code 1", **more: Any) -> Outcome:
    return failed(code, category, message, detail={"pid": 78, "exit_code": 1, "progress": 40, **more})


def a_plan(*tasks: dict[str, Any] | str, **settings: Any) -> Net:
    written = [{"id": t} if isinstance(t, str) else t for t in tasks]
    document = {
        "plan": {"name": "site", "title": "The site", "retry_delays_s": [0, 0, 0], **settings},
        "agents": [{"name": "claude", "command": "true"}],
        "tasks": [
            {"title": t["id"].upper(), "description": "do it", "success_criteria": ["it builds"], **t} for t in written
        ],
    }
    return compile_document(json.dumps(document).encode(), name="site", language="plan").net


class Workflow:
    """A host on a file, and one run of a plan in it."""

    def __init__(self, path: Path, agents: Agents, net: Net, batch: int = 512, **options: Any) -> None:
        self.path, self.agents, self.net, self.clock = path, agents, net, ManualClock()
        self.store = Sqlite(path)
        self.store.put_project(ProjectRow("default", "p1", "site", "/srv/site", "The site"))
        self.host = Host(self.store, {agents.name: agents}, clock=self.clock, batch=batch)
        self.heard: list[TaskChange] = []
        self.published: list[tuple[str, dict[str, Any], str]] = []
        self.listen()
        given = {"project": "/srv/site", "project_id": "p1", "trusted": False}
        self.run = self.host.start(self.host.release(net), given, options=options)

    def listen(self) -> None:
        runtime = self.host.turns.rows.runtimes["plan"]
        assert isinstance(runtime, PlanRuntime)
        runtime.listeners.append(self.heard.append)
        self.host.outbox.sinks.append(self._sink)

    async def _sink(self, topic: str, body: dict[str, Any], key: str) -> None:
        self.published.append((topic, body, key))

    async def until(self, condition: Callable[[], Any]) -> None:
        for _ in range(MANY):
            self.host.iterate()
            await asyncio.sleep(0)
            if condition():
                self.host.iterate()
                return
        raise AssertionError(f"it did not come about: {self.statuses()} {self.store.projects('default')}")

    async def ended(self) -> None:
        await self.until(lambda: not {*self.statuses().values()} & {"pending", "in_progress"})

    async def send(self, command: Any) -> PenstockError | None:
        answers: list[PenstockError | None] = []
        self.host.send(self.store.run_by_id(self.run).no, command, answers.append)
        await self.until(lambda: answers)
        return answers[0]

    def statuses(self) -> dict[str, str]:
        return {row.id: row.status for row in self.store.tasks(self.run)}

    def task(self, id: str = "a") -> Any:
        return self.store.task(self.run, id)

    def agent(self, name: str = "claude") -> Any:
        return next(row for row in self.store.task_agents(self.run) if row.name == name)

    def executions(self, task: str = "a") -> list[Any]:
        """The oldest first."""
        return self.store.task_executions("default", "p1", task=task)[::-1]

    def project(self) -> tuple[str | None, str, str | None]:
        row = self.store.project("default", "p1")
        assert row is not None
        return row.run, row.status, row.why

    def moves(self, task: str = "a") -> list[str]:
        return [f"{change.from_}>{change.to}" for change in self.heard if change.task == task]

    def firing(self, task: str = "a") -> int:
        """The last one of a task's node."""
        turns = self.store.journal(self.store.run_by_id(self.run).no)
        facts = [fact for turn in turns for fact in F.decode_facts(turn.body)]
        node = [node.id for node in self.net.nodes].index(task)
        return [int(f[1]) for f in facts if f[0] in (F.FIRED, F.FIRED_VIA) and f[2] == node][-1]

    async def close(self) -> None:
        """Every row is what the journal says, and a rebuild makes the same."""
        before = {table.name: self.store.projected(table) for table in PROJECTIONS}
        host = self.host
        self.store.rebuild(lambda row, journal, rows: rows_of(row, journal, rows, host.nets.of) and None)
        assert {table.name: self.store.projected(table) for table in PROJECTIONS} == before
        assert all(before[table.name] for table in (TASK, TASK_AGENT, TASK_EXECUTION))
        assert verify(self.store).violations == []
        await host.close()
        self.store.close()


def scene(path: Path, agents: Agents, net: Net, play: Callable[[Workflow], Awaitable[None]], **more: Any) -> None:
    async def whole() -> None:
        workflow = Workflow(path / "store.db", agents, net, **more)
        await workflow.until(workflow.statuses)
        await play(workflow)
        await workflow.close()

    asyncio.run(whole())
