"""Scenarios that cannot be read, or cannot go on."""

from __future__ import annotations

from penstock.errors.base import DocumentInvalid, PenstockError


class ScenarioInvalid(DocumentInvalid, code="PS-422-SCENARIO"):
    """The scenario has {count} error(s); the first: {first}."""

    hint = "Every finding has its place and its own hint; docs/reference/scenarios.md has the form."


class ScenarioBusy(PenstockError, code="PS-508-SCENARIO"):
    """It does not come to rest: {why}."""

    hint = "Give the loop a way out, or answer what it asks for with a stub."


class NotStubbed(PenstockError, code="PS-424-STUB"):
    """Nothing stands in for {what}."""

    hint = "Stub it, or say that the real one may do it (`real`)."


class NothingWaits(PenstockError, code="PS-409-NOBODY"):
    """Nothing waits for «{who}» at «{node}»: {why}."""

    hint = "Let time pass until it does (`within`), or look at the timeline for the way that the run has taken."
