"""What cannot be done with releases, schedules, dead letters, breakers and checkpoints."""

from __future__ import annotations

from typing import Any

from penstock.errors.base import PenstockError, Refused


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


class FourEyes(PenstockError):
    """{user} may not approve {what}: somebody else must, who has not asked for it."""

    code, http = "PS-403-FOUR-EYES", 403
    hint = "Ask another person who may approve."


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
