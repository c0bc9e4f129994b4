"""What a language has to say about a document, collected while it is read: all of it, not only the first."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from penstock.errors import Finding, Place
from penstock.lang.document import Document

#: More findings than this help nobody; a document made to hurt would have a million.
MOST, TOO_MANY = 1000, "too_many_findings"
#: A message quotes the user, and a user's word may be a megabyte.
LONGEST = 600
#: Among more names than this no nearest one is looked for.
_NAMES = 500


class Report:
    def __init__(self, document: Document, findings: list[Finding] | None = None) -> None:
        self.document = document
        self.findings: list[Finding] = [] if findings is None else findings

    def error(
        self, rule: str, message: str, at: str | Place = "", *, hint: str, node: str = "", key: bool = False
    ) -> None:
        """`at` is a JSON pointer into the document, or a place; `key` means the field's name rather than its value.
        What is wrong is never told without a hint what to do about it."""
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


def did_you_mean(word: str, known: Collection[str], otherwise: str) -> str:
    """A hint with the nearest known word, or with all of them when they are few, or else what is said then."""
    if len(known) > _NAMES or len(word) > 100:
        return otherwise
    names = sorted(set(known))
    folded = {name.lower(): name for name in names}
    near = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    if near:
        return f"Did you mean «{folded[near[0]]}»?"
    return f"Known are: {', '.join(names)}." if 0 < len(names) <= 20 else otherwise
