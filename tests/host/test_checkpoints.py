"""Checkpoints that documents ask for: when, what, how, where and for how long (TC-WF-012)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.dialects.decision.checkpoint_keys import CheckpointKeys
from penstock.dialects.decision.checkpoints import Checkpoints
from penstock.errors import CheckpointKeyMissing, CheckpointPlaceMissing
from penstock.host.clock import ManualClock
from penstock.store.encryption import Damaged, opened, seal
from tests.executors.bench import Server, as_json
from tests.executors.tenant import KeptTenant
from tests.host import checkpoint_worker
from tests.host.decisions import TENANT, House, say, value, workflow
from tests.host.rig import eventually, go
from tests.servers.objects import RedisServer, S3Server, real_redis

ROOT = Path(__file__).resolve().parents[2]
HOUR, DAY = 3_600_000, 86_400_000
PLAIN = {"compression": False, "encryption": False}
CHAIN = (value("data_a", '{"n": 1}'), say("action_b"), value("data_c", "2"), say("action_d"))
WAIT = {"id": "wait_go", "type": "WAIT", "condition": {"type": "manual"}}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def house(tmp_path: Path, clock: ManualClock) -> House:
    return House(tmp_path, clock, secrets={"checkpoint_key": "a key that nobody guesses"})


def asked(*nodes: dict[str, Any], context: Any = None, **checkpoint: Any) -> dict[str, Any]:
    told = {"storage": PLAIN, **checkpoint}
    return workflow(*(nodes or CHAIN), policies={"checkpoint": told}, **({"context": context} if context else {}))


def numbered(house: House, run: str) -> list[tuple[int, str, str]]:
    with house.reading() as door:
        return [(row.number, row.node, row.status) for row in reversed(door.store.checkpoints(run))]


def plain(house: House, run: str) -> list[dict[str, Any]]:
    with house.reading() as door:
        return [json.loads(row.context) for row in reversed(door.store.checkpoints(run))]


def checkpoints_of(host: Any) -> Checkpoints:
    found: Checkpoints = host.runtimes["decision"].checkpoints
    return found


async def read(house: House, run: str, number: int | None = None) -> Any:
    async with house.driving() as host:
        return await checkpoints_of(host).read(TENANT, run, number)


# ---- when ------------------------------------------------------------------------------------------------------------


def test_c_84_nobody_asked_nothing_written(house: House) -> None:
    """C-84: without policies.checkpoint there are no rows; the engine's own checkpoint is in the view."""
    run, waits = go(house.runs(workflow(*CHAIN), 1))[0], go(house.runs(workflow(WAIT), 1))[0]
    assert numbered(house, run) == numbered(house, waits) == []
    shown = house.rows("SELECT instance_id, checkpoint_number, status FROM workflow_checkpoints")
    assert shown == [(waits, 0, "waiting")]


def test_w_8_1_1_at_every_node(house: House) -> None:
    """W-8.1.1, W-8.2.1: node_boundary: numbers from 1, rising by 1, each with its node and the status of the run."""
    run = go(house.runs(asked(), 1))[0]
    rows = numbered(house, run)
    assert [number for number, *_ in rows] == list(range(1, len(rows) + 1)) and len(rows) >= 2
    assert {node for _, node, _ in rows} <= {"data_a", "action_b", "data_c", "action_d"}
    assert rows[-1] == (len(rows), "action_d", "completed") and rows[0][2] == "running"


