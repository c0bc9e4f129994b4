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

from penstock import Look, Penstock
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


class Said:
    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    def json(self) -> Any:
        """Exactly one JSON value, and nothing else."""
        return json.loads(self.out)

    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json()["error"]
        assert {"code", "message", "where", "hint"} <= found.keys()
        return found


class Shell:
    """A folder to work in, and the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / ".penstock/penstock.db"

    def __call__(self, *arguments: str | Path, input: str | None = None, code: int | None = 0, **more: Any) -> Said:
        done = subprocess.run(
            [*PROGRAM, *map(str, arguments)], cwd=self.folder, env=environment(), input=input, capture_output=True,
            text=True, timeout=60, **more,
        )  # fmt: skip
        said = Said(done)
        assert "Traceback" not in said.err + said.out
        assert code is None or said.code == code, f"exit {said.code}\n{said.out}\n{said.err}"
        return said

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)], cwd=self.folder, env=environment(), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def until(self, run: str, condition: Callable[[Look], bool]) -> Look:
        """Wait until a run that another process drives stands like this."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                door = Penstock(self.store, drive=False, create=False).open()
                try:
                    look = door.look(run)
                finally:
                    door.close()
                if condition(look):
                    return look
            except PenstockError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"{run} never stood like this")

    def killed(self, *arguments: str | Path, key: str, when: Callable[[Look], bool]) -> Look:
        """Start the program, and kill it as soon as its run stands like this."""
        process = self.start(*arguments)
        try:
            return self.until(key, when)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}


def working(times: int) -> Callable[[Look], bool]:
    """Is the node of the slow loop at work for the so-manieth time?"""
    return lambda look: look.counters.get("Work") == times and look.nodes["Work"] == "RUNNING"
