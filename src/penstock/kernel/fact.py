"""Facts: what happened, as plain tuples (tag, …) whose fields one table names.

A fact holds numbers, not names, and never a guard or a clock: the chosen edge, the transformed value, the absolute
due time. Two things are born together so often that they share a fact: `fired_via` is a token put and taken at once,
`passed` is a control node that fires and settles at once. Readers see both halves (`reading.py`), under one number.
"""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.net import compiled

Fact = tuple[Any, ...]

(
    STARTED, PUT, FIRED, FIRED_VIA, PASSED, ASKED, ANSWERED, ATTEMPT_FAILED, SETTLED, NAMED, SETS, RESULT, DEAD,
    ABSORBED, REARMED,
    FORWARDED, TIMER_SET, TIMER_GONE, WAIT_OPENED, WAIT_GONE, SIGNAL_KEPT, SIGNAL_USED, SIGNAL_EXPIRED, SEEN,
    WORK_OPENED,
    WORK_MOVED, PHASE, SCOPE_OPENED, SCOPE_CLOSED, SCOPE_FORGOTTEN, SWEPT, LEDGER_ADDED, LEDGER_MOVED, UNDO_PLANNED,
    UNDO_STEP,
    UNDO_AT, UNDO_ENDED, REVIVED, REOPENED, PAUSED, MOVED, DRAINING, INCIDENT, IGNORED, MIGRATED, FORKED, FORGOT,
    LOCALS, FANNED, QUEUED, LIMITED, WANTED, STOPPING, CONDITION,
) = range(54)  # fmt: skip

#: name and fields of every fact, by tag. `takes` is a list of edges, one entry per token; an empty list takes nothing.
FIELDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("run.started", ("run", "tenant", "net", "seed", "trace", "parent", "input", "options", "tracks", "queued")),
    ("put", ("edge", "scope", "epoch", "seq", "envelope", "path", "passed")),
    ("fired", ("firing", "node", "scope", "epoch", "visit", "takes", "owed", "flags", "comp", "path")),
    ("fired", ("firing", "node", "scope", "epoch", "visit", "edge", "seq", "flags")),
    ("passed", ("firing", "node", "scope", "epoch", "visit", "takes", "via", "seq", "body", "port", "flags")),
    ("effect.asked", ("firing", "attempt", "probe", "args", "place")),
    ("effect.answered", ("firing", "attempt", "probe", "status", "output", "failure")),
    ("attempt.failed", ("firing", "attempt", "failure", "next_at")),
    (
        "settled",
        ("firing", "status", "port", "node", "attempt", "started", "body", "content_type", "meta", "failure", "flags"),
    ),
    ("named", ("names",)),
    ("sets", ("values", "named")),
    ("result", ("name",)),
    ("dead", ("scope", "places")),
    ("absorbed", ("scope", "edge", "epoch", "seqs", "why", "owed_key", "owed_visit")),
    ("rearmed", ("scope", "key", "visit", "edges")),
    ("forwarded", ("scope", "key", "node", "path", "passed")),
    ("timer.set", ("timer", "due", "why", "firing", "data")),
    ("timer.gone", ("timer", "why")),
    ("wait.opened", ("wait", "firing", "trigger", "name", "filter")),
    ("wait.gone", ("wait", "why")),
    ("signal.kept", ("id", "name", "payload")),
    ("signal.used", ("id", "wait")),
    ("signal.expired", ("id",)),
    ("seen", ("id",)),
    ("work.opened", ("firing", "node", "prompt", "candidates", "level", "mode")),
    ("work.moved", ("firing", "to", "event", "by", "draft", "votes", "comment", "mode", "why", "target", "meta")),
    ("phase", ("firing", "phase", "attempt")),
    ("scope.opened", ("scope", "parent", "firing", "key", "index", "vars", "required")),
    ("scope.closed", ("scope", "status", "failure")),
    ("scope.forgotten", ("scopes",)),
    ("swept", ("scope", "why", "firings", "tokens", "scopes", "status", "effects", "timers", "ids")),
    ("ledger.added", ("firing", "node", "scope", "path", "output", "lineage", "id")),
    ("ledger.moved", ("entry", "status", "output", "firing", "path")),
    ("undo.planned", ("steps", "why", "then", "firing", "failure")),
    ("undo.step", ("entry", "status")),
    ("undo.at", ("at", "part")),
    ("undo.ended", ("result",)),
    ("revived", ("firing", "base")),
    ("run.reopened", ("how", "retries", "fresh")),
    ("paused", ("on", "why")),
    ("run.moved", ("to", "event", "failure")),
    ("draining", ("how", "failure")),
    ("incident", ("code", "node", "detail")),
    ("ignored", ("command", "why", "what", "late")),
    ("migrated", ("net", "was", "nodes", "edges", "names")),
    ("forked", ("run", "origin", "at_fact", "trace")),
    ("forgot", ("scope", "below")),
    ("locals", ("scope", "values")),
    ("fanned", ("firing", "items")),
    ("queued", ("firing", "attempt", "base", "why")),
    ("limited", ("pool", "most", "why")),
    ("wanted", ("node", "on")),
    ("stopping", ("firing", "why")),
    ("condition", ("firing", "trigger", "holds")),
)

# flags of fired and passed
USED_START, ENTERED, ABSORBING, RELAXED, KEEP, OWN_BODY, FROM_INPUT = 1, 2, 4, 8, 16, 32, 64
# flags of settled, beside those that the net knows
KEEP_RECORD, SEALS = compiled.KEEP_RECORD, compiled.SEALS
REOPENABLE, PARKED = 2, 4

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[list[Any]])
encode_facts = _encoder.encode
decode_facts = _decoder.decode


def name_of(fact: Fact | list[Any]) -> str:
    return FIELDS[fact[0]][0]


def fields_of(fact: Fact | list[Any]) -> dict[str, Any]:
    return dict(zip(FIELDS[fact[0]][1], fact[1:], strict=False))
