"""The written forms of a diagram: which one a document has, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from penstock.lang.diagram.light_form import RawDiagram, read_light_form
from penstock.lang.diagram.native_form import is_native_form, read_native_form
from penstock.lang.diagram.readable_form import is_readable_form, read_readable_form
from penstock.lang.document import Document
from penstock.lang.report import Report

Form = Literal["light", "native", "readable"]
_READERS: dict[Form, Callable[[Document, Report], RawDiagram]] = {
    "light": read_light_form, "native": read_native_form, "readable": read_readable_form,
}  # fmt: skip


def form_of(document: Document) -> Form:
    if is_native_form(document.data):
        return "native"
    return "readable" if is_readable_form(document.data) else "light"


def read_form(document: Document, report: Report) -> RawDiagram:
    """The parts of a diagram, whichever form it is written in."""
    return _READERS[form_of(document)](document, report)
