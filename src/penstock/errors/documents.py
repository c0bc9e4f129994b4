"""Documents that cannot be read or released."""

from __future__ import annotations

from penstock.errors.base import DocumentInvalid, PenstockError


class DocumentUnreadable(PenstockError, code="PS-400-DOCUMENT"):
    """The document cannot be read: {why}."""

    hint = "Check the file's syntax at the place named; JSON and YAML are read as UTF-8."


class DocumentTooLarge(PenstockError, code="PS-413-DOCUMENT"):
    """The document has {size} bytes; at most {limit} are read."""

    hint = "Split it into sub-diagrams, or move large texts into files."


class DocumentTooLong(PenstockError, code="PS-413-NODES"):
    """The document has {count} nodes; at most {limit} are looked at."""

    hint = "Split it into sub-diagrams or sub-workflows."


class TrialTooLarge(PenstockError, code="PS-413-TRIAL"):
    """{rows} rows for {conditions} conditions are too many for one trial: at most {most_rows} rows, {most} in all."""

    hint = "Try fewer rows, or a smaller pack; a simulation judges thousands of past inputs."


class TrialTooLong(PenstockError, code="PS-503-TRIAL"):
    """The trial was ended after {seconds} s."""

    hint = "Try fewer rows, or look for a condition that goes through the whole data for every row."


class ThingInvalid(DocumentInvalid, code="PS-422-REGISTRY"):
    """{what} has {count} error(s); the first: {first}."""

    hint = "Every finding has its own hint; nothing was stored."


class LanguageUnknown(PenstockError, code="PS-422-LANGUAGE"):
    """No language reads this document; known are {known}."""

    hint = (
        "A diagram has `nodes` and `connections`; a decision workflow `id`, `version`, `nodes` and `edges`; a process "
        "`process_definition_id` and `activities`, or it is BPMN 2.0."
    )
