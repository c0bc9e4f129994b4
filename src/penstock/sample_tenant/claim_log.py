"""The claims of the last ninety days in the system that the sample tenant had before: an event log in CSV (P-7).

Made, not stored. What is planted: reimbursements wait long for the two people who may approve them, the item is not
looked at in some cases, some go back to finding the cause, a few are answered before they are paid, and nobody has ever
driven to a customer.
"""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

PROCESS = "claim_handling"
NAME = "claims-of-the-former-system.csv"
_DAY = 24 * 3600.0
_DAYS = 90
_ACTIVITIES = {
    "R": "클레임 접수", "C": "내용 분류", "I": "현품 확인", "F": "원인 조사", "D": "책임 판정", "A": "보상 승인",
    "P": "보상 처리", "N": "고객 통보",
}  # fmt: skip
#: which way a case went, and how many have
_WAYS = {
    "RCIFDAPN": 610, "RCAPN": 317, "RCIFDN": 168, "RCIFDAN": 42, "RCFDAPN": 40, "RCIFDFDAPN": 32, "RCAN": 27,
    "RCFDN": 16, "RCIFDANP": 8,
}  # fmt: skip
#: seconds of work, in the middle
_WORK = {"R": 360, "C": 11, "I": 2880, "F": 7800, "D": 2100, "A": 420, "P": 1320, "N": 14}
#: hours of waiting between two activities, in the middle
_WAIT = {
    "RC": 1 / 30, "CI": 6, "CA": 18, "CF": 3, "IF": 9, "FD": 14, "DA": 31, "DN": 5, "DF": 26, "AP": 4, "AN": 4, "PN": 8,
    "NP": 3,
}  # fmt: skip
#: how far the waits and the work lie apart: the slow twentieth takes 2.4 times the middle
_SPREAD = 0.53
_PEOPLE = {
    "R": ("operator@example.com", "owner@example.com"), "I": ("qa@example.com", "manager@example.com"),
    "F": ("qa@example.com", "analyst@example.com", "manager@example.com"), "D": ("manager@example.com",),
    "A": ("approver@example.com", "manager@example.com"), "P": ("approver@example.com", "admin@example.com"),
}  # fmt: skip
_AGENTS = {"C": "classifier", "N": "notifier"}


def claim_log(now: int) -> bytes:
    """All of them ended before `now`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("case_id", "activity", "start_time", "end_time", "resource", "agent_mode"))
    writer.writerows(_rows(datetime.fromtimestamp(now / 1000, UTC)))
    return text.getvalue().encode()


def _rows(now: datetime) -> Iterator[tuple[str, ...]]:
    chooser = random.Random(17)  # noqa: S311 (sample data)
    ways = [way for way, count in _WAYS.items() for _ in range(count)]
    chooser.shuffle(ways)
    first = now - timedelta(days=_DAYS)
    for number, way in enumerate(ways):
        steps = list(_steps(way, chooser))
        length = steps[-1][2]
        begin = (_DAYS * _DAY - length - 3600) * (number + chooser.random()) / len(ways)
        for letter, started, done in steps:
            who = _AGENTS.get(letter) or chooser.choice(_PEOPLE[letter])
            mode = "AUTONOMOUS" if letter in _AGENTS else "MANUAL"
            moments = (_moment(first, begin + started), _moment(first, begin + done))
            yield f"C-{20001 + number}", _ACTIVITIES[letter], *moments, who, mode


def _steps(way: str, chooser: random.Random) -> Iterator[tuple[str, float, float]]:
    """Each activity with when it was started and done, in seconds after the first was started."""
    at, before = 0.0, ""
    for letter in way:
        if before:
            at += _drawn(_WAIT[before + letter] * 3600, chooser)
        done = at + _drawn(_WORK[letter], chooser)
        yield letter, at, done
        at, before = done, letter


def _drawn(middle: float, chooser: random.Random) -> float:
    return middle * math.exp(chooser.gauss(0, _SPREAD))


def _moment(first: datetime, seconds: float) -> str:
    return (first + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
