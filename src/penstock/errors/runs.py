"""What cannot be done with a run, a node of it, or its work items."""

from __future__ import annotations

from typing import Any

from penstock.errors.base import PenstockError, Refused


class StatusConflict(Refused, code="PS-409-STATUS"):
    """{what} is {status}; {verb} is allowed only from {allowed}."""


class IllegalTransition(StatusConflict, code="ILLEGAL_TRANSITION"):  # the word of whoever writes decisions (C-80)
    """{what} is {status}; {verb} is allowed only from {allowed}."""

    hint = "`penstock show RUN` says how the run stands; nothing was changed."


class NotWaiting(StatusConflict):
    """{why}."""

    hint = "`penstock show RUN` says what the run waits for."


class ItemDecided(StatusConflict):
    """«{item}» is closed already: {how} at {at}."""

    hint = "`penstock show RUN` shows what came of it."


class NothingToUndo(Refused, code="PS-409-UNDO"):
    """Run {run} is left as it is: {why}."""

    hint = "What can be undone: nodes that succeeded, with a COMPENSATION whose trigger has «manual»."


class NoBranch(Refused, code="NO_BRANCH"):
    """No branch of «{node}» can be taken with this answer."""

    hint = "Give an answer that one of the branches accepts, or draw a default branch."


class TooEarly(Refused, code="PS-409-EARLY"):
    """The timer is due at {due}, not before."""

    hint = "Wait until then: a host that drives the store rings it by itself."


class RunNotFound(PenstockError, code="PS-404-RUN"):
    """There is no run «{run}» in this store."""

    hint = "`penstock ps` lists the runs; a unique beginning of the id is enough."


class RunAmbiguous(PenstockError, code="PS-409-AMBIGUOUS"):
    """«{run}» is the beginning of {count} run ids."""

    hint = "Give more letters of the id."


class RunParked(PenstockError, code="PS-500-PARKED"):
    """Run {run} tripped over a bug of the engine and was left as it was: {why}."""

    hint = "Nothing of it is lost. Please report this; a newer version may take it up again."


class TooManyRuns(PenstockError, code="PS-429-RUNS"):
    """The tenant has {limit} runs that have not ended, and that is the most."""

    hint = "Wait until some have ended, or end some: `penstock ps` lists them. The limit is `limits.open_runs`."


class TooManyWorkItems(PenstockError, code="PS-429-WORK"):
    """The tenant has {limit} work items that nobody has done yet, and that is the most."""

    hint = "Let people do or cancel some first. The limit is `limits.open_work_items`."


class StartsLimit(PenstockError, code="PS-429-STARTS"):
    """Run {run} has started {limit} runs in a minute, and that is the most."""

    hint = "Try again in a while. The limit is `limits.starts_per_minute`."


class FactsLimit(Refused, code="PS-409-FACTS"):
    """The run has made {facts} facts, and {most} are the most: it stays paused."""

    hint = "Raise `limits.facts_per_run` in the settings, start the server again and resume the run; or cancel it."


class NodeNotFound(PenstockError, code="PS-404-NODE"):
    """There is no node «{node}»{which} in this run."""

    hint = "`penstock show RUN` lists the run's nodes and those that wait."

    def __init__(self, what: str = "", **facts: Any) -> None:
        super().__init__(which=f" {what}" if what else "", **facts)


class InputInvalid(PenstockError, code="INPUT_INVALID"):
    """The input does not fit the document: {why}."""

    hint = "The document's input_schema says what a run is started with."


class AnswerInvalid(PenstockError, code="OUTPUT_SCHEMA"):
    """The decision does not fit the schema of «{item}»: {why}."""

    hint = "Nothing was changed. The node's output.schema says what a decision has; a reason is given with --comment."


class ResultInvalid(PenstockError, code="OUTPUT_SCHEMA"):
    """The result does not fit the form of «{item}»: {why}."""

    hint = "Nothing was changed. The form of the activity says what a result has."


class ItemNotFound(PenstockError, code="PS-404-ITEM"):
    """Nothing that waits for a person is called «{item}»."""

    hint = "`penstock inbox` lists what waits, with its ids."


class ItemAmbiguous(PenstockError, code="PS-409-ITEM"):
    """«{item}» means several: {known}."""

    hint = "Write the whole id: RUN/NODE."


class ItemClaimed(PenstockError, code="PS-409-CLAIMED"):
    """{by} is on «{item}» already."""

    hint = "Leave it to them, or ask them to give it back."


class ApproverDenied(PenstockError, code="APPROVER_DENIED"):
    """{user} may not decide «{item}»."""

    hint = "`penstock inbox` shows who may."


class StarterDenied(PenstockError, code="PS-403-STARTER"):
    """{user} may not start «{name}»: its document names others."""

    hint = "Let one of those do it whom the document names; on the command line with --by."


class TargetNotFound(PenstockError, code="PS-422-TARGET"):
    """There is nobody to pass it on to: «{target}» is not known."""

    hint = "Write user:ID, role:NAME or group:NAME of somebody who is registered."


class KeyConflict(PenstockError, code="PS-409-KEY"):
    """The key «{key}» already belongs to run {run}, which was started from another document or input."""

    hint = "Use another key, or start with the same document and input."


class MigrationBlocked(Refused, code="PS-409-MIGRATE"):
    """The run cannot move to the new version: {why}."""

    hint = "Let the run end where it is, or keep in the new version what it still needs."
