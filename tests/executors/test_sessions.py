"""Sessions: an agent's program under a supervisor that outlives the engine, with real processes, signals and files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.executors.parts.sessions import landlock, process_identity, session_files
from penstock.executors.parts.sessions.process_identity import Identity, identity_of, is_alive, send
from penstock.executors.parts.sessions.session import SessionEnd, beat, read_end, read_state, session_folder
from penstock.executors.parts.sessions.session_id import session_id
from penstock.executors.parts.sessions.sessions import Sessions
from tests.executors.session_bench import SessionBench, agent_command, until
from tests.servers.processes import mark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process trees are told by /proc")
needs_landlock = pytest.mark.skipif(not landlock.version(), reason="this system has no Landlock")

HANG = {"hang": True}
DAEMON = {"setsid": True, "double": True, "ignore_term": True}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[SessionBench]:
    made = SessionBench(tmp_path)
    yield made
    made.sessions.stop(made.folder, "the test is over")  # a test that failed leaves nobody, either


def texts(output: bytes) -> list[str]:
    return [json.loads(line)["content"] for line in output.splitlines()]


# What a session gives and takes


def test_output_prompt_and_exit_code(bench: SessionBench) -> None:
    """T-X.22: the end has the exit code, and the process by its number and start time."""
    errors: list[bytes] = []
    spec = bench.spec(
        [{"prompt": "prompt.txt"}, {"say": "안녕"}, {"stderr": "careful\n"}, {"exit": 7}], stdin="do it, 부탁해"
    )
    end = asyncio.run(bench.sessions.run(spec, bench.pieces.append, errors.append))
    assert (end.kind, end.exit_code, end.signal, end.not_found, end.adopted) == ("exited", 7, None, False, False)
    assert texts(bench.output) == ["안녕"]
    assert b"".join(errors) == b"careful\n"
    assert (bench.work / "prompt.txt").read_text() == "do it, 부탁해"
    assert (end.out_bytes, end.err_bytes, end.dropped_bytes) == (len(bench.output), 8, 0)
    assert end.pid is not None and end.pid_started_at is not None and end.started_at and end.ended_at
    assert abs(end.pid_started_at - end.started_at) < 60_000
    assert read_state(bench.folder).standing == "ended"
    assert bench.left() == []


def test_bytes_are_kept_as_they_are(bench: SessionBench) -> None:
    """Partial lines, garbage and what is no UTF-8 come through byte for byte."""
    steps = [{"parts": ['{"type":', '"mess', 'age"}\n']}, {"hex": "fffe00c328"}, {"raw": "\nno newline at the end"}]
    bench.run_now(steps)
    assert bench.output == b'{"type":"message"}\n\xff\xfe\x00\xc3(\nno newline at the end'


def test_death_by_a_signal(bench: SessionBench) -> None:
    end = bench.run_now([{"progress": 50}, {"die": "KILL"}])
    assert (end.kind, end.exit_code, end.signal) == ("signalled", None, signal.SIGKILL)


@pytest.mark.parametrize("command", ["no-such-program-anywhere", "/nowhere/at/all", "./plain.txt"])
def test_a_command_that_does_not_exist(bench: SessionBench, command: str) -> None:
    """It is told apart from a program that fails."""
    (bench.work / "plain.txt").write_text("no program")
    end = bench.run_now([], command=[command])
    assert (end.kind, end.not_found, end.cwd_missing, end.pid) == ("exited", True, False, None)
    assert command in end.why


def test_a_folder_that_does_not_exist(bench: SessionBench) -> None:
    """A project whose folder is gone."""
    end = bench.run_now([], cwd=bench.home / "gone")
    assert (end.cwd_missing, end.not_found) == (True, False)
    assert str(bench.home / "gone") in end.why


def test_places_relative_to_the_engine(bench: SessionBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor works elsewhere, and still knows which folders were meant."""
    monkeypatch.chdir(bench.home)
    places = {"folder": Path("sessions/s1"), "cwd": Path("work"), "writable": [Path("work")]}
    end = bench.run_now([{"edit": {"here.txt": "yes"}}, {"say": "done"}], **places)
    assert end.exit_code == 0 and texts(bench.output) == ["done"]
    assert (bench.work / "here.txt").exists() and (bench.folder / session_files.EXIT).exists()


