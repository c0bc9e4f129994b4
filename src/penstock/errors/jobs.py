"""What cannot be done with a job: it is not there, another has it, or it is over."""

from __future__ import annotations

from penstock.errors.base import PenstockError, Refused


class JobNotFound(PenstockError, code="PS-404-JOB"):
    """There is no job «{job}» here."""

    hint = "`penstock jobs ls` lists the jobs; the answer of one that is done is kept for a day."


class JobLockLost(Refused, code="PS-409-JOB-LOCK"):
    """The lock token is not that of job «{job}» any more: {holder}."""

    hint = "Leave what was done as it is and ask for jobs again: whoever has the job now answers for it."


class JobOver(Refused, code="PS-409-JOB-OVER"):
    """Job «{job}» is over: {how}."""

    hint = "Nothing was changed. `penstock jobs show JOB` says how it ended."
