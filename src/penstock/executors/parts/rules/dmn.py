"""DMN 1.3 files (1.1 to 1.5 are read alike) as rule packs: decision tables and literal expressions, in one DRG.

A file is a stranger's: its size is capped before anything reads it, DOCTYPE and entities are refused before the parser
sees them, and the parser itself reaches no file and no network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from penstock.errors import (
    DocumentInvalid,
    DocumentTooLarge,
    DocumentUnreadable,
    ExprSyntaxError,
    ExtraMissing,
    Finding,
    Place,
)
from penstock.executors.parts.rules.dmn_types import ItemTypes
from penstock.executors.parts.rules.evaluate import check_pack
from penstock.executors.parts.rules.expressions import LOCALS
from penstock.executors.parts.rules.feel import compile_value
from penstock.executors.parts.rules.feel.reader import names_read
from penstock.executors.parts.rules.feel.values import plain
from penstock.lang.report import did_you_mean

_Element = Any  # of lxml, which is an extra and has no types

MAX_BYTES = 2 * 1024 * 1024
_NAMESPACE = re.compile(r"https?://www\.omg\.org/spec/DMN/\d{8}/(MODEL/|dmn\.xsd)$")
_FORBIDDEN = re.compile(rb"<!\s*(DOCTYPE|ENTITY)", re.I)
_ENCODING = re.compile(rb"<\?xml[^>]*encoding\s*=\s*[\"']([^\"']*)[\"']")
_AGGREGATES = {"SUM": "C+", "MIN": "C<", "MAX": "C>", "COUNT": "C#"}
_LEFT_OUT = ("businessKnowledgeModel", "decisionService")
_BOXED = (
    "context",
    "invocation",
    "functionDefinition",
    "relation",
    "list",
    "conditional",
    "filter",
    "for",
    "some",
    "every",
)
_NOT_FEEL = "Write it in FEEL."


def import_dmn(
    content: bytes, *, id: str = "", version: str = "1", result: str = ""
) -> tuple[dict[str, Any], list[Finding]]:
    """The file as the body of a rule pack, and what is worth knowing about it. Raises DocumentInvalid and its like."""
    root = _root(content)
    reader = _Reader(root)
    body: dict[str, Any] = {
        "id": id or root.get("id") or root.get("name") or "dmn",
        "name": root.get("name") or "",
        "version": version,
        "names": reader.names(),
        "decisions": [reader.decision(element) for element in reader.decisions],
    }
    if types := reader.input_types():
        body["types"] = types
    if result:
        body["result"] = result
    findings = reader.findings
    if not reader.decisions:
        findings.append(
            Finding("no_rules", "error", "The file has no decision.", _place(root), "Export the decisions.")
        )
    if not any(finding.severity == "error" for finding in findings):
        findings += [reader.placed(finding) for finding in check_pack(body)]
        findings += [reader.placed(finding) for finding in reader.unknown_names(body)]
    if any(finding.severity == "error" for finding in findings):
        raise DocumentInvalid(findings)
    return body, findings


def _root(content: bytes) -> _Element:
    if len(content) > MAX_BYTES:
        raise DocumentTooLarge(size=len(content), limit=MAX_BYTES)
    declared = _ENCODING.search(content[:200])
    if b"\0" in content or (declared and declared[1].lower() not in (b"utf-8", b"utf8", b"us-ascii", b"ascii")):
        raise DocumentUnreadable(why="it is not in UTF-8")
    if _FORBIDDEN.search(content):
        raise DocumentUnreadable(why="a DOCTYPE or an entity is not allowed")
    try:
        etree = import_module("lxml.etree")
    except ImportError:
        raise ExtraMissing(extra="dmn") from None
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentUnreadable(why=f"line {error.lineno}: it is not XML") from None
    namespace, _, name = str(root.tag).lstrip("{").rpartition("}")
    if name != "definitions" or not _NAMESPACE.match(namespace):
        raise DocumentUnreadable(why="it is no DMN file (its root is not «definitions» of DMN)")
    return root


class _Reader:
    """Turns elements into the pack's maps; remembers where every decision stands."""

    def __init__(self, root: _Element) -> None:
        self.root = root
        self.findings: list[Finding] = []
        self.decisions = _children(root, "decision")
        self.lines: dict[str, int] = {}
        self.at = ""  # the pointer of the decision that is read
        self.types = ItemTypes(root, self.findings)
        self._in_feel(root)
        for element in _children(root, "import"):
            message = f"The file imports «{element.get('name') or element.get('namespace')}», which is not read."
            hint = "Bring what it has into this file."
            self.findings.append(Finding("dmn_part", "error", message, _place(element), hint))
        for name in _LEFT_OUT:
            for element in _children(root, name):
                self.types.of_variable(element)  # a type that is a function makes it one of the file's functions
                message = f"«{element.get('name') or name}» is a {name}, which is not read."
                hint = "Write it as a decision of its own."
                self.findings.append(Finding("dmn_part", "warning", message, _place(element), hint))

    def names(self) -> list[str]:
        """What FEEL texts may read: the inputs and the decisions, by the names of their variables."""
        return list(
            dict.fromkeys(_variable(element) for element in (*_children(self.root, "inputData"), *self.decisions))
        )

    def input_types(self) -> dict[str, Any]:
        """What the data's fields are, by the inputs' `typeRef`."""
        types = {_variable(element): self.types.of_variable(element) for element in _children(self.root, "inputData")}
        return {name: type for name, type in types.items() if type not in ("", "Any")}

    def unknown_names(self, body: dict[str, Any]) -> list[Finding]:
        """Names that are no input and no decision of a file that says what its inputs are: null, unless the data has a
        field of that name."""
        known = {*body["names"], *LOCALS}
        if not _children(self.root, "inputData"):
            return []
        findings: dict[str, Finding] = {}
        for pointer, text, test in _texts_of(body):
            for name in sorted(names_read(text, known, test=test) - known):
                message = f"«{name}» is no input and no decision here: it is null unless the data has such a field."
                hint = did_you_mean(name, known - LOCALS, "Add it as inputData, or correct its name.")
                findings.setdefault(name, Finding("unknown_name", "warning", message, Place(pointer), hint))
        return list(findings.values())

    def _in_feel(self, element: _Element) -> None:
        """An expression in another language is not read as if it were FEEL."""
        language = str(element.get("expressionLanguage") or "")
        if language and "feel" not in language.lower():
            message = f"«{language}» is an expression language that is not read."
            self.findings.append(Finding("dmn_part", "error", message, _place(element), _NOT_FEEL))

    def decision(self, element: _Element) -> dict[str, Any]:
        id = element.get("id") or element.get("name") or ""
        self.at = f"/decisions/{self.decisions.index(element)}"
        self._mark("", element)
        decision: dict[str, Any] = {"id": id, "name": element.get("name") or id, "variable": _variable(element)}
        decision["requires"] = [
            target.get("href", "").rpartition("#")[2]
            for need in _children(element, "informationRequirement")
            for target in _children(need, "requiredDecision")
        ]
        if type := self.types.of_variable(element):
            decision["type"] = type
        for need in _children(element, "knowledgeRequirement"):
            message = f"The decision «{decision['name']}» needs a function of the file, and functions are not read."
            hint = "Write what it works out as a decision of its own, and require that."
            self.findings.append(Finding("dmn_part", "error", message, _place(need), hint, id))
        for part in element.iter("{*}literalExpression", "{*}decisionTable", "{*}inputEntry", "{*}outputEntry"):
            self._in_feel(part)
        tables, texts = _children(element, "decisionTable"), _children(element, "literalExpression")
        if tables:
            decision["table"] = self._table(tables[0])
        elif texts:
            self._mark("/expression", texts[0])
            decision |= {"expression": _text(texts[0]), "language": "feel"}
        else:
            message = f"The decision «{decision['name']}» is neither a table nor a literal expression."
            boxed = [name for name in map(_local, element) if name in _BOXED]
            if boxed:
                message = f"{message[:-1]}: it is a boxed {boxed[0]}."
            hint = "Boxed contexts, invocations and functions are not read; make it a table."
            self.findings.append(Finding("dmn_part", "error", message, _place(element), hint, id))
        return decision

    def _mark(self, pointer: str, element: _Element) -> None:
        """Remembers the line of a part of the present decision."""
        self.lines[self.at + pointer] = int(element.sourceline or 0)

    def placed(self, finding: Finding) -> Finding:
        """The finding with the line of what it is about, or of the decision that has it."""
        pointer = finding.where.pointer
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        where = Place(finding.where.pointer, self.lines.get(pointer, 0))
        return Finding(finding.rule, finding.severity, finding.message, where, finding.hint, finding.node)

    def _table(self, table: _Element) -> dict[str, Any]:
        policy = (table.get("hitPolicy") or "UNIQUE").upper()
        if policy == "COLLECT" and table.get("aggregation"):
            policy = _AGGREGATES.get(str(table.get("aggregation")).upper(), policy)
        return {
            "language": "feel",
            "hit_policy": policy,
            "inputs": [self._input(element) for element in _children(table, "input")],
            "outputs": [self._output(element, table) for element in _children(table, "output")],
            "rules": [self._line(element, index) for index, element in enumerate(_children(table, "rule"))],
        }

    def _input(self, element: _Element) -> dict[str, Any]:
        expression = _children(element, "inputExpression")
        text = _text(expression[0]) if expression else ""
        values = _children(element, "inputValues")
        return {
            "name": element.get("label") or text,
            "expression": text or element.get("label") or "",
            "type": self.types.named(expression[0].get("typeRef"), expression[0]) if expression else "",
            "values": _text(values[0]) if values else "",
        }

    def _output(self, element: _Element, table: _Element) -> dict[str, Any]:
        values, default = _children(element, "outputValues"), _children(element, "defaultOutputEntry")
        own = "result" if len(_children(table, "output")) == 1 else ""
        name = element.get("name") or element.get("label") or table.get("outputLabel") or own
        output: dict[str, Any] = {"name": name, "type": self.types.named(element.get("typeRef"), element)}
        if values:
            output["values"] = self._listed(_text(values[0]), values[0])
        if default and _text(default[0]):
            output["default"] = _text(default[0])
        return output

    def _listed(self, text: str, element: _Element) -> list[Any]:
        try:
            listed: list[Any] = plain(compile_value(f"[{text}]")({}))
        except ExprSyntaxError as wrong:
            hint = 'List the values: "a","b","c".'
            self.findings.append(Finding("expression", "error", str(wrong), _place(element), hint))
            return []
        return listed

    def _line(self, rule: _Element, index: int) -> dict[str, Any]:
        for side, name in (("when", "inputEntry"), ("then", "outputEntry")):
            for place, entry in enumerate(_children(rule, name)):
                self._mark(f"/table/rules/{index}/{side}/{place}", entry)
        notes = _children(rule, "description") or _children(rule, "annotationEntry")
        name = (_text(notes[0]) or (notes[0].text or "").strip()) if notes else ""
        return {
            "id": rule.get("id") or str(index + 1),
            "name": name,
            "when": [_text(entry) or "-" for entry in _children(rule, "inputEntry")],
            "then": [_text(entry) for entry in _children(rule, "outputEntry")],
        }


