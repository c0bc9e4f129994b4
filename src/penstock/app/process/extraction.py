"""A definition out of a manual (P-6.1, P-X.2), by a model or by rules, with BPMN XML and DMN XML."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process.manuals.model_reading import model_for, read_by_model
from penstock.errors import BadInput, Finding
from penstock.executors.parts.llm.chat import NoAnswer
from penstock.executors.parts.processes.manual_documents import FORMATS, MAX_TEXT, format_of, parts_of
from penstock.lang.compile import check_document
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.text_import.chunks import Chunk, chunks_of
from penstock.lang.process.text_import.claims import CheckedClaims, Dropped, QuoteIndex
from penstock.lang.process.text_import.data_items import data_items
from penstock.lang.process.text_import.definition import ENOUGH, Extracted, extract
from penstock.lang.process.text_import.dmn_xml import write_dmn
from penstock.lang.process.text_import.evidence import Element, SentenceIndex, elements_of
from penstock.lang.process.text_import.injections import without_instructions
from penstock.lang.process.text_import.manual_text import (
    Block,
    ManualText,
    Sentence,
    manual_of_blocks,
    manual_of_text,
)
from penstock.lang.process.text_import.rule_tables import DecisionTable, tables_of, without_tables

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs


class Reading(msgspec.Struct, frozen=True):
    """How a manual was read: what the review screen shows beside the drawing. `sentences` have their places in `text`,
    `dropped` is what a model said and the text does not."""

    text: str = ""
    bpmn: str = ""
    dmn: str | None = None
    sentences: list[Sentence] = []
    chunks: list[Chunk] = []
    elements: list[Element] = []
    dropped: list[Dropped] = []


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to accept. `source` is rules or the model's name."""

    definition: dict[str, Any]
    confidence: float
    parts: dict[str, float]
    evidence: dict[str, str]
    source: str
    findings: list[Finding]
    note: str = ""
    reading: Reading = Reading()

    @property
    def certain(self) -> bool:
        """P-6.1.6: nobody has to look before it can be started."""
        return self.confidence >= ENOUGH and not any(finding.severity == "error" for finding in self.findings)


class Manual(msgspec.Struct, frozen=True):
    """A manual that was read from a file. `pictures` are the pages that hold no text."""

    text: ManualText
    pictures: list[int] = []


async def manual_of_document(source: bytes, name: str = "", media_type: str = "") -> Manual:
    """P-6.1.1: a PDF, DOCX or HTML file, Markdown or plain text. Raises BadInput and ExtraMissing."""
    kind = format_of(source, name, media_type)
    if kind == "text":
        return await asyncio.to_thread(manual_of, _decoded(source))
    parts = await parts_of(source, kind)
    blocks = [Block(**msgspec.structs.asdict(block)) for block in parts.blocks]
    return Manual(await asyncio.to_thread(manual_of_blocks, blocks), parts.pictures)


def manual_of(text: str) -> Manual:
    if len(text) > MAX_TEXT:
        why = f"it has {len(text)} characters, and {MAX_TEXT} are read"
        raise BadInput(what="the text", why=why, hint="Give its parts one by one.")
    return Manual(manual_of_text(text))


