"""String functions: concat, substring, replace, lower, upper, trim, split, join, regex_match, regex_extract."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from penstock.errors import ExprLimit, ExprTypeError, ExtraMissing
from penstock.expr.functions.contract import Function, array_of, family, integer_of, text_from
from penstock.expr.limits import MAX_SOURCE, View, bounded_text, check_array_size, check_text_size, spend
from penstock.expr.values import text_in, text_steps

try:
    import re2
except ImportError:  # said when a pattern is used: without a linear engine a pattern from a document is a weapon
    re2 = None

_PATTERN_MEMORY = 2 << 20  # bytes of one compiled pattern
_PATTERNS_KEPT = 64
_STEP_PATTERN = 12  # one step pays for 2**12 characters times instructions of the compiled pattern


def concat(view: View, *values: Any) -> str:
    return _joined(view, [text_in(view, value) for value in values], "")


def _join(view: View, array: Any, delimiter: Any) -> str:
    items = array_of("join", array)
    spend(view, len(items))
    return _joined(view, [text_in(view, item) for item in items], text_from("join", delimiter))


def _joined(view: View, texts: list[str], delimiter: str) -> str:
    check_text_size(sum(map(len, texts)) + len(delimiter) * max(0, len(texts) - 1))
    return bounded_text(view, delimiter.join(texts))


def _substring(view: View, text: Any, start: Any, length: Any = None) -> str:
    source = text_from("substring", text)
    first = max(0, integer_of("substring", start))
    last = len(source) if length is None else first + max(0, integer_of("substring", length))
    return bounded_text(view, source[first:last])


def _replace(view: View, text: Any, find: Any, replacement: Any) -> str:
    source, wanted, other = (text_from("replace", value) for value in (text, find, replacement))
    spend(view, text_steps(source))
    if not wanted:
        return source
    check_text_size(len(source) + source.count(wanted) * (len(other) - len(wanted)))
    return bounded_text(view, source.replace(wanted, other))


def _lower(view: View, text: Any) -> str:
    return bounded_text(view, text_from("lower", text).lower())


def _upper(view: View, text: Any) -> str:
    return bounded_text(view, text_from("upper", text).upper())


def _trim(view: View, text: Any) -> str:
    source = text_from("trim", text)
    spend(view, text_steps(source))
    return source.strip()


def _split(view: View, text: Any, delimiter: Any) -> list[str]:
    source, mark = text_from("split", text), text_from("split", delimiter)
    check_array_size(source.count(mark) + 1 if mark else len(source))
    pieces = source.split(mark) if mark else list(source)
    spend(view, text_steps(source) + len(pieces))
    return pieces


def _regex_match(view: View, text: Any, pattern: Any) -> bool:
    return _search(view, "regex_match", text, pattern) is not None


def _regex_extract(view: View, text: Any, pattern: Any) -> str | None:
    match = _search(view, "regex_extract", text, pattern)
    if match is None:
        return None
    extract: str | None = match.group(1 if match.re.groups else 0)
    return extract


def _search(view: View, function: str, text: Any, pattern: Any) -> Any:
    compiled = compiled_pattern(function, text_from(function, pattern))
    if text is None:
        return None
    source = text_from(function, text)
    spend(view, 1 + (len(source) * compiled.programsize >> _STEP_PATTERN))
    try:
        return compiled.search(source)
    except UnicodeError:
        raise ExprTypeError(why=f"fn.{function}: the text is not valid Unicode") from None


@lru_cache(_PATTERNS_KEPT)
def compiled_pattern(function: str, pattern: str) -> Any:
    if re2 is None:
        raise ExtraMissing(extra="regex")
    if len(pattern) > MAX_SOURCE:
        raise ExprLimit(why=f"a pattern of more than {MAX_SOURCE:,} characters")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        why = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else f"{reason}"
    except UnicodeError:
        why = "it is not valid Unicode"
    raise ExprTypeError(why=f"fn.{function}: the pattern cannot be used: {why}")


STRING = family(
    "string",
    Function("concat", "(value, …) -> string", "The values as text, one after the other.", concat, sees_view=True),
    Function(
        "substring",
        "(string, start, length?) -> string",
        "The characters from start (the first is 0), at most length of them.",
        _substring,
        sees_view=True,
    ),
    Function(
        "replace",
        "(string, find, replacement) -> string",
        "Every occurrence of find replaced; find is plain text, not a pattern.",
        _replace,
        sees_view=True,
    ),
    Function("lower", "(string) -> string", "In small letters.", _lower, sees_view=True),
    Function("upper", "(string) -> string", "In capital letters.", _upper, sees_view=True),
    Function("trim", "(string) -> string", "Without white space at both ends.", _trim, sees_view=True),
    Function(
        "split",
        "(string, delimiter) -> array",
        "The parts between the delimiters; with an empty delimiter the characters.",
        _split,
        sees_view=True,
    ),
    Function(
        "join",
        "(array, delimiter) -> string",
        "The items as text with the delimiter between them.",
        _join,
        sees_view=True,
    ),
    Function(
        "regex_match",
        "(string, pattern) -> boolean",
        "Whether the pattern (RE2 syntax) occurs anywhere in the string; false for null.",
        _regex_match,
        sees_view=True,
    ),
    Function(
        "regex_extract",
        "(string, pattern) -> any",
        "What the pattern's first group matched, or the whole match when it has no group; null when nothing matches.",
        _regex_extract,
        sees_view=True,
    ),
)
