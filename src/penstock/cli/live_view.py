"""The live view of a run: the net with its tokens moving on a terminal, plain lines elsewhere.

A turn moves many tokens at once and takes a millisecond, so the view plays it back in frames that an eye can follow. It
never holds the engine up: it lags behind a little, and leaves frames out when it would lag behind too much.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable

from msgspec.structs import replace
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from penstock.app.drawing.authored_net import authored_net
from penstock.app.penstock import Penstock
from penstock.app.runs.run_view import RunFold
from penstock.cli.net_text import coloured
from penstock.cli.output import TONES, console, safe, say, short
from penstock.dialects import dialect_of
from penstock.dialects.net_nodes import goes_on, is_companion, is_synthetic
from penstock.errors import PenstockError
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED, STATUS
from penstock.net.author import author, within
from penstock.net.compiled import CNode, Compiled
from penstock.net.draw.marks import UNREACHED, Marks, NodeMark, status_style
from penstock.net.draw.terminal import TextLine as Drawn
from penstock.net.draw.terminal import terminal
from penstock.net.model import Net

FRAME_S = 0.09
_MOST_FRAMES = 30  # more than these lie too far behind
_AFTER_S = 1.5  # how long the view may play on when the run has ended


@contextlib.asynccontextmanager
async def view_of(
    door: Penstock, run: str, *, quiet: bool, begin: str = "", whole: bool = False
) -> AsyncIterator[None]:
    """Shows a run for as long as the block lasts: with `whole` from its first fact on, else what happens from now on.
    `begin` says what is done with a run that has a past; nothing is shown before something has happened, or the block
    has ended well."""
    if quiet:
        yield
        return
    fold = door.watch_live(run)
    past = [line for line in door.lines(run) if line.seq <= fold.reader.st.n] if whole else []
    screen = console()
    moving = screen.is_terminal and not screen.is_dumb_terminal
    first = begin if whole else _first_line(fold, begin)
    view = _NetView(screen, run, fold, first, past) if moving else _LineView(fold, first, past)
    door.listen(lambda whose, lines: view.show(lines) if whose == run else None)
    async with view:
        yield


def _first_line(fold: RunFold, begin: str) -> str:
    """What is said first about a run that has a past."""
    st = fold.reader.st
    if not st.n:
        return ""
    if begin:
        return f"{begin} after fact {st.n}"
    if st.status >= COMPLETED:
        return "this run has ended already; nothing is done again"
    return f"going on after fact {st.n}"


class _LineView:
    """One line for every effect that is asked and every node that settles."""

    def __init__(self, fold: RunFold, first: str, past: list[FactLine]) -> None:
        self.fold, self.first, self.past = fold, first, past
        self.began = time.monotonic()

    async def __aenter__(self) -> None:
        if self.past:
            self.show(self.past)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._begin()

    def _begin(self) -> None:
        if self.first:
            say(self.first)
        self.first = ""

    def show(self, lines: Iterable[FactLine]) -> None:
        self._begin()
        for line in lines:
            if text := _fact_text(line, self.fold.reader.net):
                say((f"{time.monotonic() - self.began:7.2f} s  ", "bright_black"), *text)


def _fact_text(line: FactLine, net: Compiled | None) -> list[str | tuple[str, str]]:
    """In the author's words: what the net has beside a node of the document is told as that node."""
    node = net.by_id.get(line.node) if net is not None else None
    drawn = author(node) if node is not None else line.node
    inside = node is not None and within(node)
    if node is not None and is_synthetic(node) or line.node.startswith("."):  # no author has drawn it
        return []
    if node is not None and is_companion(node):
        failed = line.fact == "settled" and "failure" in line.data
        return [(drawn, "bold"), (" could not tell everybody", TONES["held"])] if failed else []
    who = (f"{drawn}{_item(line)}" if inside else drawn, "bold")
    if node is not None and node.spec.off_path and dialect_of(node.net.net.language).undo_is_part_of_activity:
        return _undone(line, who, node.spec.label)
    if line.fact == "effect.asked":
        attempt = line.data["attempt"]
        return [who, " is asked", f", attempt {attempt}" if attempt > 1 else ""]
    if line.fact == "settled":
        times = _times(line.data["visit"], node.max_iter if node is not None else None)
        return [who, times, *_ended(line, drawn != line.node and not inside)]
    if line.fact == "attempt.failed":
        failure = line.data.get("failure") or {}
        return [who, (f" failed, will be tried again: {failure.get('code', '')}", TONES["held"])]
    if line.fact == "work.opened" and line.data.get("mode", "") in ("", "MANUAL"):  # else its agent is asked
        return [who, " waits for an answer"]
    if line.fact == "work.moved" and line.data["to"] in _MOVED:
        return [who, _MOVED[line.data["to"]]]
    return []


