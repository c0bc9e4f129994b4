"""Which data a task is given and gives back by a modeler's own words: mappings, variables of results, calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

from penstock.errors import ExprSyntaxError
from penstock.lang.process import feel_text
from penstock.lang.process.bpmn.dialects import expression, value_text
from penstock.lang.process.bpmn.vendor_words import VENDORS, attribute, extensions, vendor_children, zeebe
from penstock.lang.process.bpmn.xml_tree import XmlElement
from penstock.lang.process.expression_names import beside_elements, variable_text

#: The key of `outputs` that stands for all members of the result.
ALL = "*"
#: The expression that means the whole result.
RESULT = "${output}"
_NAME = re.compile(r"[^\W\d]\w*\Z")
_WHOLE = re.compile(r"[#$]\{\s*(\w+)\s*\}\Z|=\s*(\w+)\s*\Z")
_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")
Unread = tuple[str, str]  # the word of the modeler, and why it is not read


class Mapping:
    """What a task is given and what becomes of its result; `unread` is what of it is not understood."""

    def __init__(self, node: XmlElement) -> None:
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}
        self.unread: list[Unread] = []
        for mapping in zeebe(node, "ioMapping"):
            self._zeebe(mapping)
        for mapping in extensions(node, "inputOutput"):
            self._camunda(mapping)

    def _zeebe(self, mapping: XmlElement) -> None:
        for given in vendor_children(mapping, "input"):
            source, target = given.get("source"), given.get("target")
            if not _PATH.match(target) or not _put(self.inputs, target, value_text(source)):
                self.unread.append(("input", f"«{target}» is no name of a variable"))
        with beside_elements(()):  # names are those of the result here
            self._zeebe_outputs(mapping)

    def _zeebe_outputs(self, mapping: XmlElement) -> None:
        nested: dict[str, Any] = {}
        for given in vendor_children(mapping, "output"):
            source, target = given.get("source"), given.get("target")
            if "." not in target and _NAME.match(target):
                self.outputs[target] = value_text(source)
            elif not _PATH.match(target) or not source.startswith("=") or not _put(nested, target, source[1:]):
                self.unread.append(("output", f"«{target}» is no name of a variable"))
        for name, tree in nested.items():
            text = f"={_merged((name,), tree)}"
            if _readable(text) and name not in self.outputs:
                self.outputs[name] = value_text(text)
            else:
                self.unread.append(("output", f"«{name}» cannot be put together"))

    def _camunda(self, mapping: XmlElement) -> None:
        for child in mapping.children:
            kept = {"inputParameter": self.inputs, "outputParameter": self.outputs}.get(child.name)
            if kept is None or child.space not in VENDORS or not child.get("name"):
                continue
            try:
                with beside_elements(()) if kept is self.outputs else nullcontext():
                    kept[child.get("name")] = _parameter(child)
            except _ScriptFoundError:
                self.unread.append((child.name, f"«{child.get('name')}» is given by a script"))


class _ScriptFoundError(Exception):
    pass


def _parameter(node: XmlElement) -> Any:
    """A text, an expression, a list or a map."""
    inside = [child for child in node.children if child.space in VENDORS]
    if not inside:
        return value_text(node.text.strip())
    (child, *_) = inside
    if child.name == "list":
        return [_entry(value) for value in child.children if value.space in VENDORS]
    if child.name == "map":
        return {entry.get("key"): _entry(entry) for entry in vendor_children(child, "entry") if entry.get("key")}
    raise _ScriptFoundError


def _entry(node: XmlElement) -> Any:
    if node.name == "script":
        raise _ScriptFoundError
    return _parameter(node)


def _put(tree: dict[str, Any], path: str, value: Any) -> bool:
    """Sets a value at a path with dots; not where something else is there already."""
    *outer, last = path.split(".")
    for part in outer:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return False
    if isinstance(tree.get(last), dict):
        return False
    tree[last] = value
    return True


def _merged(path: tuple[str, ...], tree: Any) -> str:
    """FEEL for a variable with some of its members set, however deep."""
    if not isinstance(tree, dict):
        return f"({tree})"
    members = ", ".join(f'"{name}": {_merged((*path, name), inner)}' for name, inner in tree.items())
    variable = ".".join(path)
    return f"context merge([if {variable} = null then {{}} else {variable}, {{{members}}}])"


def _readable(text: str) -> bool:
    try:
        feel_text.as_expression(text)
    except ExprSyntaxError:
        return False
    return True


# ---- results ---------------------------------------------------------------------------------------------------------


def result_variable(node: XmlElement) -> str:
    """The variable that gets the result of an expression, a script or a decision."""
    for name in ("calledDecision", "script"):
        for child in zeebe(node, name):
            if child.get("resultVariable"):
                return child.get("resultVariable")
    return attribute(node, "resultVariable") or attribute(node, "resultVariableName")


def computation(node: XmlElement, script: str = "") -> dict[str, Any]:
    """What a task computes by itself: FEEL of Camunda 8, JUEL of Camunda 7; nothing where that cannot be read."""
    variable = result_variable(node)
    texts = [f"={text.lstrip('= ')}" for child in zeebe(node, "script") if (text := child.get("expression"))]
    texts += [attribute(node, "expression"), script]
    text = next((text for text in texts if text), "")
    if not text or not variable:
        return {}
    value = f"${{{expression(text)}}}"
    return {variable: value} if not value.startswith(("${=", "${#{")) else {}


# ---- calls -----------------------------------------------------------------------------------------------------------


def call(node: XmlElement, mapping: Mapping) -> tuple[dict[str, Any], list[Unread]]:
    """What a called process is started with, and which of its variables come back; where nothing is said, all."""
    given = list(extensions(node, "in"))
    back = list(extensions(node, "out"))
    if given or back:
        return _camunda_call(given, back)
    unread: list[Unread] = []
    fields: dict[str, Any] = {"input": mapping.inputs} if mapping.inputs else {}
    elements = zeebe(node, "calledElement")
    if any(called.get("propagateAllParentVariables") == "false" for called in elements):
        fields["input"] = mapping.inputs
    output = dict(_outputs_of_call(mapping, unread))
    if output or any(called.get("propagateAllChildVariables") == "false" for called in elements):
        fields["output"] = output
    return fields, unread


def _outputs_of_call(mapping: Mapping, unread: list[Unread]) -> Iterator[tuple[str, str]]:
    for target, source in mapping.outputs.items():
        if isinstance(source, str) and (match := _WHOLE.match(source)):
            yield target, match[1] or match[2]
        else:
            unread.append(("output", f"«{target}» is computed of what a called process brings"))


def _camunda_call(given: list[XmlElement], back: list[XmlElement]) -> tuple[dict[str, Any], list[Unread]]:
    """Camunda 7 hands over what is named and nothing else."""
    unread: list[Unread] = []
    fields: dict[str, Any] = {"input": {}, "output": {}}
    every = any(child.get("variables") == "all" for child in given)
    for child in given:
        target, source = child.get("target"), child.get("source")
        if child.get("businessKey"):
            fields["input"]["businessKey"] = value_text(child.get("businessKey"))
        elif target:
            text = f"${{{expression(f'${{{source}}}')}}}" if source else value_text(child.get("sourceExpression"))
            fields["input"][target] = text
    if every:
        changed = [name for name, text in fields.pop("input").items() if text != f"${{{variable_text(name)}}}"]
        why = "has another name or value than here; all variables are handed over"
        unread += [("in", f"«{name}» {why}") for name in changed]
    for child in back:
        match = _WHOLE.match(child.get("sourceExpression"))
        source = child.get("source") or (match[1] or "" if match else "")
        if child.get("target") and source:
            fields["output"][child.get("target")] = source
        elif child.get("target"):
            unread.append(("out", f"«{child.get('target')}» is computed of what a called process brings"))
    if any(child.get("variables") == "all" for child in back):
        unread += [("out", f"«{name}» has another name than there; all variables come back")
                   for name, source in fields.pop("output").items() if name != source]  # fmt: skip
    return fields, unread
