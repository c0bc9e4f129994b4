"""Shows one board after the other: redrawn in place on a terminal, lines of what has changed elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.live import Live

from penstock.cli.output import console
from penstock.cli.plan.board import Board, BoardLines, drawn


class LiveBoard:
    def __init__(self, *, quiet: bool = False) -> None:
        screen = console()
        self.screen, self.quiet = screen, quiet
        self.moving = screen.is_terminal and not screen.is_dumb_terminal and not quiet
        self.lines = BoardLines()
        self.live = Live(
            console=screen, auto_refresh=False, vertical_overflow="crop", redirect_stdout=False, redirect_stderr=False
        )

    async def __aenter__(self) -> Self:
        if self.moving:
            self.live.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.moving:
            self.live.stop()

    def show(self, board: Board, note: str = "") -> None:
        if self.moving:
            self.live.update(drawn(board, self.screen.height, note), refresh=True)
        elif not self.quiet:
            self.lines.show(board, note)
