"""What a firing has tried and what it has waited for, with times: the state keeps only what the kernel needs."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.kernel.fact_lines import FactLine, firing_of


class Attempt(msgspec.Struct):
    """`outcome` is empty while it works; then done, failed, skipped, interrupted, swept. `next_at` is when it is tried
    again."""

    n: int
    started_at: int
    ended_at: int | None = None
    outcome: str = ""
    code: str | None = None
    message: str | None = None
    next_at: int | None = None


class WaitPeriod(msgspec.Struct):
    """A time in which a firing waited: `why` is backoff, work, event, operator or time."""

    since: int
    until: int | None
    why: str


class AttemptHistory:
    """Told line by line, by the id of the firing."""

    def __init__(self) -> None:
        self.attempts: dict[str, list[Attempt]] = {}
        self.rests: dict[str, list[WaitPeriod]] = {}
        self.waits: dict[int, tuple[str, int]] = {}  # firing, since
        self.paused: tuple[int, str] | None = None  # since, why
        self.moved_at = 0  # when the run last changed its status

    def tell(self, line: FactLine) -> None:
        tell = _TELL.get(line.fact)
        if tell is not None:
            tell(self, line)

    def since(self, firing: str) -> int | None:
        """Since when it waits as it does now."""
        rests = self.rests.get(firing)
        return rests[-1].since if rests and rests[-1].until is None else None

    def failed(self, firing: str) -> Attempt | None:
        """Its last attempt, if that failed."""
        tried = self.attempts.get(firing)
        return tried[-1] if tried and tried[-1].outcome == "failed" else None

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _asked(self, line: FactLine) -> None:
        firing = line.data["key"].split("/", 2)[2]
        self._rested(firing, line.at)
        tried = self.attempts.setdefault(firing, [])
        if not tried or tried[-1].ended_at is not None:  # a probe of a poll belongs to the attempt that goes on
            tried.append(Attempt(line.data["attempt"], line.at))

    def _failed(self, line: FactLine) -> None:
        firing, failure = line.data["firing"], line.data["failure"] or {}
        next_at = line.data.get("next_at")
        self._end(firing, line, "failed", failure, next_at)
        self._rest(firing, line.at, "backoff")

    def _settled(self, line: FactLine) -> None:
        firing = firing_of(line)
        self._rested(firing, line.at)
        self._end(firing, line, line.data["status"], line.data.get("failure") or {})

    def _swept(self, line: FactLine) -> None:
        for firing in line.data.get("firings", ()):
            self._rested(firing, line.at)
            self._end(firing, line, "swept", {})

    def _phase(self, line: FactLine) -> None:
        firing, phase = line.data["firing"], line.data["phase"]
        if phase == "blocked":
            self._rest(firing, line.at, "operator")
        elif phase == "suspended":
            self._rest(firing, line.at, "time")
        else:
            self._rested(firing, line.at)

    def _opened(self, line: FactLine) -> None:
        """An escalation begins a new wait."""
        self._rested(line.data["firing"], line.at)
        self._rest(line.data["firing"], line.at, "work")

    def _wait(self, line: FactLine) -> None:
        firing = line.data["firing"]
        self.waits[line.data["wait"]] = (firing, line.at)
        self._rest(firing, line.at, "event")

    def _paused(self, line: FactLine) -> None:
        self.paused = (line.at, str(line.data["why"])) if line.data["on"] else None

    def _moved(self, line: FactLine) -> None:
        self.moved_at = line.at

    # -- what is kept --------------------------------------------------------------------------------------------------

    def _rest(self, firing: str, at: int, why: str) -> None:
        """A wait that is already told by a better name goes on."""
        rests = self.rests.setdefault(firing, [])
        if rests and rests[-1].until is None:
            if rests[-1].why == "time":
                rests[-1].why = why
            return
        rests.append(WaitPeriod(at, None, why))

    def _rested(self, firing: str, at: int) -> None:
        rests = self.rests.get(firing)
        if rests and rests[-1].until is None:
            rests[-1].until = at

    def _end(
        self, firing: str, line: FactLine, outcome: str, failure: dict[str, Any], next_at: int | None = None
    ) -> None:
        tried = self.attempts.get(firing)
        if not tried or tried[-1].ended_at is not None:
            return
        attempt = tried[-1]
        attempt.ended_at, attempt.outcome, attempt.next_at = line.at, outcome, next_at
        attempt.code, attempt.message = failure.get("code"), failure.get("message")


_TELL = {
    "effect.asked": AttemptHistory._asked, "attempt.failed": AttemptHistory._failed,
    "settled": AttemptHistory._settled, "swept": AttemptHistory._swept,
    "phase": AttemptHistory._phase, "work.opened": AttemptHistory._opened,
    "wait.opened": AttemptHistory._wait, "paused": AttemptHistory._paused,
    "run.moved": AttemptHistory._moved,
}  # fmt: skip
