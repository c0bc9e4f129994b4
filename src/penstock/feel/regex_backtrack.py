"""Matches patterns that re2 cannot (back-references, sets less sets): a backtracking machine with a budget of steps."""

from __future__ import annotations

from typing import Any

from penstock.feel.evaluation import Exceeded
from penstock.feel.regex_grammar import Part

_COST = 16  # of one step, in eighths of a step of the evaluation
_MOST_CODE = 20_000


class Machine:
    """A pattern as instructions; `match(text, at)` gives the places of the groups."""

    def __init__(self, part: Part, groups: int, flags: str) -> None:
        self.code: list[tuple[Any, ...]] = []
        self.slots = 2 * (groups + 1)
        self.fold = "i" in flags
        self.multiline = "m" in flags
        self.dot_all = "s" in flags
        self._emit(part)
        self.code.append(("match",))

    def _emit(self, part: Part) -> None:
        if len(self.code) > _MOST_CODE:
            raise Exceeded("a pattern that is too large")
        kind = part[0]
        if kind == "sequence":
            for each in part[1]:
                self._emit(each)
        elif kind == "choice":
            self._emit_choice(part[1])
        elif kind == "group":
            self.code.append(("save", 2 * part[1]))
            self._emit(part[2])
            self.code.append(("save", 2 * part[1] + 1))
        elif kind == "repeat":
            self._emit_repeat(*part[1:])
        else:
            self.code.append(part)

    def _emit_choice(self, branches: tuple[Part, ...]) -> None:
        ends = []
        for branch in branches[:-1]:
            split = self._reserve()
            self._emit(branch)
            ends.append(self._reserve())
            self.code[split] = ("split", split + 1, len(self.code))
        self._emit(branches[-1])
        for end in ends:
            self.code[end] = ("jump", len(self.code))

    def _emit_repeat(self, part: Part, least: int, most: int | None, greedy: bool) -> None:
        for _ in range(least):
            self._emit(part)
        if most is None:
            split = self._reserve()
            self.code.append(("mark",))
            self._emit(part)
            self.code.append(("again", split))
            self._put_split(split, greedy)
            return
        splits = []
        for _ in range(most - least):
            splits.append(self._reserve())
            self._emit(part)
        for split in splits:
            self._put_split(split, greedy)

    def _reserve(self) -> int:
        self.code.append(())
        return len(self.code) - 1

    def _put_split(self, split: int, greedy: bool) -> None:
        into, past = split + 1, len(self.code)
        self.code[split] = ("split", into, past) if greedy else ("split", past, into)

    def match(self, text: str, at: int, budget: list[int]) -> list[int] | None:
        code = self.code
        stack: list[tuple[int, int, tuple[int, ...], tuple[int, ...]]] = [(0, at, (-1,) * self.slots, ())]
        while stack:
            place, position, saved, marks = stack.pop()
            while True:
                budget[0] -= _COST
                if budget[0] < 0:
                    raise Exceeded("a pattern that needs too many steps")
                step = code[place]
                kind = step[0]
                if kind == "match":
                    return [at, position, *saved[2:]]
                if kind == "split":
                    stack.append((step[2], position, saved, marks))
                    place = step[1]
                elif kind == "jump":
                    place = step[1]
                elif kind == "mark":
                    marks = (*marks, position)
                    place += 1
                elif kind == "again":
                    if marks[-1] == position:  # an empty round is the last
                        place += 1
                    else:
                        place = step[1]
                    marks = marks[:-1]
                elif kind == "save":
                    saved = (*saved[: step[1]], position, *saved[step[1] + 1 :])
                    place += 1
                else:
                    width = self._width(step, text, position, saved)
                    if width < 0:
                        break
                    position += width
                    place += 1
        return None

    def _width(self, step: tuple[Any, ...], text: str, position: int, saved: tuple[int, ...]) -> int:
        """How many characters a step takes; -1 where it does not match."""
        kind = step[0]
        if kind == "begin":
            return 0 if position == 0 or (self.multiline and text[position - 1] == "\n") else -1
        if kind == "end":
            return 0 if position == len(text) or (self.multiline and text[position] == "\n") else -1
        if kind == "back":
            return self._back(text, position, saved[2 * step[1]], saved[2 * step[1] + 1])
        if position >= len(text):
            return -1
        mark = text[position]
        if kind == "any":
            return 1 if self.dot_all or mark not in "\n\r" else -1
        forms = {mark, mark.lower(), mark.upper()} if self.fold else {mark}
        if kind == "char":
            held = step[1] in forms or (self.fold and step[1].lower() == mark.lower())
        else:
            held = any(len(form) == 1 and step[1].holds(form) for form in forms)
        return 1 if held else -1

    def _back(self, text: str, position: int, begin: int, end: int) -> int:
        if begin < 0 or end < 0:
            return 0
        wanted = text[begin:end]
        given = text[position : position + len(wanted)]
        same = given.lower() == wanted.lower() if self.fold else given == wanted
        return len(wanted) if same else -1
