"""The commands: what a turn is asked to do. A command may be refused; then it leaves no fact."""

from __future__ import annotations

from tests.model.migrate import plan_migration
from tests.model.net import Node
from tests.model.state import TERMINAL, canon
from tests.model.trigger import moment
from tests.model.turn import Turn


class Refused(Exception):
    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(f"{code} {message}")
        self.code = code


def require(holds: object, code: str, message: str = "") -> None:
    if not holds:
        raise Refused(code, message)


# ---------------------------------------------------------------- start, answers, time, news
def start(turn: Turn, command: dict) -> None:
    require(not turn.state["status"], "ALREADY_STARTED")
    say_started(turn, command)
    fire_starts(turn)


def say_started(turn: Turn, command: dict) -> None:
    run = command["run"]
    about = {"net": turn.net.hash, "seed": command.get("seed", run), "input": command.get("input")}
    about["tracks"] = turn.net.tracks
    turn.say("run.started", run=run, at=turn.now, **about)


def fire_starts(turn: Turn) -> None:
    for node in turn.net.starts():
        turn.fire(node, "", 0, [])


def outcome(turn: Turn, command: dict) -> None:
    effect = turn.state["effects"].get(command["effect"])
    if effect is None:
        late_outcome(turn, command)
        return
    fid = effect["firing"]
    firing = turn.state["firings"][fid]
    node = turn.net.node[firing["node"]]
    told = {name: command.get(name) for name in ("effect", "status", "output", "failure")}
    turn.say("effect.answered", **told)
    if command["status"] == "failed":
        failed_outcome(turn, fid, firing, node, command["failure"])
    elif command["status"] == "skipped":
        turn.close(fid, "skipped", None)
    elif node.poll:
        probed(turn, fid, firing, node, command.get("output"))
    else:
        done_outcome(turn, fid, firing, node, command.get("output"))


def late_outcome(turn: Turn, command: dict) -> None:
    """Nobody waits for it. A late success of something that can be undone is told, and maybe booked."""
    name = command["effect"]
    lost = turn.state["dropped"].get(name)
    known = lost is not None or name in turn.state["answered"]
    node = turn.net.node[lost["node"]] if lost else None
    late = bool(node and node.undo and command["status"] == "done")
    why = "superseded" if known else "unknown"
    turn.say("ignored", command="outcome", effect=name, why=why, status=command["status"], late=late)
    if not late:
        return
    turn.say("incident", code="LATE_SUCCESS", node=node.id, detail={"effect": name})
    booked = any(e["firing"] == lost["firing"] and e["status"] != "withdrawn" for e in turn.state["ledger"])
    if node.late_success == "undo" and not booked:
        turn.add_entry(lost["firing"], lost, command.get("output"))


def failed_outcome(turn: Turn, fid: str, firing: dict, node: Node, failure: dict) -> None:
    """A failed probe is waited out as long as there are not too many in a row."""
    errors = firing["errors"] + 1
    if node.poll and errors <= node.poll.max_errors:
        poll_again(turn, fid, firing, node, errors)
    elif node.poll and node.poll.max_errors:
        turn.fail(fid, {"code": "POLL_UNREACHABLE", "category": "external"})
    else:
        turn.fail(fid, failure)


def probed(turn: Turn, fid: str, firing: dict, node: Node, response: object) -> None:
    view = turn.view(firing["scope"], response=response)
    if node.poll.fail_if and node.poll.fail_if(view):
        turn.fail(fid, {"code": "POLL_FAILURE_STATUS", "category": "permanent"})
    elif node.poll.until(view):
        done_outcome(turn, fid, firing, node, response)
    else:
        poll_again(turn, fid, firing, node, errors=0)


def poll_again(turn: Turn, fid: str, firing: dict, node: Node, errors: int) -> None:
    turn.say("probed", firing=fid, errors=errors)
    probe = firing["probe"] + 1
    turn.set_timer(f"{fid}/p{probe}", node.poll.every, "poll", firing=fid, data=probe)


