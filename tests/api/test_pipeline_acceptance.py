"""The acceptance scenarios of pipelines over HTTP on both stores, with stages in worker processes of a real server.

F-A.5 to F-A.9, F-A.12, F-A.18, F-A.19 and F-A.4 with a valid message; the others are in the files beside this one.
PENSTOCK_HTTP_RACES says how often cancel and completion race.
"""

from __future__ import annotations

import collections
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE
from penstock.store.address import open_store
from penstock.store.queues import Buried
from tests.api.pipelines import FileSite, file_site
from tests.api.places import OPERATOR
from tests.api.serving import until
from tests.api.sites import STORES
from tests.api.test_pipelines import code_of
from tests.app import scripted_processors
from tests.app.pipelines import a_stage
from tests.app.scripted_processors import Call, MovedClock, calls

RACES = int(os.environ.get("PENSTOCK_HTTP_RACES", "24"))
SLOTS = 4
DLQ, REDRIVE, SCHEDULES = "/pipelines/dlq", "/pipelines/dlq:redrive", "/pipelines/schedules"
MODULES = f'[admission]\nslots = {SLOTS}\n[python]\nmodules = ["{scripted_processors.__file__}"%s]\n'


@pytest.fixture(scope="module", params=STORES)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileSite]:
    with file_site(tmp_path_factory.mktemp("acceptance"), request.param, MODULES % "") as site:
        yield site


def scripted(site: FileSite, code: str, order: int, config: dict[str, Any] | None = None, **more: Any) -> Any:
    """A stage that leaves a line for each of its calls."""
    config = {"marks": str(site.folder / "marks"), **(config or {})}
    return a_stage(code, order, processor_type="Scripted", processor_config=config, **more)


def called(site: FileSite, code: str, name: str = "a.txt", what: str = "begun") -> list[Call]:
    return calls(site.folder / "marks", f"{code}/{name}", what)


def logs(site: FileSite, execution: str) -> list[tuple[Any, ...]]:
    items = site.viewer.get(f"/pipelines/executions/{execution}/logs").json()["items"]
    return [(log["stageCode"], log["attempt"], log["status"], log["retryCount"]) for log in items]


def test_f_a_4_the_valid_one_of_dead_messages_begins_once(site: FileSite) -> None:
    """F-A.4, F-8.4, F-S.6: sample, one, all: the valid one has its execution once, and repeating begins nothing."""
    code = site.pipeline(a_stage("only", 1))
    valid = site.message(f"{code}/a.txt")
    wrong = {name: value for name, value in valid.items() if name != "bucket"}

    def died(id: str, body: dict[str, Any], cause: str) -> None:
        store = open_store(site.server.store, engine=False, create=False)
        try:
            row = Buried(id, json.dumps(body).encode(), msgspec.msgpack.encode({}), 5, cause, "why")
            assert store.bury_messages(DEAD_QUEUE, [row], round(time.time() * 1000)) == 1
        finally:
            store.close()

    def total() -> int:
        return int(site.viewer.get("/pipelines/executions", params={"pipeline": code}).json()["total"])

    died("valid", valid, "PP-500-IO")
    died("wrong", wrong, "PP-400-JSON")
    page = site.viewer.get(DLQ).json()
    assert {(cause["code"], cause["count"], cause["sample"][0]["id"]) for cause in page["causes"]} == {
        ("PP-500-IO", 1, "valid"), ("PP-400-JSON", 1, "wrong"),
    }  # fmt: skip
    assert total() == 0 and site.viewer.get(DLQ).json()["total"] == 2, "looking changes nothing"
    one = site.operator.post(REDRIVE, json={"ids": ["valid"]}).json()
    assert (one["sent"], one["duplicate"], one["failed"]) == (1, 0, 0)
    until(total, lambda count: count == 1)
    assert code_of(site.operator.post(REDRIVE, json={"ids": ["valid"]})) == (404, "PS-404-MESSAGE")
    died("again", valid, "PP-500-IO")
    every = site.operator.post(REDRIVE, json={"all": True}).json()
    assert (every["sent"], every["duplicate"], every["failed"]) == (2, 1, 0)
    after = site.begun(code, "after.txt", occurredAt="2026-01-01T00:00:00Z")
    site.ended(after)
    assert site.operator.post(REDRIVE, json={"all": True}).json()["sent"] == 0
    assert site.viewer.get(DLQ).json()["total"] == 0
    until(lambda: site.viewer.get("/pipelines/metrics").json(), lambda now: now["ingest"]["duplicate"] >= 1)
    assert total() == 2, "that of the valid message, and one that came later"