def _undone(line: FactLine, who: tuple[str, str], by: str) -> list[str | tuple[str, str]]:
    """What undoes an activity of a process is drawn with it."""
    if line.fact == "work.opened":
        return [who, f" waits for somebody to undo it: {by}"]
    if line.fact != "settled":
        return []
    if failure := line.data.get("failure"):
        return [who, (" is not undone", TONES["failed"]), f": {failure['code']} {failure.get('message', '')}"]
    return [who, " is undone", f" by {by}" if by else ""]


_MOVED = {"SUBMITTED": " has a draft and waits for an approval", "REWORK": " is sent back"}


def _ended(line: FactLine, asked: bool) -> list[str | tuple[str, str]]:
    """How a firing ended; the part of a node that only asks has its answer then."""
    ended, failure = line.data["status"], line.data.get("failure")
    what = f" {ended}" if ended != "done" else f" decided {line.data['port']}" if "port" in line.data else " done"
    if asked and ended == "done":
        what = " has its answer"
    output = f": {failure['code']} {failure.get('message', '')}" if failure else ""
    if not failure and "meta" in line.data and line.data.get("output") is not None:
        output = f": {short(line.data['output'], 80)}"
    return [(what, TONES["failed"] if ended == "failed" else ""), output]


def _item(line: FactLine) -> str:
    """Which item of a batch it is: the last part of its scope, which an asked effect has in its key."""
    asked = line.data.get("key", "").partition(f"/{line.node}@")[2].rpartition("~")[0]
    return f"[{(line.scope or asked).rpartition('/')[2]}]"


def _times(visit: int, limit: int | None) -> str:
    return f" ({visit}/{limit})" if limit is not None else f" ({visit})" if visit > 1 else ""


