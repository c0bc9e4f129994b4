"""Dead letters: what a run that ended badly leaves, who hears of it, and how it is replayed (TC-WF-013)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.decision import dead_letters as desk
from penstock.app.decision.dead_letters import letters
from penstock.app.penstock import Penstock
from penstock.errors import LetterNotFound, ReplayRefused
from penstock.host.clock import ManualClock
from penstock.kernel import command as C
from tests.executors.bench import Server, as_json
from tests.host.decisions import TENANT, House, api, say, value, workflow
from tests.host.rig import eventually, go

DAY = 86_400_000
SECRET = "s3cr3t-value-of-the-line"


class Line:
    """A server that fails until it is mended."""

    def __init__(self) -> None:
        self.status = 503
        self.server = Server(lambda seen: as_json({"said": SECRET, "ok": self.status == 200}, self.status))


@pytest.fixture
def line() -> Iterator[Line]:
    one = Line()
    yield one
    one.server.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def house(tmp_path: Path, line: Line, clock: ManualClock) -> House:
    one = House(tmp_path, clock)
    one.settings["http.ports"] = [line.server.port]
    one.register("connection", "server", type="http", base_url=line.server.url)
    return one


@pytest.fixture
def today(house: House) -> House:
    """As the world has it: a door of its own looks at the same store."""
    house.clock = None
    return house


def failing(**dlq: Any) -> dict[str, Any]:
    """Fails at once: its connection is not there."""
    broken = {"id": "data_y", "type": "DATA", "source": {"type": "api", "connection": "none", "query": "/"}}
    return workflow(value("data_a", '{"n": 1}'), broken, policies={"dlq": dlq} if dlq else {})


async def ended(house: House, document: dict[str, Any], *inputs: Any) -> list[str]:
    """Run them, and wait until everybody has been told."""
    async with house.driving() as host:
        runs = [await house.run(host, document, given) for given in inputs]
        await house.delivered(host)
    return runs


# ---- the letter ------------------------------------------------------------------------------------------------------


def test_tc_wf_013_a_failed_run_is_kept_with_its_four_parts(house: House, clock: ManualClock) -> None:
    """TC-WF-013, W-7.5.1, W-7.5.2, W-7.1.2: error, input, context_snapshot, execution_history; on by default, in the
    commit of the end."""
    net = workflow(value("data_a", '{"n": 1}'), api("data_x"), context={"variables": {"shift": "night"}}, version=7)

    async def scene() -> str:
        async with house.driving() as host:
            return await house.run(host, net, {"line": "L01"})

    run = go(scene())
    with house.reading() as door:
        one = desk.letter(door, run)
    assert (one.document, one.version, one.queue, one.status) == ("wf_test", 7, "workflow_dlq", "FAILED")
    assert (one.code, one.category, one.replays, one.max_replays) == ("HTTP_5XX", "external", 0, 3)
    assert one.until == one.at + 30 * DAY
    assert one.error["node_id"] == "data_x" and one.error["retry_count"] == 0 and one.error["timestamp"] == one.at
    assert one.input == {"line": "L01"} and one.context_snapshot["variables"] == {"shift": "night"}
    assert one.context_snapshot["outputs"]["a_data"] == {"n": 1}
    assert one.execution_history is not None
    lines = [(line["node_id"], line["status"]) for line in one.execution_history if line["type"] == "DATA"]
    assert lines[-1] == ("data_x", "failed") and one.execution_history[-1]["error"]["code"] == "HTTP_5XX"


def test_w_7_5_2_the_history_and_the_snapshot_are_of_the_authors_nodes(house: House) -> None:
    """W-7.5.2, W-2.2.6, W-2.3.1: switches too, in the language's words; what the net has besides is nobody's; outputs
    that no expression reads are there."""
    judged = {"id": "judge", "type": "JUDGMENT", "policy": {"type": "RULE_ONLY", "rule_pack_id": "defect_rules_v3"},
              "input": {"data": [{"defect_rate": 0.2}], "context": {"line": "${aas.line.L01}"}}}  # fmt: skip
    choice = {"id": "choice", "type": "SWITCH", "expression": "${judgment_result.decision}",
              "cases": [{"value": "critical", "goto": "data_x"}], "default": {"goto": "end"}}  # fmt: skip
    skipped = say("action_a", condition="${input.line == 'L02'}")
    (run,) = go(ended(house, workflow(skipped, judged, choice, api("data_x")), {"line": "L01"}))
    with house.reading() as door:
        one = desk.letter(door, run)
    assert one.execution_history is not None and one.context_snapshot is not None
    assert [(line["node_id"], line["type"], line["status"]) for line in one.execution_history] == [
        ("action_a", "ACTION", "skipped"), ("judge", "JUDGMENT", "succeeded"), ("choice", "SWITCH", "succeeded"),
        ("data_x", "DATA", "failed"),
    ]  # fmt: skip
    nodes = one.context_snapshot["nodes"]
    assert {id: body["status"] for id, body in nodes.items()} == {
        line["node_id"]: line["status"] for line in one.execution_history
    }
    assert nodes["judge"]["output"] == one.context_snapshot["outputs"]["judgment_result"] != {}
    assert nodes["data_x"]["output"] is None and not any("." in name for name in one.context_snapshot["outputs"])


@pytest.mark.parametrize("part", ["error", "input", "context_snapshot", "execution_history"])
def test_w_7_5_2_only_what_the_document_includes(house: House, part: str) -> None:
    """W-7.5.2."""
    (run,) = go(ended(house, failing(include={part: False}), {"a": 1}))
    with house.reading() as door:
        one = desk.letter(door, run)
    parts = {"error", "input", "context_snapshot", "execution_history"}
    assert {name for name in parts if getattr(one, name) is None} == {part} and one.code == "CONNECTION_NOT_FOUND"


def test_w_7_5_2_compensated_runs_are_a_letter_and_a_good_one_is_none(house: House) -> None:
    """W-7.5.2, C-45: COMPENSATED also; COMPLETED and CANCELLED not; a document may switch it off."""
    actions = [{"type": "notification", "channel": "slack", "message": "undone"}]
    undone = workflow(
        say("action_a"), failing()["nodes"][1],
        {"id": "undo", "type": "COMPENSATION", "for_node": "action_a", "actions": actions}, edges="action_a>data_y",
    )  # fmt: skip

    async def scene() -> list[str]:
        runs = await ended(house, undone, 1)
        runs += await ended(house, workflow(say("action_a")), 1)
        runs += await ended(house, failing(enabled=False), 1)
        return runs

    runs = go(scene())
    assert [house.status(run) for run in runs] == ["COMPENSATED", "COMPLETED", "FAILED"]
    with house.reading() as door:
        assert [(one.run, one.status) for one in letters(door)] == [(runs[0], "COMPENSATED")]
        with pytest.raises(LetterNotFound):
            desk.letter(door, runs[1])


def test_w_8_1_6_no_secret_in_a_letter_or_a_notice(house: House, line: Line) -> None:
    """W-8.1.6: known values are masked wherever they come from; replay still has the input as it came."""
    line.status = 422
    house.register("secret", "line_key", value=SECRET)
    net = workflow(api("data_x", "/?q=${input.token}"), context={"variables": {"v": SECRET}})
    (run,) = go(ended(house, net, {"token": SECRET}))
    (body,) = house.rows("SELECT body FROM letter")[0]
    assert SECRET.encode() not in body and b"***" in body
    assert all(SECRET not in str(message) for message in house.messages(run))
    with house.reading() as door:
        assert desk.letter(door, run).input == {"token": "***"} and door.input_of(door.row(run)) == {"token": SECRET}


def test_a_letter_and_its_end_are_one_commit(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-7.5.2: when the commit fails, neither is there; when it comes again, both are, once."""
    from penstock.errors import StoreFull
    from penstock.store.sqlite import Sqlite

    whole = Sqlite.commit
    failures = [0]

    def commit(self: Sqlite, batch: Any) -> None:
        if batch.letter and not failures[0]:
            failures[0] += 1
            raise StoreFull
        whole(self, batch)

    monkeypatch.setattr(Sqlite, "commit", commit)
    (run,) = go(ended(house, failing(), 1))
    assert failures == [1] and house.status(run) == "FAILED"
    assert len(house.rows("SELECT * FROM letter")) == 1 and len(house.messages(run)) == 1