def test_f_a_5_hundred_executions_begin_in_their_order(site: FileSite) -> None:
    """F-A.5, F-4.1, F-4.2, F-X.21: each runs once, and they start in the order of (priority, created_at)."""
    site.held["full"] = threading.Event()
    holding = site.pipeline(site.calls("hold", 1, "full"), priority=0)
    held = [site.begun(holding, f"{n}.txt") for n in range(SLOTS)]
    for execution in held:
        site.running(execution, "hold")
    codes = {
        site.pipeline(scripted(site, "count", 1), priority=priority): priority for priority in (1, 50, 100, 200)
    }  # fmt: skip
    draw = random.Random(5)
    begun = [(code, f"{n}.txt") for n in range(100) for code in [draw.choice(list(codes))]]
    numbers = {site.begun(code, name): n for n, (code, name) in enumerate(begun)}
    assert {site.look(execution)["status"] for execution in list(numbers)[::10]} == {"PENDING"}
    site.held["full"].set()

    def listed() -> list[dict[str, Any]]:
        pages = (
            site.viewer.get("/pipelines/executions", params={"pipeline": code, "status": "COMPLETED", "size": 100})
            for code in codes
        )
        return [item for page in pages for item in page.json()["items"]]

    items = until(listed, lambda items: len(items) == 100, seconds=120)
    assert all(item["priority"] == codes[item["pipelineCode"]] for item in items)
    order = sorted(items, key=lambda item: (item["priority"], item["createdAt"], numbers[item["executionId"]]))
    assert [item["startedAt"] for item in order] == sorted(item["startedAt"] for item in items)
    assert all(len(called(site, code, name)) == 1 for code, name in begun)


def test_f_a_6_stages_are_tried_four_times(site: FileSite) -> None:
    """F-A.6, F-2.5, F-X.6a: d, 2d and 4d lie between the tries; then FAILED with its stage and code."""
    failing = {"fails": 100, "retry_delay_seconds": 0.4}
    stage = scripted(site, "bad", 1, failing, max_retries=3, retry_strategy="EXPONENTIAL")
    code = site.pipeline(stage, a_stage("never", 2), max_retries=0)
    execution = site.begun(code)
    body = site.ended(execution)
    assert (body["status"], body["errorStage"], body["retryCount"]) == ("FAILED", "bad", 0)
    assert body["error"]["code"] == "PROCESSOR_ERROR" and body["error"]["message"]
    times = [call.at_ns for call in called(site, code)]
    assert len(times) == 4
    least = [(after - before) / 1e9 for before, after in zip(times, times[1:], strict=False)]
    assert all(waited >= delay - 0.01 for waited, delay in zip(least, (0.4, 0.8, 1.6), strict=True)), least
    assert logs(site, execution) == [("bad", 1, "FAILED", 3)]


@pytest.mark.parametrize(("fails", "status"), [(100, "FAILED"), (2, "COMPLETED")])
def test_f_a_7_two_retries_are_three_attempts(site: FileSite, fails: int, status: str) -> None:
    """F-A.7, F-9.3, F-X.6: retry_count is 2 in the end, whether the third attempt succeeds or not."""
    code = site.pipeline(scripted(site, "bad", 1, {"fails": fails}), max_retries=2, retry_delay_seconds=1)
    execution = site.begun(code)
    body = site.ended(execution)
    assert (body["status"], body["retryCount"], len(called(site, code))) == (status, 2, 3)
    assert [each["status"] for each in body["attempts"]] == ["FAILED", "FAILED", status]
    assert [log[1:3] for log in logs(site, execution)] == [(1, "FAILED"), (2, "FAILED"), (3, status)]
    assert (body["error"] is None) == (status == "COMPLETED")


def test_f_a_8_what_sleeps_is_stopped(site: FileSite) -> None:
    """F-A.8, F-2.4, F-2.7: the stage and the execution are TIMEOUT before the sleeper wakes; a retry is accepted."""
    slow = scripted(site, "slow", 1, {"sleep_s": 5}, timeout_seconds=1)
    code = site.pipeline(slow, max_retries=0)
    execution = site.begun(code)
    body = site.ended(execution)
    assert (body["status"], body["errorStage"], body["durationMs"] >= 1000) == ("TIMEOUT", "slow", True)
    assert logs(site, execution) == [("slow", 1, "TIMEOUT", 0)]
    (sleeper,) = called(site, code)
    until(lambda: Path(f"/proc/{sleeper.pid}").exists(), lambda lives: not lives)
    answer = site.operator.post(f"/pipelines/executions/{execution}:retry")
    assert (answer.status_code, answer.json()["accepted"]) == (202, True)
    until(lambda: len(called(site, code)), lambda count: count == 2)
    until(lambda: site.look(execution), lambda body: len(body["attempts"]) == 2 and body["status"] == "TIMEOUT")
    assert called(site, code, what="done") == [], "nobody woke up"


