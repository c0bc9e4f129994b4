"""Executions begun by hand (F-X.19, F-X.23): of one pipeline, for a file that is known or that lies in a bucket."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition, definition_of
from penstock.app.pipeline.executions import Execution, execution
from penstock.app.pipeline.files import file_info
from penstock.app.pipeline.intake.ingest import asset_of
from penstock.app.pipeline.schedules import message_of_file
from penstock.app.pipeline.starts import Begun, ExecutionStarts, execution_id
from penstock.app.releases.releases import canonical
from penstock.app.timestamps import iso
from penstock.errors import BadInput
from penstock.errors.pipeline import ExecutionFileNotFound, PipelineKeyConflict, PipelineScope
from penstock.executors.processors.stage_input import StageFile
from penstock.lang.pipeline.keys import manual_key, request_key
from penstock.lang.pipeline.matching import Mismatch, unfit
from penstock.lang.pipeline.messages import FileMessage, messages_of

#: the trigger of executions that somebody begins (F-1.3.8)
MANUAL = "MANUAL"
_WHY: dict[Mismatch, str] = {
    "inactive": "the pipeline is not active", "file_type": "the pipeline is for files of another type",
    "max_file_size": "the file is larger than the pipeline takes",
    "trigger_conditions": "the file does not fit the pipeline's conditions",
}  # fmt: skip


class ManualStart(msgspec.Struct, kw_only=True, frozen=True):
    """`file_id`: of a file that was announced before; else `message` tells of one, as F-3.7 does. `params` lie over
    those of the definition (F-X.33)."""

    file_id: int | None = None
    message: dict[str, Any] | None = None
    params: dict[str, Any] = {}


async def begin(
    door: Penstock, code: str, asked: ManualStart, *, by: str, key: str | None = None, organization: int | None = None
) -> Begun:
    """`key` is the caller's own: with it the same is begun once, and something else is refused. `organization`: the
    only one that the caller belongs to. Raises PipelineKeyConflict, PipelineScope, ExecutionFileNotFound, BadInput,
    MessageInvalid."""
    definition = definition_of(door, code)
    message, file_id = await _file(door, asked, organization)
    if organization is not None and message.organization_id != organization:
        raise PipelineScope(why="The file is another organisation's than yours")
    _check_fits(definition, message)
    await door.nets.prepare(definition.net)
    digest = hashlib.sha256(canonical([code, msgspec.to_builtins(asked)])).hexdigest()
    id = execution_id(door.now())
    own = request_key(key) if key is not None else manual_key(id)
    known = door.store.ids_by_key(door.tenant, [own])
    starts = ExecutionStarts(door, {(door.tenant, each): there for each, there in known.items()})
    trigger = {"type": MANUAL, "source": f"user:{by}", "payload": digest}
    try:
        begun = starts.begin(definition, message, file_id, key=own, trigger=trigger, params=asked.params, id=id)
    finally:
        await starts.heard()
    if not begun.new and _payload(door, begun.id) != digest:
        raise PipelineKeyConflict(key=key)
    return begun


async def ended(door: Penstock, id: str, within_s: float) -> Execution | None:
    """F-X.15, SYNC: the execution when it has ended; None where it goes on after so many seconds."""
    try:
        await door.wait(id, timeout=within_s)
    except TimeoutError:
        return None
    return execution(door, id)


async def _file(door: Penstock, asked: ManualStart, organization: int | None) -> tuple[FileMessage, int]:
    if (asked.file_id is None) == (asked.message is None):
        raise BadInput(what="the file", why="it is named by «fileId», or by «bucket» and «key»")
    if asked.file_id is not None:
        row = door.store.file_asset(door.tenant, asked.file_id)
        if row is None:
            raise ExecutionFileNotFound(why=f"no file has the number {asked.file_id}")
        return message_of_file(row), row.id
    told = {"occurredAt": iso(door.now()), "organizationId": organization, **(asked.message or {})}
    if "size" not in told:
        there = await file_info(door, StageFile(str(told.get("bucket", "")), str(told.get("key", ""))))
        told = {"etag": there.etag, **told, "size": there.size}
    (message,) = messages_of(told, {"tenantId": door.tenant})
    (asset,) = door.store.put_files([asset_of(message, door.now())])
    return message, asset.id


def _check_fits(definition: Definition, message: FileMessage) -> None:
    why = unfit(definition.about, message)
    if why:
        what = f"the file for «{definition.code}»"
        raise BadInput(what=what, why=_WHY.get(why, why), hint="Look at the definition: what is it for?")


def _payload(door: Penstock, id: str) -> Any:
    return (door.reading(id).state.options.get("trigger") or {}).get("payload")
