"""evolve(state, fact): a fact becomes state.

It may not refuse, and it takes no net, no clock and no expression, so a replay needs no language and no kernel version.

Rule 1: nothing here changes an object that belongs to the fact; facts are encoded after they were folded.
Rule 2: every table key that a fact removes was put there by an earlier fact.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.kernel import fact as F
from penstock.kernel.evolve import compensation as undoing
from penstock.kernel.evolve import firings, life, regions, tokens, waiting
from penstock.kernel.state import State

Evolve = Callable[[State, F.Fact], None]
EVOLVE: tuple[Evolve, ...] = (
    life.started, tokens.put, firings.fired, firings.fired_via, firings.passed, firings.asked, firings.answered,
    firings.attempt_failed, firings.settled, firings.named, firings.sets, firings.result, tokens.dead,
    tokens.absorbed,
    tokens.rearmed, tokens.forwarded, waiting.timer_set, waiting.timer_gone, waiting.wait_opened, waiting.wait_gone,
    waiting.signal_kept, waiting.signal_used, waiting.signal_used, waiting.seen, waiting.work_opened,
    waiting.work_moved, firings.phase, regions.scope_opened, regions.scope_closed, regions.scope_forgotten,
    regions.swept, undoing.ledger_added, undoing.ledger_moved, undoing.undo_planned, undoing.undo_step,
    undoing.undo_at, undoing.undo_ended, firings.revived, life.reopened, life.paused, life.moved, life.draining,
    life.incident, life.ignored, life.migrated, life.forked, tokens.forgot, firings.locals_,
    regions.fanned, firings.queued, life.limited, life.wanted, firings.stopping, waiting.condition,
)  # fmt: skip


def evolve(st: State, f: F.Fact) -> None:
    EVOLVE[f[0]](st, f)
    st.n += 1
