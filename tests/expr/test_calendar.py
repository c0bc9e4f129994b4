"""A tenant's calendar: what it may hold, what it says of a moment, and what is said when it cannot be used."""

from __future__ import annotations

import ast
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import penstock.expr.calendar
from penstock.app.registry.calendars import expand_holidays
from penstock.errors import BadInput, ExprTypeError, ExtraMissing
from penstock.expr.calendar import UTC, calendar_of, compile_calendar, moment_of
from tests.counted import lines_of

SEOUL = compile_calendar(None).zone


def ask(question: str, calendar: Any, *moments: str) -> list[bool]:
    """The answers for moments, which without an offset are in the calendar's own zone."""
    compiled = compile_calendar(calendar)
    return [getattr(compiled, question)(moment_of(text, compiled.zone)) for text in moments]


def test_hours_are_half_open() -> None:
    """C-48: business hours are [start, end) on their days, minus holidays."""
    week = [f"2026-11-{day}T10:00" for day in range(16, 23)]  # Monday to Sunday
    assert ask("is_business_hours", {}, *week) == [True] * 5 + [False] * 2
    edges = ("2026-11-16T08:59:59.999", "2026-11-16T09:00", "2026-11-16T17:59:59.999", "2026-11-16T18:00")
    assert ask("is_business_hours", {}, *edges) == [False, True, True, False]
    assert ask("is_business_hours", {"holidays": ["2026-11-16"]}, "2026-11-16T10:00", "2026-11-17T10:00") == [
        False,
        True,
    ]
    assert ask("is_business_hours", {}, "2026-11-16T00:00:00Z", "2026-11-16T09:00:00Z") == [True, False]


def test_hours_may_cross_midnight() -> None:
    """C-48: hours that cross midnight belong to the day on which they begin, also its weekday and its holiday."""
    late = {"business_hours": {"days": ["fri"], "start": "22:00", "end": "02:00"}, "holidays": ["2026-11-27"]}
    moments = ("2026-11-20T23:00", "2026-11-21T01:59", "2026-11-21T02:00", "2026-11-21T23:00", "2026-11-20T01:00")
    assert ask("is_business_hours", late, *moments) == [True, True, False, False, False]
    assert ask("is_business_hours", late, "2026-11-27T23:00", "2026-11-28T01:00") == [False, False]
    nights = ("2026-11-16T21:59", "2026-11-16T22:00", "2026-11-17T05:59", "2026-11-17T06:00")
    assert ask("is_night_shift", {}, *nights) == [False, True, True, False]
    assert ask("is_night_shift", {"night_shift": {"start": "0:30", "end": "24:00"}}, *nights) == [True] * 4


def test_days_and_weekends() -> None:
    """C-48: days are written mon or monday, alone or from–to; without days, business is on what is no weekend."""
    gulf = {"weekend": ["Friday", "sat"]}
    days = [f"2026-11-{day}T10:00" for day in range(16, 23)]
    assert ask("is_weekend", gulf, *days) == [False] * 4 + [True, True, False]
    assert ask("is_business_hours", gulf, *days) == [True] * 4 + [False, False, True]
    odd = {"business_hours": {"days": ["sat–mon", "wed"], "start": "09:00", "end": "18:00"}}
    assert ask("is_business_hours", odd, *days) == [True, False, True, False, False, True, True]
    assert ask("is_weekend", {"weekend": []}, *days) == [False] * 7
    assert ask("is_business_hours", {"business_hours": {"days": "mon-fri"}}, *days) == [True] * 5 + [False] * 2


def test_windows_with_dates() -> None:
    """C-48: a window from a moment to a moment, in the tenant's zone or with an offset, or every day."""
    windows = [
        {"start": "2026-11-20T23:00", "end": "2026-11-21T01:00"},
        {"start": "2026-12-01T00:00:00Z", "end": "2026-12-01T01:00:00Z"},
        {"start": "2026-12-24", "end": "2026-12-26"},
        {"start": "23:30", "end": "00:30", "days": ["sun"]},
    ]
    hit = ("2026-11-20T23:00", "2026-11-21T00:59", "2026-12-01T09:00", "2026-12-25T23:59", "2026-11-23T00:29")
    miss = ("2026-11-20T22:59", "2026-11-21T01:00", "2026-12-01T10:00", "2026-12-26T00:00", "2026-11-22T00:29")
    assert ask("is_maintenance_window", {"maintenance_windows": windows}, *hit) == [True] * 5
    assert ask("is_maintenance_window", {"maintenance_windows": windows}, *miss) == [False] * 5


