"""Errors in the words of the process language (P-X.1), for everybody who asks for something of a process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from penstock.errors import (
    ApproverDenied,
    ChangedMeanwhile,
    DocumentInvalid,
    DocumentUnreadable,
    FourEyes,
    ItemClaimed,
    ItemNotFound,
    LanguageUnknown,
    ModelOutdated,
    NoBranch,
    NodeNotFound,
    PenstockError,
    ProcessBranch,
    ProcessChanged,
    ProcessInvalid,
    ProcessNotFound,
    ProcessScope,
    ProcessState,
    ProcessUnreadable,
    Refused,
    ReleaseNotFound,
    RunNotFound,
    StarterDenied,
    TenantConflict,
    VersionConflict,
)

#: ours → theirs; the first that fits
_CODES: tuple[tuple[tuple[type[PenstockError], ...], type[PenstockError]], ...] = (
    ((ModelOutdated, ProcessBranch, ProcessChanged, ProcessState), PenstockError),
    ((DocumentUnreadable, LanguageUnknown), ProcessUnreadable),
    ((TenantConflict, ApproverDenied, StarterDenied, FourEyes), ProcessScope),
    ((RunNotFound, ReleaseNotFound, ItemNotFound, NodeNotFound), ProcessNotFound),
    ((NoBranch,), ProcessBranch),
    ((VersionConflict, ChangedMeanwhile), ProcessChanged),
    ((Refused, ItemClaimed), ProcessState),
)


@contextlib.contextmanager
def process_words() -> Iterator[None]:
    """What is raised inside is raised under the codes of the process language; a decorator, too."""
    try:
        yield
    except PenstockError as error:
        translated = in_process_words(error)
        if translated is error:
            raise
        raise translated from error


def in_process_words(error: PenstockError) -> PenstockError:
    """The same under the code that the process language has for it; what it has none for stays as it is."""
    if isinstance(error, DocumentInvalid):
        return error if isinstance(error, ProcessInvalid) else ProcessInvalid(error.findings)
    for kinds, kind in _CODES:
        if isinstance(error, kinds):
            return error if kind is PenstockError else _as(kind, error)
    return error


def _as(kind: type[PenstockError], error: PenstockError) -> PenstockError:
    """The words stay: they are about what was asked."""
    made = kind.__new__(kind)
    Exception.__init__(made, str(error))
    made.facts = {**error.facts, "hint": error.facts.get("hint") or error.hint}
    return made
