"""Faults: which there are, which of them a seed turns on and how strong, and a counter for each that proves it."""

from __future__ import annotations

import random
from collections import Counter

#: what may go wrong; drawn where it happens
COMMIT = (
    "crash_before_commit", "crash_after_commit", "answer_lost_committed", "answer_lost_not_committed", "disk_full",
)  # fmt: skip
PROCESS = ("crash", "zombie", "crash_after_call")
EFFECT = ("fail", "skip", "never_returns", "doubled_outcome", "late_outcome", "older_attempt")
CLOCK = ("clock_jump", "clock_back", "extra_tick")
SIGNAL = ("doubled_signal", "early_signal", "signal_out_of_order", "lost_reply")
OPERATOR = (
    "cancel_now", "cancel_boundary", "pause", "retry", "compensate", "resolve", "cancel_firing", "odd_work",
    "set_variable",
)  # fmt: skip
FAULTS: tuple[str, ...] = (*COMMIT, *PROCESS, *EFFECT, *CLOCK, *SIGNAL, *OPERATOR)
_MEDDLING = frozenset({*OPERATOR, "extra_tick", "doubled_outcome", "late_outcome", "older_attempt"})
#: what a fault needs to happen at all
NEEDS = {"older_attempt": "fail", "retry": "fail", "crash_after_call": "crash", "compensate": "fail"}
#: workloads in which it can happen
SUITS: dict[str, tuple[str, ...]] = {
    "early_signal": ("signals",), "doubled_signal": ("signals", "caller"), "signal_out_of_order": ("signals",),
    "lost_reply": ("signals",), "odd_work": ("work",), "older_attempt": ("poll", "timers", "fan"),
    "retry": ("saga", "fan"), "compensate": ("saga", "saga_continue"), "extra_tick": ("timers", "poll"),
}  # fmt: skip


class Crash(BaseException):
    """The process is gone. Nothing in the engine may catch it for good."""


class Violation(BaseException):
    """Something that must always hold does not."""

    def __init__(self, check: str, detail: str) -> None:
        super().__init__(f"{check}: {detail}")
        self.check, self.detail = check, detail


class Plan:
    """A quarter of seeds has no fault, a quarter has one, half have many."""

    def __init__(self, rng: random.Random, on: dict[str, float] | None = None) -> None:
        self.rng = rng
        drawn = self._draw()  # also when it is not used: what is drawn later stays the same
        self.on = drawn if on is None else on
        self.enabled = tuple(sorted(self.on))
        self.fired: Counter[str] = Counter()
        self.healed = False

    def _draw(self) -> dict[str, float]:
        how = self.rng.random()
        if how < 0.25:
            return {}
        if how < 0.5:
            on = {self.rng.choice(FAULTS): 0.4}
        else:
            chosen = [f for f in FAULTS if self.rng.random() < 0.3]
            on = {fault: self.rng.choice((0.08, 0.2, 0.4)) for fault in chosen}
        for fault in list(on):
            if fault in NEEDS:
                on.setdefault(NEEDS[fault], 0.2)
        return on

    def has(self, fault: str) -> bool:
        return not self.healed and fault in self.on

    def hit(self, fault: str, weight: float = 1.0) -> bool:
        """Does it happen here? A fault that is off draws nothing."""
        strength = self.on.get(fault)
        if strength is None or self.healed or self.rng.random() >= strength * weight:
            return False
        self.fired[fault] += 1
        return True

    @property
    def meddles(self) -> bool:
        """Do operators, or answers that nobody waits for, come into play?"""
        return not self.healed and not _MEDDLING.isdisjoint(self.on)

    @property
    def idle(self) -> list[str]:
        """Turned on, and never happened."""
        return [f for f in self.enabled if not self.fired[f]]