def test_a_run_that_is_revived_and_ends_well_is_no_dead_letter(house: House, line: Line) -> None:
    """W-7.5.2, W-2.2.3: operator_retry; failing again keeps one letter, ending well takes it away."""

    async def scene() -> None:
        async with house.driving() as host:
            run = await house.run(host, workflow(api("data_x")))
            number = host.store.run_by_id(run).no
            await host.ask(number, C.retry("here"))
            await eventually(lambda: host.row(run).status == 6)  # type: ignore[union-attr]
            assert len(host.store.letters(TENANT)) == 1
            line.status = 200
            await host.ask(number, C.retry("here"))
            await eventually(lambda: host.row(run).status == 5)  # type: ignore[union-attr]
            assert host.store.letters(TENANT) == []

    go(scene())


def test_tc_wf_013_purged_after_its_days(house: House, clock: ManualClock) -> None:
    """TC-WF-013, W-7.5.2: thirty days by default, or as the document says."""
    go(ended(house, failing(), 1))
    go(ended(house, failing(retention_days=2), 2))

    def left() -> int:
        async def scene() -> int:
            async with house.driving() as host:
                host.store.tidy(clock.now())
                return len(host.store.letters(TENANT))

        return int(go(scene()))

    for days, count in ((1, 2), (1, 1), (27, 1), (1, 0)):
        clock.at += days * DAY
        assert left() == count


