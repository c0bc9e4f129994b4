"""The table of report formats: one line each. What is heavy is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.executors.parts.extras import extra_message

#: format → media type
FORMATS = {"html": "text/html; charset=utf-8", "pdf": "application/pdf", "json": "application/json"}


class ReportImpossible(Exception):
    """The extra that this format needs is not installed."""


def render(result: dict[str, Any], format: str, language: str = "ko") -> bytes:
    """The report of a result. Raises ReportImpossible."""
    make: dict[str, Callable[[dict[str, Any], str], bytes]] = {"html": _html, "pdf": _pdf, "json": _json}
    return make[format](result, language)


def _json(result: dict[str, Any], language: str) -> bytes:
    return msgspec.json.format(msgspec.json.encode(result), indent=2)


def _html(result: dict[str, Any], language: str) -> bytes:
    from penstock.executors.parts.reports.html import html_report

    return html_report(result, language).encode()


def _pdf(result: dict[str, Any], language: str) -> bytes:
    try:
        from penstock.executors.parts.reports.pdf import pdf_report
    except ImportError:
        raise ReportImpossible(extra_message("A PDF report needs", "reports")) from None
    return pdf_report(result, language)
