"""Child processes that end with the engine, and killing one with everything that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import Any

#: Asks the kernel to end this process with its parent, then becomes the program. If the parent has gone meanwhile, it
#: does not begin. 127 says that there is no such program, as a shell does.
_BOUND = (
    "import ctypes, os, signal, sys\n"
    "ctypes.CDLL(None).prctl(1, signal.SIGKILL)\n"
    "if os.getppid() != int(sys.argv[1]): os._exit(1)\n"
    "try: os.execv(sys.argv[2], sys.argv[2:])\n"
    "except OSError as error: sys.stderr.write(error.strerror); os._exit(127)\n"
)


def bound_to_parent(line: Sequence[str]) -> list[str]:
    """The command, so that the program dies with us even when we are killed; else it would go on beside the one that
    does its work again. The thread that starts it must live as long: the loop's own."""
    program = shutil.which(line[0]) if sys.platform == "linux" else None
    if program is None:
        return list(line)
    return [sys.executable, "-I", "-S", "-c", _BOUND, str(os.getpid()), program, *line[1:]]


async def kill_process_group(process: asyncio.subprocess.Process) -> None:
    """Kills the group that the process leads and waits for the process.

    asyncio wakes `wait` only when every pipe has been read to its end: a pipe that nobody reads any more, or that a
    grandchild of another group holds open, would keep us for ever. So the pipes are closed first.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
    await process.wait()
