"""Finding runs: by what rows know, by what only states know, and page by page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.app.runs import search as finding
from penstock.app.runs.queries import Queries
from penstock.app.runs.search import Filters, find_runs
from penstock.app.runs.summary import brief
from penstock.errors import BadInput
from penstock.net.model import Effect, Node
from tests.app.scenes import ASK, LOOP, ccp, net, opened
from tests.app.workflows import workflow
from tests.conformance.decision.world import DEFECT, MANAGER, T0, Wire, World, go


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


def ids(door: Queries, **filters: Any) -> list[str]:
    return [one.id for one in find_runs(door, Filters(**filters))[0]]


def test_the_seeds_runs_are_found_by_what_people_know(world: World, wire: Wire) -> None:
    """C-66: by state, name, version, language, node, code, variable, time, key and text."""

    async def scene() -> None:
        async with world.open() as door:
            asks = await door.run(DEFECT, key="order-7")
            lab = await ccp(door)
            wire.trouble["slack"] = 99
            broken = await door.run(DEFECT)
            await door.later(10_000)
            assert ids(door) == [broken, lab, asks]
            assert ids(door, states=["waiting"]) == [lab, asks] and ids(door, states=["FAILED", "RUNNING"]) == [broken]
            assert ids(door, name="wf_ccp_deviation_v2") == [lab] and ids(door, name="nobody's") == []
            assert ids(door, name="wf_defect_alert_v2", version=2) == [broken, asks] and ids(door, version=3) == []
            assert ids(door, language="decision") == [broken, lab, asks] and ids(door, language="diagram") == []
            assert ids(door, node="wait_lab") == [lab] and ids(door, node="request_approval") == [asks]
            assert ids(door, code="HTTP_5XX") == [broken] and ids(door, code="NONE") == []
            assert ids(door, var=("judgment_result.decision", "critical"), states=["waiting"]) == [lab, asks]
            assert ids(door, var=("judgment_result.decision", "normal")) == [] == ids(door, var=("no", "1"))
            assert ids(door, text="ORDER-") == [asks] and ids(door, text="ccp_dev") == [lab]
            assert ids(door, text=broken) == [broken] and ids(door, text="no such") == []
            assert ids(door, since=T0 + 1) == [] == ids(door, until=T0) and len(ids(door, until=T0 + 1)) == 3

    go(scene())


def test_a_run_is_found_by_what_its_page_shows(world: World, wire: Wire) -> None:
    """CONSOLE 2: title, code and cause, who decides, a variable, the trace; each finds the run that shows it."""

    async def scene() -> None:
        async with world.open() as door:
            asks = await door.run(DEFECT)
            wire.trouble["slack"] = 99
            broken = await door.run(DEFECT)
            await door.later(10_000)
            said = str(door.view(broken).failure["message"])  # type: ignore[index]
            assert len(said) > 20
            assert ids(door, text="불량 경보") == [broken, asks]  # the title that people read
            assert ids(door, text="http_5xx") == [broken] and ids(door, text=said[3:15]) == [broken]
            assert ids(door, text="quality_manager") == [asks]  # who decides
            assert ids(door, text="judgment_result.decision=critical", states=["WAITING"]) == [asks]
            trace = door.reading(broken).state.trace
            assert ids(door, text=trace) == [broken] and ids(door, text="0123456789abcdef") == []
            wire.trouble.clear()
            await door.decide(asks)
            assert ids(door, text=MANAGER) == [asks]  # who has decided
            assert ids(door, text="김품질") == ids(door, text=MANAGER)  # by the name that is shown

    go(scene())


def test_a_line_says_what_a_person_wants_to_know(world: World) -> None:
    """W-2.2.6, CONSOLE 4: title, the language's own word, why it rests, or what came of it."""

    async def scene() -> None:
        async with world.open() as door:
            run = await ccp(door)
            ((one,), more) = find_runs(door, Filters())
            assert more is None and (one.id, one.name, one.version) == (run, "wf_ccp_deviation_v2", 2)
            assert (one.title, one.language) == ("CCP 이탈 처리 워크플로우", "decision")
            assert (one.status, one.state, one.tone, one.node) == ("waiting", "WAITING", "held", "wait_lab")
            assert one.why is not None and one.why.kind == "event" and one.more_why == 0 and one.result is None
            assert (one.started_at, one.ended_at, one.parent, one.tenant) == (T0, None, None, "tenant_001")
            await door.later(60_000)
            await door.send_event("lab.result.completed", {"sample_id": "S-L01", "ok": True})
            await door.wait(run, timeout=60)
            await door.quiet()
            ((done,), _) = find_runs(door, Filters())
            assert (done.state, done.tone, done.why, done.node) == ("COMPLETED", "done", None, None)
            assert done.result is not None and "critical" in done.result and done.ended_at == T0 + 60_000
            assert done.active_ms < 60_000  # waiting is not working

    go(scene())


