"""Work items: opened for people and agents, moved by them, voted on, and escalated when nobody decides."""

from __future__ import annotations

from typing import Any

from penstock.errors import ExprError, NodeNotFound, ProcessChanged, Refused, StatusConflict
from penstock.expr.calendar import moment_at, text_of_moment
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.flow import ExpressionFailed, ask, close, expr_failure, truth
from penstock.kernel.pool import queue_firing
from penstock.kernel.run import Run
from penstock.kernel.state import BACKOFF, DONE, EFFECT, SUSPENDED, Firing, Item
from penstock.kernel.sweep import stop_effect
from penstock.kernel.view import View
from penstock.lifecycle import MACHINES
from penstock.net.compiled import CNode, Resolve
from penstock.net.model import Work

ITEM = MACHINES["work_item"]
#: P-2.2.1: a person does it; an agent does it and a person approves; an agent does it
MODES = ("MANUAL", "SUPERVISED", "AUTONOMOUS")
VERBS = ("start", "submit", "approve", "reject", "vote", "take_over", "reassign", "rework", "set_mode")


def open_item(r: Run, node: CNode, firing: Firing, attempt: int) -> None:
    mode = first_mode(r, node)
    record_opened(r, node, firing, node.candidates, 0, mode)
    r.record((F.PHASE, firing.no, "suspended"))
    if for_agent(node, mode):
        start_agent(r, firing, attempt)


def first_mode(r: Run, node: CNode) -> str:
    """P-X.40: the mode of the definition, unless the run was started with another one; "" where there is none."""
    spec = node.spec.work
    if spec is None or not spec.modes:
        return ""
    given = (r.st.options.get("modes") or {}).get(node.spec.origin or node.id)
    if given is not None:
        return str(given)
    if not spec.agent:
        return "MANUAL"
    return "SUPERVISED" if spec.approve or spec.approve_if is not None else "AUTONOMOUS"


def check_modes(r: Run, modes: Any) -> None:
    """What a run is to be started with, before its first fact."""
    if type(modes) is not dict:
        raise Refused(why="modes are given as {activity: mode}")
    known = {n.spec.origin or n.id: n for n in r.net.nodes if n.spec.work is not None and n.spec.work.modes}
    for activity, mode in modes.items():
        if activity not in known:
            raise Refused(why=f"«{activity}» is no activity that has a mode", hint="Give the ids of its activities.")
        _check_mode(known[activity], mode)


def _check_mode(node: CNode, mode: Any) -> None:
    if mode not in MODES:
        raise Refused(why=f"a mode is {', '.join(MODES)}", hint="Write it in capitals.")
    if mode != "MANUAL" and node.effect is None:
        raise Refused(why=f"«{node.label}» has no agent")


def for_agent(node: CNode, mode: str) -> bool:
    return mode != "MANUAL" if mode else node.spec.work is not None and node.spec.work.agent


def with_person(r: Run, firing: Firing) -> bool:
    """Its mode says that no agent may be asked."""
    item = r.st.items.get(firing.no)
    return item is not None and item.mode == "MANUAL"


def start_agent(r: Run, firing: Firing, attempt: int) -> None:
    r.record((F.WORK_MOVED, firing.no, "IN_PROGRESS", "start", "agent", None, None))
    ask(r, firing, attempt)


def next_attempt(firing: Firing, item: Item) -> int:
    """The first one of a firing may not have been asked for: a person had the item."""
    return firing.attempt if firing.attempt > firing.base and not item.tried else firing.attempt + 1


def record_opened(r: Run, node: CNode, firing: Firing, candidates: Resolve, level: int, mode: str) -> None:
    try:
        view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
        prompt, who = node.prompt(view), candidates(view)
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error
    fact: F.Fact = (F.WORK_OPENED, firing.no, node.no, prompt, who, level)
    r.record((*fact, mode) if mode else fact)


def escalate(r: Run, node: CNode, firing: Firing, i: int) -> None:
    """Nobody decided in time: the item goes to the trigger's candidates, or to the same ones again. An agent is out."""
    item = r.st.items[firing.no]
    others = node.trigger_value[i] if node.spec.triggers[i].value is not None else node.candidates
    mode = item.mode if not item.mode or item.status == "SUBMITTED" else "MANUAL"
    record_opened(r, node, firing, others, item.level + 1, mode)
    r.record((F.WORK_MOVED, firing.no, ITEM.next(item.status, "escalate"), "escalate", None, None, None))
    if firing.phase != SUSPENDED or firing.blocked:
        r.record((F.PHASE, firing.no, "suspended"))


def needs_approval(r: Run, node: CNode, firing: Firing, draft: Any) -> bool:
    spec, mode = node.spec.work, r.st.items[firing.no].mode
    if mode and mode != "SUPERVISED":
        return False
    if node.approve_if is None:
        return bool(mode) or spec is not None and spec.approve
    view = View(r, r.st.scopes[firing.scope], firing.epoch, node, firing)
    view["draft"] = r.resolve_blob(draft)
    try:
        return truth(node.approve_if(view))
    except ExprError as error:
        raise ExpressionFailed(firing, expr_failure(error, node)) from error


