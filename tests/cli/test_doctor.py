"""penstock doctor: what is wrong is said with a hint, and by the exit code."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock.app.access.audit import AuditLog
from penstock.app.maintenance.doctor import Check, DoctorOptions, examine
from penstock.app.penstock import Penstock
from penstock.cli.main import main
from penstock.cli.settings import read_settings
from penstock.store.sqlite import Sqlite
from tests.app.workflows import workflow


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "p.db"

    async def scene() -> None:
        async with Penstock(path) as door:
            door.load_sample()
            await door.start(door.release(str(_written(tmp_path))), {})
            AuditLog(door.store).record(door.tenant, "somebody", "key.create", "key:1", {})

    asyncio.run(scene())
    return path


def _written(folder: Path) -> Path:
    import json

    file = folder / "wf.json"
    file.write_text(json.dumps(workflow()))
    return file


def told(path: Path, **more: object) -> dict[str, Check]:
    """The worst of each name."""
    store = Sqlite(path, engine=False)
    try:
        asked = DoctorOptions(path=path, store=store, settings={"secrets.key_file": path.with_name("p.db.secret-key")},
                      now=2_000_000_000_000, **more)  # type: ignore[arg-type]  # fmt: skip
        worst = {"ok": 0, "note": 1, "wrong": 2}
        found: dict[str, Check] = {}
        for one in examine(asked):
            if one.name not in found or worst[one.state] > worst[found[one.name].state]:
                found[one.name] = one
        return found
    finally:
        store.close()


def test_a_store_that_is_well(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything is looked at, and it exits with 0."""
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--store", str(store)])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "All is well" in said
    for name in ("store", "journal", "driver", "audit", "disk", "clock", "secrets", "server", "extras", "console"):
        assert f" {name}" in said, name


def test_the_limits_of_a_server_are_shown(store: Path) -> None:
    """What the settings say, and what the system gives; a setting that is none is wrong."""
    store.with_name("settings.toml").write_text('[server]\nheader_s = 7\nproxies = ["10.0.0.0/8"]\n')
    opened = Sqlite(store, engine=False)
    try:
        for settings, states in ((read_settings(store), ["ok", "ok"]), ({"server.header_s": "soon"}, ["wrong"])):
            asked = DoctorOptions(path=store, store=opened, settings=settings, now=1)
            checks = [check for check in examine(asked) if check.name == "server"]
            assert [check.state for check in checks] == states
            says = " ".join(check.says for check in checks)
            assert "7 s" in says and "64 per address" in says and "10.0.0.0/8" in says or states == ["wrong"]
    finally:
        opened.close()


def test_h_sizes_and_long_reads_are_shown(store: Path) -> None:
    """RELIABILITY (h): bodies 1 MiB, documents 5 MiB, values in a row 64 KiB, and from when on a read is beside the
    engine; what the settings say instead; a setting that is none is wrong."""
    usual = "sizes.body_bytes 1,048,576, sizes.document_bytes 5,242,880, sizes.inline_bytes 65,536, reads.loop_facts "
    opened = Sqlite(store, engine=False)
    try:
        for settings, state, says in (
            ({}, "ok", f"{usual}2,000"),
            ({"sizes.body_bytes": 2048, "reads.loop_facts": 7}, "ok", "sizes.body_bytes 2,048, "),
            ({"sizes.body_bytes": "much"}, "wrong", "sizes.body_bytes"),
            ({"reads.loop_facts": -1}, "wrong", "reads.loop_facts"),
        ):
            asked = DoctorOptions(path=store, store=opened, settings=settings, now=1)
            (check,) = [check for check in examine(asked) if check.name == "sizes"]
            assert check.state == state and says in check.says
    finally:
        opened.close()


def test_what_is_wrong_is_named(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-63, K1: a journal that lost a row, an audit that was changed, a secret that is nowhere, a clock
    that went back, a connection that does not answer, a key that others can read."""
    door = Penstock(store, drive=False).open()
    door.register("secret", "lost", {"ref": "env:NOWHERE_TO_BE_FOUND"})
    door.register("secret", "kept", {"value": "v"})
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    door.register("connection", "gone", {"type": "http", "base_url": f"http://127.0.0.1:{port}"})
    door.close()
    store.with_name("p.db.secret-key").chmod(0o644)
    with closing(sqlite3.connect(store)) as c:
        c.execute("UPDATE audit SET actor='nobody'")
        c.execute("UPDATE run SET updated_at=3000000000000")
        c.execute("DELETE FROM journal WHERE run=1 AND seq_from=1")
        c.commit()
    found = told(store, reach=True)
    for name in ("journal", "audit", "secrets", "clock", "connections"):
        assert found[name].state == "wrong" and found[name].hint, found[name]
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--json", "--store", str(store)])
    assert ended.value.code == 3


def test_a_port_that_is_taken_and_a_store_that_is_not_there(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        assert told(store, port=one.getsockname()[1])["port"].state == "note"
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--store", str(store.with_name("none.db"))])
    assert ended.value.code == 2 and not store.with_name("none.db").exists()
