"""What a firing waits for that a worker outside does (P-X.28): somebody who serves its type, or the one who has it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from penstock.app.runs.waiting.wait_context import Followup, WaitContext, WaitReason
from penstock.kernel.state import Firing
from penstock.net.author import author
from penstock.net.compiled import CNode


def job_reason(context: WaitContext, firing: Firing, node: CNode) -> Iterator[WaitReason]:
    """`no_worker` where nobody has asked for such jobs for a while; `since` somebody has, or the job was made."""
    jobs = context.environment.jobs
    job = jobs.of(context.no, firing.no) if jobs is not None else None
    if jobs is None or job is None or job.state == "FAILED":
        return
    plain = WaitReason(
        rank=9, kind="job", node=author(node), label=context.label(node), what=job.type, since=job.created_at,
        attempt=job.fence or None, message=job.message,
    )  # fmt: skip
    if job.state == "LOCKED" and job.due_at is not None and job.due_at > jobs.now:
        yield replace(plain, who=[job.worker] if job.worker else [], until=job.due_at)
    elif job.state == "DELAYED":
        yield replace(
            plain, rank=5, kind="backoff", until=job.due_at, then=Followup("retry"), code="JOB_FAILED"
        )  # fmt: skip
    elif not jobs.served(job.type):
        yield replace(plain, rank=3, kind="no_worker", since=jobs.asked_at(job.type) or job.created_at)
    else:
        yield plain
