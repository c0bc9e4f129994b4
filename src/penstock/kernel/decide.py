"""decide: a command becomes facts, or is refused. Refusals come before the first fact wherever they can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import ExprError, FactsLimit, MigrationBlocked, NodeNotFound, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure, kept_output
from penstock.kernel.firing import fire_by_hand
from penstock.kernel.flow import ExpressionFailed, ask, close, expr_failure, set_timer, settle
from penstock.kernel.kinds import scope as scope_kind
from penstock.kernel.ledger import book_draft, lineage_of
from penstock.kernel.migrate import plan as plan_migration
from penstock.kernel.pool import queue_firing
from penstock.kernel.pool_commands import attempt_now, execute, limit
from penstock.kernel.ready import tokens_at
from penstock.kernel.region import view_of
from penstock.kernel.reopen import admit, bring_back, fire_starts, reopen
from penstock.kernel.retry import fail
from penstock.kernel.rework import rework_done
from penstock.kernel.run import Run
from penstock.kernel.saga import applies, finish_cancel, first_failure, plan
from penstock.kernel.state import (
    BACKOFF,
    COMPENSATING,
    COMPLETED,
    CREATED,
    DONE,
    EFFECT,
    FAILED,
    INTERRUPTED,
    PHASE,
    RUNNING,
    SKIPPED,
    STATUS,
    WAITING,
    Firing,
)
from penstock.kernel.sweep import stop_effect, sweep
from penstock.kernel.token import Envelope
from penstock.kernel.trigger import matches, pull
from penstock.kernel.view import failure_view
from penstock.kernel.work_item import ITEM, check_modes, move, needs_approval, open_item
from penstock.lifecycle import MACHINES
from penstock.net.compiled import EPOCH, MOST, SCOPE, CNode, Compiled

RUN_MOVES = MACHINES["run"]


def start(r: Run, c: C.Command) -> None:
    options = c[7]
    if r.st.status != CREATED:
        raise Refused(why=f"run {r.st.run} has started already")
    if options.get("modes") is not None:
        check_modes(r, options["modes"])
    record_started(r, c)
    if options.get("limits"):
        r.limits = {**r.net.limits, **options["limits"]}
    if r.net.queued:
        r.record((F.MOVED, "PENDING", "schedule", None))
        return
    fire_starts(r)


def record_started(r: Run, c: C.Command) -> None:
    _, run, tenant, seed, trace, parent, given, options = c
    fact: F.Fact = (F.STARTED, run, tenant, r.net.hash, seed, trace, parent, given, options)
    tracks, queued = r.net.net.tracks_origin, r.net.queued
    r.record((*fact, tracks, True) if queued else (*fact, True) if tracks else fact)


def outcome(r: Run, c: C.Command) -> None:
    """The world has answered. Late or double answers change nothing."""
    _, no, attempt, probe, ending, body, content_type, meta = c
    firing = r.st.firings.get(no)
    if firing is None or firing.phase != EFFECT or firing.attempt != attempt or firing.probe != probe:
        _late(r, no, attempt, probe, ending, body)
        return
    node = r.net.nodes[firing.node]
    if ending == C.OK and node.spec.poll is None and node.spec.work is None:
        if firing.kids or r.st.undo is not None or r.st.items:
            close(r, firing, DONE, body, content_type=content_type, meta=meta, fuse=True)
        else:  # it holds nothing that would have to be closed with it
            settle(r, firing, node, DONE, body, content_type=content_type, meta=meta, fuse=True)
    elif ending == C.OK:
        r.record((F.ANSWERED, no, attempt, probe, "done", None, None))
        _answered(r, firing, node, body, content_type, meta)
    elif firing.stopping or ending == C.BACK:
        _ended_early(r, firing, node, ending, body)
    elif ending == C.SKIP:
        r.record((F.ANSWERED, no, attempt, probe, "skipped", None, None))
        close(r, firing, SKIPPED, None, meta={"skip_reason": body})
    else:
        _failed(r, firing, node, body)


def _ended_early(r: Run, firing: Firing, node: CNode, ending: int, body: Any) -> None:
    """Its executor was told to end it, or has found that it is not under way any more: it is over, or is asked for
    anew and counts as no retry."""
    failure = body if ending == C.BAD else None
    told = "returned" if ending == C.BACK else "failed" if failure is not None else "skipped"
    why, attempt = firing.stopping, firing.attempt
    r.record((F.ANSWERED, firing.no, attempt, firing.probe, told, None, failure))
    if why == "cancel":
        _interrupt(r, firing)
    elif node.pool:
        queue_firing(r, firing, attempt + 1, firing.base + 1, why or str(body or "returned"))
    else:
        ask(r, firing, attempt + 1)


def _late(r: Run, no: int, attempt: int, probe: int, ending: int, body: Any) -> None:
    """Nobody waits for it. A late success of something that can be undone is told, and maybe booked."""
    lost = r.st.dropped.get(no)
    if lost is not None and (lost.attempt, lost.probe) != (attempt, probe):
        lost = None
    node = r.net.nodes[lost.node] if lost is not None else None
    late = node is not None and bool(node.undo) and ending == C.OK
    r.record((F.IGNORED, "outcome", "unknown" if no >= r.st.next_firing else "superseded", no, late))
    if lost is None or node is None or not late:
        return
    r.record((F.INCIDENT, "LATE_SUCCESS", node.id, {"firing": no}))
    booked = any((e.firing == no or e.id == lost.id) and e.status != "withdrawn" for e in r.st.ledger)
    if node.spec.late_success == "undo" and not booked:
        r.record((F.LEDGER_ADDED, no, lost.node, lost.scope, lost.path, body, lineage_of(r, lost.scope), lost.id))


def _failed(r: Run, firing: Firing, node: CNode, failure: Failure) -> None:
    poll = node.spec.poll
    if poll is not None and poll.max_errors and firing.errors < poll.max_errors:
        r.record((F.ANSWERED, firing.no, firing.attempt, firing.probe, "failed", None, failure))
        _probe_later(r, firing, poll.every_ms)
        return
    body, failure = kept_output(failure) if node.spec.keeps_output else (None, failure)
    r.record((F.ANSWERED, firing.no, firing.attempt, -1, "failed", None, failure))
    fail(r, firing, _unreachable(node, failure) if poll is not None and poll.max_errors else failure, body=body)


def _unreachable(node: CNode, last: Failure) -> Failure:
    """C-38, C-80: whoever is polled has failed too often in a row; the last failure is told."""
    message = f"«{node.label}» asks in vain; at last: {last.code}: {last.message}"
    return Failure("POLL_UNREACHABLE", "external", message, node.id, {"cause": failure_view(last)})


def _answered(r: Run, firing: Firing, node: CNode, body: Any, content_type: str | None, meta: Any) -> None:
    poll = node.spec.poll
    if poll is not None:
        view = view_of(r, firing, node)
        view["response"] = r.resolve_blob(body)
        try:
            if node.fail_if is not None and node.fail_if(view) is True:
                failure = Failure("POLL_FAILURE_STATUS", "permanent", "the polled status means failure", node.id, body)
                return fail(r, firing, failure)
            if node.until is not None and node.until(view) is not True:
                return _probe_later(r, firing, poll.every_ms)
        except ExprError as error:
            raise ExpressionFailed(firing, expr_failure(error, node)) from error
    if node.spec.work is not None and needs_approval(r, node, firing, body):
        fact: F.Fact = (F.WORK_MOVED, firing.no, "SUBMITTED", "submit_for_approval", "agent", body, None)
        # how the draft came about is read by whoever approves it
        r.record((*fact, None, None, None, None, meta) if meta else fact)
        book_draft(r, firing, node, body)
        return r.record((F.PHASE, firing.no, "suspended"))
    return close(r, firing, DONE, body, content_type=content_type, meta=meta, fuse=True)


def _probe_later(r: Run, firing: Firing, every_ms: int) -> None:
    r.record((F.PHASE, firing.no, "suspended"))
    set_timer(r, r.now + every_ms, "poll", firing.no, firing.probe + 1)


def signal(r: Run, c: C.Command) -> None:
    _, sid, name, payload, broadcast, *unkept = c
    if sid and sid in r.st.seen:
        r.record((F.IGNORED, "signal", "duplicate", sid))
        return
    if unkept and not _wanted(r, name, payload):
        r.record((F.IGNORED, "signal", "unwanted", sid))
        return
    if sid:
        r.record((F.SEEN, sid))
    else:
        sid = f"#{r.st.n}"
    hit = False
    for no in list(r.st.waits):
        wait = r.st.waits.get(no)
        if wait is None or wait.name != name:
            continue
        firing = r.st.firings[wait.firing]
        if matches(r, firing, r.net.nodes[firing.node], wait, payload):
            r.record((F.SIGNAL_USED, sid, no))
            hit = True
            pull(r, firing, wait.trigger, payload)
            if not broadcast:
                break
    if not hit:
        r.record((F.SIGNAL_KEPT, sid, name, payload))


def _wanted(r: Run, name: str, payload: Any) -> bool:
    for wait in r.st.waits.values():
        firing = r.st.firings[wait.firing]
        if wait.name == name and matches(r, firing, r.net.nodes[firing.node], wait, payload):
            return True
    return False


def work(r: Run, c: C.Command) -> None:
    if c[2] == "rework" and c[1] not in r.st.items and r.st.closed_items.get(c[1]) == "DONE" and r.st.tracks:
        rework_done(r, c)
    else:
        move(r, c)


def cancel(r: Run, c: C.Command) -> None:
    mode = c[1]
    st = r.st
    if st.status >= COMPLETED or st.undo is not None and st.undo.then != "firing" or st.status == COMPENSATING:
        raise StatusConflict(what="run", status=STATUS[st.status], verb="cancel", allowed="PENDING, RUNNING, WAITING")
    if st.draining in ("boundary", "now"):
        r.record((F.IGNORED, "cancel", "already", mode))
        return
    if mode == "boundary" and st.asked:
        r.record((F.DRAINING, "boundary", None))
        return
    finish_cancel(r, mode)


def pause(r: Run, c: C.Command) -> None:
    if r.st.paused:
        r.record((F.IGNORED, "pause", "already", None))
    else:
        r.record((F.PAUSED, True, c[1]))


def resume(r: Run, c: C.Command) -> None:
    if not r.st.paused:
        raise Refused(why="the run is not paused")
    if r.st.n >= r.caps.facts:
        raise FactsLimit(facts=r.st.n, most=r.caps.facts)
    r.record((F.PAUSED, False, "operator"))
    r.ask_everything()


def retry(r: Run, c: C.Command) -> None:
    st = r.st
    if c[2]:
        _unpark(r, c[2])
        return
    blocked = [f for f in st.firings.values() if f.blocked]
    if blocked and st.status < COMPLETED:
        for firing in blocked:
            item = st.items.get(firing.no)
            if item is not None and ITEM.allows(item.status, "retry"):
                r.record((F.WORK_MOVED, firing.no, ITEM.next(item.status, "retry"), "retry", None, None, None))
            ask(r, firing, firing.attempt + 1)
        return
    if st.status != FAILED or st.reopen is None:
        raise StatusConflict(
            what="run", status=STATUS[st.status], verb="retry", allowed="FAILED, with a node that can be revived"
        )
    reopen(r, 0, c[1])


def _unpark(r: Run, no: int) -> None:
    """One firing that failed and went on by a port, while the run goes on."""
    st = r.st
    was = st.parked.get(no)
    if was is None:
        raise NodeNotFound(node=no, what="that has failed and can be revived")
    if st.status not in (RUNNING, WAITING) or st.draining:
        status = "ending" if st.draining else STATUS[st.status]
        raise StatusConflict(what="run", status=status, verb="retry", allowed="RUNNING, WAITING")
    group = r.net.nodes[was.node].group
    if group and not r.room(group):
        raise Refused(why=f"«{group}» has no room for one more")
    bring_back(r, no, was.attempt)


def revive(r: Run, firing: Firing, node: CNode) -> None:
    if node.spec.work is not None:
        open_item(r, node, firing, firing.attempt + 1)
    elif node.effect is not None:
        ask(r, firing, firing.attempt + 1)
    elif node.kind == SCOPE:
        scope_kind.revive(r, node, firing)


def compensate(r: Run, c: C.Command) -> None:
    st = r.st
    if st.undo is not None:
        r.record((F.IGNORED, "compensate", "running", None))
        return
    cause, only = first_failure(st.failure), tuple(c[1])
    if not any(applies(r, e, "manual", None, cause, only, in_flight=True) for e in st.ledger):
        r.record((F.IGNORED, "compensate", "nothing_left", None))
        return
    RUN_MOVES.next(STATUS[st.status], "compensate")
    if st.status < COMPLETED:
        sweep(r, st.scopes[0], "compensated", keep=True)
    if not plan(r, "manual", "COMPENSATED", failure=cause, only=only):
        r.record((F.IGNORED, "compensate", "nothing_left", None))


def resolve(r: Run, c: C.Command) -> None:
    _, no, output = c
    firing = _firing(r, no)
    r.strict = True
    if firing.phase == EFFECT:
        stop_effect(r, firing, "resolved")
    close(r, firing, DONE, output, meta={"resolved": True})


def cancel_firing(r: Run, c: C.Command) -> None:
    _interrupt(r, _firing(r, c[1]))


def _interrupt(r: Run, firing: Firing) -> None:
    if firing.phase == EFFECT:
        stop_effect(r, firing, "cancelled")
    port = "cancelled" if "cancelled" in r.net.nodes[firing.node].ports else "-"
    close(r, firing, INTERRUPTED, None, port=port, why="cancelled")


def _firing(r: Run, named: int | str) -> Firing:
    """By number; or by the id of a node: what works there, or what rests before it is taken as if it had been ready."""
    if type(named) is str:
        node = r.net.by_id.get(named)
        firing = None if node is None else _at_node(r, node)
    else:
        firing = r.st.firings.get(named)  # type: ignore[arg-type]
    if firing is None:
        raise NodeNotFound(node=named, what=f"with an open firing ({', '.join(PHASE)}) or a token before it")
    return firing


def _at_node(r: Run, node: CNode) -> Firing | None:
    """The oldest firing; else the tokens of the oldest scope and epoch that has any."""
    for firing in r.st.firings.values():
        if firing.node == node.no and firing.comp < 0:
            return firing
    ways = {e.no for e in node.ins}
    for scope in r.st.scopes.values():
        epochs = [place >> EPOCH for place in scope.tokens if place & (MOST - 1) in ways]
        if epochs:
            return fire_by_hand(r, node, scope, min(epochs), tokens_at(node, scope, min(epochs)))
    return None


def migrate(r: Run, c: C.Command) -> None:
    """`c[1]` is the new compiled net, or its hash. The index is worked out again by the caller."""
    _, new, nodes, edges, *marking = c
    puts, drops = marking or ([], [])
    if type(new) is str:
        new = r.net_of(new)
        if new is None:
            raise MigrationBlocked(why="the new version is not released here")
    if r.st.status == COMPENSATING:
        raise MigrationBlocked(why="the run is compensating")
    moves = plan_migration(r.net, new, r.st, nodes, edges, puts, drops)
    if moves.obstacles:
        raise MigrationBlocked(why="; ".join(moves.obstacles))
    _drop_tokens(r, drops)
    images = {a: b for a, b in moves.nodes}  # noqa: C416 (pairs are lists)
    names = {}
    for no, firing in r.st.firings.items():
        now = r.firing_id(firing)
        tail = f"!{firing.comp}" if firing.comp >= 0 else ""
        node = new.nodes[images.get(firing.node, firing.node)].id
        natural = f"{node}@{r.scope_id(firing.scope)}~{firing.epoch}#{firing.visit}{tail}"
        if firing.name or natural != now:
            names[no] = "" if natural == now else now
    r.record((F.MIGRATED, new.hash, r.net.hash, moves.nodes, moves.edges, names))
    _put_tokens(r, new, puts)


def _drop_tokens(r: Run, edges: list[str]) -> None:
    gone = {r.net.edge_by_id[id].no for id in edges if id in r.net.edge_by_id}
    for scope in r.st.scopes.values():
        for place in [place for place in scope.tokens if place & (MOST - 1) in gone]:
            seqs = [token.seq for token in scope.tokens[place]]
            r.record((F.ABSORBED, scope.no, place & (MOST - 1), place >> EPOCH, seqs, "migrated", 0, -1))


def _put_tokens(r: Run, new: Compiled, edges: list[str]) -> None:
    """On ways that the new net has and that nothing would put them on any more: with the run's own input."""
    root = r.st.scopes[0]
    for id in edges:
        edge = new.edge_by_id[id]
        envelope = Envelope(r.st.input, edge.src.no, 0, 0, r.now)
        seq = root.seqs.get(edge.no, 0) or root.most_seqs.get(edge.no, 0)
        r.record((F.PUT, edge.no, 0, 0, seq, envelope, None, None))