def done_outcome(turn: Turn, fid: str, firing: dict, node: Node, output: object) -> None:
    if node.kind == "work" and needs_approval(turn, fid, node, output):  # a draft: it waits, and it is booked
        turn.say("work.moved", item=fid, to="SUBMITTED", draft=output)
        turn.book_draft(fid, firing, output)
        turn.say("phase", firing=fid, phase="suspended")
    else:
        turn.close(fid, "done", output)


def needs_approval(turn: Turn, fid: str, node: Node, draft: object) -> bool:
    mode = turn.state["items"][fid]["mode"]
    if mode and mode != "SUPERVISED":
        return False
    if node.approve_if is None:
        return node.approve or bool(mode)
    return node.approve_if(turn.view(turn.state["firings"][fid]["scope"], draft=draft)) is True


def due(turn: Turn, command: dict) -> None:
    name = command["timer"]
    timer = turn.state["timers"].get(name)
    if timer is None:
        turn.say("ignored", command="due", timer=name, why="gone")
        return
    require(turn.now >= timer["due"], "TOO_EARLY")
    turn.say("timer.gone", timer=name, why="fired")
    fid = timer["firing"]
    if timer["why"] == "retry":
        turn.ask(fid, timer["data"])
    elif timer["why"] == "poll":
        turn.ask(fid, turn.state["firings"][fid]["attempt"], probe=timer["data"])
    elif timer["why"] == "trigger":
        turn.timer_fired(timer)
    elif timer["why"] == "join":
        for scope in turn.open_children(fid):
            turn.sweep(scope, "timeout")
        node = turn.net.node[turn.state["firings"][fid]["node"]]
        turn.scope_verdict(fid, node, {"code": "JOIN_TIMEOUT", "category": "timeout"})
    elif timer["why"] == "join_timeout":
        turn.join_timed_out(*timer["data"])
    elif timer["why"] == "ttl":
        turn.expire(timer["data"])
    elif timer["why"] == "active":
        turn.run_failed({"code": "WORKFLOW_TIMEOUT", "category": "timeout"})
    elif timer["why"] == "run_retry":
        reopen(turn, turn.state["run_retries"] + 1, how_to_go_on(turn, turn.state["reopen"]))


def how_to_go_on(turn: Turn, failed: dict) -> str:
    """In a group its failed members say how; one that wants the whole again decides."""
    how = turn.net.node[failed["node"]].on_final
    if how != "member":
        return how
    failures = [turn.state["scopes"][s]["failure"] for s in turn.children(failed["firing"])]
    nodes = [turn.net.node[f["node"]] for f in failures if f and f.get("node") in turn.net.node]
    return "restart" if any(n.on_final == "restart" for n in nodes) else "here"


def next_due(turn: Turn) -> str | None:
    """The oldest; at one instant the inner scope first, then the one that was set first."""

    set_when = {name: i for i, name in enumerate(turn.state["timers"])}

    def rank(name: str) -> tuple:
        timer = turn.state["timers"][name]
        scope = turn.state["firings"][timer["firing"]]["scope"] if timer["firing"] else timer["scope"] or ""
        return (timer["due"], -turn.depth(scope), set_when[name])

    names = [name for name, timer in turn.state["timers"].items() if timer["due"] <= turn.now]
    return min(names, key=rank, default=None)


def signal(turn: Turn, command: dict) -> None:
    """To the first matching wait in the order in which they were opened, to all if broadcast, else kept, unless it is
    for whoever waits now."""
    name, payload = command["name"], command.get("payload")
    if command["id"] in turn.state["seen"]:
        turn.say("ignored", command="signal", id=command["id"], why="duplicate")
        return
    if not command.get("keep", True) and not _wanted(turn, name, payload):
        turn.say("ignored", command="signal", id=command["id"], why="unwanted")
        return
    turn.say("seen", id=command["id"])
    used = False
    for wait in list(turn.state["waits"]):
        about = turn.state["waits"].get(wait)
        if about is None or (used and not command.get("broadcast")):
            continue
        fid = about["firing"]
        trigger = turn.net.node[turn.state["firings"][fid]["node"]].triggers[about["trigger"]]
        if turn.matches(fid, about["trigger"], trigger, name, payload):
            used = True
            turn.say("signal.used", id=command["id"], wait=wait)
            turn.trigger(fid, about["trigger"], payload)
    if not used:
        turn.say("signal.kept", id=command["id"], name=name, payload=payload)


