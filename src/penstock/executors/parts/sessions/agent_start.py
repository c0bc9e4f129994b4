"""Starts the agent's program: a session of its own, its environment, its places, and nothing else of ours.

Standard library only. By fork and exec instead of `subprocess`, whose import alone takes longer than all of this.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import sys
from typing import Any, NamedTuple

from penstock.executors.parts.sessions import landlock

_PR_SET_PDEATHSIG = 1
_NO_PROGRAM = (errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC)


class Started(NamedTuple):
    pid: int
    landlock: bool
    error: str = ""
    not_found: bool = False
    cwd_missing: bool = False


def start_agent(
    command: list[str], env: dict[str, str], cwd: str, stdin: str, outputs: tuple[int, int], writable: list[str] | None,
    umask: int,
) -> Started:  # fmt: skip
    ruleset = None if writable is None else landlock.make_ruleset(writable)
    told, tell = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(told)
        _become(command, env, cwd, stdin, outputs, ruleset, umask, tell, supervisor)
    os.close(tell)
    with open(told, "rb") as answers:  # ends when the program runs, or could not be started
        heard: list[dict[str, Any]] = [json.loads(line) for line in answers]
    if ruleset is not None:
        os.close(ruleset)
    restricted = any(line.get("landlock") for line in heard)
    failed = next((line for line in heard if "errno" in line), None)
    if failed is None:
        return Started(pid, restricted)
    os.waitpid(pid, 0)
    reason = os.strerror(failed["errno"])
    if failed["where"] == "cwd":
        return Started(pid, restricted, f"the folder «{cwd}» cannot be entered: {reason}", cwd_missing=True)
    missing = failed["where"] == "exec" and failed["errno"] in _NO_PROGRAM
    return Started(pid, restricted, f"the command «{command[0]}» cannot be started: {reason}", not_found=missing)


def _become(
    command: list[str], env: dict[str, str], cwd: str, stdin: str, outputs: tuple[int, int], ruleset: int | None,
    umask: int, tell: int, supervisor: int,
) -> None:  # fmt: skip
    """In the child; does not come back."""
    where = "start"
    try:
        os.setsid()
        _die_with(supervisor)
        _default_signals()
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        os.dup2(outputs[0], 1)
        os.dup2(outputs[1], 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        os.umask(umask)
        where = "cwd"
        os.chdir(cwd)
        where = "exec"
        if ruleset is not None and landlock.restrict(ruleset):
            _say(tell, {"landlock": True})
        os.execvpe(command[0], command, env)  # noqa: S606
    except OSError as problem:
        _say(tell, {"errno": problem.errno or errno.EIO, "where": where})
    except BaseException as problem:  # whatever it is, two supervisors would be worse
        sys.stderr.write(f"{problem}\n")
        _say(tell, {"errno": errno.EINVAL, "where": where})
    finally:
        os._exit(127)


def _die_with(supervisor: int) -> None:
    """If the supervisor is killed, its guard cleans up; where both are, at least the agent itself goes with them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)


def _default_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _say(tell: int, line: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        os.write(tell, json.dumps(line).encode() + b"\n")
