"""The date functions: the run's time, arithmetic, texts, and the questions to the calendar."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ExprSyntaxError, ExprTypeError
from penstock.expr import FUNCTIONS, check_roots, compile_expression, context_view

from .reading import exact, value

NOW = 1_794_744_000_000  # 2026-11-15T12:00:00Z, a Sunday, 21:00 in Seoul
VIEW: dict[str, Any] = {"now": NOW}


def at(text: str) -> int:
    """The milliseconds of a date, by the function under test; test_now ties it to a number."""
    millis = value(f"fn.date_diff('{text}', '1970-01-01T00:00:00Z', 'second') * 1000")
    return int(millis)


def test_now() -> None:
    """W-5.3.1: the run's time, UTC with Z and milliseconds, the same every time it is asked; never a clock."""
    assert value("fn.now()", VIEW) == "2026-11-15T12:00:00.000Z"
    assert value("fn.now()", now=7) == "1970-01-01T00:00:00.007Z"
    assert value("fn.now()", now=-1) == "1969-12-31T23:59:59.999Z"
    assert value("[fn.now(), fn.now()]", VIEW) == ["2026-11-15T12:00:00.000Z"] * 2
    assert at("2026-11-15T12:00:00Z") == NOW
    # In a run the name `now` may be a document's own; the host's is one that no document can write.
    assert value("fn.now()", {"$now": NOW, "now": "mine"}) == "2026-11-15T12:00:00.000Z"
    assert value("[{'now': 1}].map('fn.now()')", VIEW) == ["2026-11-15T12:00:00.000Z"]  # nor does a row's field hide it
    for view in ({}, {"now": None}, {"now": "later"}, {"now": True}):
        with pytest.raises(ExprTypeError, match="the time is not known here"):
            value("fn.now()", view)


ADD = [
    ("fn.date_add(fn.now(), -1, 'hour')", "2026-11-15T11:00:00.000Z"),
    ("fn.date_add(fn.now(), 1.5, 'hour')", "2026-11-15T13:30:00.000Z"),
    ("fn.date_add(fn.now(), 0.001, 'second')", "2026-11-15T12:00:00.001Z"),
    ("fn.date_add('2026-11-15T09:00:00+09:00', 1, 'day')", "2026-11-16T09:00:00.000+09:00"),  # keeps the offset
    ("fn.date_add('2026-11-15T09:00:00-0330', 30, 'minute')", "2026-11-15T09:30:00.000-03:30"),
    ("fn.date_add('2026-11-15T09:00:00+09', 90, 'second')", "2026-11-15T09:01:30.000+09:00"),
    ("fn.date_add('2026-11-15T09:00:00', 1, 'day')", "2026-11-16T09:00:00.000+09:00"),  # naive: the tenant's zone
    ("fn.date_add('2026-11-15', 1, 'day')", "2026-11-16T00:00:00.000+09:00"),  # a date alone is its midnight
    ("fn.date_add('2026-11-15 09:00', -0.5, 'day')", "2026-11-14T21:00:00.000+09:00"),
    ("fn.date_add('2024-02-28T00:00:00Z', 1, 'day')", "2024-02-29T00:00:00.000Z"),
    ("fn.date_add('2026-12-31T23:59:59.999Z', 1, 'second')", "2027-01-01T00:00:00.999Z"),
    ("fn.date_add(1794744000000, 1, 'minute')", "2026-11-15T12:01:00.000Z"),  # as the house tells its own times
    ("fn.date_add('2026-11-15T12:00:00.123456789Z', 0, 'day')", "2026-11-15T12:00:00.123Z"),
]


@pytest.mark.parametrize(("source", "expected"), ADD)
def test_date_add(source: str, expected: str) -> None:
    """W-5.3.1: amounts may be negative or fractions; the offset stays; naive dates are in the tenant's zone."""
    assert value(source, VIEW) == expected


def test_arithmetic_where_clocks_change() -> None:
    """W-5.3.1: a day has 24 hours as they pass, also where a night has 23; the difference says the same."""
    berlin = {"$calendar": {"timezone": "Europe/Berlin"}}
    assert value("fn.date_add('2026-03-28T12:00', 1, 'day')", berlin) == "2026-03-29T13:00:00.000+02:00"
    assert value("fn.date_diff('2026-03-29T12:00', '2026-03-28T12:00', 'hour')", berlin) == 23
    assert value("fn.date_diff('2026-03-29T12:00', '2026-03-28T12:00', 'hour')") == 24