def _wanted(turn: Turn, name: str, payload: object) -> bool:
    for about in turn.state["waits"].values():
        fid = about["firing"]
        trigger = turn.net.node[turn.state["firings"][fid]["node"]].triggers[about["trigger"]]
        if turn.matches(fid, about["trigger"], trigger, name, payload):
            return True
    return False


# ---------------------------------------------------------------- work
def work(turn: Turn, command: dict) -> None:
    item = turn.state["items"].get(command["item"])
    require(item, "NOT_FOUND")
    if command["verb"] == "rework" and item["firing"] not in turn.state["firings"]:
        rework_done(turn, command["item"], item)
        return
    require(item["firing"] in turn.state["firings"], "STATE", item["status"])
    require(command["verb"] in WORK, "VERB", command["verb"])
    allowed, verb = WORK[command["verb"]]
    require(item["status"] in allowed, "STATE", f"Cannot {command['verb']} workitem in {item['status']} status")
    node = turn.net.node[turn.state["firings"][item["firing"]]["node"]]
    votes = bool(node.quorum or node.all_of)
    require(votes or command["verb"] != "vote", "NO_VOTE")
    require(not votes or command["verb"] != "submit", "VOTES_DECIDE")
    turn.strict = True
    verb(turn, command, item)


def work_start(turn: Turn, command: dict, item: dict) -> None:
    turn.say("work.moved", item=command["item"], to="IN_PROGRESS", by=command.get("by"))


def work_submit(turn: Turn, command: dict, item: dict) -> None:
    turn.drop_effects(item["firing"], "taken_over")
    turn.say("work.moved", item=command["item"], to="DONE", by=command.get("by"), **by_hand(item))
    turn.close(item["firing"], "done", command.get("output"))


def work_approve(turn: Turn, command: dict, item: dict) -> None:
    turn.say("work.moved", item=command["item"], to="DONE", by=command.get("by"))
    turn.close(item["firing"], "done", command.get("output", item["draft"]))


def work_reject(turn: Turn, command: dict, item: dict) -> None:
    """Rework: the draft's entry is withdrawn; the next draft makes its own."""
    fid = item["firing"]
    turn.say("work.moved", item=command["item"], to="REWORK")
    if (entry := turn.open_entry(fid)) and entry["draft"]:
        turn.say("ledger.changed", n=entry["n"], status="withdrawn")
    turn.say("work.moved", item=command["item"], to="TODO")
    if turn.with_agent(fid):
        turn.begin_agent(fid, turn.state["firings"][fid]["attempt"] + 1)


def work_take_over(turn: Turn, command: dict, item: dict) -> None:
    call_off(turn, item["firing"])
    turn.say("work.moved", item=command["item"], to="IN_PROGRESS", by=command.get("by"), **by_hand(item))


def work_reassign(turn: Turn, command: dict, item: dict) -> None:
    call_off(turn, item["firing"])
    turn.say("work.moved", item=command["item"], to="TODO", by=command.get("by"), **by_hand(item))


def by_hand(item: dict) -> dict:
    return {"mode": "MANUAL"} if item["mode"] else {}


def call_off(turn: Turn, fid: str) -> None:
    """The agent is out: not what it does now, and not what it would try again."""
    if turn.state["firings"][fid]["phase"] not in ("effect", "backoff"):
        return
    turn.drop_effects(fid, "taken_over")
    for name in [n for n, t in turn.state["timers"].items() if t["firing"] == fid and t["why"] == "retry"]:
        turn.say("timer.gone", timer=name, why="disarmed")
    turn.say("phase", firing=fid, phase="suspended")


def work_set_mode(turn: Turn, command: dict, item: dict) -> None:
    """P-X.40."""
    require(item["mode"] and command["mode"] in ("MANUAL", "SUPERVISED", "AUTONOMOUS"), "MODE")
    turn.say("work.moved", item=command["item"], to="TODO", mode=command["mode"])
    if turn.with_agent(item["firing"]):
        firing = turn.state["firings"][item["firing"]]
        first = firing["attempt"] > firing["base"] and not item["tried"]
        turn.begin_agent(item["firing"], firing["attempt"] + (not first))


