"""What cannot be done with releases, schedules, dead letters, breakers and checkpoints."""

from __future__ import annotations

from typing import Any

from penstock.errors.base import PenstockError, Refused


class ReleaseNotFound(PenstockError, code="PS-404-RELEASE"):
    """There is no version{which} of «{name}»."""

    hint = "`penstock releases ls` lists what was submitted."

    def __init__(self, version: int | None = None, **facts: Any) -> None:
        super().__init__(which=f" {version}" if version is not None else "", **facts)


class VersionConflict(PenstockError, code="PS-409-VERSION"):
    """Version {version} of «{name}» cannot be submitted: {why}."""

    hint = "Raise the version in the document, or leave it out: then it gets the next one."


class FourEyes(PenstockError, code="PS-403-FOUR-EYES"):
    """{user} may not approve {what}: {why}."""

    hint = "Ask another person who may approve."


class AuditKeyUnreadable(PenstockError, code="PS-503-AUDIT-KEY"):
    """The key of the audit cannot be used: {file}: {why}."""

    hint = "Put the file back from a copy; without it nobody can tell whether the audit was changed."


class UserTaken(PenstockError, code="PS-409-USER"):
    """«{user}» is another spelling of «{known}», who is registered already."""

    hint = "Names are one under every spelling: change the one who is there, or take another name."


class PathTaken(PenstockError, code="PS-409-PATH"):
    """{method} {path} belongs to «{name}» already."""

    hint = "Write another `path` in the trigger, or deprecate the other workflow first."


class ScheduleNotFound(PenstockError, code="PS-404-SCHEDULE"):
    """There is no schedule «{name}»."""

    hint = "`penstock schedules ls` lists them; activating a release with a schedule trigger makes one."


class LetterNotFound(PenstockError, code="PS-404-LETTER"):
    """There is no dead letter of run «{run}»."""

    hint = "`penstock dlq ls` lists the dead letters."


class SimulationNotFound(PenstockError, code="PS-404-SIMULATION"):
    """There is no simulation «{id}»."""

    hint = "`penstock simulations ls` lists them."


class JudgmentNotFound(PenstockError, code="PS-404-JUDGMENT"):
    """There is no judgment «{judgment}»."""

    hint = "A judgment of a run is RUN/NUMBER, an imported one has its own id; `penstock judgments ls` lists them."


class ReplayRefused(Refused, code="PS-409-REPLAY"):
    """Run {run} is not replayed: {why}."""

    hint = "policies.dlq.replay of the document says how often a dead letter may be replayed."


class BreakerNotFound(PenstockError, code="PS-404-BREAKER"):
    """There is no breaker «{name}»."""

    hint = "A breaker is called WORKFLOW/NODE, and is there from the first call on."


class CheckpointNotFound(PenstockError, code="PS-404-CHECKPOINT"):
    """There is no checkpoint {number} of run «{run}» that can be read."""

    hint = "`GET /api/v1/runs/RUN/checkpoints` lists them; what was encrypted is read with its key only."


class CheckpointKeyMissing(PenstockError, code="PS-422-CHECKPOINT-KEY"):
    """«{name}» wants its checkpoints encrypted, and there is no secret «checkpoint_key»."""

    hint = 'Set it (PENSTOCK_SECRET_checkpoint_key), or write `"encryption": false` in policies.checkpoint.storage.'


class CheckpointPlaceMissing(PenstockError, code="PS-422-CHECKPOINT-PLACE"):
    """«{name}» wants its checkpoints in {place}, and nobody has said where that is."""

    hint = "Give the setting checkpoint.s3 or checkpoint.redis a URL, or choose the storage `database`."


class DraftNotFound(PenstockError, code="PS-404-DRAFT"):
    """There is no draft «{key}»."""

    hint = "`GET /api/v1/drafts` lists yours; a draft is gone when it was sent."


class ThingNotFound(PenstockError, code="PS-404-THING"):
    """There is no {type} «{id}»."""

    hint = "`penstock registry ls` lists what is registered."


class SampleNotFound(PenstockError, code="PS-404-SAMPLE"):
    """Nobody has asked the laboratory for a sample «{id}»."""

    hint = "The template lab_sample_request asks for one, and its answer has the id."


class StandInAbsent(PenstockError, code="PS-404-STAND-IN"):
    """There is no {what} here: this store has no stand-ins for systems outside."""

    hint = "Register the connection `default_api` with the base_url of the real one; stand-ins are for the dev profile."