def test_a_session_folder_that_cannot_be_made(bench: SessionBench) -> None:
    """A store that cannot be written is no end of a session."""
    (bench.home / "file").write_text("")
    with pytest.raises(OSError):
        bench.run_now([], folder=bench.home / "file" / "s1")


def test_the_environment_is_what_was_allowed(bench: SessionBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark is there; nothing of the engine's is, and no value lies in a file or on a command line."""
    monkeypatch.setenv("ENGINE_SECRET", "engine-secret-5f1c")
    secret = "agent-secret-9ae2"

    async def go() -> None:
        steps = [{"environ": "environ.json"}, {"wait_for": "go"}]
        running = asyncio.create_task(bench.run(steps, env={"API_KEY": secret}))
        await until(lambda: (bench.work / "environ.json").exists() and len(bench.supervisors()) == 3)
        for name, process in bench.supervisors().items():
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
            assert secret.encode() not in line
            assert (secret.encode() in environment) == (name == "agent")
            assert b"engine-secret" not in environment
            assert os.getsid(process.pid) == process.pid  # a signal to a group reaches one of them only
        (bench.work / "go").touch()
        await running

    asyncio.run(go())
    seen = json.loads((bench.work / "environ.json").read_text())
    assert set(seen) - set(mark()) <= {
        "PATH", "API_KEY", "PENSTOCK_SESSION", "PENSTOCK_HEARTBEAT", "TMPDIR", "LC_CTYPE",
    }  # fmt: skip
    assert seen["API_KEY"] == secret
    assert seen["PENSTOCK_SESSION"].startswith("s1-")
    for file in bench.folder.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()


def test_temporary_files_are_taken_away(bench: SessionBench) -> None:
    """T-8.2.5: the agent's temporary files are gone when it has ended."""
    end = bench.run_now([{"shell": 'echo x > "$TMPDIR/x" && test -s "$TMPDIR/x" && echo "$TMPDIR"'}])
    assert end.exit_code == 0
    folder = Path(bench.output.decode().strip())
    assert folder.parent == bench.folder and not folder.exists()


# Limits


def test_timeout_is_term_then_kill(bench: SessionBench) -> None:
    """T-X.19: TERM, the wait, KILL: in the log, in this order."""
    end = bench.run_now([{"ignore": ["TERM"]}, HANG], timeout_s=5, term_s=1)
    assert (end.kind, end.signal, end.kill_failed) == ("timeout", signal.SIGKILL, False)
    log = bench.signals()
    assert [line.get("signal") or f"waited {line['waited_s'] >= 1}" for line in log] == [
        "SIGTERM", "waited True", "SIGKILL",
    ]  # fmt: skip
    assert {line["pid"] for line in log if "signal" in line} == {end.pid}
    assert end.diagnostics["signals"] == log
    assert bench.left() == []


def test_one_that_ends_at_term_is_not_killed(bench: SessionBench) -> None:
    """T-8.2.3: what ends within its time gets no KILL."""
    end = bench.run_now([HANG], timeout_s=2, term_s=60)
    assert (end.kind, end.signal) == ("timeout", signal.SIGTERM)
    assert "SIGKILL" not in [line.get("signal") for line in bench.signals()]


def test_silence_is_a_zombie(bench: SessionBench) -> None:
    """T-8.2.1, T-8.2.2, T-8.2.3, T-8.2.4, T-X.7: verified with cpu and memory, then TERM, the wait, KILL."""
    end = bench.run_now([{"say": "hello"}, {"ignore": ["TERM"]}, HANG], heartbeat_s=5, term_s=1)
    assert (end.kind, end.signal) == ("zombie", signal.SIGKILL)
    assert end.diagnostics["exists"] is True and end.diagnostics["silent_s"] >= 5
    assert end.diagnostics["cpu_ms_since_heartbeat"] >= 0
    process = next(found for found in end.diagnostics["processes"] if found["pid"] == end.pid)
    assert process["rss_bytes"] > 0 and process["cpu_ms"] >= 0 and "scripted_agent" in process["command"]
    assert [line["signal"] for line in bench.signals() if "signal" in line] == ["SIGTERM", "SIGKILL"]
    assert end.last_heartbeat_at is not None and end.ended_at is not None
    assert end.ended_at - end.last_heartbeat_at >= 5000
    assert bench.left() == []


def test_every_kind_of_heartbeat_counts(tmp_path: Path) -> None:
    """T-X.7: bytes on either output, a touched file, or a call from outside: whoever has one is no zombie."""
    quiet = [{"sleep": 0.4}] * 14
    kinds = {
        "stdout": [step for _ in range(14) for step in ({"raw": "."}, {"sleep": 0.4})],
        "stderr": [step for _ in range(14) for step in ({"stderr": "."}, {"sleep": 0.4})],
        "file": [step for _ in range(14) for step in ({"heartbeat": True}, {"sleep": 0.4})],
        "call": quiet,
    }
    benches = {name: SessionBench(tmp_path, name) for name in kinds}

    async def beats() -> None:
        while True:
            beat(benches["call"].folder)
            await asyncio.sleep(0.1)

    async def go() -> dict[str, SessionEnd]:
        beating = asyncio.create_task(beats())
        ends = await asyncio.gather(*(benches[name].run(kinds[name], heartbeat_s=4) for name in kinds))
        beating.cancel()
        return dict(zip(kinds, ends, strict=True))

    ends = asyncio.run(go())
    assert {name: (end.kind, end.exit_code) for name, end in ends.items()} == dict.fromkeys(kinds, ("exited", 0))
    assert beat(benches["call"].folder) is False  # nothing runs there any more


def test_output_beyond_the_limit_is_dropped(bench: SessionBench) -> None:
    """A flood is read to its end, so that nobody blocks, and only so much of it is kept."""
    end = bench.run_now([{"flood": 5_000_000}, {"flood": 1_000_000, "to": "stderr"}], output_max=100_000)
    assert (end.kind, end.exit_code, end.out_bytes, end.err_bytes) == ("exited", 0, 100_000, 100_000)
    assert end.dropped_bytes >= 5_800_000
    assert len(bench.output) == 100_000 == (bench.folder / session_files.OUT).stat().st_size


def test_a_hundred_megabytes_come_in_pieces(bench: SessionBench) -> None:
    """Nobody holds a stream in memory: neither the engine nor the supervisor."""
    sizes: list[int] = []
    peaks: list[int] = []

    def take(piece: bytes) -> None:
        sizes.append(len(piece))
        if len(sizes) % 50 == 0 and "supervisor" in bench.supervisors():
            with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile, and its last pieces are read
                status = Path(f"/proc/{bench.supervisors()['supervisor'].pid}/status").read_text()
                peaks.extend(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))

    end = asyncio.run(bench.sessions.run(bench.spec([{"flood": 100_000_000}]), take))
    assert end.exit_code == 0 and sum(sizes) == end.out_bytes >= 100_000_000
    assert max(sizes) <= 1 << 18 and max(peaks, default=0) < 64 * 1024  # kilobytes


