"""Tests in the simple form: a YAML or JSON list of {name, decision, input, expect}, beside the model or anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from penstock.errors import DocumentInvalid
from penstock.executors.parts.rules.dmn.cases.contract import Case
from penstock.executors.parts.rules.pack import read_list
from penstock.feel.values.compare import equal
from penstock.feel.values.python import from_python, to_json
from penstock.lang.document import Document
from penstock.lang.fields import Fields
from penstock.lang.read import read_document
from penstock.lang.report import Report


class ModelTest(Fields):
    """One test: the decision (or decision service, or business knowledge model) and what must come of the input."""

    REQUIRED: ClassVar[tuple[str, ...]] = ("decision",)
    name: str = ""
    decision: str = ""
    input: dict[str, Any] = {}
    expect: Any = None


def read_own_form(source: bytes, name: str) -> list[Case]:
    """The tests of a file. Raises DocumentInvalid and its like."""
    document = read_document(source, name=name)
    report = Report(document)
    entries, at = document.data, ""
    if isinstance(entries, Mapping):
        entries, at = entries.get("tests"), "/tests"
    if not isinstance(entries, list):
        hint = "Write a list of {name, decision, input, expect}."
        report.error("wrong_type", "A file of tests is a list of tests.", at, hint=hint)
        entries = []
    tests = read_list(ModelTest, "test", entries, at, report)
    if any(finding.severity == "error" for finding in report.findings):
        raise DocumentInvalid(report.findings)
    return [_case(test, index, document, f"{at}/{index}") for index, test in enumerate(tests)]


def _case(test: ModelTest, index: int, document: Document, pointer: str) -> Case:
    name = test.name or f"#{index + 1}"
    line = document.place(pointer).line
    return Case(name, test.decision, test.input, test.expect, _same, _shown, where=f"{document.name}:{line}")


def _same(value: Any, wanted: Any) -> bool:
    """As JSON has them: a date is the text that it is written as."""
    return equal(from_python(to_json(value)), from_python(wanted)) is True


def _shown(wanted: Any) -> str:
    return msgspec.json.encode(wanted).decode()