def set_variable(r: Run, c: C.Command) -> None:
    """A name that a node has given its output is set under that name: else nobody would see the change."""
    values = {c[1]: c[2]}
    r.record((F.SETS, values, True) if c[1] in r.st.names else (F.SETS, values))


def nudge(r: Run, c: C.Command) -> None:
    r.ask_everything()


def stop(r: Run, c: C.Command) -> None:
    _, id, why = c
    if why not in ("cancel", "put_back"):
        raise Refused(why=f"«{why}» is no way to stop something", hint="Use cancel or put_back.")
    if why == "put_back" and (wanted := r.net.by_id.get(id)) is not None and wanted.no in r.st.wanted:
        r.record((F.WANTED, wanted.no, False))  # else it would begin again at once, though its pool is stopped
    node = r.net.by_id.get(id)
    at_work = (f for f in r.st.firings.values() if node is not None and f.node == node.no and f.comp < 0)
    firing = next(at_work, None) or (_firing(r, id) if why == "cancel" or node is None else None)
    if firing is None:
        r.record((F.IGNORED, "stop", "not_under_way", id))
    elif firing.phase == EFFECT:
        if firing.stopping == why:
            r.record((F.IGNORED, "stop", "already", firing.no))
            return
        r.record((F.STOPPING, firing.no, why))
        r.tells.append(firing.no)
    elif why == "cancel":
        _interrupt(r, firing)
    elif firing.phase == BACKOFF:
        attempt_now(r, firing)
    else:
        r.record((F.IGNORED, "stop", "not_under_way", firing.no))


