"""Evolve: fact + state -> state. It takes no net, no clock and no expression."""

from __future__ import annotations

import copy
import json
from typing import Any

TERMINAL = ("COMPLETED", "FAILED", "CANCELLED", "COMPENSATED")
ITEM_ENDED = ("DONE", "CANCELLED", "COMPENSATED")
NEW_SCOPE = {"status": "open", "last": None, "failure": None, "top": 0, "ended": 0}


def empty() -> dict:
    """The state before the first fact."""
    return {
        "run": "",
        "net": "",
        "seed": "",
        "input": None,
        "status": "",
        "failure": None,
        "n": 0,
        "tokens": {},
        "seqs": {},  # edge|scope|epoch -> next sequence number
        "firings": {},
        "visits": {},  # node|scope|epoch -> how often it fired
        "since": {},  # visits before the last restart: limits count anew
        "effects": {},
        "answered": {},  # effect -> its outcome
        "dropped": {},  # effect that was swept -> whose it was
        "timers": {},
        "waits": {},
        "signals": {},  # kept, in order of arrival
        "seen": [],
        "items": {},
        "scopes": {},
        "opened": 0,  # scopes opened so far
        "vars": {},
        "outputs": {},
        "owed": {},
        "dead": {},
        "start_used": {},
        "entered": {},  # loop heads that have fired in their scope
        "forwarded": {},  # node|scope|epoch that forwarded its last output at max_iter
        "ledger": [],
        "undo": None,
        "paused": False,
        "draining": "",
        "reopen": None,
        "parked": {},  # failed firings that went on by a port and can still be revived by hand
        "run_retries": 0,
        "incidents": [],
        "active": 0,
        "active_since": None,
        "tracks": False,
        "lives": [],  # every firing there ever was, when origins are tracked
        "life": {},  # firing -> the last of its lives
        "made": {},  # token -> the life, or else the tokens, that it came of
        "redo": {},  # finished work that may be done again -> what is needed for it
    }