# ---- who hears of it -------------------------------------------------------------------------------------------------


def test_c_46_every_run_that_ends_badly_is_told_once(house: House, line: Line) -> None:
    """C-46, W-7.4.2: one notice for each, through the tenant's channels, whatever it is that has failed it."""
    runs = go(ended(house, workflow(api("data_x")), 1))
    runs += go(ended(house, failing(), 1))
    line.status = 401
    runs += go(ended(house, workflow(api("data_x")), 1))
    for run in runs:
        ((channel, key, message),) = house.messages(run)
        assert channel == "email" and key.startswith(f"{TENANT}/{run}/ended/0") and run in message["text"]
    go(ended(house, workflow(say("action_ok")), 1))
    assert len([one for one in house.messages() if "/ended/" in one[1]]) == len(runs)


def test_c_46_trouble_of_others_goes_to_the_escalation_channels(house: House) -> None:
    """C-46: escalation is an alert to the tenant's escalation channel; what the caller got wrong is told as usual."""
    notification = {"channels": ["email"], "escalation_channels": ["slack", "sms"]}
    house.register("config", "tenant", notification=notification)
    (run,) = go(ended(house, workflow(api("data_x")), 1))
    assert [channel for channel, *_ in house.messages(run)] == ["slack", "sms"]
    (run,) = go(ended(house, failing(), 1))
    assert [channel for channel, *_ in house.messages(run)] == ["email"]


def test_c_46_one_business_failure_that_an_edge_takes_is_told(house: House) -> None:
    """C-46, W-7.4.2: business handling ends in a notification, too."""
    table = {
        "inputs": [{"expression": "data.n"}], "outputs": [{"name": "decision"}], "hit_policy": "U",
        "rules": [{"when": ["> 1"], "then": ["normal"]}, {"when": ["> 2"], "then": ["critical"]}],
    }  # fmt: skip
    house.register("rule_pack", "p", id="p", version="1", status="approved", scope="dataset", table=table)
    judge = {
        "id": "judge", "type": "JUDGMENT", "policy": {"type": "RULE_ONLY", "rule_pack_id": "p"},
        "input": {"data": "${input}"},
    }  # fmt: skip
    net = workflow(judge, value("mend", "1"))
    net["edges"] = [{"from": "judge", "to": "mend", "when": "failed"}]
    (run,) = go(ended(house, net, {"n": 5}))
    assert house.status(run) == "COMPLETED"
    ((_, key, message),) = house.messages(run)
    assert "/handled/" in key and "BUSINESS_TABLE_CONFLICT" in message["text"]


