"""What a session is to the engine: how it is to run, how it stands, how it ended; and the folder that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from penstock.executors.parts.sessions import process_identity, session_files
from penstock.executors.parts.sessions.process_identity import Identity

#: exited: by itself, with a code. signalled: something else ended it (or its supervisors) while it was watched.
#: timeout, zombie (no heartbeat), stopped (somebody asked): ended by the supervisor. lost: it was gone when an engine
#: came to adopt it, and nobody knows how it ended.
Kind = Literal["exited", "signalled", "timeout", "zombie", "stopped", "lost"]

#: absent: nothing has begun here. running: a supervisor lives. ended: the end is on record. lost: begun, no supervisor
#: lives, no end on record.
Standing = Literal["absent", "running", "ended", "lost"]

OUTPUT_MAX = 256 * 1024 * 1024


class SessionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """`env` is all that the agent sees of an environment, beside PENSTOCK_SESSION (the mark by which its processes are
    found), PENSTOCK_HEARTBEAT (a file to touch) and TMPDIR. Its values are never written to a file or a command line.
    `writable` are the only places that it may change, beside its TMPDIR; None: everything that the user may."""

    command: Sequence[str]
    folder: Path
    cwd: Path
    stdin: str = ""
    env: Mapping[str, str] = {}
    writable: Sequence[Path] | None = ()
    timeout_s: float | None = 3600  # T-X.19
    heartbeat_s: float | None = 300  # T-8.2.1
    term_s: float = 30  # T-8.2.3
    kill_s: float = 10  # T-8.2.4
    output_max: int = OUTPUT_MAX  # bytes kept of stdout, and of stderr


class SessionEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Times are milliseconds since the epoch. When this is known, no process of the session is left, except where
    `kill_failed` says so."""

    kind: Kind
    exit_code: int | None = None
    signal: int | None = None
    pid: int | None = None
    pid_started_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    last_heartbeat_at: int | None = None
    kill_failed: bool = False
    landlock: bool = False
    not_found: bool = False  # there is no such command
    cwd_missing: bool = False  # there is no such folder
    why: str = ""  # who asked to stop, or what is wrong
    out_bytes: int = 0
    err_bytes: int = 0
    dropped_bytes: int = 0  # beyond `output_max`, or the disk was full
    adopted: bool = False  # another engine process had started it
    diagnostics: dict[str, Any] = {}  # processes with cpu and memory when it was found silent; signals that were sent


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """How a session stands now, as far as its folder says."""

    standing: Standing
    pid: int | None = None
    pid_started_at: int | None = None
    started_at: int | None = None
    last_heartbeat_at: int | None = None
    landlock: bool = False


def session_folder(root: Path, run: str, session: str) -> Path:
    return root / run / session


def session_mark(folder: Path) -> str:
    """How the processes of this session are marked; no other folder of this machine has the same."""
    return f"{folder.name}-{sha256(str(folder.resolve()).encode(errors='surrogateescape')).hexdigest()[:12]}"


def read_state(folder: Path) -> SessionState:
    """Never fails: a folder that is not there has nothing that has begun."""
    state = session_files.read(folder / session_files.STATE) or {}
    known: dict[str, Any] = {
        name: state.get(name) for name in ("pid", "pid_started_at", "started_at", "last_heartbeat_at")
    }
    return SessionState(standing=standing_of(folder), landlock=bool(state.get("landlock")), **known)


def standing_of(folder: Path) -> Standing:
    if (folder / session_files.EXIT).exists():
        return "ended"
    claim = session_files.read(folder / session_files.CLAIM)
    if claim is None:
        return "absent"
    if any(process_identity.is_alive(process) for process in supervisors_of(folder, claim)):
        return "running"
    return "ended" if (folder / session_files.EXIT).exists() else "lost"  # it may have ended between the two looks


def supervisors_of(folder: Path, claim: Mapping[str, Any]) -> list[Identity]:
    """The guard, which has the claim, and the supervisor below it."""
    state = session_files.read(folder / session_files.STATE) or {}
    return [Identity.read(found) for found in (claim.get("guard"), state.get("supervisor")) if found]


def beat(folder: Path) -> bool:
    """T-X.7: an explicit heartbeat, from outside. False: nothing runs there."""
    if standing_of(folder) != "running":
        return False
    (folder / session_files.BEAT).touch()
    return True


def read_end(folder: Path, *, adopted: bool = False) -> SessionEnd | None:
    found = session_files.read(folder / session_files.EXIT)
    return None if found is None else msgspec.convert(found | {"adopted": adopted}, SessionEnd)
