"""A processor that does as its configuration says and leaves a line for each call; the settings of a server name it.

Beside it, the text of a module with which a test moves the clock of a process that it can only talk to.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from penstock.executors.processors import ProcessorContext, processor

#: the machine's clock, and as many milliseconds more as lie beside the module in `clock.txt`
CLOCK = '''"""A clock that is moved from outside."""

from pathlib import Path

from penstock.host.clock import SystemClock

BESIDE = Path(__file__).with_name("clock.txt")
machine = SystemClock.now
SystemClock.now = lambda clock: machine(clock) + int(BESIDE.read_text())
'''


class MovedClock:
    """Of a folder: `module` is for the setting `python.modules`."""

    def __init__(self, folder: Path) -> None:
        self.file, self.module = folder / "clock.txt", folder / "moved_clock.py"
        self.ahead_ms = 0
        self.module.write_text(CLOCK)
        self.leap(0)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def leap(self, by_ms: int) -> None:
        """Forward only, as clocks go."""
        self.ahead_ms += by_ms
        half = self.file.with_suffix(".half")
        half.write_text(str(self.ahead_ms))
        half.replace(self.file)

    def to(self, at_ms: int) -> None:
        self.leap(at_ms - self.now_ms())


class Call(NamedTuple):
    """A line that a call has left: `what` is begun or done."""

    key: str
    stage: str
    what: str
    pid: int
    at_ns: int


def every_call(marks: Path) -> list[Call]:
    lines = (line.rsplit("\t", 4) for line in marks.read_text().splitlines()) if marks.exists() else ()
    return [Call(key, stage, what, int(pid), int(at)) for key, stage, what, pid, at in lines]


def calls(marks: Path, key: str, what: str = "begun") -> list[Call]:
    """Those for one file, in their order."""
    return [call for call in every_call(marks) if (call.key, call.what) == (key, what)]


@processor("Scripted")
def scripted(context: ProcessorContext) -> dict[str, Any]:
    """The first `hangs` of its calls for a file never come back, the first `fails` go wrong; each waits for the file
    `gate` to be there, and then sleeps for `sleep_s`. `bytes` is the size of its answer."""
    config, marks = context.config, Path(context.config["marks"])
    _mark(marks, context, "begun")
    number = sum(call.stage == context.stage for call in calls(marks, context.key))
    while number <= config.get("hangs", 0):
        time.sleep(60)
    while "gate" in config and not Path(config["gate"]).exists():
        time.sleep(0.01)
    time.sleep(config.get("sleep_s", 0))
    _mark(marks, context, "done")
    if number <= config.get("fails", 0):
        raise RuntimeError("it does not work")
    return {"call": number, "text": "x" * config.get("bytes", 0)}


def _mark(marks: Path, context: ProcessorContext, what: str) -> None:
    with marks.open("a") as file:
        file.write(f"{context.key}\t{context.stage}\t{what}\t{os.getpid()}\t{time.time_ns()}\n")