def test_f_a_9_failures_that_are_gone_past(site: FileSite) -> None:
    """F-A.9, F-X.6b: SKIPPED, FAILED, FAILED; the execution is COMPLETED with a warning of each."""
    bad = {"fails": 1}
    code = site.pipeline(
        scripted(site, "skip", 1, bad, on_failure="SKIP"), scripted(site, "go", 2, bad, on_failure="CONTINUE"),
        scripted(site, "maybe", 3, bad, is_optional=1), scripted(site, "last", 4),
    )  # fmt: skip
    execution = site.begun(code)
    body = site.ended(execution)
    assert (body["status"], body["error"]) == ("COMPLETED", None)
    assert [log[2] for log in logs(site, execution)] == ["SKIPPED", "FAILED", "FAILED", "COMPLETED"]
    assert [warning["stage"] for warning in body["warnings"]] == ["skip", "go", "maybe"]


@pytest.mark.timeout(120 + 2 * RACES)
def test_f_a_12_cancel_races_completion(site: FileSite, capsys: pytest.CaptureFixture[str]) -> None:
    """F-A.12, F-9.4, F-S.4: a 202 ends CANCELLED, a 409 COMPLETED."""
    seed = os.environ.get("PENSTOCK_SEED") or str(time.time_ns())
    draw, count = random.Random(seed), collections.Counter[str]()
    clients = [site.server.client(OPERATOR) for _ in range(SLOTS)]

    def race(client: Any, execution: str, delay: float, answers: dict[str, Any]) -> None:
        time.sleep(delay)
        answers[execution] = client.post(f"/pipelines/executions/{execution}:cancel")

    for batch in range(0, RACES, SLOTS):
        name, answers = f"race{batch}", dict[str, Any]()
        site.held[name] = threading.Event()
        code = site.pipeline(site.calls("last", 1, name))
        executions = [site.begun(code, f"{n}.txt") for n in range(min(SLOTS, RACES - batch))]
        for execution in executions:
            site.running(execution, "last")
        threads = [
            threading.Thread(target=race, args=(client, execution, draw.uniform(0, 0.06), answers))
            for client, execution in zip(clients, executions, strict=False)
        ]
        for thread in threads:
            thread.start()
        time.sleep(draw.uniform(0, 0.03))
        site.held[name].set()
        for thread in threads:
            thread.join()
        for execution, answer in answers.items():
            wanted = {202: "CANCELLED", 409: "COMPLETED"}[answer.status_code]
            assert answer.status_code == 202 or answer.json()["code"] == "PP-409-STATE"
            assert site.ended(execution)["status"] == wanted, (seed, execution, answer.text)
            count[wanted] += 1
    for client in clients:
        client.close()
    with capsys.disabled():
        print(f"  {site.server.kind}: cancel raced completion over HTTP {RACES} times (seed {seed}): {dict(count)}")
    assert count.total() == RACES and (RACES < 100 or len(count) == 2)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="whether a process is gone is seen in /proc, which is not here")
@pytest.mark.parametrize("killed", ["server", "worker"])
def test_f_a_18_killed_in_stage_two(site: FileSite, killed: str) -> None:
    """F-A.18, F-X.3: it is taken up again and ends; stage 1 is not done again, and has one log of the one attempt."""
    code = site.pipeline(
        scripted(site, "one", 1), scripted(site, "two", 2, {"hangs": 1}), scripted(site, "three", 3), max_retries=0,
    )  # fmt: skip
    execution = site.begun(code)
    begun = until(lambda: called(site, code), lambda calls: [call.stage for call in calls] == ["one", "two"])
    if killed == "server":
        site.server.kill()
        site.start()
        until(lambda: Path(f"/proc/{begun[1].pid}").exists(), lambda lives: not lives)
    else:
        os.kill(begun[1].pid, signal.SIGKILL)
    body = site.ended(execution)
    assert (body["status"], body["retryCount"]) == ("COMPLETED", 0)
    assert [log[:3] for log in logs(site, execution)] == [(name, 1, "COMPLETED") for name in ("one", "two", "three")]
    assert [call.stage for call in called(site, code)] == ["one", "two", "two", "three"]
    assert len({call.pid for call in called(site, code)}) == 4, "another worker"


# ---- the clock -------------------------------------------------------------------------------------------------------


