"""The decision language: JSON workflows that read, judge, branch, tell, wait, ask and undo (seed 000)."""

from __future__ import annotations

from penstock.lang.contract import Language, Lowered, Setting
from penstock.lang.decision.lower import lower, shared_of
from penstock.lang.decision.rules import categorised
from penstock.lang.decision.schema import Workflow, read, recognise
from penstock.lang.document import Document
from penstock.lang.report import Report


def _lower(workflow: Workflow, report: Report, setting: Setting) -> Lowered | None:
    lowered = lower(workflow, report, setting)
    report.findings[:] = [categorised(one) for one in report.findings]
    return lowered


def dependencies(document: Document) -> list[tuple[str, str, str]]:
    """What a workflow asks of its tenant: type, id and JSON pointer; what only a run knows is not there."""
    report = Report(document)
    shared = shared_of(read(document, report, Setting()), report, Setting())
    return list(dict.fromkeys(shared.depends))


LANGUAGE = Language("decision", recognise, read, _lower)

__all__ = ["LANGUAGE", "dependencies"]
