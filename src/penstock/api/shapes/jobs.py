"""Jobs at the edge (P-X.28)."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.time_fields import Moment
from penstock.app.jobs import jobs as J


class JobsAsked(RequestBody):
    type: str | None = Field(None, min_length=1, max_length=J.LONGEST_NAME, description="Or several in `types`.")
    types: list[str] = Field([], max_length=J.MOST_TYPES, description="Jobs of the first ones are taken first.")
    worker: str = Field(min_length=1, max_length=J.LONGEST_NAME, description="The worker's own name.")
    max_jobs: int = Field(1, ge=1, le=J.MOST_AT_ONCE)
    lock_ms: int = Field(60_000, ge=1, le=J.LONGEST_LOCK_MS, description="How long nobody else gets them.")
    wait_ms: int = Field(0, ge=0, le=J.LONGEST_WAIT_MS, description="How long to wait for a job where there is none.")
    variables: list[str] | None = Field(None, max_length=J.MOST_NAMES, description="Only these; all by default.")


class ActivatedJobOut(ResponseBody, of=J.ActivatedJob):
    locked_until: Moment


class JobsOut(ResponseBody):
    jobs: list[ActivatedJobOut]


class JobOut(ResponseBody, of=J.JobState):
    pass


class JobPage(ResponseBody):
    items: list[JobOut]
    next: str | None


class SeenWorkerOut(ResponseBody, of=J.SeenWorker):
    pass


class JobTypeOut(ResponseBody, of=J.JobType):
    """How the jobs of a type stand, and who has asked for them; `waits`: somebody waits for one right now."""


class JobTypesOut(ResponseBody):
    items: list[JobTypeOut]


class WithToken(RequestBody):
    lock_token: str = Field(min_length=1, max_length=200, description="As the job was given with it.")


class ExtendAsked(WithToken):
    lock_ms: int = Field(ge=1, le=J.LONGEST_LOCK_MS, description="How long it is locked from now on.")


class Extended(ResponseBody):
    id: str
    locked_until: Moment


class CompleteAsked(WithToken):
    variables: dict[str, Any] = Field({}, description="The result.")


class FailAsked(WithToken):
    message: str = Field("", max_length=J.LONGEST_MESSAGE)
    retries: int | None = Field(
        None, ge=0, le=1000, description="Those that are left now; one less than before by default."
    )
    backoff_ms: int = Field(0, ge=0, le=J.LONGEST_DELAY_MS, description="Before somebody may try it again.")
    details: Any = None


class ErrorAsked(WithToken):
    code: str = Field(min_length=1, max_length=J.LONGEST_NAME, description="As the error event has it.")
    message: str = Field("", max_length=J.LONGEST_MESSAGE)
    variables: dict[str, Any] = Field({}, description="What the path that catches it is given.")
