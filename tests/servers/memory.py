"""Where the tests keep their files: in memory, where there is enough of it.

They make thousands of databases, and on a disk most of their time goes by until it has written them. What a test shows
is the same there: a process that is killed finds its files again.
"""

from __future__ import annotations

import os
import shutil
import tempfile

FOLDER = "/dev/shm"
ROOM = 4 << 30
MEMORY = 8 << 30


def keep_files_in_memory() -> None:
    """For this process and all that it starts, unless somebody has said where temporary files go."""
    if "TMPDIR" not in os.environ and _fits():
        os.environ["TMPDIR"] = tempfile.tempdir = FOLDER


def _fits() -> bool:
    """Room for all of them, memory beside it, and the right to run the programs that tests write there."""
    try:
        may_run = not os.statvfs(FOLDER).f_flag & os.ST_NOEXEC
        is_free = shutil.disk_usage(FOLDER).free >= ROOM and _available() >= MEMORY
        return may_run and is_free and os.access(FOLDER, os.W_OK)
    except (AttributeError, OSError, StopIteration):  # not on this system
        return False


def _available() -> int:
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