def test_a_notice_that_cannot_leave_waits_for_the_next_process(house: House, line: Line) -> None:
    """C-46: it is durable: what could not be delivered before the end of the process is delivered by the next, once."""
    house.register("channel", "email", to=["a@example.com"], target="", webhook="")
    house.register("config", "tenant", notification={"channels": ["slack"]})
    house.register("channel", "slack", webhook_url=line.server.url + "/hook")

    async def first() -> str:
        async with house.driving() as host:
            run = await house.run(host, failing(), 1)
            await eventually(lambda: line.server.seen)
            return run

    go(first())
    assert house.rows("SELECT tries FROM outbox")[0][0] >= 1
    line.status = 200
    house.clock.at += 3_600_000  # type: ignore[union-attr]

    async def second() -> None:
        async with house.driving() as host:
            await house.delivered(host)

    go(second())
    keys = {seen.headers["idempotency-key"] for seen in line.server.seen}
    assert len(keys) == 1 and house.rows("SELECT * FROM outbox") == []


def test_tc_wf_013_an_alert_over_the_threshold_once_in_a_window(house: House, clock: ManualClock) -> None:
    """TC-WF-013, W-7.5.3: more than 10 in 60 minutes: one alert on the document's channels; none for ten; again in the
    next window; over restarts."""
    net = failing(alerts={"threshold": 10, "window_minutes": 60, "channels": ["slack", "pagerduty"]})

    def alerts() -> list[str]:
        return [channel for channel, key, _ in house.messages() if "/dlq/" in key]

    go(ended(house, net, *range(10)))
    assert alerts() == []
    go(ended(house, net, 10))
    assert alerts() == ["slack", "pagerduty"]
    go(ended(house, net, *range(11, 15)))
    assert alerts() == ["slack", "pagerduty"]
    clock.at += 3_600_001
    go(ended(house, net, *range(10)))
    assert len(alerts()) == 2
    go(ended(house, net, 1))
    assert len(alerts()) == 4
    (message,) = [m for c, k, m in house.messages() if "/dlq/" in k and c == "slack"][-1:]
    assert "11 runs" in str(message)


def test_w_7_5_3_many_at_once_are_one_alert(house: House) -> None:
    """W-7.5.3: in one batch as well; each queue is counted for itself."""
    net, other = failing(alerts={"threshold": 3}), failing(alerts={"threshold": 3}, queue_name="other")

    async def scene() -> None:
        async with house.driving() as host:
            runs = [house.start(host, one, n) for n in range(3) for one in (net, other)]
            runs += [house.start(host, net, n) for n in range(20)]
            await eventually(lambda: all((row := host.row(r)) and row.status == 6 for r in runs))
            await house.delivered(host)

    go(scene())
    assert len([1 for _, key, _ in house.messages() if "/dlq/workflow_dlq/" in key]) == 1
    assert not [1 for _, key, _ in house.messages() if "/dlq/other/" in key]


@pytest.mark.parametrize(
    ("status", "category", "calls"),
    [(503, "external", 2), (429, "transient", 2), (401, "authorization", 1), (400, "permanent", 1)],
)
@pytest.mark.parametrize("undo", [False, True])
def test_w_7_4_3_what_becomes_of_a_failure(
    today: House, line: Line, status: int, category: str, calls: int, undo: bool
) -> None:
    """W-7.4.1, W-7.4.3, C-46: what may pass is tried again, what may not is not; then compensation where there is some,
    else failed; a letter and a notice in both cases."""
    line.status = status
    actions = [{"type": "notification", "channel": "slack", "message": "undone"}]
    more = [{"id": "undo", "type": "COMPENSATION", "for_node": "action_a", "actions": actions}] if undo else []
    net = workflow(
        say("action_a"), api("data_x", retry={"max": 1, "backoff_ms": 100}), *more, edges="action_a>data_x"
    )  # fmt: skip
    (run,) = go(ended(today, net, 1))
    assert len(line.server.seen) == calls and today.status(run) == ("COMPENSATED" if undo else "FAILED")
    with today.reading() as door:
        one = desk.letter(door, run)
    assert (one.category, one.error["retry_count"]) == (category, calls - 1)
    assert len([key for _, key, _ in today.messages(run) if "/ended/" in key]) == 1