def test_w_8_1_1_every_so_often(house: House, clock: ManualClock) -> None:
    """W-8.1.1: time_interval: none before the time is over, however many nodes end."""
    nodes = [{"id": f"wait_{n}", "type": "WAIT", "condition": {"type": "manual"}} for n in range(3)]
    net = workflow(
        *(part for n, node in enumerate(nodes) for part in (node, say(f"action_{n}"))),
        policies={"checkpoint": {"strategy": "time_interval", "time_interval_ms": 60_000, "storage": PLAIN}},
    )

    async def scene() -> str:
        from penstock.kernel import command as C

        async with house.driving() as host:
            run = await house.run(host, net)
            for n, ms in enumerate((1000, 60_000, 1000)):
                clock.at += ms
                net_of_run = host.nets.get(host.store.run_by_id(run).net)
                name = net_of_run.by_id[f"wait_{n}"].spec.triggers[0].name
                name = next(w[0] for w in host.store._read("SELECT name FROM waiting")) if "${" in name else name
                await host.ask(host.store.run_by_id(run).no, C.signal("", name, None))
                await eventually(lambda: not host.dispatch.in_flight and not host.turns.ready)
            return run

    run = go(scene())
    rows = numbered(house, run)
    suspended = [row for row in rows if row[2] == "waiting"]
    assert [node for _, node, _ in suspended] == ["wait_0", "wait_1", "wait_2"]
    assert [node for _, node, status in rows if status != "waiting"] in (["wait_1"], ["action_1"])


def test_w_8_1_5_where_a_node_says_so(house: House) -> None:
    """W-8.1.1, W-8.1.5: explicit, and a node's own word without any policy; save_context false is no word."""
    marked = ({**CHAIN[0]}, {**CHAIN[1], "checkpoint": True}, {**CHAIN[2], "checkpoint": {"save_context": False}})
    run = go(house.runs(asked(*marked, strategy="explicit"), 1))[0]
    assert [node for _, node, _ in numbered(house, run)] == ["action_b"]
    alone = workflow(*marked)
    run = go(house.runs(alone, 1))[0]
    assert [node for _, node, _ in numbered(house, run)] == ["action_b"]


def test_w_8_1_5_whoever_suspends_gets_one(house: House) -> None:
    """W-8.1.5: every suspension, whatever the strategy; it shows what the run waits for."""
    run = go(house.runs(asked(CHAIN[0], WAIT, strategy="explicit"), {"line": "L01"}))[0]
    assert numbered(house, run) == [(1, "wait_go", "waiting")]
    one = go(read(house, run))
    assert one.context_snapshot["input"] == {"line": "L01"} and one.node_outputs["outputs"] == {"a_data": {"n": 1}}
    assert one.context_snapshot["execution_position"]["firings"][0]["phase"] == "suspended"
    assert [wait["node_id"] for wait in one.pending_events["waits"]] == ["wait_go"]


