"""The samples of 3, 7 and 8 as they run: every alternative of a trigger, a retry, a breaker, a checkpoint and a key."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.decision import dead_letters as dead
from penstock.app.releases import start_release, triggers
from penstock.app.releases.releases import Releases, document_of
from penstock.errors import InputInvalid, ReleaseNotFound, ReplayRefused, TenantConflict
from tests.conformance.decision.harness import INPUT, Sample, leaves, shows
from tests.conformance.decision.make import act, data, found, undo, value, wait
from tests.conformance.decision.test_tc_wf import DAY, INF, answering, numbers, play, state, timed
from tests.conformance.decision.world import HOUR, MINUTE, T0, Door, Wire, World
from tests.executors.bench import Seen, as_json
from tests.servers.objects import RedisServer, S3Server


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    return World(tmp_path, wire).plant()


# ---- 3: what starts a workflow ---------------------------------------------------------------------------------------

SOURCE = "mes.defect.detected"
EIGHT = T0 + 22 * HOUR  # the next time it is eight in Seoul


def activated(door: Door, one: Sample) -> tuple[str, int]:
    versions = Releases(door, door.world.clock)
    row = versions.submit(one.workflow).release
    versions.approve(row.name, row.version)
    versions.activate(row.name, row.version)
    return row.name, row.version


@shows("3.1", "trigger/type", "manual", "schedule", "event", "webhook")
@leaves("3.1", "id", "version", "trigger/config", "nodes", "edges")
def test_what_starts_it(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-3.1.3, W-3.2.1, W-3.2.2, W-3.2.4, W-3.2.5: each its own; by hand it always can be."""
    kind = one.alternative

    async def scene(door: Door) -> None:
        name, version = activated(door, one)
        assert (name, version) == ("wf_sample", 1)
        await door.send_event(SOURCE, {"severity": "high", "line_id": "L01"})
        await door.quiet()
        assert len(door.runs()) == (kind == "event")
        await door.to(EIGHT)
        assert len(door.runs()) == (kind in ("event", "schedule"))
        hooks = [(hook.method, hook.path) for hook in triggers.webhooks(door.store, door.tenant)]
        assert hooks == ([("POST", f"/api/v1/workflows/{name}/trigger")] if kind == "webhook" else [])
        before = len(wire.to("slack"))
        run = await start_release.start(door, name, {})
        await door.quiet()
        assert door.view(run).status == "completed" and len(wire.to("slack")) == before + 1
        assert [seen.json["text"] for seen in wire.to("slack")] == ["x"] * (before + 1)

    play(world, scene)


@shows("3.1", "metadata/approval_status", "draft", "pending", "approved", "deprecated")
@leaves("3.1", "metadata/created_at", "metadata/created_by", "metadata/updated_at", "metadata/approved_by", "name",
        "description", "tags")  # fmt: skip
def test_how_a_version_stands(world: World, one: Sample) -> None:
    """C-05, C-17: how it stands is written in its document whatever was written there; only what is in force is started
    by name. What else its author says is kept as it was."""
    over = ["approve", "activate", "deprecate"]
    steps = {"draft": ["reject"], "pending": [], "approved": ["approve"], "deprecated": over}[one.alternative]
    metadata = one.workflow["metadata"]

    async def scene(door: Door) -> None:
        versions = Releases(door, world.clock)
        for written in ("draft", "pending", "approved", "deprecated"):
            one.workflow |= {"id": f"wf_{written}", "metadata": {**metadata, "approval_status": written}}
            row = versions.submit(one.workflow).release
            assert document_of(row)["metadata"]["approval_status"] == "pending"
            for step in steps:
                more = {"feedback": "no"} if step == "reject" else {}
                row = getattr(versions, step)(row.name, row.version, **more)
            shown = document_of(row)
            assert shown["metadata"] == {**metadata, "approval_status": one.alternative}
            assert {key: shown[key] for key in ("name", "description", "tags")} == {
                "name": "name", "description": "text", "tags": ["text"],
            }  # fmt: skip
            with pytest.raises(ReleaseNotFound):
                await start_release.start(door, row.name)

    play(world, scene)


@shows("3.2 schedule", "")
@leaves("3.2 schedule", "trigger/type", "trigger/config/cron", "trigger/config/timezone")
def test_a_schedule(world: World, one: Sample) -> None:
    """W-3.2.1: eight o'clock in Seoul, every day."""

    async def scene(door: Door) -> None:
        activated(door, one)
        for day in range(3):
            await door.to(EIGHT + day * DAY - 1)
            assert len(door.runs()) == day
            await door.later(1)
            assert len(door.runs()) == day + 1

    play(world, scene)


