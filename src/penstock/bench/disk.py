"""The speed of the disk, for comparison with the figures of `bench`: one sync, and a loop of bare commits."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path


def fdatasync_ms(folder: Path, times: int = 50) -> float:
    """The median time to overwrite and sync one page."""
    path = folder / f".fdatasync-{os.getpid()}"
    took = []
    sync = getattr(os, "fdatasync", os.fsync)  # macOS has no fdatasync
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(handle, bytes(1 << 20))
        os.fsync(handle)
        for _ in range(times):
            os.pwrite(handle, os.urandom(4096), 0)
            began = time.perf_counter_ns()
            sync(handle)
            took.append(time.perf_counter_ns() - began)
    finally:
        os.close(handle)
        path.unlink()
    return round(sorted(took)[len(took) // 2] / 1e6, 3)


class Bare:
    """What nobody can beat with one sync per step: a row of the same size, committed, and nothing else. Its log file is
    written out before, as that of the engine is."""

    def __init__(self, path: Path, size: int, grow_mb: int) -> None:
        self.path, self.size = path, size
        self.c = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=0"):
            self.c.execute(f"PRAGMA {pragma}")
        self.c.execute("CREATE TABLE step(no INTEGER PRIMARY KEY, body BLOB)")
        self.c.execute("BEGIN")
        self.c.executemany("INSERT INTO step(body) VALUES(zeroblob(1000000))", [()] * grow_mb)
        self.c.execute("COMMIT")
        self.c.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
        self.c.execute("PRAGMA wal_autocheckpoint=4000")

    def step(self) -> None:
        self.c.execute("BEGIN IMMEDIATE")
        self.c.execute("INSERT INTO step(body) VALUES(?)", (bytearray(os.urandom(self.size)),))
        self.c.execute("COMMIT")

    def close(self) -> None:
        self.c.close()
        for end in ("", "-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
