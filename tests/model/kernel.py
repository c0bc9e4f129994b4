"""The door to the model: step(net, state, command, now) -> facts. Pure; decide may refuse, evolve may not."""

from __future__ import annotations

from tests.model.commands import COMMANDS, Refused, next_due, require, say_started
from tests.model.fire import NoBranch
from tests.model.net import Net
from tests.model.state import TERMINAL, canon, empty, evolve, replay
from tests.model.turn import Turn

__all__ = ["TERMINAL", "Refused", "Turn", "canon", "effects_of", "empty", "evolve", "replay", "step"]

AFTER_THE_END = ("retry", "compensate", "outcome", "due", "signal", "work", "cancel")


def step(net: Net, state: dict, command: dict, now: int, old: Net | None = None) -> list[dict]:
    """Decide one command. The state is not touched; fold the facts into it with `replay`."""
    verb = command["c"]
    require(verb == "start" or state["status"], "NO_RUN")
    if state["status"] in TERMINAL:
        require(verb in AFTER_THE_END, "STATE", state["status"])
        if verb in ("due", "signal"):
            turn = Turn(net, state, now)
            turn.say("ignored", command=verb, why="terminal")
            return turn.facts
    if verb == "tick":
        return tick(net, state, now)
    turn = Turn(net, state, now, old)
    try:
        COMMANDS[verb](turn, command)
        turn.run_to_quiet()
    except NoBranch as problem:
        if turn.strict:
            raise Refused("NO_BRANCH", problem.node) from problem
        turn = without_branch(Turn(net, state, now), command, problem.node)
    return turn.facts


def tick(net: Net, state: dict, now: int) -> list[dict]:
    """Every timer that is due, with quiet between two of them, or the outer one beats the inner one."""
    turn = Turn(net, state, now)
    while turn.state["status"] not in TERMINAL and not turn.state["paused"]:
        timer = next_due(turn)
        if timer is None:
            break
        for fact in step(net, turn.state, {"c": "due", "timer": timer}, now):
            turn.facts.append(fact)
            evolve(turn.state, fact)
    return turn.facts


def without_branch(turn: Turn, command: dict, node: str) -> Turn:
    """The turn is thrown away; only the news that led there is kept, and an operator is told."""
    if command["c"] == "start":
        say_started(turn, command)
        failure = {"code": "NO_MATCHING_BRANCH", "category": "business", "node": node}
        turn.move("FAILED", "unrecoverable_error", failure=failure)
        return turn
    if command["c"] == "outcome":  # its firing stays open until the operator resolves it
        fid = turn.state["effects"][command["effect"]]["firing"]
        told = {name: command.get(name) for name in ("effect", "status", "output", "failure")}
        turn.say("effect.answered", **told)
        turn.say("phase", firing=fid, phase="suspended")
    elif command["c"] == "due":
        turn.say("timer.gone", timer=command["timer"], why="fired")
    elif command["c"] == "signal":
        turn.say("seen", id=command["id"])
    turn.say("incident", code="NO_MATCHING_BRANCH", node=node, detail=None)
    turn.rest()
    return turn


def effects_of(facts: list[dict]) -> list[tuple]:
    """What the host lets out after the commit: derived from facts alone."""
    out: list[tuple] = []
    for fact in facts:
        if fact["f"] == "effect.asked":
            out.append(("ask", fact["effect"], fact["kind"], fact["key"], fact["arg"]))
        elif fact["f"] == "swept":
            out += [("drop", effect) for effect in fact["effects"]]
    return out