DIFF = [
    ("fn.date_diff('2026-11-16', '2026-11-15', 'day')", 1),
    ("fn.date_diff('2026-11-15', '2026-11-16', 'day')", -1),
    ("fn.date_diff('2026-11-16T12:00', '2026-11-15', 'day')", 1.5),
    ("fn.date_diff('2026-11-15T09:00:00+09:00', '2026-11-15T00:00:00Z', 'second')", 0),
    ("fn.date_diff('2026-11-15T09:00:00', '2026-11-15T00:00:00Z', 'hour')", 0),  # naive is Seoul
    ("fn.date_diff(fn.now(), fn.date_add(fn.now(), -90, 'minute'), 'hour')", 1.5),
    ("fn.date_diff('2026-11-15T00:00:00.5Z', '2026-11-15T00:00:00Z', 'second')", 0.5),
    ("fn.date_diff('9999-12-31T00:00Z', '0001-01-02T00:00Z', 'day')", 3652057),
]


@pytest.mark.parametrize(("source", "expected"), DIFF)
def test_date_diff(source: str, expected: float) -> None:
    """W-5.3.1: date1 − date2 in units, with fractions, whatever their offsets."""
    assert exact(value(source, VIEW), expected)


FORMAT = [
    ("fn.date_format(fn.now(), 'YYYY-MM-DD HH:mm:ss')", "2026-11-15 21:00:00"),  # in Seoul
    ("fn.date_format('2026-03-04T05:06:07.089', 'YY/M/D H:m:s.SSS')", "26/3/4 5:6:7.089"),
    ("fn.date_format('2026-03-04T05:06:07', 'YYYYMMDDTHHmmss')", "20260304T050607"),
    ("fn.date_format('2026-03-04', 'YYYY년 M월 D일')", "2026년 3월 4일"),
    ("fn.date_format('2026-03-04', '[day] D [of] M [')", "day 4 of 3 ["),
    ("fn.date_format('2026-03-04', '')", ""),
    ("fn.date_format('0987-03-04', 'YYYY YY')", "0987 87"),
]


@pytest.mark.parametrize(("source", "expected"), FORMAT)
def test_date_format(source: str, expected: str) -> None:
    """W-5.3.1: the thirteen tokens, in the tenant's time zone."""
    assert value(source, VIEW) == expected


def test_the_time_zone_is_the_tenants() -> None:
    """W-5.3.1, C-48: texts are written and naive ones read in the calendar's zone."""
    view = {**VIEW, "$calendar": {"timezone": "America/New_York"}}
    assert value("fn.date_format(fn.now(), 'YYYY-MM-DD HH:mm')", view) == "2026-11-15 07:00"
    assert value("fn.date_parse('2026-07-01 07:00', 'YYYY-MM-DD HH:mm')", view) == "2026-07-01T07:00:00.000-04:00"
    assert value("fn.date_add('2026-11-15T07:00', 0, 'day')", view) == "2026-11-15T07:00:00.000-05:00"
    assert value("fn.date_parse('2026-07-01', 'YYYY-MM-DD')", {"$calendar": {"timezone": "UTC"}}).endswith("00.000Z")


PARSE = [
    ("fn.date_parse('2026-11-15 09:08:07', 'YYYY-MM-DD HH:mm:ss')", "2026-11-15T09:08:07.000+09:00"),
    ("fn.date_parse('15/1/26', 'D/M/YY')", "2026-01-15T00:00:00.000+09:00"),
    ("fn.date_parse('20261115T090807.042', 'YYYYMMDDTHHmmss.SSS')", "2026-11-15T09:08:07.042+09:00"),
    ("fn.date_parse('2026년 3월', 'YYYY년 M월')", "2026-03-01T00:00:00.000+09:00"),
    ("fn.date_parse('2026-11-15T09:00Z', 'YYYY-MM-DDTHH:mm')", "2026-11-15T09:00:00.000Z"),  # it says its offset
    ("fn.date_parse('2026-11-15T09:00+0530', 'YYYY-MM-DDTHH:mm')", "2026-11-15T09:00:00.000+05:30"),
    ("fn.date_parse('at 9 on 2026', '[at] H [on] YYYY')", "2026-01-01T09:00:00.000+09:00"),
    ("fn.date_parse('(2026)', '(YYYY)')", "2026-01-01T00:00:00.000+09:00"),  # the pattern is no regular expression
]


