"""Time limits in a sentence: «within 3 days», «3영업일 이내»; as a duration in ISO 8601."""

from __future__ import annotations

import re

_UNITS = {
    "minute": "PT{}M", "hour": "PT{}H", "day": "P{}D", "week": "P{}W", "month": "P{}M",
    "분": "PT{}M", "시간": "PT{}H", "일": "P{}D", "주": "P{}W", "주일": "P{}W", "개월": "P{}M", "달": "P{}M",
}  # fmt: skip
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "열흘": 10, "일주일": 7,
}  # fmt: skip
_ENGLISH = re.compile(
    r"\b(?:within|in less than|no later than|not later than|at the latest)\s+(?:the\s+next\s+)?"
    r"(?P<number>\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten)\s+"
    r"(?P<business>(?:business|working)\s+)?(?P<unit>minute|hour|day|week|month)s?\b", re.I,
)  # fmt: skip
_KOREAN = re.compile(
    r"(?P<number>\d{1,4})\s*(?P<business>영업|근무)?\s*(?P<unit>분|시간|일|주일|주|개월|달)\s*(?:이내|안)(?:에|로"
    r"|까지)?"
)
_KOREAN_WORD = re.compile(r"(?P<word>하루|이틀|사흘|나흘|닷새|열흘|일주일)\s*(?:이내|안)(?:에|로)?")


def due_of(sentence: str) -> str:
    """The duration; "" where a sentence has no time limit. A week of work has five days, so working days become days:
    3 working days are 3 days, since a definition counts by the clock."""
    if match := _ENGLISH.search(sentence) or _KOREAN.search(sentence):
        number = int(match["number"]) if match["number"].isdigit() else _NUMBERS[match["number"].lower()]
        return _UNITS[match["unit"].lower()].format(number) if number else ""
    if match := _KOREAN_WORD.search(sentence):
        return f"P{_NUMBERS[match['word']]}D"
    return ""


def in_working_days(sentence: str) -> bool:
    """Does a limit count working days, which a duration cannot say?"""
    match = _ENGLISH.search(sentence) or _KOREAN.search(sentence)
    return match is not None and bool(match["business"])
