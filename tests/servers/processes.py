"""Nothing outlives the tests: what they start is known by a mark in its environment, ended, and named if it was left.

The pytest that somebody started marks its environment, and every process below it inherits the mark. What all tests of
one process share registers how it is ended (`at_end`): when that process has run its tests. Then the first pytest looks
for processes with the mark that still live: they are ended, and the run has failed. If it is killed itself, a guard
beside it ends what is left and takes away the files.

This file imports nothing but the standard library: the guard is this file, and must start in an instant.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

#: runs inside runs are separated by colons, so that the outer one knows what the inner one started
VARIABLE = "PYTEST_PENSTOCK_RUN"
#: ends with the process that has started it, and not before
HELPER = "multiprocessing.resource_tracker"
PATIENCE = 5.0  # seconds for what is on its way out

_endings: list[Callable[[], object]] = []


def at_end(end: Callable[[], object]) -> None:
    """Call it when all tests of this process have run; what was registered last goes first."""
    if not _endings:
        atexit.register(end_shared)  # outside pytest, too: tools use these servers
    _endings.append(end)


def end_shared() -> None:
    with contextlib.ExitStack() as endings:  # all of them, also after one that fails
        for end in _endings:
            endings.callback(end)
        _endings.clear()


def mark() -> dict[str, str]:
    """What the environment of a process needs that is given nothing else of ours."""
    return {name: os.environ[name] for name in (VARIABLE, "PYTEST_CURRENT_TEST") if name in os.environ}


def folder() -> Path:
    """Where servers keep their files, gone after the run whatever happens."""
    return Path(os.environ[VARIABLE].rpartition(":")[2]) if VARIABLE in os.environ else Path(tempfile.gettempdir())


@dataclass(frozen=True)
class Left:
    """A process that lives although the tests are over."""

    pid: int
    command: str
    test: str

    def __str__(self) -> str:
        return f"{self.pid} {self.command[:200]}" + (f" (started by {self.test})" if self.test else "")


class Run:
    """One run of pytest as somebody asked for it: alone, or with workers."""

    def __init__(self) -> None:
        self.home = tempfile.mkdtemp(prefix="penstock-tests-")
        Path(self.home).chmod(0o755)  # a server may run as somebody else
        outer = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = self.name = f"{outer}:{self.home}" if outer else self.home
        unmarked = {name: value for name, value in os.environ.items() if name != VARIABLE}
        # of a session of its own, so that Ctrl-C in a terminal is not for it
        self.guard = subprocess.Popen(
            [sys.executable, "-S", __file__, str(os.getpid()), self.name], env=unmarked, start_new_session=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def close(self, patience: float) -> list[Left]:
        """What was left, ended now."""
        left = sweep(self.name, patience)
        self.guard.kill()
        self.guard.wait()
        shutil.rmtree(self.home, ignore_errors=True)
        outer = self.name.rpartition(":")[0]
        if outer:
            os.environ[VARIABLE] = outer
        else:
            os.environ.pop(VARIABLE, None)
        return left


def living(run: str) -> list[Left]:
    """The processes that carry the mark of a run, or of one inside it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # ended just now, or somebody else's
            given = (process / "environ").read_bytes().decode(errors="replace").split("\0")
            environment = dict(line.partition("=")[::2] for line in given)
            if f"{environment.get(VARIABLE, '')}:".startswith(f"{run}:"):
                command = (process / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ").strip()
                if command and HELPER not in command and int(process.name) != os.getpid():
                    test = environment.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
                    found.append(Left(int(process.name), command, test))
    return sorted(found, key=lambda left: left.pid)


def sweep(run: str, patience: float) -> list[Left]:
    """What still lives after that long, first asked to end and then killed."""
    left = _after(run, patience)
    for number, seconds in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 3.0)):
        for process in living(run) if left else ():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)
        if not left or not _after(run, seconds):
            break
    return left


def _after(run: str, seconds: float) -> list[Left]:
    until = time.monotonic() + seconds
    while (found := living(run)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def _guard(parent: int, run: str) -> None:
    """Waits until pytest is gone; had it come to its end, it would have ended us first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while os.getppid() == parent:
        time.sleep(0.2)
    sweep(run, 0)
    shutil.rmtree(run.rpartition(":")[2], ignore_errors=True)


if __name__ == "__main__":
    _guard(int(sys.argv[1]), sys.argv[2])