@pytest.mark.parametrize(("source", "expected"), PARSE)
def test_date_parse(source: str, expected: str) -> None:
    """W-5.3.1: a text in a pattern becomes ISO 8601; without an offset it is in the tenant's zone."""
    assert value(source, VIEW) == expected


BAD = [
    ("fn.date_add(fn.now(), 1, 'week')", "«week» is not a unit; use day, hour, minute, second"),
    ("fn.date_add(fn.now(), 1, 'days')", "«days» is not a unit"),
    ("fn.date_add(fn.now(), 1, null)", "is not a unit"),
    ("fn.date_diff(fn.now(), fn.now(), 'Hour')", "«Hour» is not a unit"),
    ("fn.date_add(fn.now(), 'two', 'day')", "fn.date_add needs a number, not a string"),
    ("fn.date_add(fn.now(), true, 'day')", "fn.date_add needs a number, not a boolean"),
    ("fn.date_add(null, 1, 'day')", r"fn.date_add needs a date \(ISO 8601 text\), not null"),
    ("fn.date_add(true, 1, 'day')", "fn.date_add needs a date"),
    ("fn.date_add(1.5, 1, 'day')", "fn.date_add needs a date"),
    ("fn.date_add([], 1, 'day')", "fn.date_add needs a date"),
    ("fn.date_add('yesterday', 1, 'day')", "fn.date_add: «yesterday» is not a date: it is not written like"),
    ("fn.date_add('', 1, 'day')", "is not a date"),
    ("fn.date_add('15.11.2026', 1, 'day')", "is not a date"),
    ("fn.date_add('2026-13-01', 1, 'day')", "«2026-13-01» is not a date: month must be in 1..12"),
    ("fn.date_add('2026-02-30', 1, 'day')", "is not a date: day"),
    ("fn.date_add('2026-02-03T24:00', 1, 'day')", "is not a date: hour must be in 0..23"),
    ("fn.date_add('2026-02-03T23:59:60', 1, 'day')", "is not a date: second"),
    ("fn.date_add('0000-01-01', 1, 'day')", "is not a date: year"),
    ("fn.date_add('2026-02-03T00:00+99:00', 1, 'day')", "is not a date: offset must"),
    ("fn.date_add('2026-02-03T00:00+09:75', 1, 'day')", "at most 59 minutes"),
    ("fn.date_add('2026-02-03Z', 1, 'day')", "is not a date"),
    ("fn.date_add('2026-02-03T00:00:00Z ', 1, 'day')", "is not a date"),
    ("fn.date_add('２０２６-02-03', 1, 'day')", "is not a date"),
    ("fn.date_add('0001-01-01T00:00', 1, 'day')", "not within the years 1 to 9999"),  # in UTC it is the year 0
    ("fn.date_add(fn.now(), 9999999999, 'day')", "the result is not within the years 1 to 9999"),
    ("fn.date_add(fn.now(), -1e300, 'day')", "not within the years|not a finite number"),
    ("fn.date_add('9999-12-31', 1, 'day')", "the result is not within the years 1 to 9999"),
    ("fn.date_add(fn.pow(10, 18), 1, 'day')", "not within the years 1 to 9999"),
    ("fn.date_format(fn.now(), 'yyyy-mm-dd')", "«yyyy» in the pattern is none of YYYY YY MM"),
    ("fn.date_format(fn.now(), 'YYYY-MM-DD hh:mm')", "«hh» in the pattern"),
    ("fn.date_format(fn.now(), 'YYY')", "«YYY» in the pattern"),
    ("fn.date_format(fn.now(), 'Z')", "«Z» in the pattern"),
    ("fn.date_format(fn.now(), 5)", "fn.date_format needs a string, not an integer"),
    ("fn.date_format('9999-12-31T23:00:00Z', 'YYYY')", "not within the years 1 to 9999"),
    ("fn.date_parse('2026/11/15', 'YYYY-MM-DD')", "«2026/11/15» is not written like «YYYY-MM-DD»"),
    ("fn.date_parse('2026-11-15 extra', 'YYYY-MM-DD')", "is not written like"),
    ("fn.date_parse('2026-02-30', 'YYYY-MM-DD')", "fn.date_parse: «2026-02-30» is not a date: day"),
    ("fn.date_parse('2026-02-03+09:00', 'YYYY-MM-DD')", "is not written like"),
    ("fn.date_parse('12:00', 'HH:mm')", "the pattern has no year"),
    ("fn.date_parse('2026 26', 'YYYY YY')", "names one field twice"),
    ("fn.date_parse('1 01 2026', 'M MM YYYY')", "names one field twice"),
    ("fn.date_parse('x', 'qq')", "«qq» in the pattern"),
    ("fn.date_parse(null, 'YYYY')", "fn.date_parse needs a string, not null"),
    ("fn.is_weekend('someday')", "fn.is_weekend: «someday» is not a date"),
    ("fn.is_holiday(null)", "fn.is_holiday needs a date"),
]