@shows("3.2 event", "")
@leaves("3.2 event", "trigger/type", "trigger/config/source", "trigger/config/filter/severity/$gte",
        "trigger/config/filter/line_id/$in")  # fmt: skip
def test_an_event(world: World, one: Sample) -> None:
    """W-3.2.2, W-3.2.3, C-30: high or worse, of two lines."""

    async def scene(door: Door) -> None:
        activated(door, one)
        for source, severity, line, starts in (
            (SOURCE, "high", "L01", 1), (SOURCE, "critical", "L02", 1), (SOURCE, "medium", "L01", 0),
            (SOURCE, "low", "L01", 0), (SOURCE, "high", "L03", 0), ("mes.defect", "high", "L01", 0),
        ):  # fmt: skip
            told = await door.send_event(source, {"severity": severity, "line_id": line})
            assert len(told.started) == starts, (source, severity, line)

    play(world, scene)


@shows("3.2 webhook", "")
@leaves("3.2 webhook", "trigger/type", "trigger/config/path", "trigger/config/method", "trigger/config/auth",
        "trigger/config/rate_limit/requests", "trigger/config/rate_limit/window_sec")  # fmt: skip
def test_a_webhook(world: World, one: Sample) -> None:
    """W-3.2.4, W-3.2.8: what is registered for whoever serves it, as it is written."""

    async def scene(door: Door) -> None:
        name, _ = activated(door, one)
        (hook,) = triggers.webhooks(door.store, door.tenant)
        assert (hook.method, hook.path) == ("POST", f"/api/v1/workflows/{name}/trigger")
        assert (hook.auth, hook.rate) == ("bearer_token", triggers.RateLimit(requests=100, window_sec=60))

    play(world, scene)


