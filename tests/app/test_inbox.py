"""The inbox: two firings of one node are told apart, roles of a key count, and a long list costs a page."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.access.roles import PERMISSIONS, Person, person
from penstock.app.inbox import inbox, item_filter, open_items
from penstock.app.inbox.comments import Comments
from penstock.app.inbox.item_filter import ItemFilter
from penstock.app.inbox.items import SORTED, item, page
from penstock.app.inbox.respond import answer
from penstock.app.metrics.overview import home
from penstock.app.penstock import Penstock
from penstock.errors import ApproverDenied, FourEyes, ItemAmbiguous, ItemDecided, ItemNotFound, NotWaiting
from penstock.kernel.state import WAITING
from penstock.store.drafts import RemarkRow
from tests.conformance.decision.make import approval, document, parallel, wait
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
                if len(inbox.open_items(door)) >= wanted:
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
        one, two = inbox.open_items(door)
        assert [one.id, two.id] == [f"{run}/Ask~{one.firing}", f"{run}/Ask~{two.firing}"] and one.node == "Ask"
        for short in (run, f"{run}/Ask", run[:12]):
            with pytest.raises(ItemAmbiguous) as several:
                door.inbox.get(short)
            assert one.id in several.value.message and two.id in several.value.message
        with pytest.raises(ItemAmbiguous, match=f"Ask~{one.firing}"):
            await door.respond(run, "Ask", "no")
        assert [found.id for found in home(door).waiting] == [one.id, two.id]
        await answer(door, run, f"Ask~{two.firing}", "second", by=QA, permissions=ALL)
        (left,) = inbox.open_items(door)
        assert (left.id, left.firing) == (f"{run}/Ask", one.firing)  # short again
        with pytest.raises(ItemDecided):
            door.inbox.get(two.id)
        with pytest.raises(NotWaiting):
            await door.respond(run, f"Ask~{two.firing}", "late")
        assert door.inbox.get(one.id).id == left.id  # who holds the long id still gets in with it
        await door.inbox.answer(one.id, "first", by=QA)
        assert (await door.wait(run, timeout=60)).status == "COMPLETED"

    play(tmp_path, TWICE, story, wanted=2)


def test_remarks_are_about_one_of_the_two(tmp_path: Path) -> None:
    """Z21: a claim, a comment and a delegation are of one firing, and stay when the other one is gone."""

    async def story(door: Penstock, run: str) -> None:
        one, two = inbox.open_items(door)
        remarks = Comments(door)
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
        assert Comments(door).claim(run, robot).claimed_by == "robot"
        group = Person(door.tenant, "guest", "guest", (), ("night",), ALL)
        Comments(door).release(run, robot)
        await door.inbox.approve(run, by=robot)
        (left,) = inbox.open_items(door, group)
        assert left.votes["robot"]["target"] == "role:quality_manager"
        await door.inbox.approve(run, by=group)
        assert inbox.open_items(door) == []

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


def test_home_and_inbox_read_a_page_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-10.3.1, W-4.6.4: however many are open; the counts are exact, with what was taken and passed on."""

    async def story(door: Penstock, run: str) -> None:
        copied(door, run, SORTED + 99)
        ids = [one.id for one in page(door, QA, ALL, limit=5).items]
        Comments(door).claim(ids[0], QA)
        Comments(door).delegate(ids[1], QA, MANAGER)
        read, whole = list[int](), door.store.open_items

        def items(*args: Any, **more: Any) -> Any:
            read.append(len(found := whole(*args, **more)))
            return found

        monkeypatch.setattr(door.store, "open_items", items)
        mine, site, other = home(door, QA), home(door), home(door, MANAGER)
        assert (mine.headline.waiting, site.headline.waiting) == (SORTED + 100, SORTED + 100)
        assert other.headline.waiting == 1 and [one.id for one in other.waiting] == [ids[1]]
        assert [one.id for one in mine.waiting] == [one.id for one in site.waiting] and len(mine.waiting) == 20
        tile = next(one for one in site.tiles if one.id == "approvals")
        assert (tile.value, tile.detail["work_items"]) == (SORTED + 100, SORTED + 100)
        assert page(door, MANAGER, ALL).total == 1
        assert page(door, QA, ALL, kind="approval", limit=9).total == SORTED + 100
        Comments(door).claim(ids[1], MANAGER)
        assert page(door, QA, ALL, limit=9).total == SORTED + 99, "another one is on it"
        assert max(read) <= 20 + 2

    play(tmp_path, asking("role:qa_lead"), story)


