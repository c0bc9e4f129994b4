"""A process that takes messages of the built-in queue and processes their files until all is done, or it is killed.

    python -m tests.app.kill_consumer STORE INBOX

See test_pipeline_kill.py. Stages run in worker processes, as everywhere.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define, in_force
from penstock.app.pipeline.intake.consumer import QueueConsumer
from penstock.app.pipeline.intake.ingest import Ingest
from penstock.kernel.state import COMPLETED
from penstock.store.run_lists import RunFilter
from tests.app.pipelines import a_pipeline, a_stage

TENANT = "tnt_demo"
#: a worker that is killed costs a try of its stage; there are more than anybody kills
TRIES = {"max_retries": 1000, "retry_strategy": "IMMEDIATE"}
STAGES = ("sum", "copy", "about")
DEFINITION = a_pipeline(
    "KILLED", file_type="ANY", timeout_seconds=3600, max_retries=1000, retry_delay_seconds=0,
    stages=[
        a_stage("sum", 1, processor_type="Checksum", **TRIES), a_stage("copy", 2, processor_type="Copy", **TRIES),
        a_stage("about", 3, processor_type="MetadataExtractor", **TRIES),
    ],
)  # fmt: skip
OPEN = tuple(range(COMPLETED))
VISIBILITY_MS = 1500


def settings_of(inbox: Path) -> dict[str, object]:
    artifacts = inbox.with_name("artifacts").as_uri()
    return {"pipelines.buckets.bkt": inbox.as_uri(), "pipelines.buckets.ff-artifacts": artifacts}


async def main(store: str, inbox: Path) -> None:
    async with Penstock(store, settings=settings_of(inbox)) as door:
        if not in_force(door, TENANT):
            define(door, DEFINITION)
        consumer = QueueConsumer(Ingest(door), visibility_ms=VISIBILITY_MS, at_once=20)
        task = asyncio.create_task(consumer.run())
        print("open", flush=True)
        mine = door.of(TENANT)
        while not consumer.idle or door.store.count_runs(
            RunFilter(tenant=mine.tenant, below=door.store.last_run() + 1, status=OPEN)
        ):
            await asyncio.sleep(0.05)
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