# Stopping


def test_stop_ends_it(bench: SessionBench) -> None:
    """T-X.3: TERM, the wait, KILL, and the reason is on record."""

    async def go() -> SessionEnd:
        running = asyncio.create_task(bench.run([{"ignore": ["TERM"]}, {"say": "on"}, HANG]))
        await until(lambda: bench.pieces)
        bench.sessions.stop(bench.folder, "cancel")
        return await running

    end = asyncio.run(go())
    assert (end.kind, end.why, end.signal) == ("stopped", "cancel", signal.SIGKILL)
    assert [line["signal"] for line in bench.signals() if "signal" in line] == ["SIGTERM", "SIGKILL"]
    assert bench.left() == []


def test_stop_before_it_has_begun(bench: SessionBench) -> None:
    """T-X.3: what is stopped before it begins never begins."""
    bench.sessions.stop(bench.folder, "cancel")
    end = bench.run_now([{"edit": {"ran.txt": "yes"}}])
    assert (end.kind, end.why, end.pid) == ("stopped", "cancel", None)
    assert not (bench.work / "ran.txt").exists()


def test_stop_after_the_end_changes_nothing(bench: SessionBench) -> None:
    """T-X.3: an end that came first wins."""
    end = bench.run_now([{"exit": 0}])
    bench.sessions.stop(bench.folder, "cancel")
    assert read_end(bench.folder) == end


