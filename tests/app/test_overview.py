"""Home: what is stuck, what waits, what flows; thresholds of the seed, and a cost that does not grow with the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.api.time_fields import moment as ms_of
from penstock.app.metrics.overview import Home, home
from penstock.app.metrics.tiles import HOUR_MS, p95
from penstock.app.penstock import Penstock
from penstock.app.runs.search import Filters, count_runs, find_runs
from penstock.kernel.state import CANCELLED, COMPLETED, FAILED, WAITING
from tests.app.scenes import ASK, ccp, opened
from tests.conformance.decision.world import ADMIN, DEFECT, HOUR, MANAGER, MINUTE, OTHER, T0, Wire, World, go
from tests.contract.store_suite import a_batch, a_run


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.sure(0.6)
    return one


def tile(found: Home, id: str) -> Any:
    return next(one for one in found.tiles if one.id == id)


def test_home_of_the_sample_tenant(world: World, wire: Wire) -> None:
    """W-10.3.1, W-10.1.1, CONSOLE 4: what failed is stuck; a wait within its time is not, until 90 % of it is over."""

    async def scene() -> None:
        async with world.open() as door:
            door.put_in_force(DEFECT)
            quiet = home(door)
            assert (quiet.headline.stuck, quiet.headline.waiting, quiet.headline.flowing) == (0, 0, 0)
            assert [(one.name, one.next_at) for one in quiet.schedules] == [("wf_defect_alert_v2", T0 + 4 * HOUR)]
            assert quiet.schedules[0].title == "불량 경보 워크플로우" and quiet.stuck == []
            asks, lab = await door.run(DEFECT), await ccp(door)
            wire.trouble["slack"] = 99
            broken = await door.run(DEFECT)
            await door.later(10_000)
            found = home(door)
            assert [(one.run.id, one.why.kind, one.why.code) for one in found.stuck] == [(broken, "failed", "HTTP_5XX")]
            head = found.headline
            assert (head.stuck, head.waiting, head.flowing, head.ended_24h, head.completed_24h) == (1, 1, 2, 1, 0)
            (item,) = found.waiting
            assert (item.run, item.kind, item.due_at, item.due_then) == (asks, "approval", T0 + 2 * HOUR, "escalate")
            await door.to(T0 + 109 * MINUTE)
            late = home(door)
            assert [one.run.id for one in late.stuck] == [broken, asks, lab]
            assert [one.why.kind for one in late.stuck] == ["failed", "work", "event"]
            assert late.stuck[1].why.what == "긴급 불량 알람 검토 요청"
            (language,) = late.by_language
            assert (language.language, language.waiting, language.stuck) == ("decision", 2, 3)

    go(scene())


def test_many_failures_of_one_cause_are_one_cause_with_its_number(world: World, wire: Wire) -> None:
    """CONSOLE 13.9, CONSOLE 4: the headline counts runs and causes, truly, however many there are; each cause leads to
    a list of exactly its runs, and every place that says how many are stuck says the same."""

    async def scene() -> None:
        async with world.open() as door:
            tell = {"id": "tell", "type": "ACTION", "channel": {"type": "slack"}, "message": "x"}
            wire.trouble["slack"] = 10_000
            for _ in range(105):
                await door.play([tell], policies={"retry": {"max": 0}})
            await door.play([{**tell, "id": "call"}], policies={"retry": {"max": 0}})
            found = home(door)
            assert (found.headline.stuck, found.headline.causes, found.headline.more) == (106, 2, False)
            assert [one.count for one in found.stuck] == [105, 1]
            assert sum(one.stuck for one in found.by_language) == 106
            for one in found.stuck:
                filters = in_words(one.query)
                assert count_runs(door, filters) == one.count
                assert {run.why.code for run in find_runs(door, filters)[0] if run.why} == {one.why.code}

    go(scene())


def in_words(query: dict[str, str]) -> Filters:
    """What the address of a list says, as a search."""
    more = {name: value for name, value in query.items() if name in ("name", "code", "failed_node")}
    times = {name: ms_of(query[name], name) for name in ("ended", "node_failed") if name in query}
    states = [state for state in query.get("state", "").split(",") if state]
    return Filters(states=states, letter=query.get("letter") == "true", **times, **more)  # type: ignore[arg-type]


def test_tiles_lead_to_what_they_count(world: World, wire: Wire) -> None:
    """W-10.1.1, CONSOLE 4: each links to the filtered list, which has as many rows as the tile says."""

    async def scene() -> None:
        async with world.open() as door:
            await door.run(DEFECT)
            wire.trouble["slack"] = 99
            for _ in range(3):
                await door.run(DEFECT)
            await door.later(10_000)
            found = home(door)
            counted = {
                "running": tile(found, "running").value, "success_rate": tile(found, "success_rate").detail["counted"],
                "node_error_rate": tile(found, "node_error_rate").detail["runs"],
                "dead_letters": tile(found, "dead_letters").value,
            }  # fmt: skip
            assert counted["dead_letters"] == 3 == counted["node_error_rate"]
            for id, count in counted.items():
                filters = in_words(tile(found, id).query)
                assert count_runs(door, filters) == count == len(find_runs(door, filters)[0]), id
            assert tile(found, "approvals").query == {"tab": "team", "kind": "approval"}

    go(scene())


def test_what_waits_for_whom(world: World) -> None:
    """W-4.6.1, C-32: a manager of quality sees the approval, others do not; the site sees it all."""

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            assert [one.run for one in home(door, MANAGER).waiting] == [run]
            assert home(door, OTHER).headline.waiting == 0 == home(door, ADMIN).headline.waiting
            assert home(door).headline.waiting == 1 and home(door.of("other")).headline.waiting == 0
            await door.decide(run, "approved", MANAGER)
            after = home(door)
            assert after.waiting == [] and after.headline.completed_24h == 1
            assert tile(after, "success_rate").value == 100.0 and after.hours[-1].done == 1

    go(scene())


def test_thresholds_and_series(world: World, wire: Wire) -> None:
    """W-10.1.1, W-10.1.2, C-62: six tiles with the seed's thresholds; each has the hours of a day; slowest types."""

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 99
            await door.run(DEFECT)
            await door.later(10_000)
            found = home(door)
            assert [(one.id, one.threshold) for one in found.tiles] == [
                ("running", 100), ("success_rate", 95), ("approvals", 50), ("node_error_rate", 5), ("dead_letters", 10),
                ("open_breakers", 0),
            ]  # fmt: skip
            rate = tile(found, "success_rate")
            assert (rate.value, rate.alarm, rate.series[-1], rate.series[0]) == (0.0, True, 0.0, None)
            assert tile(found, "node_error_rate").alarm and tile(found, "dead_letters").value == 1
            assert not tile(found, "dead_letters").alarm and len(tile(found, "dead_letters").series) == 24
            assert len(found.hours) == 24 and found.hours[-1].failed == 1 and found.hours[-1].at == T0
            slow = {one.node_type: one for one in found.slowest}
            assert slow["ACTION"].p95_ms == 10_000 and "PARALLEL" not in slow and slow["DATA"].p95_ms == 0
            assert any(one.name == "notify" and one.state == "idle" for one in found.workers)
            assert found.workers[0].state == "driving"
            assert msgspec.json.encode(found)

    go(scene())


