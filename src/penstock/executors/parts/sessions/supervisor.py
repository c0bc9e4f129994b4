"""The supervisor of one session: a program that runs an agent, keeps what it says, and leaves no process of it behind.

It is started by the engine with the session's folder as its argument and how to run as JSON on its input, imports the
standard library only, and goes on when the engine is killed. Two processes: a guard, and below it the supervisor, which
runs the agent. Both adopt orphans (PR_SET_CHILD_SUBREAPER), so that what forks twice or leaves the group and session
comes to the supervisor, and if somebody kills that, to the guard. Only who makes `claim.json` may start the agent.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from penstock.executors.parts.sessions import process_tree, session_files
from penstock.executors.parts.sessions.agent_run import STOPPING, AgentRun, now_ms, remove_temporary
from penstock.executors.parts.sessions.process_identity import identity_of
from penstock.executors.parts.sessions.process_tree import SignalLog

_PR_SET_CHILD_SUBREAPER = 36
_ALREADY_CLAIMED = 3


def main(name: str) -> int:
    """The guard. It has claimed the session, and sees to it that there is an end on record and nobody left."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # who asks us to stop before we listen is heard later
    folder, umask = Path(name), os.umask(0o077)
    given: dict[str, Any] = json.load(sys.stdin)  # an engine that was killed while it wrote starts nothing
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what was read there is nobody's business any more
    _adopt_orphans()
    claim = {"guard": identity_of(os.getpid()).as_json(), "at": now_ms()}
    if not session_files.create(folder / session_files.CLAIM, claim):
        return _ALREADY_CLAIMED
    supervisor = os.fork()
    if supervisor == 0:
        _supervise(folder, given, umask)
    given.pop("env")
    _pass_on_signals(supervisor)
    _, status = os.waitpid(supervisor, 0)
    if not (folder / session_files.EXIT).exists():
        _end_orphans(folder, given, os.waitstatus_to_exitcode(status))
    return 0


def _supervise(folder: Path, given: dict[str, Any], umask: int) -> None:
    status = 70
    try:
        os.setsid()  # nobody hits both with one signal to a group
        _adopt_orphans()
        AgentRun(folder, given, umask).run()
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _pass_on_signals(supervisor: int) -> None:
    def pass_on(number: int, frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor, number)

    for number in STOPPING:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _end_orphans(folder: Path, given: dict[str, Any], status: int) -> None:
    """Somebody has killed the supervisor: what it ran has come to us."""
    log = SignalLog(folder / session_files.SIGNALS)
    ended = process_tree.end_rest(given["mark"], "supervisor killed", log, float(given["kill_s"]), children=True)
    remove_temporary(folder)
    state = session_files.read(folder / session_files.STATE) or {}
    known = {name: state.get(name) for name in ("pid", "pid_started_at", "started_at", "last_heartbeat_at")}
    end = known | {
        "kind": "signalled", "signal": -status if status < 0 else None, "ended_at": now_ms(), "kill_failed": not ended,
        "landlock": bool(state.get("landlock")), "why": f"its supervisor was ended with {status}",
        "out_bytes": _size(folder / session_files.OUT), "err_bytes": _size(folder / session_files.ERR),
        "diagnostics": {"signals": log.lines, "supervisor": status},
    }  # fmt: skip
    session_files.write(folder / session_files.EXIT, end, sync=True)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