def test_windows_by_cron() -> None:
    """C-48: a window begins when its cron expression says, in the tenant's zone, and lasts its minutes."""
    sundays = {"maintenance_windows": [{"cron": "0 2 * * SUN", "duration_minutes": 90}]}
    moments = (
        "2026-11-22T01:59:59",
        "2026-11-22T02:00",
        "2026-11-22T03:29:59.9",
        "2026-11-22T03:30",
        "2026-11-23T02:00",
    )
    assert ask("is_maintenance_window", sundays, *moments) == [False, True, True, False, False]
    across = {"maintenance_windows": [{"cron": "30 23 L * *", "duration_minutes": 60}]}
    assert ask("is_maintenance_window", across, "2026-12-01T00:29", "2026-12-01T00:30") == [True, False]
    overlapping = {"maintenance_windows": [{"cron": "*/10 * * * *", "duration_minutes": 15}]}
    assert ask("is_maintenance_window", overlapping, "2026-11-22T03:07:30") == [True]
    rare = {"maintenance_windows": [{"cron": "0 0 29 2 *", "duration_minutes": 60}]}
    assert ask("is_maintenance_window", rare, "2028-02-29T00:30", "2027-03-01T00:30") == [True, False]
    assert ask("is_maintenance_window", rare, "0001-01-01T10:00", "9999-12-31T10:00") == [False, False]


def test_what_a_window_remembers_changes_no_answer() -> None:
    """C-48: asked in any order, and where clocks are set back, the answer for a moment is the same."""
    for zone in ("Asia/Seoul", "Europe/Berlin"):
        calendar = {
            "timezone": zone,
            "maintenance_windows": [
                {"cron": "45 2 * * *", "duration_minutes": 50},
                {"cron": "5 */7 * * *", "duration_minutes": 7},
            ],
        }
        moments = [moment_of(f"2026-10-25T{h:02}:{m:02}:00Z", UTC) for h in range(24) for m in range(0, 60, 5)]
        alone = [compile_calendar(calendar).is_maintenance_window(moment) for moment in moments]
        shared = compile_calendar(calendar)
        forward = [shared.is_maintenance_window(moment) for moment in moments]
        backward = [shared.is_maintenance_window(moment) for moment in reversed(moments)]
        assert alone == forward == list(reversed(backward))
        assert any(alone) and not all(alone)


