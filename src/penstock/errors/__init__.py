"""Every exception of the house: one class, one code, one message.

Three things are never mixed. A *failure* is a value in the journal (see `kernel/failure.py`). A `PenstockError` says
that the caller asked something impossible: its docstring is the message template, so message, documentation and class
cannot differ. A bug is an `assert` with a sentence.
"""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.errors.base import DocumentInvalid as DocumentInvalid
from penstock.errors.base import Finding as Finding
from penstock.errors.base import PenstockError as PenstockError
from penstock.errors.base import Place as Place
from penstock.errors.base import Refused as Refused
from penstock.errors.process import ProcessBranch as ProcessBranch
from penstock.errors.process import ProcessChanged as ProcessChanged
from penstock.errors.process import ProcessInvalid as ProcessInvalid
from penstock.errors.process import ProcessNotFound as ProcessNotFound
from penstock.errors.process import ProcessScope as ProcessScope
from penstock.errors.process import ProcessState as ProcessState
from penstock.errors.process import ProcessUnreadable as ProcessUnreadable

# ---- documents -------------------------------------------------------------------------------------------------------


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


# ---- expressions -----------------------------------------------------------------------------------------------------


class ExprSyntaxError(PenstockError):
    """{why}, at character {position} of «{source}»."""

    code, http = "EXPR_SYNTAX", 422
    hint = "Correct it at the character named: texts stand in quotes, members follow a dot, functions are fn.name(…)."

    def pointer(self) -> str:
        """The line that cannot be read, and under it a caret at the place."""
        return str(self.facts.get("picture", ""))


class ExprError(PenstockError):
    """{why}."""

    code, http = "EXPR_TYPE", 422
    category: ClassVar[str] = "validation"
    hint = "Look at what the names stood for: `penstock show RUN` has the value that every node gave out."


class ExprTypeError(ExprError):
    """{why}."""

    code = "EXPR_TYPE"


class ExprDivisionByZero(ExprError):
    """Division by zero."""

    code = "EXPR_DIV_ZERO"
    hint = "Guard it, such as fn.if(n == 0, 0, total / n)."


class ExprLimit(ExprError):
    """The expression went over a limit: {why}."""

    code = "EXPR_LIMIT"
    hint = "Make it smaller: split it over several nodes, or do the work in a code_job."


class ExprUnknownRoot(ExprError):
    """«{name}» is not a known name here."""

    code = "unresolved_reference"
    hint = "A connection brings a name: its label, or where it comes from."


class ExprSecretMissing(ExprError):
    """There is no secret «{name}»."""

    code = "SECRET_NOT_FOUND"
    category = "authorization"
    hint = "Give the secret to the tenant under this name, or correct the name."


# ---- runs ------------------------------------------------------------------------------------------------------------


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


class TenantConflict(PenstockError):
    """«{name}» belongs to the tenant «{named}» (/tenant_id), and this is «{tenant}»."""

    code, http = "PS-403-TENANT", 403
    hint = "Leave `tenant_id` out: the document is then for whoever releases it. Or release it for that tenant."


class ItemNotFound(PenstockError):
    """Nothing that waits for a person is called «{item}»."""

    code, http = "PS-404-ITEM", 404
    hint = "`penstock inbox` lists what waits, with its ids."


class ItemAmbiguous(PenstockError):
    """«{item}» means several: {known}."""

    code, http = "PS-409-ITEM", 409
    hint = "Write the whole id: RUN/NODE."


class ApproverDenied(PenstockError):
    """{user} may not decide «{item}»."""

    code, http = "APPROVER_DENIED", 403
    hint = "`penstock inbox` shows who may."


class KeyConflict(PenstockError):
    """The key «{key}» already belongs to run {run}, which was started from another document or input."""

    code, http = "PS-409-KEY", 409
    hint = "Use another key, or start with the same document and input."


class ReleaseNotFound(PenstockError):
    """There is no version{which} of «{name}»."""

    code, http = "PS-404-RELEASE", 404
    hint = "`penstock releases ls` lists what was submitted."

    def __init__(self, version: int | None = None, **facts: Any) -> None:
        super().__init__(which=f" {version}" if version is not None else "", **facts)


