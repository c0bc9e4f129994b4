"""Checks settings that only an executor would read, as far as they are literals: methods, files, dates, jq."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.report import did_you_mean

#: What the executors accept; a test holds these equal to theirs.
API_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
WEBHOOK_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
OPERATIONS = ("insert", "update", "upsert", "delete")
FILE_EXTENSIONS = (".csv", ".json", ".jsonl", ".ndjson", ".parquet")
_OPEN, _CLOSE = "([{", ")]}"
_HALF = re.compile(r"(?:^\s*[|,*/%]|[|,+*/%=<>.]\s*$|[|]\s*[|])")


def check_choice(value: Any, known: Sequence[str], what: str, path: str, context: LoweringContext) -> None:
    """A word must be among those known; a template is checked by the run."""
    if isinstance(value, str) and "${" not in value and value not in known:
        hint = did_you_mean(value, known, f"Write one of {', '.join(known)}.")
        context.error("wrong_type", f"«{value}» is no {what}; there are {', '.join(known)}.", path, hint=hint)


def check_file_extension(path: str, at: str, context: LoweringContext) -> None:
    name, dot, last = path.rpartition("/")[2].rpartition(".")
    extension = f"{dot}{last}".lower() if name else ""
    if path and "${" not in path and "{" not in path and extension and extension not in FILE_EXTENSIONS:
        hint = f"Name a file that ends with one of {', '.join(FILE_EXTENSIONS)}."
        context.error("wrong_type", f"Nobody can read a file such as «{path}».", at, hint=hint)


def check_date(text: str, at: str, context: LoweringContext) -> None:
    zone = zone_of("UTC")
    try:
        assert zone is not None, "UTC is in every table"
        moment_of(text, zone)
    except BadDate as error:
        hint = "Write 2026-11-15T09:00:00, with an offset or in the tenant's time zone, or ${…}."
        context.error("wrong_type", f"«{text}» is not a date: {error}.", at, hint=hint)


def jq_syntax_problem(text: str) -> str | None:
    """An obvious syntax error of a jq program, or None. It is compiled only where it runs, in a process of its own."""
    depth: list[str] = []
    bare: list[str] = []
    inside, i = False, 0
    while i < len(text):
        mark = text[i]
        if inside:
            if mark == "\\":
                if text[i + 1 : i + 2] == "(":
                    depth.append('"')
                    inside = False
                i += 1
            elif mark == '"':
                inside = False
                bare.append('""')
        elif mark == "#":
            i = text.find("\n", i) if "\n" in text[i:] else len(text)
        elif mark == '"':
            inside = True
        elif mark in _OPEN:
            depth.append(mark)
            bare.append(mark)
        elif mark in _CLOSE:
            if depth and depth[-1] == '"' and mark == ")":
                depth.pop()
                inside = True
            elif not depth or depth.pop() != _OPEN[_CLOSE.index(mark)]:
                return f"«{mark}» closes nothing"
            else:
                bare.append(mark)
        else:
            bare.append(mark)
        i += 1
    if inside or '"' in depth:
        return "a text has no closing quote"
    if depth:
        return f"«{depth[-1]}» is not closed"
    rest = "".join(bare)
    if rest.strip() in (".", ".."):
        return None
    return "it is not finished" if not rest.strip() or _HALF.search(rest) else None
