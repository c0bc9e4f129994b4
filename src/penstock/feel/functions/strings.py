"""Functions of texts. Positions count characters (code points) from 1, and from the end with negative numbers."""

from __future__ import annotations

from typing import Any

from penstock.feel.evaluation import Evaluation, Fault
from penstock.feel.functions.signature import declare, family
from penstock.feel.regex import compiled
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.numbers import Number, truncated


def _substring(text: str, start: Number, length: Number | None = None) -> str:
    first = truncated(start)
    if first == 0:
        raise Fault("substring: positions begin with 1")
    begin = first - 1 if first > 0 else len(text) + first
    if length is None:
        return text[max(0, begin) :]
    count = truncated(length)
    if count < 1:
        raise Fault("substring: the length is less than 1")
    return text[max(0, begin) : max(0, begin + count)]


def _before(text: str, match: str) -> str:
    before, found, _ = text.partition(match) if match else ("", "", "")
    return before if found else ""


def _after(text: str, match: str) -> str:
    if not match:
        return text
    return text.partition(match)[2]


def _upper(evaluation: Evaluation, text: str) -> str:
    evaluation.check_text(len(text))
    return text.upper()


def _matches(evaluation: Evaluation, text: str, pattern: str, flags: str | None = None) -> bool:
    budget = evaluation.budget()
    matched = compiled(pattern, flags or "").search(text, 0, budget) is not None
    evaluation.settle(budget)
    return matched


def _replace(evaluation: Evaluation, text: str, pattern: str, replacement: str, flags: str | None = None) -> str:
    budget = evaluation.budget()
    replaced = compiled(pattern, flags or "").replaced(text, replacement, evaluation.limits.text, budget)
    evaluation.settle(budget)
    return replaced


def _split(evaluation: Evaluation, text: str, delimiter: str) -> list[str]:
    budget = evaluation.budget()
    parts = compiled(delimiter, "").split(text, budget)
    evaluation.settle(budget)
    evaluation.check_items(len(parts))
    return parts


def _join(evaluation: Evaluation, values: list[Any], delimiter: str | None = None) -> str:
    """Nulls are left out."""
    wrong = next((value for value in values if value is not None and type(value) is not str), None)
    if wrong is not None:
        raise Fault(f"string join: the list has a {kind_of(wrong)} in it")
    texts = [value for value in values if value is not None]
    delimiter = delimiter or ""
    evaluation.check_text(sum(map(len, texts)) + len(delimiter) * len(texts))
    return delimiter.join(texts)


FUNCTIONS = family(
    "string",
    declare("substring(string: string, start position: number, length?: number?)", _substring),
    declare("string length(string: string)", len),
    declare("upper case(string: string)", _upper, evaluates=True),
    declare("lower case(string: string)", str.lower),
    declare("substring before(string: string, match: string)", _before),
    declare("substring after(string: string, match: string)", _after),
    declare("contains(string: string, match: string)", lambda text, match: match in text),
    declare("starts with(string: string, match: string)", str.startswith),
    declare("ends with(string: string, match: string)", str.endswith),
    declare("matches(input: string, pattern: string, flags?: string?)", _matches, evaluates=True),
    declare("replace(input: string, pattern: string, replacement: string, flags?: string?)", _replace, evaluates=True),
    declare("split(string: string, delimiter: string)", _split, evaluates=True),
    declare("string join(list: list, delimiter?: string?)", _join, evaluates=True),
)
