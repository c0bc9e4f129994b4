"""The inbox: two firings of one node are told apart, roles of a key count, and a long list costs a page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app import inbox
from penstock.app.answering import answer
from penstock.app.items import SORTED, item, page
from penstock.app.overview import home
from penstock.app.penstock import Penstock
from penstock.app.remarks import Remarks
from penstock.app.roles import PERMISSIONS, Person, person
from penstock.errors import ApproverDenied, FourEyes, ItemAmbiguous, ItemDecided, ItemNotFound, NotWaiting
from penstock.kernel.state import WAITING
from tests.conformance.decision.make import approval, document
from tests.contract.store_suite import a_batch, a_run

QA, MANAGER, ADMIN = "qa@example.com", "manager@example.com", "admin@example.com"
ALL = frozenset(PERMISSIONS)
TWICE = {
    "version": "light", "name": "twice", "persons": {"Echo": {"service": "echo"}},
    "nodes": [
        {"label": "Start", "type": "start"},
        {"label": "X", "type": "person_job", "person": "Echo", "default_prompt": "x"},
        {"label": "Y", "type": "person_job", "person": "Echo", "default_prompt": "y"},
        {"label": "Ask", "type": "user_response", "prompt": "Which?", "timeout": 86400, "join_policy": "any"},
        {"label": "End", "type": "endpoint"},
    ],
    "connections": [
        {"from": "Start", "to": "X"}, {"from": "Start", "to": "Y"}, {"from": "X", "to": "Ask"},
        {"from": "Y", "to": "Ask"}, {"from": "Ask", "to": "End"},
    ],
}  # fmt: skip
Story = Callable[[Penstock, str], Coroutine[Any, Any, None]]


def play(folder: Path, body: dict[str, Any], story: Story, by: str | None = None, wanted: int = 1) -> None:
    async def scene() -> None:
        async with Penstock(folder / "s.db") as door:
            trigger = None if by is None else {"type": "manual", "source": f"user:{by}"}
            run = await door.start(door.release(json.dumps(body).encode(), name="a.json"), trigger=trigger)
            for _ in range(500):
                if len(inbox.waiting(door)) >= wanted:
                    break
                await asyncio.sleep(0.01)
            await story(door, run)

    asyncio.run(scene())


def asking(*targets: str, **more: Any) -> dict[str, Any]:
    return document([approval("ask", *targets, type="any_of", **more)])


# ---- two firings of one node -----------------------------------------------------------------------------------------


def test_two_firings_of_one_node_are_answered_one_by_one(tmp_path: Path) -> None:
    """D-3.2: under ANY a node asks once for each branch; the long id says which, the short one lists them."""

    async def story(door: Penstock, run: str) -> None:
        one, two = inbox.waiting(door)
        assert [one.id, two.id] == [f"{run}/Ask~{one.firing}", f"{run}/Ask~{two.firing}"] and one.node == "Ask"
        for short in (run, f"{run}/Ask", run[:12]):
            with pytest.raises(ItemAmbiguous) as several:
                door.inbox.get(short)
            assert one.id in several.value.message and two.id in several.value.message
        with pytest.raises(ItemAmbiguous, match=f"Ask~{one.firing}"):
            await door.respond(run, "Ask", "no")
        assert [found.id for found in home(door).waiting] == [one.id, two.id]
        await answer(door, run, f"Ask~{two.firing}", "second", by=QA, permissions=ALL)
        (left,) = inbox.waiting(door)
        assert (left.id, left.firing) == (f"{run}/Ask", one.firing)  # short again
        with pytest.raises(ItemDecided):
            door.inbox.get(two.id)
        with pytest.raises(NotWaiting):
            await door.respond(run, f"Ask~{two.firing}", "late")
        assert door.inbox.get(one.id).id == left.id  # who holds the long id still gets in with it
        await door.inbox.answer(one.id, "first", by=QA)
        assert (await door.wait(run, timeout=10)).status == "COMPLETED"

    play(tmp_path, TWICE, story, wanted=2)


def test_remarks_are_about_one_of_the_two(tmp_path: Path) -> None:
    """Z21: a claim, a comment and a delegation are of one firing, and stay when the other one is gone."""

    async def story(door: Penstock, run: str) -> None:
        one, two = inbox.waiting(door)
        remarks = Remarks(door)
        remarks.claim(one.id, QA)
        remarks.comment(one.id, QA, "mine")
        assert remarks.claim(two.id, MANAGER).claimed_by == MANAGER
        assert (remarks.about(one).claimed_by, remarks.about(two).comments) == (QA, [])
        first, second = (item(door, QA, ALL, found.id) for found in (one, two))
        assert first.etag != second.etag  # all else is the same
        assert len(first.moves) == len({move.verb for move in first.moves})
        await door.inbox.answer(two.id, "x", by=MANAGER)
        left = item(door, QA, ALL, f"{run}/Ask")
        assert left.claimed_by == QA and [said.text for said in left.comments] == ["mine"]

    play(tmp_path, TWICE, story, wanted=2)


# ---- roles of a key --------------------------------------------------------------------------------------------------


def test_roles_of_a_key_count_for_approvals(tmp_path: Path) -> None:
    """C-32, Z19: who comes with a role decides for it, and each target is approved once; without it they may not."""

    async def story(door: Penstock, run: str) -> None:
        robot = person(door, "robot", roles=["quality_manager"])
        with pytest.raises(ApproverDenied):
            await door.inbox.approve(run, by="robot")
        (mine,) = page(door, robot, robot.permissions).items
        assert mine.eligible and mine.why_me == ["role:quality_manager"]
        assert page(door, "robot", ALL).total == 0
        assert home(door, robot).headline.waiting == 1 and home(door, "robot").headline.waiting == 0
        assert Remarks(door).claim(run, robot).claimed_by == "robot"
        group = Person(door.tenant, "guest", "guest", (), ("night",), ALL)
        Remarks(door).release(run, robot)
        await door.inbox.approve(run, by=robot)
        (left,) = inbox.waiting(door, group)
        assert left.votes["robot"]["target"] == "role:quality_manager"
        await door.inbox.approve(run, by=group)
        assert inbox.waiting(door) == []

    who = {"id": "ask", "type": "APPROVAL", "request": {"title": "?", "approvers": {
        "type": "all_of", "targets": ["role:quality_manager", "group:night"]}}}  # fmt: skip
    play(tmp_path, document([who]), story)


def test_who_is_not_active_decides_nothing(tmp_path: Path) -> None:
    """Z19, C-32: not even what is for that user by name."""

    async def story(door: Penstock, run: str) -> None:
        door.register("user", QA, {"roles": ["qa_lead"], "active": False})
        with pytest.raises(ApproverDenied):
            await door.inbox.approve(run, by=QA)
        assert inbox.anybody(door, door.inbox.get(run)) is None
        door.register("user", QA, {"roles": ["qa_lead"]})
        await door.inbox.approve(run, by=QA)

    play(tmp_path, asking(f"user:{QA}"), story)


# ---- long lists ------------------------------------------------------------------------------------------------------


def copied(door: Penstock, run: str, count: int) -> None:
    """So many runs more that wait as this one does, each a second later."""
    row = door.row(run)
    turns, ((_, *item),) = list(door.store.journal(row.no)), door.store.items(run=row.no)
    new, journal, items = [], [], []
    for n in range(1, count + 1):
        no = row.no + n
        new.append(a_run(no, id=f"rx{no:08d}", tenant=door.tenant, net=row.net, status=WAITING))
        journal += [(no, turn.seq_from, turn.seq_to, turn.at, bytearray(turn.body)) for turn in turns]
        firing, node, status, prompt, candidates, by, opened_at, moved_at = item
        items.append((no, firing, node, status, prompt, candidates, by, opened_at + n * 1000, moved_at))
    door.store.commit(a_batch(new=new, journal=journal, item_new=items))


def counting(door: Penstock, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the runs that are read from their beginning, or loaded."""
    seen: list[int] = []
    journal, load = door.store.journal, door.store.load

    def read(no: int, *args: Any, **more: Any) -> Any:
        seen.append(no)
        return journal(no, *args, **more)

    def loaded(numbers: Any) -> Any:
        asked = list(numbers)
        seen.extend(asked)
        return load(asked)

    monkeypatch.setattr(door.store, "journal", read)
    monkeypatch.setattr(door.store, "load", loaded)
    return seen


