"""The version of a work item: people decide on what they have seen, however many decide at once (P-2.3.5)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.errors import ProcessChanged, ProcessScope, ProcessState
from tests.conformance.process.make import process, service, task
from tests.conformance.process.running import Instance, Office, awaited

MANY = 25
Act = Callable[[WorkItems, str, int, int], Coroutine[Any, Any, Any]]
ACTS: dict[str, Act] = {
    "submit": lambda held, item, n, version: held.submit(item, {"n": n}, by=f"u{n}", version=version),
    "start": lambda held, item, n, version: held.start(item, by=f"u{n}", version=version),
    "set_mode": lambda held, item, n, version: held.set_mode(item, "MANUAL", by=f"u{n}", version=version),
}


def _item(run: Instance, node: str = "A") -> tuple[str, int]:
    found = WorkItems(run.p).find(f"{run.id}~{run.item(node).no}")
    return found.id, found.row.version


async def _all(acts: list[Coroutine[Any, Any, Any]]) -> Counter[str]:
    """How they ended; every one of them has looked before the first is committed."""
    told = await asyncio.gather(*acts, return_exceptions=True)
    return Counter(type(one).__name__ if isinstance(one, BaseException) else "done" for one in told)


@pytest.mark.parametrize("verb", ACTS)
@awaited
async def test_one_of_many_with_the_same_version_wins(verb: str, tmp_path: Path) -> None:
    """P-2.3.5, P-X.1, P-3.4.6: whoever comes second has seen another item, also where the move itself is allowed
    again."""
    async with Office(tmp_path) as office:
        run = await office.start(process([service("A", "MANUAL"), task("B")], ["A>B"]))
        id, version = _item(run)
        held = WorkItems(office.p)
        told = await _all([ACTS[verb](held, id, n, version) for n in range(MANY)])
        assert told == {"done": 1, "ProcessChanged": MANY - 1}
        assert len(run.item("A").moves) == 1


@awaited
async def test_who_takes_over_what_they_have_seen(tmp_path: Path) -> None:
    """P-2.3.5, P-X.40: a take-over is allowed again and again; with one version it is allowed once."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A")], []))
        held = WorkItems(office.p)
        await held.start(_item(run)[0], by="lee")
        id, version = _item(run)
        told = await _all([held.take_over(id, by=f"u{n}", version=version) for n in range(MANY)])
        assert told == {"done": 1, "ProcessChanged": MANY - 1}
        with pytest.raises(ProcessChanged, match=f"its version is {_item(run)[1]}, not {version}"):
            await held.take_over(id, by="late", version=version)
        assert await _all([held.take_over(id, by=f"u{n}") for n in range(5)]) == {"done": 5}, "nobody names a version"


@awaited
async def test_what_was_checked_is_what_is_done(tmp_path: Path) -> None:
    """P-X.13: somebody begins while another one submits: that is another's now, whether or not a version is named."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A")], []))
        id, _ = _item(run)
        held = WorkItems(office.p)
        begun, submitted = await asyncio.gather(
            held.start(id, by="lee"), held.submit(id, {}, by="kim"), return_exceptions=True
        )
        assert begun is None and isinstance(submitted, ProcessState), submitted
        assert str(submitted).startswith("lee is on it") and run.states() == {"A": "IN_PROGRESS"}


@awaited
async def test_finished_work_has_its_version(tmp_path: Path) -> None:
    """P-X.15, P-2.3.5: rework of what is done goes by the version that it was done with."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), task("B")], ["A>B"]))
        id, first = _item(run)
        held = WorkItems(office.p)
        await held.submit(id, {"n": 1}, by="kim")
        with pytest.raises(ProcessChanged):
            await held.rework(id, by="boss", version=first)
        _, done = _item(run)
        assert await _all([held.rework(id, by="boss", version=done) for _ in range(4)]) == {
            "done": 1, "ProcessChanged": 3,
        }  # fmt: skip


@awaited
async def test_whoever_does_without_an_approval_could_have_given_it(tmp_path: Path) -> None:
    """P-X.14, P-X.40: where the definition names approvers, nobody else makes the agent autonomous, neither at the
    start nor later; any other mode may be set by whoever does the work."""
    step = service("A", "SUPERVISED", orchestration={"approvers": ["user:boss"]})
    async with Office(tmp_path, agents={"A": {"n": 1}}) as office:
        held = WorkItems(office.p)
        await Processes(office.p).define(process([step, task("B")], ["A>B"]), by="boss")
        with pytest.raises(ProcessScope, match="none of its approvers"):
            await held.initiate("p", by="kim", modes={"A": "AUTONOMOUS"})
        run = Instance(office, await held.initiate("p", by="kim", modes={"A": "MANUAL"}))
        id, _ = _item(run)
        with pytest.raises(ProcessScope, match="none of its approvers"):
            await held.set_mode(id, "AUTONOMOUS", by="kim")
        assert run.states() == {"A": "TODO"}
        await held.set_mode(id, "SUPERVISED", by="kim")
        await run.rest()
        assert run.states() == {"A": "SUBMITTED"}
        run = Instance(office, await held.initiate("p", by="boss", modes={"A": "AUTONOMOUS"}))
        await run.rest()
        assert run.states() == {"A": "DONE", "B": "TODO"}


@awaited
async def test_an_approval_is_passed_on(tmp_path: Path) -> None:
    """P-X.14, P-X.28: who approves passes it on and somebody else approves; to whom the work itself was passed on does
    not approve it by that."""
    step = service("A", "SUPERVISED", orchestration={"approvers": ["user:boss"]})
    async with Office(tmp_path, agents={"A": {"n": 1}}) as office:
        held = WorkItems(office.p)
        for user in ("boss", "kim", "lee"):
            office.p.registry.put("user", user, {"name": user, "roles": ["approver"]})
        run = await office.start(process([step, task("B")], ["A>B"]), modes={"A": "MANUAL"})
        id, _ = _item(run)
        await held.delegate(id, "user:kim", by="lee")
        await held.set_mode(id, "SUPERVISED", by="kim")
        await run.rest()
        with pytest.raises(ProcessScope, match="none of its approvers"):
            await held.approve(id, by="kim")
        await held.delegate(id, "user:kim", by="boss")
        assert await held.approve(id, by="kim") == ["B"]


@awaited
async def test_it_is_given_back_to_whom_it_was_given_before(tmp_path: Path) -> None:
    """P-X.28: the assignee is whom it was given to last, also when they had it before."""
    async with Office(tmp_path) as office:
        for user in ("kim", "lee"):
            office.p.registry.put("user", user, {"name": user, "roles": []})
        run = await office.start(process([task("A")], []))
        held = WorkItems(office.p)
        id, _ = _item(run)
        for to in ("user:kim", "user:lee", "user:kim"):
            await held.delegate(id, to, by="boss")
            assert f"user:{held.find(id).row.assignee}" == to
