"""Reads a DMN file into a model. What stands in other namespaces (diagrams, vendors' additions) is left out."""

from __future__ import annotations

import re

from penstock.executors.parts.rules.dmn.boxed import function, read_box
from penstock.executors.parts.rules.dmn.model import (
    DECISION,
    INPUT,
    KNOWLEDGE,
    Decision,
    DecisionService,
    Definitions,
    FunctionItem,
    Import,
    InputData,
    Item,
    KnowledgeModel,
    KnowledgeSource,
    Requirement,
)
from penstock.executors.parts.rules.dmn.xml import (
    Element,
    children,
    content_of,
    first,
    line_of,
    own_children,
    parse_definitions,
    text_of,
)

_WORD = re.compile(r"[^\W\d]\w*")
_REQUIRED = {"requiredInput": INPUT, "requiredDecision": DECISION, "requiredKnowledge": KNOWLEDGE}


def read_definitions(content: bytes) -> Definitions:
    """The file's model. Raises DocumentTooLarge and DocumentUnreadable; what is wrong in the model is found later."""
    root = parse_definitions(content)
    return Definitions(
        id=root.get("id") or "",
        name=root.get("name") or "",
        namespace=root.get("namespace") or "",
        line=line_of(root),
        language=root.get("expressionLanguage") or "",
        imports=tuple(map(_import, children(root, "import"))),
        items=tuple(map(_item, children(root, "itemDefinition"))),
        inputs=tuple(InputData(*_common(element)) for element in children(root, "inputData")),
        decisions=tuple(map(_decision, children(root, "decision"))),
        knowledge=tuple(map(_knowledge, children(root, "businessKnowledgeModel"))),
        services=tuple(map(_service, children(root, "decisionService"))),
        sources=tuple(map(_source, children(root, "knowledgeSource"))),
        names=frozenset(_names(root)),
        words=frozenset(_words(root)),
    )


def _common(element: Element) -> tuple[str, str, str, str, int]:
    name = (element.get("name") or element.get("id") or "").strip()
    variable = first(element, "variable")
    named = (variable.get("name") or "").strip() if variable is not None else ""
    type_ref = (variable.get("typeRef") or "") if variable is not None else ""
    return element.get("id") or name, name, named or name, type_ref, line_of(element)


def _decision(element: Element) -> Decision:
    boxes = [box for child in own_children(element) if (box := read_box(child)) is not None]
    return Decision(*_common(element), requires=_requires(element), logic=boxes[0] if boxes else None)


def _knowledge(element: Element) -> KnowledgeModel:
    logic = first(element, "encapsulatedLogic")
    return KnowledgeModel(
        *_common(element),
        requires=_requires(element),
        logic=function.read(logic, read_box) if logic is not None else None,
    )


def _service(element: Element) -> DecisionService:
    def references(name: str, kind: str) -> tuple[Requirement, ...]:
        return tuple(
            Requirement(kind, (child.get("href") or "").strip(), line_of(child)) for child in children(element, name)
        )

    return DecisionService(
        *_common(element),
        outputs=references("outputDecision", DECISION),
        encapsulated=references("encapsulatedDecision", DECISION),
        input_data=references("inputData", INPUT),
        input_decisions=references("inputDecision", DECISION),
    )


def _requires(element: Element) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(_REQUIRED[name], (target.get("href") or "").strip(), line_of(target))
        for arrow in own_children(element)
        for name in _REQUIRED
        for target in children(arrow, name)
    )


def _import(element: Element) -> Import:
    return Import(
        (element.get("name") or "").strip(),
        (element.get("namespace") or "").strip(),
        (element.get("locationURI") or "").strip(),
        element.get("importType") or "",
        line_of(element),
    )


def _item(element: Element) -> Item:
    function_item = first(element, "functionItem")
    return Item(
        name=(element.get("name") or "").strip(),
        line=line_of(element),
        base=content_of(first(element, "typeRef")),
        collection=(element.get("isCollection") or "").strip() in ("true", "1"),
        allowed=text_of(first(element, "allowedValues")),
        constraint=text_of(first(element, "typeConstraint")),
        components=tuple(map(_item, children(element, "itemComponent"))),
        function=_function_item(function_item) if function_item is not None else None,
    )


def _function_item(element: Element) -> FunctionItem:
    parameters = tuple(
        ((child.get("name") or "").strip(), child.get("typeRef") or "") for child in children(element, "parameters")
    )
    return FunctionItem(parameters, element.get("outputTypeRef") or "")


def _source(element: Element) -> KnowledgeSource:
    return KnowledgeSource(element.get("id") or "", element.get("name") or "", element.get("locationURI") or "")


def _names(root: Element) -> set[str]:
    return {
        name.strip()
        for element in root.iter()
        for attribute in ("name", "iteratorVariable")
        if (name := element.get(attribute))
    }


def _words(root: Element) -> set[str]:
    texts = (str(element.text or "") for element in root.iter(f"{str(root.tag).rpartition('}')[0]}}}text"))
    return {word for text in texts for word in _WORD.findall(text)}
