"""Times as people write them on a timer: «3 days», «after 30 minutes», «2시간 후», PT5M. Everything else is no time."""

from __future__ import annotations

import re

from penstock.lang.process import durations

_UNITS = {
    "D": ("day", "days", "d", "일", "tag", "tage", "tagen"),
    "W": ("week", "weeks", "wk", "주", "주일", "woche", "wochen"),
    "M": ("month", "months", "개월", "달", "monat", "monate", "monaten"),
    "Y": ("year", "years", "yr", "년", "jahr", "jahre", "jahren"),
    "TH": ("hour", "hours", "hr", "hrs", "h", "시간", "stunde", "stunden", "std"),
    "TM": ("minute", "minutes", "min", "mins", "분", "minuten"),
    "TS": ("second", "seconds", "sec", "secs", "s", "초", "sekunde", "sekunden"),
}  # fmt: skip
_UNIT = {word: unit for unit, words in _UNITS.items() for word in words}
_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            ("a", "an", "one", "하루", "한", "ein", "eine", "einem", "einer"), ("two", "두", "zwei"),
            ("three", "세", "drei"), ("four", "네", "vier"), ("five", "fünf"), ("six", "sechs"), ("seven", "sieben"),
            ("eight", "acht"), ("nine", "neun"), ("ten", "zehn"),
        ),
        1,
    )
    for word in words
}  # fmt: skip
_WORDS_BEFORE = ("after", "in", "wait for", "wait", "within", "for", "nach", "timeout", "delay", "duration", "every",
                 "each", "alle", "jede[rn]?", "매")  # fmt: skip
_WORDS_AFTER = ("later", "passed", "elapsed", "have passed", "have elapsed", "timeout", "delay", "over", "expired",
                "warten", "후", "뒤", "이후", "경과", "마다", "대기", "동안", "이내", "지남", "간")  # fmt: skip
_SPOKEN = re.compile(
    rf"(?P<before>(?:(?:{'|'.join(_WORDS_BEFORE)})\s*:?\s*)*)"
    rf"(?P<number>\d{{1,4}}|{'|'.join(_NUMBERS)})\s*-?\s*(?P<unit>{'|'.join(sorted(_UNIT, key=len, reverse=True))})"
    rf"(?P<after>(?:\s*(?:{'|'.join(_WORDS_AFTER)}))*)\Z",
    re.I,
)
#: a time beside the name: Timeout (7 days)
_ASIDE = re.compile(r"[(\[]([^()\[\]]+)[)\]]\Z")
_EVERY = re.compile(r"every|each|alle\b|jede|매|마다", re.I)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2})?)?\Z")
_DAILY = {"daily": "P1D", "every day": "P1D", "weekly": "P7D", "hourly": "PT1H", "매일": "P1D", "매주": "P7D",
          "every week": "P7D", "every hour": "PT1H", "every minute": "PT1M"}  # fmt: skip


def spoken_time(text: str) -> tuple[str, str] | None:
    """The kind and the value of the time that a text says, and nothing besides."""
    text = " ".join(text.split()).strip(" .!:")
    if durations.milliseconds(text) is not None:
        return "duration", text
    if durations.cycle(text) is not None:
        return "cycle", text
    if _ISO_DATE.match(text):
        return "date", text
    if (each := _DAILY.get(text.lower())) is not None:
        return "cycle", f"R/{each}"
    match = _SPOKEN.match(text) or ((aside := _ASIDE.search(text)) and _SPOKEN.match(aside[1].strip()))
    if not match:
        return None
    word = match["number"].lower()
    number = int(word) if word.isdigit() else _NUMBERS[word]
    unit = _UNIT[match["unit"].lower()]
    value = f"PT{number}{unit[1]}" if len(unit) > 1 else f"P{number * 7}D" if unit == "W" else f"P{number}{unit}"
    again = _EVERY.search(match["before"] + match["after"]) is not None
    return ("cycle", f"R/{value}") if again else ("duration", value)
