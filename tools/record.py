"""Makes the pictures of the README and the pages from real runs: nets with their tokens, and the demo as a recording.

python -m tools.record           writes docs/assets/net.svg, decision.svg and run.svg
python -m tools.record net       only the loop: it is the same every time, and a test compares it
python -m tools.record decision  only the defect alarm while it waits for its approval; compared likewise
python -m tools.record run       only the recording
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import select
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs/assets"
sys.path.insert(0, str(ROOT / "src"))  # this tree's package, not one that happens to be installed

from penstock import Penstock  # noqa: E402
from penstock.app.drawing.authored_net import authored_net  # noqa: E402
from penstock.app.runs.timeline.replay import replay  # noqa: E402
from penstock.net.draw import recording, svg  # noqa: E402
from penstock.net.draw.text_width import cells  # noqa: E402

COLUMNS, ROWS = 100, 34
SHORTEST_MS, LONGEST_MS, LAST_MS = 60, 1500, 7000


def net_picture() -> str:
    """The loop of the example at the moment when its token is on the way back for the second time."""

    async def ran(store: Path) -> str:
        async with Penstock(store) as door:
            run = await door.start(door.release(ROOT / "examples/diagram/loop.yaml"))
            await door.wait(run)
            back = [line.seq for line in door.lines(run) if line.fact == "put" and "condfalse" in line.edge]
            found = replay(door, run, back[1])
            return svg(found.net, found.marks, title="A token on its way round the loop")

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(ran(Path(folder) / "net.db"))


def decision_picture() -> str:
    """The seed's defect alarm for a line with a bad day, when all that is left to do is the quality manager's."""

    async def ran(store: Path) -> str:
        async with Penstock(store) as door:
            release = door.release(ROOT / "examples/decision/defect_alert.json")
            run = await door.start(release, {"line_id": "L01"})
            await door.wait(run, until_waiting=True)
            found = replay(door, run)
            return svg(authored_net(found.net), found.marks, title="The defect alarm waits for the quality manager")

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(ran(Path(folder) / "decision.db"))


def run_recording() -> str:
    """`penstock demo` in a terminal of its own, in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        frames = captured([sys.executable, "-m", "penstock", "demo"], folder)
    return recording([text for text, _ in frames], "penstock demo", frame_ms=[ms for _, ms in frames])


def captured(command: list[str], folder: str) -> list[tuple[str, int]]:
    """What the screen showed, and for how many milliseconds."""
    child, master = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(TERM="xterm-256color", PYTHONPATH=str(ROOT / "src"), COLUMNS=str(COLUMNS), LINES=str(ROWS))
        os.environ.pop("COLORTERM", None)
        os.environ.pop("NO_COLOR", None)
        os.execv(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    screen = Screen(COLUMNS, ROWS)
    screen.feed("\x1b[90m$\x1b[0m penstock demo\r\n")
    frames: list[tuple[str, float]] = [(screen.text(), time.monotonic())]
    left = b""
    while True:
        ready, _, _ = select.select([master], [], [], 30)
        try:
            data = os.read(master, 65536) if ready else b""
        except OSError:  # the terminal is closed when the last process of it has ended
            data = b""
        if not data:
            break
        text, left = whole(left + data)
        screen.feed(text)
        frames.append((screen.text(), time.monotonic()))
    os.close(master)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"the demo ended with {os.waitstatus_to_exitcode(status)}:\n{frames[-1][0]}")
    return _timed(frames)


def whole(data: bytes) -> tuple[str, bytes]:
    """As much as is whole characters and whole sequences; the rest waits for more."""
    for keep in range(min(len(data), 40)):
        head = data[: len(data) - keep]
        try:
            text = head.decode()
        except UnicodeDecodeError:
            continue
        if not re.search(r"\x1b(\[[0-9;?]*)?$", text):
            return text, data[len(data) - keep :]
    return data.decode(errors="replace"), b""


def _timed(frames: list[tuple[str, float]]) -> list[tuple[str, int]]:
    """Frames that are too short for an eye are left out, and nobody waits long."""
    out: list[tuple[str, int]] = []
    for (text, at), (_, until) in zip(frames, [*frames[1:], ("", frames[-1][1])], strict=True):
        ms = min(int((until - at) * 1000), LONGEST_MS)
        if out and out[-1][0] == text:
            out[-1] = (text, min(out[-1][1] + ms, LONGEST_MS))
        elif out and out[-1][1] < SHORTEST_MS:
            out[-1] = (text, out[-1][1] + ms)
        else:
            out.append((text, ms))
    return [*out[:-1], (frames[-1][0], LAST_MS)]


class Screen:
    """As much of a terminal as the demo needs: a grid that scrolls, a cursor that moves, lines that are erased."""

    SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b.|([\r\n\b\t])|([^\x1b\r\n\b\t])", re.DOTALL)

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.grid: list[list[tuple[str, str]]] = [[] for _ in range(rows)]
        self.row = self.column = 0
        self.style = ""

    def feed(self, text: str) -> None:
        for found in self.SEQUENCE.finditer(text):
            numbers, letter, control, char = found.groups()
            if char is not None:
                self._put(char)
            elif control is not None:
                self._control(control)
            elif letter is not None:
                self._sequence(numbers, letter)

    def _put(self, char: str) -> None:
        size = cells(char)
        if self.column + size > self.columns:
            self._control("\r")
            self._control("\n")
        line = self.grid[self.row]
        line += [(" ", "")] * (self.column + size - len(line))
        line[self.column] = (char, self.style)
        if size == 2:
            line[self.column + 1] = ("", self.style)
        self.column += size

    def _control(self, control: str) -> None:
        if control == "\r":
            self.column = 0
        elif control == "\b":
            self.column = max(self.column - 1, 0)
        elif control == "\t":
            self.column = min(self.column // 8 * 8 + 8, self.columns - 1)
        elif self.row + 1 < self.rows:
            self.row += 1
        else:
            self.grid = [*self.grid[1:], []]

    def _sequence(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdecimal() else 0
        if letter == "m":
            self.style = "" if numbers in ("", "0") else self.style + f"\x1b[{numbers}m"
        elif letter == "A":
            self.row = max(self.row - max(count, 1), 0)
        elif letter == "B":
            self.row = min(self.row + max(count, 1), self.rows - 1)
        elif letter == "C":
            self.column = min(self.column + max(count, 1), self.columns - 1)
        elif letter == "G":
            self.column = max(count, 1) - 1
        elif letter == "K":
            self.grid[self.row] = [] if count == 2 else self.grid[self.row][: self.column]
        elif letter == "J":
            for row in range(self.row if count == 0 else 0, self.rows):
                self.grid[row] = []

    def text(self) -> str:
        """With its colours."""
        return "\n".join(_line(line) for line in self.grid)

    def plain(self) -> str:
        return "\n".join("".join(char for char, _ in line).rstrip() for line in self.grid)


def _line(line: list[tuple[str, str]]) -> str:
    out, style = "", ""
    for char, wanted in line:
        if wanted != style:
            out += ("\x1b[0m" if style else "") + wanted
            style = wanted
        out += char
    return out + ("\x1b[0m" if style else "")


PICTURES = {"net": net_picture, "decision": decision_picture, "run": run_recording}


def main(arguments: list[str]) -> int:
    ASSETS.mkdir(parents=True, exist_ok=True)
    for name in arguments or list(PICTURES):
        file = ASSETS / f"{name}.svg"
        file.write_text(PICTURES[name](), encoding="utf-8")
        print(f"wrote {file.relative_to(ROOT)} ({file.stat().st_size // 1024} KiB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
