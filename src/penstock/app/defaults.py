"""Where runs are kept unless somebody says otherwise, and which process drives them."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from penstock.store.address import Server

DEFAULT_STORE = ".penstock/penstock.db"
#: Whose runs they are unless somebody says otherwise: the sample tenant of C-81.
DEFAULT_TENANT = "tenant_001"


def driver_of(store: Path) -> str | None:
    """The process id of whoever drives a store ("" where it cannot be read); None when nobody does."""
    if isinstance(store, Server):
        return store.driver()
    try:
        lock = os.open(f"{store}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(lock, 20, 0).decode("ascii", "replace").strip()
    finally:
        os.close(lock)  # and with it what was locked
    return None
