"""Commands: what may be asked of a run, as plain tuples (tag, …)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.kernel.failure import Failure

Command = tuple[Any, ...]

(
    START, OUTCOME, TICK, SIGNAL, WORK, CANCEL, PAUSE, RESUME, RETRY, COMPENSATE, RESOLVE, CANCEL_FIRING, MIGRATE,
    SET, NUDGE, DOUBT, GO_ON, ADMIT, LIMIT, EXECUTE, STOP,
) = range(21)  # fmt: skip
NAMES = (
    "start", "outcome", "tick", "signal", "work", "cancel", "pause", "resume", "retry", "compensate", "resolve",
    "cancel_firing", "migrate", "set", "nudge", "doubt", "go_on", "admit",
    "limit", "execute", "stop",
)  # fmt: skip

OK, BAD, SKIP, BACK = range(4)  # how an outcome ended; back: nothing was done, and it may be done anew


def start(
    run: str,
    input: Any = None,
    *,
    tenant: str = "default",
    seed: str = "",
    trace: str = "",
    parent: str = "",
    options: dict[str, Any] | None = None,
) -> Command:
    """Begin. `options` are what this run overrides: limits, vars, modes; they are journaled."""
    return (START, run, tenant, seed or run, trace or run, parent, input, options or {})


def done(
    firing: int, attempt: int, probe: int = 0, body: Any = None, content_type: str | None = None, meta: Any = None
) -> Command:
    return (OUTCOME, firing, attempt, probe, OK, body, content_type, meta)


def failed(firing: int, attempt: int, failure: Failure, probe: int = 0) -> Command:
    return (OUTCOME, firing, attempt, probe, BAD, failure, None, None)


def skipped(firing: int, attempt: int, reason: str = "policy", probe: int = 0) -> Command:
    return (OUTCOME, firing, attempt, probe, SKIP, reason, None, None)


def returned(firing: int, attempt: int, reason: str = "", probe: int = 0) -> Command:
    """What was asked for is not under way any more and did not fail: it is asked for again, and no retry is counted."""
    return (OUTCOME, firing, attempt, probe, BACK, reason, None, None)


def tick() -> Command:
    """Every timer that is due."""
    return (TICK,)


def signal(id: str, name: str, payload: Any = None, *, broadcast: bool = False, keep: bool = True) -> Command:
    """News. `id` is accepted once; an empty id is always new. What nobody waits for is kept for who will; without
    `keep` it is as if it had not come, for others may have it."""
    news = (SIGNAL, id, name, payload, broadcast)
    return news if keep else (*news, False)


def work(
    firing: int, verb: str, by: str | None = None, data: Any = None, comment: str | None = None,
    version: int | None = None,
) -> Command:  # fmt: skip
    """A person or an agent moves a work item: start submit approve reject vote take_over reassign rework set_mode. What
    a vote says is `approved`, `rejected`, or {"vote": …, "comment": …, "target": …}; any other move may have a
    `comment`. With `set_mode` the data is the mode, with `approve` what the approver has changed, with `reassign` to
    whom it goes. With a `version` it is refused unless the item is still as it was at that fact."""
    asked = (WORK, firing, verb, by, data, comment)
    return asked if version is None else (*asked, version)


def cancel(mode: str = "now") -> Command:
    """`now` drops what runs; `boundary` waits for effects in flight first."""
    return (CANCEL, mode)


def pause(why: str = "operator") -> Command:
    return (PAUSE, why)


def resume() -> Command:
    return (RESUME,)


def retry(how: str = "here", firing: int = 0) -> Command:
    """Out of FAILED: `here` revives the firing that failed, `restart` fires the start nodes again. With a firing:
    revives one that failed and was parked, in a run that goes on."""
    return (RETRY, how, firing)


def compensate(only: tuple[str, ...] = ()) -> Command:
    return (COMPENSATE, only)


def resolve(firing: int | str, output: Any) -> Command:
    """An operator gives a firing its result. By the id of a node: what works there, or what rests before it."""
    return (RESOLVE, firing, output)


def cancel_firing(firing: int | str) -> Command:
    return (CANCEL_FIRING, firing)


def migrate(
    net: Any,
    nodes: dict[str, str] | None = None,
    edges: dict[str, str] | None = None,
    *,
    puts: Sequence[str] = (),
    drops: Sequence[str] = (),
) -> Command:
    """To another net. By the ids of edges: tokens are put on those of the new net that nothing would put them on any
    more, and those of the old net that are gone are dropped with what lies on them."""
    moved = (MIGRATE, net, nodes or {}, edges or {})
    return (*moved, list(puts), list(drops)) if puts or drops else moved


def limit(pool: str, most: int, why: str = "") -> Command:
    """At most so many places of a pool are taken at once from now on; 0: nobody begins anything, and `why`."""
    return (LIMIT, pool, most, why)


def execute(node: str, queue: bool = False) -> Command:
    """A node of a pool begins, though its pool may be stopped. It must be ready, and a place must be free for it, or
    it is to `queue` for one."""
    return (EXECUTE, node, queue)


def stop(node: str, why: str) -> Command:
    """Whoever does the effect of a node is told to end it. `cancel`: the node is over then; `put_back`: it waits for a
    place again. If it is done before it hears of it, it is done."""
    return (STOP, node, why)


def set_variable(name: str, value: Any) -> Command:
    return (SET, name, value)


def nudge() -> Command:
    """Nothing happened, but look again: a fork, or a store that was repaired."""
    return (NUDGE,)


def admit() -> Command:
    """There is room for a run that was queued: it begins, or its next attempt does."""
    return (ADMIT,)


def go_on() -> Command:
    """What the turn before has left over, because its slice was full."""
    return (GO_ON,)


def doubt(firing: int, attempt: int, probe: int = 0) -> Command:
    """An at-most-once effect was started and its answer is lost: an operator must say what became of it."""
    return (DOUBT, firing, attempt, probe)
