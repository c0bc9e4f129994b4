"""Reads of long runs fold nothing where the engine runs: the same answers come from a process beside it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from penstock.api import long_reads
from penstock.api.long_reads import Answer, LongReads, Question, Told
from penstock.api.route_table import ROUTES
from penstock.app.access.roles import Person
from penstock.app.runs.long.read_limits import is_long
from penstock.app.runs.long.reader_door import ReaderOptions
from penstock.app.runs.long.slices import SLICE
from penstock.app.runs.timeline.events import EventPage
from penstock.errors import ReaderFailed, ReadsTooMany
from penstock.kernel.fact_lines import FactReader
from tests.api.in_process import Site, on_site


class Folded:
    """Facts that are read in this process, by the pass of the loop in which they are."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.by_pass: Counter[int] = Counter()
        self.passes = 0
        plain = FactReader.one

        def one(reader: FactReader, at: int, fact: Any) -> Any:
            self.by_pass[self.passes] += 1
            return plain(reader, at, fact)

        monkeypatch.setattr(FactReader, "one", one)

    async def count(self) -> None:
        while True:
            self.passes += 1
            await asyncio.sleep(0)

    @property
    def total(self) -> int:
        return self.by_pass.total()


def run_routes() -> list[str]:
    """Every GET of the API that is about a run, with its parameters to be filled in."""
    paths = []
    for route in (route for router in ROUTES for route in router.routes):
        if "GET" in route.methods and route._of_runs:
            asked = route._of_runs[0]
            paths.append(route.path if f"{{{asked}}}" in route.path else f"{route.path}?{asked}={{run}}")
    return sorted(set(paths))


def _filled(path: str, run: str) -> str:
    path = path.replace("{run}", run).replace("{id}", run).replace("{node}", "Ask").replace("{number}", "1")
    return re.sub(r"\{\w+\}", "x", path)


MORE = (
    "/runs/{run}/graph?at=500", "/runs/{run}/deltas?from=300&to=320", "/runs/{run}/facts?after=600&limit=50",
    "/runs/{run}/facts", "/runs/{run}/draw?format=mermaid", "/runs/{run}/draw?format=text&at=40",
    "/runs/{run}/logs?level=info", "/runs/{run}/preview?verb=fork&fact=77", "/runs/{run}/preview?verb=restart",
    "/runs/{run}/trace?limit=7", "/runs/{run}/firings?limit=3", "/diagram-runs/{run}/trace?limit=9",
    "/diagram-runs/{run}/tokens?limit=5", "/runs/{run}/graph?at=999999", "/runs/{run}/graph?unknown=1",
    "/runs/{run}/history?limit=2",
)  # fmt: skip


def test_every_read_of_a_long_run_folds_nothing_here_and_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-66, D-X.29: whatever is asked of a long run, this process folds none of its facts for it; and the answer is
    the one that this process would have given."""
    folded = Folded(monkeypatch)
    paths = [*run_routes(), *MORE]
    assert len(run_routes()) > 15 and "/runs/{run}/graph" in paths and "/diagram-runs/{id}/trace" in paths

    async def body(place: Site) -> None:
        for path in paths:
            asked = _filled(path, place.run)
            before, sent = folded.total, place.reads.asked
            there = await place.get(asked)
            assert folded.total == before, f"{asked} folds {folded.total - before} facts here"
            assert place.reads.asked == sent + 1 or there.status_code == 400, asked
            place.reads.loop_facts = 10**9
            here = await place.get(asked)
            place.reads.loop_facts = 100
            assert place.reads.asked <= sent + 1, asked
            assert there.status_code == here.status_code < 500, f"{asked} {there.text} {here.text}"
            assert _without_times(there) == _without_times(here), asked
            kept = ("content-type", "etag", "penstock-next", "location")
            plain = [{name: one.headers.get(name) for name in kept if name != "etag"} for one in (there, here)]
            assert plain[0] == plain[1], asked

    on_site(body, tmp_path)


#: a forecast of the rest of a run begins at the moment of asking
REST = (
    "simulated_at", "elapsed_ms", "duration_ms", "histogram", "duration_p50_ms", "duration_p90_ms", "time_share",
    "open_ms_p50", "open_ms_p90", "open_ms_per_run",
)  # fmt: skip


def _without_times(answer: httpx2.Response) -> Any:
    """What the clock says is another moment each time."""
    if "json" not in answer.headers.get("content-type", ""):
        return answer.text

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            gone = ("active_ms", "trace_id", "now", "age_ms", *REST)
            return {name: plain(part) for name, part in value.items() if name not in gone}
        return [plain(part) for part in value] if isinstance(value, list) else value

    return plain(json.loads(answer.text))


def test_what_changes_a_long_run_folds_it_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two passes of the loop no more than a slice and one turn are folded, whoever steers a long run; what they
    are shown of it comes from the other process."""
    monkeypatch.setattr("penstock.app.runs.queries.is_long", lambda store, row: is_long(store, row, 100))
    monkeypatch.setattr("penstock.app.runs.long.slices.SLICE", 50)
    folded = Folded(monkeypatch)

    async def body(place: Site) -> None:
        turns = place.door.store.journal(place.door.row(place.run).no)
        largest = max(turn.seq_to - turn.seq_from + 1 for turn in turns)
        counting = asyncio.ensure_future(folded.count())
        for verb, sent in (
            ("pause", {}), ("resume", {}), ("signal", {"name": "x"}), ("resolve", {"node": "no", "value": 1}),
            ("skip", {"node": "no", "reason": "x"}), ("compensate", {"reason": "x"}),
        ):  # fmt: skip
            folded.by_pass.clear()
            answer = await place.client.post(f"/api/v1/runs/{place.run}/{verb}", json=sent)
            assert answer.status_code < 500, answer.text
            assert max(folded.by_pass.values(), default=0) <= 50 + largest, verb
        folded.by_pass.clear()
        answer = await place.client.post(f"/api/v1/diagram-runs/{place.run}/nodes/Ask:respond", json={"value": "yes"})
        assert answer.status_code == 200 and answer.json()["run_id"] == place.run, answer.text
        assert folded.total > 1000 and max(folded.by_pass.values()) <= 50 + largest, "a person's answer needs it all"
        counting.cancel()

    on_site(body, tmp_path)
    assert SLICE <= 500