def _texts_of(body: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Every FEEL text of a pack: its pointer, the text, and whether it is a unary test."""
    for index, decision in enumerate(body["decisions"]):
        at, table = f"/decisions/{index}", decision.get("table")
        if table is None:
            yield f"{at}/expression", decision.get("expression", ""), False
            continue
        yield from ((f"{at}/table/inputs/{n}", column["expression"], False) for n, column in enumerate(table["inputs"]))
        for row, rule in enumerate(table["rules"]):
            yield from ((f"{at}/table/rules/{row}/when/{n}", text, True) for n, text in enumerate(rule["when"]))
            yield from ((f"{at}/table/rules/{row}/then/{n}", text, False) for n, text in enumerate(rule["then"]))


def _local(element: _Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _children(element: _Element, name: str) -> list[_Element]:
    return [child for child in element if isinstance(child.tag, str) and child.tag.rpartition("}")[2] == name]


def _text(element: _Element) -> str:
    """The text of its `text` child, as DMN writes expressions."""
    return " ".join("".join(map(str, child.itertext())).strip() for child in _children(element, "text"))


def _variable(element: _Element) -> str:
    named = [child.get("name") for child in _children(element, "variable") if child.get("name")]
    return str(named[0] if named else element.get("name") or element.get("id") or "")


def _place(element: _Element) -> Place:
    return Place("", int(element.sourceline or 0))
