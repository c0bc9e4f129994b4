"""The program as people use it: a process of its own, an exit code, what it prints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock import Penstock, RunView
from penstock.errors import PenstockError

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples/diagram"
PROGRAM = [sys.executable, "-m", "penstock"]

SLOW_LOOP = """
version: light
name: slow
persons:
  Writer: {service: echo, delay_ms: 400}
nodes:
  - {label: Start, type: start}
  - {label: Work, type: person_job, person: Writer, default_prompt: "again", max_iteration: 3}
  - {label: Enough, type: condition, condition_type: detect_max_iterations}
  - {label: End, type: endpoint}
connections:
  - {from: Start, to: Work}
  - {from: Work, to: Enough}
  - {from: "Enough[condfalse]", to: Work}
  - {from: "Enough[condtrue]", to: End}
"""
#: The same for those who must come in time to see it at work.
LONG_LOOP = SLOW_LOOP.replace("400", "20000")


class Said:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self) -> Any:
        """Exactly one JSON value, and nothing else."""
        return json.loads(self.out)

    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json()["error"]
        assert {"code", "message", "where", "hint"} <= found.keys()
        return found


class Zygote:
    """The process of `zygote.py`."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.zygote"], cwd=ROOT, env=environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def call(self, request: dict[str, Any]) -> int:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


class Shell:
    """A folder to work in, and the program."""

    def __init__(self, folder: Path, zygote: Zygote) -> None:
        self.folder, self.zygote = folder, zygote
        self.store = folder / ".penstock/penstock.db"

    def __call__(self, *arguments: str | Path, input: str = "", code: int | None = 0) -> Said:
        """Call the program in a process that has it loaded. A code of None: however it ends."""
        files = {name: str(self.folder / f".{name}") for name in ("stdin", "stdout", "stderr")}
        Path(files["stdin"]).write_text(input, encoding="utf-8")
        request = {"arguments": [str(one) for one in arguments], "folder": str(self.folder), **files}
        ended = self.zygote.call(request)
        return self._said(
            code, ended, Path(files["stdout"]).read_text("utf-8"), Path(files["stderr"]).read_text("utf-8")
        )

    def alone(self, *arguments: str | Path, code: int = 0, **more: Any) -> Said:
        """Call the program in a process of its very own."""
        done = subprocess.run(
            [*PROGRAM, *map(str, arguments)], cwd=self.folder, env=environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, **more,
        )  # fmt: skip
        return self._said(code, done.returncode, done.stdout, done.stderr)

    def _said(self, wanted: int | None, code: int, out: str, err: str) -> Said:
        assert "Traceback" not in err + out, err
        assert wanted in (None, code), f"exit {code}\n{out}\n{err}"
        return Said(code, out, err)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)], cwd=self.folder, env=environment(), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def until(
        self, run: str, condition: Callable[[RunView], bool], process: subprocess.Popen[str] | None = None
    ) -> RunView:
        """Wait until a run that another process drives stands like this."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            assert process is None or process.poll() is None, process.communicate()
            try:
                door = Penstock(self.store, drive=False, create=False).open()
                try:
                    look = door.view(run)
                finally:
                    door.close()
                if condition(look):
                    return look
            except PenstockError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"{run} never stood like this")

    def killed(self, *arguments: str | Path, key: str, when: Callable[[RunView], bool]) -> RunView:
        """Start the program, and kill it as soon as its run stands like this; how the run then stands."""
        process = self.start(*arguments)
        try:
            self.until(key, when, process)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        return self.until(key, lambda look: True)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}


def working(times: int) -> Callable[[RunView], bool]:
    """Is the node of the slow loop at work for the so-manieth time, or a later one that was seen first?"""
    return lambda look: look.counters.get("Work", 0) >= times and look.nodes["Work"] == "RUNNING"