def canon(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def place(name: str, scope: str, epoch: int) -> str:
    """The key of a node or an edge in one scope and epoch."""
    return f"{name}|{scope}|{epoch}"


def token_id(token: dict) -> str:
    return f"{place(token['edge'], token['scope'], token['epoch'])}|{token['seq']}"


def replay(facts: list[dict], state: dict | None = None) -> dict:
    """Fold facts into a copy of the state."""
    state = copy.deepcopy(state) if state is not None else empty()
    for fact in facts:
        evolve(state, fact)
    return state


def evolve(state: dict, fact: dict) -> None:
    state["n"] += 1
    EVOLVE[fact["f"]](state, fact)


# ---------------------------------------------------------------- the run
def run_started(s: dict, f: dict) -> None:
    s.update(run=f["run"], net=f["net"], seed=f["seed"], input=f["input"], status="RUNNING", active_since=f["at"])
    s["tracks"] = f["tracks"]
    root = {"parent": None, "firing": None, "key": "", "index": 0, "number": 0, "required": True, "base": 0}
    s["scopes"][""] = {**root, **NEW_SCOPE, "at": f["at"], "vars": {}}


def run_moved(s: dict, f: dict) -> None:
    s["status"] = f["to"]
    s["failure"] = f.get("failure", s["failure"])
    if f.get("draining") is not None:
        s["draining"] = f["draining"]
    if f["to"] not in ("RUNNING", "WAITING"):
        s["redo"] = {}
    stop_clock(s, f["at"])
    start_clock(s, f["at"])


def paused(s: dict, f: dict) -> None:
    s["paused"] = f["on"]
    stop_clock(s, f["at"])
    start_clock(s, f["at"])


def stop_clock(s: dict, now: int) -> None:
    if s["active_since"] is not None:
        s["active"] += now - s["active_since"]
        s["active_since"] = None


def start_clock(s: dict, now: int) -> None:
    if s["status"] == "RUNNING" and not s["paused"]:
        s["active_since"] = now


def run_reopened(s: dict, f: dict) -> None:
    s.update(run_retries=f["retry"], reopen=None, failure=None, draining="")


def incident(s: dict, f: dict) -> None:
    s["incidents"].append({"code": f["code"], "node": f["node"], "detail": f["detail"]})


def ignored(s: dict, f: dict) -> None:
    if f.get("late"):  # told once
        s["dropped"].pop(f["effect"])
        s["answered"][f["effect"]] = "late"


# ---------------------------------------------------------------- tokens and firings
def put(s: dict, f: dict) -> None:
    token = {name: value for name, value in f.items() if name not in ("f", "of")}
    s["tokens"][token_id(token)] = token
    if s["tracks"]:
        by = f["of"].get("firing")
        s["made"][token_id(token)] = {"life": None if by is None else s["life"][by], "tokens": f["of"].get("tokens")}
    s["seqs"][place(f["edge"], f["scope"], f["epoch"])] = f["seq"] + 1


def fired(s: dict, f: dict) -> None:
    for token in f["takes"]:
        del s["tokens"][token]
    for mark in f["dead"]:
        s["dead"].pop(mark, None)
    here = place(f["node"], f["scope"], f["epoch"])
    if f["comp"] is None:
        s["visits"][here] = f["visit"]
    if f["start_used"]:
        s["start_used"][f"{f['node']}|{f['scope']}"] = True
    if f["entered"]:
        s["entered"][f"{f['node']}|{f['scope']}"] = True
    if f["owed"]:
        s["owed"].setdefault(here, {})[str(f["visit"])] = f["owed"]
    # what is asked again under the same key goes on counting: no answer of the first asking is taken for the second
    base = s["scopes"][f["scope"]]["base"] if f["comp"] is None else s["ledger"][int(f["comp"])]["base"]
    s["firings"][f["firing"]] = new_firing(f, attempt=base + 1, base=base, takes=f["taken"], comp=f["comp"])
    if s["tracks"] and f["comp"] is None:
        owner = s["life"].get(s["scopes"][f["scope"]]["firing"])
        s["life"][f["firing"]] = len(s["lives"])
        s["lives"].append({"takes": f["takes"], "owner": owner, "sealed": False, "opened": False})


def revived(s: dict, f: dict) -> None:
    s["parked"].pop(f["firing"], None)
    s["redo"].pop(f["firing"], None)
    s["firings"][f["firing"]] = new_firing(f, attempt=f["attempt"], base=f["attempt"], takes=f["takes"], comp=None)


def new_firing(f: dict, **more: Any) -> dict:
    same = {name: f[name] for name in ("node", "scope", "epoch", "visit", "path", "passed")}
    return {**same, **more, "phase": "run", "probe": 0, "errors": 0}


def absorbed(s: dict, f: dict) -> None:
    for token in f["tokens"]:
        del s["tokens"][token]
    if f.get("owed_key"):
        pay(s, f["owed_key"], f["owed_visit"], [f["edge"]])
    if f.get("forwards"):
        s["forwarded"][f["forwards"]] = True
        s["dead"].update(dict.fromkeys(f["dead"], True))


def rearmed(s: dict, f: dict) -> None:
    pay(s, f["key"], f["visit"], f["edges"])


def pay(s: dict, key: str, visit: str, edges: list[str]) -> None:
    """Strike edges from what a join is owed."""
    debts = s["owed"][key]
    debts[visit] = [e for e in debts[visit] if e not in edges]
    if not debts[visit]:
        debts.pop(visit)
    if not debts:
        s["owed"].pop(key)


def phase(s: dict, f: dict) -> None:
    s["firings"][f["firing"]]["phase"] = f["phase"]


def settled(s: dict, f: dict) -> None:
    firing = s["firings"].pop(f["firing"])
    about = {name: firing[name] for name in ("visit", "scope", "epoch")}
    s["outputs"][firing["node"]] = {"status": f["status"], "output": f["output"], "failure": f["failure"], **about}
    for name in f["names"]:
        s["vars"][name] = f["output"]
    if f["status"] in ("done", "skipped") and not firing["comp"]:
        s["scopes"][firing["scope"]]["last"] = f["output"]
    for mark in f["dead"]:
        s["dead"][mark] = True
    if f["park"]:
        s["parked"][f["firing"]] = f["reopen"]
    elif f["reopen"]:
        s["reopen"] = f["reopen"]
    count_undoing(s, firing)
    if s["tracks"] and firing["comp"] is None:
        life = s["lives"][s["life"][f["firing"]]]
        if life["opened"] or f["seals"]:
            life["sealed"] = True
        if life["opened"] and s["items"][f["firing"]]["status"] == "DONE":
            s["redo"][f["firing"]] = f["redo"]


def var_set(s: dict, f: dict) -> None:
    variables = s["scopes"][f["scope"]]["vars"] if f["scope"] else s["vars"]
    variables[f["name"]] = f["value"]


# ---------------------------------------------------------------- effects, timers, waits, work
def effect_asked(s: dict, f: dict) -> None:
    s["effects"][f["effect"]] = {name: f[name] for name in ("firing", "attempt", "key", "kind", "arg", "probe")}
    firing = s["firings"][f["firing"]]
    firing.update(attempt=f["attempt"], phase="effect", probe=f["probe"])
    if not f["probe"]:
        firing["errors"] = 0
    scope = firing["scope"]
    while scope:
        s["scopes"][scope]["top"] = max(s["scopes"][scope]["top"], f["attempt"])
        scope = s["scopes"][scope]["parent"]


def effect_answered(s: dict, f: dict) -> None:
    effect = s["effects"].pop(f["effect"])
    s["answered"][f["effect"]] = f["status"]
    s["firings"][effect["firing"]]["phase"] = "run"


def attempt_failed(s: dict, f: dict) -> None:
    s["firings"][f["firing"]]["phase"] = "backoff"


def probed(s: dict, f: dict) -> None:
    s["firings"][f["firing"]].update(phase="suspended", errors=f["errors"])


def timer_set(s: dict, f: dict) -> None:
    s["timers"][f["timer"]] = {name: f[name] for name in ("due", "why", "firing", "scope", "data")}


def timer_gone(s: dict, f: dict) -> None:
    s["timers"].pop(f["timer"])


def wait_opened(s: dict, f: dict) -> None:
    s["waits"][f["wait"]] = {name: f[name] for name in ("firing", "name", "trigger", "filter")}


def wait_gone(s: dict, f: dict) -> None:
    s["waits"].pop(f["wait"])


def signal_kept(s: dict, f: dict) -> None:
    s["signals"][f["id"]] = {"name": f["name"], "payload": f["payload"]}


def signal_used(s: dict, f: dict) -> None:
    s["signals"].pop(f["id"], None)


def seen(s: dict, f: dict) -> None:
    s["seen"].append(f["id"])


def work_opened(s: dict, f: dict) -> None:
    """Said again while it is open, the item goes to others; a draft that was handed in stays with it."""
    item = {"firing": f["firing"], "status": "TODO", "draft": None}
    if f["level"]:
        item = s["items"][f["item"]]
    about = {"votes": {}, "by": None, "level": f["level"], "mode": f["mode"]}
    s["items"][f["item"]] = {**item, "tried": item.get("tried", False), **about}
    if s["tracks"] and f["firing"] in s["life"]:
        s["lives"][s["life"][f["firing"]]]["opened"] = True


def work_moved(s: dict, f: dict) -> None:
    item = s["items"][f["item"]]
    item["status"] = f["to"]
    item.update({name: f[name] for name in ("draft", "by", "votes", "mode", "tried") if name in f})


# ---------------------------------------------------------------- scopes
def scope_opened(s: dict, f: dict) -> None:
    s["opened"] += 1
    given = {name: f[name] for name in ("parent", "firing", "key", "index", "vars", "required", "base", "at")}
    s["scopes"][f["scope"]] = {**given, **NEW_SCOPE, "number": s["opened"]}
    # a child that a retry opens again repeats its firings under the keys they had
    for part in ("visits", "since", "forwarded", "start_used", "entered", "dead"):
        s[part] = {key: n for key, n in s[part].items() if key.split("|")[1] != f["scope"]}


def scope_closed(s: dict, f: dict) -> None:
    s["scopes"][f["scope"]].update(failure=f["failure"])
    end_scope(s, f["scope"], f["status"], f["at"])


def end_scope(s: dict, scope: str, status: str, now: int) -> None:
    s["scopes"][scope].update(status=status, ended=now)
    for part in ("parked", "redo"):
        s[part] = {firing: was for firing, was in s[part].items() if was["scope"] != scope}


def scope_forgotten(s: dict, f: dict) -> None:
    for scope in f["scopes"]:
        s["scopes"].pop(scope)


def scopes_cleared(s: dict, f: dict) -> None:
    s.update(scopes={"": s["scopes"][""]}, parked={}, since=dict(s["visits"]))
    s.update(dead={}, start_used={}, entered={}, forwarded={}, owed={})


def swept(s: dict, f: dict) -> None:
    for token in f["tokens"]:
        del s["tokens"][token]
    for effect in f["effects"]:
        firing = s["effects"].pop(effect)["firing"]
        about = {name: s["firings"][firing][name] for name in ("node", "scope", "path")}
        s["dropped"][effect] = {"firing": firing, **about}
    for timer in f["timers"]:
        s["timers"].pop(timer)
    for wait in f["waits"]:
        s["waits"].pop(wait)
    for item in f["items"]:  # a draft that was handed in is work done: never CANCELLED
        s["items"][item]["status"] = "COMPENSATED" if s["items"][item]["status"] == "SUBMITTED" else "CANCELLED"
    for firing in f["firings"]:
        if s["tracks"] and s["firings"][firing]["comp"] is None and f["why"] != "superseded":
            s["lives"][s["life"][firing]]["sealed"] = True
        count_undoing(s, s["firings"].pop(firing))
    for scope in f["scopes"]:
        end_scope(s, scope, f["scope_status"], f["at"])
    for key in f["owed"]:
        s["owed"].pop(key)


# ---------------------------------------------------------------- undo
def ledger_added(s: dict, f: dict) -> None:
    entry = {name: f[name] for name in ("n", "firing", "node", "scope", "path", "output", "draft")}
    s["ledger"].append({**entry, "status": "open", "base": 0, "top": 0})


def ledger_changed(s: dict, f: dict) -> None:
    s["ledger"][f["n"]].update({name: f[name] for name in ("status", "output", "draft") if name in f})


def undo_planned(s: dict, f: dict) -> None:
    s["undo"] = {name: f[name] for name in ("id", "steps", "why", "then")}
    s["undo"].update(i=0, j=0, failed=False)


def undo_step(s: dict, f: dict) -> None:
    entry = s["ledger"][f["n"]]
    entry["status"] = f["status"]
    if f["status"] == "RUNNING":
        entry["base"] = entry["top"]
    if f["status"] == "FAILED":
        s["undo"]["failed"] = True


def count_undoing(s: dict, firing: dict) -> None:
    """A firing that undoes an entry is over: the next try goes on counting its attempts."""
    if firing["comp"] is not None:
        entry = s["ledger"][int(firing["comp"])]
        entry["top"] = max(entry["top"], firing["attempt"])


def undo_at(s: dict, f: dict) -> None:
    s["undo"].update(i=f["i"], j=f["j"])


def undo_ended(s: dict, f: dict) -> None:
    s["undo"] = None


# ---------------------------------------------------------------- migration
def migrated(s: dict, f: dict) -> None:
    nodes, edges = f["nodes"], f["edges"]
    s["net"] = f["net"]
    for token in s["tokens"].values():
        token["edge"] = edges.get(token["edge"], token["edge"])
    s["tokens"] = {token_id(t): t for t in s["tokens"].values()}
    for thing in [*s["firings"].values(), *s["ledger"], *s["dropped"].values(), *s["parked"].values()]:
        thing["node"] = nodes.get(thing["node"], thing["node"])
    for part in ("seqs", "dead"):
        s[part] = renamed(s[part], edges)
    for part in ("visits", "since", "outputs", "start_used", "entered", "forwarded"):
        s[part] = renamed(s[part], nodes)
    s["owed"] = {}
    s["timers"] = dict(renamed_timer(name, timer, nodes, edges) for name, timer in s["timers"].items())


def renamed(table: dict, names: dict) -> dict:
    """Keys are `name|…`: the name is looked up."""
    return {renamed_key(key, names): value for key, value in table.items()}


def renamed_key(key: str, names: dict) -> str:
    name, bar, rest = key.partition("|")
    return names.get(name, name) + bar + rest


def renamed_timer(name: str, timer: dict, nodes: dict, edges: dict) -> tuple[str, dict]:
    if timer["why"] == "ttl":
        token = renamed_key(timer["data"], edges)
        return f"token/{token}", {**timer, "data": token}
    if timer["why"] == "join_timeout":
        node, scope, epoch = timer["data"]
        node = nodes.get(node, node)
        return f"{node}@{scope}~{epoch}/join", {**timer, "data": [node, scope, epoch]}
    return name, timer


EVOLVE = {
    "run.started": run_started,
    "run.moved": run_moved,
    "run.reopened": run_reopened,
    "paused": paused,
    "incident": incident,
    "ignored": ignored,
    "put": put,
    "fired": fired,
    "revived": revived,
    "absorbed": absorbed,
    "rearmed": rearmed,
    "phase": phase,
    "settled": settled,
    "var.set": var_set,
    "effect.asked": effect_asked,
    "effect.answered": effect_answered,
    "attempt.failed": attempt_failed,
    "probed": probed,
    "timer.set": timer_set,
    "timer.gone": timer_gone,
    "wait.opened": wait_opened,
    "wait.gone": wait_gone,
    "signal.kept": signal_kept,
    "signal.used": signal_used,
    "seen": seen,
    "work.opened": work_opened,
    "work.moved": work_moved,
    "scope.opened": scope_opened,
    "scope.closed": scope_closed,
    "scope.forgotten": scope_forgotten,
    "scopes.cleared": scopes_cleared,
    "swept": swept,
    "ledger.added": ledger_added,
    "ledger.changed": ledger_changed,
    "undo.planned": undo_planned,
    "undo.step": undo_step,
    "undo.at": undo_at,
    "undo.ended": undo_ended,
    "migrated": migrated,
}