def test_a_long_list_costs_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-10.3.1: of many only those of the page are folded, oldest first; one item costs only its own run."""

    async def story(door: Penstock, run: str) -> None:
        copied(door, run, SORTED + 99)
        seen = counting(door, monkeypatch)
        first = page(door, QA, ALL, limit=10)
        assert (len(first.items), first.total, first.more) == (10, SORTED + 100, True)
        assert len(set(seen)) == 10 and [one.run for one in first.items][:2] == [run, first.items[1].run]
        last = page(door, QA, ALL, start=SORTED + 90, limit=20)
        assert (len(last.items), last.more) == (10, False)
        assert not {one.id for one in first.items} & {one.id for one in last.items}
        assert page(door, MANAGER, ALL).total == 0 and page(door, MANAGER, ALL, mine=False).total == SORTED + 100
        assert page(door, QA, ALL, kind="review").total == 0 == page(door, QA, ()).total
        seen.clear()
        number = door.row(last.items[0].run).no
        assert item(door, QA, ALL, last.items[0].id).id == last.items[0].id
        assert set(seen) == {number}

    play(tmp_path, asking("role:qa_lead"), story)


def test_a_short_list_is_by_deadline(tmp_path: Path) -> None:
    """W-4.6.6: what is due first comes first, though it is younger; what I have voted on is not mine any more."""

    async def story(door: Penstock, run: str) -> None:
        soon = asking("role:qa_lead", "role:admin", who={"min_approvals": 2},
                      timeout={"duration_seconds": 60, "on_timeout": "reject"})  # fmt: skip
        other = await door.start(door.release(json.dumps({**soon, "id": "soon"}).encode(), name="b.json"))
        await door.wait(other, until_waiting=True, timeout=10)
        assert [one.run for one in page(door, QA, ALL).items] == [other, run]
        await door.inbox.approve(other, by=QA)
        found = page(door, QA, ALL)
        assert ([one.run for one in found.items], found.total) == ([run], 1)

    play(tmp_path, asking("role:qa_lead"), story)


def test_who_asked_does_not_have_it_in_the_list(tmp_path: Path) -> None:
    """C-32: where two persons are wanted."""

    async def story(door: Penstock, run: str) -> None:
        assert page(door, QA, ALL).total == 0 and page(door, ADMIN, ALL).total == 1
        with pytest.raises(FourEyes):
            await door.inbox.approve(run, by=QA)

    play(tmp_path, asking("role:qa_lead", "role:admin", who={"allow_self_approval": False}), story, by=QA)


def test_home_finds_mine_among_those_of_others(tmp_path: Path) -> None:
    """W-4.6.1: beyond the first thousand that wait for others, and also what was passed on to me."""

    async def story(door: Penstock, run: str) -> None:
        copied(door, run, 1_100)
        newest = f"rx{door.row(run).no + 1_100:08d}"
        assert home(door, MANAGER).headline.waiting == 0 and home(door, QA).headline.waiting == 1_101
        Remarks(door).delegate(f"{newest}/ask", QA, MANAGER)
        found = home(door, MANAGER)
        assert (found.headline.waiting, [one.id for one in found.waiting]) == (1, [f"{newest}/ask"])
        assert [one.id for one in inbox.waiting(door, MANAGER)] == [f"{newest}/ask"]

    play(tmp_path, asking("role:qa_lead"), story)


def test_a_beginning_that_several_runs_have(tmp_path: Path) -> None:
    """C-66: it is enough where one of them waits; and nothing of another tenant is found."""

    async def story(door: Penstock, run: str) -> None:
        copied(door, run, 2)
        no = door.row(run).no
        with pytest.raises(ItemAmbiguous, match=f"rx{no + 1:08d}/ask"):
            door.inbox.get("rx")
        await door.cancel(f"rx{no + 1:08d}")
        for _ in range(500):
            if len(inbox.waiting(door)) == 2:
                break
            await asyncio.sleep(0.01)
        assert door.inbox.get("rx").run == f"rx{no + 2:08d}"
        with pytest.raises(ItemNotFound):
            inbox.find(door.of("other"), run)
        assert msgspec.json.encode(page(door, QA, ALL))

    play(tmp_path, asking("role:qa_lead"), story)