# ---- the command -----------------------------------------------------------------------------------------------------


def move(r: Run, c: C.Command) -> None:
    """Somebody does something with an open item: one of VERBS."""
    _, no, verb, by, data, *rest = c
    comment = rest[0] if rest else None  # a command that was kept by an older version has none
    item, firing = r.st.items.get(no), r.st.firings.get(no)
    if item is None or firing is None:
        raise _not_open(r, no, verb)
    node = r.net.nodes[firing.node]
    spec = node.spec.work
    assert spec is not None
    if verb not in VERBS:
        raise Refused(why=f"«{verb}» is nothing to do with a work item", hint=f"Do one of {', '.join(VERBS)}.")
    check_version(r, no, item, rest)
    to = ITEM.next(item.status, verb)
    votes = bool(spec.quorum or spec.all_of)
    if verb == "submit" and votes or verb == "vote" and not votes:
        why = "it is decided by votes" if votes else "it is not put to the vote"
        hint = "Use `penstock approve` or `penstock reject`." if votes else "Answer it with `penstock respond`."
        raise Refused(why=why, hint=hint)
    if spec.alone and firing.phase in (EFFECT, BACKOFF) and not firing.blocked:
        why = f"«{node.label}» does it by itself and is at it"
        raise Refused(why=why, hint="Wait for it, or end what it has begun, such as the process that it calls.")
    r.strict = True
    if verb in ("start", "reassign", "take_over"):
        if verb in ("take_over", "reassign") and (firing.phase in (EFFECT, BACKOFF) or firing.blocked):
            _call_off(r, firing)
        by_hand = "MANUAL" if item.mode and verb != "start" else None
        if verb == "reassign" and type(data) is str:  # to whom
            r.record((F.WORK_MOVED, no, to, verb, by, None, None, comment, by_hand, None, data))
        else:
            record_moved(r, no, to, verb, by, comment, mode=by_hand)
    elif verb == "set_mode":
        _set_mode(r, firing, node, item, by, data, comment)
    elif verb == "vote":
        _vote(r, firing, item, spec, by, data)
    elif verb in ("reject", "rework"):
        if item.entry >= 0:
            r.record((F.LEDGER_MOVED, item.entry, "withdrawn", None, 0, None))
        record_moved(r, no, "REWORK", verb, by, comment)
        r.record((F.WORK_MOVED, no, "TODO", "redo", by, None, None))
        if for_agent(node, item.mode) and node.pool:  # what was handed in is no failure: retries count anew
            r.record((F.WORK_MOVED, no, "IN_PROGRESS", "start", "agent", None, None))
            if firing.node in r.st.wanted:  # what somebody wanted was done
                r.record((F.WANTED, firing.node, False))
            queue_firing(r, firing, firing.attempt + 1, firing.attempt, verb)
        elif for_agent(node, item.mode):
            start_agent(r, firing, firing.attempt + 1)
    else:
        _finish(r, firing, item, verb, by, data, comment)


def check_version(r: Run, no: int, item: Item, rest: list[Any]) -> None:
    """P-2.3.5: whoever decides on what they have seen does not decide on something else."""
    given = rest[1] if len(rest) > 1 else None
    if given is not None and item.version not in (0, given):
        raise ProcessChanged(what=f"Work item {r.st.run}~{no}", version=item.version, given=given)


def _set_mode(r: Run, firing: Firing, node: CNode, item: Item, by: str | None, mode: Any, comment: str | None) -> None:
    """P-X.40: while nobody has begun. An agent begins at once."""
    if not item.mode:
        raise Refused(why=f"«{node.label}» has no mode", hint="Only activities of a process have one.")
    _check_mode(node, mode)
    record_moved(r, firing.no, "TODO", "set_mode", by, comment, mode=mode)
    if mode != "MANUAL":
        start_agent(r, firing, next_attempt(firing, item))


def _call_off(r: Run, firing: Firing) -> None:
    """The agent is not to do it any more: not what it does now, and not what it would try again."""
    if firing.phase == EFFECT:
        stop_effect(r, firing, "taken_over")
    for timer in [t for t in firing.timers or () if r.st.timers[t].why == "retry"]:
        r.record((F.TIMER_GONE, timer, "disarmed"))
    r.record((F.PHASE, firing.no, "suspended"))


def _not_open(r: Run, no: Any, verb: str) -> Exception:
    """Closed items are out of the state; of the newest it is known how they ended."""
    status = r.st.closed_items.get(no)
    if status is None:
        return NodeNotFound(node=no, what="with a work item")
    allowed = [s for s in ITEM.sources(verb) if s not in ITEM.terminal]
    return StatusConflict(what="work item", status=status, verb=verb, allowed=allowed)