@shows("3.1", "trigger/type", "manual")
@leaves("3.1", "$schema", "tenant_id", "input_schema", "output_schema", "context/variables", "context/secrets")
def test_what_a_document_says_of_its_data(
    world: World, wire: Wire, one: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-3.1.1, W-3.2.7, C-04, C-67: an input that does not fit begins nothing; an output has what it is to have; what
    is written may be read. Whose it is, nobody else may run."""
    monkeypatch.setenv("WF_SECRET_OF_TEST", f"{wire.server.url}/hook")
    hook = {"type": "slack", "config": {"webhook_url": "${secrets.hook}"}}
    one.workflow["nodes"] = [act("x", channel=hook, message="${greeting} ${input.line_id}"), value("data_v", "7"),
                             value("data_u", "8")]  # fmt: skip
    one.workflow["edges"] = [{"from": "x", "to": "data_v"}, {"from": "data_v", "to": "data_u"}]
    one.workflow["context"] |= {"variables": {"greeting": "hello"}, "secrets": {"hook": "env:WF_SECRET_OF_TEST"}}
    one.workflow["input_schema"] = {"type": "object", "required": ["line_id"]}
    one.workflow["output_schema"] = {"type": "object", "properties": {"v_data": {"type": "integer"}}}

    async def scene(door: Door) -> None:
        with pytest.raises(InputInvalid):
            await one.run(door, {})
        assert door.runs() == []
        run = await one.run(door)
        assert door.view(run).output == {"v_data": 7}
        assert [seen.json["text"] for seen in wire.to("hook")] == ["hello L01"]
        assert door.told(run, "run.started")[0].data["tenant"] == door.tenant
        one.workflow["output_schema"]["properties"]["v_data"] = {"type": "string"}
        assert door.failure(await one.run(door)) == ("OUTPUT_SCHEMA", "validation")
        one.workflow["tenant_id"] = "text"
        with pytest.raises(TenantConflict, match="«text»"):
            await one.run(door)
        for change in ({"tenant_id": "no tenant!"}, {"$schema": 5}):
            rules = [finding.rule for finding in found({**one.workflow, **change}) if finding.severity == "error"]
            assert rules == ["wrong_type"]

    play(world, scene)


@shows("3.1", "trigger/type", "manual")
@leaves("3.1", "context/rag_context", "context/aas_context")
def test_what_a_document_says_of_its_surroundings(world: World, one: Sample) -> None:
    """C-64: documents that a declared search finds, and an asset."""
    world.register("collection", "manuals", documents=[{"id": "m1", "text": "bearing"}, {"id": "m2", "text": "valve"}])
    one.workflow["nodes"] = [value("data_v", "[rag.manuals[0].id, aas.line.L01.capacity]")]

    async def scene(door: Door) -> None:
        for query, id in (("bearing", "m1"), ("valve", "m2")):
            search = {"name": "manuals", "query": query}
            one.workflow["context"] |= {"rag_context": [search], "aas_context": ["line.L01"]}
            assert door.view(await one.run(door)).variables["v_data"] == [id, 1200]

    play(world, scene)


@shows("3.1", "trigger/type", "manual")
@leaves("3.1", "policies/retry", "policies/timeout_ms", "policies/circuit_breaker", "policies/compensation")
def test_what_a_document_says_for_all_its_nodes(world: World, wire: Wire, one: Sample) -> None:
    """W-3.1.1, C-16, C-71: retries, a breaker, 5 s of activity, and whether anything is undone."""
    policies = one.workflow["policies"]
    one.workflow |= {"nodes": [data("a"), data("b"), undo("u", "a")], "edges": [{"from": "a", "to": "b"}]}
    del policies["circuit_breaker"]

    async def scene(door: Door) -> None:
        policies["retry"] = {"max": 1, "backoff_ms": 1000}
        times = timed(world, "b", *[503] * 5)
        await one.run(door)
        await door.later(1000)
        assert times == [0, 1000] and len(wire.to("undo/a")) == 1
        del policies["retry"]
        policies["compensation"] = {"enabled": False}
        await one.run(door)
        assert len(times) == 3 and len(wire.to("undo/a")) == 1
        policies["circuit_breaker"] = {"failure_threshold": 1}
        await one.run(door)
        assert door.failure(await one.run(door)) == ("CIRCUIT_OPEN", "external") and len(times) == 4
        policies.pop("circuit_breaker")
        wire.hangs.add("a")
        run = await door.start(door.release(json.dumps(one.workflow).encode()), INPUT)
        await door.until(lambda: len(door.host.dispatch.in_flight) == 1)
        for ms, status in ((4999, "running"), (1, "failed")):
            world.clock.at += ms
            door.host.wake_up()
            await door.until(lambda status=status: door.view(run).status == status)  # type: ignore[misc]
        assert door.failure(run) == ("WORKFLOW_TIMEOUT", "timeout")
        wire.going.set()
        await door.quiet()

    play(world, scene)


# ---- 7.2: retries ----------------------------------------------------------------------------------------------------


@shows("7.2", "retry/backoff/type", "exponential", "linear", "fixed")
@leaves("7.2", "retry/max_attempts", "retry/backoff/initial_ms", "retry/backoff/multiplier", "retry/backoff/max_ms",
        "retry/backoff/jitter")  # fmt: skip
def test_how_long_a_retry_waits(world: World, one: Sample) -> None:
    """C-05, W-7.2.1, W-7.2.4: as printed: three attempts, each delay between half of it and all; without jitter and
    with more attempts to the millisecond, and never more than 30 s."""
    wanted = {"exponential": [1000, 2000, 4000, 8000, 16000, 30000], "linear": [1000, 2000, 3000, 4000, 5000, 6000],
              "fixed": [1000] * 6}[one.alternative]  # fmt: skip

    async def delays(door: Door) -> list[int]:
        times = timed(world, "slack", *[503] * 9)
        run = await one.run(door)
        await door.later(HOUR)
        assert door.view(run).status == "failed"
        return [after - before for before, after in zip(times, times[1:], strict=False)]

    async def scene(door: Door) -> None:
        drawn = [await delays(door) for _ in range(4)]
        for row in drawn:
            assert len(row) == 2
            assert all(whole / 2 <= one <= whole for one, whole in zip(row, wanted[:2], strict=True))
        assert len({tuple(row) for row in drawn}) > 1
        one.node["retry"]["max_attempts"] = 7
        one.node["retry"]["backoff"]["jitter"] = False
        assert await delays(door) == wanted

    play(world, scene)


@shows("7.2", "retry/backoff/type", "fixed")
@leaves("7.2", "retry/retryable_errors", "retry/non_retryable_errors")
def test_what_is_retried(world: World, one: Sample) -> None:
    """C-15: 429 is transient, 503 external, 400 permanent, 401 authorization; what is in both lists is not retried."""
    retry = one.node["retry"]

    async def calls(door: Door, status: int) -> int:
        times = timed(world, "slack", *[status] * 9)
        await one.run(door)
        await door.later(MINUTE)
        return len(times)

    async def scene(door: Door) -> None:
        assert [await calls(door, status) for status in (429, 503, 400, 401)] == [3, 3, 1, 1]
        retry["retryable_errors"].append("authorization")
        assert await calls(door, 401) == 1
        retry["non_retryable_errors"].append("external")
        assert [await calls(door, status) for status in (429, 503)] == [3, 1]
        retry.update({"retryable_errors": ["external"], "non_retryable_errors": []})
        assert [await calls(door, status) for status in (429, 503)] == [1, 3]

    play(world, scene)


# ---- 7.3: breakers ---------------------------------------------------------------------------------------------------


@shows("7.3", "circuit_breaker/on_open/action", "skip", "fail", "fallback")
@leaves("7.3", "circuit_breaker/on_open/fallback_node", "circuit_breaker/failure_threshold",
        "circuit_breaker/enabled")  # fmt: skip
def test_what_an_open_breaker_does(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-7.3.3, C-19: five failures open it; then x is skipped, fails, or another node does its work."""
    one.workflow["nodes"][0] |= data("x")
    one.workflow["nodes"][0].pop("channel")
    wanted = {"skip": ("completed", "skipped", 0), "fail": ("failed", "failed", 0), "fallback": ("completed", None, 1)}
    ends, node, told = wanted[one.alternative]
    wire.trouble["x"] = INF

    async def scene(door: Door) -> None:
        for _ in range(5):
            assert not door.breakers() or state(door) == "closed"
            await one.run(door)
        assert state(door) == "open" and len(wire.to("x")) == 5
        before = len(wire.to("slack"))
        run = await one.run(door)
        assert (door.view(run).status, len(wire.to("slack")) - before) == (ends, told) and len(wire.to("x")) == 5
        assert node is None or door.ran(run)["x"] == node
        assert {seen.json["text"] for seen in wire.to("slack")} <= {"fallback_action"}
        if one.alternative == "fail":
            assert door.failure(run) == ("CIRCUIT_OPEN", "external")
        if one.alternative != "fallback":  # without a breaker nothing leads to the other node
            one.node["circuit_breaker"]["enabled"] = False
            await one.run(door)
            assert len(wire.to("x")) == 6

    play(world, scene)


@shows("7.3", "circuit_breaker/on_open/action", "fail")
@leaves("7.3", "circuit_breaker/failure_rate_threshold", "circuit_breaker/window_size",
        "circuit_breaker/half_open_requests", "circuit_breaker/cooldown_ms")  # fmt: skip
def test_when_a_breaker_opens_and_closes(world: World, wire: Wire, one: Sample) -> None:
    """W-7.3.2, C-19: half of ten; a minute; three that go well."""

    async def scene(door: Door) -> None:
        async def called(*statuses: int) -> list[str]:
            found = []
            for status in statuses:
                wire.answers["slack"] = answering({}, status)
                await one.run(door)
                found.append(state(door))
            return found

        assert await called(503, 200, 503, 200, 503, 200, 503, 200, 200) == ["closed"] * 9
        assert await called(503) == ["open"]
        count = len(wire.to("slack"))
        await door.later(59_999)
        assert await called(200) == ["open"] and len(wire.to("slack")) == count
        await door.later(1)
        assert await called(200, 200, 200) == ["half_open", "half_open", "closed"]
        assert await called(*[200] * 6, 503, 503, 503, 503) == ["closed"] * 10

    play(world, scene)


@shows("7.3", "circuit_breaker/on_open/action", "fail")
@leaves("7.3", "circuit_breaker/metrics/track_latency", "circuit_breaker/metrics/latency_threshold_ms")
def test_slow_calls_open_a_breaker(world: World, wire: Wire, one: Sample) -> None:
    """W-7.3.4: what takes longer than it may counts as a failure; the sample's 5 s are not reached."""

    def slow(seen: Seen) -> Any:
        time.sleep(0.06)
        return as_json({})

    wire.answers["slack"] = slow
    metrics = one.node["circuit_breaker"]["metrics"]

    async def scene(door: Door) -> None:
        found = []
        for n, change in enumerate(({}, {"latency_threshold_ms": 30}, {"track_latency": False})):
            metrics.update(change)
            one.workflow["id"] = f"wf_{n}"  # a breaker of its own
            found.append([door.view(await one.run(door)).status for _ in range(6)][-1])
        assert found == ["completed", "failed", "completed"]

    play(world, scene)


# ---- 7.5: dead letters -----------------------------------------------------------------------------------------------


@shows("7.5", "")
@leaves("7.5", "dlq/enabled", "dlq/queue_name", "dlq/include/error", "dlq/include/input",
        "dlq/include/context_snapshot", "dlq/include/execution_history", "dlq/retention_days")  # fmt: skip
def test_a_dead_letter(world: World, wire: Wire, one: Sample) -> None:
    """W-7.5.1, W-7.5.2: with its four parts, each by itself; for 30 days; none where it is off."""
    wire.trouble["slack"] = INF
    dlq = one.workflow["policies"]["dlq"]
    parts = ("error", "input", "context_snapshot", "execution_history")

    async def scene(door: Door) -> None:
        async def letter() -> Any:
            run = await one.run(door, {"n": 1})
            found = [each for each in door.letters() if each.run == run]
            return found[0] if found else None

        first = await letter()
        assert first.queue == "workflow_dlq" and first.until == T0 + 30 * DAY
        assert (first.error["code"], first.input) == ("HTTP_5XX", {"n": 1})
        assert first.context_snapshot is not None and first.execution_history[0]["node_id"] == "x"
        for part in parts:
            dlq["include"] = {**dict.fromkeys(parts, True), part: False}
            left = await letter()
            assert [name for name in parts if getattr(left, name) is None] == [part]
        dlq.update({"queue_name": "other", "retention_days": 1})
        other = await letter()
        assert (other.queue, other.until) == ("other", T0 + DAY)
        dlq["enabled"] = False
        assert await letter() is None
        await door.to(T0 + 30 * DAY - 1)
        assert first.run in {each.run for each in door.letters()}
        await door.to(T0 + 30 * DAY + 3 * HOUR)
        await door.until(lambda: not door.letters())

    play(world, scene)


@shows("7.5", "")
@leaves("7.5", "dlq/alerts/threshold", "dlq/alerts/window_minutes", "dlq/alerts/channels")
def test_many_dead_letters(world: World, wire: Wire, one: Sample) -> None:
    """W-7.5.3: the eleventh within the hour, on both channels; ten in an hour are not told, however many hours."""
    one.workflow["nodes"] = [data("x")]
    wire.trouble["x"] = INF

    async def alerts(door: Door) -> tuple[int, int]:
        await door.until(lambda: not door.store.notices_left())
        kept = [row for row in door.store.messages(door.tenant, None, 1000) if row.channel == "pagerduty"]
        return len(wire.to("slack")), len(kept)

    async def scene(door: Door) -> None:
        for _ in range(2):
            for _ in range(10):
                await one.run(door)
            assert await alerts(door) == (0, 0)
            await door.later(HOUR + 1)
        for n in range(11):
            await one.run(door)
            assert await alerts(door) == ((1, 1) if n == 10 else (0, 0))

    play(world, scene)


@shows("7.5", "")
@leaves("7.5", "dlq/replay/enabled", "dlq/replay/auto_replay_on_fix", "dlq/replay/max_replay_attempts")
def test_a_dead_letter_is_replayed(world: World, wire: Wire, one: Sample) -> None:
    """W-7.5.4: three times and no more; not by itself when it is mended; not at all where it is off."""
    wire.trouble["slack"] = 3
    replay = one.workflow["policies"]["dlq"]["replay"]

    async def scene(door: Door) -> None:
        run = await one.run(door)
        replay["auto_replay_on_fix"] = True
        auto = await one.run(door)
        replay["enabled"] = False
        off = await one.run(door)
        mended = {**one.workflow, "version": 2}
        started = await dead.replay_fixed(door, "wf_test", door.release(json.dumps(mended).encode()))
        assert [door.state_at(new).options["replay_of"] for new in started] == [auto]
        for _ in range(3):
            new = await dead.replay(door, run)
            await door.quiet()
            assert door.view(new).status == "completed"
        for over in (run, off):
            with pytest.raises(ReplayRefused):
                await dead.replay(door, over)

    play(world, scene)


# ---- 8.1: checkpoints ------------------------------------------------------------------------------------------------


def stretched(one: Sample) -> None:
    """Nodes by which the strategies can be told apart: time passes, and one of them asks for a checkpoint."""
    one.workflow["nodes"] = [act("a"), wait("w", {"type": "time", "duration_ms": 61_000}), act("b"),
                             act("c", checkpoint=True), act("d")]  # fmt: skip
    one.workflow["edges"] = [{"from": src, "to": dst} for src, dst in ("aw", "wb", "bc", "cd")]


def made(door: Door, run: str) -> list[str]:
    """At which nodes, but for those that suspend."""
    return [node for _, node, status in numbers(door, run) if status != "waiting"]


@shows("8.1", "checkpoint/strategy", "node_boundary", "time_interval", "explicit")
@leaves("8.1", "checkpoint/time_interval_ms")
def test_when_a_checkpoint_is_made(world: World, one: Sample) -> None:
    """C-05, W-8.1.1, W-8.1.5: at every node, once a minute, or where a node says so; and whenever it suspends."""
    stretched(one)

    async def scene(door: Door) -> None:
        run = await one.run(door)
        await door.later(61_000)
        assert door.view(run).status == "completed"
        assert ("w", "waiting") in [each[1:] for each in numbers(door, run)]
        assert made(door, run) == {
            "node_boundary": ["w", "b", "c", "d"], "time_interval": ["w", "c"], "explicit": ["c"],
        }[one.alternative]  # fmt: skip
        one.workflow["policies"]["checkpoint"]["time_interval_ms"] = 62_000
        run = await one.run(door)
        await door.later(61_000)
        assert ("w" in made(door, run)) is (one.alternative == "node_boundary")

    play(world, scene)


@shows("8.1", "checkpoint/storage/type", "database", "s3", "redis")
@leaves("8.1", "checkpoint/storage/compression", "checkpoint/storage/encryption")
def test_where_a_checkpoint_lies(world: World, one: Sample) -> None:
    """C-05, W-8.1.3, C-79: in its row, in a bucket, in a cache; it can be read from each; packed and sealed, unless its
    document says otherwise."""
    s3, redis = S3Server(), RedisServer()
    world.settings |= {"checkpoint.s3": s3.options(), "checkpoint.redis": redis.options()}
    storage = one.workflow["policies"]["checkpoint"]["storage"]
    stretched(one)

    async def scene(door: Door) -> None:
        run = await one.run(door, {"text": "legible"})
        await door.until(lambda: not door.store.checkpoints_to_move(1))
        assert (bool(s3.objects), bool(redis.objects)) == (one.alternative == "s3", one.alternative == "redis")
        row = json.loads(door.store.checkpoints(run)[0].context)
        assert set(row) == ({"enc", "z", "kid", "data"} if one.alternative == "database" else {"ref", "sha256"})
        kept = await door.checkpoint(run)
        assert kept is not None and kept.context_snapshot["input"] == {"text": "legible"}
        storage["type"] = "database"
        for change, keys in (({"compression": False}, {"enc", "kid", "data"}), ({"encryption": False}, None)):
            storage.update(change)
            run = await one.run(door, {"text": "legible"})
            row = json.loads(door.store.checkpoints(run)[0].context)
            assert set(row) == keys if keys else row["input"] == {"text": "legible"}

    try:
        play(world, scene)
    finally:
        s3.close()
        redis.close()


@shows("8.1", "checkpoint/strategy", "node_boundary")
@leaves("8.1", "checkpoint/include/context_variables", "checkpoint/include/node_outputs",
        "checkpoint/include/execution_position", "checkpoint/include/pending_events")  # fmt: skip
def test_what_is_in_a_checkpoint(world: World, one: Sample) -> None:
    """W-8.1.2: everything, as printed; each part by itself."""
    include = one.workflow["policies"]["checkpoint"]["include"]
    one.workflow |= {"nodes": [value("v", "1"), wait("w", {"type": "manual"})], "edges": [{"from": "v", "to": "w"}]}

    async def scene(door: Door) -> None:
        for off in ("", *list(include)):
            if off:
                include.update({name: name != off for name in include})
            kept = await door.checkpoint(await one.run(door))
            assert kept is not None
            there = {
                "context_variables": "variables" in kept.context_snapshot,
                "node_outputs": kept.node_outputs is not None, "pending_events": kept.pending_events is not None,
                "execution_position": "execution_position" in kept.context_snapshot,
            }  # fmt: skip
            assert [name for name, is_there in there.items() if not is_there] == ([off] if off else [])

    play(world, scene)


@shows("8.1", "checkpoint/strategy", "node_boundary")
@leaves("8.1", "checkpoint/retention/completed_hours", "checkpoint/retention/failed_days",
        "checkpoint/retention/running_days")  # fmt: skip
def test_how_long_a_checkpoint_is_kept(world: World, wire: Wire, one: Sample) -> None:
    """W-8.1.4, C-47: 24 hours of a run that is completed, 30 days of one that failed, 7 days of one that goes on, but
    for its newest."""
    wire.answers["bad"] = lambda seen: as_json({}, 400)
    first, slow = act("x"), wait("w", {"type": "manual"}, timeout={"duration_days": 99, "on_timeout": "fail"})
    early = wait("early", {"type": "time", "duration_ms": 1000})

    async def scene(door: Door) -> None:
        runs = []
        for last in (act("y"), data("bad"), slow):
            ids = ["early", "x", last["id"]]
            one.workflow["nodes"] = [early, first, last]
            one.workflow["edges"] = [{"from": a, "to": b} for a, b in zip(ids, ids[1:], strict=False)]
            runs.append(await one.run(door))
        await door.later(1000)
        assert [door.view(run).status for run in runs] == ["completed", "failed", "waiting"]
        whole = [len(numbers(door, run)) for run in runs]

        async def left(ms: int) -> list[bool]:
            await door.to(T0 + 1000 + ms)
            door.store.tidy(world.clock.now())
            return [len(numbers(door, run)) == count for run, count in zip(runs, whole, strict=True)]

        assert min(whole) >= 2 and await left(24 * HOUR - 1) == [True, True, True]
        assert await left(24 * HOUR) == [False, True, True]
        assert await left(7 * DAY) == [False, True, False]
        assert await left(30 * DAY - 1) == [False, True, False]
        assert await left(30 * DAY) == [False, False, False] and len(numbers(door, runs[2])) == 1

    play(world, scene)


# ---- 8.4: the same again ---------------------------------------------------------------------------------------------


@shows("8.4", "idempotency/key_generation", "node_id + input_hash", "custom_expression")
@leaves("8.4", "idempotency/enabled", "idempotency/custom_expression", "idempotency/ttl_hours")
def test_what_makes_it_the_same(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-8.4.1, W-8.4.2, C-49: what the node is given; or the order and the day. For 24 hours."""
    one.node["message"] = "${input.text}"

    async def scene(door: Door) -> None:
        async def works(order: str, text: str) -> bool:
            before = len(wire.to("slack"))
            await one.run(door, {**INPUT, "order_id": order, "text": text})
            return len(wire.to("slack")) > before

        found = [await works("O-1", "a"), await works("O-1", "a"), await works("O-1", "b"), await works("O-2", "a")]
        await door.to(T0 + 15 * HOUR)  # one in the morning of the next day in Seoul, less than a day later
        found += [await works("O-1", "a")]
        await door.to(T0 + 24 * HOUR - 1)
        found += [await works("O-1", "a")]
        await door.to(T0 + 24 * HOUR)
        found += [await works("O-1", "a")]
        assert found == {
            "node_id + input_hash": [True, False, True, False, False, False, True],
            "custom_expression": [True, False, False, True, True, False, False],
        }[one.alternative]  # fmt: skip
        one.node["idempotency"]["enabled"] = False
        assert [await works("O-1", "a"), await works("O-1", "a")] == [True, True]

    play(world, scene)


@shows("8.4", "idempotency/on_duplicate", "skip", "return_cached", "fail")
def test_what_becomes_of_the_same_again(world: World, wire: Wire, one: Sample) -> None:
    """C-05, W-8.4.3: skipped, or what it gave the first time, or failed."""

    async def scene(door: Door) -> None:
        wire.answers["slack"] = lambda seen: as_json({"n": len(wire.to("slack"))})
        first, second = await one.run(door), await one.run(door)
        ends, node = {"skip": ("completed", "skipped"), "return_cached": ("completed", "succeeded"),
                      "fail": ("failed", "failed")}[one.alternative]  # fmt: skip
        assert (door.view(second).status, door.ran(second)["x"]) == (ends, node) and len(wire.to("slack")) == 1
        if one.alternative == "fail":
            assert door.failure(second) == ("DUPLICATE_EXECUTION", "permanent")
        same = door.view(second).output == door.view(first).output
        assert same is (one.alternative == "return_cached")

    play(world, scene)
