"""replay: fold facts into state. Crash recovery, time travel, fork and audit are this one function."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.state import State, new_state


def fold(st: State, facts: Iterable[F.Fact], at: int) -> State:
    """One turn."""
    st.at = at
    for f in facts:
        EVOLVE[f[0]](st, f)
        st.n += 1
    st.hand = None
    return st


def fold_to(turns: Iterable[tuple[int, list[F.Fact]]], last: int) -> State:
    """The state after fact number `last`, in the middle of a turn if need be."""
    st = new_state()
    for at, facts in turns:
        if st.n >= last:
            break
        fold(st, facts[: last - st.n], at)
    return st
