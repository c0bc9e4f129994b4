"""Spans of time as people write them (90s, 2h, 1h30m, 1d, PT2H) and say them, and moments of ISO 8601."""

from __future__ import annotations

import datetime
import re

from penstock.errors import BadInput
from penstock.kernel.flow import LAST_MOMENT

BEYOND = "it goes beyond the year 9999"
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d|w)")
_ISO = re.compile(r"P(?:(\d{1,9})W)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,6})?)S)?)?")
_ISO_UNITS = ("w", "d", "h", "m", "s")


def read_duration(text: str) -> int:
    """Milliseconds: 90s, 1h30m, 2d, PT2H; no longer than until the year 9999. Raises BadInput."""
    ms = _read(text)
    if ms > LAST_MOMENT:
        raise BadInput(what=f"the time «{text[:40]}»", why=BEYOND, hint="Write a shorter one, as 400d.")
    return ms


def _read(text: str) -> int:
    written = text.strip()
    parts = _PART.findall(written)
    if parts and "".join(number + unit for number, unit in parts) == written:
        return round(sum(float(number) * _UNITS[unit] for number, unit in parts))
    iso = _ISO.fullmatch(written)
    if iso is not None and any(iso.groups()):
        return round(
            sum(float(part) * _UNITS[unit] for part, unit in zip(iso.groups(), _ISO_UNITS, strict=True) if part)
        )
    raise BadInput(
        what=f"the time «{text[:40]}»", why="it is no duration", hint="Write it as 90s, 30m, 2h, 1h30m or 1d."
    )


def duration_words(ms: int) -> str:
    """Exactly: 2h, 1h30m, 1d2h, 250ms; 0s for nothing."""
    if ms < 0:
        return f"-{duration_words(-ms)}"
    words = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, ms = divmod(ms, _UNITS[unit])
        if count:
            words.append(f"{count}{unit}")
    return "".join(words) or "0s"


def read_moment(text: str) -> int:
    """Milliseconds since 1970 of an ISO 8601 moment; without a zone it is UTC. Raises BadInput."""
    try:
        moment = datetime.datetime.fromisoformat(text)
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=datetime.UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        hint = "Write it as 2026-01-05T09:00:00Z."
        raise BadInput(what=f"the moment «{text[:40]}»", why="it is no moment of ISO 8601", hint=hint) from error
