"""pm4py as a second opinion: in an environment and a process of its own, with a time limit for every question."""

from __future__ import annotations

import fcntl
import json
import select
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.servers import processes

_ROOT = Path(__file__).parents[2]
_HOME = _ROOT / ".pytest_cache" / "pm4py"
_READY = _HOME / "ready"
#: Making the environment means fetching some hundred megabytes the first time.
_INSTALL_S, _BEGIN_S, ANSWER_S = 300, 120, 20


def python() -> Path:
    """The interpreter that has pm4py, made once; the test is skipped, with the reason, where it cannot be had."""
    _HOME.mkdir(parents=True, exist_ok=True)
    groups = tomllib.loads((_ROOT / "pyproject.toml").read_text())["dependency-groups"]
    wanted = " ".join(groups["second-opinion"])
    interpreter = _HOME / "venv" / "bin" / "python"
    with (_HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (_READY.is_file() and _READY.read_text() == wanted and interpreter.is_file()):
            _make(interpreter, groups["second-opinion"])
            _READY.write_text(wanted)
    return interpreter


def _make(interpreter: Path, wanted: list[str]) -> None:
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        pytest.skip("pm4py needs an environment of its own, and there is no uv to make it")
    shutil.rmtree(interpreter.parents[1], ignore_errors=True)
    make = [uv, "venv", "--quiet", "--python", sys.executable, str(interpreter.parents[1])]
    install = [uv, "pip", "install", "--quiet", "--python", str(interpreter), *wanted]
    for command in (make, install):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S)
        except subprocess.TimeoutExpired:
            pytest.skip(f"pm4py could not be installed within {_INSTALL_S} s")
        if done.returncode:
            pytest.skip(f"pm4py could not be installed: {done.stderr.strip().splitlines()[-1:] or done.returncode}")


class Pm4py:
    """The process that answers. One that takes too long for a question is ended; the next begins another."""

    def __init__(self) -> None:
        self.interpreter = python()
        self.process: subprocess.Popen[str] | None = None
        self.version = ""

    def soundness(self, bpmn: str) -> dict[str, Any]:
        """`sound`, or `error`; {"error": "time"} when there is no answer in time."""
        process = self.process or self._begin()
        assert process.stdin is not None
        process.stdin.write(json.dumps({"bpmn": bpmn}) + "\n")
        process.stdin.flush()
        answer = self._line(process, ANSWER_S)
        if answer is None:
            self.end()
            return {"error": "time"}
        return answer

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _begin(self) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("pm4py_answers.py")
        self.process = subprocess.Popen(
            [str(self.interpreter), "-I", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, bufsize=1,
        )  # fmt: skip
        processes.at_end(self.end)
        first = self._line(self.process, _BEGIN_S)
        assert first is not None, "pm4py does not begin"
        self.version = str(first["version"])
        return self.process

    def _line(self, process: subprocess.Popen[str], seconds: float) -> dict[str, Any] | None:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        line = process.stdout.readline() if ready else ""
        return dict(json.loads(line)) if line else None