def rework_done(turn: Turn, name: str, item: dict) -> None:
    """P-X.15: as if it had never been done; refused when something was made of it."""
    state, fid = turn.state, item["firing"]
    require(item["status"] == "DONE" and fid in state["redo"], "STATE", item["status"])
    require(state["status"] in ("RUNNING", "WAITING") and not state["draining"] and not state["undo"], "STATE")
    kept = state["redo"][fid]
    node = turn.net.node[kept["node"]]
    require(not turn.held_outside(node), "FULL")
    came = turn.what_came(fid)
    require(came is not None, "GONE_ON")
    turn.strict = True
    turn.take_back(kept["scope"], came)
    if entry := turn.open_entry(fid):
        turn.say("ledger.changed", n=entry["n"], status="withdrawn")
    turn.say("revived", **kept)
    turn.say("work.moved", item=name, to="REWORK")
    turn.say("work.opened", item=name, firing=fid, level=0, mode=item["mode"])
    turn.say("phase", firing=fid, phase="suspended")
    turn.arm(fid, node)
    if fid in state["firings"] and turn.with_agent(fid):
        turn.begin_agent(fid, kept["attempt"] + 1)


def work_vote(turn: Turn, command: dict, item: dict) -> None:
    """One rejection ends it; enough approvals by different people complete it. Nobody votes twice."""
    fid, by, vote = item["firing"], command["by"], command["vote"]
    require(by not in item["votes"], "VOTED", by)
    about = {"vote": vote, "comment": command.get("comment"), "at": turn.now}
    votes = {**item["votes"], by: about}
    turn.say("work.moved", item=command["item"], to="IN_PROGRESS", votes=votes)
    node = turn.net.node[turn.state["firings"][fid]["node"]]
    needed = max(node.quorum, len(node.candidates) if node.all_of else 0, 1)
    approved = [v for v in votes.values() if v["vote"] == "approved"]
    if vote == "approved" and len(approved) < needed:
        return
    turn.drop_effects(fid, "decided")
    turn.say("work.moved", item=command["item"], to="DONE")
    output = {
        "status": vote,
        "approver": by,
        "comment": about["comment"],
        "approved_at": moment(turn.now) if vote == "approved" else None,
        "approvals": [
            {"user": who, "target": None, "decision": v["vote"], "comment": v["comment"], "at": moment(v["at"])}
            for who, v in votes.items()
        ],
        "timed_out": False,
        "escalation_level": item["level"],
        "request_id": f"{turn.state['run']}/{fid}",
    }
    turn.close(fid, "done", output, None, "rejected" if vote == "rejected" else "done")


WORK = {
    "start": (("TODO",), work_start),
    "submit": (("TODO", "IN_PROGRESS"), work_submit),
    "approve": (("SUBMITTED",), work_approve),
    "reject": (("SUBMITTED",), work_reject),
    "rework": (("SUBMITTED",), work_reject),
    "take_over": (("IN_PROGRESS",), work_take_over),
    "reassign": (("TODO", "IN_PROGRESS"), work_reassign),
    "set_mode": (("TODO",), work_set_mode),
    "vote": (("TODO", "IN_PROGRESS"), work_vote),
}


# ---------------------------------------------------------------- the operator
def cancel(turn: Turn, command: dict) -> None:
    mode = command.get("mode", "now")
    require(turn.state["status"] not in TERMINAL, "STATE", turn.state["status"])
    if turn.state["draining"] == "boundary":
        turn.say("ignored", command="cancel", why="already")
        return
    require(turn.state["status"] != "COMPENSATING", "STATE", "COMPENSATING")
    if mode == "boundary" and turn.state["effects"]:
        turn.move(turn.state["status"], "cancel_requested", draining="boundary")
        return
    for name in [name for name, timer in turn.state["timers"].items() if timer["why"] == "run_retry"]:
        turn.say("timer.gone", timer=name, why="cancelled")
    turn.finish_cancel(mode)


def pause(turn: Turn, command: dict) -> None:
    if not turn.state["paused"]:
        turn.say("paused", on=True, at=turn.now, why=command.get("why", "operator"))


