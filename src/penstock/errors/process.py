"""What cannot be done with a process, under the codes that the process language has for it (P-X.1)."""

from __future__ import annotations

from penstock.errors.base import DocumentInvalid, PenstockError, Refused


class ProcessInvalid(DocumentInvalid, code="PROC-400-SCHEMA"):
    """The process has {count} error(s); the first: {first}."""


class ProcessUnreadable(PenstockError, code="PROC-400-SCHEMA"):
    """{why}"""

    hint = "Nothing was stored."


class ProcessScope(PenstockError, code="PROC-403-SCOPE"):
    """{why}."""

    hint = "Everybody works in their own tenant, and under their own name."


class ProcessNotFound(PenstockError, code="PROC-404"):
    """There is no {what} «{name}»."""

    hint = "What there is: `penstock process ls` and `items ls`; GET /api/v1/processes/definitions and /workitems."


class ProcessState(Refused, code="PROC-409-STATE"):
    """{why}"""

    hint = "Look at how it stands now."


class ProcessChanged(Refused, code="PROC-409-VERSION"):
    """{what} has changed: its version is {version}, not {given}."""

    hint = "Look at it again, and decide on what it is now."


class ModelOutdated(Refused, code="PROC-409-BASE"):
    """«{model}» was mined of version {base} of «{name}», and version {version} says otherwise by now."""

    hint = "Mine it again: `penstock mine ID --discover`; nothing was approved, and nothing is lost."


class DraftChanged(ProcessChanged, code="PROC-409-DRAFT"):
    """The draft «{draft}» has changed: its number is {number}, not {given}."""

    hint = "Look at it again: somebody else has answered, or brought another file."
    told = ("number",)


class DraftUnfinished(ProcessInvalid, code="PROC-422-DRAFT"):
    """{count} to-do(s) of the draft «{draft}» are open; the first: {first}."""

    hint = "Answer them, or take what is proposed: `penstock process draft ID` lists them."


class ProcessBranch(Refused, code="PROC-422-BRANCH"):
    """No way leads on from «{node}» with this result; nothing was changed."""

    hint = "Give a result that one of the conditions accepts, or draw a default branch."


class EventLogsTooMany(PenstockError, code="PROC-429-LOGS"):
    """The tenant has {limit} event logs, and that is the most."""

    hint = "Remove one: `penstock mine logs --remove ID`. The limit is `limits.event_logs`."
