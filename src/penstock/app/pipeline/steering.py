"""Cancel and retry (F-2.6 to F-2.8, F-X.7, F-X.8): what is not allowed as an execution stands is PP-409-STATE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import in_force
from penstock.app.pipeline.executions import execution_row, read_execution
from penstock.app.pipeline.starts import execution_id
from penstock.dialects.pipeline import definition_snapshot
from penstock.errors import BadInput, Refused
from penstock.errors.pipeline import ExecutionState
from penstock.host.embedded import ReplyWaiter
from penstock.host.start_requests import Start
from penstock.kernel import command as C
from penstock.kernel.state import COMPENSATING, COMPLETED, FAILED, PENDING, RUNNING, WAITING
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
    if not _may_cancel(row.status, door.settings):
        raise _conflict(door, row, "cancel", "RUNNING")
    if _is_cancelling(door, row):
        return
    try:
        await door.command(row, C.cancel("boundary"))
    except Refused:
        now = execution_row(door, row.id)
        if _is_cancelling(door, now):
            return
        raise _conflict(door, now, "cancel", "RUNNING") from None


def _may_cancel(status: int, settings: Mapping[str, Any]) -> bool:
    return status in _RUNNING or status == PENDING and bool(settings.get(ALLOW_PENDING))


def withheld(status: int, settings: Mapping[str, Any]) -> frozenset[str]:
    """Moves of a run that an execution does not have as it stands: there is one way to cancel, and from the start it is
    another execution."""
    late = {"retry"} if status != FAILED else set[str]()
    soon = {"cancel"} if not _may_cancel(status, settings) else set[str]()
    return frozenset({"cancel_boundary", "restart"} | late | soon)


def _is_cancelling(door: Penstock, row: RunRow) -> bool:
    """It was accepted before: the stage that works may end, or what was done is rolled back."""
    return row.status == COMPENSATING or row.status in _RUNNING and bool(door.reading(row).state.draining)


async def retry(door: Penstock, id: str, mode: str | None = None) -> str | None:
    """Resume the same execution at the first stage that is not done, or run the file anew; the id of the new
    execution then. Raises ExecutionState."""
    row = execution_row(door, id)
    known = definition_snapshot(door.nets.get(row.net).net)
    how = mode or (known.get("configuration") or {}).get("manual_retry_mode") or RESUME
    if how not in (RESUME, RERUN):
        raise BadInput(what="the mode", why=f"«{how}» is none", hint=f"Choose {RESUME} or {RERUN}.")
    if row.status != FAILED:
        raise _conflict(door, row, "retry", "FAILED, TIMEOUT")
    if how == RERUN:
        return await _run_anew(door, row)
    await resume(door, row)
    return None


async def resume(door: Penstock, row: RunRow, how: str = "here") -> None:
    """The same execution, at the first stage that is not done, when it is its turn. Raises ExecutionState, BadInput."""
    if row.status != FAILED:
        raise _conflict(door, row, "retry", "FAILED, TIMEOUT")
    if how != "here":
        hint = f"Process the file anew: POST /pipelines/executions/{row.id}:retry with the mode «{RERUN}»."
        raise BadInput(what="how", why=f"an execution does not {how}: from the start it is another one", hint=hint)
    try:
        await door.command(row, C.retry("here"))
    except Refused:
        raise _conflict(door, execution_row(door, row.id), "retry", "FAILED, TIMEOUT") from None


async def _run_anew(door: Penstock, row: RunRow) -> str:
    """F-X.7: of the version that is in force now. Two at once have the same key: the second is refused."""
    name = door.nets.get(row.net).net.name
    definition = next((each for each in in_force(door, row.tenant) if each.code == name), None)
    net = definition.net if definition is not None else row.net
    await door.nets.prepare(net)
    state = door.reading(row).state
    key = _next_key(door, row)
    options: dict[str, Any] = {**state.options, "trigger": {"type": "RETRY", "source": f"execution:{row.id}"}}
    start = Start(
        execution_id(door.now()), door.hash_of(net), door.input_of(row), row.tenant, key, options, row.priority, row.id,
        state.trace,
    )  # fmt: skip
    if not await (_start_here(door, start, net) if door.drives else _start_there(door, start)):
        raise _conflict(door, row, "retry", "FAILED, TIMEOUT, once at a time")
    return start.id


async def _start_here(door: Penstock, start: Start, net: int) -> bool:
    """False: somebody else has the key."""
    host, waiter = door.host, ReplyWaiter(1)
    if (start.tenant, start.key) in host.turns.starting or door.store.run_by_key(start.tenant, start.key or ""):
        return False
    host.start(
        net, start.input, id=start.id, key=start.key, tenant=start.tenant, options=start.options,
        priority=start.priority, parent=start.parent, trace=start.trace, reply=waiter,
    )  # fmt: skip
    host.wake_up()
    await door.heard(waiter)
    return True


async def _start_there(door: Penstock, start: Start) -> bool:
    """By the process that drives the store; of two with the same key it takes the first."""
    await door.leave(start)
    row = door.store.run_by_key(start.tenant, start.key or "")
    return row is not None and row.id == start.id


def _next_key(door: Penstock, row: RunRow) -> str:
    """F-A.14: while one that was run anew goes on, or after it has done what was asked for, there is no other."""
    own = row.key or f"manual#{row.id}"
    wanted = RunFilter(tenant=row.tenant, below=door.store.last_run() + 1, parent=row.id)
    begun = {child.key: child for child in door.store.find_runs(wanted, _MOST_CHILDREN)}
    number = 1
    while (child := begun.get(retry_key(own, number))) is not None:
        if child.status <= COMPLETED:
            raise _conflict(door, row, "retry", "FAILED, TIMEOUT, once at a time")
        number += 1
    return retry_key(own, number)


def _conflict(door: Penstock, row: RunRow, verb: str, allowed: str) -> ExecutionState:
    status = read_execution(door, row)[0].status
    return ExecutionState(what="execution", status=status, verb=verb, allowed=allowed)
