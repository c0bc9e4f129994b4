"""The acceptance scenarios of pipelines with the program alone, on both stores: `penstock work` drives, others ask.

What the command line has no word for is over HTTP alone: the figures of F-A.20 but for usage, and a filter by tenant.
"""

from __future__ import annotations

import collections
import itertools
import json
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE
from penstock.store.address import DEFAULT_TENANT, open_store
from penstock.store.queues import Buried
from tests.api.serving import until
from tests.api.test_pipeline_acceptance import at, shown, sunday
from tests.app import scripted_processors
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage
from tests.app.scripted_processors import Call, MovedClock, calls, every_call
from tests.cli.program import write_program
from tests.cli.shell import Said, Shell, Zygote, environment
from tests.servers.places import store_of

STORES = ("sqlite", "postgresql")
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


class CliSite:
    """A folder with a store, a bucket, settings, and a process that works."""

    def __init__(self, folder: Path, zygote: Zygote, store: str) -> None:
        self.shell, self.bucket, self.marks = Shell(folder, zygote), folder / "bucket", folder / "marks"
        self.bucket.mkdir()
        self.clock = MovedClock(folder)
        self.words = ("--store", store) if store else ()
        self.store = store or self.shell.store
        self.shell.store.parent.mkdir()
        (self.shell.store.parent / "settings.toml").write_text(
            f'[admission]\nslots = 1\n[pipelines.buckets]\nbkt = "file://{self.bucket}"\n'
            f'ff-artifacts = "file://{folder / "artifacts"}"\n'
            f'[python]\nmodules = ["{scripted_processors.__file__}", "{self.clock.module}"]\n'
        )
        self.program = folder / "penstock"
        write_program(self.program)
        self.numbers = itertools.count(1)
        self.worker: subprocess.Popen[str] | None = None

    def said(self, *words: Any, code: int = 0) -> Said:
        return self.shell(*map(str, words), *self.words, "--json", code=code)

    def __call__(self, *words: Any) -> Any:
        return self.said("pipeline", *words).json()

    def refused(self, *words: Any) -> str:
        error = self.said("pipeline", *words, code=2).error()
        return str(error["code"])

    def at_once(self, count: int, *words: str) -> list[tuple[int, Any]]:
        """Exit codes and answers of processes that run side by side."""
        command = [str(self.program), *words, *self.words, "--json"]
        how: Any = {"cwd": self.shell.folder, "env": environment(), "stdout": subprocess.PIPE, "text": True}
        processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL, **how) for _ in range(count)]
        answers = [process.communicate(timeout=120)[0] for process in processes]
        return [(process.returncode, json.loads(out)) for process, out in zip(processes, answers, strict=True)]

    def work(self) -> None:
        self.worker = self.shell.start("work", *self.words)

    def kill(self) -> None:
        assert self.worker is not None
        self.worker.send_signal(signal.SIGKILL)
        self.worker.communicate()

    # -- definitions, files, executions --------------------------------------------------------------------------------

    def scripted(self, code: str, order: int, config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        config = {"marks": str(self.marks), **(config or {})}
        return a_stage(code, order, processor_type="Scripted", processor_config=config, **more)

    def pipeline(self, *stages: dict[str, Any], **more: Any) -> str:
        code = f"P{next(self.numbers)}"
        only = {"field": "key", "op": "glob", "value": f"{code}/*"}
        document = a_pipeline(code, file_type="ANY", trigger_conditions=only, stages=list(stages), **more)
        self("define", self.shell.write(f"{code}.json", json.dumps(document)))
        return code

    def message(self, code: str, name: str = "a.txt", data: bytes = b"hello", **more: Any) -> dict[str, Any]:
        path = self.bucket / code / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        told = {"key": f"{code}/{name}", "size": len(data), "mime": "text/plain", "tenantId": DEFAULT_TENANT}
        return {**EXAMPLE, **told, **more}

    def send(self, *messages: dict[str, Any]) -> None:
        file = self.shell.write("messages.json", json.dumps(messages))
        assert self("ingest", file) == {"sent": len(messages)}

    def listed(self, code: str, *words: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self("ls", "--pipeline", code, "--limit", 500, *words)
        return found

    def begun(self, code: str, name: str = "a.txt", data: bytes = b"hello") -> str:
        self.send(self.message(code, name, data))
        lines = until(lambda: self.of_file(code, name), lambda lines: len(lines) > 0)
        return str(lines[0]["executionId"])

    def of_file(self, code: str, name: str = "a.txt") -> list[dict[str, Any]]:
        return [line for line in self.listed(code) if f"#{code}/{name}#" in line["idempotencyKey"]]

    def show(self, execution: str) -> dict[str, Any]:
        body: dict[str, Any] = self("show", execution)
        return body

    def stands(self, execution: str, *status: str) -> dict[str, Any]:
        body: dict[str, Any] = until(lambda: self.show(execution), lambda body: body["status"] in (status or ENDED))
        return body

    def logs(self, execution: str) -> list[tuple[Any, ...]]:
        return [(log["stageCode"], log["attempt"], log["status"], log["retryCount"]) for log in self("logs", execution)]

    def called(self, code: str, name: str = "a.txt", what: str = "begun") -> list[Call]:
        return calls(self.marks, f"{code}/{name}", what)

    def until_called(self, code: str, count: int, name: str = "a.txt") -> list[Call]:
        found: list[Call] = until(lambda: self.called(code, name), lambda calls: len(calls) == count)
        return found

    def gate(self) -> Path:
        """Whoever waits for it goes on when it is there."""
        return self.shell.folder / f"gate{next(self.numbers)}"

    def died(self, id: str, body: dict[str, Any], cause: str) -> None:
        store = open_store(self.store, engine=False, create=False)
        try:
            row = Buried(id, json.dumps(body).encode(), msgspec.msgpack.encode({}), 5, cause, "why")
            assert store.bury_messages(DEAD_QUEUE, [row], self.clock.now_ms()) == 1
        finally:
            store.close()


@pytest.fixture(scope="module", params=STORES)
def site(
    request: pytest.FixtureRequest, zygote: Zygote, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CliSite]:  # fmt: skip
    site = CliSite(tmp_path_factory.mktemp("cli"), zygote, store_of(request.param))
    site.pipeline(a_stage("only", 1))
    site.work()
    try:
        yield site
    finally:
        site.kill()


def test_f_a_1_from_the_message_to_its_end(site: CliSite) -> None:
    """F-A.1: UPLOAD, the priority of the definition, one trace over execution and stages."""
    code, trace = site.pipeline(a_stage("first", 1), a_stage("second", 2), priority=7), "1" * 32
    site.send(site.message(code, traceId=trace))
    (line,) = until(lambda: site.listed(code), lambda lines: len(lines) == 1)
    body = site.stands(line["executionId"])
    assert (body["status"], body["triggerType"], body["priority"]) == ("COMPLETED", "UPLOAD", 7)
    assert body["traceId"] == trace
    (of_trace,) = site("trace", trace)["executions"]
    assert of_trace["executionId"] == line["executionId"]
    assert site.logs(line["executionId"]) == [("first", 1, "COMPLETED", 0), ("second", 1, "COMPLETED", 0)]


def test_f_a_2_ten_processes_put_the_same_at_once(site: CliSite) -> None:
    """F-A.2, F-9.1: exactly one execution."""
    code = site.pipeline(site.scripted("only", 1))
    file = site.shell.write("same.json", json.dumps(site.message(code)))
    assert site.at_once(10, "pipeline", "ingest", str(file)) == [(0, {"sent": 1})] * 10
    site.stands(site.begun(code, "after.txt"))
    assert len(site.of_file(code)) == 1 == len(site.called(code)), "whatever was sent before it was taken before it"


def test_f_a_3_and_f_a_4_dead_messages(site: CliSite) -> None:
    """F-A.3, F-A.4, F-8.4, F-S.6: five receives; a sample, one, all; the valid one begins once, however often."""
    code = site.pipeline(a_stage("only", 1))
    valid = site.message(code)
    wrong = {name: value for name, value in valid.items() if name != "bucket"}
    site.send(wrong)

    def dead() -> Any:
        site.clock.leap(5_000)
        return site("dlq")

    (letter,) = until(dead, lambda items: len(items) > 0)
    assert (letter["code"], letter["receives"]) == ("PP-400-JSON", 5) and json.loads(letter["body"]) == wrong
    assert site.listed(code) == []
    site.died("valid", valid, "PP-500-IO")
    causes = site("dlq", "--causes")
    assert {(cause["code"], cause["count"], cause["sample"][0]["id"]) for cause in causes} == {
        ("PP-400-JSON", 1, letter["id"]), ("PP-500-IO", 1, "valid"),
    }  # fmt: skip
    assert site("dlq", "--redrive", "valid") == {"sent": 1, "duplicate": 0, "failed": 0}
    (line,) = until(lambda: site.listed(code), lambda lines: len(lines) == 1)
    site.stands(line["executionId"], "COMPLETED")
    assert site.refused("dlq", "--redrive", "valid") == "PS-404-MESSAGE"
    site.died("again", valid, "PP-500-IO")
    assert site("dlq", "--redrive-all") == {"sent": 2, "duplicate": 1, "failed": 0}
    assert site("dlq", "--redrive-all") == {"sent": 0, "duplicate": 0, "failed": 0}
    site.stands(site.begun(code, "after.txt"))
    assert len(site.listed(code)) == 2, "that of the valid message, and one that came later"


def test_f_a_5_hundred_executions_begin_in_their_order(site: CliSite) -> None:
    """F-A.5, F-4.1, F-4.2, F-X.21: each runs once, and in the order of (priority, created_at)."""
    gate = site.gate()
    holding = site.pipeline(site.scripted("hold", 1, {"gate": str(gate)}), priority=0)
    site.send(site.message(holding))
    site.until_called(holding, 1)
    codes = {site.pipeline(site.scripted("count", 1), priority=priority): priority for priority in (1, 50, 100, 200)}
    draw = random.Random(5)
    drawn = [draw.choice(list(codes)) for _ in range(100)]
    site.send(*(site.message(code, f"{n}.txt") for n, code in enumerate(drawn)))
    until(lambda: sum(len(site.listed(code, "--status", "PENDING")) for code in codes), lambda count: count == 100)
    gate.touch()
    order = [f"{code}/{n}.txt" for n, code in sorted(enumerate(drawn), key=lambda each: (codes[each[1]], each[0]))]

    def begun() -> list[str]:
        return [call.key for call in every_call(site.marks) if call.key in order and call.what == "begun"]

    assert until(begun, lambda keys: len(keys) >= 100, seconds=120) == order
    lines = until(lambda: site.listed(drawn[-1], "--status", "COMPLETED"), lambda lines: len(lines) >= 20)
    assert all(line["priority"] == codes[line["pipelineCode"]] for line in lines)


def test_f_a_6_stages_are_tried_four_times(site: CliSite) -> None:
    """F-A.6, F-2.5, F-X.6a: d, 2d and 4d lie between the tries; then FAILED with its stage and code."""
    failing = {"fails": 100, "retry_delay_seconds": 0.4}
    code = site.pipeline(site.scripted("bad", 1, failing, max_retries=3, retry_strategy="EXPONENTIAL"))
    body = site.stands(execution := site.begun(code))
    assert (body["status"], body["errorStage"], body["error"]["code"]) == ("FAILED", "bad", "PROCESSOR_ERROR")
    times = [call.at_ns for call in site.called(code)]
    waited = [(after - before) / 1e9 for before, after in itertools.pairwise(times)]
    assert all(least - 0.01 <= took for least, took in zip((0.4, 0.8, 1.6), waited, strict=True)), waited
    assert site.logs(execution) == [("bad", 1, "FAILED", 3)]


@pytest.mark.parametrize(("fails", "status"), [(100, "FAILED"), (2, "COMPLETED")])
def test_f_a_7_two_retries_are_three_attempts(site: CliSite, fails: int, status: str) -> None:
    """F-A.7, F-9.3: retry_count is 2 in the end, whether the third attempt succeeds or not."""
    code = site.pipeline(site.scripted("bad", 1, {"fails": fails}), max_retries=2, retry_delay_seconds=1)
    execution = site.begun(code)
    body = site.stands(execution)
    assert (body["status"], body["retryCount"], len(site.called(code))) == (status, 2, 3)
    assert [log[1:3] for log in site.logs(execution)] == [(1, "FAILED"), (2, "FAILED"), (3, status)]


def test_f_a_8_what_sleeps_is_stopped(site: CliSite) -> None:
    """F-A.8, F-2.4, F-2.7: TIMEOUT before the sleeper wakes; a retry is accepted."""
    code = site.pipeline(site.scripted("slow", 1, {"sleep_s": 5}, timeout_seconds=1))
    execution = site.begun(code)
    body = site.stands(execution)
    assert (body["status"], body["errorStage"]) == ("TIMEOUT", "slow")
    assert site.logs(execution) == [("slow", 1, "TIMEOUT", 0)]
    assert site("retry", execution) == {"accepted": True}
    site.until_called(code, 2)
    until(lambda: site.show(execution), lambda body: len(body["attempts"]) == 2 and body["status"] == "TIMEOUT")
    assert site.called(code, what="done") == [], "nobody woke up"


def test_f_a_9_failures_that_are_gone_past(site: CliSite) -> None:
    """F-A.9, F-X.6b: SKIPPED, FAILED, FAILED; the execution is COMPLETED with a warning of each."""
    bad = {"fails": 1}
    code = site.pipeline(
        site.scripted("skip", 1, bad, on_failure="SKIP"), site.scripted("go", 2, bad, on_failure="CONTINUE"),
        site.scripted("maybe", 3, bad, is_optional=1), site.scripted("last", 4),
    )  # fmt: skip
    execution = site.begun(code)
    body = site.stands(execution)
    assert (body["status"], [warning["stage"] for warning in body["warnings"]]) == (
        "COMPLETED",
        ["skip", "go", "maybe"],
    )
    assert [log[2] for log in site.logs(execution)] == ["SKIPPED", "FAILED", "FAILED", "COMPLETED"]


def test_f_a_10_and_f_a_11_cancel(site: CliSite) -> None:
    """F-A.10, F-A.11, F-X.8: stage 1 ends, stage 2 never starts; whatever is not RUNNING is a state conflict."""
    gate = site.gate()
    code = site.pipeline(
        site.scripted("one", 1, {"gate": str(gate)}), site.scripted("two", 2), site.scripted("three", 3),
        configuration={"max_executions": 1},
    )  # fmt: skip
    running = site.begun(code)
    site.until_called(code, 1)
    pending = site.begun(code, "b.txt")
    assert site.refused("cancel", pending) == "PP-409-STATE"
    assert site("cancel", running) == {"accepted": True, "executionId": running}
    assert site("cancel", running)["accepted"], "it is still pending"
    gate.touch()
    assert site.stands(running)["status"] == "CANCELLED"
    assert [call.stage for call in site.called(code)] == ["one"]
    completed = site.stands(pending)
    failed = site.stands(site.begun(site.pipeline(site.scripted("bad", 1, {"fails": 9}))))
    assert (completed["status"], failed["status"]) == ("COMPLETED", "FAILED")
    for execution in (running, pending, failed["executionId"]):
        assert site.refused("cancel", execution) == "PP-409-STATE"


def test_f_2_6_cancels_of_runs_obey_the_pipelines_rule(site: CliSite) -> None:
    """F-2.6, F-X.8 by `penstock cancel`: what is PENDING is refused, and the stage that works may end."""
    gate = site.gate()
    code = site.pipeline(
        site.scripted("one", 1, {"gate": str(gate)}), site.scripted("two", 2), configuration={"max_executions": 1}
    )
    running = site.begun(code)
    site.until_called(code, 1)
    pending = site.begun(code, "b.txt")
    refused = json.loads(site.shell("cancel", pending, *site.words, "--json", code=None).out)
    assert refused["error"]["code"] == "PP-409-STATE"
    site.shell("cancel", running, *site.words, "--json")
    assert site.show(running)["status"] == "RUNNING"
    gate.touch()
    assert site.stands(running)["status"] == "CANCELLED"
    assert site.called(code, what="done")[0].stage == "one", "the stage has ended by itself"
    assert site.stands(pending)["status"] == "COMPLETED"


def test_f_a_12_cancel_races_completion(site: CliSite) -> None:
    """F-A.12, F-9.4: what was accepted ends CANCELLED, what was refused COMPLETED."""
    ends = collections.Counter[str]()
    for number in range(6):
        gate = site.gate()
        code = site.pipeline(site.scripted("last", 1, {"gate": str(gate), "sleep_s": 0.03 * number}))
        execution = site.begun(code)
        site.until_called(code, 1)
        gate.touch()
        answer = json.loads(site.shell("pipeline", "cancel", execution, *site.words, "--json", code=None).out)
        accepted = "error" not in answer
        assert accepted or answer["error"]["code"] == "PP-409-STATE"
        body = site.stands(execution)
        assert body["status"] == ("CANCELLED" if accepted else "COMPLETED")
        ends[body["status"]] += 1
    assert ends.total() == 6


def test_f_a_13_f_a_14_and_f_a_15_retry(site: CliSite) -> None:
    """F-A.13, F-A.14, F-A.15, F-X.7: resumed where it failed; of two re-runs at once one is new; COMPLETED is not
    tried again."""
    code = site.pipeline(site.scripted("one", 1), site.scripted("two", 2, {"fails": 1}), site.scripted("three", 3))
    execution = site.begun(code)
    assert (site.stands(execution)["status"], site.show(execution)["errorStage"]) == ("FAILED", "two")
    assert site("retry", execution, "--mode", "resume") == {"accepted": True}
    site.stands(execution, "COMPLETED")
    assert [call.stage for call in site.called(code)] == ["one", "two", "two", "three"]
    for mode in ("resume", "rerun"):
        assert site.refused("retry", execution, "--mode", mode) == "PP-409-STATE"
    gate = site.gate()
    gate.touch()
    bad = site.pipeline(site.scripted("only", 1, {"fails": 1, "gate": str(gate)}))
    before = site.stands(site.begun(bad))
    assert before["status"] == "FAILED"
    gate.unlink()
    answers = site.at_once(2, "pipeline", "retry", before["executionId"], "--mode", "rerun")
    (accepted,) = [answer for exit, answer in answers if exit == 0]
    (conflict,) = [answer for exit, answer in answers if exit != 0]
    assert conflict["error"]["code"] == "PP-409-STATE"
    gate.touch()
    child = site.stands(accepted["newExecutionId"])
    assert (child["status"], child["triggerType"]) == ("COMPLETED", "RETRY")
    assert child["parentExecutionId"] == before["executionId"]
    assert child["idempotencyKey"] == f"{before['idempotencyKey']}#retry#1"


def test_f_a_16_other_tenants(site: CliSite) -> None:
    """F-A.16, F-6.6: another tenant's execution is refused, an unknown one not found, and lists are one's own."""
    code = site.pipeline(a_stage("only", 1))
    site.send(site.message(code), site.message(code, "b.txt", tenantId="tnt_b"))
    (mine,) = until(lambda: site.listed(code), lambda lines: len(lines) > 0)
    (theirs,) = until(lambda: site.listed(code, "--tenant", "tnt_b"), lambda lines: len(lines) > 0)
    assert mine["executionId"] != theirs["executionId"]
    for word in ("show", "logs", "cancel", "retry"):
        assert site.refused(word, theirs["executionId"]) == "PP-403-SCOPE", word
        assert site.refused(word, "00000000-0000-4000-8000-000000000000") == "PP-404-EXEC", word
    assert len(site.listed(code)) == 1


def test_f_a_17_what_is_large_lies_in_the_bucket(site: CliSite) -> None:
    """F-A.17, F-X.16: 5 MiB are a reference of at most 512 characters, under which they are read."""
    code = site.pipeline(a_stage("copy", 1))
    data = random.Random(17).randbytes(5 << 20)
    execution = site.begun(code, "large.bin", data)
    site.stands(execution, "COMPLETED")
    (log,) = site("logs", execution)
    assert len(log["outputRef"]) <= 512 and len(json.dumps(log)) < 16_384
    assert (site.shell.folder / "artifacts" / log["outputRef"]).read_bytes() == data


@pytest.mark.parametrize("killed", ["work", "worker"])
def test_f_a_18_killed_in_stage_two(site: CliSite, killed: str) -> None:
    """F-A.18, F-X.3: it is taken up again and ends; stage 1 is not done again."""
    code = site.pipeline(site.scripted("one", 1), site.scripted("two", 2, {"hangs": 1}), site.scripted("three", 3))
    execution = site.begun(code)
    before = site.until_called(code, 2)
    if killed == "work":
        site.kill()
        assert site.show(execution)["status"] == "RUNNING"
        site.work()
    else:
        os.kill(before[1].pid, signal.SIGKILL)
    body = site.stands(execution)
    assert (body["status"], body["retryCount"]) == ("COMPLETED", 0)
    assert [log[:3] for log in site.logs(execution)] == [(name, 1, "COMPLETED") for name in ("one", "two", "three")]
    assert [call.stage for call in site.called(code)] == ["one", "two", "two", "three"]


def test_f_a_20_usage_is_summed(site: CliSite) -> None:
    """F-A.20, F-8.3: of the tenant and the day."""
    site.stands(site.begun(site.pipeline(a_stage("only", 1))), "COMPLETED")
    day = site("usage", "--days", 2)[-1]
    assert day["tenantId"] == DEFAULT_TENANT and day["executions"] >= 1 and day["bytesIn"] > 0


def test_f_a_19_days_on_which_clocks_are_changed(site: CliSite) -> None:
    """F-A.19, F-9.6, F-X.11: 02:30 of the gap fires at 03:00, 01:30 of the repeated hour at its first occurrence."""
    code = site.pipeline(a_stage("only", 1), pipeline_type="SCHEDULED")
    site.send(site.message(code))
    looked = _scheduled(site, "looked", site.pipeline(a_stage("only", 1)), interval_seconds=60)
    year, next_day = datetime.now(UTC).year + 1, timedelta(days=1)
    crons = ("30 1 * * *", "30 2 * * *")
    ids = [_scheduled(site, cron, code, cron_expression=cron, timezone="America/New_York") for cron in crons]

    def to(at_ms: int) -> None:
        """When this returns, what was due then has fired."""
        for moment in (at_ms, at_ms + 61_000):
            site.clock.to(moment)
            until(lambda: _due(site, looked), lambda due, after=shown(moment): due > after)  # noqa: B008

    fired = collections.defaultdict[int, list[str]](list)
    for day, firsts, seconds in (
        (sunday(year, 3, 2), ("06:30", "07:00"), ("05:30", "06:30")),
        (sunday(year, 11, 1), ("05:30", "07:30"), ("06:30", "07:30")),
    ):
        to(at(day - next_day, "20:00"))
        assert [_due(site, id) for id in ids] == [shown(at(day, utc)) for utc in firsts]
        for utc in ("05:29", "05:30", "06:30", "07:00", "07:30", "20:00"):
            to(at(day, utc) + 5_000)
        for id, first in zip(ids, firsts, strict=True):
            fired[id].append(shown(at(day, first)))
        assert [_due(site, id) for id in ids] == [shown(at(day + next_day, utc)) for utc in seconds]
    keys = [line["idempotencyKey"].split("#") for line in site.listed(code)]
    assert {id: sorted(key[2] for key in keys if key[1] == str(id)) for id in ids} == fired


def _scheduled(site: CliSite, name: str, code: str, **more: Any) -> int:
    kind = "INTERVAL" if "interval_seconds" in more else "CRON"
    document = {"schedule_name": name, "pipeline_code": code, "schedule_type": kind, **more}
    return int(site("schedule", site.shell.write("schedule.json", json.dumps(document)))["id"])


def _due(site: CliSite, id: int) -> str:
    (due,) = [each["next_execution_at"] for each in site("schedules") if each["id"] == id]
    return str(due)
