"""Cancel and retry (F-2.6 to F-2.8, F-X.7, F-X.8): what is not allowed as an execution stands is PP-409-STATE."""

from __future__ import annotations

from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import in_force
from penstock.app.pipeline.executions import execution_row
from penstock.app.pipeline.starts import execution_id
from penstock.dialects.pipeline import about
from penstock.dialects.pipeline.words import RUN
from penstock.errors import BadInput, Refused
from penstock.errors.pipeline import ExecutionState
from penstock.host.embedded import ReplyWaiter
from penstock.kernel.state import COMPENSATING, COMPLETED, FAILED, PENDING, RUNNING, STATUS, WAITING
from penstock.lang.pipeline.keys import retry_key
from penstock.store.run_lists import RunFilter
from penstock.store.run_store import RunRow

RESUME, RERUN = "resume", "rerun"
#: the setting that lets an execution be cancelled that has not begun (F-X.8)
ALLOW_PENDING = "pipelines.allow_cancel_pending"
#: what `cancel` is for: all of these are RUNNING to people who process files
_RUNNING = (RUNNING, WAITING, COMPENSATING)
_MOST_CHILDREN = 10_000


async def cancel(door: Penstock, id: str) -> None:
    """The stage that works may end, the next one never begins, and then it is CANCELLED. Asked again meanwhile: the
    same. Raises ExecutionState."""
    row = execution_row(door, id)
    pending = row.status == PENDING and bool(door.settings.get(ALLOW_PENDING))
    if row.status not in _RUNNING and not pending:
        raise _conflict(row, "cancel", "RUNNING")
    if _is_cancelling(door, row):
        return
    try:
        await door.cancel(row.id, mode="boundary")
    except Refused:
        now = execution_row(door, row.id)
        if _is_cancelling(door, now):
            return
        raise _conflict(now, "cancel", "RUNNING") from None


def _is_cancelling(door: Penstock, row: RunRow) -> bool:
    """It was accepted before: the stage that works may end, or what was done is rolled back."""
    return row.status == COMPENSATING or row.status in _RUNNING and bool(door.reading(row).state.draining)


async def retry(door: Penstock, id: str, mode: str | None = None) -> str | None:
    """Resume the same execution at the first stage that is not done, or run the file anew; the id of the new
    execution then. Raises ExecutionState."""
    row = execution_row(door, id)
    known = about(door.nets.get(row.net).net)
    how = mode or (known.get("configuration") or {}).get("manual_retry_mode") or RESUME
    if how not in (RESUME, RERUN):
        raise BadInput(what="the mode", why=f"«{how}» is none", hint=f"Choose {RESUME} or {RERUN}.")
    if row.status != FAILED:
        raise _conflict(row, "retry", "FAILED, TIMEOUT")
    if how == RERUN:
        return await _run_anew(door, row)
    try:
        await door.retry(row.id, how="here")
    except Refused:
        raise _conflict(execution_row(door, row.id), "retry", "FAILED, TIMEOUT") from None
    return None


async def _run_anew(door: Penstock, row: RunRow) -> str:
    """F-X.7: of the version that is in force now. Two at once have the same key: the second is refused."""
    host, name = door.host, door.nets.get(row.net).net.name
    definition = next((each for each in in_force(door, row.tenant) if each.code == name), None)
    net = definition.net if definition is not None else row.net
    await door.nets.prepare(net)
    state = door.reading(row).state
    key = _next_key(door, row)
    if (row.tenant, key) in host.turns.starting or door.store.run_by_key(row.tenant, key) is not None:
        raise _conflict(row, "retry", "FAILED, TIMEOUT, once at a time")
    options: dict[str, Any] = {**state.options, "trigger": {"type": "RETRY", "source": f"execution:{row.id}"}}
    waiter = ReplyWaiter(1)
    made = host.start(
        net, door.input_of(row), id=execution_id(door.now()), key=key, tenant=row.tenant, options=options,
        priority=row.priority, parent=row.id, trace=state.trace, reply=waiter,
    )  # fmt: skip
    host.wake_up()
    await door.heard(waiter)
    return made


def _next_key(door: Penstock, row: RunRow) -> str:
    """F-A.14: while one that was run anew goes on, or after it has done what was asked for, there is no other."""
    own = row.key or f"manual#{row.id}"
    wanted = RunFilter(tenant=row.tenant, below=door.store.last_run() + 1, parent=row.id)
    begun = {child.key: child for child in door.store.find_runs(wanted, _MOST_CHILDREN)}
    number = 1
    while (child := begun.get(retry_key(own, number))) is not None:
        if child.status <= COMPLETED:
            raise _conflict(row, "retry", "FAILED, TIMEOUT, once at a time")
        number += 1
    return retry_key(own, number)


def _conflict(row: RunRow, verb: str, allowed: str) -> ExecutionState:
    return ExecutionState(what="execution", status=RUN[STATUS[row.status]], verb=verb, allowed=allowed)
