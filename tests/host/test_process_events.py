"""Events of processes through the outbox: topics and payloads of the seed, in order, at least once (P-E, P-X.38)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.events import each_event
from penstock.app.process.models import import_discovered
from penstock.app.process.work_items import WorkItems
from tests.conformance.process.make import process, service, task

SAGA = process([task("A", compensation="undo_a"), service("B", agent="breaks")], ["A>B"], process_definition_id="saga")
BPMN = (
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:t">'
    '<process id="mined"><userTask id="a" name="A"/></process></definitions>'
)


class Ear:
    """Hears every event, and each topic the first time in vain."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, dict[str, Any]]] = []
        self.tried: list[str] = []

    async def __call__(self, topic: str, body: dict[str, Any], key: str) -> None:
        self.tried.append(key)
        if self.tried.count(key) == 1 and topic == "PROCESS_STARTED":
            raise ConnectionError("not now")
        self.heard.append((topic, key, body))


def _door(folder: Path) -> Penstock:
    door = Penstock(folder / "store.db")

    @door.agent("breaks")
    async def breaks(instruction: str) -> Any:
        raise ValueError("no room")

    @door.tool("undo_a")
    async def undo_a(**given: Any) -> Any:
        return {"ok": True}

    return door


def test_a_sink_hears_what_happens(tmp_path: Path) -> None:
    """P-E.1, P-E.2, P-X.38, P-3.2.2, P-5.3.8: topics in order per instance, again when it failed, under one key; and
    whoever reads them later reads the same."""
    ear = Ear()

    async def scene() -> tuple[str, list[Any]]:
        async with _door(tmp_path) as door:
            door.host.outbox.sinks.append(ear)
            await Processes(door).define(SAGA, by="lee")
            run = await WorkItems(door).initiate("saga", by="lee")
            await WorkItems(door).submit(f"{run}~2", {"id": 7}, by="kim")
            await door.wait(run, timeout=60)
            while not any(topic == "PROCESS_TERMINATED" for topic, _, _ in ear.heard):
                await asyncio.sleep(0.01)
            return run, each_event(door, run=run, limit=100)[0]

    run, read = asyncio.run(scene())
    topics = [topic for topic, _, _ in ear.heard]
    assert topics[0] == "PROCESS_STARTED" and ear.tried[:2] == [f"{run}/1"] * 2, "held back until it was taken"
    assert [one.event for one in read] == topics
    ordered = ["PROCESS_STARTED", "WORKITEM_CREATED", "SAGA_COMPENSATION_COMPLETED", "PROCESS_TERMINATED"]
    assert [one for one in dict.fromkeys(topics) if one in ordered] == ordered
    bodies = {topic: body for topic, _, body in ear.heard}
    assert bodies["PROCESS_STARTED"].items() >= {"proc_inst_id": run, "proc_def_id": "saga"}.items()
    told = bodies["SAGA_COMPENSATION_COMPLETED"]
    assert (told["failed_activity"], told["compensation_results"]) == ("B", [{"step": "A", "status": "EXECUTED"}])
    assert "no room" in told["failure_reason"]
    moves = [(b["activity_id"], b["from"], b["to"]) for t, _, b in ear.heard if t == "WORKITEM_STATUS_CHANGED"]
    assert moves == [
        ("A", "TODO", "DONE"), ("B", "TODO", "IN_PROGRESS"), ("B", "IN_PROGRESS", "CANCELLED"),
        ("A", "DONE", "COMPENSATED"),
    ]  # fmt: skip


def test_an_import_is_told_with_its_commit(tmp_path: Path) -> None:
    """P-E.3, P-7.4.5, P-7.4.6: the model, its link and its event; nobody listens, nothing is kept for them."""
    ear = Ear()

    async def scene() -> None:
        async with _door(tmp_path) as door:
            await import_discovered(door, "log-0", BPMN, {"fitness": 0.5}, by="lee")
            assert not door.store.outbox_left()
            door.host.outbox.sinks.append(ear)
            changed = BPMN.replace('name="A"', 'name="B"')
            row = (await import_discovered(door, "log-1", changed, {"fitness": 0.9}, by="lee")).release
            assert (row.kind, row.status, row.version) == ("discovered", "pending_approval", 2)
            assert door.store.outbox_left()
            door.host.outbox.kick()
            while not ear.heard:
                await asyncio.sleep(0.01)

    asyncio.run(scene())
    ((topic, _, body),) = ear.heard
    assert topic == "DISCOVERED_MODEL_IMPORTED"
    assert body.items() >= {
        "aggregate_type": "proc_def", "aggregate_id": "mined", "proc_def_id": "mined", "event_log_id": "log-1",
        "source": "process_mining",
    }.items()  # fmt: skip


def test_a_restart_tells_on(tmp_path: Path) -> None:
    """P-X.38: what another process has begun is folded again, and told from where it stands."""
    ear = Ear()

    async def first() -> str:
        async with _door(tmp_path) as door:
            await Processes(door).define(SAGA, by="lee")
            return await WorkItems(door).initiate("saga", by="lee")

    async def second(run: str) -> None:
        async with _door(tmp_path) as door:
            door.host.outbox.sinks.append(ear)
            await WorkItems(door).start(f"{run}~2", by="kim")
            while not ear.heard:
                await asyncio.sleep(0.01)

    run = asyncio.run(first())
    asyncio.run(second(run))
    ((topic, _, body),) = ear.heard
    assert topic == "WORKITEM_STATUS_CHANGED"
    assert (body["activity_id"], body["from"], body["to"]) == ("A", "TODO", "IN_PROGRESS")
