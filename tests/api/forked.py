"""A process that has the program loaded and forks for every server: real processes, without the imports each time.

It is asked over a socket: to start one (arguments, folder, environment; where it writes to comes as file descriptors),
and how one has ended. The forked one leaves the loop and is then what `python -m penstock` is, up to its last moment.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

from tests.servers import processes

ROOT = Path(__file__).resolve().parents[2]
MOST = 1 << 20  # bytes of a request: an environment is in it


class Forked:
    """What of `subprocess.Popen` a test needs, for a process that is another one's child."""

    def __init__(self, nest: Nest, pid: int, stdout: TextIO) -> None:
        self.nest, self.pid, self.stdout = nest, pid, stdout
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self.nest.ask({"ended": self.pid})
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Nest:
    """The process that forks."""

    def __init__(self) -> None:
        self.line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.asking = threading.Lock()
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.api.forked", str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd=ROOT,
                env=env,
            )  # fmt: skip
        processes.at_end(self.close)

    def ask(self, what: dict[str, Any], *files: int) -> Any:
        with self.asking:
            socket.send_fds(self.line, [json.dumps(what).encode()], files)
            said = self.line.recv(MOST)
        assert said, "the process that forks is gone"
        return json.loads(said)

    def start(self, arguments: list[str], folder: Path, env: dict[str, str], stderr: TextIO) -> Forked:
        heard, said = os.pipe()
        try:
            pid = self.ask({"arguments": arguments, "folder": str(folder), "env": env}, said, stderr.fileno())
        finally:
            os.close(said)
        return Forked(self, pid, open(heard, encoding="utf-8"))

    def close(self) -> None:
        self.line.close()
        self.process.wait(60)


@functools.cache
def nest() -> Nest:
    """One for all tests of this process."""
    return Nest()


def serve(line: socket.socket) -> dict[str, Any] | None:
    """Answers until nobody asks any more; in a forked process, what it is to be."""
    while True:
        said, files, _, _ = socket.recv_fds(line, MOST, 2)
        if not said:
            return None
        asked: dict[str, Any] = json.loads(said)
        if "ended" in asked:
            line.send(json.dumps(_ended(asked["ended"])).encode())
            continue
        child = os.fork()
        if child == 0:
            line.close()
            _become(asked, files)
            return asked
        for file in files:
            os.close(file)
        line.send(json.dumps(child).encode())


def _ended(child: int) -> int | None:
    """Its exit code, told once; none as long as it lives."""
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def _become(asked: dict[str, Any], files: list[int]) -> None:
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), *files)):
        os.dup2(file, number)
        os.close(file)


if __name__ == "__main__":
    import uvicorn  # noqa: F401

    import penstock.api.server
    import penstock.cli.serve  # noqa: F401
    from penstock import languages
    from penstock.cli.main import main

    with contextlib.suppress(ImportError):
        import psycopg  # noqa: F401

    for name in languages.HOUSE:
        for group in (languages.LANGUAGES, languages.DIALECTS, languages.APPS, languages.ROUTERS):
            languages.part_of(name, group)
    gc.freeze()  # what is loaded stays: no forked process looks through it for garbage, or copies it for that
    # Ctrl-C is for the tests, which then end the servers; a shell's background job would not hear it at all
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as asked_over:
        wanted = serve(asked_over)
    if wanted is not None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["penstock", *wanted["arguments"]]
        main(wanted["arguments"])
