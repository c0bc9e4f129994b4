"""Jobs in worker processes of their own: limited, killed when nobody waits any more, and gone when we are."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import itertools
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

#: what a worker sees of the environment; secrets of the engine are none of its business
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "TESSDATA_PREFIX", "SSL_CERT_FILE")


class WorkerLimits(msgspec.Struct, frozen=True):
    memory_bytes: int
    cpu_seconds: int
    file_bytes: int


class WorkerEnd(msgspec.Struct, frozen=True):
    """`status` is an exit code, or a signal's number with a minus; None: there was no process to begin with."""

    id: int
    status: int | None
    cpu_ms: int = 0
    peak_rss: int = 0


class _Line(msgspec.Struct):
    id: int
    pid: int | None = None
    status: int | None = None
    cpu_ms: int = 0
    peak_rss: int = 0


class _Waiting(msgspec.Struct):
    loop: asyncio.AbstractEventLoop
    ended: asyncio.Future[WorkerEnd]
    connection: socket.socket | None
    pid: int | None = None


class ForkedWorkers:
    """`entry` is the module whose `run_job(folder)` a worker calls. The fork server is started when it is first needed,
    and again when it was lost."""

    def __init__(self, entry: str) -> None:
        self._entry = entry
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._waiting: dict[int, _Waiting] = {}
        self._ids = itertools.count(1)
        self.closed = False  # until something begins again

    async def run(self, folder: Path, limits: WorkerLimits, warm: tuple[str, ...] = ()) -> WorkerEnd:
        """Does the job that lies in the folder. Whoever is cancelled here leaves no process behind."""
        loop = asyncio.get_running_loop()
        job = next(self._ids)
        ended: asyncio.Future[WorkerEnd] = loop.create_future()
        asked = {
            "id": job, "folder": str(folder), "memory": limits.memory_bytes, "cpu": limits.cpu_seconds,
            "file_size": limits.file_bytes, "warm": warm,
        }  # fmt: skip
        with self._lock:
            self._send(asked)
            self._waiting[job] = _Waiting(loop, ended, self._socket)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            with self._lock:
                if not ended.done():
                    self._send({"kill": job})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(ended), 5)
            raise

    def pids(self) -> list[int]:
        """The workers that are at work."""
        with self._lock:
            return [waiting.pid for waiting in self._waiting.values() if waiting.pid is not None]

    def close(self) -> None:
        with self._lock:
            self.closed = True
            server, self._server = self._server, None
            connection, self._socket = self._socket, None
        if server is not None and connection is not None:
            atexit.unregister(self.close)
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            server.wait()

    def _send(self, line: dict[str, object]) -> None:
        """Under the lock. A server that was lost is found out by who reads; only what begins starts a new one."""
        if self._socket is None:
            if "kill" in line:
                return
            self._start()
        assert self._socket is not None
        with contextlib.suppress(OSError):
            self._socket.sendall(msgspec.json.encode(line) + b"\n")

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        environment |= {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "MALLOC_ARENA_MAX": "2"}
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        line = [sys.executable, "-m", "penstock.executors.parts.processes.fork_server", str(theirs.fileno())]
        with theirs:
            server = subprocess.Popen(
                [*line, self._entry], pass_fds=[theirs.fileno()], env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        self._server, self._socket, self.closed = server, ours, False
        atexit.register(self.close)
        threading.Thread(target=self._read, args=(server, ours), name="penstock-workers", daemon=True).start()

    def _read(self, server: subprocess.Popen[bytes], connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection.makefile("rb") as lines:
            for line in lines:
                self._heard(msgspec.json.decode(line, type=_Line))
        with self._lock:
            if self._socket is connection:
                self._socket, self._server = None, None
                atexit.unregister(self.close)
            lost = {job: waiting for job, waiting in self._waiting.items() if waiting.connection is connection}
            for job in lost:
                del self._waiting[job]
            connection.close()
        server.wait()
        for job, waiting in lost.items():
            _settle(waiting, WorkerEnd(job, None))

    def _heard(self, line: _Line) -> None:
        with self._lock:
            waiting = self._waiting.get(line.id)
            if waiting is None:
                return
            if line.pid is not None:
                waiting.pid = line.pid
                return
            del self._waiting[line.id]
        _settle(waiting, WorkerEnd(line.id, line.status, line.cpu_ms, line.peak_rss))


def _settle(waiting: _Waiting, end: WorkerEnd) -> None:
    def settle() -> None:
        if not waiting.ended.done():
            waiting.ended.set_result(end)

    with contextlib.suppress(RuntimeError):  # the loop has ended; nobody waits
        waiting.loop.call_soon_threadsafe(settle)
