"""Where the values of a settled firing go: variables, and the names of its output."""

from __future__ import annotations

from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.token import Envelope


def hand_of(r: Run) -> Envelope:
    assert r.st.hand is not None, "nothing is in hand"
    return r.st.hand.envelope


def name_output(r: Run, scope_no: int, names: tuple[str, ...]) -> None:
    """Output names that a scope around declares as its locals stay there."""
    scope = r.st.scopes[scope_no]
    local: set[str] = set()
    while scope.no:
        mine = [n for n in names if n in scope.vars and n not in local]
        if mine:
            r.record((F.LOCALS, scope.no, dict.fromkeys(mine, hand_of(r).body)))
            local.update(mine)
        scope = r.st.scopes[scope.parent]
    rest = [n for n in names if n not in local]
    if rest:
        r.record((F.NAMED, rest))


def write_variables(r: Run, scope_no: int, values: dict[str, Any]) -> None:
    """Names that a scope around declares as its locals stay there; all others go to the root."""
    rest = values
    scope = r.st.scopes[scope_no]
    while scope.no:
        mine = {n: v for n, v in rest.items() if n in scope.vars}
        if mine:
            r.record((F.LOCALS, scope.no, mine))
            rest = {n: v for n, v in rest.items() if n not in mine}
        scope = r.st.scopes[scope.parent]
    if rest:
        r.record((F.SETS, rest))
