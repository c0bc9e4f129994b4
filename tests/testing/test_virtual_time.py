"""The clock in the user's hand: moments in order, nothing left out, no going back, and what keeps a test busy."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from penstock.app.durations import duration_words, read_duration
from penstock.errors import BadInput, NothingWaits, NotStubbed, ScenarioBusy
from penstock.testing import BlockingVirtualPenstock, ManualClock, VirtualPenstock, answer, call, fails, real
from penstock.testing import virtual_time as virtual_time_module
from tests.house.files import ROOT

LOOP = """
version: light
name: endless
persons: {Writer: {service: echo}}
nodes:
  - {label: Start, type: start}
  - {label: Again, type: person_job, person: Writer, default_prompt: again, max_iteration: 1000000}
  - {label: Enough, type: condition, expression: "false"}
  - {label: End, type: endpoint}
connections:
  - {from: Start, to: Again}
  - {from: Again, to: Enough}
  - {from: "Enough[condfalse]", to: Again}
  - {from: "Enough[condtrue]", to: End}
"""


def wait_document(**condition: Any) -> bytes:
    nodes = [{"id": "pause", "type": "WAIT", "condition": condition}]
    document = {"id": "wf_pause", "version": 1, "name": "pause", "nodes": nodes, "edges": []}
    return json.dumps(document).encode()


def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    async def scene() -> list[tuple[str, int]]:
        clock, woken = ManualClock(0), list[tuple[str, int]]()

        async def sleep(name: str, until: int) -> None:
            await clock.sleep_until(until)
            woken.append((name, clock.now()))

        tasks = [asyncio.ensure_future(sleep(*each)) for each in (("late", 30), ("soon", 10), ("also", 10))]
        await asyncio.sleep(0)
        with pytest.raises(BadInput, match="20 ms before"):
            clock.move_to(30)
        for moment in (10, 30):
            assert clock.next_wake() == moment
            clock.move_to(moment)
            await asyncio.sleep(0)
        with pytest.raises(BadInput, match="go back"):
            clock.move_to(29)
        await asyncio.gather(*tasks)
        return woken

    assert asyncio.run(scene()) == [("soon", 10), ("also", 10), ("late", 30)]


def test_time_moves_only_when_it_is_asked_to(penstock_test: BlockingVirtualPenstock) -> None:
    run, began = penstock_test.start(wait_document(type="time", duration_hours=24)), penstock_test.now
    for _ in range(3):
        penstock_test.rest()
    assert penstock_test.now == began and run.status == "waiting"
    penstock_test.advance("23h59m59s999ms")
    assert run.status == "waiting"
    penstock_test.advance("1ms")
    assert run.status == "completed" and run.view.updated_at == began + 86_400_000


def test_runs_with_different_timers_go_on_each_at_its_own_moment(penstock_test: BlockingVirtualPenstock) -> None:
    began = penstock_test.now
    runs = [penstock_test.start(wait_document(type="time", duration_minutes=minutes)) for minutes in (90, 5, 600)]
    penstock_test.advance("7d")
    assert [(run.view.updated_at - began) // 60_000 for run in runs] == [90, 5, 600]
    assert penstock_test.now == began + 7 * 86_400_000


def test_time_does_not_go_back(penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.advance("1h")
    with pytest.raises(BadInput, match="go back by 30m"):
        penstock_test.advance_to(penstock_test.now - 1_800_000)


def test_a_loop_without_end_is_named(penstock_test: BlockingVirtualPenstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time_module, "MOST_TURNS", 200)
    with pytest.raises(ScenarioBusy, match=r"turns at one moment.*«Again»"):
        penstock_test.start(LOOP.encode())


def test_a_poll_without_end_is_named(penstock_test: BlockingVirtualPenstock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time_module, "MOST_MOMENTS", 50)
    condition = {"endpoint": "/api/x", "interval_sec": 60, "success_condition": "response.done", "max_attempts": 100000}
    penstock_test.stub("pause", {"done": False})
    penstock_test.start(wait_document(type="polling", polling=condition))
    with pytest.raises(ScenarioBusy, match="50 moments have passed"):
        penstock_test.advance("2h")


def test_an_effect_that_really_works_too_long_is_named() -> None:
    async def hang(request: Any) -> None:
        await asyncio.Event().wait()

    with BlockingVirtualPenstock(patience_s=0.2) as penstock:
        penstock.stub("data_defect", call(hang))
        with pytest.raises(ScenarioBusy, match="«data_defect» works"):
            penstock.start(ROOT / "examples/decision/defect_alert.json", {"line_id": "L01"})


def test_what_nothing_stands_in_for_is_refused_by_name(penstock_test: BlockingVirtualPenstock) -> None:
    with pytest.raises(NotStubbed, match="«data_defect», whose executor «sql» would read from the world"):
        penstock_test.start(ROOT / "examples/decision/defect_alert.json", {"line_id": "L01"})


def test_what_is_allowed_to_be_real_is_done(penstock_test: BlockingVirtualPenstock) -> None:
    """The sample tenant's own database lies in the folder of the test."""
    penstock_test.stub("data_defect", real())
    run = penstock_test.start(ROOT / "examples/decision/defect_alert.json", {"line_id": "nowhere"})
    assert run.path[0] == "data_defect" and run.variables["defect_data"] == []


