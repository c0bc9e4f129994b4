"""Moving a run that goes on to another version of its document: shown, done, undone; over Python and HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from penstock.app.penstock import Penstock
from penstock.app.runs.commands.batch_slices import Step, done_before
from penstock.app.runs.commands.bulk import BulkCommand, command_many
from penstock.app.runs.commands.migration import Move
from penstock.errors import BadInput, MigrationBlocked, NotAllowed, NothingToUndo
from tests.api.places import ADMIN, MANAGER, OPERATOR, VIEWER, in_force
from tests.api.serving import ROOT, serving, until
from tests.api.test_decision_words import waiting

ASK = (ROOT / "examples" / "diagram" / "ask.yaml").read_text()
#: a node more behind the one that waits, and one that has another name
LATER = ASK.replace("  - label: Endpoint", "  - label: Thank\n    type: person_job\n    person: Greeter\n"
                    "    default_prompt: Thanks!\n  - label: Endpoint").replace(
    "  - {from: Greet, to: Endpoint}", "  - {from: Greet, to: Thank}\n  - {from: Thank, to: Endpoint}"
).replace("Ask name", "Ask for a name")  # fmt: skip
SAME_NODE = LATER.replace("Ask for a name", "Ask name")
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


def test_a_batch_migrates_all_that_fit_and_takes_that_back(tmp_path: Path) -> None:
    """P-7.2.2: planned first, refusals by reason; who may not edit runs does nothing; again changes nothing."""
    may = frozenset({"run.steer", "run.edit"})

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            old, later = door.release(ASK.encode(), name="ask"), door.release(SAME_NODE.encode(), name="ask")
            runs = [await door.start(old) for _ in range(3)]
            while not all(door.view(run).waiting for run in runs):
                await asyncio.sleep(0.01)
            gone = door.release(GONE.encode(), name="ask")
            stuck = BulkCommand(verb="migrate", to=gone.hash, user="kim", permissions=may)
            shown = await command_many(door, stuck, runs)
            assert shown.count == 0 and {refusal.code for refusal in shown.refused} == {"PS-409-MIGRATE"}
            assert all("Ask name" in refusal.reason for refusal in shown.refused)
            move = BulkCommand(verb="migrate", to=later.hash, user="kim", permissions=may)
            assert (await command_many(door, move, runs)).count == 3
            assert {door.hash_of(door.row(run).net) for run in runs} == {old.hash}, "a dry run changes nothing"
            done = await command_many(door, move, runs, dry_run=False)
            assert (done.count, {door.hash_of(door.row(run).net) for run in runs}) == (3, {later.hash})
            again = await command_many(door, move, runs, dry_run=False)
            assert again.count == 0 and {refusal.reason for refusal in again.refused} == {
                "it is on this version already"
            }
            step = Step(runs[0], door.row(runs[0]).no, 0)
            assert done_before(door, move, step)
            back = BulkCommand(verb="undo_migration", user="kim", permissions=may)
            fresh = await door.start(old)
            undone = await command_many(door, back, [*runs, fresh], dry_run=False)
            assert undone.count == 3 and [refusal.run for refusal in undone.refused] == [fresh]
            assert {door.hash_of(door.row(run).net) for run in runs} == {old.hash}
            with pytest.raises(NotAllowed):
                await command_many(door, replace(move, permissions=frozenset({"run.steer"})), runs)
            with pytest.raises(BadInput):
                await command_many(door, BulkCommand(verb="migrate", user="kim", permissions=may), runs)

    asyncio.run(scene())