def doubt(r: Run, c: C.Command) -> None:
    """Neither done nor failed: the firing waits for an operator's resolve or retry."""
    _, no, attempt, probe = c
    firing = r.st.firings.get(no)
    if firing is None or firing.phase != EFFECT or firing.attempt != attempt or firing.probe != probe:
        r.record((F.IGNORED, "doubt", "superseded", no))
        return
    r.record((F.ANSWERED, no, attempt, probe, "in_doubt", None, None))
    block(r, firing, "IN_DOUBT", None)
    r.record((F.INCIDENT, "IN_DOUBT", r.net.nodes[firing.node].id, {"attempt": attempt}))


def block(r: Run, firing: Firing, why: str, answer: Any) -> None:
    """A firing waits for an operator. Its work item tells why, and what its agent has said (P-X.11)."""
    r.record((F.PHASE, firing.no, "blocked"))
    item = r.st.items.get(firing.no)
    if item is not None and ITEM.allows(item.status, "block"):
        to = ITEM.next(item.status, "block")
        r.record((F.WORK_MOVED, firing.no, to, "block", None, answer, None, None, None, why))


Decide = Callable[[Run, C.Command], None]
#: by tag; `tick` is the loop's own (step.py), since it runs to quiet between two timers
DECIDE: dict[int, Decide] = {
    C.START: start, C.OUTCOME: outcome, C.SIGNAL: signal, C.WORK: work, C.CANCEL: cancel, C.PAUSE: pause, C.RESUME:
    resume,
    C.RETRY: retry, C.COMPENSATE: compensate, C.RESOLVE: resolve, C.CANCEL_FIRING: cancel_firing, C.MIGRATE: migrate,
    C.SET: set_variable, C.NUDGE: nudge, C.DOUBT: doubt, C.ADMIT: admit, C.LIMIT: limit, C.EXECUTE: execute,
    C.STOP: stop,
}  # fmt: skip