def test_stubs_by_executor_and_by_effect(penstock_test: BlockingVirtualPenstock) -> None:
    """A node goes before its executor, and that before the kind of effect."""
    document = ROOT / "examples/decision/defect_alert.json"
    asked: list[str] = []

    def rows(request: Any) -> Any:
        asked.append(request.args["params"]["line_id"])
        return [{"line_id": "L07", "defect_rate": 0.004}]

    penstock_test.stub(effect="read", behaviours=[[{"defect_rate": 0.9}]])
    penstock_test.stub(executor="sql", behaviours=[rows])
    run = penstock_test.start(document, {"line_id": "L07"})
    assert asked == ["L07"] and "action_log" in run.path
    penstock_test.stub("data_defect", fails("GONE", category="permanent"))
    assert (penstock_test.start(document, {"line_id": "L07"}).failure or {})["code"] == "GONE"


def test_a_stub_takes_virtual_time(penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.stub("data_defect", answer([{"defect_rate": 0.004}], takes="20s"))
    run = penstock_test.start(ROOT / "examples/decision/defect_alert.json", {"line_id": "L01"})
    penstock_test.advance("19s")
    assert run.path == ["data_defect"]
    penstock_test.advance("1s")
    assert run.status == "completed"


def test_a_person_for_whom_nothing_waits(penstock_test: BlockingVirtualPenstock) -> None:
    penstock_test.start(wait_document(type="time", duration_hours=1))
    with pytest.raises(NothingWaits, match="what waits is «pause»"):
        penstock_test.person("qa@example.com").approve("pause")
    with pytest.raises(NothingWaits, match="within 2h"):
        penstock_test.person("qa@example.com").approve("approval", within="2h")


def test_a_schedule_starts_runs_at_its_times() -> None:
    """11.1: cron 0 8,14,20 in Asia/Seoul."""
    with BlockingVirtualPenstock(now="2026-03-02T07:00:00+09:00") as penstock:
        penstock.stub("data_defect", [{"defect_rate": 0.004}])
        penstock.release(ROOT / "examples/decision/defect_alert.json", in_force=True)
        began = penstock.now
        penstock.advance("24h")
        hours = [(run.view.created_at - began) // 3_600_000 for run in penstock.runs]
        assert set(hours) == {1, 7, 13}


def test_the_same_for_coroutines(async_penstock_test: VirtualPenstock) -> None:
    async def scene() -> str:
        async with async_penstock_test as penstock:
            run = await penstock.start(wait_document(type="time", duration_hours=24))
            await penstock.advance("1d")
            return run.status

    assert asyncio.run(scene()) == "completed"


def test_the_timeline_is_the_same_text_every_time() -> None:
    def played() -> str:
        with BlockingVirtualPenstock() as penstock:
            penstock.stub("data_defect", [{"line_id": "L01", "defect_rate": 0.08}])
            run = penstock.start(ROOT / "examples/decision/defect_alert.json", {"line_id": "L01"})
            return penstock.finish(run).timeline()

    first = played()
    assert first == played()
    assert "+2h  request_approval        waits for role:admin\n" in first
    assert first.rstrip().splitlines()[-1].startswith("+8h")


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90s", 90_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("PT2H", 7_200_000), ("P1DT1M", 86_460_000)],
)
def test_durations(text: str, ms: int) -> None:
    assert read_duration(text) == ms
    assert read_duration(duration_words(ms)) == ms


@pytest.mark.parametrize("text", ["", "2", "h", "2 hours", "-2h", "P", "PT", "1h-30m", "9" * 400 + "s"])
def test_no_durations(text: str) -> None:
    with pytest.raises(BadInput):
        read_duration(text)
