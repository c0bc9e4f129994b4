"""How much more a model allows than was seen: escaping edges (Muñoz-Gama and Carmona, ETConformance).

After every beginning of a case that fits, the activities that the model allows next are compared with those that some
case had next. 1: nothing is allowed that was not seen; near 0: nearly anything is. A beginning counts as often as it
was seen and went on. The first deviation of a case, and what follows it, is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.mining.replay import Replayer

#: Beginnings that are looked at; the rest of a log with more of them is left out, in the order of its cases.
MOST_BEGINNINGS = 200_000


class _Beginning:
    __slots__ = ("cases", "markings", "next")

    def __init__(self, markings: set[int]) -> None:
        self.markings, self.cases = markings, 0
        self.next: dict[str, _Beginning | None] = {}


def precision(replayer: Replayer, variants: Mapping[tuple[str, ...], int]) -> float:
    """Between 0 and 1; of a log that allows no answer, 1."""
    root, count = _Beginning({replayer.model.initial}), 0
    for variant, cases in sorted(variants.items(), key=lambda one: -one[1]):
        at: _Beginning | None = root
        for activity in variant:
            if at is None or activity in replayer.model.anywhere:
                continue
            at.cases += cases
            if activity not in at.next and count < MOST_BEGINNINGS:
                count += 1
                markings = replayer.after(at.markings, activity)
                at.next[activity] = _Beginning(markings) if markings else None
            at = at.next.get(activity)
    seen = {activity for variant in variants for activity in variant}
    return 1 - _escaping_share(root, replayer, replayer.model.optional - seen)


def _escaping_share(root: _Beginning, replayer: Replayer, ignored: frozenset[str]) -> float:
    """`ignored`: what leaves an event only in logs from elsewhere, and not in this one."""
    allowed, escaping, todo = 0, 0, [root]
    while todo:
        at = todo.pop()
        if at.cases:
            possible = {activity for marking in at.markings for activity in replayer.ahead(marking)[0]} - ignored
            allowed += at.cases * len(possible)
            escaping += at.cases * len(possible - at.next.keys())
        todo += [later for later in at.next.values() if later is not None]
    return escaping / allowed if allowed else 0.0
