"""When work is due: after a time, at a moment, or when an expression says it (P-X.14)."""

from __future__ import annotations

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of
from penstock.lang.process.durations import milliseconds, seconds_of
from penstock.lang.process.expression_names import quoted
from penstock.lang.process.lowering_context import LoweringContext


def due_time(value: str | float, context: LoweringContext) -> tuple[int, str | None]:
    """Milliseconds from now, or an expression of the moment in milliseconds. What an expression gives may be seconds, a
    duration, or a date; null is no time at all."""
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("${"):
        given = context.expression(text, "due")
        if given is None:
            return 0, None
        context.shared.carried.add("calendar")
        dated = f"fn.type_of({given}) == 'string' && fn.substring({given}, 0, 1) != 'P'"
        later = f"sys.now + fn.round({seconds_of(given)} * 1000)"
        return 0, f"fn.if(fn.is_null({given}), null, fn.if({dated}, {_moment(given)}, {later}))"
    if text and milliseconds(text) is None and _is_date(text):
        context.shared.carried.add("calendar")
        return 0, _moment(quoted(text))
    return context.duration(value, "due")


def _moment(date: str) -> str:
    return f"fn.round(fn.date_diff({date}, '1970-01-01T00:00:00Z', 'second') * 1000)"


def _is_date(text: str) -> bool:
    zone = zone_of("UTC")
    assert zone is not None, "UTC is in every table"
    try:
        moment_of(text, zone)
    except BadDate:
        return False
    return True