# Engines that come and go


ENGINE = """
import asyncio, sys
from pathlib import Path
from tests.executors.session_bench import SessionBench
bench = SessionBench(Path(sys.argv[1]))
asyncio.run(bench.run(eval(sys.argv[2])))
"""


def start_engine(bench: SessionBench, steps: list[dict[str, Any]]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", ENGINE, str(bench.home), repr(steps)], cwd=Path.cwd())


async def kill_engine(engine: subprocess.Popen[bytes]) -> None:
    engine.kill()
    await asyncio.to_thread(engine.wait)


def test_an_agent_outlives_the_engine_and_is_adopted(bench: SessionBench) -> None:
    """T-X.22: kill -9 of the engine; another one follows the same process to its end, all of its output."""
    steps = [{"append": {"starts.txt": "once\n"}}, {"say": "before"}, {"wait_for": "go"}, {"say": "after"}, {"exit": 5}]

    async def go() -> SessionEnd:
        engine = start_engine(bench, steps)
        await until(lambda: (bench.folder / "out.log").exists() and (bench.folder / "out.log").stat().st_size)
        await kill_engine(engine)
        assert read_state(bench.folder).standing == "running"
        running = asyncio.create_task(bench.run(steps))
        await until(lambda: bench.pieces)
        (bench.work / "go").touch()
        return await running

    end = asyncio.run(go())
    assert (end.kind, end.exit_code, end.adopted) == ("exited", 5, True)
    assert texts(bench.output) == ["before", "after"]
    assert (bench.work / "starts.txt").read_text() == "once\n"
    assert bench.left() == []


def test_the_end_of_one_that_ended_meanwhile(bench: SessionBench) -> None:
    """While no engine lived, the agent ended by itself; its exit code and output are there."""
    steps = [{"say": "on"}, {"wait_for": "go"}, {"say": "done"}, {"exit": 4}]

    async def go() -> SessionEnd:
        engine = start_engine(bench, steps)
        await until(lambda: (bench.folder / "out.log").exists() and (bench.folder / "out.log").stat().st_size)
        await kill_engine(engine)
        (bench.work / "go").touch()
        await until(lambda: read_state(bench.folder).standing == "ended")
        return await bench.run(steps)

    end = asyncio.run(go())
    assert (end.kind, end.exit_code, end.adopted) == ("exited", 4, True)
    assert texts(bench.output) == ["on", "done"]


def test_limits_hold_while_no_engine_lives(bench: SessionBench) -> None:
    """T-X.19, T-X.22: the supervisor ends a late agent and all that it has started, with nobody watching."""
    spec = bench.spec({"steps": [{"fork": DAEMON}, {"say": "on"}, HANG], "count": str(bench.count)}, timeout_s=6)

    async def go() -> SessionEnd:
        running = asyncio.create_task(bench.sessions.run(spec, bench.pieces.append))
        await until(lambda: bench.pieces)
        running.cancel()  # an engine that closes: the agent goes on
        with pytest.raises(asyncio.CancelledError):
            await running
        bench.sessions.close()
        assert read_state(bench.folder).standing == "running"
        await until(lambda: read_state(bench.folder).standing == "ended")
        return await Sessions().run(spec, bench.pieces.append)

    end = asyncio.run(go())
    assert (end.kind, end.adopted) == ("timeout", True)
    assert len(bench.counted()) == 2
    assert bench.left() == []


def test_a_supervisor_killed_while_no_engine_lives(bench: SessionBench) -> None:
    """T-X.22: its guard ends what it has left, also what has lost its mark, and puts an end on record."""
    steps = {"steps": [{"fork": DAEMON | {"clear_env": True}}, {"say": "on"}, HANG], "count": str(bench.count)}

    async def go() -> None:
        running = asyncio.create_task(bench.run(steps))
        await until(lambda: bench.pieces and len(bench.supervisors()) == 3)
        running.cancel()
        assert send(bench.supervisors()["supervisor"], signal.SIGKILL)
        await until(lambda: read_state(bench.folder).standing != "running")

    asyncio.run(go())
    end = read_end(bench.folder)
    assert end is not None and (end.kind, end.signal, end.kill_failed) == ("signalled", signal.SIGKILL, False)
    assert end.pid == bench.supervisors()["agent"].pid and end.out_bytes == len(bench.output)
    assert len(bench.counted()) == 2
    assert [pid for pid in bench.left() if pid != bench.supervisors()["guard"].pid] == []


def test_both_supervisors_killed_while_no_engine_lives(bench: SessionBench) -> None:
    """T-X.22: nobody knows how it ended: lost; what is left is ended, also what has lost its mark."""
    steps = {"steps": [{"fork": DAEMON | {"clear_env": True}}, {"say": "on"}, HANG], "count": str(bench.count)}

    async def go() -> SessionEnd:
        running = asyncio.create_task(bench.run(steps))
        await until(lambda: {process.pid for _, process in bench.counted()} <= set(bench.recorded()) and bench.pieces)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        for name in ("guard", "supervisor"):
            assert send(bench.supervisors()[name], signal.SIGKILL)
        await until(lambda: read_state(bench.folder).standing == "lost")
        (daemon,) = [process for what, process in bench.counted() if what == "fork"]
        assert is_alive(daemon)
        return await bench.run(steps)

    end = asyncio.run(go())
    assert (end.kind, end.adopted, end.kill_failed) == ("lost", True, False)
    assert read_end(bench.folder, adopted=True) == end  # whoever asks again hears the same
    assert bench.left() == []


def test_stop_of_one_that_was_lost(bench: SessionBench) -> None:
    """T-X.3, T-X.22: whoever stops a session without supervisors leaves nobody behind, either."""
    steps = {"steps": [{"fork": DAEMON}, {"say": "on"}, HANG], "count": str(bench.count)}

    async def go() -> None:
        running = asyncio.create_task(bench.run(steps))
        await until(lambda: bench.pieces and len(bench.supervisors()) == 3)
        running.cancel()
        for name in ("guard", "supervisor"):
            assert send(bench.supervisors()[name], signal.SIGKILL)
        await until(lambda: read_state(bench.folder).standing == "lost")
        bench.sessions.stop(bench.folder, "cancel")
        await until(lambda: read_state(bench.folder).standing == "ended")

    asyncio.run(go())
    end = read_end(bench.folder)
    assert end is not None and (end.kind, end.why) == ("stopped", "cancel")
    assert bench.left() == []


def test_a_session_starts_once_whoever_starts_it(bench: SessionBench) -> None:
    """Several engines at the same time: one agent, and the same end for all of them."""
    steps = [{"append": {"starts.txt": "once\n"}}, {"say": "hello"}, {"sleep": 0.5}, {"exit": 6}]

    async def go() -> list[SessionEnd]:
        return await asyncio.gather(*(bench.run(steps) for _ in range(5)))

    ends = asyncio.run(go())
    assert [end.exit_code for end in ends] == [6] * 5
    assert sorted(end.adopted for end in ends) == [False, True, True, True, True]
    assert (bench.work / "starts.txt").read_text() == "once\n"
    assert texts(bench.output) == ["hello"] * 5


def test_following_from_where_one_was(bench: SessionBench) -> None:
    bench.run_now([{"raw": "0123456789"}])
    again: list[bytes] = []
    asyncio.run(bench.sessions.run(bench.spec([]), again.append, after=6))
    assert again == [b"6789"]


# Whose process it is


def test_a_number_that_is_another_process_is_never_signalled() -> None:
    """T-X.22: pid and start time, both."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        known = identity_of(other.pid)
        for wrong in (known._replace(start=known.start - 1), known._replace(boot="another start of the machine")):
            assert not is_alive(wrong)
            assert not send(wrong, signal.SIGKILL)
        assert other.poll() is None and is_alive(known)
        assert send(known, signal.SIGKILL)
    finally:
        other.kill()
        other.wait()
    assert not is_alive(known)
    assert not send(Identity(1, 0, process_identity.boot_id()), signal.SIGKILL)


def test_start_times_are_told_in_milliseconds() -> None:
    """T-X.22: pidStartedAt."""
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        at = process_identity.started_at_ms(identity_of(other.pid))
        assert at is not None and abs(at - time.time() * 1000) < 60_000
    finally:
        other.communicate(b"\n")


def test_ids_and_folders(tmp_path: Path) -> None:
    """The same effect and attempt are the same session, also for another engine."""
    assert session_id("run/node/1", 1) == session_id("run/node/1", 1) != session_id("run/node/1", 2)
    assert session_folder(tmp_path, "r1", "s1") == tmp_path / "r1" / "s1"
    assert read_state(tmp_path / "nothing").standing == "absent"


# Where it may write


@needs_landlock
def test_only_its_places_are_writable(bench: SessionBench) -> None:
    """Reading is free; writing only where it was allowed, for what it starts as well."""
    outside, also = bench.home / "outside", bench.home / "also"
    for folder in (outside, also):
        folder.mkdir()
    (outside / "read.txt").write_text("readable")
    tried = [
        bench.work / "a",
        also / "b",
        Path("/dev/null"),
        outside / "c",
        outside / "read.txt",
        bench.folder / "exit.json",
    ]
    moved = f"ln {bench.work}/a {also}/moved && cat {outside}/read.txt && echo x > /dev/null"
    forbidden = f"setsid sh -c 'echo x > {outside}/d || rm {outside}/read.txt || mv {also}/moved {outside}/e'"
    steps = [*({"try_write": str(path)} for path in tried), {"shell": moved}, {"shell": forbidden}, {"exit": 0}]
    end = bench.run_now(steps, writable=[bench.work, also, bench.home / "not there"])
    assert end.landlock is True
    said = [json.loads(line)["content"].split()[0] for line in bench.output.splitlines()[: len(tried)]]
    assert said == ["written"] * 3 + ["PermissionError"] * 3
    assert b"readable" in bench.output
    assert end.exit_code != 0  # of the last line of shell, which could do none of the three
    assert (also / "moved").exists()
    assert [file.name for file in outside.iterdir()] == ["read.txt"]


@needs_landlock
def test_without_the_restriction_it_says_so(bench: SessionBench) -> None:
    end = bench.run_now([{"try_write": str(bench.home / "anywhere")}], writable=None)
    assert end.landlock is False
    assert texts(bench.output)[0].startswith("written")


@pytest.mark.skipif(landlock.version() < 6, reason="this system cannot keep signals in")
def test_an_agent_cannot_signal_its_supervisor(bench: SessionBench) -> None:
    """Nor anybody else outside."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        steps = [{"signal": {"whom": "parent", "number": "KILL"}}, {"shell": f"kill -9 {other.pid}", "goes_on": True}]
        end = bench.run_now([*steps, {"exit": 9}])
        assert (end.kind, end.exit_code) == ("exited", 9)
        assert texts(bench.output) == ["PermissionError signal"]
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_the_supervisor_is_a_program(bench: SessionBench) -> None:
    """It can be started by hand, and imports nothing but the standard library."""
    bench.folder.mkdir(parents=True)
    (bench.folder / session_files.PROMPT).write_text("")
    given = {
        "command": agent_command([{"exit": 3}]), "cwd": str(bench.work), "env": {}, "mark": "by-hand", "writable": None,
        "timeout_s": 60, "heartbeat_s": None, "term_s": 1, "kill_s": 1, "output_max": 1000,
    }  # fmt: skip
    name = "penstock.executors.parts.sessions.supervisor"
    line = [sys.executable, "-m", name, str(bench.folder)]
    subprocess.run(line, input=json.dumps(given).encode(), check=True)
    end = read_end(bench.folder)
    assert end is not None and end.exit_code == 3
    assert subprocess.run(line, input=json.dumps(given).encode()).returncode == 3  # it was claimed
    assert read_end(bench.folder) == end
