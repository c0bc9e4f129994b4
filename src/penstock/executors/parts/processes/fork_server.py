"""A small process that forks one worker per job: it holds nothing but imports, so a fork is cheap and safe.

Started by the engine with one end of a socket. A line in is `{"id", "folder", "memory", "cpu", "file_size", "warm"}`
or `{"kill": id}`; a line out is `{"id", "pid"}` and, at the end, `{"id", "status", "cpu_ms", "peak_rss"}`. Each worker
leads a process group that is killed as a whole, and dies with this process; this process ends when the engine does.
What a worker has started outside of its group becomes a child of this process when the worker ends, and is killed, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NICE = 10
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: children of this process, by their numbers
_CHILDREN = Path("/proc/thread-self/children")
_LOOK_S = 2.0


class ForkServer:
    def __init__(self, engine: socket.socket, run_job: Callable[[str], None]) -> None:
        self.engine, self.run_job = engine, run_job
        self.children: dict[int, int] = {}  # process → job
        self.ended_reader, self.ended_writer = os.pipe()
        os.set_blocking(self.ended_writer, False)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(self.ended_writer, warn_on_full_buffer=False)

    def serve(self) -> None:
        pending, above = b"", os.getppid()
        while True:
            ready, _, _ = select.select([self.engine.fileno(), self.ended_reader], [], [], _LOOK_S)
            if os.getppid() != above:  # somebody whom the engine has forked may still hold its end of the socket
                self._end_all()
                return
            if self.ended_reader in ready:
                os.read(self.ended_reader, 4096)
                self._reap()
            if self.engine.fileno() in ready:
                data = self.engine.recv(65536)
                if not data:
                    self._end_all()
                    return
                *lines, pending = (pending + data).split(b"\n")
                for line in lines:
                    self._do(json.loads(line))

    def _do(self, asked: dict[str, Any]) -> None:
        if "kill" in asked:
            for pid, job in self.children.items():
                if job == asked["kill"]:
                    _kill_group(pid)
            return
        for name in asked["warm"]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()
        try:
            pid = os.fork()
        except OSError:
            self._say({"id": asked["id"], "status": None, "cpu_ms": 0, "peak_rss": 0})
            return
        if pid == 0:
            self._be_worker(asked)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self.children[pid] = asked["id"]
        self._say({"id": asked["id"], "pid": pid})

    def _be_worker(self, asked: dict[str, Any]) -> None:
        status = 70
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(0, 0)
            _die_with_parent()
            self.engine.close()
            os.close(self.ended_reader)
            os.close(self.ended_writer)
            _redirect(Path(asked["folder"]) / "log.txt")
            os.chdir(asked["folder"])
            _limit(asked)
            self.run_job(asked["folder"])
            status = 0
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(status)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid in self.children:
                _kill_group(ended.si_pid)  # while nobody else can have its number: what it has started goes with it
            pid, status, used = os.wait4(ended.si_pid, 0)
            job = self.children.pop(pid, None)
            self._kill_orphans()
            if job is not None:
                cpu = int((used.ru_utime + used.ru_stime) * 1000)
                code = os.waitstatus_to_exitcode(status)
                self._say({"id": job, "status": code, "cpu_ms": cpu, "peak_rss": used.ru_maxrss * 1024})

    def _kill_orphans(self) -> None:
        """What a worker has left behind: they come to us when the one above them has ended."""
        with contextlib.suppress(OSError, ValueError):
            for pid in map(int, _CHILDREN.read_text().split()):
                if pid not in self.children:
                    _kill_group(pid)

    def _say(self, line: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self.engine.sendall(json.dumps(line).encode() + b"\n")

    def _end_all(self) -> None:
        for pid in self.children:
            _kill_group(pid)
        for pid in list(self.children):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        self.children.clear()
        with contextlib.suppress(ChildProcessError):
            while True:  # each that ends may leave others
                self._kill_orphans()
                os.wait()


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # it may not lead its group yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _die_with_parent() -> None:
    above = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != above:
        os._exit(1)


def _redirect(log: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(written, 1)
    os.dup2(written, 2)


def _limit(asked: dict[str, Any]) -> None:
    """Memory is what the work takes beyond what a worker has when it begins."""
    with contextlib.suppress(OSError, ValueError):
        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        space = has + int(asked["memory"])
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
    cpu = max(1, int(asked["cpu"]))
    for what, soft, hard in (
        (resource.RLIMIT_CPU, cpu, cpu + 2),
        (resource.RLIMIT_FSIZE, int(asked["file_size"]), int(asked["file_size"])),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (soft, hard))
    with contextlib.suppress(OSError):
        os.nice(_NICE)  # the engine goes first


if __name__ == "__main__":
    ForkServer(socket.socket(fileno=int(sys.argv[1])), importlib.import_module(sys.argv[2]).run_job).serve()