def test_groups_tell_what_rows_tell(tmp_path: Path) -> None:
    """C-32, W-4.6.4: who may decide, read by pages, is who may decide each item by itself."""

    async def story(door: Penstock, run: str) -> None:
        chance, row = random.Random(7), door.row(run)
        ((_, firing, node, status, prompt, _, by, at, _),) = door.store.items(run=row.no)
        asked: list[Any] = [None, [], ["role:qa_lead"], [f"user:{QA}"], ["role:admin"], {"targets": ["role:nobody"]}]
        asked += [[f"user:{n}"] for n in range(150)]
        turns, new, journal, items = list(door.store.journal(row.no)), [], [], []
        for no in range(row.no + 1, row.no + 300):
            new.append(a_run(no, id=f"rx{no:08d}", tenant=door.tenant, net=row.net, status=WAITING))
            journal += [(no, turn.seq_from, turn.seq_to, turn.at, bytearray(turn.body)) for turn in turns]
            who = asked[chance.randrange(len(asked) if no % 2 else 6)]
            packed = None if who is None else msgspec.msgpack.encode(who)
            items.append((no, firing, node, status, prompt, packed, by, at + chance.randrange(50), at))
        door.store.commit(a_batch(new=new, journal=journal, item_new=items))
        for n, no in enumerate(range(row.no + 1, row.no + 40)):
            body = {"firing": firing, "to": "user:qa@example.com", "for": None}
            kind = ("claim", "delegate", "comment")[n % 3]
            by_ = chance.choice([QA, MANAGER])
            packed = msgspec.msgpack.encode({"firing": firing} if kind == "claim" else {**body, "text": "x"})
            assert door.store.add_remark(RemarkRow(door.tenant, f"rx{no:08d}/ask", 1, by_, 1, kind, packed))
        rows = door.store.open_items(door.tenant, 999)
        groups = door.store.open_groups(door.tenant, at)
        for user in (QA, MANAGER, ADMIN, "5", "stranger"):
            for free in (False, True):
                expected = [(one.run, one.firing) for one in item_filter.rows_for(door, rows, user, free=free)]
                meant = ItemFilter(door, groups, user, free=free, kind="approval")
                pages = [meant.rows(start, 17) for start in range(0, len(rows), 17)]
                assert [(one.run, one.firing) for part in pages for one in part] == expected
                assert meant.total == len(expected)
            assert ItemFilter(door, groups, user, kind="review").total == 0
            assert ItemFilter(door, groups, user, may=lambda net, status: False).rows(0, 9) == []

    play(tmp_path, asking("role:qa_lead"), story)


def test_a_short_list_is_by_deadline(tmp_path: Path) -> None:
    """W-4.6.6: what is due first comes first, though it is younger; what I have voted on is not mine any more."""

    async def story(door: Penstock, run: str) -> None:
        soon = asking("role:qa_lead", "role:admin", who={"min_approvals": 2},
                      timeout={"duration_seconds": 60, "on_timeout": "reject"})  # fmt: skip
        other = await door.start(door.release(json.dumps({**soon, "id": "soon"}).encode(), name="b.json"))
        await door.wait(other, until_waiting=True, timeout=60)
        assert [one.run for one in page(door, QA, ALL).items] == [other, run]
        await door.inbox.approve(other, by=QA)
        found = page(door, QA, ALL)
        assert ([one.run for one in found.items], found.total) == ([run], 1)

    play(tmp_path, asking("role:qa_lead"), story)


LEAD, LATER = "role:qa_lead", {"type": "manual"}
FOLLOWS: dict[str, tuple[list[dict[str, Any]], list[Any], str | None, str | None]] = {
    "the run ends": ([approval("ask", LEAD)], [], None, None),
    "another": ([approval("ask", LEAD), wait("go", LATER, name="Go on")], ["ask>go"], "Go on", None),
    "one node to its author": (
        [approval("ask", LEAD, output={"schema": {"type": "object"}}), wait("go", LATER)], ["ask>go"], "go", None,
    ),
    "either way": ([approval("ask", LEAD, on_reject="continue"), wait("go", LATER)], ["ask>go"], "go", "go"),
    "its own way": (
        [approval("ask", LEAD), wait("go", LATER), wait("back", LATER)],
        ["ask>go", ("ask>back", {"when": "rejected"})], "go", "back",
    ),
    "after the branches": (
        [parallel("both", {"a": ["ask"], "b": ["other"]}), approval("ask", LEAD), wait("other", LATER),
         wait("go", LATER)], ["both>go"], "go", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("follows", FOLLOWS)
def test_an_item_says_what_yes_and_no_lead_to(tmp_path: Path, follows: str) -> None:
    """W-4.6.2, C-40: by the label of the author's node that follows; nothing where the run ends with it."""
    nodes, ways, yes, no = FOLLOWS[follows]

    async def story(door: Penstock, run: str) -> None:
        told = item(door, QA, ALL, f"{run}/ask").effects
        assert (told.approve, told.reject) == (yes, no)

    play(tmp_path, document(nodes, ways), story)


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
        Comments(door).delegate(f"{newest}/ask", QA, MANAGER)
        found = home(door, MANAGER)
        assert (found.headline.waiting, [one.id for one in found.waiting]) == (1, [f"{newest}/ask"])
        assert [one.id for one in inbox.open_items(door, MANAGER)] == [f"{newest}/ask"]

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
            if len(inbox.open_items(door)) == 2:
                break
            await asyncio.sleep(0.01)
        assert door.inbox.get("rx").run == f"rx{no + 2:08d}"
        with pytest.raises(ItemNotFound):
            open_items.find(door.of("other"), run)
        assert msgspec.json.encode(page(door, QA, ALL))

    play(tmp_path, asking("role:qa_lead"), story)