BAD: list[tuple[Any, str]] = [
    (5, "the calendar must be an object, not an integer"),
    ([], "the calendar must be an object, not an array"),
    ({"zone": "UTC"}, "the calendar has no «zone»; it has timezone, weekend"),
    ({"timezone": "Asia/Nowhere"}, "the calendar's timezone: «Asia/Nowhere» is not a known time zone"),
    ({"timezone": "../../etc/passwd"}, "is not a known time zone"),
    ({"timezone": "Asia"}, "is not a known time zone"),
    ({"timezone": ""}, "is not a known time zone"),
    ({"timezone": 9}, "must be a name such as Asia/Seoul"),
    ({"weekend": ["caturday"]}, "the calendar's weekend: «caturday» is not a day such as mon"),
    ({"weekend": [6]}, "«6» is not a day"),
    ({"weekend": 6}, "must be a list of days"),
    ({"weekend": ["mon-tue-wed"]}, "is not a day such as mon, nor mon-fri"),
    ({"holidays": "KR"}, "names a country"),
    ({"holidays": {"country": "KR"}}, "names a country"),
    ({"holidays": 5}, "must be a list of dates"),
    ({"holidays": ["2026-02-30"]}, "«2026-02-30» is not a date such as 2026-01-01"),
    ({"holidays": ["2026-01-01T00:00"]}, "is not a date such as"),
    ({"holidays": [20260101]}, "is not a date such as"),
    ({"business_hours": "9-18"}, "the calendar's business_hours: must be an object with start and end"),
    ({"business_hours": {"from": "09:00"}}, "has no «from»; it has days, start, end"),
    ({"business_hours": {"start": "25:00"}}, 'business_hours.start: «25:00» is not a time such as "09:00"'),
    ({"business_hours": {"start": 1320}}, '«1320» is not a time such as "09:00", in quotes'),
    ({"business_hours": {"start": "9:60"}}, "is not a time"),
    ({"business_hours": {"end": None}}, "is not a time"),
    ({"business_hours": {"start": "09:00", "end": "09:00"}}, "begins and ends at the same time"),
    ({"night_shift": {"start": "24:00", "end": "06:00"}}, "«24:00» is an end"),
    ({"night_shift": {"days": ["x"]}}, "night_shift.days: «x» is not a day"),
    ({"maintenance_windows": {}}, "the calendar's maintenance_windows: must be a list"),
    ({"maintenance_windows": ["x"]}, "maintenance_windows.0.: must be an object, not a string"),
    ({"maintenance_windows": [{"start": "01:00"}]}, "needs start and end, or cron and duration_minutes"),
    ({"maintenance_windows": [{"start": "soon", "end": "later"}]}, "«soon» is neither a date nor a time"),
    ({"maintenance_windows": [{"start": "01:00", "end": "2026-01-01"}]}, "«2026-01-01» is not a time"),
    ({"maintenance_windows": [{"start": "2026-01-02", "end": "2026-01-01"}]}, "ends before it begins"),
    ({"maintenance_windows": [{"cron": "0 2 * *", "duration_minutes": 5}]}, "has not the five fields"),
    ({"maintenance_windows": [{"cron": "0 2 * * * *", "duration_minutes": 5}]}, "has not the five fields"),
    ({"maintenance_windows": [{"cron": "0 25 * * *", "duration_minutes": 5}]}, "cannot be read: Bad hour"),
    ({"maintenance_windows": [{"cron": "L/L 2 * * *", "duration_minutes": 5}]}, "cannot be read"),
    ({"maintenance_windows": [{"cron": None, "duration_minutes": 5}]}, "has not the five fields"),
    ({"maintenance_windows": [{"cron": "0 2 * * *"}]}, "duration_minutes: must be a number of minutes"),
    ({"maintenance_windows": [{"cron": "0 2 * * *", "duration_minutes": 0}]}, "must be a number of minutes"),
    ({"maintenance_windows": [{"cron": "0 2 * * *", "duration_minutes": True}]}, "must be a number of minutes"),
    ({"maintenance_windows": [{"cron": "0 2 * * *", "duration_minutes": 10**9}]}, "must be a number of minutes"),
]


@pytest.mark.parametrize(("calendar", "why"), BAD)
def test_calendars_that_cannot_be_used(calendar: Any, why: str) -> None:
    """C-48: a calendar is refused with the name of its member and a sentence; long values are cut."""
    with pytest.raises(ExprTypeError, match=why) as caught:
        compile_calendar(calendar)
    assert caught.value.code == "EXPR_TYPE"


def test_a_calendar_that_contains_itself() -> None:
    """C-48: also that is a sentence."""
    ring: dict[str, Any] = {}
    ring["holidays"] = [ring]
    with pytest.raises(ExprTypeError):
        calendar_of(ring)
    with pytest.raises(ExprTypeError, match="is not plain data"):
        calendar_of({"holidays": object()})
    with pytest.raises(ExprTypeError) as caught:
        compile_calendar({"timezone": "x" * 10_000})
    assert len(caught.value.message) < 200


def test_a_calendar_is_compiled_once() -> None:
    """C-48: the same object, and an equal one of another run, are compiled once; the forgotten again."""
    calendar = {"timezone": "Asia/Tokyo", "holidays": ["2026-01-01"]}
    first = calendar_of(calendar)
    assert calendar_of(calendar) is first
    assert calendar_of({"holidays": ["2026-01-01"], "timezone": "Asia/Tokyo"}) is first
    assert calendar_of({"timezone": "Asia/Tokyo"}) is not first
    for day in range(1, 29):
        for month in (1, 2, 3):
            calendar_of({"holidays": [f"2026-{month:02}-{day:02}"]})
    assert calendar_of(calendar) == first or calendar_of(calendar).zone == first.zone
    assert calendar_of(calendar) is calendar_of(calendar)
    assert lines_of(lambda: calendar_of(calendar)) < 20  # found, not read again