def test_numbers_go_on_after_a_restart_and_a_failed_commit(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """W-8.2.1: rising by one, without a hole, whatever happens in between."""
    from penstock.errors import StoreFull
    from penstock.store.sqlite import Sqlite

    whole, seen = Sqlite.commit, [0]

    def commit(self: Sqlite, batch: Any) -> None:
        seen[0] += bool(batch.checkpoint)
        if batch.checkpoint and seen[0] % 2:
            raise StoreFull
        whole(self, batch)

    monkeypatch.setattr(Sqlite, "commit", commit)
    run = go(house.runs(asked(CHAIN[0], CHAIN[1], WAIT), 1))[0]
    rows = numbered(house, run)
    assert [number for number, *_ in rows] == list(range(1, len(rows) + 1)) and rows[-1][1] == "wait_go"


# ---- what ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["context_variables", "node_outputs", "execution_position", "pending_events"])
def test_w_8_1_2_only_what_is_included(house: House, part: str) -> None:
    """W-8.1.2: each part by itself; the position is in the context, which has no column for it."""
    net = asked(WAIT, include={part: False}, context={"variables": {"shift": "night"}})
    run = go(house.runs(net, 1))[0]
    one = go(read(house, run))
    shown = {
        "context_variables": "variables" in one.context_snapshot, "node_outputs": one.node_outputs is not None,
        "execution_position": "execution_position" in one.context_snapshot,
        "pending_events": one.pending_events is not None,
    }  # fmt: skip
    assert {name for name, there in shown.items() if not there} == {part}


def test_w_8_1_6_secrets_are_masked(house: House) -> None:
    """W-8.1.6: a known value that came in as data is ***; the run itself has it."""
    house.register("secret", "line_key", value="value-of-the-line")
    run = go(house.runs(asked(WAIT), {"token": "value-of-the-line"}))[0]
    assert plain(house, run)[-1]["input"] == {"token": "***"}


# ---- how -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", [True, False])
@pytest.mark.parametrize("encryption", [True, False])
def test_c_79_the_envelope(house: House, compression: bool, encryption: bool) -> None:
    """C-79, W-8.1.3: plain JSON, or {enc, z, kid, data}; both are on unless the document says otherwise."""
    storage = {"compression": compression, "encryption": encryption}
    net = asked(WAIT, storage=None if compression and encryption else storage)
    run = go(house.runs(net, {"line": "L01"}))[0]
    found = plain(house, run)[-1]
    expected = {"z"} if compression else set()
    expected |= {"enc", "kid"} if encryption else set()
    assert (found.keys() - {"data"} == expected) if expected else "input" in found
    if encryption:
        assert found["enc"] == "aes-gcm" and b"L01" not in base64.b64decode(found["data"])
    elif compression:
        assert json.loads(gzip.decompress(base64.b64decode(found["data"])))["input"] == {"line": "L01"}
    assert go(read(house, run)).context_snapshot["input"] == {"line": "L01"}


def test_c_79_one_damaged_one_gives_way_to_the_one_before(house: House, caplog: pytest.LogCaptureFixture) -> None:
    """C-79: the tag, the compression, the text itself; a row that was put in another's place is damage, too."""
    run = go(house.runs(asked(CHAIN[0], CHAIN[1], WAIT, storage=None), 1))[0]
    count = len(numbered(house, run))
    assert count >= 2 and go(read(house, run)).number == count

    def damage(sql: str, *values: Any) -> None:
        async def scene() -> None:
            async with house.driving() as host:
                host.store.c.execute(sql, values)  # type: ignore[attr-defined]

        go(scene())

    (good,) = house.rows(f"SELECT context FROM checkpoint WHERE number={count}")[0]
    body = json.loads(good)
    body["data"] = base64.b64encode(base64.b64decode(body["data"])[:-1] + b"x").decode()
    (older,) = house.rows("SELECT context FROM checkpoint WHERE number=1")[0]
    for bad in (json.dumps(body).encode(), b"{no json", older, good.replace(b'"kid":"', b'"kid":"0')):
        damage("UPDATE checkpoint SET context=? WHERE number=?", bad, count)
        one = go(read(house, run))
        assert one.number == count - 1 and one.damaged == [count]
    damage("UPDATE checkpoint SET context=? WHERE number=?", good, count)
    assert go(read(house, run)).number == count and go(read(house, run, 1)).number == 1
    damage("UPDATE checkpoint SET context=?", b"{")
    assert go(read(house, run)) is None


def test_c_47_an_old_key_is_found_by_its_id() -> None:
    """C-47, C-79: `kid` says which key; an older one may be kept beside the new one."""
    tenant = KeptTenant(secrets={"checkpoint_key": "old"})
    keys = CheckpointKeys(lambda name: tenant)
    packed, size = seal({"n": 1}, "r/1/context", compress=True, key=keys.current("t"))
    kid = json.loads(packed)["kid"]
    assert size == len(gzip.compress(b'{"n":1}', 6, mtime=0))
    tenant.secrets["checkpoint_key"] = "new"
    with pytest.raises(Damaged, match=kid):
        opened(packed, "r/1/context", lambda kid: keys.by_id("t", kid))
    tenant.secrets[f"checkpoint_key.{kid}"] = "old"
    assert opened(packed, "r/1/context", lambda kid: keys.by_id("t", kid)) == {"n": 1}
    with pytest.raises(Damaged, match="tag"):
        opened(packed, "r/2/context", lambda kid: keys.by_id("t", kid))


def test_c_47_no_key_is_told_at_release_unless_it_is_a_dev_profile(tmp_path: Path) -> None:
    """C-47: production says what is missing before anything runs; dev makes a key beside the store, for its owner."""
    source = json.dumps(asked(WAIT, storage=None)).encode()

    async def scene() -> None:
        async with Penstock(tmp_path / "p.db", profile="production") as door:
            with pytest.raises(CheckpointKeyMissing, match="checkpoint_key") as told:
                door.release(source, name="a.json")
            assert "encryption" in told.value.hint
            door.release(json.dumps(asked(WAIT)).encode(), name="a.json")
        given = {"secrets": {"checkpoint_key": "k"}}
        async with Penstock(tmp_path / "q.db", profile="production", settings=given) as door:
            door.release(source, name="a.json")
        async with Penstock(tmp_path / "d.db") as door:
            run = await door.start(door.release(source, name="a.json"), {"n": 1})
            await door.wait(run, timeout=20, until_waiting=True)
            key = tmp_path / "d.db.checkpoint-key"
            assert stat.S_IMODE(key.stat().st_mode) == 0o600 and len(base64.b64decode(key.read_text())) == 32
        looking = Penstock(tmp_path / "d.db", drive=False).open()
        one = await looking.checkpoint(run)
        looking.close()
        assert one is not None and one.context_snapshot["input"] == {"n": 1}

    go(scene())
    assert not (tmp_path / "p.db.checkpoint-key").exists()


# ---- where -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["s3", "redis"])
def place(request: pytest.FixtureRequest) -> Iterator[Any]:
    one: Any = S3Server() if request.param == "s3" else RedisServer()
    one.kind = request.param
    yield one
    one.close()


def test_w_8_1_3_contents_elsewhere(house: House, place: Any) -> None:
    """W-8.1.3, C-79: the row is there at once and gets {ref, sha256}; what lies there is verified; both are purged."""
    house.settings[f"checkpoint.{place.kind}"] = place.options()
    net = asked(CHAIN[0], CHAIN[1], WAIT, storage={"type": place.kind})

    async def scene() -> str:
        async with house.driving() as host:
            run = await house.run(host, net, {"line": "L01"})
            await eventually(lambda: not host.store.checkpoints_to_move(1))
            count = len(host.store.checkpoints(run))
            pointers = [json.loads(row.context) for row in host.store.checkpoints(run)]
            assert all(pointer.keys() == {"ref", "sha256"} for pointer in pointers) and len(place.objects) == 3 * count
            assert (await checkpoints_of(host).read(TENANT, run)).context_snapshot["input"] == {"line": "L01"}  # type: ignore[union-attr]
            newest = max(place.objects, key=lambda name: int(str(name).rstrip("'").split("/")[-2]))
            kept = place.objects[newest]
            for bad in (kept[:-1] + b"x", b""):
                place.objects[newest] = bad
                assert (await checkpoints_of(host).read(TENANT, run)).number == count - 1  # type: ignore[union-attr]
            del place.objects[newest]
            assert (await checkpoints_of(host).read(TENANT, run)).damaged == [count]  # type: ignore[union-attr]
            place.objects[newest] = kept
            host.store.c.execute("UPDATE checkpoint SET until=0")  # type: ignore[attr-defined]
            assert await checkpoints_of(host).purge() == count - 1 and len(place.objects) == 3
            return run

    run = go(scene())
    assert len(numbered(house, run)) == 1


def test_w_8_1_3_one_place_that_is_down_holds_up_nobody(house: House) -> None:
    """C-79: the run goes on, the row can be read, and the contents are moved when the place is back."""
    s3 = S3Server()
    s3.down = True
    house.settings["checkpoint.s3"] = s3.options()

    async def scene() -> None:
        async with house.driving() as host:
            run = await house.run(host, asked(WAIT, storage={"type": "s3"}), {"n": 1})
            await eventually(lambda: s3.server.seen)
            one = await checkpoints_of(host).read(TENANT, run)
            assert one is not None and one.context_snapshot["input"] == {"n": 1} and not s3.objects
        s3.down = False
        async with house.driving() as host:
            await eventually(lambda: not host.store.checkpoints_to_move(1))
            assert (await checkpoints_of(host).read(TENANT, run)).number == 1 and s3.objects  # type: ignore[union-attr]

    go(scene())
    s3.close()


def test_w_8_1_3_one_place_that_nobody_named_is_told_at_release(house: House) -> None:
    """W-8.1.3."""

    async def scene() -> None:
        async with house.driving() as host:
            with pytest.raises(CheckpointPlaceMissing, match="s3"):
                house.start(host, asked(WAIT, storage={"type": "s3"}))

    go(scene())


def test_w_8_1_3_with_real_redis(house: House, tmp_path: Path) -> None:
    """W-8.1.3: the same against the real thing, where this machine has it."""
    program = real_redis()
    if program is None:
        print("neither valkey-server nor redis-server is on this machine")
        pytest.skip("neither valkey-server nor redis-server is on this machine")
    socket = tmp_path / "redis.sock"
    server = subprocess.Popen([program, "--port", "0", "--unixsocket", str(socket), "--save", ""])
    try:
        house.settings["checkpoint.redis"] = f"unix://{socket}"

        async def scene() -> None:
            await eventually(socket.exists)
            async with house.driving() as host:
                run = await house.run(host, asked(WAIT, storage={"type": "redis"}), {"n": 1})
                await eventually(lambda: not host.store.checkpoints_to_move(1))
                one = await checkpoints_of(host).read(TENANT, run)
                assert one is not None and one.context_snapshot["input"] == {"n": 1}

        go(scene())
    finally:
        server.terminate()
        server.wait()


# ---- for how long ----------------------------------------------------------------------------------------------------


def test_w_8_1_4_kept_as_long_as_the_document_says(house: House, clock: ManualClock) -> None:
    """W-8.1.4, C-47: 24 hours when completed, 30 days when failed, 7 days while running; but never the newest of a run
    that has not ended."""
    broken = {"id": "data_y", "type": "DATA", "source": {"type": "api", "connection": "none", "query": "/"}}
    done, bad, live = (
        go(house.runs(net, 1))[0]
        for net in (asked(*CHAIN), asked(CHAIN[0], CHAIN[1], broken), asked(CHAIN[0], CHAIN[1], WAIT))
    )
    whole = {run: len(numbered(house, run)) for run in (done, bad, live)}
    assert all(count >= 2 for count in whole.values())

    def left(ms: int) -> list[bool]:
        async def scene() -> None:
            async with house.driving() as host:
                host.store.tidy(clock.now())

        clock.at += ms
        go(scene())
        return [len(numbered(house, run)) == whole[run] for run in (done, bad, live)]

    assert left(24 * HOUR - 1) == [True, True, True]
    assert left(1) == [False, True, True] and numbered(house, done) == []
    assert left(6 * DAY) == [False, True, False] and numbered(house, live)[0][1] == "wait_go"
    assert left(23 * DAY) == [False, False, False] and numbered(house, bad) == []
    assert left(1000 * DAY) == [False] * 3 and len(numbered(house, live)) == 1


def test_w_8_2_1_the_view_has_the_seeds_columns(house: House) -> None:
    """W-8.2.1: workflow_checkpoints for its readers."""
    run = go(house.runs(asked(WAIT), {"n": 1}))[0]
    with house.reading() as door:
        cursor = door.store._read("SELECT * FROM workflow_checkpoints")
        names = [column[0] for column in cursor.description]
        row = dict(zip(names, cursor.fetchall()[0], strict=True))
    assert names == [
        "id", "instance_id", "checkpoint_number", "node_id", "status", "context_snapshot", "node_outputs",
        "pending_events", "created_at",
    ]  # fmt: skip
    assert len(row["id"]) == 36 and row["instance_id"] == run and row["checkpoint_number"] == 1
    assert json.loads(row["context_snapshot"])["input"] == {"n": 1} and row["created_at"].startswith("20")


def test_w_8_2_1_what_a_row_of_the_view_holds(house: House) -> None:
    """W-8.2.1: the author's node also where an inner one works for it, the position inside the context, what it waits
    for, and the index on the status."""
    left = {"id": "judge_x", "type": "JUDGMENT", "policy": {"type": "ESCALATE"}, "input": {"data": 1}}
    run = go(house.runs(asked(left, strategy="explicit"), 1))[0]
    assert numbered(house, run) == [(1, "judge_x", "waiting")]
    go(house.runs(asked(WAIT), 1))
    sql = "SELECT context_snapshot, pending_events FROM workflow_checkpoints WHERE node_id = 'wait_go'"
    ((context, pending),) = house.rows(sql)
    assert [one["node_id"] for one in json.loads(context)["execution_position"]["firings"]] == ["wait_go"]
    assert [one["node_id"] for one in json.loads(pending)["waits"]] == ["wait_go"]
    on = "SELECT i.name FROM pragma_index_list('checkpoint') l, pragma_index_info(l.name) i WHERE l.name = "
    assert house.rows(f"{on}'idx_checkpoint_status'") == [("status",)]
    twice = "INSERT INTO checkpoint SELECT * FROM checkpoint LIMIT 1"
    with contextlib.closing(sqlite3.connect(house.path)) as base, pytest.raises(sqlite3.IntegrityError):
        base.execute(twice)  # UNIQUE (instance_id, checkpoint_number)


def test_tc_wf_012_sizes_are_measured_after_compression(house: House) -> None:
    """TC-WF-012, C-47: what `checkpoint_size_bytes` is made of."""
    big = {"text": "again and again " * 10_000}
    go(house.runs(asked(WAIT, storage={"encryption": False}), big))
    with house.reading() as door:
        count, total, largest = door.store.checkpoint_sizes()
    assert (count, total) == (1, largest) and 0 < largest < len(msgspec.json.encode(big)) / 50


# ---- killed ----------------------------------------------------------------------------------------------------------


def test_tc_wf_012_killed_at_every_boundary_and_inside_a_wait(tmp_path: Path) -> None:
    """TC-WF-012, W-8.3.2: kill -9 after each commit; the next process goes on; no node that has ended is asked again,
    one in flight only under the same key; checkpoints are numbered without a hole."""
    server = Server(lambda seen: as_json({"path": seen.path}))
    try:
        for kill in range(1, 40):
            folder = tmp_path / str(kill)
            folder.mkdir()
            server.seen.clear()
            args = [sys.executable, "-m", "tests.host.checkpoint_worker", str(folder), server.url, str(server.port)]
            env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
            ended = subprocess.run([*args, str(kill)], env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
            if ended.returncode == 0:
                break
            assert ended.returncode == -signal.SIGKILL, ended.stderr
            house = checkpoint_worker.house(folder, server.url, server.port)

            async def finish(house: House = house) -> str:
                async with house.driving() as host:
                    row = host.store.run_by_key(TENANT, "the-one")
                    assert row is not None
                    await eventually(lambda: host.row(row.id).status == 5)  # type: ignore[union-attr]
                    return row.id

            run = asyncio.run(asyncio.wait_for(finish(), 60))
            keys = Counter(seen.headers["idempotency-key"] for seen in server.seen)
            assert len(keys) == 2 and max(keys.values()) <= 2 and sum(keys.values()) <= 3
            rows = numbered(house, run)
            assert [number for number, *_ in rows] == list(range(1, len(rows) + 1))
            assert rows[-1][2] == "completed" and ("wait_go", "waiting") in [row[1:] for row in rows]
        assert 5 < kill < 39
    finally:
        server.close()
