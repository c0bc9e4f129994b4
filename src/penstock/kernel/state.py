"""State: what a run is, folded from its facts. Everything here is data; one encode is a checkpoint, one decode a load.

A scope holds its own tokens, counters and locals, so that ending it costs what lies in it and nothing more. Keys of its
tables are `number + (epoch << EPOCH)`: edge numbers for places, node numbers for counters.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.kernel.failure import Failure
from penstock.kernel.token import Passed, Path, Taken, Token
from penstock.net.compiled import EPOCH

# run status
CREATED, PENDING, RUNNING, WAITING, COMPENSATING, COMPLETED, FAILED, CANCELLED, COMPENSATED = range(9)
STATUS = (
    "CREATED", "PENDING", "RUNNING", "WAITING", "COMPENSATING", "COMPLETED", "FAILED", "CANCELLED", "COMPENSATED",
)  # fmt: skip
# phase of a firing; those up to BACKOFF make a run RUNNING
RUN, EFFECT, BACKOFF, SUSPENDED, IN_SCOPE, IN_UNDO, IN_QUEUE = range(7)
PHASE = ("run", "effect", "backoff", "suspended", "scope", "undo", "queue")
# how a firing ended
DONE, FAILURE, SKIPPED, INTERRUPTED = range(4)
SETTLED = ("done", "failed", "skipped", "interrupted")
# scope status
OPEN, CLOSED_DONE, CLOSED_FAILED, CLOSED_CANCELLED, CLOSED_TIMEOUT = range(5)
SCOPE_STATUS = ("open", "done", "failed", "cancelled", "timeout")


def key(number: int, epoch: int) -> int:
    return number + (epoch << EPOCH)


class Fan(msgspec.Struct, array_like=True, gc=False):
    """What a scope with many children has still to open, from `at` on: index, item, and the number of a child that is
    opened again, else 0."""

    items: list[list[Any]]
    at: int = 0


class Firing(msgspec.Struct, array_like=True, gc=False):
    """A node working once."""

    no: int
    node: int
    scope: int
    epoch: int
    visit: int
    at: int
    takes: list[Taken]
    path: Path | None = None
    passed: Passed | None = None
    attempt: int = 1  # the first one, until it is asked
    base: int = 0  # attempts under its key that are no longer counted: before a retry by hand, or of an earlier opening
    phase: int = RUN
    probe: int = 0
    errors: int = 0  # failed probes in a row
    comp: int = -1  # the ledger entry that this firing undoes
    args: Any = None  # resolved arguments of the effect in flight, when they are not literal in the net
    timers: list[int] | None = None
    waits: list[int] | None = None
    kids: list[int] | None = None  # child scopes, in opening order
    tally: list[int] | None = None  # children: done, failed, open, required not done, required failed
    blocked: bool = False  # its answer is kept, but no branch takes it
    name: str = ""  # its id, if it came here from a net in which its node was called otherwise: its key must not change
    fan: Fan | None = None  # children that are not open yet
    place: str = ""  # of its pool, while its effect is under way
    stopping: str = ""  # whoever does its effect was told to end it: cancel, put_back
    holds: list[int] | None = None  # its triggers whose condition held when it was last asked


class Scope(msgspec.Struct, array_like=True, gc=False):
    """A region instance: its own tokens, counters and locals. Number 0 is the run itself."""

    no: int
    parent: int = -1
    firing: int = 0
    key: str = ""
    index: int = 0
    status: int = OPEN
    required: bool = True
    last: Any = None
    failure: Failure | None = None
    vars: dict[str, Any] = {}
    tokens: dict[int, list[Token]] = {}
    live: int = 0  # tokens
    busy: int = 0  # firings
    visits: dict[int, int] = {}
    seqs: dict[int, int] = {}
    dead: dict[int, int] = {}  # places whose condition decided for the other branch since the target last fired
    used: dict[int, int] = {}  # nodes that took a START token (1), loop heads that were entered (2)
    owed: dict[int, dict[int, dict[int, int]]] = {}  # node key → visit → edges whose late token will be absorbed
    below: dict[int, int] = {}  # scopes opened inside it that are not forgotten
    spent: dict[int, int] = {}  # node keys that have forwarded their last output at max_iter
    at: int = 0  # when it was opened
    ended: int = 0
    base: int = 0  # attempts that its earlier openings may have used: its firings go on counting from there
    top: int = 0  # the highest attempt asked for in it or below, when it is not the first
    expired: dict[int, int] = {}  # places and when a token last outlived its time there
    since: dict[int, int] = {}  # visits before the last restart: they have names of their own, but limits count anew
    left: dict[int, int] = {}  # by node: the most visits in an epoch that was left and forgotten
    left_seqs: dict[int, int] = {}  # by edge: the most tokens in such an epoch
    most: dict[int, int] = {}  # the same two, at the last restart: visits and tokens are numbered on from there,
    most_seqs: dict[int, int] = {}  # or what is done again in those epochs would have the keys of before

    def rounds(self, at_key: int) -> int:
        """How often a node has fired since the run was started or restarted."""
        fired = self.visits.get(at_key, 0)
        return fired - self.before(at_key) if fired else 0

    def before(self, at_key: int) -> int:
        """The number of its last visit before the run was restarted."""
        return self.since.get(at_key) or self.most.get(at_key % (1 << EPOCH), 0)


class Timer(msgspec.Struct, array_like=True, gc=False):
    due: int
    why: str  # retry poll trigger join join_wait run_retry active token timeout
    firing: int
    data: Any = None


class Wait(msgspec.Struct, array_like=True, gc=False):
    firing: int
    trigger: int
    name: str
    filter: Any = None


class Item(msgspec.Struct, array_like=True, gc=False):
    status: str = "TODO"
    by: str | None = None
    draft: Any = None
    votes: dict[str, dict[str, Any]] = {}  # who → vote, comment, at, and the target it was given for
    entry: int = -1  # the ledger entry of a submitted draft
    level: int = 0  # how often it was escalated
    candidates: Any = None
    mode: str = ""  # MANUAL SUPERVISED AUTONOMOUS; "" where nobody may switch
    why: str | None = None  # what its agent is blocked by
    comment: str | None = None  # the last one; what an agent that is asked again is told
    tried: bool = False  # an agent was asked
    version: int = 0  # the number of the fact that has changed it last; 0 where an older checkpoint does not know it


class Record(msgspec.Struct, array_like=True, gc=False):
    """What a node did last, for those who ask by its name."""

    status: int
    output: Any
    port: str
    visit: int
    epoch: int
    attempt: int
    started: int
    ended: int
    failure: Failure | None = None
    content_type: str | None = None


class Entry(msgspec.Struct, array_like=True, gc=False):
    """A line of the ledger: finished work that can be undone."""

    firing: int
    node: int
    scope: int
    path: Path | None
    output: Any
    status: str = "open"  # open RUNNING EXECUTED FAILED SKIPPED withdrawn
    lineage: list[str] = []  # the scope and those around it, innermost first
    id: str = ""  # the firing as it is shown and sent: a retry that does it again books nothing new
    draft: bool = False  # submitted, not approved: whoever took its firing has moved its item already
    base: int = 0  # attempts that earlier tries to undo it have used
    top: int = 0


class Dropped(msgspec.Struct, array_like=True, gc=False):
    """An effect that was in flight when its firing was swept: a late success may be worth an incident, or an undo."""

    node: int
    scope: int
    path: Path | None
    attempt: int
    probe: int
    id: str = ""


class Undo(msgspec.Struct, array_like=True, gc=False):
    """A compensation under way: the order was decided once, at the trigger."""

    steps: list[int]
    why: str
    then: str  # COMPENSATED CANCELLED firing
    firing: int = 0
    at: int = 0  # which step
    part: int = 0  # which undo node of the step
    failed: bool = False
    failure: Failure | None = None


class Reopen(msgspec.Struct, array_like=True, gc=False):
    """What a retry needs to revive a firing that failed: the one that failed the run, or one that was parked."""

    firing: int
    node: int
    scope: int
    epoch: int
    visit: int
    attempt: int
    takes: list[Taken]
    path: Path | None
    passed: Passed | None
    kids: list[int] | None
    fan: Fan | None = None


class Redo(msgspec.Struct, array_like=True, gc=False):
    """Finished work of which nothing was made yet: what a rework needs to do it again."""

    was: Reopen
    item: Item


class State(msgspec.Struct, array_like=True, gc=False):
    run: str = ""
    tenant: str = ""
    net: str = ""
    seed: str = ""
    trace: str = ""
    parent: str = ""
    status: int = CREATED
    n: int = 0  # facts folded so far
    at: int = 0  # time of the last turn
    input: Any = None
    options: dict[str, Any] = {}
    paused: bool = False
    draining: str = ""
    failure: Failure | None = None
    active: int = 0  # firings in phase run, effect or backoff
    asked: int = 0  # effects in flight
    live: int = 0  # tokens, in all scopes
    active_ms: int = 0
    active_since: int = -1
    vars: dict[str, Any] = {}
    names: dict[str, Any] = {}
    results: dict[str, Any] = {}
    records: dict[int, Record] = {}
    scopes: dict[int, Scope] = {}
    firings: dict[int, Firing] = {}
    timers: dict[int, Timer] = {}
    waits: dict[int, Wait] = {}
    items: dict[int, Item] = {}
    signals: dict[str, list[Any]] = {}  # kept: id → [name, payload]
    seen: list[str] = []
    ledger: list[Entry] = []
    dropped: dict[int, Dropped] = {}
    undo: Undo | None = None
    reopen: Reopen | None = None
    retries: int = 0
    reopened: int = 0  # how often it, or a parked firing of it, was revived or restarted: some keys may come again
    incidents: list[list[Any]] = []
    hand: Token | None = None  # what the last settled firing made; `put` and `fired via` refer to it
    next_firing: int = 1
    next_scope: int = 1
    next_timer: int = 1
    next_wait: int = 1
    parked: dict[int, Reopen] = {}  # failed firings that went on by a port and can still be revived by hand
    closed_items: dict[int, str] = {}  # how the newest work items ended
    tracks: bool = False  # tokens know which finished work they come from
    redoable: dict[int, Redo] = {}  # such work after which no other was finished, the newest ones
    pool_limits: dict[str, int] = {}  # places of a pool that may be taken at once, where not as the net says
    stopped: dict[str, str] = {}  # pools that give no place away, and why
    wanted: dict[int, int] = {}  # nodes that somebody wants done, though their pool is stopped


def new_state() -> State:
    return State()


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(State)
encode_state = _encoder.encode
decode_state = _decoder.decode
