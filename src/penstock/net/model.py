"""The net: frozen data that every language is lowered to, and nothing else.

A node is join, work, split. Nine kinds are enough. Names are the author's; numbers are given when the net is compiled.
Expressions are texts of `penstock.expr`. A *value tree* (`Value`) is JSON in which `{"$expr": "…"}` stands for the
value of an expression and `{"$template": "…"}` for a template; everything else is literal, so text from a user is
never evaluated by accident.

Every field has a default and defaults are left out of the canonical form, so a field added later changes no hash.
"""

from __future__ import annotations

from typing import Any, Literal, dataclass_transform

import msgspec

from penstock.errors import Place

Kind = Literal["start", "end", "route", "task", "work", "wait", "call", "scope", "undo"]
KINDS: tuple[Kind, ...] = ("start", "end", "route", "task", "work", "wait", "call", "scope", "undo")
Value = Any


@dataclass_transform(frozen_default=True, kw_only_default=True)
class _Part(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Join(_Part):
    """When is a node ready? `k` with k=1 and late=fire is the plain merge."""

    mode: Literal["all", "k", "inclusive", "diagram"] = "all"
    k: int = 1
    take: Literal["one", "all"] = "one"
    late: Literal["fire", "absorb"] = "fire"


ALL = Join()
MERGE = Join(mode="k")
ANY = Join(mode="k", late="absorb")
INCLUSIVE = Join(mode="inclusive")
DIAGRAM = Join(mode="diagram", take="all")


class Retry(_Part):
    """`max` counts retries, so max=2 means three attempts."""

    max: int = 0
    base_ms: int = 1000
    kind: Literal["fixed", "linear", "exponential"] = "fixed"
    multiplier: float = 2.0
    cap_ms: int = 30_000
    jitter: bool = False
    delays_ms: tuple[int, ...] = ()  # one per retry instead of the formula; the last one counts for all that follow
    on: tuple[str, ...] = ("transient", "timeout", "external", "resource")


class OnError(_Part):
    """A row of the failure table: a code, a category or `*`, and what to do: skip, continue, error_env, fail, port:X;
    park:X is port:X, and the firing can be revived by hand; halt:X is park:X, and nobody of the node's pool begins
    anything else; value: the node yields its `value` instead."""

    match: str
    action: str


class Breaker(_Part):
    """The host's circuit breaker that guards this effect."""

    name: str
    failures: int = 5  # in a row; 0 = any number
    failure_rate: float = 0.5  # of the last `window` calls
    window: int = 10
    half_open_requests: int = 3
    cooldown_ms: int = 60_000
    latency_ms: int | None = None  # a slower call counts as a failure


class Rate(_Part):
    """At most `limit` calls in `per_ms`; more wait, or are skipped."""

    name: str
    limit: int = 10
    per_ms: int = 1000
    over: Literal["wait", "skip"] = "wait"
    rolling: bool = False  # what counts are calls that succeeded in the last `per_ms`


class Cache(_Part):
    """Answers kept under the value of `key`: an expression, or a value tree."""

    key: Value
    ttl_ms: int = 60_000
    shared: bool = False  # by all nodes of the tenant whose key has this value


class Dedupe(_Part):
    """An effect whose key (an expression, or a value tree) has succeeded inside the window is not done again."""

    key: Value
    ttl_ms: int = 60_000
    known: Literal["skip", "answer", "fail"] = "skip"  # what becomes of it: skipped, the kept answer, a failure


class Concurrency(_Part):
    """At most `limit` effects of this name run at once in a host, for each tenant: a name is its tenant's own."""

    name: str
    limit: int = 20


class Effect(_Part):
    """What a task asks of the world."""

    executor: str
    args: Value = None
    safe: Literal["at_least_once", "at_most_once"] = "at_least_once"
    breaker: Breaker | None = None
    rate: Rate | None = None
    cache: Cache | None = None
    dedupe: Dedupe | None = None
    once: Dedupe | None = None  # a second one, with a key and a time of its own
    concurrency: Concurrency | None = None
    sees_run: bool = False  # the executor may read what the node's expressions may read: templates from a registry


class Poll(_Part):
    """Ask again every `every_ms` until the expression over `response` holds; all probes are one firing with one key."""

    every_ms: int
    until: str
    fail_if: str | None = None
    max_errors: int = 0


class Trigger(_Part):
    """A moment or news that a firing waits for. A wait node has nothing else; elsewhere it is a boundary event."""

    port: str = "done"
    #: opened: as soon as the firing waits; condition: as soon as `match` holds, and each time that it comes true again
    kind: Literal["timer", "signal", "escalation", "opened", "condition"] = "timer"
    after_ms: int = 0
    at: str | None = None  # expression: milliseconds since the epoch
    name: str = ""
    filter: Value = None  # resolved when the wait opens, and then part of it; a null inside fails the firing
    match: str | None = None  # expression over `event` and `filter`; condition: over what the node may read
    interrupting: bool = True
    repeat_ms: int = 0
    times: int = 0  # how often a repeating trigger fires, 0 = while the firing is open; reopen: levels before it fails
    action: Literal["port", "fail", "skip", "value", "reopen"] = "port"
    value: Value = None  # may read `approvals`, `escalation_level`, `request_id` of a work item; reopen: new candidates
    code: str = "WAIT_TIMEOUT"
    again: bool = False  # fail: the node's retries count, and the firing is armed anew
    one: bool = False  # news from outside is for one run only: the first one whose wait it matches


class Work(_Part):
    """What a person or an agent must do."""

    agent: bool = False
    approve: bool = False
    approve_if: str | None = None  # expression over `draft`: given, an approval is needed only when it holds
    quorum: int = 0  # votes needed; 0 = one submit is enough
    all_of: bool = False  # every candidate must approve: as many votes as there are candidates, one for each target
    candidates: Value = None
    prompt: Value = None
    modes: bool = False  # the item has a mode: a person may take it from its agent, or give it to one (P-X.40)
    alone: bool = False  # while its effect is under way nobody else can do it, or answer for it


class Branch(_Part):
    key: str
    entry: str
    guard: str | None = None
    required: bool | None = None


class Body(_Part):
    """What a scope holds: children by key and index, each with its own tokens, counters and locals."""

    mode: Literal["one", "branches", "each", "each_seq", "loop"] = "one"
    branches: tuple[Branch, ...] = ()
    items: str | None = None
    entry: str = ""
    again: str | None = None
    until: str | None = None
    need: int = 0  # 0 = all
    timeout_ms: int | None = None
    on_fail: Literal["fail", "continue", "compensate"] = "fail"
    collect: Literal["object", "array", "outputs", "first", "last"] = "object"
    locals: tuple[str, ...] = ()
    fail_fast: bool = False  # each: the first child that fails ends the others; else they are waited for
    before: bool = False  # loop: `again` is asked before the first round, too
    #: Name → what is told under it: item and index in a child; done, failed, open, total, planned, last and round in
    #: the conditions. None: each under its own word.
    names: dict[str, str] | None = None


#: A set of this name sets every member of the object that its expression gives, each under its own name.
SPREAD = "*"


class Set(_Part):
    name: str
    expr: str = ""
    value: Value = None  # a value tree instead of an expression


class Node(_Part):
    """join → work → split."""

    id: str
    kind: Kind = "route"
    type: str = ""  # the author's word for it, shown to people
    label: str = ""
    origin: str = ""  # the author's node this one was lowered from, when it is not `id`
    scope: str = ""  # the scope node around it; "" = root
    priority: int = 1000  # smaller first
    join: Join = ALL
    split: Literal["all", "first", "every"] = "all"
    no_match: Literal["end", "incident"] = "incident"
    only_if: str | None = None  # expression: where it does not hold, the node is skipped
    port: str | None = None  # expression: the port a route leaves by
    value: Value = None  # what a route, start or end yields instead of what it took; a task: see `on_error`
    sets: tuple[Set, ...] = ()
    out: tuple[str, ...] = ()
    result: str | None = None  # the name of this node's output in the run's result
    max_iter: int | None = None
    at_max: Literal["forward", "absorb"] = "forward"  # what becomes of the first token beyond `max_iter`
    join_timeout_ms: int | None = None
    group: str = ""
    pool: str = ""  # each attempt needs a place of this pool
    place: str = ""  # this one and no other; "" = the first that is free
    off_path: bool = False
    # task, call, work
    effect: Effect | None = None
    retry: Retry = Retry()
    timeout_ms: int | None = None
    on_error: tuple[OnError, ...] = ()
    poll: Poll | None = None
    keeps_output: bool = False  # a failure whose detail has an `output` leaves that as the node's output
    undo: tuple[str, ...] = ()
    undo_on: tuple[str, ...] = ("failure", "cancel", "manual")
    undo_if: str | None = None
    undo_whole: bool = False  # scope: done as a whole, what was done in it has nothing of its own to undo any more
    undo_failed: bool = False  # a failure is booked, too: `undo_if` says whether it is undone
    on_final: Literal["here", "restart", "member"] = "here"  # member: a scope whose failed members say it
    late_success: Literal["ignore", "undo"] = "ignore"
    work: Work | None = None
    triggers: tuple[Trigger, ...] = ()
    body: Body | None = None
    ends: str = ""  # end: "", terminate, error:CODE, cancel:CODE, escalate:CODE, warn:CODE
    only: tuple[str, ...] = ()  # undo: these nodes only


class Edge(_Part):
    """A way for tokens. It never crosses a scope."""

    id: str
    src: str
    dst: str
    port: str = "done"
    guard: str | None = None
    default: bool = False
    raises: bool = False  # puts into epoch + 1
    role: Literal["plain", "start", "cond", "skip"] = "plain"
    transform: str | None = None  # expression over `body`
    ttl_ms: int | None = None
    capacity: int | None = None
    priority: int = 1000
    label: str = ""
    var: str = ""  # the name under which the target sees what came this way


class Pool(_Part):
    """Named places that attempts of nodes take while their effects are under way: one attempt a place, and at most
    `most` at once."""

    places: tuple[str, ...] = ()  # in the order in which they are given away
    most: int = 1


class RunRetry(_Part):
    max: int = 0
    delay_ms: int = 0


class Declares(_Part):
    """Names that expressions may use, beside node ids and reserved roots."""

    variables: dict[str, Any] = {}
    aliases: dict[str, str] = {}  # alias → node id, lowest priority
    config: dict[str, Any] = {}  # values that came in at release: calendars, configuration
    input_schema: Any = None
    carries: tuple[str, ...] = ()  # what of the tenant's settings a run takes along from its start: calendar, config
    version: int = 0  # the document's own
    secrets: dict[str, str] = {}  # name → where the author says that the value lies
    policies: dict[str, Any] = {}  # what the host does for a run: checkpoints, dead letters, audit; data for it alone


class Net(_Part):
    name: str
    language: str = "net"
    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    limits: dict[str, int] = {}
    pools: dict[str, Pool] = {}
    on_stuck: Literal["fail", "pause", "stop"] = "fail"  # stop: its pools give no place away until somebody says so
    on_fail: Literal["sweep", "drain"] = "sweep"
    undo_policy: Literal["stop", "continue", "group"] = "stop"
    run_retry: RunRetry = RunRetry()
    active_timeout_ms: int | None = None
    max_visits: int = 1000
    declares: Declares = Declares()
    tracks_origin: bool = False  # finished work can be done again as long as nothing was made of it (P-X.15)
    queued: bool = False  # a run waits, PENDING, until the host admits it; and again before every retry of the whole
    source_map: dict[str, Place] = {}  # node or edge id → place in the document; not part of the hash