def test_c_71_only_active_time_counts(today: House, line: Line) -> None:
    """C-71: a run that is too long at work fails with WORKFLOW_TIMEOUT and leaves a letter; one that only waits as long
    does not."""
    line.status = 200
    slow = Server(lambda seen: (time.sleep(5), as_json({}))[1])
    today.settings["http.ports"] = [slow.port]
    today.register("connection", "server", type="http", base_url=slow.url)
    rest = {"id": "wait_a", "type": "WAIT", "condition": {"type": "time", "duration_ms": 3000}}
    try:
        (bad,) = go(ended(today, workflow(api("data_x"), policies={"timeout_ms": 1500}), 1))
        (good,) = go(through(today, workflow(rest, value("data_a", "1"), policies={"timeout_ms": 1500})))
    finally:
        slow.close()
    assert today.status(good) == "COMPLETED"
    with today.reading() as door:
        (one,) = letters(door)
    assert (one.run, one.code, one.category) == (bad, "WORKFLOW_TIMEOUT", "timeout")


async def through(house: House, document: dict[str, Any]) -> list[str]:
    """Until it has ended, however often it waits."""
    async with house.driving() as host:
        run = house.start(host, document)
        await eventually(lambda: (row := host.row(run)) is not None and row.status >= 5)
        return [run]


# ---- replay ----------------------------------------------------------------------------------------------------------


def test_tc_wf_013_replayed_with_the_same_input_at_most_so_often(today: House, line: Line) -> None:
    """TC-WF-013, W-7.5.4: a new run with the same input that says whose replay it is, three times and no more."""
    (run,) = go(ended(today, workflow(api("data_x")), {"line": "L01"}))

    async def scene() -> None:
        async with Penstock(today.path, settings=today.settings) as door:
            for n in range(3):
                new = await desk.replay(door, run)
                look = await door.wait(new, timeout=60)
                assert look.internal_status == "FAILED" and door.input_of(door.row(new)) == {"line": "L01"}
                assert door.state_at(new).options["replay_of"] == run
                assert desk.letter(door, run).replays == n + 1
            with pytest.raises(ReplayRefused, match="3 times"):
                await desk.replay(door, run)

    go(scene())


def test_w_7_5_4_off_is_off(today: House) -> None:
    """W-7.5.4."""
    (run,) = go(ended(today, failing(replay={"enabled": False}), 1))

    async def scene() -> None:
        async with Penstock(today.path) as door:
            with pytest.raises(ReplayRefused, match="switches"):
                await desk.replay(door, run)

    go(scene())


def test_w_7_5_4_one_crash_between_start_and_count_replays_once(
    today: House, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-7.5.4: asked for again, the replay is the run that was started before the crash."""
    (run,) = go(ended(today, workflow(api("data_x")), 1))
    from penstock.store.sqlite import Sqlite

    async def scene() -> tuple[str, str]:
        async with Penstock(today.path, settings=today.settings) as door:
            with monkeypatch.context() as patch:
                patch.setattr(Sqlite, "letter_replayed", lambda self, run, replays: None)
                first = await desk.replay(door, run)
            return first, await desk.replay(door, run)

    first, second = go(scene())
    assert first == second


def test_w_7_5_4_mended_document_replays_its_letters(today: House, line: Line) -> None:
    """W-7.5.4: auto_replay_on_fix: with the newer version, only letters that ask for it, each once."""
    auto = {"dlq": {"replay": {"auto_replay_on_fix": True}}}
    runs = go(ended(today, workflow(api("data_x"), policies=auto), 1, 2))
    go(ended(today, workflow(api("data_x")), 3))
    mended = workflow(value("data_x", "input"), policies=auto, version=2)

    async def scene() -> list[Any]:
        async with Penstock(today.path, settings=today.settings) as door:
            import json

            release = door.release(json.dumps(mended).encode(), name="mended.json")
            new = await desk.replay_fixed(door, "wf_test", release)
            assert await desk.replay_fixed(door, "wf_test", release) == []
            looks = [await door.wait(one, timeout=60) for one in new]
            assert {door.state_at(one).options["replay_of"] for one in new} == set(runs)
            return [look.output for look in looks]

    assert sorted(one["x_data"] for one in go(scene())) == [1, 2]
