"""The item definitions of a DMN file: what the names in `typeRef` stand for, as types that a rule pack keeps."""

from __future__ import annotations

from typing import Any

from penstock.errors import Finding, Place
from penstock.executors.parts.rules.feel.types import Type, kind_named
from penstock.lang.report import did_you_mean

_Element = Any  # of lxml, which is an extra and has no types
_DEEPEST = 20


class ItemTypes:
    """Resolves names; one that stands for nothing is an error with its line."""

    def __init__(self, root: _Element, findings: list[Finding]) -> None:
        self.findings = findings
        self.items = {element.get("name"): element for element in _children(root, "itemDefinition")}

    def of_variable(self, element: _Element) -> Type:
        """The type of an input or of a decision: that of its variable."""
        variables = _children(element, "variable")
        return self.named(variables[0].get("typeRef"), variables[0]) if variables else ""

    def named(self, name: str | None, element: _Element, depth: int = 0) -> Type:
        """The type of that name; empty where none is given."""
        if not name or name.strip() == "":
            return ""
        if name in self.items and depth < _DEEPEST:
            return self._item(self.items[name], depth + 1)
        if name.strip().lower() == "duration":
            return "duration"
        if kind := kind_named(name):
            return kind
        message = f"The type «{name}» is not defined in this file."
        if name in self.items:
            message = f"The type «{name}» is made of itself."
        hint = did_you_mean(name, self.items, "Define it, or take one of FEEL: number, string, boolean, date, …")
        self.findings.append(Finding("dmn_type", "error", message, _place(element), hint))
        return ""

    def _item(self, item: _Element, depth: int) -> Type:
        type = self._content(item, depth)
        constraints = _children(item, "allowedValues") or _children(item, "typeConstraint")
        if constraints and item.get("isCollection") == "true" and not _children(item, "allowedValues"):
            message = f"The type «{item.get('name')}» is a list with a constraint of its own, which is not read."
            hint = "Write the constraint as allowedValues of its items."
            self.findings.append(Finding("dmn_type", "error", message, _place(item), hint))
        values = [text for element in constraints for text in _texts(element)]
        if values and any(values):
            type = {"type": type or "Any", "values": values[0]}
        return {"list": type or "Any"} if item.get("isCollection") == "true" else type

    def _content(self, item: _Element, depth: int) -> Type:
        if parts := _children(item, "itemComponent"):
            return {"fields": {str(part.get("name")): self._item(part, depth + 1) or "Any" for part in parts}}
        if _children(item, "functionItem"):
            message = f"The type «{item.get('name')}» is a function, and functions are not read."
            hint = "Leave the type away, or write what it works out as a decision."
            self.findings.append(Finding("dmn_type", "error", message, _place(item), hint))
            return ""
        bases = _children(item, "typeRef")
        return self.named(str(bases[0].text or "").strip(), bases[0], depth) if bases else ""


def _children(element: _Element, name: str) -> list[_Element]:
    return [child for child in element if isinstance(child.tag, str) and child.tag.rpartition("}")[2] == name]


def _texts(element: _Element) -> list[str]:
    return [str(child.text or "").strip() for child in _children(element, "text")]


def _place(element: _Element) -> Place:
    return Place("", int(element.sourceline or 0))
