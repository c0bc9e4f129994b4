"""The variable by which the instances of several pools know each other."""

from __future__ import annotations

from penstock.lang.process.expression_names import quoted
from penstock.lang.process.lowering_context import SharedContext
from penstock.lang.process.nodes.contract import KEEP_OUTPUT
from penstock.net.model import Set


def start_sets(shared: SharedContext) -> tuple[Set, ...]:
    """P-X.8: the input becomes variables. BPMN 8.4.2: a conversation that the input does not bring begins here."""
    name = shared.definition.top.conversation
    if not name:
        return KEEP_OUTPUT
    own = f"fn.coalesce(output[{quoted(name)}], sys.instance_id)"
    return (*KEEP_OUTPUT, Set(name=name, expr=own))