class VersionConflict(PenstockError):
    """Version {version} of «{name}» cannot be submitted: {why}."""

    code, http = "PS-409-VERSION", 409
    hint = "Raise the version in the document, or leave it out: then it gets the next one."


class PathTaken(PenstockError):
    """{method} {path} belongs to «{name}» already."""

    code, http = "PS-409-PATH", 409
    hint = "Write another `path` in the trigger, or deprecate the other workflow first."


class ScheduleNotFound(PenstockError):
    """There is no schedule «{name}»."""

    code, http = "PS-404-SCHEDULE", 404
    hint = "`penstock schedules ls` lists them; activating a release with a schedule trigger makes one."


class LetterNotFound(PenstockError):
    """There is no dead letter of run «{run}»."""

    code, http = "PS-404-LETTER", 404
    hint = "`penstock dlq ls` lists the dead letters."


class ReplayRefused(Refused):
    """Run {run} is not replayed: {why}."""

    code, http = "PS-409-REPLAY", 409
    hint = "policies.dlq.replay of the document says how often a dead letter may be replayed."


class BreakerNotFound(PenstockError):
    """There is no breaker «{name}»."""

    code, http = "PS-404-BREAKER", 404
    hint = "A breaker is called WORKFLOW/NODE, and is there from the first call on."


class CheckpointNotFound(PenstockError):
    """There is no checkpoint {number} of run «{run}» that can be read."""

    code, http = "PS-404-CHECKPOINT", 404
    hint = "`GET /api/v1/runs/RUN/checkpoints` lists them; what was encrypted is read with its key only."


class CheckpointKeyMissing(PenstockError):
    """«{name}» wants its checkpoints encrypted, and there is no secret «checkpoint_key»."""

    code, http = "PS-422-CHECKPOINT-KEY", 422
    hint = 'Set it (PENSTOCK_SECRET_checkpoint_key), or write `"encryption": false` in policies.checkpoint.storage.'


class CheckpointPlaceMissing(PenstockError):
    """«{name}» wants its checkpoints in {place}, and nobody has said where that is."""

    code, http = "PS-422-CHECKPOINT-PLACE", 422
    hint = "Give the setting checkpoint.s3 or checkpoint.redis a URL, or choose the storage `database`."


class MigrationBlocked(Refused):
    """The run cannot move to the new version: {why}."""

    code, http = "PS-409-MIGRATE", 409
    hint = "Let the run end where it is, or keep in the new version what it still needs."


# ---- who calls -------------------------------------------------------------------------------------------------------


class KeyMissing(PenstockError):
    """This needs to know who calls."""

    code, http = "PS-401-WHO", 401
    hint = "Send the header «Authorization: Bearer ps_…» with a key, or sign in to the console."


class KeyInvalid(PenstockError):
    """The key is not accepted: {why}."""

    code, http = "PS-401-KEY", 401
    hint = "Give a key as it was shown when it was made; an administrator can make another one."


class KeyExpired(KeyInvalid):
    """The key «{id}» has expired."""

    code = "PS-401-KEY-EXPIRED"
    hint = "Ask an administrator for a new one."


class KeyRevoked(KeyInvalid):
    """The key «{id}» was revoked."""

    code = "PS-401-KEY-REVOKED"
    hint = "Ask an administrator for a new one."


class TokenInvalid(KeyInvalid):
    """The token is not accepted: {why}."""

    code = "PS-401-TOKEN"
    hint = "Sign in again; issuer, audience and keys are those of the settings [jwt]."


class TooMany(PenstockError):
    """{what} has used up its {rate} requests per minute."""

    code, http = "PS-429-RATE", 429
    hint = "Wait as long as Retry-After says, or ask for a higher rate."


class StrangerTooMany(TooMany):
    """More than {rate} calls in a minute from this address were not let in."""

    hint = "Wait as long as Retry-After says, and call with a key that is good."


