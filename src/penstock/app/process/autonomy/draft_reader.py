"""What became of an agent's first draft for each work item of one run, read out of its journal.

A case is one work item. Only the first draft counts: a later one was made with the help of whoever sent the first one
back. A supervised draft is judged by the person who decides about it: it was approved unchanged, approved with
another result (corrected), or sent back (rejected, also when finished work is reworked later). Who takes over a running
agent, or hands in instead of it, has corrected it. What an autonomous agent has done counts as unchanged once its run
has ended, and as a mistake when it was reworked (rejected) or compensated (undone). An agent that fails, and a draft
that nobody has decided about, are no cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.kernel import fact as F
from penstock.net.compiled import Compiled
from penstock.store.autonomy import AutonomyCaseRow
from penstock.store.run_store import RunRow

SUPERVISED, AUTONOMOUS = "SUPERVISED", "AUTONOMOUS"
_BY_AGENT = (SUPERVISED, AUTONOMOUS)


class _ItemDraft(msgspec.Struct):
    """One work item as far as it was read. `working`: its agent is at it; `awaits`: the approved result comes next."""

    process: str
    version: int
    activity: str
    agent: str
    mode: str
    working: bool = False
    awaits: bool = False
    draft: Any = None
    drafted: bool = False
    judged_mode: str = ""
    outcome: str = ""
    at: int = 0
    wrong_at: int | None = None
    rework_ms: int | None = None
    compensated: bool = False

    def judge(self, outcome: str, at: int) -> None:
        self.outcome, self.at, self.judged_mode = outcome, at, self.judged_mode or self.mode
        if outcome != "unchanged":
            self.wrong_at = at


class DraftReader:
    """`net_of` gives a net by its hash, `whole` the value of a body that is stored by reference."""

    def __init__(self, net_of: Callable[[str], Compiled], whole: Callable[[Any], Any]) -> None:
        self.net_of, self.whole = net_of, whole
        self.net: Compiled | None = None
        self.items: dict[int, _ItemDraft] = {}

    def turn(self, at: int, facts: Iterable[Any]) -> None:
        for f in facts:
            read = _READ.get(f[0])
            if read is not None:
                read(self, at, f)

    def cases(self, run: RunRow, ended: bool) -> list[AutonomyCaseRow]:
        """`ended`: nothing is done in the run any more."""
        return [
            AutonomyCaseRow(
                run.tenant, run.no, firing, f"{run.id}~{firing}", item.process, item.version, item.activity,
                item.agent, item.judged_mode, item.outcome, _when(item, run), item.rework_ms, int(item.compensated),
            )
            for firing, item in self.items.items()
            if item.outcome and (item.judged_mode != AUTONOMOUS or item.outcome != "unchanged" or ended)
        ]  # fmt: skip

    # -- facts ---------------------------------------------------------------------------------------------------------

    def _started(self, at: int, f: Any) -> None:
        self.net = self.net_of(f[3])

    def _migrated(self, at: int, f: Any) -> None:
        self.net = self.net_of(f[1])

    def _opened(self, at: int, f: Any) -> None:
        prompt = f[3] if isinstance(f[3], dict) else {}
        mode = f[6] if len(f) > 6 else ""
        item = self.items.get(f[1])
        if item is not None:  # once more, for others or again
            item.mode = mode or item.mode
        elif mode and self.net is not None:
            declared = self.net.net
            self.items[f[1]] = _ItemDraft(
                declared.name, int(declared.declares.version or 1), str(prompt.get("activity_id") or ""),
                str(prompt.get("agent") or ""), mode,
            )  # fmt: skip

    def _moved(self, at: int, f: Any) -> None:
        item = self.items.get(f[1])
        if item is None:
            return
        to, verb, by, draft, mode = f[2], f[3], f[4], f[5], f[8] if len(f) > 8 else None
        if verb == "submit_for_approval":
            _drafted(item, draft)
        elif verb in ("approve", "submit") and to == "DONE":
            _done(item, verb, by, at)
        elif verb in ("reject", "rework"):
            if item.outcome in ("", "unchanged") and (item.drafted or item.judged_mode):
                item.judge("rejected", at)
        elif verb in ("take_over", "reassign"):
            _taken(item, at)
        elif verb == "compensate":
            if item.judged_mode == AUTONOMOUS and item.outcome == "unchanged":
                item.judge("undone", at)
            item.compensated = bool(item.outcome)
        item.working = verb == "start" and by == "agent" or item.working and to == "IN_PROGRESS"
        item.mode = mode or item.mode

    def _settled(self, at: int, f: Any) -> None:
        item = self.items.get(f[1])
        if item is not None and item.awaits:
            item.awaits = False
            if f[7] != item.draft and self.whole(f[7]) != self.whole(item.draft):
                item.judge("corrected", item.at)


def _drafted(item: _ItemDraft, draft: Any) -> None:
    if not item.drafted and not item.outcome:
        item.drafted, item.draft, item.judged_mode = True, draft, SUPERVISED


def _done(item: _ItemDraft, verb: str, by: Any, at: int) -> None:
    if item.wrong_at is not None and item.rework_ms is None:
        item.rework_ms = at - item.wrong_at
    if item.outcome:
        return
    if verb == "approve":
        if by is not None and item.drafted:
            item.judge("unchanged", at)
            item.awaits = True
    elif by is None and item.mode == AUTONOMOUS and item.working:
        item.judge("unchanged", at)
    elif by is not None:
        _taken(item, at)


def _taken(item: _ItemDraft, at: int) -> None:
    """A person does it instead of the agent that was at it."""
    if item.working and not item.outcome and not item.drafted and item.mode in _BY_AGENT:
        item.judge("corrected", at)


def _when(item: _ItemDraft, run: RunRow) -> int:
    """That nobody has found fault with it is clear when its run has ended."""
    return run.updated_at if item.judged_mode == AUTONOMOUS and item.outcome == "unchanged" else item.at


_READ: dict[int, Callable[[DraftReader, int, Any], None]] = {
    F.STARTED: DraftReader._started, F.MIGRATED: DraftReader._migrated, F.WORK_OPENED: DraftReader._opened,
    F.WORK_MOVED: DraftReader._moved, F.SETTLED: DraftReader._settled,
}  # fmt: skip
