"""Finds secrets that are written out in a workflow, and references to secrets that name no place (C-29, C-63)."""

from __future__ import annotations

import re
from typing import Any

from penstock.lang.decision.workflow import Workflow
from penstock.lang.document import child_pointer
from penstock.lang.report import Report

#: C-29: the seed's two patterns, and the names of fields that hold secrets.
_SECRET_PATTERNS = (
    re.compile(r"password\s*[:=]\s*[\"'][^\"']+[\"']", re.I),
    re.compile(r"api[_-]?key\s*[:=]\s*[\"'][^\"']+[\"']", re.I),
)
_SECRET_KEY = re.compile(r"(^|_)(password|passwd|secret|token|api[_-]?key|private[_-]?key|webhook_url)$", re.I)
_REFERENCE = re.compile(r"\$\{\s*(secrets\.[\w.-]+|fn\.get_secret\(.*\))\s*\}\Z", re.S)
_SECRET_PLACE = re.compile(r"(env|file|vault):\S+\Z")


def check_secrets(workflow: Workflow, report: Report) -> None:
    _check_values(report.document.data, "", report)
    _check_places(workflow, report)


def _check_values(value: Any, at: str, report: Report, schema: bool = False) -> None:
    """Reports a value under a secret's name that is no reference (C-29). Names in a JSON Schema are no values."""
    if isinstance(value, list):
        for i, item in enumerate(value):
            _check_values(item, f"{at}/{i}", report)
        return
    if isinstance(value, str):
        if _holds_secret(value):
            _report_secret(at, report)
        return
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        if isinstance(item, dict | list):
            _check_values(item, child_pointer(at, str(name)), report, schema=name == "properties" and "schema" in at)
        elif isinstance(item, str) and item:
            named = not schema and _SECRET_KEY.search(str(name)) and not _REFERENCE.match(item)
            if named and not (at == "/context/secrets" and _SECRET_PLACE.match(item)) or _holds_secret(item):
                _report_secret(child_pointer(at, str(name)), report)


def _holds_secret(text: str) -> bool:
    return ("'" in text or '"' in text) and any(pattern.search(text) for pattern in _SECRET_PATTERNS)


def _report_secret(at: str, report: Report) -> None:
    hint = "Write ${secrets.NAME}, and give the secret to the tenant."
    report.error("no_hardcoded_secrets", "Hardcoded secrets detected", at, hint=hint)


def _check_places(workflow: Workflow, report: Report) -> None:
    """C-63: the context names the place of a secret, never the secret itself."""
    for name, place in workflow.context.secrets.items():
        if not isinstance(place, str) or not _SECRET_PLACE.match(place):
            message = f"«{name}» must say where the secret lies."
            hint = "Write env:NAME, file:path or vault:path#key."
            report.error("secret_reference", message, child_pointer("/context/secrets", name), hint=hint)
