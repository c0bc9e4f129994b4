"""Folds that are kept by a process that only reads: who asks again pays for what is new. Bounded by their facts."""

from __future__ import annotations

from penstock.app.drawing.kept_overlays import KeptOverlays
from penstock.app.runs.run_view import RunFold

#: so many facts are in the folds that are kept; some hundred bytes each
MOST_FACTS = 500_000


class KeptFolds:
    """The oldest go first. The newest is kept however long it is: whoever has asked for it will ask again."""

    def __init__(self, watched: dict[int, RunFold], most_facts: int = MOST_FACTS) -> None:
        self.watched, self.most_facts = watched, most_facts
        self.overlays = KeptOverlays()

    def keep(self, run: int, fold: RunFold) -> None:
        self.watched.pop(run, None)
        self.watched[run] = fold
        held = sum(kept.reader.st.n for kept in self.watched.values())
        while held > self.most_facts and len(self.watched) > 1:
            oldest = next(iter(self.watched))
            held -= self.watched.pop(oldest).reader.st.n

    def forget(self) -> None:
        """After an error nobody knows how far a fold has got."""
        self.watched.clear()
        self.overlays.forget()