class HookTooMany(TooMany):
    """The webhook of «{name}» takes {requests} requests in {seconds} s, and they are used up."""

    hint = "Wait as long as Retry-After says."


class NotAllowed(PenstockError):
    """{user} may not do this: it needs the permission «{permission}»."""

    code, http = "PS-403-PERMISSION", 403
    hint = "`GET /api/v1/me` lists what you may do; an administrator can give you a role that may."


class NotOurPage(PenstockError):
    """A change with a session's cookie comes from the console alone."""

    code, http = "PS-403-PAGE", 403
    hint = "Programs send a key: «Authorization: Bearer ps_…». The console sends the header «X-Penstock: 1»."


class RouteMissing(PenstockError):
    """There is nothing here."""

    code, http = "PS-404-ROUTE", 404
    hint = "The page /api/docs lists what there is."


class QueryUnknown(PenstockError):
    """«{name}» is not asked for here."""

    code, http = "PS-400-QUERY", 400
    hint = "The page /api/docs lists what each route takes."


class BodyUnreadable(PenstockError):
    """The body cannot be read: {why}."""

    code, http = "PS-400-JSON", 400
    hint = "Send one JSON value."


class MediaWrong(PenstockError):
    """The body is «{given}», and JSON is taken here."""

    code, http = "PS-415-MEDIA", 415
    hint = "Send «Content-Type: application/json»."


class SignatureInvalid(KeyInvalid):
    """The signature is not good: {why}."""

    code = "PS-401-SIGNATURE"
    hint = "Sign ID.TIMESTAMP.BODY with the secret by HMAC-SHA256; the clocks must agree within five minutes."


class TenantUnknown(PenstockError):
    """There is no tenant «{tenant}» here, or it is not active."""

    code, http = "PS-403-TENANT", 403
    hint = "The server's administrator makes tenants: POST /api/v1/tenants."


class TenantExists(PenstockError):
    """There is a tenant «{tenant}» already."""

    code, http = "PS-409-TENANT", 409
    hint = "`GET /api/v1/tenants` lists them."


class NotYours(PenstockError):
    """{user} may not give what they do not have: «{permission}»."""

    code, http = "PS-403-GIVE", 403
    hint = "Nobody can give rights that go beyond their own; ask an administrator."


class DraftNotFound(PenstockError):
    """There is no draft «{key}»."""

    code, http = "PS-404-DRAFT", 404
    hint = "`GET /api/v1/drafts` lists yours; a draft is gone when it was sent."


class ThingNotFound(PenstockError):
    """There is no {type} «{id}»."""

    code, http = "PS-404-THING", 404
    hint = "`penstock registry ls` lists what is registered."


class SampleNotFound(PenstockError):
    """Nobody has asked the laboratory for a sample «{id}»."""

    code, http = "PS-404-SAMPLE", 404
    hint = "The template lab_sample_request asks for one, and its answer has the id."


class StandInAbsent(PenstockError):
    """There is no {what} here: this store has no stand-ins for systems outside."""

    code, http = "PS-404-STAND-IN", 404
    hint = "Register the connection `default_api` with the base_url of the real one; stand-ins are for the dev profile."


class FourEyes(PenstockError):
    """{user} may not approve {what}: somebody else must, who has not asked for it."""

    code, http = "PS-403-FOUR-EYES", 403
    hint = "Ask another person who may approve."


class KeyNotFound(PenstockError):
    """There is no key «{id}»."""

    code, http = "PS-404-KEY", 404
    hint = "The list of keys has their ids; a key is ps_ID_SECRET."


class UserNotFound(PenstockError):
    """There is no user «{user}»."""

    code, http = "PS-404-USER", 404
    hint = "`penstock registry ls user` lists them."


class TargetNotFound(PenstockError):
    """There is nobody to pass it on to: «{target}» is not known."""

    code, http = "PS-422-TARGET", 422
    hint = "Write user:ID, role:NAME or group:NAME of somebody who is registered."


