"""Which names of an expression are instance variables, and BPMN's names for what a completion condition counts."""

from __future__ import annotations

from penstock.expr.root_names import HOST_ROOTS, RESERVED_ROOTS

#: Roots that every expression knows (KERNEL 9); a variable of such a name is read as context['name'].
ROOTS = frozenset(RESERVED_ROOTS) | {"nodes", "counters", "branches", "epoch", "config", "now", "undoing", "default"}
#: What a completion condition may count; BPMN's own names mean the same.
COUNTS = {
    "nrOfInstances": "total", "nrOfCompletedInstances": "done", "nrOfActiveInstances": "open",
    "loopCounter": "index", "numberOfInstances": "total", "numberOfCompletedInstances": "done",
    "numberOfActiveInstances": "open", "numberOfTerminatedInstances": "failed",
}  # fmt: skip


def instance_variables(roots: frozenset[str]) -> set[str]:
    """Those roots of an expression that are variables of the instance."""
    return set(roots) - ROOTS - HOST_ROOTS