def test_pages_have_no_gap_and_no_repetition(tmp_path: Path) -> None:
    """C-66: newest first, a cursor over time and number; new runs do not move the pages behind."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            release = door.release(json.dumps(workflow()).encode())
            runs = [await door.start(release) for _ in range(7)]
            seen: list[str] = []
            cursor: str | None = None
            while True:
                page, cursor = find_runs(door, Filters(), cursor, 3)
                seen += [one.id for one in page]
                await door.start(release)
                if cursor is None:
                    break
            assert seen == runs[::-1]
            for wrong in ("", "x", "1.", "1.x", "1.-3", "1." + "9" * 40):
                with pytest.raises(BadInput):
                    find_runs(door, Filters(), wrong)
            with pytest.raises(BadInput, match="WAITING"):
                find_runs(door, Filters(states=["sleeping"]))

    go(scene())


def test_a_search_is_bounded_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-66: what only states know is looked for in so many of them; a page that is short, or empty, has a cursor."""
    monkeypatch.setattr(finding, "MOST_FOLDED", 4)
    monkeypatch.setattr(finding, "_CHUNK", 2)

    async def scene() -> None:
        async with opened(tmp_path) as door:
            wanted = await door.start(door.release(ASK))
            release = door.release(json.dumps(workflow()).encode())
            for _ in range(9):
                await door.start(release)
            await door.wait(wanted, until_waiting=True, timeout=60)
            pages, cursor = [], None
            while True:
                page, cursor = find_runs(door, Filters(node="Ask name"), cursor)
                pages.append([one.id for one in page])
                if cursor is None:
                    break
            assert pages == [[], [], [wanted]]

    go(scene())


def test_windows_of_numbers_are_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "WINDOW", 2)
    monkeypatch.setattr(finding, "WINDOWS", 2)

    async def scene() -> None:
        async with opened(tmp_path) as door:
            done = await door.start(door.release(LOOP))
            await door.wait(done, timeout=60)
            release = door.release(json.dumps(workflow()).encode())
            for _ in range(8):
                await door.start(release)
            first, cursor = find_runs(door, Filters(states=["COMPLETED"]))
            assert first == [] and cursor is not None
            second, cursor = find_runs(door, Filters(states=["COMPLETED"]), cursor)
            third, end = find_runs(door, Filters(states=["COMPLETED"]), cursor)
            assert [one.id for one in [*second, *third]] == [done] and end is None

    go(scene())


def test_children_are_found_by_their_parent(tmp_path: Path) -> None:
    """C-78: of a run, and of nobody else's tenant."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            child = door.release(ASK)
            call = Node(id="call", kind="call", effect=Effect(executor="call", args={"net": child.hash, "input": {}}))
            run = await door.start(door.release(net("caller", [Node(id="s", kind="start"), call], "s>call")))
            await door.wait(run, until_waiting=True, timeout=60)
            (one,) = find_runs(door, Filters(parent=run))[0]
            assert one.parent == run and one.name == "ask" and one.why is not None and one.why.kind == "work"
            assert ids(door, parent=one.id) == [] == ids(door, parent="rnobody")
            other: Penstock = door.of("other")
            assert ids(other) == [] and ids(other, parent=run) == []

    go(scene())


def test_a_result_is_a_few_words() -> None:
    """W-10.2.2: scalars, what decides first, cut."""
    assert brief({"x": {"a": 1, "decision": "warning"}, "list": [1, 2]}) == "decision: warning, a: 1"
    assert brief("a\n b") == "a b" and brief(True) == "true" and brief([1]) is None and brief({}) is None
    assert len(brief({"t": "x" * 500}) or "") == 160
