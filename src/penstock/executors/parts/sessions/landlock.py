"""Landlock: a process that may read everything and change only some places; needs no root. Standard library only.

Kernel documentation: userspace-api/landlock. Rights that a kernel does not know are left out; before version 1 there
is no Landlock, and the agent runs without.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_ONLY, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
_MAKE = sum(1 << bit for bit in range(6, 13))  # devices, folders, files, sockets, pipes, links
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_SCOPE_SIGNAL = 1 << 1  # no signals to processes outside: not to the supervisor, not to the engine

#: what a program writes to without changing anything
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")


def version() -> int:
    """0: there is none."""
    if sys.platform != "linux":
        return 0
    found: int = _libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_ONLY))
    return max(found, 0)


def make_ruleset(writable: Iterable[str]) -> int | None:
    """A descriptor for `restrict`; None where the system has no Landlock. Places that do not exist are left out."""
    known = version()
    if not known:
        return None
    files = _WRITE_FILE | (_TRUNCATE if known >= 3 else 0)
    handled = files | _REMOVE_DIR | _REMOVE_FILE | _MAKE | (_REFER if known >= 2 else 0)
    given = struct.pack("=QQQ", handled, 0, _SCOPE_SIGNAL) if known >= 6 else struct.pack("=Q", handled)
    ruleset: int = _libc().syscall(_CREATE_RULESET, given, ctypes.c_size_t(len(given)), ctypes.c_uint32(0))
    if ruleset < 0:
        return None
    os.set_inheritable(ruleset, False)
    for path in (*writable, *_DEVICES):
        with contextlib.suppress(OSError):
            _allow(ruleset, path, handled, files)
    return ruleset


def restrict(ruleset: int) -> bool:
    """This process and all that it starts, for ever."""
    libc = _libc()
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return bool(libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0)


def _allow(ruleset: int, path: str, rights: int, for_files: int) -> None:
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        allowed = rights if stat.S_ISDIR(os.fstat(place).st_mode) else for_files
        rule = struct.pack("=Qi", allowed, place)
        _libc().syscall(_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(place)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