def _decoded(source: bytes) -> str:
    encodings = ("utf-16",) if source[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp949")
    for encoding in encodings:
        try:
            text = source.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise BadInput(what=FORMATS["text"].title, why="it is no text in UTF-8", hint="Save it as UTF-8.")


async def propose(door: Runs, given: Manual | str, *, id: str = "") -> Proposal:
    """Never fails because of the text or the model: then it is what the rules have read."""
    manual = manual_of(given) if isinstance(given, str) else given
    text, findings = await asyncio.to_thread(without_instructions, manual.text)
    findings += [_page_finding(page) for page in manual.pictures]
    tables = await asyncio.to_thread(tables_of, text)  # others go on meanwhile
    by_rules = await asyncio.to_thread(extract, without_tables(text.text, tables), id=id)
    chunks = await asyncio.to_thread(chunks_of, text)
    material = _Material(manual.text, text, chunks, tables, findings)
    model = model_for(door)
    note = ""
    if model is not None:
        try:
            proposal = await _by_model(door, model, material, by_rules, id)
        except NoAnswer as none:
            message = none.outcome.failure.message
            note = f"The model gave no definition ({message}); this is what the rules have read."
        else:
            if isinstance(proposal, Proposal):
                return proposal
            note = proposal
    return await asyncio.to_thread(_by_rules, material, by_rules, note)


class _Material(msgspec.Struct, frozen=True):
    """A manual as it is shown and as it is read, in chunks, with its tables and what was found on the way."""

    shown: ManualText
    text: ManualText
    chunks: list[Chunk]
    tables: list[DecisionTable]
    findings: list[Finding]


async def _by_model(door: Runs, model: Any, material: _Material, by_rules: Extracted, id: str) -> Proposal | str:
    """What a model has read; a text says why it is of no use."""
    index = await asyncio.to_thread(QuoteIndex, material.text)
    title = by_rules.definition["process_definition_name"]
    name = id or by_rules.definition["process_definition_id"]

    def check(definition: dict[str, Any]) -> list[Finding]:
        return _findings({"process_definition_id": name, **definition})

    read = await read_by_model(door, model, material.chunks, index, title, check)
    if read.claims is None:
        return "The model gave no definition; the rules have read this."
    if not read.claims.definition["activities"]:
        return "Nothing that the model said is in the text; the rules have read this."
    note = "The model's definition has errors still." if read.errors else ""
    return await asyncio.to_thread(_checked_proposal, material, read.claims, name, read.model, note, by_rules)


def _checked_proposal(
    material: _Material, claims: CheckedClaims, id: str, source: str, note: str, by_rules: Extracted
) -> Proposal:
    description = by_rules.definition.get("description", "")
    definition = {"process_definition_id": id, "description": description, **claims.definition}
    definition = {name: value for name, value in definition.items() if value or name != "events"}
    checks = _findings(definition)
    parts = _parts(definition, checks)
    by_id = {sentence.id: sentence.text for sentence in material.text.sentences}
    evidence = {id: by_id[found[0]] for id, found in claims.sentences.items() if found}
    invented = [
        Finding(
            "invented", "warning", f"The model said {each.kind} «{each.name}», and {each.why}: it was left out.",
            hint="Look whether the text says it in other words, and add it by hand.",
        ) for each in claims.dropped
    ]  # fmt: skip
    index = SentenceIndex(material.text)
    elements = elements_of(definition, {}, claims.certainty, index, claims.data, claims.sentences)
    return _proposal(
        material, definition, parts, evidence, source, [*invented, *checks], elements, claims.dropped, note
    )


def _by_rules(material: _Material, by_rules: Extracted, note: str) -> Proposal:
    definition = by_rules.definition
    checks = _findings(definition)
    parts = by_rules.parts
    if any(finding.severity == "error" for finding in checks):
        parts = {**parts, "schema": 0.0}
    index = SentenceIndex(material.text)
    data = data_items(definition, material.text)
    elements = elements_of(definition, by_rules.lines, by_rules.certainty, index, data)
    findings = [*by_rules.findings, *checks]
    return _proposal(material, definition, parts, by_rules.evidence, "rules", findings, elements, [], note)


def _proposal(
    material: _Material, definition: dict[str, Any], parts: dict[str, float], evidence: dict[str, str], source: str,
    findings: list[Finding], elements: list[Element], dropped: list[Dropped], note: str,
) -> Proposal:  # fmt: skip
    usable = not any(finding.severity == "error" for finding in findings)
    dmn = write_dmn(material.tables, str(definition.get("process_definition_name") or "")) if material.tables else None
    elements = elements + [
        Element("decisions", table.id, table.name, table.confidence, table.sentences) for table in material.tables
    ]
    reading = Reading(
        material.shown.text, write_bpmn(definition) if usable and definition["activities"] else "", dmn,
        material.shown.sentences, [msgspec.structs.replace(chunk, text="") for chunk in material.chunks], elements,
        dropped,
    )  # fmt: skip
    return Proposal(
        definition=definition, confidence=round(sum(parts.values()) / len(parts), 4), parts=parts, evidence=evidence,
        source=source, findings=[*material.findings, *findings], note=note, reading=reading,
    )  # fmt: skip


def _page_finding(page: int) -> Finding:
    return Finding(
        "page_without_text", "warning", f"Page {page} holds only a picture: it was not read.",
        hint="Give the text of this page, too.",
    )  # fmt: skip


def _findings(definition: dict[str, Any]) -> list[Finding]:
    return check_document(json.dumps(definition, ensure_ascii=False).encode(), name="extracted.json")[1]


def _parts(definition: dict[str, Any], findings: list[Finding]) -> dict[str, float]:
    """P-X.22 of a definition that somebody else has read."""

    def entries(name: str) -> list[dict[str, Any]]:
        listed = definition.get(name)
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []

    activities, gateways, flows = entries("activities"), entries("gateways"), entries("transitions")
    known = {node.get("id") for name in ("activities", "gateways", "events") for node in entries(name)}
    assigned = [
        bool(activity.get("role") or activity.get("agent_mode") or activity.get("type") == "serviceTask")
        for activity in activities
    ]
    led = [flow.get("source") in known and flow.get("target") in known for flow in flows]
    divided = []
    for gateway in gateways:
        out = [flow for flow in flows if flow.get("source") == gateway.get("id")]
        joins = len(out) == 1 and sum(flow.get("target") == gateway.get("id") for flow in flows) > 1
        if not joins and gateway.get("type") != "parallelGateway":
            default = gateway.get("default")  # its condition is that no other one holds
            divided.append(sum(bool(flow.get("condition") or default == flow.get("id")) for flow in out) >= 2)
    return {
        "activities": _share(assigned, 0.0), "transitions": _share(led, 1.0), "gateways": _share(divided, 1.0),
        "schema": 0.0 if any(finding.severity == "error" for finding in findings) else 1.0,
    }  # fmt: skip


def _share(of: list[bool], otherwise: float) -> float:
    return sum(of) / len(of) if of else otherwise
