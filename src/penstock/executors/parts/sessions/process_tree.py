"""The processes of a session: below a process, or marked in their environment; and ending all. Standard library only.

Rule: a signal goes only to a process whose chain of parents was seen to lead to ours, or that carries the session's
mark, or that stood in the session's own record; each checked by number and start time (T-X.22).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock.executors.parts.sessions.process_identity import (
    HAS_PROC,
    PROC,
    Identity,
    Stat,
    is_alive,
    send,
    stat_of,
)

MARK = "PENSTOCK_SESSION"
_DEAD = ("Z", "X", "x")
_LOGGED_MAX = 500  # a fork bomb would fill the log
_TOLD_MAX, _LINES_MAX = 20, 50
_KNOWS_CHILDREN = (PROC / "thread-self/children").exists()  # a kernel may be built without


def children_of(pid: int) -> list[int]:
    """Also those that have ended and were not waited for. A child belongs to the thread that has forked it."""
    if not _KNOWS_CHILDREN:
        return [stat.pid for stat in _all_processes() if stat.parent == pid]
    found: list[int] = []
    with contextlib.suppress(OSError):
        with os.scandir(f"{PROC}/{pid}/task") as threads:
            for thread in threads:
                with contextlib.suppress(OSError), open(f"{thread.path}/children", "rb") as file:
                    found += map(int, file.read().split())
    return found


def descendants_of(root: int) -> list[Stat]:
    """All that live below this process, nearest first."""
    if not HAS_PROC:
        return []
    found: list[Stat] = []
    known, waiting = {root}, [root]
    while waiting:
        for child in children_of(waiting.pop(0)):
            stat = stat_of(child)
            if stat is None or child in known or stat.parent not in known:  # gone, or its number is another's by now
                continue
            known.add(child)
            waiting.append(child)
            if stat.state not in _DEAD:
                found.append(stat)
    return found


def marked(mark: str) -> list[Stat]:
    """All whose environment carries the mark of a session, whoever their parents are."""
    line, found = f"{MARK}={mark}".encode(), []
    for stat in _all_processes():
        if stat.state in _DEAD or stat.pid == os.getpid():
            continue
        with contextlib.suppress(OSError):  # gone, or somebody else's
            with open(f"{PROC}/{stat.pid}/environ", "rb") as file:
                environment = file.read()
            if line in environment and line in environment.split(b"\0") and is_alive(stat.identity):
                found.append(stat)
    return found


def usage_of(stats: Iterable[Stat]) -> list[dict[str, Any]]:
    """What processes do and take (T-8.2.2), for whoever wants to know why one was silent."""
    told = []
    for stat in list(stats)[:_TOLD_MAX]:
        command = waits_in = ""
        with contextlib.suppress(OSError):
            command = (PROC / str(stat.pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        with contextlib.suppress(OSError):
            waits_in = (PROC / str(stat.pid) / "wchan").read_text()
        told.append({
            "pid": stat.pid, "state": stat.state, "cpu_ms": stat.cpu_ms, "rss_bytes": stat.rss_bytes,
            "threads": stat.threads, "waits_in": waits_in, "command": command[:200],
        })  # fmt: skip
    return told


class SignalLog:
    """What was sent when, and why: a line of JSON each."""

    def __init__(self, path: Path) -> None:
        self._path, self._known = path, set[tuple[object, ...]]()
        self.lines: list[dict[str, Any]] = []

    def sent(self, number: int, process: Identity, why: str, *, group: bool = False) -> None:
        known = (number, process, group)
        if known in self._known or len(self._known) >= _LOGGED_MAX:
            return
        self._known.add(known)
        name = signal.Signals(number).name
        self.add({"signal": name, "pid": process.pid, "start": process.start, "group": group, "why": why})

    def add(self, line: dict[str, Any]) -> None:
        line = {"at": int(time.time() * 1000)} | line
        if len(self.lines) < _LINES_MAX:
            self.lines.append(line)
        with contextlib.suppress(OSError), open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def signal_all(number: int, why: str, stats: Iterable[Stat], log: SignalLog) -> None:
    for stat in stats:
        if send(stat.identity, number):
            log.sent(number, stat.identity, why)


def kill_children(keep: int = 0) -> None:
    """Kills and waits for the children of this process until there is none, but not longer than an instant: one that
    forks and ends all the time is only caught by who looks as often. A child that was not waited for keeps its number,
    so no other can be hit."""
    until = time.monotonic() + 0.05
    while time.monotonic() < until and (found := [pid for pid in children_of(os.getpid()) if pid != keep]):
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            reap(pid)


def reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def has_children() -> bool:
    """Exact, unlike every list: who has no child has nobody below. Takes what has ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def end_rest(
    mark: str, why: str, log: SignalLog, seconds: float, *, recorded: Iterable[Identity] = (), children: bool = False
) -> bool:
    """Kills what is left of a session whose supervisor is gone: marked, or in the record, or below one of those; with
    `children`, all below this process, too. False: something would not die."""
    until, recorded = time.monotonic() + seconds, list(recorded)
    while True:
        if children:
            kill_children()
        known = [stat for process in recorded if is_alive(process) and (stat := stat_of(process.pid))]
        known += marked(mark)
        below = [stat for root in known for stat in descendants_of(root.pid)]
        found = {stat.pid: stat for stat in [*known, *below]}
        if not found and not (children and has_children()):
            return True
        signal_all(signal.SIGKILL, why, found.values(), log)
        if time.monotonic() >= until:
            return False
        time.sleep(0.005)


def _all_processes() -> list[Stat]:
    if not HAS_PROC:
        return []
    with os.scandir(PROC) as entries:
        numbers = [int(entry.name) for entry in entries if entry.name.isdecimal()]
    return [stat for stat in map(stat_of, numbers) if stat is not None]
