"""Moving a run that goes on to another version of its document: shown, done, undone; over Python and HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock.app.penstock import Penstock
from penstock.app.runs.commands.migration import Move
from penstock.errors import MigrationBlocked, NothingToUndo
from tests.api.places import ADMIN, MANAGER, OPERATOR, VIEWER, in_force
from tests.api.serving import ROOT, serving, until
from tests.api.test_decision_words import waiting

ASK = (ROOT / "examples" / "diagram" / "ask.yaml").read_text()
#: a node more behind the one that waits, and one that has another name
LATER = ASK.replace("  - label: Endpoint", "  - label: Thank\n    type: person_job\n    person: Greeter\n"
                    "    default_prompt: Thanks!\n  - label: Endpoint").replace(
    "  - {from: Greet, to: Endpoint}", "  - {from: Greet, to: Thank}\n  - {from: Thank, to: Endpoint}"
).replace("Ask name", "Ask for a name")  # fmt: skip
GONE = ASK.replace("Ask name", "Another question")


def test_a_waiting_run_moves_and_comes_back(tmp_path: Path) -> None:
    """Planned first; the person's item is found under its new name; after an undo and a restart it goes on as before;
    what cannot be is refused with all that stands against it, and changes nothing."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await door.start(door.release(ASK.encode(), name="ask"))
            while not door.view(run).waiting:
                await asyncio.sleep(0.01)
            later = door.release(LATER.encode(), name="ask")
            gone = door.release(GONE.encode(), name="ask")
            with pytest.raises(NothingToUndo):
                await door.undo_migration(run)
            move = Move(to=later.hash, nodes={"Ask name": "Ask for a name"})
            shown = door.plan_migration(run, move)
            assert (shown.added, shown.removed, shown.obstacles, shown.done) == (["Thank"], [], [], False)
            assert shown.renamed == {"Ask name": "Ask for a name"} and shown.at_work == ["Ask name"]
            with pytest.raises(MigrationBlocked, match="Ask name"):
                await door.migrate(run, Move(to=gone.hash))
            with pytest.raises(MigrationBlocked, match="not released"):
                await door.migrate(run, Move(to="0" * 64))
            assert (await door.migrate(run, move)).done
            assert [w.node for w in door.view(run).waiting] == ["Ask for a name"]
            assert [item.node for item in door.inbox.each()] == ["Ask for a name"]
            assert (await door.undo_migration(run)).done
            assert [w.node for w in door.view(run).waiting] == ["Ask name"]
            await door.migrate(run, move)
        async with Penstock(tmp_path / "s.db") as door:
            await door.respond(run, "Ask for a name", "Kim")
            look = await door.wait(run, timeout=60)
            assert look.status == "COMPLETED" and look.counters["Thank"] == 1
            with pytest.raises(MigrationBlocked, match="has ended"):
                await door.migrate(run, move)

    asyncio.run(scene())


def test_migrate_over_http(tmp_path: Path) -> None:
    """Only to a version that somebody has approved, by who may edit runs."""
    with serving(tmp_path, "dev", "--quiet") as server:
        admin, manager, operator = server.client(ADMIN), server.client(MANAGER), server.client(OPERATOR)
        name = in_force(admin, manager, waiting("wf_moves"))
        run = operator.post("/runs", json={"definition": name}).json()["id"]
        until(lambda: operator.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
        asked = {"name": name, "version": 1, "dry_run": True}
        shown = admin.post(f"/runs/{run}/migrate", json=asked)
        assert shown.status_code == 200 and shown.json()["obstacles"] == [], shown.text
        assert server.client(VIEWER).post(f"/runs/{run}/migrate", json=asked).status_code == 403
        done = admin.post(f"/runs/{run}/migrate", json={"name": name})
        assert done.status_code == 200 and done.json()["done"] is True, done.text
        undone = admin.post(f"/runs/{run}/undo-migration")
        assert undone.status_code == 200, undone.text
        refused = admin.post(f"/runs/{run}/migrate", json={"name": "no such", "version": 3})
        assert refused.status_code == 404, refused.text
