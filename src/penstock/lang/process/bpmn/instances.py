"""Reads how often an activity is done: its instances, their list and what is collected of them, or its loop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.lang.process.bpmn import dialects, vendors
from penstock.lang.process.bpmn.dialects import expression
from penstock.lang.process.bpmn.vocabulary import BPMN
from penstock.lang.process.bpmn.xml_tree import XmlElement

_NAME = re.compile(r"[^\W\d]\w*\Z")
#: What data associations join to a variable of the process.
DATA = ("dataObject", "dataObjectReference", "dataStoreReference", "property", "dataInput", "dataOutput")


def instances(node: XmlElement, language: str, data: Mapping[str, XmlElement]) -> dict[str, Any]:
    """The field `multi`, empty where an activity is done once. `language`: of the file; `data`: its data by ids."""
    multi_instance = node.first("multiInstanceLoopCharacteristics", BPMN)
    if multi_instance is not None:
        return _multi_instance(node, multi_instance, language, data)
    loop = node.first("standardLoopCharacteristics", BPMN)
    return _loop(loop, language) if loop is not None else {}


def _loop(loop: XmlElement, language: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"mode": "loop"}
    if condition := dialects.formal_expression(loop.first("loopCondition", BPMN), language, condition=True):
        fields["again"] = condition
    if loop.get("testBefore") == "true":
        fields["test_before"] = True
    if most := loop.get("loopMaximum").strip():  # longer numbers are out of range like one of 18 digits
        fields["most"] = int(most[:18]) if most.isascii() and most.isdecimal() else most
    return fields


def _multi_instance(
    node: XmlElement, multi_instance: XmlElement, language: str, data: Mapping[str, XmlElement]
) -> dict[str, Any]:
    sequential = multi_instance.get("isSequential") == "true"
    fields: dict[str, Any] = {"mode": "sequential" if sequential else "parallel"}
    if count := dialects.formal_expression(multi_instance.first("loopCardinality", BPMN), language):
        fields["count"] = count
    if until := dialects.formal_expression(multi_instance.first("completionCondition", BPMN), language, condition=True):
        fields["until"] = until
    if list_ref := multi_instance.child_text("loopDataInputRef", BPMN):
        fields["items"] = _list(node, list_ref, data)
    if collected := multi_instance.child_text("loopDataOutputRef", BPMN):
        fields["collect"] = _joined(node, "dataOutputAssociation", collected, data) or collected
    for tag, word in (("inputDataItem", "item"), ("outputDataItem", "output")):
        item = multi_instance.first(tag, BPMN)
        if item is not None and (name := _item_name(item)):
            fields[word] = name
    return fields | vendors.multi_instance_items(multi_instance)


def _item_name(item: XmlElement) -> str:
    """The name of an item; its id where no expression could read the name."""
    name = item.get("name")
    return name if _NAME.match(name) or not _NAME.match(item.get("id")) else item.get("id")


def _list(node: XmlElement, ref: str, data: Mapping[str, XmlElement]) -> str:
    """What a reference to a list is as an expression: the data that is brought into it, a name, or as it is written."""
    name = _joined(node, "dataInputAssociation", ref, data)
    if not name:
        return expression(ref)
    if name.startswith(("${", "=")):
        return expression(name)
    return name if _NAME.match(name) else f"context.variables[{_quoted(name)}]"


def _joined(node: XmlElement, tag: str, ref: str, data: Mapping[str, XmlElement]) -> str:
    """The name of the data on the other side of an association; else the name of what is meant itself."""
    own, other = ("targetRef", "sourceRef") if tag == "dataInputAssociation" else ("sourceRef", "targetRef")
    for association in node.all(tag, BPMN):
        if association.child_text(own, BPMN) == ref:
            if text := association.child_text("transformation", BPMN):
                return f"${{{text}}}" if not text.startswith(("${", "#{", "=")) else text
            if joined := association.child_text(other, BPMN):
                return _data_name(joined, data)
    return _data_name(ref, data) if ref in data else ""


def _data_name(id: str, data: Mapping[str, XmlElement]) -> str:
    element = data.get(id)
    if element is None:
        return id
    named = element.get("name")
    referred = data.get(element.get("dataObjectRef"))
    return named or (referred.get("name") if referred is not None else "") or id


def _quoted(text: str) -> str:
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', "") + '"'
