"""What cannot be done with a process, under the codes that the process language has for it (P-X.1)."""

from __future__ import annotations

from penstock.errors.base import DocumentInvalid, PenstockError, Refused


class ProcessInvalid(DocumentInvalid):
    """The process has {count} error(s); the first: {first}."""

    code, http = "PROC-400-SCHEMA", 400


class ProcessUnreadable(PenstockError):
    """{why}"""

    code, http, hint = "PROC-400-SCHEMA", 400, "Nothing was stored."


class ProcessScope(PenstockError):
    """{why}."""

    code, http = "PROC-403-SCOPE", 403
    hint = "Everybody works in their own tenant, and under their own name."


class ProcessNotFound(PenstockError):
    """There is no {what} «{name}»."""

    code, http = "PROC-404", 404
    hint = "What there is: `penstock process ls` and `items ls`; GET /api/v1/processes/definitions and /workitems."


class ProcessState(Refused):
    """{why}"""

    code, http, hint = "PROC-409-STATE", 409, "Look at how it stands now."


class ProcessChanged(Refused):
    """{what} has changed: its version is {version}, not {given}."""

    code, http = "PROC-409-VERSION", 409
    hint = "Look at it again, and decide on what it is now."


class ProcessBranch(Refused):
    """No way leads on from «{node}» with this result; nothing was changed."""

    code, http = "PROC-422-BRANCH", 422
    hint = "Give a result that one of the conditions accepts, or draw a default branch."
