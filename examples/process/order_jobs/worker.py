"""A worker for order.json: python worker.py URL KEY."""

import sys

from penstock.jobs import BusinessError, Job, JobError, JobWorker

url, key = sys.argv[1:3]
worker = JobWorker(url, key=key, at_once=4)


@worker.handles("charge-card")
def charge(job: Job) -> dict:
    """The key is the same on every attempt: a payment service that is given it charges once."""
    if job.variables["amount"] > 1000:
        raise BusinessError("NO_MONEY", "the card is empty", {"missing": job.variables["amount"] - 1000})
    return {"receipt": f"{job.headers['currency']}-{job.variables['order']}"}


@worker.handles("ship-fast")
async def ship(job: Job) -> dict:
    if job.attempt == 1:
        raise JobError("the depot does not answer", backoff_s=0.1)
    return {"parcel": f"parcel-{job.variables['order_id']}"}


@worker.handles("notify")
def notify(job: Job) -> None:
    print(f"calling the customer of {job.run}")


worker.run()