def test_calendars_from_several_threads() -> None:
    """C-48: what is kept is safe to share."""
    wrong: list[str] = []

    def work(zone: str, hour: int) -> None:
        moment = moment_of("2026-11-16T00:00:00Z", UTC)
        for number in range(300):
            calendar = {"timezone": zone, "holidays": [f"2026-01-{number % 28 + 1:02}"]}
            if moment.astimezone(calendar_of(calendar).zone).hour != hour:
                wrong.append(zone)

    threads = [
        threading.Thread(target=work, args=pair) for pair in (("Asia/Seoul", 9), ("UTC", 0), ("Asia/Kolkata", 5))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_calendar_asks_no_clock() -> None:
    """C-48, W-5.3.1: datetime is used for its arithmetic only."""
    tree = ast.parse(Path(penstock.expr.calendar.__file__).read_text(encoding="utf-8"))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert called.isdisjoint({"now", "today", "utcnow", "fromtimestamp", "localtime"})
    bare = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("astimezone")
    ]
    assert bare and all(call.args for call in bare)  # without an argument it would be the machine's zone


# ---- a country's holidays --------------------------------------------------------------------------------------------


def test_korean_holidays_are_written_out() -> None:
    """C-48: Korean public holidays, with lunar days and substitutes, become dates when a calendar is registered."""
    given = {"timezone": "Asia/Seoul", "holidays": "KR"}
    made = expand_holidays(given, 2026)
    assert {"2026-01-01", "2026-02-17", "2026-03-02", "2026-09-25", "2026-10-09"} <= set(made["holidays"])
    assert {day[:4] for day in made["holidays"]} == {"2025", "2026", "2027"}
    assert made["holidays"] == sorted(made["holidays"])
    assert given["holidays"] == "KR"
    assert ask("is_holiday", made, "2026-02-17T12:00", "2026-02-19T12:00") == [True, False]
    one = expand_holidays({"holidays": {"country": "kr", "years": [2027]}})
    assert {day[:4] for day in one["holidays"]} == {"2027"}
    own = {"country": "KR", "years": [2026], "also": ["2026-04-10"], "except": ["2026-05-01"]}
    dates = expand_holidays({"holidays": [own, "2026-12-31"]})["holidays"]
    assert "2026-04-10" in dates and "2026-12-31" in dates and "2026-05-01" not in dates
    assert expand_holidays({"holidays": ["2026-04-10"]}) == {"holidays": ["2026-04-10"]}
    assert expand_holidays({}) == {}
    assert len(expand_holidays({"holidays": "KR"})["holidays"]) > 40


@pytest.mark.parametrize(
    ("holidays", "why"),
    [
        ("XX", "no holidays are known for «XX»"),
        ({"country": 82}, "«country» must be a code such as KR"),
        ({}, "«country» must be a code"),
        ({"country": "KR", "years": ["2026"]}, "«years» must be a list"),
        ({"country": "KR", "years": 2026}, "«years» must be a list"),
        ({"country": "KR", "years": [99999]}, "«years» must be a list"),
        ({"country": "KR", "also": "2026-01-01"}, "«also» must be a list of dates"),
    ],
)
def test_countries_that_are_not_known(holidays: Any, why: str) -> None:
    """C-48: a country or a year that cannot be used is refused with a sentence."""
    with pytest.raises(BadInput, match=why):
        expand_holidays({"holidays": holidays}, 2026)


def test_packages_that_are_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-48: without the packages the extra is named; what needs none of them works."""
    monkeypatch.setitem(sys.modules, "holidays", None)
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(ExtraMissing, match="decision"):
        expand_holidays({"holidays": {"country": "KR", "years": [1987]}})
    with pytest.raises(ExtraMissing, match="decision"):
        compile_calendar({"maintenance_windows": [{"cron": "0 2 * * *", "duration_minutes": 5}]})
    assert compile_calendar({"holidays": ["2026-01-01"]})
