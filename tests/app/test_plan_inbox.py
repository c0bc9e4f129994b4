"""What a plan puts into the inbox: a result in doubt, decided there as in the plan itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from penstock.app.inbox.items import item as item_of
from penstock.app.plan.review_rules import ReviewRules
from penstock.errors import ApproverDenied, Refused
from tests.app.plans import a_project, claims, driven, ended, one, played

TEN = [f"part {n}" for n in range(10)]
DOUBT = [{"init": True}, {"edit": {"new.txt": "new\n"}}, *claims(*TEN[:7])[1:]]


@played
async def test_a_result_in_doubt_is_decided_from_the_inbox(tmp_path: Path) -> None:
    """T-X.14, T-5.1.8, T-5.2.8: it waits there for the plan's reviewers; approved, its work is merged as well."""
    folder = a_project(
        tmp_path / "p", {"t1": {"success_criteria": TEN}}, scenarios={"t1": DOUBT}, reviewers=["ann", "role:lead"]
    )
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.execute("p", "t1")
        assert (await ended(plans, "p", "t1")).review_required
        door, rules = plans.door, ReviewRules()
        (waiting,) = door.inbox.each()
        assert (waiting.node, waiting.status, waiting.candidates) == ("t1", "SUBMITTED", ["user:ann", "role:lead"])
        shown = item_of(door, "ann", ["plan.review", "inbox.read"], waiting.id)
        assert shown.work is not None and shown.work.id == "p/t1"
        assert [move.verb for move in shown.moves] == ["approve", "reject"]
        assert item_of(door, "ann", ["inbox.decide"], waiting.id).moves == []
        with pytest.raises(Refused):
            await rules.submit(door, waiting.run, waiting.firing, {}, by="ann")
        with pytest.raises(ApproverDenied):
            await rules.approve(door, waiting.run, waiting.firing, by="bob", comment=None)
        assert not (folder / "new.txt").exists()
        await rules.approve(door, waiting.run, waiting.firing, by="ann", comment="fine")
        assert one(plans, "p", "t1").status == "completed" and (folder / "new.txt").read_text() == "new\n"
        assert door.inbox.each() == []


@played
async def test_what_is_sent_back_from_the_inbox_is_done_again(tmp_path: Path) -> None:
    """T-X.14: with the comment as a further instruction; meanwhile its agent has it, and nobody is asked."""
    again = [{"init": True}, {"hang": True}]
    folder = a_project(
        tmp_path / "p", {"t1": {"success_criteria": TEN}}, scenarios={"t1": {"attempts": [claims(*TEN[:7]), again]}}
    )
    async with driven(tmp_path / "s.db") as plans:
        await plans.register(folder)
        await plans.start("p", by="ann")
        await ended(plans, "p", "t1")
        door, rules = plans.door, ReviewRules()
        (waiting,) = door.inbox.each()
        await rules.reject(door, waiting.run, waiting.firing, by="ann", comment="again, please")
        task = one(plans, "p", "t1")
        assert not task.review_required
        held = door.reading(waiting.run).state.items[waiting.firing]
        assert rules.busy_elsewhere(held, "ann")
        await plans.stop("p", now=True)
