"""Which process this is: its number and its start time, because numbers are used again (T-X.22). Standard library only.

Where there is no /proc (macOS), the start time is 0 and only the number is compared.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

PROC = Path("/proc")
HAS_PROC = sys.platform == "linux" and (PROC / "self/stat").exists()
_DEAD = ("Z", "X", "x")
#: field numbers in what follows the name of the program in /proc/PID/stat
_STATE, _PARENT, _GROUP, _USER_TIME, _SYSTEM_TIME, _THREADS, _START, _PAGES = 0, 1, 2, 11, 12, 17, 19, 21


class Identity(NamedTuple):
    pid: int
    start: int  # clock ticks since the machine was started
    boot: str  # which start of the machine

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Identity:
        return cls(int(found["pid"]), int(found["start"]), str(found["boot"]))

    def as_json(self) -> dict[str, Any]:
        return self._asdict()


class Stat(NamedTuple):
    pid: int
    state: str
    parent: int
    group: int
    start: int
    cpu_ms: int
    rss_bytes: int
    threads: int

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start, boot_id())


def stat_of(pid: int) -> Stat | None:
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    fields = (
        text.rpartition(b")")[2].decode().split()
    )  # the name of a program may hold anything, also blanks and brackets
    numbers = [int(fields[n]) for n in (_PARENT, _GROUP, _START, _USER_TIME, _SYSTEM_TIME, _PAGES, _THREADS)]
    parent, group, start, user, system, pages, threads = numbers
    cpu_ms = (user + system) * 1000 // os.sysconf("SC_CLK_TCK")
    return Stat(pid, fields[_STATE], parent, group, start, cpu_ms, pages * os.sysconf("SC_PAGE_SIZE"), threads)


def identity_of(pid: int) -> Identity:
    found = stat_of(pid) if HAS_PROC else None
    return Identity(pid, found.start if found else 0, boot_id())


def is_alive(process: Identity) -> bool:
    """A process that has ended and was not waited for is not alive."""
    if process.boot != boot_id():
        return False
    if not HAS_PROC:
        return _answers(process.pid)
    found = stat_of(process.pid)
    return found is not None and found.start == process.start and found.state not in _DEAD


def send(process: Identity, number: int) -> bool:
    """Signals this very process, and no other that has got its number since. False: it is gone, or not ours."""
    if process.pid <= 1 or process.boot != boot_id():
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if HAS_PROC and hasattr(os, "pidfd_open"):
            return _send_by_descriptor(process, number)
        if is_alive(process):
            os.kill(process.pid, number)
            return True
    return False


def started_at_ms(process: Identity) -> int | None:
    """The start time for people, in milliseconds since the epoch; to compare processes, compare identities."""
    if not HAS_PROC or not process.start:
        return None
    running = time.clock_gettime(time.CLOCK_BOOTTIME) - process.start / os.sysconf("SC_CLK_TCK")
    return int((time.time() - running) * 1000)


@cache
def boot_id() -> str:
    with contextlib.suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return ""


def _send_by_descriptor(process: Identity, number: int) -> bool:
    """The descriptor holds on to the process, so that what is checked after opening it is what gets the signal."""
    descriptor = os.pidfd_open(process.pid)
    try:
        found = stat_of(process.pid)
        if found is None or found.start != process.start:
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    finally:
        os.close(descriptor)


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
