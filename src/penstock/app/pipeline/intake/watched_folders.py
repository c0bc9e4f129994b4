"""Folders that a server watches: buckets on the machine, each for a tenant (`pipelines.watch.BUCKET = "TENANT"`)."""

from __future__ import annotations

import asyncio
import logging

from penstock.app.penstock import Penstock
from penstock.app.pipeline.intake.folder_pipeline import FolderPipeline
from penstock.app.runs.queries import check_tenant_name
from penstock.errors import BadInput, StoreError
from penstock.executors.parts.objects import Buckets, FolderStore, ObjectError

#: the setting: the tenant whose files lie in a bucket
SETTING = "pipelines.watch."
#: seconds between two looks, and after a look at a folder that is not there
_LOOK_S, _AWAY_S = 0.25, 5.0
_log = logging.getLogger(__name__)


def watched_folders(door: Penstock) -> list[FolderPipeline]:
    """Raises BadInput where a bucket is not a folder of this machine."""
    pipelines = []
    buckets = Buckets(door.host.dispatch.services)
    for name, tenant in sorted(door.settings.items()):
        if not name.startswith(SETTING):
            continue
        bucket = name.removeprefix(SETTING)
        try:
            objects = buckets[bucket]
        except ObjectError as error:
            raise BadInput(what=f"the setting «{name}»", why=str(error)) from None
        check_tenant_name(str(tenant))
        if not isinstance(objects, FolderStore):
            hint = "A bucket of S3 tells of its files by [pipelines.sqs]."
            raise BadInput(what=f"the setting «{name}»", why="only a folder can be watched", hint=hint)
        pipelines.append(FolderPipeline(door.of(str(tenant)), objects.root, bucket, alone=False))
    return pipelines


async def watch(pipeline: FolderPipeline) -> None:
    """Until it is cancelled. A folder that is away is looked for again: it may be a disk that comes back."""
    away = False
    while True:
        try:
            await pipeline.step()
            away = False
        except OSError as error:
            if not away:
                _log.warning("the folder of the bucket %s cannot be read: %s", pipeline.bucket, error.strerror)
            away = True
        except StoreError as error:
            if not error.passing:
                raise
            away = True
        pipeline.unmatched.clear()
        await asyncio.sleep(_AWAY_S if away else _LOOK_S)