@pytest.mark.parametrize(("source", "why"), BAD)
def test_dates_that_cannot_be_used(source: str, why: str) -> None:
    """W-5.3.1: an unknown unit, a bad date, a bad pattern or a mismatch is EXPR_TYPE with a sentence, never a guess."""
    with pytest.raises(ExprTypeError, match=why) as caught:
        value(source, VIEW)
    assert caught.value.code == "EXPR_TYPE"
    assert len(caught.value.message) < 250


def test_a_pattern_has_a_length() -> None:
    """W-5.3.1: a pattern from data cannot be made large."""
    with pytest.raises(ExprTypeError, match="more than 200 characters"):
        value("fn.date_format('2026-01-01', p)", p="Y" * 201)


@pytest.mark.parametrize(
    "call",
    "now(1) date_add(d,1) date_add(d,1,'day',2) date_diff(d,d) date_format(d) date_parse('2026') is_weekend(1,2) "
    "is_holiday(d,d) is_business_hours(1) is_night_shift('x') is_maintenance_window(1) today() date_sub(d,1,'day') "
    "get_secret() get_config('a','b') get_tenant_config() get_variable() get_vault('a')".split(),
)
def test_wrong_calls_are_found_at_load(call: str) -> None:
    """W-5.3.7: an unknown function or a wrong number of arguments is a syntax error before anything runs."""
    with pytest.raises(ExprSyntaxError):
        compile_expression(f"fn.{call}")


# ---- the calendar's questions ----------------------------------------------------------------------------------------

CALENDAR = {
    "holidays": ["2026-12-25"],
    "maintenance_windows": [{"start": "2026-11-20T01:00", "end": "2026-11-20T03:00"}],
}


@pytest.mark.parametrize(
    ("source", "local", "expected"),
    [
        ("fn.is_weekend()", "2026-11-15T12:00", True),
        ("fn.is_weekend()", "2026-11-16T00:00", False),
        ("fn.is_weekend('2026-11-14')", "2026-11-16T00:00", True),
        ("fn.is_weekend('2026-11-13T15:00:00Z')", "2026-11-16T00:00", True),  # Saturday in Seoul
        ("fn.is_weekend('2026-11-13T14:59:59Z')", "2026-11-16T00:00", False),
        ("fn.is_holiday()", "2026-12-25T00:00", True),
        ("fn.is_holiday()", "2026-12-24T23:59", False),
        ("fn.is_holiday('2026-12-25')", "2026-11-16T00:00", True),
        ("fn.is_holiday('2026-12-24T15:00:00Z')", "2026-11-16T00:00", True),
        ("fn.is_business_hours()", "2026-11-16T09:00", True),
        ("fn.is_business_hours()", "2026-11-16T18:00", False),
        ("fn.is_business_hours()", "2026-12-25T10:00", False),  # a Friday, but a holiday
        ("fn.is_night_shift()", "2026-11-16T22:00", True),
        ("fn.is_night_shift()", "2026-11-16T05:59:59", True),
        ("fn.is_night_shift()", "2026-11-16T06:00", False),
        ("fn.is_maintenance_window()", "2026-11-20T01:00", True),
        ("fn.is_maintenance_window()", "2026-11-20T03:00", False),
        ("fn.is_business_hours() && !fn.is_holiday(fn.now())", "2026-11-16T10:00", True),
    ],
)
def test_questions_to_the_calendar(source: str, local: str, expected: bool) -> None:
    """W-5.3.1, C-48: weekends, holidays, business hours, windows and night shift of the tenant's own calendar."""
    assert value(source, {"$now": at(local), "$calendar": CALENDAR}) is expected


