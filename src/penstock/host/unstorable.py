"""Facts that cannot be stored: a value that the journal cannot hold, and the node that made it."""

from __future__ import annotations

import msgspec

from penstock.kernel import fact as F
from penstock.kernel.run import Run

#: what encoding raises for such a value
UNSTORABLE = (TypeError, OverflowError, ValueError, RecursionError, msgspec.MsgspecError)


class Unstorable(Exception):
    """The facts of a turn hold a value that the journal cannot; `node` is the one that made it, where that is known."""

    node: int | None = None


def unstorable(run: Run, facts: list[F.Fact], error: Exception) -> Unstorable:
    failure = Unstorable(str(error))
    failure.node = _maker(run, facts)
    return failure


def _maker(run: Run, facts: list[F.Fact]) -> int | None:
    """The node of the first fact that cannot be stored; facts without one belong to the node before them."""
    nodes = {no: firing.node for no, firing in run.st.firings.items()}
    last: int | None = None
    for fact in facts:
        fields = F.fields_of(fact)
        if isinstance(fields.get("node"), int):
            last = fields["node"]
            nodes[fields.get("firing", -1)] = fields["node"]
        elif "firing" in fields:
            last = nodes.get(fields["firing"], last)
        elif "edge" in fields:
            last = run.net.edges[fields["edge"]].src.no
        try:
            F.encode_facts([fact])
        except UNSTORABLE:
            return last
    return last
