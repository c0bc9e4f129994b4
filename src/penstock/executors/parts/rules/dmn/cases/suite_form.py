"""Tests in the XML form of the public DMN technology compatibility kit: typed values, lists and components."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.errors import DocumentUnreadable
from penstock.executors.parts.rules.dmn.cases.contract import Case
from penstock.executors.parts.rules.dmn.xml import Element, children, content_of, first, line_of, local_name, parse_xml
from penstock.feel.evaluation import Fault
from penstock.feel.values.compare import equal
from penstock.feel.values.numbers import is_number, rounded_decimal
from penstock.feel.values.temporal import read_date, read_duration, read_moment, read_time
from penstock.feel.values.text import written

_XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
_NUMBERS = frozenset({"decimal", "double", "float", "integer", "int", "long"})
_READERS = {"date": read_date, "time": read_time, "dateTime": read_moment, "duration": read_duration}
_ROUNDED = 8  # so many digits behind the point, and the value was worked out in binary and rounded
_TOLERANCE = Decimal("1e-10")


def read_suite_form(source: bytes, name: str) -> tuple[str, list[Case]]:
    """The file name of the model, and the tests. Raises DocumentUnreadable."""
    root = parse_xml(source)
    if local_name(root) != "testCases":
        raise DocumentUnreadable(why=f"{name} is no file of DMN tests (its root is not «testCases»)")
    model = content_of(first(root, "modelName"))
    return model, [case for element in children(root, "testCase") for case in _cases(element, name)]


def _cases(element: Element, file: str) -> list[Case]:
    data = {node.get("name") or "": _value(node, file) for node in children(element, "inputNode")}
    invoked = element.get("invocableName") or ""
    cases = []
    for node in children(element, "resultNode"):
        output = node.get("name") or ""
        expected = first(node, "expected")
        wanted = _value(expected, file) if expected is not None else None
        name = f"{element.get('id') or ''} {output}".strip()
        where = f"{file}:{line_of(node)}"
        cases.append(Case(name, invoked or output, data, wanted, same, written, output if invoked else "", where))
    return cases


def _value(element: Element, file: str) -> Any:
    """A value of the kit as a value of FEEL."""
    if parts := children(element, "component"):
        return {part.get("name") or "": _value(part, file) for part in parts}
    items = first(element, "list")
    if items is not None:
        return [_value(item, file) for item in children(items, "item")]
    value = first(element, "value")
    if value is None or value.get(f"{_XSI}nil") in ("true", "1") or element.get(f"{_XSI}nil") in ("true", "1"):
        return None
    return _typed((value.get(f"{_XSI}type") or "string").rpartition(":")[2], value, file)


def _typed(kind: str, element: Element, file: str) -> Any:
    text = "".join(map(str, element.itertext()))
    if kind == "boolean":
        return text.strip() in ("true", "1")
    try:
        if kind in _NUMBERS:
            return rounded_decimal(text.strip())
        if kind in _READERS:
            moment = _READERS[kind](text.strip())
            if moment is None:
                raise Fault("it is none")
            return moment
    except (Fault, InvalidOperation, ValueError):
        raise DocumentUnreadable(why=f"{file}, line {line_of(element)}: «{text.strip()[:60]}» is no {kind}") from None
    return text


def same(value: Any, wanted: Any) -> bool:
    """Equal as FEEL has it; a number with many digits behind the point was rounded to them."""
    if type(wanted) is dict:
        return type(value) is dict and value.keys() == wanted.keys() and all(
            same(value[key], item) for key, item in wanted.items()
        )  # fmt: skip
    if type(wanted) is list:
        return type(value) is list and len(value) == len(wanted) and all(map(same, value, wanted))
    if is_number(wanted) and is_number(value):
        return _same_number(Decimal(value), Decimal(wanted))
    if type(wanted) is str and type(value) is not str:
        return False
    return equal(value, wanted) is True


def _same_number(value: Decimal, wanted: Decimal) -> bool:
    exponent = wanted.as_tuple().exponent
    if value == wanted or not isinstance(exponent, int) or exponent > -_ROUNDED:
        return value == wanted
    return abs(value - wanted) <= max(Decimal((0, (1,), exponent)), abs(wanted) * _TOLERANCE)
