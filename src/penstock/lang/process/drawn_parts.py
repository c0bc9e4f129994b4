"""The form of what a definition keeps of its file beside the process: where it is drawn, and a modeler's extensions."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.lang.report import Report

_Numbers = list[float]


class _Shape(msgspec.Struct):
    bounds: _Numbers | None = None
    label: _Numbers | None = None


class _Edge(msgspec.Struct):
    points: list[tuple[float, float]] = []
    label: _Numbers | None = None


class _Plane(msgspec.Struct):
    element: str = ""
    shapes: dict[str, _Shape | _Numbers] | None = None
    edges: dict[str, _Edge | list[tuple[float, float]]] | None = None


class _Diagram(_Plane):
    more: list[_Plane] | None = None


class _Foreign(msgspec.Struct):
    attributes: dict[str, str] | None = None
    elements: str | None = None


class _Script(msgspec.Struct):
    format: str | None = None
    text: str | None = None


class _File(msgspec.Struct):
    id: str = ""
    name: str = ""
    process: str = ""
    collaboration: str = ""
    namespaces: dict[str, str] | None = None
    others: list[str] | None = None
    beside: list[str] | None = None


class _Extensions(msgspec.Struct):
    file: _File | None = None
    elements: dict[str, _Foreign] | None = None
    script: dict[str, _Script] | None = None
    beside: dict[str, list[str]] | None = None


def check_drawn_parts(data: dict[str, Any], report: Report) -> None:
    """Whoever writes the file again relies on their form."""
    for name, form in (("diagram", _Diagram), ("extensions", _Extensions)):
        part = data.get(name)
        if not isinstance(part, dict):  # whatever else it is, its type is reported with those of the other fields
            continue
        try:
            msgspec.convert(part, form)
        except (msgspec.ValidationError, RecursionError) as wrong:
            hint = f"Leave «{name}» as it was read from the file, or leave it out."
            report.error("wrong_type", f"«{name}» has another form: {wrong}.", f"/{name}", hint=hint)