def test_lists_and_home_fold_no_more_than_a_read_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of a page that are long together are told by their states."""
    monkeypatch.setattr("penstock.app.runs.summary.LOOP_FACTS", 100)
    monkeypatch.setattr("penstock.app.metrics.stuck.LOOP_FACTS", 100)
    folded = Folded(monkeypatch)

    async def body(place: Site) -> None:
        for path in ("/runs", "/runs?state=waiting", "/home", "/instances", "/inbox?mine=false"):
            before = folded.total
            answer = await place.get(path)
            assert answer.status_code == 200, answer.text
            assert folded.total - before <= 100, path
        (line,) = (item for item in (await place.get("/runs")).json()["items"] if item["id"] == place.run)
        assert line["state"] == "WAITING" and line["why"]["node"] == "Ask"

    on_site(body, tmp_path)


def test_pages_of_a_long_run_make_the_whole(tmp_path: Path) -> None:
    """W-10.2.1, W-2.2.5: nothing is lost between two pages, and nothing comes twice."""

    async def body(place: Site) -> None:
        run = place.run
        for path, of in (
            (f"/runs/{run}/trace", lambda page: page["workflow_execution"]["nodes_executed"]),
            (f"/runs/{run}/history", lambda page: page["items"]),
            (f"/diagram-runs/{run}/trace", lambda page: page["steps"]),
            (f"/diagram-runs/{run}/tokens", lambda page: page["items"]),
        ):
            whole = of((await place.get(f"{path}?limit=1000")).json())
            parts, cursor = list[Any](), None
            size = max(len(whole) // 3, 1)
            while len(parts) < len(whole):
                page = await place.get(path, params={"limit": size, **({"cursor": cursor} if cursor else {})})
                parts += of(page.json())
                cursor = page.headers.get("Penstock-Next") or page.json().get("next")
            assert parts[: len(whole)] == whole, path

    on_site(body, tmp_path)


def test_events_of_a_long_run_come_from_there_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-X.29: from any number on, each once; what happens afterwards follows."""
    folded = Folded(monkeypatch)

    async def body(place: Site) -> None:
        before = folded.total
        reads, seen = place.reads, list[int]()

        async def pages(after: int) -> Any:
            caller = _person(place.door.tenant)
            answer = await reads.ask(Told(Question("", "", caller, events=(place.run, after)), "", []))
            return msgspec.msgpack.decode(answer.body, type=EventPage)

        events = place.door.subscribe(place.run, after=700, pages=pages)
        async for event in events:
            seen.append(event.seq)
            if len(seen) == 600:
                break
        assert seen == list(range(701, 1301)) and folded.total == before
        late = place.door.subscribe(place.run, after=0, pages=pages)
        assert (await anext(late)).seq == 1, "whoever begins again gets the first"
        whole = [event.seq for event in place.door.events(place.run)]
        tail = place.door.subscribe(place.run, after=whole[-1], pages=pages)
        coming = asyncio.ensure_future(anext(tail))
        await place.door.signal(place.run, "x")
        await place.door.respond(place.run, "Ask", "yes")
        assert (await asyncio.wait_for(coming, 60)).seq == whole[-1] + 1

    on_site(body, tmp_path)


def test_a_reader_that_is_killed_is_started_again(tmp_path: Path) -> None:
    async def body(place: Site) -> None:
        first = await place.get(f"/runs/{place.run}")
        process = place.reads._process
        assert first.status_code == 200 and process is not None
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        again = await place.get(f"/runs/{place.run}")
        assert again.status_code == 200 and place.reads._process is not process
        new = await place.client.post(f"/api/v1/runs/{place.run}/pause", json={})
        assert new.json()["paused"] is True, "who has changed it sees the change"
        assert (await place.get(f"/runs/{place.run}")).json()["paused"] is True, "and so does who asks again"

    on_site(body, tmp_path)


