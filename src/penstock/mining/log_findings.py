"""What is odd about an event log that can be read all the same: counted by rule, with the first place of each."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import Finding
from penstock.errors.base import Place


class _Wording(NamedTuple):
    severity: str
    message: str
    hint: str = ""


_EXPORT = "Look at how the log was exported."
RULES: dict[str, _Wording] = {
    "log_case_empty": _Wording(
        "info", "{count} case(s) have no completed event, first «{case}»; they are left out of the map."
    ),
    "log_case_twice": _Wording(
        "warning", "{count} trace(s) have the id of an earlier one, first «{case}»; each is a case of its own.", _EXPORT
    ),
    "log_dates_ambiguous": _Wording(
        "warning", "Dates like «{case}» do not say whether the day or the month is first; the day was taken.",
        "Export dates as 2026-11-19T09:30:00Z.",
    ),
    "log_duration_negative": _Wording(
        "warning", "{count} event(s) end before they start, first in case «{case}»; their start was left out.", _EXPORT
    ),
    "log_event_outside": _Wording(
        "warning", "{count} event(s) stand outside of any trace and belong to no case; they were left out.", _EXPORT
    ),
    "log_never_completed": _Wording(
        "info", "{count} activities were started and never completed, first in case «{case}»; they are not counted."
    ),
    "log_not_done": _Wording(
        "info", "{count} activities were skipped, withdrawn or aborted, first in case «{case}»; they are not counted."
    ),
    "log_times_backwards": _Wording(
        "warning", "In {count} case(s) times go backwards, first in «{case}»; their events were sorted.", _EXPORT
    ),
    "log_without_zone": _Wording(
        "info", "The times have no zone; they were read as UTC. Durations are right, hours of the day may not be.",
        "Say which zone is meant, as in zone=Asia/Seoul.",
    ),
}  # fmt: skip


class LogFindings:
    """Counts only: a log that is odd a million times needs no more memory."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[str, int]] = {}
        self._count: dict[str, int] = {}

    def note(self, rule: str, case: str = "", line: int = 0, count: int = 1) -> None:
        assert rule in RULES, "what is noted has a wording"
        self._first.setdefault(rule, (case, line))
        self._count[rule] = self._count.get(rule, 0) + count

    def listed(self) -> tuple[Finding, ...]:
        """By rule."""
        return tuple(self._finding(rule) for rule in sorted(self._count))

    def _finding(self, rule: str) -> Finding:
        wording, (case, line) = RULES[rule], self._first[rule]
        message = wording.message.format(count=self._count[rule], case=case)
        return Finding(rule, wording.severity, message, Place(line=line, column=1 if line else 0), wording.hint)