def resume(turn: Turn, command: dict) -> None:
    require(turn.state["paused"], "STATE", "not paused")
    turn.say("paused", on=False, at=turn.now, why="operator")


def retry(turn: Turn, command: dict) -> None:
    if command.get("firing"):
        unpark(turn, command["firing"])
        return
    require(turn.state["status"] == "FAILED" and turn.state["reopen"], "STATE", turn.state["status"])
    reopen(turn, 0, command.get("how", "here"))


def reopen(turn: Turn, retries: int, how: str) -> None:
    """`restart` fires the start nodes again; `here` revives the failed firing: same id, same key, next attempt."""
    failed = turn.state["reopen"]
    turn.say("run.reopened", retry=retries, how=how, node=failed["node"])
    turn.move("RUNNING", "retry_allowed", failure=None)
    if how == "restart":
        turn.say("scopes.cleared")
        fire_starts(turn)
        return
    revive(turn, failed)


def unpark(turn: Turn, fid: str) -> None:
    """One firing that failed and went on by a port, while the run goes on."""
    failed = turn.state["parked"].get(fid)
    require(failed, "NOT_FOUND")
    require(turn.state["status"] in ("RUNNING", "WAITING") and not turn.state["draining"], "STATE")
    require(not turn.held_outside(turn.net.node[failed["node"]]), "FULL")
    revive(turn, failed)


def revive(turn: Turn, failed: dict) -> None:
    turn.say("revived", **failed)
    fid, node = failed["firing"], turn.net.node[failed["node"]]
    turn.arm(fid, node)
    if fid not in turn.state["firings"]:
        return
    if node.kind in ("task", "call"):
        turn.ask(fid, failed["attempt"] + 1)
    elif node.kind == "work":
        turn.begin_work(node, fid, failed["attempt"] + 1)
    elif node.kind == "scope" and turn.children(fid):
        turn.reopen_children(node, fid)
    else:
        turn.begin(node, fid)


def compensate(turn: Turn, command: dict) -> None:
    failure = turn.state["failure"]
    if failure and failure.get("cause"):  # what set off the first try
        failure = failure["cause"]
    about = {"failure": failure, "only": tuple(command.get("only", ()))}
    if turn.state["undo"]:
        turn.say("ignored", command="compensate", why="running")
    elif not any(turn.undoable(e, "manual", "", **about) for e in turn.state["ledger"]):
        turn.say("ignored", command="compensate", why="nothing_left")
    else:
        if turn.state["status"] not in TERMINAL:
            turn.sweep("", "compensated", keep_scope=True)
        turn.plan_undo("manual", {"run": "FAILED"}, **about)


def resolve(turn: Turn, command: dict) -> None:
    """The operator gives a firing its result: force-complete, or the correction after NO_MATCHING_BRANCH."""
    fid = command["firing"]
    require(fid in turn.state["firings"], "NOT_FOUND")
    turn.strict = True
    turn.drop_effects(fid, "resolved")
    turn.close(fid, "done", command.get("output"))


def cancel_firing(turn: Turn, command: dict) -> None:
    """It leaves by port `cancelled`, or by none."""
    fid = command["firing"]
    require(fid in turn.state["firings"], "NOT_FOUND")
    node = turn.state["firings"][fid]["node"]
    turn.drop_effects(fid, "cancelled")
    way = "cancelled" if any(e.port == "cancelled" for e in turn.net.outs[node]) else "-"
    turn.close(fid, "interrupted", None, None, way)


def migrate(turn: Turn, command: dict) -> None:
    plan = plan_migration(turn.old, turn.net, turn.state, command.get("nodes", {}), command.get("edges", {}))
    require(not plan["obstacles"], "MIGRATE", canon(plan["obstacles"]))
    turn.say("migrated", net=turn.net.hash, was=turn.old.hash, nodes=plan["nodes"], edges=plan["edges"])


COMMANDS = {
    "start": start,
    "outcome": outcome,
    "due": due,
    "signal": signal,
    "work": work,
    "cancel": cancel,
    "pause": pause,
    "resume": resume,
    "retry": retry,
    "compensate": compensate,
    "resolve": resolve,
    "cancel_firing": cancel_firing,
    "migrate": migrate,
}