def sunday(year: int, month: int, number: int) -> date:
    first = date(year, month, 1)
    return first + timedelta(days=(6 - first.weekday()) % 7 + 7 * (number - 1))


def at(day: date, utc: str) -> int:
    return round(datetime.fromisoformat(f"{day}T{utc}:00+00:00").timestamp() * 1000)


def shown(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Clocked:
    """A server whose clock is moved, with a schedule of every minute that shows that it has looked at the clock."""

    def __init__(self, site: FileSite, clock: MovedClock) -> None:
        self.site, self.clock = site, clock
        self.code = site.pipeline(a_stage("only", 1), pipeline_type="SCHEDULED")
        announced = site.operator.post("/pipelines/ingest", json=site.message(f"{self.code}/a.txt"))
        assert announced.status_code == 202 and announced.json()["files"][0]["executionIds"] == []
        self.looked = self._made("looked", site.pipeline(a_stage("only", 1)), interval_seconds=60)

    def _made(self, name: str, code: str, **more: Any) -> int:
        kind = "INTERVAL" if "interval_seconds" in more else "CRON"
        asked = {"schedule_name": name, "pipeline_code": code, "schedule_type": kind, **more}
        made = self._client().post(SCHEDULES, json=asked)
        assert made.status_code == 201, made.text
        return int(made.json()["id"])

    def _client(self) -> Any:
        return self.site.server.client("admin@example.com")

    def cron(self, cron: str) -> int:
        return self._made(cron, self.code, cron_expression=cron, timezone="America/New_York")

    def schedule(self, id: int) -> dict[str, Any]:
        with closing(self._client()) as client:
            body: dict[str, Any] = client.get(f"{SCHEDULES}/{id}").json()
            return body

    def to(self, at_ms: int) -> None:
        """When this returns, what was due then has fired."""
        for moment in (at_ms, at_ms + 61_000):
            self.clock.to(moment)
            self._looked_after(shown(moment))

    def _looked_after(self, moment: str) -> None:
        until(lambda: self.schedule(self.looked)["next_execution_at"], lambda due: due > moment)

    def fires(self, id: int) -> list[str]:
        """The moments at which it has begun executions, from their keys."""
        with closing(self._client()) as client:
            page = client.get("/pipelines/executions", params={"pipeline": self.code, "size": 100}).json()
        keys = [item["idempotencyKey"].split("#") for item in page["items"]]
        return sorted(key[2] for key in keys if key[1] == str(id))


@pytest.mark.parametrize("kind", STORES)
def test_f_a_19_days_on_which_clocks_are_changed(tmp_path: Path, kind: str) -> None:
    """F-A.19, F-9.6, F-1.5.12, F-X.11: 02:30 of the gap fires at 03:00, 01:30 of the repeated hour at its first
    occurrence; each once a day, and `next_execution_at` is right in UTC."""
    clock, year = MovedClock(tmp_path), datetime.now(UTC).year + 1
    spring, autumn = sunday(year, 3, 2), sunday(year, 11, 1)
    next_day = timedelta(days=1)
    wanted = {
        spring: {"30 1 * * *": ("06:30", "05:30"), "30 2 * * *": ("07:00", "06:30")},
        autumn: {"30 1 * * *": ("05:30", "06:30"), "30 2 * * *": ("07:30", "07:30")},
    }  # of the day in UTC, and of the day after it: 2:00 EST is 3:00 EDT in spring, 2:00 EDT is 1:00 EST in autumn
    with file_site(tmp_path, kind, MODULES % f', "{clock.module}"') as site:
        clocked = Clocked(site, clock)
        for day, crons in wanted.items():
            clock.to(at(day - next_day, "17:00"))
            ids = {cron: clocked.cron(cron) for cron in crons}
            for cron, (first, _) in crons.items():
                assert clocked.schedule(ids[cron])["next_execution_at"] == shown(at(day, first)), cron
            for utc in ("05:29", "05:30", "06:30", "07:00", "07:30", "08:00", "20:00"):
                clocked.to(at(day, utc) + 5_000)
            for cron, (first, second) in crons.items():
                assert clocked.fires(ids[cron]) == [shown(at(day, first))], (day, cron)
                assert clocked.schedule(ids[cron])["next_execution_at"] == shown(at(day + next_day, second)), cron
            for utc in ("05:29", "05:30", "06:30", "07:00", "07:30", "20:00"):
                clocked.to(at(day + next_day, utc) + 5_000)
            for cron, (first, second) in crons.items():
                both = [shown(at(day, first)), shown(at(day + next_day, second))]
                assert clocked.fires(ids[cron]) == both, (day, cron)
