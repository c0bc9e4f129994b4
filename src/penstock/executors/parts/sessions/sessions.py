"""Sessions of the engine: starts, adopts, follows and stops agents that run under supervisors of their own.

The engine holds no pipe to an agent and waits for no child: everything is read from the session's folder. So an engine
that was killed loses nothing, and another one goes on where it was. Whoever cancels `run` leaves the agent running;
only `stop` ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from penstock.executors.parts.sessions import process_identity, process_tree, session_files
from penstock.executors.parts.sessions.output_tail import OutputTail
from penstock.executors.parts.sessions.process_identity import Identity
from penstock.executors.parts.sessions.session import (
    SessionEnd,
    SessionSpec,
    read_end,
    session_mark,
    standing_of,
    supervisors_of,
)

_QUICK_S, _SLOW_S = 0.02, 0.25  # between two looks at the output: while it flows, and when it rests
_CHECK_S = 1.0  # between two looks whether the supervisors live
_START_S = 60.0  # a busy machine starts an interpreter slowly
_KILL_S = 10.0
_LEAVE_S = 10.0  # a supervisor that has written the end leaves at once

#: Runs `supervisor.main` without what the packages above it import: that would take ten times as long.
_START = (
    "import sys, types\n"
    "name = ''\n"
    "for part in 'penstock.executors.parts.sessions'.split('.'):\n"
    "    name = f'{name}.{part}'.lstrip('.')\n"
    "    package = sys.modules[name] = types.ModuleType(name)\n"
    "    package.__path__ = []\n"
    "package.__path__ = [sys.argv[1]]\n"
    "from penstock.executors.parts.sessions import supervisor\n"
    "sys.exit(supervisor.main(sys.argv[2]))\n"
)


class SessionNotStarted(OSError):
    """The supervisor itself could not be started; nothing has run, and the folder may be used again."""


class Sessions:
    """`environment` is what supervisors see of one; agents see what their spec says, and nothing of this."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = dict(environment or {})

    async def run(
        self,
        spec: SessionSpec,
        on_output: Callable[[bytes], None],
        on_error_output: Callable[[bytes], None] | None = None,
        after: int = 0,
    ) -> SessionEnd:
        """Starts the session of that folder, or adopts it, or takes the end of one that has ended meanwhile. What the
        agent writes is handed on from byte `after`, all of it before this returns. Raises OSError when the folder
        cannot be written; a command that does not exist is an end."""
        adopted = await asyncio.to_thread(standing_of, spec.folder) != "absent"
        if not adopted:
            supervisor = await asyncio.to_thread(self._start, spec)
            adopted = await _claimed_by_other(spec.folder, supervisor)
        tails = [OutputTail(spec.folder / session_files.OUT, on_output, after)]
        if on_error_output is not None:
            tails.append(OutputTail(spec.folder / session_files.ERR, on_error_output, 0))
        try:
            return await _follow(spec, tails, adopted)
        finally:
            for tail in tails:
                tail.close()

    def stop(self, folder: Path, why: str) -> None:
        """Asks the supervisor to end the agent (T-X.3: TERM, wait, KILL); `run` then returns the end, of kind `stopped`
        unless it had ended by itself. A session that has not begun yet will end before it begins."""
        standing = standing_of(folder)
        if standing == "ended":
            return
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        session_files.write_bytes(folder / session_files.STOP, (why or "stop").encode(errors="replace"))
        claim = session_files.read(folder / session_files.CLAIM)
        if standing == "lost":
            ending = (folder, "stopped", why, _KILL_S)
            threading.Thread(target=_end_lost, args=ending, name="penstock-session", daemon=True).start()
        elif claim is not None:
            process_identity.send(supervisors_of(folder, claim)[0], signal.SIGTERM)  # so that it looks at once

    def close(self) -> None:
        """Nothing: supervisors and agents go on, for the next engine to adopt."""

    def _start(self, spec: SessionSpec) -> subprocess.Popen[bytes]:
        """In a thread: making a process takes a while. The input is no file that anybody else could read."""
        spec.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        session_files.write_bytes(spec.folder / session_files.PROMPT, spec.stdin.encode(errors="surrogateescape"))
        given = {
            "command": list(spec.command), "cwd": str(spec.cwd.absolute()), "env": dict(spec.env),
            "mark": session_mark(spec.folder),
            "writable": None if spec.writable is None else [str(path.absolute()) for path in spec.writable],
            "timeout_s": spec.timeout_s, "heartbeat_s": spec.heartbeat_s, "term_s": spec.term_s, "kill_s": spec.kill_s,
            "output_max": spec.output_max,
        }  # fmt: skip
        session_files.write(spec.folder / session_files.SPEC, given | {"env": sorted(spec.env)})
        environment = {name: os.environ[name] for name in ("PATH", "TZ") if name in os.environ} | self._environment
        with _memory_file() as told, open(spec.folder / session_files.LOG, "ab") as log:
            told.write(session_files.encode(given))
            told.seek(0)
            line = [*_interpreter(), "-c", _START, str(Path(__file__).parent), str(spec.folder.absolute())]
            process = subprocess.Popen(
                line, stdin=told, stdout=log, stderr=log, cwd="/", env=environment, start_new_session=True
            )
        threading.Thread(target=process.wait, name="penstock-session", daemon=True).start()  # else it stays a zombie
        return process


