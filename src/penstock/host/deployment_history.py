"""Which version of a thing was in force in a line, from when until when, by what has happened to its deployments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from penstock.store.deployments import DeploymentEventRow, DeploymentRow


class InForce(NamedTuple):
    """`until` None: still. `implied`: nobody has deployed it, it applied before anything was deployed."""

    version: str
    since: int
    until: int | None
    implied: bool = False


class DeploymentHistory:
    """`rows` are the deployments of one thing in one environment, the oldest first, each with its events."""

    def __init__(
        self,
        rows: Sequence[tuple[DeploymentRow, Sequence[DeploymentEventRow]]],
        known_since: Callable[[str], int],
    ) -> None:
        self.rows, self.known_since = rows, known_since

    def in_force(self, line: str, *, before: str = "") -> list[InForce]:
        """The earliest first. `before`: by what was deployed before this deployment alone."""
        rows = [pair for pair in self._until(before) if covers(pair[0], line)]
        changes: list[tuple[int, str, bool]] = []
        implied = rows[0][0].previous if rows else None
        if implied is not None:
            changes.append((min(self.known_since(implied), rows[0][0].began_at), implied, True))
        events = sorted(
            ((event.at, row.rank, event.number, row, event.what) for row, known in rows for event in known),
            key=lambda entry: entry[:3],
        )
        stack: dict[int, tuple[str, str]] = {}  # rank → version in force by it, version taken back by it
        for at, rank, _, row, what in events:
            if what == "complete":
                stack[rank] = (row.version, "")
            elif what == "roll_back":
                stack[rank] = (row.to_version or "" if row.pinned else "", row.version)
            else:
                continue
            version = _top(stack) or implied
            if version is not None and (not changes or changes[-1][1] != version):
                changes.append((at, version, version == implied and not _top(stack)))
        ends = [at for at, _, _ in changes[1:]]
        return [
            InForce(version, at, end, is_implied)
            for (at, version, is_implied), end in zip(changes, [*ends, None], strict=False)
        ]

    def taken_back(self, line: str) -> set[str]:
        """Versions whose last deployment in the line was taken back."""
        last = {row.version: row.status for row, _ in self.rows if covers(row, line)}
        return {version for version, status in last.items() if status == "rolled_back"}

    def _until(self, before: str) -> Sequence[tuple[DeploymentRow, Sequence[DeploymentEventRow]]]:
        place = next((n for n, (row, _) in enumerate(self.rows) if row.id == before), len(self.rows))
        return self.rows[:place]


def covers(row: DeploymentRow, line: str) -> bool:
    return row.lines is None or line in msgspec.json.decode(row.lines, type=list[str])


def _top(stack: dict[int, tuple[str, str]]) -> str:
    gone: set[str] = set()
    for rank in sorted(stack, reverse=True):
        version, taken = stack[rank]
        if version and version not in gone:
            return version
        gone.add(taken)
    return ""
