"""The process language: BPMN for people and agents, work items, sagas (seed 001)."""

from __future__ import annotations

from penstock.errors import Finding
from penstock.lang.contract import Language, Lowered, Setting
from penstock.lang.document import Document
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.lower import dependencies_of, lower
from penstock.lang.process.rule_categories import with_category
from penstock.lang.process.schema import Definition, read, recognise
from penstock.lang.report import Report


def _lower(definition: Definition, report: Report, setting: Setting) -> Lowered | None:
    lowered = lower(definition, report, setting)
    report.findings[:] = [with_category(finding) for finding in report.findings]
    return lowered


def dependencies(document: Document) -> list[tuple[str, str, str]]:
    """What a process needs registered at its tenant: type, id and JSON pointer."""
    report = Report(document)
    return dependencies_of(read(document, report, Setting()), report)


def _recursive(document: Document, why: str) -> Finding:
    message = f"The process «{document.name}» cannot be called here: {why}."
    return Finding("recursive_process", "error", message, document.place(), "Call fewer, one below the other.")


LANGUAGE = Language(
    "process", recognise, read, _lower, sound=True, ends_each=True, read_xml=read_bpmn,
    write_xml=write_bpmn, recursive=_recursive,
)  # fmt: skip

__all__ = ["LANGUAGE", "dependencies"]