LAST = """
import sys
import msgspec
from penstock.api.long_reads import Answer, read_frame, write_frame

read_frame(sys.stdin.buffer)
while (frame := read_frame(sys.stdin.buffer)) is not None:
    asked = msgspec.msgpack.decode(frame)["question"]["path"]
    write_frame(sys.stdout.buffer, msgspec.msgpack.encode(Answer(200, [], asked.encode(), last=asked == "last")))
    if asked == "last":
        break
"""


def test_a_reader_that_ends_after_its_answer_is_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question is sent once: the next one begins with another process, not with one that is ending."""

    async def main() -> None:
        reads = LongReads(ReaderOptions("", None, b"", "others", ""))
        plain = asyncio.create_subprocess_exec

        async def begin(program: str, *_: str, **more: Any) -> asyncio.subprocess.Process:
            return await plain(program, "-c", LAST, **more)

        monkeypatch.setattr(asyncio, "create_subprocess_exec", begin)
        for number, path in enumerate(("first", "last", "next", "last", "next"), 1):
            answer = await reads.ask(_told("a", path))
            assert answer.body == path.encode() and reads.asked == number
            assert (reads._process is None) == (path == "last"), "it is known to be ending"
        await reads.close()

    asyncio.run(main())


def test_the_memory_of_a_reader_is_its_own() -> None:
    """A process is born with the peak of the one that has started it: behind a large server every answer was a
    reader's last, and the next question was lost with it."""
    held = "big = bytearray(400 * 2**20); big[::4096] = b'x' * (400 * 256)"
    child = "from penstock.api.reader import memory_here; print(memory_here())"
    start = f"import subprocess, sys; {held}; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
    told = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=True).stdout
    assert 2**20 < int(told) < 300 * 2**20


# ---- turns -----------------------------------------------------------------------------------------------------------


def _person(tenant: str) -> Person:
    return Person(tenant, "u", "u", (), (), frozenset({"run.read"}))


class Scripted(LongReads):
    """Its process is a list; it answers when it is let."""

    def __init__(self, **more: Any) -> None:
        super().__init__(None, **more)  # type: ignore[arg-type]
        self.served: list[tuple[str, str]] = []
        self.gate = asyncio.Semaphore(0)

    async def _asked(self, told: Told) -> Answer:
        self.served.append((told.question.caller.tenant, told.question.path))
        await self.gate.acquire()
        if told.question.path == "bad":
            raise ReaderFailed(why="x")
        return Answer(200, [], told.question.path.encode())


def _told(tenant: str, path: str) -> Told:
    return Told(Question(path, "", _person(tenant)), "", [])


def test_tenants_take_turns_and_readers_of_the_same_share_it() -> None:
    """C-78: after many reads of one tenant another one's is the next; the same question that waits is asked once."""

    async def main() -> None:
        reads = Scripted()
        first = asyncio.ensure_future(reads.ask(_told("a", "0")))
        await asyncio.sleep(0.01)
        many = [asyncio.ensure_future(reads.ask(_told("a", str(n % 5 + 1)))) for n in range(20)]
        other = asyncio.ensure_future(reads.ask(_told("b", "x")))
        again = asyncio.ensure_future(reads.ask(_told("a", "0")))
        gone = asyncio.ensure_future(reads.ask(_told("b", "y")))
        await asyncio.sleep(0.01)
        gone.cancel()
        for _ in range(12):
            reads.gate.release()
        answers = await asyncio.gather(first, *many, other, again)
        assert [answer.body for answer in answers[:2]] == [b"0", b"1"]
        assert reads.served[:3] == [("a", "0"), ("a", "1"), ("b", "x")]
        assert Counter(reads.served) == Counter({
            ("a", "0"): 2, ("b", "x"): 1, **{("a", str(n)): 1 for n in range(1, 6)},
        }), "one that is being read is older than who asks now; who has gone away is not read for"  # fmt: skip
        await reads.close()

    asyncio.run(main())


def test_too_many_reads_of_a_tenant_are_refused_and_errors_are_told() -> None:
    async def main() -> None:
        reads = Scripted(most_waiting=3)
        asked = [asyncio.ensure_future(reads.ask(_told("a", str(n)))) for n in range(3)]
        await asyncio.sleep(0.01)
        asked += [asyncio.ensure_future(reads.ask(_told("a", str(n)))) for n in (3,)]
        await asyncio.sleep(0.01)
        with pytest.raises(ReadsTooMany) as refused:
            await reads.ask(_told("a", "9"))
        assert refused.value.http == 429 and refused.value.facts["retry_s"]
        other = asyncio.ensure_future(reads.ask(_told("b", "bad")))
        await asyncio.sleep(0.01)
        for _ in range(8):
            reads.gate.release()
        with pytest.raises(ReaderFailed):
            await other
        assert [answer.status for answer in await asyncio.gather(*asked)] == [200] * 4, "others are not held up by it"
        await reads.close()
        assert long_reads.MOST_WAITING >= 1

    asyncio.run(main())