def test_without_a_calendar() -> None:
    """C-48: the defaults are Seoul, Saturday and Sunday, no holidays, 9 to 18, no windows, night from 22 to 6."""
    for view in ({}, {"$calendar": None}, {"$calendar": {}}):
        monday = {**view, "now": at("2026-11-16T17:59:59+09:00")}
        assert value("fn.is_business_hours()", monday) is True
        assert value("fn.is_weekend()", monday) is False
        assert value("fn.is_holiday('2026-01-01')", monday) is False
        assert value("fn.is_maintenance_window()", monday) is False
        assert value("fn.is_night_shift()", {**view, "now": at("2026-11-16T22:00+09:00")}) is True


def test_a_calendar_that_cannot_be_used() -> None:
    """C-48: what is wrong with it is said where it is needed; what needs no calendar works on."""
    view = {**VIEW, "$calendar": {"timezone": "Mars/Olympus"}}
    assert value("fn.now()", view) == "2026-11-15T12:00:00.000Z"
    for source in ("fn.is_weekend()", "fn.date_format(fn.now(), 'YYYY')", "fn.date_add('2026-01-01', 1, 'day')"):
        with pytest.raises(ExprTypeError, match="the calendar's timezone: «Mars/Olympus» is not a known time zone"):
            value(source, view)


EXAMPLES = [
    ("judgment_result.decision == 'critical'", True),
    ("judgment_result.confidence >= 0.85", True),
    ("judgment_result.decision != 'normal' && judgment_result.confidence >= 0.7", True),
    ("fn.length(defect_data) > 0 && fn.avg(fn.map(defect_data, 'defect_rate')) > 0.05", True),
    ("fn.is_business_hours() && !fn.is_holiday(fn.now())", False),
    ("fn.coalesce(judgment_result.recommendations[0], 'no recommendation')", "no recommendation"),
    ("fn.regex_match(input.error_message, 'timeout|connection refused')", True),
]


@pytest.mark.parametrize(("source", "expected"), EXAMPLES)
def test_every_example_of_the_document(source: str, expected: object) -> None:
    """W-5.4.1: all of them, in one view."""
    view = {
        **VIEW,
        "judgment_result": {"decision": "critical", "confidence": 0.9, "recommendations": []},
        "defect_data": [{"defect_rate": 0.1}, {"defect_rate": 0.06}],
        "input": {"error_message": "connection refused"},
        "context": context_view({}),
    }
    assert exact(value(source, view), expected)


def test_what_the_functions_read() -> None:
    """W-5.3.1, C-09: what they need of the host is told, and is no name that a document must know."""
    assert compile_expression("fn.now()").roots == {"$now"}
    assert compile_expression("fn.date_format(x, 'YYYY')").roots == {"$calendar", "x"}
    every = compile_expression("fn.is_night_shift() && fn.get_config('a') == fn.get_tenant_config('b')")
    assert every.roots == {"$now", "$calendar", "$config", "$tenant_config"}
    assert check_roots(every, set()) == []
    names = {name for name, function in FUNCTIONS.items() if function.family == "date"}
    assert names == {
        *("now", "date_add", "date_diff", "date_format", "date_parse", "is_weekend", "is_holiday"),
        *("is_business_hours", "is_maintenance_window", "is_night_shift"),
    }
    families = ("date", "string", "array", "number", "logic", "context")
    assert sum(function.family in families for function in FUNCTIONS.values()) == 53