def record_moved(
    r: Run, no: int, to: str, verb: str, by: str | None, comment: str | None, *, mode: str | None = None
) -> None:
    """P-A.9: who did it, and why, stays readable in the history; when is the fact's own time."""
    fact: F.Fact = (F.WORK_MOVED, no, to, verb, by, None, None)
    if mode is not None:
        fact = (*fact, comment, mode)
    elif comment is not None:
        fact = (*fact, comment)
    r.record(fact)


def _decided(r: Run, by: str | None, comment: str | None) -> dict[str, Any] | None:
    """What the outcome tells of the one who decided."""
    if by is None and comment is None:
        return None
    return {"by": by, "comment": comment, "decided_at": r.now}


def _finish(r: Run, firing: Firing, item: Item, verb: str, by: str | None, data: Any, comment: str | None) -> None:
    """submit or approve: the item is done and the firing settles."""
    if firing.phase == EFFECT:
        stop_effect(r, firing, "taken_over")
    by_hand = "MANUAL" if verb == "submit" and item.mode else None
    output = _edited(r, item, data) if verb == "approve" else data
    record_moved(r, firing.no, "DONE", verb, by, comment, mode=by_hand)
    close(r, firing, DONE, output, meta=_decided(r, by, comment))


def _edited(r: Run, item: Item, data: Any) -> Any:
    """P-X.14: the draft; what the approver gives stands instead of it, or of those of its members that it names."""
    if data is None:
        return item.draft
    draft = r.resolve_blob(item.draft) if item.mode and type(data) is dict else None
    return {**draft, **data} if type(draft) is dict else data


# ---- votes -----------------------------------------------------------------------------------------------------------


def _vote(r: Run, firing: Firing, item: Item, spec: Work, by: str | None, data: Any) -> None:
    """The first rejection decides, and so does the last approval that is needed; until then the item stays open."""
    if not by:
        raise Refused(why="a vote needs to say who votes")
    if by in item.votes:
        raise Refused(why=f"{by} has voted {item.votes[by]['vote']} already")
    vote = read_vote(data, r.now)
    votes = {**item.votes, by: vote}
    r.record((F.WORK_MOVED, firing.no, "IN_PROGRESS", "vote", by, None, votes))
    rejected = vote["vote"] == "rejected"
    if rejected or enough(votes, spec, item.candidates):
        if firing.phase == EFFECT:
            stop_effect(r, firing, "decided")
        record_moved(r, firing.no, "DONE", "decide", by, vote["comment"])
        output = decision(r, firing, item, "rejected" if rejected else "approved", by)
        meta = _decided(r, by, vote["comment"])
        close(r, firing, DONE, output, port="rejected" if rejected else None, meta=meta)


def read_vote(data: Any, now: int) -> dict[str, Any]:
    answer = data if type(data) is dict else {"vote": data}
    if answer.get("vote") not in ("approved", "rejected"):
        raise Refused(why="a vote is «approved» or «rejected»")
    vote = {"vote": answer["vote"], "comment": answer.get("comment"), "at": now}
    more = {name: answer[name] for name in ("target", "value") if answer.get(name) is not None}
    return {**vote, **more} if more else vote


def enough(votes: dict[str, dict[str, Any]], spec: Work, candidates: Any) -> bool:
    """C-32: so many distinct people; where everybody has to approve, each target by another one."""
    approved = {by: v.get("target") or by for by, v in votes.items() if v["vote"] == "approved"}
    if len(approved) < max(spec.quorum, 1):
        return False
    who = candidates.get("targets") if type(candidates) is dict else candidates
    return not spec.all_of or len(set(approved.values())) >= (len(who) if isinstance(who, list | tuple) else 1)


def moment(millis: int) -> str:
    return text_of_moment(moment_at(millis))


def approvals(item: Item) -> list[dict[str, Any]]:
    """W-4.6.7: who decided what, in the order in which they did."""
    return [
        {"user": by, "target": v.get("target"), "decision": v["vote"], "comment": v["comment"], "at": moment(v["at"])}
        for by, v in item.votes.items()
    ]


def decision(r: Run, firing: Firing, item: Item, status: str, by: str | None = None) -> dict[str, Any]:
    """What a vote yields; without a decider its time has run out."""
    return decided(item, status, by, r.now, f"{r.st.run}/{r.firing_id(firing)}")


def decided(item: Item, status: str, by: str | None, now: int, request_id: str) -> dict[str, Any]:
    """W-4.6, W-4.6.7. What a form has asked the decider besides goes under its own names, never in place of these."""
    filled = item.votes[by].get("value") if by is not None else None
    return {
        **(filled if type(filled) is dict else {}),
        "status": status,
        "approver": by,
        "comment": item.votes[by]["comment"] if by is not None else None,
        "approved_at": moment(now) if status == "approved" else None,
        "approvals": approvals(item),
        "timed_out": by is None,
        "escalation_level": item.level,
        "request_id": request_id,
    }
