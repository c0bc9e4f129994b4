"""`penstock` for those who call it from a shell: a small client of a process that has the program loaded and forks.

A call is a real process, with the caller's arguments, folder, environment and open files; its imports are those of the
process that it is forked from. A signal to the client is one to the call; who kills the client kills the call.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.cli.shell import environment
from tests.servers import processes

ROOT = Path(__file__).resolve().parents[2]
MOST = 1 << 20  # bytes of a call: an environment is in it

CLIENT = """
import json, os, signal, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect(sys.argv[1])
socket.send_fds(line, [json.dumps([sys.argv[2:], os.getcwd(), dict(os.environ)]).encode()], [0, 1, 2])
call = int(line.recv(16))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(call, number))
code = int(line.recv(16))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


def write_program(file: Path) -> None:
    """An executable `penstock`."""
    python, client = shlex.quote(sys.executable), shlex.quote(CLIENT)
    file.write_text(f'#!/bin/sh\nexec {python} -IS -c {client} {shlex.quote(str(_loaded()))} "$@"\n')
    file.chmod(0o755)


@functools.cache
def _loaded() -> Path:
    """The socket of the process that forks: one for all tests of this process."""
    path = processes.folder() / f"program-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(path))
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.program", str(listening.fileno())], pass_fds=[listening.fileno()],
            cwd=ROOT, env={**environment(), "TERM": "dumb"}, stdin=subprocess.PIPE,
        )  # fmt: skip
    processes.at_end(process.communicate)
    return path


# ---- the process that forks ------------------------------------------------------------------------------------------


def serve(listening: socket.socket) -> list[str] | None:
    """Answers until its parent is gone; in a forked process, the arguments it was called with."""
    children = set[int]()
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [], 1)
        children -= {child for child in children if os.waitpid(child, os.WNOHANG)[0]}
        if sys.stdin in ready:
            return None
        if listening not in ready:
            continue
        line, _ = listening.accept()
        with line:
            child = os.fork()
            if child == 0:
                listening.close()
                return _call(line)
            children.add(child)


def _call(line: socket.socket) -> list[str]:
    """Becomes the call; another process waits for its end, and tells it or, if nobody listens any more, kills it."""
    said, files, _, _ = socket.recv_fds(line, MOST, 3)
    arguments, folder, env = json.loads(said)
    child = os.fork()
    if child:
        for file in files:
            os.close(file)
        _mind(child, line)
    line.close()
    os.chdir(folder)
    sys.path[0] = folder
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (it lives as long as the process)
    return list(arguments)


def _mind(child: int, line: socket.socket) -> Any:
    with contextlib.suppress(OSError):
        line.send(str(child).encode())
    ready, _, _ = select.select([os.pidfd_open(child), line], [], [])
    if line in ready:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if line not in ready:
        line.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


if __name__ == "__main__":
    import uvicorn  # noqa: F401

    import penstock.api.server
    import penstock.cli.serve  # noqa: F401
    from penstock.cli.main import main
    from tests.cli.zygote import load

    load()
    with socket.socket(fileno=int(sys.argv[1])) as asked_over:
        wanted = serve(asked_over)
    if wanted is not None:
        sys.argv = ["penstock", *wanted]
        main(wanted)
