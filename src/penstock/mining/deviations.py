"""What a case has done otherwise than its model says, as a person would name it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from penstock.mining.replay import Explanation, Move

Kind = Literal["skipped", "repeated", "unknown", "order", "missing_end"]


class CaseDeviation(NamedTuple):
    """`before` is the activity before it in the case, `after` the one that follows; "" at the case's begin and end.

    skipped: the activity was left out between the two. repeated: it was done once more than the model allows; where
    `before` is another activity, the case went back to it. order: it was done at a place where the model does not have
    it; where `after` should have come first, that is it. unknown: the model has no such activity. missing_end: the
    case ended although the activity had to follow `before`.
    """

    kind: Kind
    activity: str
    before: str
    after: str


class NamedDeviations(NamedTuple):
    """In the order of the case. `places` are those of the events that deviate; of what is left out: of the next."""

    deviations: tuple[CaseDeviation, ...]
    places: tuple[int, ...]


def name_deviations(
    case: Sequence[str], explanation: Explanation, known: frozenset[str], fits: Callable[[Sequence[str]], bool]
) -> NamedDeviations:
    """`known`: the activities of the model; `fits`: does another case fit it?"""
    moves = [move for move in explanation.moves if move.kind != "sync"]
    done = {move.activity for move in explanation.moves if move.kind == "sync"}
    found: list[tuple[int, CaseDeviation]] = []
    places: set[int] = set()
    moved, moves = _moved(case, moves, explanation.moves)
    if len(moves) == 1 and not moved and moves[0].kind == "log" and moves[0].activity in known - done:
        moved = _misplaced(case, moves[0].at, fits)
        moves = [] if moved else moves
    for at, deviation in moved:
        found.append((at, deviation))
        places.add(at)
    last_repeated, ended = -2, False
    for move in moves:
        before, after = _beside(case, move)
        if move.kind == "model":
            is_end = move.at == len(case) and bool(case)
            if not (is_end and ended):
                kind: Kind = "missing_end" if is_end else "skipped"
                found.append((move.at, CaseDeviation(kind, move.activity, before, after)))
            ended |= is_end
            places.add(min(move.at, max(len(case) - 1, 0)))
            continue
        places.add(move.at)
        if move.activity not in known:
            found.append((move.at, CaseDeviation("unknown", move.activity, before, after)))
        elif move.activity in done:
            if last_repeated != move.at - 1:  # what follows a step back belongs to it
                found.append((move.at, CaseDeviation("repeated", move.activity, before, after)))
            last_repeated = move.at
        else:
            found.append((move.at, CaseDeviation("order", move.activity, before, after)))
    found.sort(key=lambda one: one[0])
    return NamedDeviations(tuple(dict.fromkeys(one for _, one in found)), tuple(sorted(places)) if case else ())


def _beside(case: Sequence[str], move: Move) -> tuple[str, str]:
    following = move.at + (move.kind == "log")
    return case[move.at - 1] if move.at else "", case[following] if following < len(case) else ""


def _misplaced(case: Sequence[str], at: int, fits: Callable[[Sequence[str]], bool]) -> list[tuple[int, CaseDeviation]]:
    """The one event that deviates, where the case would fit with it at another place: the nearest one."""
    rest = [*case[:at], *case[at + 1 :]]
    for place in sorted(range(len(case)), key=lambda place: abs(place - at)):
        if place == at or not fits([*rest[:place], case[at], *rest[place:]]):
            continue
        if place < at:  # what was done there was too early
            before = case[place - 1] if place else ""
            return [(place, CaseDeviation("order", case[place], before, case[at]))]
        return [(at, CaseDeviation("order", case[at], case[at - 1] if at else "", rest[at]))]
    return []


def _moved(
    case: Sequence[str], moves: list[Move], all_moves: Sequence[Move]
) -> tuple[list[tuple[int, CaseDeviation]], list[Move]]:
    """An activity that is left out at one place and done at another was done too early, or too late; and the moves that
    are left. What was done too late is told of the activity that it should have come before."""
    rest, found = list(moves), []
    for log in [move for move in moves if move.kind == "log"]:
        model = next((move for move in rest if move.kind == "model" and move.activity == log.activity), None)
        if model is None or log not in rest:
            continue
        rest.remove(model)
        rest.remove(log)
        low, high = sorted((model.at, log.at))
        between = [move for move in all_moves if move.kind == "sync" and low <= move.at < max(high, low + 1)]
        between = [move for move in between if move.at != log.at]
        before, after = _beside(case, log)
        if log.at < model.at:  # too early: before what it should have followed
            other = between[0].activity if between else after
            found.append((log.at, CaseDeviation("order", log.activity, before, other)))
        else:  # too late: others were too early
            other = between[0].activity if between else before
            place = between[0].at if between else log.at
            found.append((place, CaseDeviation("order", other, case[place - 1] if place else "", log.activity)))
    return found, rest