async def _claimed_by_other(folder: Path, process: subprocess.Popen[bytes]) -> bool:
    """Waits until somebody has claimed the session: our supervisor, or that of another engine, which was first."""
    until, wait = time.monotonic() + _START_S, 0.01
    while True:
        code = process.returncode
        claim = session_files.read(folder / session_files.CLAIM)
        if claim is not None:
            return bool(claim["guard"]["pid"] != process.pid)
        if code is not None or time.monotonic() > until:
            log = (folder / session_files.LOG).read_text(errors="replace")[-2000:]
            raise SessionNotStarted(f"the supervisor did not start ({code}): {log}")
        await asyncio.sleep(wait)
        wait = min(wait * 1.5, 0.05)


async def _follow(spec: SessionSpec, tails: list[OutputTail], adopted: bool) -> SessionEnd:
    folder, wait, checked, seen_alive = spec.folder, _QUICK_S, 0.0, not adopted
    with _watch(folder) as gone:
        while True:
            ended = (folder / session_files.EXIT).exists()  # before the output is read: then it is all there
            pieces = [tail.read() for tail in tails]
            if any(pieces):
                wait = _QUICK_S
                await asyncio.sleep(0)
                continue
            if ended:
                break
            if gone.is_set() or time.monotonic() - checked >= _CHECK_S:
                checked, standing = time.monotonic(), standing_of(folder)
                seen_alive = seen_alive or standing == "running"
                if standing == "lost":
                    kind = "signalled" if seen_alive else "lost"
                    await asyncio.to_thread(_end_lost, folder, kind, "its supervisors were killed", spec.kill_s)
                    continue
                gone.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(gone.wait(), wait)
            wait = min(wait * 1.5, _SLOW_S)
        await _left(folder, gone)
    end = read_end(folder, adopted=adopted)
    assert end is not None, "an end is written as a whole, and never taken away"
    return end


@contextlib.contextmanager
def _watch(folder: Path) -> Iterator[asyncio.Event]:
    """The event is set when the guard is gone: then there is an end, or none will come."""
    gone, loop = asyncio.Event(), asyncio.get_running_loop()
    claim = session_files.read(folder / session_files.CLAIM)
    descriptor = _descriptor(Identity.read(claim["guard"])) if claim else None
    if descriptor is None:
        yield gone
        return

    def tell() -> None:
        loop.remove_reader(descriptor)
        gone.set()

    loop.add_reader(descriptor, tell)
    try:
        yield gone
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def _descriptor(process: Identity) -> int | None:
    if not process_identity.HAS_PROC or not hasattr(os, "pidfd_open"):
        return None
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(process.pid)
        if process_identity.is_alive(process):
            return descriptor
        os.close(descriptor)
    return None


async def _left(folder: Path, gone: asyncio.Event) -> None:
    """Until the supervisors have left, too: who is told of the end finds nobody."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(gone.wait(), _QUICK_S)
    claim = session_files.read(folder / session_files.CLAIM)
    until = time.monotonic() + _LEAVE_S
    while claim is not None and time.monotonic() < until:
        if not any(map(process_identity.is_alive, supervisors_of(folder, claim))):
            return
        await asyncio.sleep(0.005)


def _end_lost(folder: Path, kind: str, why: str, seconds: float) -> None:
    """Both supervisors were killed: ends what they have left, and puts an end on record, if nobody was faster."""
    log = process_tree.SignalLog(folder / session_files.SIGNALS)
    state = session_files.read(folder / session_files.STATE) or {}
    recorded = [Identity.read(found) for found in (state.get("agent"), *state.get("tree", [])) if found]
    done = process_tree.end_rest(session_mark(folder), "supervisors killed", log, seconds, recorded=recorded)
    known = {name: state.get(name) for name in ("pid", "pid_started_at", "started_at", "last_heartbeat_at")}
    end = known | {
        "kind": kind, "signal": 9 if kind == "signalled" else None, "ended_at": int(time.time() * 1000), "why": why,
        "kill_failed": not done, "landlock": bool(state.get("landlock")), "diagnostics": {"signals": log.lines},
    }  # fmt: skip
    session_files.create(folder / session_files.EXIT, end)


def _interpreter() -> list[str]:
    """Without site packages. It keeps compiled files where this one does."""
    line = [sys.executable, "-I", "-S"]
    if sys.dont_write_bytecode:
        line.append("-B")
    if sys.pycache_prefix:
        line += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return line


def _memory_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("penstock-session"), "w+b")
    return tempfile.TemporaryFile()
