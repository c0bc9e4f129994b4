"""A country's public holidays, written out as dates when a tenant registers its calendar.

Expressions read dates only; the rules of a country (lunar days, substitutes) are in the package `holidays`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from typing import Any

from penstock.errors import BadInput, ExtraMissing

_MOST_YEARS = 50


def expand_holidays(calendar: Mapping[str, Any], year: int | None = None) -> dict[str, Any]:
    """The calendar with `holidays` as sorted dates, and checked nowhere else: `compile_calendar` does that.

    `"KR"` and `{"country": "KR"}` stand for the year before, the year (this one, unless told) and the year after;
    `{"country": "KR", "years": [2026], "also": ["2026-06-03"], "except": ["2026-05-01"]}` says which. A list may hold
    dates and countries. A calendar that names no country comes back as it was.
    """
    wanted = calendar.get("holidays")
    entries = wanted if isinstance(wanted, list | tuple) else [wanted]
    if not any(_is_country(entry) for entry in entries):
        return dict(calendar)
    now = datetime.now(UTC).year if year is None else year
    dates: set[Any] = set()
    for entry in entries:
        dates.update(_dates_of(entry, now) if _is_country(entry) else [entry])
    return {**calendar, "holidays": sorted(dates, key=str)}


def _is_country(entry: Any) -> bool:
    return isinstance(entry, Mapping) or (isinstance(entry, str) and entry.isalpha())


def _dates_of(entry: Any, year: int) -> set[str]:
    given: Mapping[str, Any] = entry if isinstance(entry, Mapping) else {"country": entry}
    country = given.get("country")
    years = given.get("years") or (year - 1, year, year + 1)
    if not isinstance(country, str):
        raise BadInput(what="The calendar's holidays", why="«country» must be a code such as KR")
    if not isinstance(years, list | tuple) or not 0 < len(years) <= _MOST_YEARS or not all(map(_is_year, years)):
        raise BadInput(what="The calendar's holidays", why=f"«years» must be a list of at most {_MOST_YEARS} years")
    dates = {date for holiday_year in years for date in _public(country.upper(), holiday_year)}
    return (dates | set(_texts(given, "also"))) - set(_texts(given, "except"))


def _is_year(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1900 <= value <= 2100


def _texts(given: Mapping[str, Any], name: str) -> Iterable[str]:
    value = given.get(name) or ()
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise BadInput(what="The calendar's holidays", why=f"«{name}» must be a list of dates")
    return value


@lru_cache(256)
def _public(country: str, year: int) -> tuple[str, ...]:
    try:
        package = import_module("holidays")
    except ImportError:
        raise ExtraMissing(extra="decision") from None
    try:
        return tuple(sorted(day.isoformat() for day in package.country_holidays(country, years=year)))
    except NotImplementedError:
        raise BadInput(what="The calendar's holidays", why=f"no holidays are known for «{country[:20]}»") from None
