"""The decision language: JSON workflows of data, judgments, actions, approvals, waits and compensations (seed 000)."""

from __future__ import annotations

from penstock.lang.contract import Language, Lowered, Setting
from penstock.lang.decision.lower import dependencies_of, lower
from penstock.lang.decision.rule_categories import with_category
from penstock.lang.decision.schema import read, recognise
from penstock.lang.decision.workflow import Workflow
from penstock.lang.document import Document
from penstock.lang.report import Report


def _lower(workflow: Workflow, report: Report, setting: Setting) -> Lowered | None:
    lowered = lower(workflow, report, setting)
    report.findings[:] = [with_category(finding) for finding in report.findings]
    return lowered


def dependencies(document: Document) -> list[tuple[str, str, str]]:
    """What a workflow needs registered at its tenant: type, id and JSON pointer. Names that only a run knows are left
    out."""
    report = Report(document)
    return dependencies_of(read(document, report, Setting()), report)


LANGUAGE = Language("decision", recognise, read, _lower)

__all__ = ["LANGUAGE", "dependencies"]