class _NetView:
    """The drawing, redrawn in place. Marks are kept line by line: a long run costs no more at its end than at first."""

    def __init__(self, screen: Console, run: str, fold: RunFold, first: str, past: list[FactLine]) -> None:
        self.screen, self.run, self.fold, self.first, self.past = screen, run, fold, first, past
        self.drawn: dict[int, Net] = {}  # the net as its author drew it
        self.tokens: dict[str, int] = {}
        self.nodes: dict[str, NodeMark] = {}
        self.frames: deque[tuple[Marks, str]] = deque()
        self.last = ""
        self.news = asyncio.Event()
        self.began = time.monotonic()
        self.live = Live(
            console=screen, auto_refresh=False, vertical_overflow="crop", redirect_stdout=False, redirect_stderr=False
        )
        self.task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        if self.past:
            self.show(self.past)
        elif self.fold.reader.net is not None:
            self._take(self.fold.marks())
            self.last = self.first
        self.live.start()
        self.task = asyncio.ensure_future(self._play())

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.task is not None and kind is None:
            end = time.monotonic() + _AFTER_S
            while self.frames and time.monotonic() < end:
                await asyncio.sleep(FRAME_S / 2)
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        if self.fold.reader.net is not None and kind is None:
            with contextlib.suppress(PenstockError):
                self._show(self.fold.marks(), self.last)
        self.live.stop()

    # -- frames --------------------------------------------------------------------------------------------------------

    def _take(self, marks: Marks) -> None:
        self.tokens, self.nodes = dict(marks.tokens), dict(marks.nodes)

    def show(self, lines: Iterable[FactLine]) -> None:
        """A frame whenever tokens have come to lie somewhere, and one when they are taken."""
        net = self.fold.reader.net
        if not self.nodes and net is not None:
            self.nodes = {n.id: NodeMark(status="PENDING", limit=n.max_iter) for n in net.nodes if n.id == author(n)}
        put = False
        for line in lines:
            if line.fact == "fired" and put:
                self._frame()
            put = self._apply(line) or put and line.fact != "fired"
        self._frame()

    def _frame(self) -> None:
        self.frames.append((Marks(tokens=dict(self.tokens), nodes=dict(self.nodes)), self.last))
        if len(self.frames) > _MOST_FRAMES:
            self.frames.popleft()
        self.news.set()

    def _apply(self, line: FactLine) -> bool:
        """What a line changes in the picture; True when a token was put."""
        data, node = line.data, self._drawn(line.node)
        if line.fact == "put":
            self.tokens[line.edge] = self.tokens.get(line.edge, 0) + 1
            return True
        if line.fact == "fired":
            for edge, _ in data["takes"]:
                self._less(edge)
            self._fired(line, node)
        elif line.fact == "settled":
            self._settled(line)
        elif line.fact == "absorbed":
            self._less(line.edge)
        elif line.fact == "work.opened":
            self._mark(node, status="WAITING")
        elif line.fact == "attempt.failed" and line.data.get("next_at"):
            self._mark(node, status="RETRYING")
        elif line.fact == "effect.asked":
            self._mark(node, status="RUNNING")
        elif line.fact == "swept":
            for edge, _, _ in data.get("tokens", ()):
                self._less(edge)
        elif line.fact == "run.moved" and data["to"] in STATUS[COMPLETED:]:
            for id, mark in self.nodes.items():
                if mark.status.lower() in UNREACHED:
                    self.nodes[id] = replace(mark, status="SKIPPED")
        return False

    def _drawn(self, node: str) -> str:
        net = self.fold.reader.net
        node_spec = net.by_id.get(node) if net is not None else None
        return author(node_spec) if node_spec is not None else node

    def _fired(self, line: FactLine, node: str) -> None:
        """A node that begins with another part of it has been counted when that part fired."""
        net = self.fold.reader.net
        fired = net.by_id.get(line.node) if net is not None else None
        if fired is not None and is_companion(fired):
            return
        again = fired is not None and (within(fired) or any(_is_part(edge.src, node) for edge in fired.ins))
        self._mark(node, status="RUNNING", count=self._count(node) + (not again))

    def _settled(self, line: FactLine) -> None:
        net = self.fold.reader.net
        node = net.by_id.get(line.node) if net is not None else None
        if node is not None and (is_companion(node) or _more_follows(node, line)):
            return
        status = {"done": "SUCCEEDED", "failed": "FAILED"}.get(line.data["status"], "SKIPPED")
        if node is not None and status == "SUCCEEDED":
            status = "MAXITER_REACHED" if node.at_limit(line.data["visit"]) else "COMPLETED"
        self._mark(self._drawn(line.node), status=status)
        if line.data.get("meta") and line.data.get("output") is not None:
            self.last = f"{self._drawn(line.node)}: {short(line.data['output'], 200)}"
        if "failure" in line.data:
            self.last = f"{self._drawn(line.node)}: {line.data['failure'].get('message', '')}"

    def _count(self, node: str) -> int:
        return self.nodes[node].count if node in self.nodes else 0

    def _mark(self, node: str, *, status: str, count: int | None = None) -> None:
        mark = self.nodes.get(node, NodeMark())
        self.nodes[node] = replace(mark, status=status, count=mark.count if count is None else count)

    def _less(self, edge: str) -> None:
        if self.tokens.get(edge, 0) > 1:
            self.tokens[edge] -= 1
        else:
            self.tokens.pop(edge, None)

    # -- showing -------------------------------------------------------------------------------------------------------

    async def _play(self) -> None:
        """Frame after frame; when there is nothing new, only the clock moves."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.news.wait(), 0.25)  # what is refused at once leaves nothing on the screen
        shown = Marks(tokens=dict(self.tokens), nodes=dict(self.nodes)), self.last
        while True:
            if self.frames:
                shown = self.frames.popleft()
            self._show(*shown)
            if self.frames:
                await asyncio.sleep(FRAME_S)
                continue
            self.news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.news.wait(), 0.25)

    def _show(self, marks: Marks, last: str) -> None:
        net = self.fold.reader.net
        if net is not None:
            self.live.update(Group(*self._picture(net.net, marks, last)), refresh=True)

    def _picture(self, net: Net, marks: Marks, last: str) -> Iterable[RenderableType]:
        st = self.fold.reader.st
        status = self.fold.word(STATUS[st.status])
        shown = f"{status}, paused" if st.paused else status
        head = Text.assemble(
            ("● ", TONES[status_style(status).tone]), (safe(net.name), "bold"),
            ("  run ", "bright_black"), self.run, "  ",
            (shown, TONES[status_style("paused" if st.paused else status).tone]),
            (f"  {time.monotonic() - self.began:.1f} s  {st.n} facts", "bright_black"),
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
        yield head
        yield ""
        if id(net) not in self.drawn:
            self.drawn = {id(net): authored_net(net)}
        lines = terminal(self.drawn[id(net)], marks)
        room = max(self.screen.height - 5, 4)
        if len(lines) > room:
            lines = _busiest(lines, room)
        for line in lines:
            yield coloured(line, 2)
        yield ""
        yield Text(f"  {safe(last)}", style="italic", no_wrap=True, overflow="ellipsis")


def _is_part(node: CNode, drawn: str) -> bool:
    return author(node) == drawn != node.id and not within(node) and not is_companion(node)


def _more_follows(node: CNode, line: FactLine) -> bool:
    """Does the author's node go on?"""
    status, port = line.data["status"], line.data.get("port", "done")
    return within(node) and status == "done" or goes_on(node, status, port, undoes="undoes" in line.data)


def _busiest(lines: list[Drawn], room: int) -> list[Drawn]:
    """The part of a picture that is too high in which something happens."""
    busy = [i for i, line in enumerate(lines) if any(s.style in ("moving", "held", "token") for s in line.spans)]
    middle = busy[len(busy) // 2] if busy else 0
    first = min(max(middle - room // 2, 0), len(lines) - room)
    return lines[first : first + room]
