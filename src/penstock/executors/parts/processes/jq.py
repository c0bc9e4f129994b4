"""jq programs, each in a process of its own that is killed when it takes too long or too much.

The jq library holds the interpreter's lock while it works and shows the environment, so it never runs in the engine.
The process has an empty environment and can open no file. One or two of them stay warm: a start takes longer than a
program.
"""

from __future__ import annotations

import atexit
import contextlib
import select
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from penstock.executors.parts.threads import in_thread

SECONDS = 2.0
MEMORY_BYTES = 512 * 1024 * 1024
PROGRAM_MAX = 64 * 1024
RESULT_MAX = 16 * 1024 * 1024
_START_S = 20.0
_WARM = 2
_CHILD = Path(__file__).with_name("jq_child.py")


class JqMissing(RuntimeError):
    """The package jq is not installed."""


class JqError(ValueError):
    """`kind` is syntax (it cannot be read), run (it does not fit the value), several (results) or limit."""

    def __init__(self, kind: str, why: str) -> None:
        self.kind = kind
        super().__init__(why)


async def apply(program: str, value: Any, seconds: float = SECONDS) -> Any:
    """What the program makes of the value; a program that yields nothing yields null."""
    if len(program) > PROGRAM_MAX:
        raise JqError("limit", f"the program has more than {PROGRAM_MAX} characters")
    line = msgspec.json.encode([program, msgspec.json.encode(value).decode(), max(1, int(seconds + 0.999))]) + b"\n"
    job = _Job(line, seconds)
    try:
        answer = await in_thread(job.run)
    finally:
        job.stop()
    if "error" in answer:
        raise JqError(str(answer["kind"]), _error_text(str(answer["error"])))
    return answer.get("value")


def _error_text(text: str) -> str:
    lines = [line.strip().removeprefix("jq: error: ") for line in text.splitlines()]
    return " ".join(line for line in lines if line and not line.startswith("jq: "))[:500] or "it cannot be compiled"


class _Job:
    """One program in one process."""

    def __init__(self, line: bytes, seconds: float) -> None:
        self._line, self._seconds = line, seconds
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Nobody waits any more: end the process if the program still runs."""
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.kill()

    def run(self) -> dict[str, Any]:
        child = _acquire()
        with self._lock:
            if self._stopped:
                _kill(child)
                return {"kind": "limit", "error": "it was stopped before it began"}
            self._child = child
        line = self._exchange(child)
        with self._lock:
            self._child = None
            stopped = self._stopped
        if line is None or stopped:
            _kill(child)
            why = f"it took more than {self._seconds:g} s, or more memory than it may have"
            return {"kind": "limit", "error": why}
        _release(child)
        answer: dict[str, Any] = msgspec.json.decode(line)
        return answer

    def _exchange(self, child: subprocess.Popen[bytes]) -> bytes | None:
        """The answer, or None: the process has died, or must."""
        assert child.stdin is not None and child.stdout is not None
        try:
            child.stdin.write(self._line)
            child.stdin.flush()
        except OSError:
            return None
        return _read_line(child, self._seconds)


def _read_line(child: subprocess.Popen[bytes], seconds: float) -> bytes | None:
    assert child.stdout is not None
    ends, parts, size = time.monotonic() + seconds, [], 0
    while (left := ends - time.monotonic()) > 0:
        if not select.select([child.stdout], [], [], left)[0]:
            break
        part: bytes = child.stdout.read1(1 << 16)  # type: ignore[attr-defined]
        size += len(part)
        if not part or size > RESULT_MAX + 1024:
            return None
        parts.append(part)
        if part.endswith(b"\n"):
            return b"".join(parts)
    return None


_idle: list[subprocess.Popen[bytes]] = []
_guard = threading.Lock()


def _acquire() -> subprocess.Popen[bytes]:
    with _guard:
        while _idle:
            child = _idle.pop()
            if child.poll() is None:
                return child
            _kill(child)
    return _start()


def _start() -> subprocess.Popen[bytes]:
    package = find_spec("jq")
    if package is None or package.origin is None:
        raise JqMissing
    command = [sys.executable, "-I", str(_CHILD), str(Path(package.origin).parent), str(MEMORY_BYTES), str(RESULT_MAX)]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/",
        start_new_session=True,
    )  # fmt: skip
    # The first answer is waited for here: the start of an interpreter is not the program's time.
    if not _Job(b'[".","1",60]\n', _START_S)._exchange(child):
        _kill(child)
        raise RuntimeError("the process for jq programs did not start")
    return child


def _release(child: subprocess.Popen[bytes]) -> None:
    with _guard:
        if len(_idle) < _WARM:
            _idle.append(child)
            return
    _kill(child)


def _kill(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


@atexit.register
def close() -> None:
    """End the warm processes; they are started again when they are needed."""
    with _guard:
        children, _idle[:] = list(_idle), []
    for child in children:
        _kill(child)
