"""The decision language: JSON workflows that read, judge, branch, tell, wait, ask and undo (seed 000)."""

from __future__ import annotations

from penstock.lang.contract import Language, Lowered, Setting
from penstock.lang.decision.lower import lower
from penstock.lang.decision.rules import categorised
from penstock.lang.decision.schema import Workflow, read, recognise
from penstock.lang.decision.words import WORDS
from penstock.lang.report import Report


def _lower(workflow: Workflow, report: Report, setting: Setting) -> Lowered | None:
    lowered = lower(workflow, report, setting)
    report.findings[:] = [categorised(one) for one in report.findings]
    return lowered


LANGUAGE = Language("decision", recognise, read, _lower, WORDS)

__all__ = ["LANGUAGE"]
