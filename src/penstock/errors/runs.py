"""What cannot be done with a run, a node of it, or its work items."""

from __future__ import annotations

from typing import Any

from penstock.errors.base import PenstockError, Refused


class StatusConflict(Refused):
    """{what} is {status}; {verb} is allowed only from {allowed}."""

    code, http = "PS-409-STATUS", 409


class IllegalTransition(StatusConflict):
    """{what} is {status}; {verb} is allowed only from {allowed}."""

    code = "ILLEGAL_TRANSITION"  # the word of whoever writes decisions (C-80)
    hint = "`penstock show RUN` says how the run stands; nothing was changed."


class NotWaiting(StatusConflict):
    """{why}."""

    hint = "`penstock show RUN` says what the run waits for."


class ItemDecided(StatusConflict):
    """«{item}» is closed already: {how} at {at}."""

    hint = "`penstock show RUN` shows what came of it."


class NothingToUndo(Refused):
    """Run {run} is left as it is: {why}."""

    code, http = "PS-409-UNDO", 409
    hint = "What can be undone: nodes that succeeded, with a COMPENSATION whose trigger has «manual»."


class NoBranch(Refused):
    """No branch of «{node}» can be taken with this answer."""

    code, http = "NO_BRANCH", 422
    hint = "Give an answer that one of the branches accepts, or draw a default branch."


class TooEarly(Refused):
    """The timer is due at {due}, not before."""

    code, http = "PS-409-EARLY", 409
    hint = "Wait until then: a host that drives the store rings it by itself."


class RunNotFound(PenstockError):
    """There is no run «{run}» in this store."""

    code, http = "PS-404-RUN", 404
    hint = "`penstock ps` lists the runs; a unique beginning of the id is enough."


class RunAmbiguous(PenstockError):
    """«{run}» is the beginning of {count} run ids."""

    code, http = "PS-409-AMBIGUOUS", 409
    hint = "Give more letters of the id."


class RunParked(PenstockError):
    """Run {run} tripped over a bug of the engine and was left as it was: {why}."""

    code, http = "PS-500-PARKED", 500
    hint = "Nothing of it is lost. Please report this; a newer version may take it up again."


class NodeNotFound(PenstockError):
    """There is no node «{node}»{which} in this run."""

    code, http = "PS-404-NODE", 404
    hint = "`penstock show RUN` lists the run's nodes and those that wait."

    def __init__(self, what: str = "", **facts: Any) -> None:
        super().__init__(which=f" {what}" if what else "", **facts)


class InputInvalid(PenstockError):
    """The input does not fit the document: {why}."""

    code, http = "INPUT_INVALID", 422
    hint = "The document's input_schema says what a run is started with."


class AnswerInvalid(PenstockError):
    """The decision does not fit the schema of «{item}»: {why}."""

    code, http = "OUTPUT_SCHEMA", 422
    hint = "Nothing was changed. The node's output.schema says what a decision has; a reason is given with --comment."


class ResultInvalid(PenstockError):
    """The result does not fit the form of «{item}»: {why}."""

    code, http = "OUTPUT_SCHEMA", 422
    hint = "Nothing was changed. The form of the activity says what a result has."


class ItemNotFound(PenstockError):
    """Nothing that waits for a person is called «{item}»."""

    code, http = "PS-404-ITEM", 404
    hint = "`penstock inbox` lists what waits, with its ids."


class ItemAmbiguous(PenstockError):
    """«{item}» means several: {known}."""

    code, http = "PS-409-ITEM", 409
    hint = "Write the whole id: RUN/NODE."


class ItemClaimed(PenstockError):
    """{by} is on «{item}» already."""

    code, http = "PS-409-CLAIMED", 409
    hint = "Leave it to them, or ask them to give it back."


class ApproverDenied(PenstockError):
    """{user} may not decide «{item}»."""

    code, http = "APPROVER_DENIED", 403
    hint = "`penstock inbox` shows who may."


class TargetNotFound(PenstockError):
    """There is nobody to pass it on to: «{target}» is not known."""

    code, http = "PS-422-TARGET", 422
    hint = "Write user:ID, role:NAME or group:NAME of somebody who is registered."


class KeyConflict(PenstockError):
    """The key «{key}» already belongs to run {run}, which was started from another document or input."""

    code, http = "PS-409-KEY", 409
    hint = "Use another key, or start with the same document and input."


class MigrationBlocked(Refused):
    """The run cannot move to the new version: {why}."""

    code, http = "PS-409-MIGRATE", 409
    hint = "Let the run end where it is, or keep in the new version what it still needs."
