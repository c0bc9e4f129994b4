"""A worker outside for the files beside it: python worker.py URL KEY FILE. What it was given is a line of FILE each."""

import json
import sys
from typing import Any

from penstock.jobs import BusinessError, Job, JobError, JobWorker

url, key, told = sys.argv[1:]
worker = JobWorker(url, key=key, at_once=4, wait_s=5)


def note(job: Job) -> None:
    with open(told, "a", encoding="utf-8") as file:
        file.write(json.dumps([job.type, job.variables, job.headers], ensure_ascii=False) + "\n")


@worker.handles("charge-card")
def charge(job: Job) -> dict[str, Any]:
    note(job)
    return {"receipt": {"number": "R-7"}, "secret": "stays here"}


@worker.handles("com.example.Assess")
def assess(job: Job) -> dict[str, Any]:
    note(job)
    if job.attempt == 1:
        raise JobError("the service is away", backoff_s=0.01)
    return {"level": 3}


@worker.handles("pay")
def pay(job: Job) -> dict[str, Any]:
    note(job)
    if job.variables["amount"] > 900:
        raise BusinessError("TOO_MUCH", "more than there is", {"left": 900})
    return {"paid": True}


@worker.handles("mailer.send")
def send(job: Job) -> dict[str, Any]:
    note(job)
    return {"id": "M-1"}


worker.run()
