"""Work items between people: one is on it, it is given back or passed on, and what is said about it stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox.comments import Comments
from penstock.app.inbox.inbox import open_items
from penstock.app.inbox.open_items import InboxItem
from penstock.app.penstock import Penstock
from penstock.errors import (
    ApproverDenied,
    BadInput,
    FourEyes,
    ItemClaimed,
    ItemDecided,
    ItemNotFound,
    PenstockError,
    TargetNotFound,
)
from penstock.store.drafts import RemarkRow

QA, MANAGER, IT, OPERATOR = "qa@example.com", "manager@example.com", "it@example.com", "operator@example.com"


def asking(*targets: str, kind: str = "any_of", **more: Any) -> dict[str, Any]:
    """A workflow that waits for an approval."""
    ask = {
        "id": "ask", "type": "APPROVAL",
        "request": {"title": "배포?", "approvers": {"type": kind, "targets": list(targets), **more}},
    }  # fmt: skip
    return {"id": "wf_ask", "version": 1, "nodes": [ask], "edges": []}


def played(
    folder: Path, document: dict[str, Any], story: Callable[[Penstock, str], Coroutine[Any, Any, None]],
    by: str = "someone",
) -> None:  # fmt: skip
    """Start it, and play the story when it waits."""

    async def play() -> None:
        async with Penstock(folder / "store.db") as door:
            released = door.release(_bytes(document))
            run = await door.start(released, {}, trigger={"type": "manual", "source": f"user:{by}"})
            await door.wait(run, until_waiting=True, timeout=60)
            await story(door, run)

    asyncio.run(play())


def _bytes(document: dict[str, Any]) -> bytes:
    import json

    return json.dumps(document).encode()


def the_item(door: Penstock) -> InboxItem:
    (one,) = open_items(door)
    return one


def refused(error: type[PenstockError], call: Callable[..., Any], *args: Any, **more: Any) -> PenstockError:
    with pytest.raises(error) as found:
        call(*args, **more)
    return found.value


# ---- claims ----------------------------------------------------------------------------------------------------------


def test_one_is_on_it_at_a_time(tmp_path: Path) -> None:
    """Z21: claimed by another is 409 with who; who is on it may give it back, and only they decide meanwhile."""

    async def story(door: Penstock, run: str) -> None:
        remarks, id = Comments(door), f"{run}/ask"
        assert remarks.claim(run, QA).claimed_by == QA == remarks.claim(id, QA).claimed_by
        error = refused(ItemClaimed, remarks.claim, id, MANAGER)
        assert error.http == 409 and QA in error.message
        refused(ItemClaimed, remarks.release, id, MANAGER)
        refused(ItemClaimed, remarks.delegate, id, MANAGER, IT)
        refused(ApproverDenied, remarks.claim, id, OPERATOR)
        with pytest.raises(ItemClaimed, match=QA):
            await door.inbox.approve(id, by=MANAGER)
        assert remarks.release(id, QA).claimed_by is None and remarks.release(id, QA).claimed_by is None
        assert remarks.claim(id, MANAGER).claimed_by == MANAGER
        assert remarks.release(id, "admin@example.com", force=True).claimed_by is None
        remarks.claim(id, QA)
        await door.inbox.approve(id, by=QA)
        assert (await door.wait(run, timeout=60)).internal_status == "COMPLETED"
        assert QA in refused(ItemDecided, remarks.claim, id, MANAGER).message

    played(tmp_path, asking("role:qa_lead", "role:quality_manager"), story)


def test_a_claim_of_an_earlier_round_does_not_count(tmp_path: Path) -> None:
    """A node that asks again asks anew; what was said stays."""

    async def story(door: Penstock, run: str) -> None:
        remarks, item = Comments(door), the_item(door)
        remarks.comment(item.id, QA, "first round")
        remarks.claim(item.id, QA)
        now = remarks.of(item.id, item.firing + 1)
        assert now.claimed_by is None and [one.text for one in now.comments] == ["first round"]
        assert remarks.each([(item.key, item.firing)])[item.key, item.firing].claimed_by == QA

    played(tmp_path, asking("role:qa_lead"), story)


def test_who_was_faster_is_seen(tmp_path: Path) -> None:
    """Two claim at the same moment: one of them has it, and the other hears who."""

    async def story(door: Penstock, run: str) -> None:
        item, store = the_item(door), door.store
        put, raced = store.add_remark, list[bool]()

        def race(row: RemarkRow) -> bool:
            if not raced:
                raced.append(True)
                Comments(door).claim(item.id, MANAGER)
            return put(row)

        store.add_remark = race  # type: ignore[method-assign]
        assert MANAGER in refused(ItemClaimed, Comments(door).claim, item.id, QA).message

    played(tmp_path, asking("role:qa_lead", "role:quality_manager"), story)


# ---- delegations -----------------------------------------------------------------------------------------------------


def test_w_4_6_4_it_is_passed_on(tmp_path: Path) -> None:
    """W-4.6.4: whoever it is passed on to may decide, and finds it in their inbox; nobody else may."""

    async def story(door: Penstock, run: str) -> None:
        remarks, id = Comments(door), f"{run}/ask"
        refused(ApproverDenied, remarks.delegate, id, OPERATOR, OPERATOR)
        for absent in ("nobody@example.com", "role:nobody", "user:", "group:nobody", ""):
            refused(TargetNotFound, remarks.delegate, id, QA, absent)
        assert open_items(door, OPERATOR) == []
        remarks.claim(id, QA)
        said = remarks.delegate(id, QA, OPERATOR, "휴가")
        assert said.delegated == [f"user:{OPERATOR}"] and said.claimed_by is None
        assert [(one.by, one.text) for one in said.comments] == [(QA, "휴가")]
        assert [one.id for one in open_items(door, OPERATOR)] == [id] and open_items(door, IT) == []
        assert remarks.delegate(id, OPERATOR, "group:it").delegated == [f"user:{OPERATOR}", "group:it"]
        with pytest.raises(ApproverDenied):
            await door.inbox.approve(id, by=MANAGER)
        await door.inbox.approve(id, by=IT, comment="대신")
        look = await door.wait(run, timeout=60)
        assert look.internal_status == "COMPLETED"
        (vote,) = look.variables["approval_result"]["approvals"]
        assert (vote["user"], vote["target"]) == (IT, "role:qa_lead"), "they stand for whoever passed it on"

    played(tmp_path, asking("role:qa_lead"), story)


def test_c_32_a_delegate_stands_for_one_target_and_not_for_one_more(tmp_path: Path) -> None:
    """C-32, A2: where each of two must approve, one of them and their own delegate are not two."""

    async def story(door: Penstock, run: str) -> None:
        remarks, id = Comments(door), f"{run}/ask"
        remarks.delegate(id, MANAGER, OPERATOR)
        await door.inbox.approve(id, by=MANAGER)
        await door.inbox.approve(id, by=OPERATOR)
        assert the_item(door).id == id, "the other one has not approved"
        await door.inbox.approve(id, by=IT)
        assert (await door.wait(run, timeout=60)).internal_status == "COMPLETED"

    played(tmp_path, asking("role:quality_manager", "role:it_manager", kind="all_of"), story)


# ---- four eyes -------------------------------------------------------------------------------------------------------


def test_c_32_a3_who_asked_for_it_does_not_approve_it(tmp_path: Path) -> None:
    """C-32, A3: allow_self_approval false; neither themselves nor by a delegation."""

    async def story(door: Penstock, run: str) -> None:
        remarks, id = Comments(door), f"{run}/ask"
        with pytest.raises(FourEyes):
            await door.inbox.approve(id, by=QA)
        refused(FourEyes, remarks.claim, id, QA)
        remarks.delegate(id, MANAGER, f"user:{QA}")
        with pytest.raises(FourEyes):
            await door.inbox.reject(id, by=QA)
        await door.inbox.approve(id, by=MANAGER)

    both = ("role:qa_lead", "role:quality_manager")
    played(tmp_path / "a", asking(*both, allow_self_approval=False), story, by=QA)

    async def free(door: Penstock, run: str) -> None:
        await door.inbox.approve(run, by=QA)

    played(tmp_path / "b", asking(*both), free, by=QA)


# ---- comments --------------------------------------------------------------------------------------------------------


def test_comments(tmp_path: Path) -> None:
    async def story(door: Penstock, run: str) -> None:
        remarks, id = Comments(door), f"{run}/ask"
        remarks.claim(id, QA)
        remarks.comment(id, OPERATOR, "  L01 확인 중\0 ")
        said = remarks.comment(id, QA, "<script>")
        assert [(one.by, one.text) for one in said.comments] == [(OPERATOR, "L01 확인 중"), (QA, "<script>")]
        assert said.claimed_by == QA
        for wrong in ("", " ", "x" * 4001):
            refused(BadInput, remarks.comment, id, QA, wrong)
        assert Comments(door.of("other")).of(id).comments == []
        refused(ItemNotFound, Comments(door.of("other")).comment, id, QA, "x")

    played(tmp_path, asking("role:qa_lead"), story)
