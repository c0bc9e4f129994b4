"""Replays cases over a model: does a case fit, and if not, the smallest set of deviations that explains it.

A deviation costs 1: an event that the model does not allow there, or an activity that the model asks for and the case
does not have. Of explanations with the same cost the one whose deviations come latest is taken: what a case has done
once as the model says is right, and what it does again is not. Before that, one is taken that leaves controls out, so
that it is said when a case may have passed one by; and activities that happen in the log rather than others. The
search looks at no more than `most` states for one case, and says so where that was not enough.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Literal, NamedTuple

from penstock.mining.flow_model import FlowModel

#: States that are looked at for one variant.
MOST_STATES = 20_000
#: For every state that is looked at, so many may be put off.
_PUT_OFF = 10
#: more than any place in a case
_MUCH = 1 << 20
#: Markings that are reached without an event from one marking.
_MOST_SILENT = 4_000


class Move(NamedTuple):
    """`sync`: as the model says; `log`: not in the model at this place; `model`: asked for, and not done. `at` is the
    place in the case, of `model` that of the event that follows."""

    kind: Literal["sync", "log", "model"]
    activity: str
    at: int


class Explanation(NamedTuple):
    """`bounded`: the search was ended; then `moves` explain the case, but perhaps not with the fewest deviations."""

    moves: tuple[Move, ...]
    cost: int
    bounded: bool


class Replayer:
    """Of one model; what it has found out about markings is kept."""

    def __init__(
        self, model: FlowModel, most: int = MOST_STATES, *, controls: frozenset[str] = frozenset(),
        happen: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        self.model, self.most, self.controls, self.happen = model, most, controls, happen
        self.bounded = False
        self.looked_at = 0  # states, for the last explanation
        self._known: dict[int, tuple[dict[str, tuple[int, ...]], bool]] = {}
        self._shortest: int | None = None

    def fits(self, case: Sequence[str]) -> bool:
        markings = {self.model.initial}
        for activity in case:
            markings = self.after(markings, activity)
            if not markings:
                return False
        return any(self.ahead(marking)[1] for marking in markings)

    def after(self, markings: set[int], activity: str) -> set[int]:
        """Where the model can be when the activity is what comes next; empty: it cannot be."""
        if activity in self.model.anywhere:
            return markings
        return {later for marking in markings for later in self.ahead(marking)[0].get(activity, ())}

    def ahead(self, marking: int) -> tuple[dict[str, tuple[int, ...]], bool]:
        """The markings after each activity that can come next, and whether the case may end."""
        known = self._known.get(marking)
        if known is None:
            known = self._known[marking] = self._look_ahead(marking)
        return known

    def _look_ahead(self, marking: int) -> tuple[dict[str, tuple[int, ...]], bool]:
        met, todo = {marking}, [marking]
        by_label: dict[str, dict[int, None]] = {}
        while todo:
            for label, optional, later in self.model.firings(todo.pop()):
                if label:
                    by_label.setdefault(label, {})[later] = None
                if (optional or not label) and later not in met:
                    if len(met) >= _MOST_SILENT:
                        self.bounded = True
                        continue
                    met.add(later)
                    todo.append(later)
        return {label: tuple(later) for label, later in by_label.items()}, self.model.final in met

    # -- explanations --------------------------------------------------------------------------------------------------

    def shortest(self) -> int:
        """How many events the shortest case has that fits."""
        if self._shortest is None:
            self._shortest = self.explain(()).cost
        return self._shortest

    def explain(self, case: Sequence[str]) -> Explanation:
        """With the fewest deviations, unless it is bounded."""
        search = _Search(self, tuple(case))
        found = search.run()
        self.bounded |= search.bounded
        self.looked_at = len(search.came)
        return found


#: place in the case, marking
_State = tuple[int, int]


class _Search:
    """The shortest way from the beginning of a case and the model to the end of both."""

    def __init__(self, replayer: Replayer, case: tuple[str, ...]) -> None:
        self.replayer, self.model, self.case = replayer, replayer.model, case
        self.bounded = False
        self.came: dict[_State, tuple[_State, Move] | None] = {}
        #: how many of the events from a place on the model does not know: each is a deviation
        self.unknown = [0] * (len(case) + 1)
        for i in range(len(case) - 1, -1, -1):
            self.unknown[i] = self.unknown[i + 1] + (case[i] not in self.model.labels)

    def run(self) -> Explanation:
        begin: _State = (0, self.model.initial)
        number = 0
        heap: list[tuple[int, int, int, int, _State, _State | None, Move | None]] = []
        heapq.heappush(heap, (self.unknown[0], 0, 0, 0, begin, None, None))
        furthest = begin
        while heap:
            total, early, _, _, state, before, move = heapq.heappop(heap)
            if state in self.came:
                continue
            self.came[state] = None if before is None or move is None else (before, move)
            if state[0] > furthest[0]:
                furthest = state
            later, may_end = self.replayer.ahead(state[1])
            if state[0] == len(self.case) and may_end:
                return Explanation(self._moves(state), total, False)
            if len(self.came) >= self.replayer.most or number >= _PUT_OFF * self.replayer.most:
                break
            cost = total - self.unknown[state[0]]
            for next_state, next_move in self._moves_from(state, later):
                if next_state in self.came:
                    continue
                number += 1
                all_cost = cost + (next_move.kind != "sync") + self.unknown[next_state[0]]
                rank = early + self._rank(next_move)
                heapq.heappush(heap, (all_cost, rank, -next_state[0], number, next_state, state, next_move))
        return self._ended_early(furthest)

    def _rank(self, move: Move) -> int:
        """The smaller the better, among moves of the same cost."""
        if move.kind == "sync":
            return 0
        late = len(self.case) - move.at + 1
        if move.activity in self.replayer.controls:
            return late
        seldom = move.kind == "model" and move.activity not in self.replayer.happen
        return late + _MUCH * (2 if seldom else 1)

    def _moves_from(self, state: _State, later: dict[str, tuple[int, ...]]) -> list[tuple[_State, Move]]:
        at, marking = state
        found: list[tuple[_State, Move]] = []
        if at < len(self.case):
            activity = self.case[at]
            if activity in self.model.anywhere:
                return [((at + 1, marking), Move("sync", activity, at))]
            found += [((at + 1, after), Move("sync", activity, at)) for after in later.get(activity, ())]
            found.append(((at + 1, marking), Move("log", activity, at)))
        for activity, markings in later.items():
            if activity in self.model.optional:
                continue  # the model goes on without it, too
            found += [((at, after), Move("model", activity, at)) for after in markings]
        return found

    def _moves(self, state: _State) -> tuple[Move, ...]:
        moves: list[Move] = []
        while (step := self.came[state]) is not None:
            state = step[0]
            moves.append(step[1])
        return tuple(reversed(moves))

    def _ended_early(self, furthest: _State) -> Explanation:
        """As far as it came; whatever follows is none of the model's."""
        self.bounded = True
        rest = (Move("log", self.case[i], i) for i in range(furthest[0], len(self.case)))
        moves = (*self._moves(furthest), *rest)
        return Explanation(moves, sum(move.kind != "sync" for move in moves), True)
