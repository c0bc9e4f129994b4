"""Runs a folder of DMN models with their expected values (the test case format of the DMN TCK) and counts what comes.

`python -m tools.dmn_suite FOLDER [--list wrong]`: every decision that a test names is imported alone with what it
requires, so that a construct that is refused hides none of its neighbours.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime, time
from decimal import Decimal, InvalidOperation
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import PenstockError
from penstock.executors.parts.rules.dmn import import_dmn
from penstock.executors.parts.rules.evaluate import RuleFailed, compile_pack

KINDS = ("right", "refused", "failed", "wrong", "silent", "crashed")
_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
_TOLERANCE = Decimal("1e-10")  # the suite's own values are rounded
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_DURATION = re.compile(
    r"(-)?P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?\Z", re.ASCII
)


class Typed(NamedTuple):
    """A value of a test with the XML type it was written with."""

    type: str
    text: str


class Outcome(NamedTuple):
    kind: str  # one of KINDS
    case: str  # file, case and decision
    note: str


def run_folder(folder: Path) -> list[Outcome]:
    """What comes of every expected value below the folder, in the order of the files' names."""
    outcomes: list[Outcome] = []
    for tests in sorted(folder.rglob("*-test-*.xml")):
        outcomes += _file(tests)
    return outcomes


def counts(outcomes: list[Outcome]) -> dict[str, int]:
    found = Counter(outcome.kind for outcome in outcomes)
    return {kind: found[kind] for kind in KINDS}


def _file(tests: Path) -> Iterator[Outcome]:
    etree = import_module("lxml.etree")
    root = etree.fromstring(tests.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
    model = (tests.parent / _first(root, "modelName").text.strip()).read_bytes()
    for case in _named(root, "testCase"):
        data = {node.get("name"): _given(node) for node in _named(case, "inputNode")}
        for node in _named(case, "resultNode"):
            label = f"{tests.parent.name} {case.get('id')} {node.get('name')}"
            wanted = _expected(_first(node, "expected"))
            kind, note = _outcome(model, node.get("name"), data, wanted)
            yield Outcome(kind, label, note)


def _outcome(model: bytes, name: str, data: dict[str, Any], wanted: Any) -> tuple[str, str]:
    try:
        content, id = _alone(model, name)
        body, _ = import_dmn(content, id="suite", result=id)
        value = compile_pack(body).judge(data or {"": None}).outputs
    except RuleFailed as error:
        return "failed", str(error)
    except PenstockError as error:
        return "refused", str(error)
    except Exception as error:
        return "crashed", f"{type(error).__name__}: {error}"
    if same(value, wanted):
        return "right", ""
    return "silent" if value is None else "wrong", f"{value!r} instead of {wanted!r}"


def _alone(model: bytes, name: str) -> tuple[bytes, str]:
    """The model with no other decisions than the one of that name and those that it requires."""
    etree = import_module("lxml.etree")
    root = deepcopy(etree.fromstring(model, etree.XMLParser(resolve_entities=False, no_network=True)))
    decisions = {element.get("id"): element for element in _named(root, "decision")}
    first = next((id for id, element in decisions.items() if element.get("name") == name), "")
    needed, left = {first}, [first]
    while left and first:
        for need in decisions[left.pop()].iter("{*}requiredDecision"):
            id = need.get("href", "").rpartition("#")[2]
            if id in decisions and id not in needed:
                needed.add(id)
                left.append(id)
    for id, element in decisions.items():
        if id not in needed:
            root.remove(element)
    return etree.tostring(root), first


def _named(element: Any, name: str) -> list[Any]:
    return [child for child in element if isinstance(child.tag, str) and child.tag.rpartition("}")[2] == name]


def _first(element: Any, name: str) -> Any:
    return _named(element, name)[0]


def _expected(element: Any) -> Any:
    if parts := _named(element, "component"):
        return {part.get("name"): _expected(part) for part in parts}
    if lists := _named(element, "list"):
        return [_expected(item) for item in _named(lists[0], "item")]
    values = _named(element, "value")
    if not values or values[0].get(_NIL) == "true":
        return None
    kind = (values[0].get(_TYPE) or "string").rpartition(":")[2]
    text = values[0].text or ""
    if kind == "boolean":
        return text.strip() in ("true", "1")
    return Typed(kind, text)


def _given(element: Any) -> Any:
    """The same as JSON has it: numbers are numbers, moments and durations are texts."""
    return _json(_expected(element))


def _json(value: Any) -> Any:
    if isinstance(value, Typed):
        if value.type in ("decimal", "double", "integer", "float", "int"):
            number = Decimal(value.text.strip())
            return int(number) if number == number.to_integral_value() else float(number)
        return value.text
    if isinstance(value, dict):
        return {key: _json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    return value


def same(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(value, dict) and value.keys() == wanted.keys() and all(
            same(value[key], item) for key, item in wanted.items()
        )  # fmt: skip
    if isinstance(wanted, list):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(same, value, wanted))
    if not isinstance(wanted, Typed):
        return value is wanted
    if wanted.type in ("decimal", "double", "integer", "float", "int"):
        return _same_number(value, wanted.text.strip())
    if not isinstance(value, str):
        return False
    if wanted.type in ("dateTime", "time") and "@" not in wanted.text:
        return _moment(value, wanted.type) == _moment(wanted.text, wanted.type)
    if wanted.type == "duration":
        return _duration(value) == _duration(wanted.text)
    return value == wanted.text


def _same_number(value: Any, text: str) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return abs(Decimal(str(value)) - Decimal(text)) <= abs(Decimal(text)) * _TOLERANCE
    except InvalidOperation:
        return False


def _moment(text: str, kind: str) -> Any:
    try:
        moment: datetime | time = (datetime if kind == "dateTime" else time).fromisoformat(text)
    except ValueError:
        return text
    return moment.replace(tzinfo=None), moment.utcoffset()


def _duration(text: str) -> Any:
    match = _DURATION.match(text)
    if match is None:
        return text
    years, months, days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups()[1:])
    sign = -1 if match[1] else 1
    months_kind = match[2] is not None or match[3] is not None
    return (
        months_kind and (years or months) != 0,
        sign * (years * 12 + months),
        sign * (days * 86_400 + hours * 3_600 + minutes * 60 + seconds),
    )


def main(words: list[str]) -> int:
    outcomes = run_folder(Path(words[0]))
    for kind in words[2:] if words[1:2] == ["--list"] else ():
        for outcome in outcomes:
            if outcome.kind == kind:
                print(f"{outcome.kind}  {outcome.case}: {outcome.note}")
    figures = counts(outcomes)
    print("  ".join(f"{kind} {figures[kind]}" for kind in KINDS))
    return 1 if figures["wrong"] or figures["silent"] or figures["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
