"""Documents that cannot be read or released."""

from __future__ import annotations

from penstock.errors.base import DocumentInvalid, PenstockError


class DocumentUnreadable(PenstockError):
    """The document cannot be read: {why}."""

    code, http = "PS-400-DOCUMENT", 400
    hint = "Check the file's syntax at the place named; JSON and YAML are read as UTF-8."


class DocumentTooLarge(PenstockError):
    """The document has {size} bytes; at most {limit} are read."""

    code, http = "PS-413-DOCUMENT", 413
    hint = "Split it into sub-diagrams, or move large texts into files."


class DocumentTooLong(PenstockError):
    """The document has {count} nodes; at most {limit} are looked at."""

    code, http, hint = "PS-413-NODES", 413, "Split it into sub-diagrams or sub-workflows."


class ThingInvalid(DocumentInvalid):
    """{what} has {count} error(s); the first: {first}."""

    code = "PS-422-REGISTRY"
    hint = "Every finding has its own hint; nothing was stored."


class LanguageUnknown(PenstockError):
    """No language reads this document; known are {known}."""

    code, http = "PS-422-LANGUAGE", 422
    hint = (
        "A diagram has `nodes` and `connections`; a decision workflow `id`, `version`, `nodes` and `edges`; a process "
        "`process_definition_id` and `activities`, or it is BPMN 2.0."
    )
