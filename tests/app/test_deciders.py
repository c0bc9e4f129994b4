"""Who may decide: nobody by an empty list, not who asked for it, not twice; and who is late hears by whom and when."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.access.candidates import for_anybody, may_act
from penstock.app.access.roles import person
from penstock.app.inbox import inbox
from penstock.app.penstock import Penstock
from penstock.errors import FourEyes, ItemDecided, ItemNotFound
from tests.conformance.decision.make import approval, document

QA, ADMIN = "qa@example.com", "admin@example.com"
ALONE = {"who": {"allow_self_approval": False}}


def source(*targets: str, **more: Any) -> bytes:
    return json.dumps(document([approval("ask", *targets, type="any_of", **more)])).encode()


async def started(door: Penstock, body: bytes, by: str | None = None) -> str:
    trigger = None if by is None else {"type": "manual", "source": f"user:{by}"}
    run = await door.start(door.release(body, name="a.json"), trigger=trigger)
    await door.wait(run, until_waiting=True)
    return run


def test_an_empty_list_of_targets_is_for_nobody() -> None:
    """C-34, W-4.6.4: only where no candidates are given at all may anybody act."""
    for nobody in ({"targets": []}, []):
        assert not may_act(nobody, "kim", {"roles": ["admin"]}) and not for_anybody(nobody)
    for anybody in (None, {}, {"type": "any_of"}):
        assert may_act(anybody, "kim", None) and for_anybody(anybody)


def test_a_name_alone_is_a_role_or_a_user() -> None:
    """C-32, C-34: targets that the tenant has set have no prefix sometimes."""
    assert may_act(["boss"], "kim", {"roles": ["boss"]}) and not may_act(["boss"], "boss", {})
    assert may_act(["kim@x"], "kim@x", {}) and not may_act(["lee@x"], "kim@x", {})


def test_who_asked_for_it_does_not_approve_it(tmp_path: Path) -> None:
    """C-32, W-4.6.4: `allow_self_approval: false`, also where somebody is to be found who could."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await started(door, source("role:qa_lead", "role:admin", **ALONE), QA)
            with pytest.raises(FourEyes) as denied:
                await door.inbox.approve(run, by=QA)
            assert denied.value.http == 403 and denied.value.hint
            assert inbox.anybody(door, door.inbox.get(run)) == ADMIN
            lent = person(door, ADMIN, approves=False)  # came with a key that somebody else has made
            with pytest.raises(FourEyes, match="such a key cannot approve"):
                await door.inbox.approve(run, by=lent)
            await door.inbox.approve(run, by=ADMIN)
            run = await started(door, source("role:qa_lead"), QA)  # where nothing is said, they may
            await door.inbox.approve(run, by=QA)

    asyncio.run(scene())


def test_an_escalation_does_not_let_them_either(tmp_path: Path) -> None:
    """C-32, C-34: others are asked, and it is still not for who asked for it."""
    timeout = {"duration_seconds": 0.05, "on_timeout": "escalate", "escalate_to": [f"user:{QA}", f"user:{ADMIN}"]}

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await started(door, source("role:it_manager", timeout=timeout, **ALONE), QA)
            while door.inbox.get(run).escalation_level == 0:
                await asyncio.sleep(0.01)
            with pytest.raises(FourEyes):
                await door.inbox.approve(run, by=QA)
            await door.inbox.approve(run, by=ADMIN)

    asyncio.run(scene())


def test_who_has_voted_is_not_chosen_again(tmp_path: Path) -> None:
    """W-4.6.5, C-32: on a laptop the second approval is that of the next who may."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await started(door, source("role:admin", "role:qa_lead", who={"min_approvals": 2}))
            chosen = []
            for _ in range(2):
                who = inbox.anybody(door, door.inbox.get(run))
                assert who is not None
                chosen.append(who)
                await door.inbox.approve(run, by=who)
            assert set(chosen) == {ADMIN, QA}

    asyncio.run(scene())


def test_who_is_late_hears_who_was_first(tmp_path: Path) -> None:
    """W-4.6.5: a decision on a decided approval is refused with 409, who decided and when; by any name of the run."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await started(door, source("role:admin"))
            await door.inbox.approve(run, by=ADMIN)
            for name in (run, f"{run}/ask"):
                with pytest.raises(ItemDecided, match=ADMIN) as late:
                    await door.inbox.reject(name, by=ADMIN)
                assert late.value.http == 409 and "T" in late.value.facts["at"] and late.value.facts["by"] == ADMIN
                assert late.value.facts["decision"] == "approved"
            with pytest.raises(ItemNotFound):
                await door.inbox.reject(f"{run}/other", by=ADMIN)

    asyncio.run(scene())
