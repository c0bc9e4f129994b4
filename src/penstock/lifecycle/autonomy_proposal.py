"""The life of a proposal to raise or lower an agent's mode: a person ends it, or the evidence does."""

from __future__ import annotations

from penstock.lifecycle.contract import Machine, T

AUTONOMY_PROPOSAL = Machine(
    "autonomy_proposal",
    "open",
    (
        T("open", "accept", "accepted", "issue 17: by a person; the next version of the definition is made"),
        T("open", "dismiss", "dismissed", "issue 17: by a person, with a reason"),
        T("open", "withdraw", "withdrawn", "issue 17: the cases do not bear it any more"),
    ),
    terminal=("accepted", "dismissed", "withdrawn"),
)
