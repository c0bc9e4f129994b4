"""Counts the walk of a plain firing: from an executor's answer to the next effect that is handed to an executor.

    python -m tools.walk            prints both walks, and their figures
    python -m tools.walk --write    writes the walk into ARCHITECTURE.md

How it is counted. The diagram examples/diagram/loop.yaml is run, and every function of the package that is entered is
noted, from the entry of `Dispatch.ended` (an executor has answered) to the entry of the next executor's `run`; the
second such walk counts, when everything that is made once has been made. Consecutive entries of one file are one
visit. **Files** are the distinct files visited; **returns** are visits of a file that was visited before. Only the
tasks of the engine are looked at: what somebody who waits or listens does in a task of their own is not on the way.

Two walks: the host alone, and a door (`Penstock`) one of whose users watches the run and listens to it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- walk: written by tools/walk.py -->", "<!-- end of walk -->"
_SOURCE = f"{ROOT / 'src/penstock'}/"
_DOCUMENT = ROOT / "examples/diagram/loop.yaml"
_FROM, _TO = "Dispatch.ended", "executors/"
_ENGINE = ("EngineLoop.run", "Engine._drive", "ExecutorQueue._work")  # coroutines whose tasks are the engine's
_INNER = ("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>")
sys.path.insert(0, str(ROOT / "src"))  # this tree's package, not one that happens to be installed


class Visit(NamedTuple):
    """A file, and the functions of it that were entered one after the other."""

    file: str
    functions: list[str]


class Tracer:
    """Notes the functions that are entered between an answer and the next effect."""

    def __init__(self) -> None:
        self.walks: list[list[Visit]] = []
        self._walk: list[Visit] | None = None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(_SOURCE) or code.co_name in _INNER or not _is_engine():
            return
        file, function = code.co_filename.removeprefix(_SOURCE), code.co_qualname.replace(".<locals>", "")
        if function == _FROM:
            self._walk = []
        if self._walk is None:
            return
        if not self._walk or self._walk[-1].file != file:
            self._walk.append(Visit(file, []))
        self._walk[-1].functions.append(function)
        if file.startswith(_TO) and code.co_name == "run":
            self.walks.append(self._walk)
            self._walk = None


def _is_engine() -> bool:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and getattr(task.get_coro(), "__qualname__", "") in _ENGINE


def walk(*, watched: bool = False) -> list[Visit]:
    """The visits of the second firing's walk."""
    tracer = Tracer()
    run: Callable[[Path], Awaitable[None]] = _watched if watched else _plain

    async def scene() -> None:
        with tempfile.TemporaryDirectory() as folder:
            before = sys.getprofile()
            sys.setprofile(tracer)
            try:
                await run(Path(folder))
            finally:
                sys.setprofile(before)

    asyncio.run(scene())
    return tracer.walks[1]


async def _plain(folder: Path) -> None:
    from penstock.executors.person import PersonExecutor
    from penstock.host.embedded import Host
    from penstock.lang.compile import compile_document
    from penstock.store.address import open_store

    store = open_store(folder / "store.db")
    host = Host(store, {"person": PersonExecutor()}, output_dir=folder, serve=False)
    host.start(host.release(compile_document(_DOCUMENT.read_bytes(), name="loop").net))
    engine = asyncio.ensure_future(host.run(lambda: not host.turns.runs))
    await engine
    await host.close()
    store.close()


async def _watched(folder: Path) -> None:
    from penstock.app.penstock import Penstock

    async with Penstock(folder / "store.db") as door:
        run = await door.start(door.release(_DOCUMENT))
        door.watch_live(run)
        door.listen(lambda run, lines: None)
        await door.wait(run)


def figures(visits: list[Visit]) -> tuple[int, int]:
    """Files, and returns to files already left."""
    files = len({visit.file for visit in visits})
    return files, len(visits) - files


def section() -> str:
    """What ARCHITECTURE.md says of the walk."""
    plain, watched = walk(), walk(watched=True)
    first = next(i for i, visit in enumerate(plain) if visit.file.startswith("kernel/"))
    last = max(i for i, visit in enumerate(plain[:-6]) if visit.file.startswith("kernel/"))
    files, returns = figures(plain)
    inside = figures(plain[first : last + 1])
    seen = figures(watched)
    text = (
        f"**Answer → next effect**, traced: {files} files and {returns} returns to files already left; {inside[0]} and"
        f" {inside[1]} of them in one step of the kernel, expressions included. When somebody watches the run:"
        f" {seen[0]} and {seen[1]}. `tools/walk.py` says how it is counted."
    )
    return "\n".join([
        BEGIN,
        *textwrap.wrap(text, 118),
        "",
        *_block("the answer becomes a command, and its turn begins", plain[:first]),
        *_block("one step", plain[first : last + 1]),
        *_block("the commit, and what it lets out", plain[last + 1 :]),
        END,
    ])  # fmt: skip


def _block(title: str, visits: list[Visit]) -> list[str]:
    steps = (f"{visit.file.removesuffix('.py')} ({_names(visit)})" for visit in visits)
    lines = textwrap.wrap(" → ".join(steps), 116, break_on_hyphens=False, initial_indent="  ", subsequent_indent="  ")
    return ["```", f"{title}:", *lines, "```"]


def _names(visit: Visit) -> str:
    names = dict.fromkeys(function.rpartition(".")[2] for function in visit.functions)
    return ", ".join(name for name in names if not name.startswith("<"))


def written(text: str) -> str:
    """A page with the walk as it is now."""
    head, _, rest = text.partition(BEGIN)
    return head + section() + rest.partition(END)[2]


def main() -> int:
    if "--write" in sys.argv:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    for watched in (False, True):
        visits = walk(watched=watched)
        for visit in visits:
            print(f"{visit.file:<36} {_names(visit)}")
        files, returns = figures(visits)
        print(f"{files} files, {returns} returns{', watched' if watched else ''}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