class ItemClaimed(PenstockError):
    """{by} is on «{item}» already."""

    code, http = "PS-409-CLAIMED", 409
    hint = "Leave it to them, or ask them to give it back."


class IdempotencyConflict(PenstockError):
    """The idempotency key «{key}» belongs to another request."""

    code, http = "PS-409-IDEMPOTENCY", 409
    hint = "Use a key once: another request, or another caller, needs another key."


class RequestRunning(PenstockError):
    """The request with the idempotency key «{key}» is still being worked on."""

    code, http = "PS-409-IN-FLIGHT", 409
    hint = "Send the same request again in a moment; it is done once."


class ChangedMeanwhile(PenstockError):
    """{what} was changed meanwhile; it is {now} now."""

    code, http = "PS-412-CHANGED", 412
    hint = "Look at it as it is now, and do it again."


# ---- store and host --------------------------------------------------------------------------------------------------


class StoreError(PenstockError):
    """The store failed: {why}."""

    code, http, exit_code = "PS-503-STORE", 503, 2
    passing: ClassVar[bool] = False  # may it pass by itself? Then the engine waits, and goes on
    hint = "Keep the file as it is and restore a copy, or name another one with --store."


class StoreMissing(StoreError):
    """There is no store at {path}."""

    code, http = "PS-404-STORE", 404
    hint = "`penstock run FILE` makes one; another one is named with --store."


class StoreNewer(StoreError):
    """The store has schema version {found}; this Penstock knows versions up to {known}."""

    code, http = "PS-409-STORE-NEWER", 409
    hint = "Upgrade Penstock, or open another store with --store."


class StoreNotOurs(StoreError):
    """«{path}» is not a Penstock store."""

    code, http = "PS-409-STORE-FOREIGN", 409
    hint = "Name another file with --store."


class StoreBusy(StoreError):
    """Another Penstock process{who} drives this store."""

    code, http, passing = "PS-409-STORE-BUSY", 409, True
    hint = "Stop it, or give it time to finish; reading commands work meanwhile."

    def __init__(self, pid: str = "", **facts: Any) -> None:
        super().__init__(who=f" (pid {pid})" if pid else "", **facts)


class NotTaken(StoreBusy):
    """The process{who} that drives this store has not taken what was left for it in {seconds} s."""

    hint = "It is kept, and done by whoever drives the store next: stop that process, then `penstock work`."


class StoreFull(StoreError):
    """The disk is full; nothing of this turn was written."""

    code, http, passing = "PS-507-STORE-FULL", 507, True
    hint = "Free some space and run the same command again: it goes on where it was."


class StoreAway(StoreError):
    """The store cannot be reached: {why}."""

    code, passing = "PS-503-STORE-AWAY", True
    hint = "Is its disk there, and may it be written to? Nothing that was acknowledged is lost."


class StoreDenied(StoreError):
    """The server does not open the store: {why}."""

    code, http = "PS-403-STORE", 403
    hint = "Correct user, password and database; the password may stand in PGPASSWORD or ~/.pgpass."


class Fenced(StoreError):
    """Another host owns this store now; nothing was written."""

    code, http = "PS-409-FENCED", 409
    hint = "Nothing is lost: drive the store from one host at a time."


class ExecutorUnknown(PenstockError):
    """No executor is called «{name}»."""

    code, http = "PS-422-EXECUTOR", 422
    hint = "Correct the name, or give the executor to the host that runs this."


class ExtraMissing(PenstockError):
    """This needs the extra «{extra}»: pip install 'penstock[{extra}]'."""

    code, http = "PS-501-EXTRA", 501
    hint = "Install it with that command and start again."


class SecretSealed(PenstockError):
    """The secret «{name}» cannot be opened: {why}."""

    code, http = "PS-500-SECRET", 500
    hint = "Put the file …secret-key back beside the store, or give the secret anew."


class BadInput(PenstockError):
    """{what} cannot be read: {why}."""

    code, http = "PS-400-INPUT", 400
    hint = "Correct what is named: a path counts from the folder you are in, a value is JSON."
