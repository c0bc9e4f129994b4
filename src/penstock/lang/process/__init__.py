"""The process language: BPMN for people and agents, work items, sagas (seed 001)."""

from __future__ import annotations

from penstock.errors import Finding
from penstock.lang.contract import Language, Lowered, Setting
from penstock.lang.document import Document
from penstock.lang.process.bpmn.reading import read_bpmn
from penstock.lang.process.bpmn.writing import write_bpmn
from penstock.lang.process.lower import lower, pieces
from penstock.lang.process.rule_categories import categorised
from penstock.lang.process.schema import Definition, read, recognise
from penstock.lang.report import Report


def _lower(definition: Definition, report: Report, setting: Setting) -> Lowered | None:
    lowered = lower(definition, report, setting)
    report.findings[:] = [categorised(one) for one in report.findings]
    return lowered


def dependencies(document: Document) -> list[tuple[str, str, str]]:
    """What a process asks of its tenant: type, id and JSON pointer."""
    report = Report(document)
    return list(dict.fromkeys(pieces(read(document, report, Setting()), report, Setting())[0].depends))


def _recursive(document: Document, why: str) -> Finding:
    message = f"The process «{document.name}» cannot be called here: {why}."
    return Finding("recursive_process", "error", message, document.place(), "Lead a way back to what is repeated.")


LANGUAGE = Language(
    "process", recognise, read, _lower, sound=True, read_xml=read_bpmn, write_xml=write_bpmn,
    recursive=_recursive,
)  # fmt: skip

__all__ = ["LANGUAGE", "dependencies"]