def test_exactly_at_a_threshold_there_is_no_alarm(tmp_path: Path) -> None:
    """W-10.1.2, C-62: 95 %, 100, 50 and 10 do not alarm; one more, or less, does. Cancelled runs do not count."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            release = door.release(DEFECT)
            found = door.store.net_by_hash(release.hash)
            assert found is not None
            node = door.net_of(release.hash).by_id["request_approval"].no
            now = door.now()

            def rows(first: int, count: int, status: int) -> list[tuple[Any, ...]]:
                return [
                    a_run(no, id=f"rx{no:08d}", tenant=door.tenant, net=found.no, status=status, created_at=now,
                          updated_at=now)
                    for no in range(first, first + count)
                ]  # fmt: skip

            def letter(n: int) -> tuple[Any, ...]:
                return (door.tenant, f"l{n}", "n", 1, "q", "FAILED", "X", "c", b"", 0, now, now + HOUR)

            def item(run: int) -> tuple[Any, ...]:
                return (run, 1, node, "TODO", msgspec.msgpack.encode({"kind": "approval"}), None, None, now, now)

            new = [*rows(1, 19, COMPLETED), *rows(20, 1, FAILED), *rows(21, 5, CANCELLED), *rows(100, 100, WAITING)]
            letters, items = [letter(n) for n in range(10)], [item(run) for run in range(100, 150)]
            door.store.commit(a_batch(new=new, letter=letters, item_new=items))
            at = {one.id: (one.value, one.alarm) for one in home(door).tiles}
            assert at["success_rate"] == (95.0, False) and at["dead_letters"] == (10.0, False)
            assert at["approvals"] == (50.0, False) and at["running"] == (0.0, False)
            new = [*rows(200, 1, FAILED), *rows(201, 1, WAITING)]
            door.store.commit(a_batch(new=new, letter=[letter(11)], item_new=[item(150)]))
            over = {one.id: one.alarm for one in home(door).tiles}
            assert over["success_rate"] and over["dead_letters"] and over["approvals"] and over["running"]
            assert not over["open_breakers"] and not over["node_error_rate"]

    go(scene())


def test_an_open_breaker_is_counted_and_its_runs_are_stuck(world: World, wire: Wire) -> None:
    """W-7.3.1, W-10.1.1: more than none open is an alarm."""
    policy = {"circuit_breaker": {"failure_threshold": 1, "cooldown_ms": 600_000},
              "retry": {"max": 3, "backoff_ms": 60_000}}  # fmt: skip

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 99
            tell = {"id": "tell", "type": "ACTION", "channel": {"type": "slack"}, "message": "x"}
            run = await door.play([tell], policies=policy)
            found = home(door)
            assert (tile(found, "open_breakers").value, tile(found, "open_breakers").alarm) == (1.0, True)
            assert [(one.run.id, one.why.kind) for one in found.stuck] == [(run, "breaker")]

    go(scene())


def test_a_replayed_letter_is_not_stuck_any_more(world: World, wire: Wire) -> None:
    """W-7.5.4: what was replayed has a run that tells its own story."""

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 99
            run = await door.run(DEFECT)
            await door.later(10_000)
            assert home(door).headline.stuck == 1
            wire.trouble.clear()
            await door.replay_letter(run)
            await door.quiet()
            assert home(door).stuck == []

    go(scene())


def test_many_runs_cost_no_more(tmp_path: Path) -> None:
    """W-10.3.1: among 20,000 runs only a bounded number is folded."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(ASK))
            await door.wait(run, until_waiting=True, timeout=60)
            many(door, 20_000)
            folded = 0
            load = door.store.load

            def counted(numbers: Any) -> Any:
                nonlocal folded
                asked = list(numbers)
                folded += len(asked)
                return load(asked)

            door.store.load = counted  # type: ignore[method-assign]
            found = home(door)
            assert found.headline.ended_24h == 20_000 - 2_000 and found.headline.completed_24h == 18_000 - 20
            assert folded < 700
            assert sum(one.done + one.failed for one in found.hours) == 18_000

    go(scene())


def many(door: Penstock, count: int) -> None:
    """Rows of runs that others have had, with the journal of a run that waits."""
    (row,) = door.runs()
    turns = list(door.store.journal(row.no))
    now = door.now()
    new, journal = [], []
    for no in range(row.no + 1, row.no + 1 + count):
        status = WAITING if no % 10 == 0 else FAILED if no % 1000 == 1 else COMPLETED
        at = now - (no % 20) * HOUR_MS
        new.append(a_run(no, id=f"rx{no:08d}", tenant=door.tenant, net=row.net, status=status, created_at=at,
                         updated_at=at))  # fmt: skip
        journal += [(no, turn.seq_from, turn.seq_to, turn.at, bytearray(turn.body)) for turn in turns]
    door.store.commit(a_batch(new=new, journal=journal))


def test_the_ninety_fifth_of_a_hundred() -> None:
    assert p95(list(range(1, 101))) == 95 and p95([7]) == 7 and p95([3, 1, 2]) == 3
