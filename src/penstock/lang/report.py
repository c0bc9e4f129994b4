"""Collects the findings about a document while it is read and checked."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Protocol

from penstock.errors import Finding, Place
from penstock.lang.document import Document

#: A malicious document could have a million findings; these are enough.
MOST, TOO_MANY = 1000, "too_many_findings"
#: A message quotes the document, and a word of it may be a megabyte.
LONGEST = 600
#: Among more names than this no similar one is searched.
_NAMES = 500


class Report:
    """The findings about one document, each with its place, a rule and a hint."""

    def __init__(self, document: Document, findings: list[Finding] | None = None) -> None:
        self.document = document
        self.findings: list[Finding] = [] if findings is None else findings

    def error(
        self, rule: str, message: str, at: str | Place = "", *, hint: str, node: str = "", key: bool = False
    ) -> None:
        """`at` is a JSON pointer into the document, or a place; `key` means the field's name rather than its value.
        Every finding has a hint what to do about it."""
        self._add("error", rule, message, at, hint, node, key)

    def warning(
        self, rule: str, message: str, at: str | Place = "", *, hint: str, node: str = "", key: bool = False
    ) -> None:
        self._add("warning", rule, message, at, hint, node, key)

    def info(
        self, rule: str, message: str, at: str | Place = "", *, hint: str, node: str = "", key: bool = False
    ) -> None:
        self._add("info", rule, message, at, hint, node, key)

    def _add(self, severity: str, rule: str, message: str, at: str | Place, hint: str, node: str, key: bool) -> None:
        if len(self.findings) == MOST:
            message = f"More than {MOST} findings; these are the first."
            hint = "Mend these and check again: many are often one mistake, repeated."
            self.findings.append(Finding(TOO_MANY, "error", message, self.document.place(), hint))
        if len(self.findings) > MOST:
            return
        where = at if isinstance(at, Place) else self.document.place(at, key=key)
        if len(message) > LONGEST:
            message = message[:LONGEST] + " …"
        self.findings.append(Finding(rule, severity, message, where, hint, node))


class SharedReport(Protocol):
    """What several contexts have in common, with the report that they all write to."""

    @property
    def report(self) -> Report: ...


class ElementReport:
    """Reports on one element of a document, by the path below it."""

    shared: SharedReport

    @property
    def id(self) -> str:
        raise NotImplementedError

    @property
    def pointer(self) -> str:
        raise NotImplementedError

    def at(self, path: str = "") -> str:
        return f"{self.pointer}/{path}" if path else self.pointer

    def error(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.error(rule, message, self.at(path), hint=hint, node=self.id)

    def warning(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.warning(rule, message, self.at(path), hint=hint, node=self.id)

    def info(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.info(rule, message, self.at(path), hint=hint, node=self.id)


class PlaceReport:
    """Reports what is wrong with one text; the same is said once, however many nodes share it."""

    def __init__(self, report: Report, at: str, node: str, reported: set[tuple[str, str]] | None = None) -> None:
        self.report, self.at, self.node = report, at, node
        self.reported = set() if reported is None else reported

    def error(self, rule: str, message: str, *, hint: str) -> None:
        if self._is_new(rule, message):
            self.report.error(rule, message, self.at, hint=hint, node=self.node)

    def warning(self, rule: str, message: str, *, hint: str) -> None:
        if self._is_new(rule, message):
            self.report.warning(rule, message, self.at, hint=hint, node=self.node)

    def _is_new(self, rule: str, message: str) -> bool:
        new = (rule, self.at + message) not in self.reported
        self.reported.add((rule, self.at + message))
        return new


def did_you_mean(word: str, known: Collection[str], otherwise: str) -> str:
    """A hint with the most similar known word, or with all of them when they are few; else `otherwise`."""
    if len(known) > _NAMES or len(word) > 100:
        return otherwise
    names = sorted(set(known))
    folded = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f"Did you mean «{folded[near[0]]}»?"
    return f"Known are: {', '.join(names)}." if 0 < len(names) <= 20 else otherwise
