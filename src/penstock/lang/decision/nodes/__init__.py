"""The node types of workflows: one line each. What comes later is refused by name."""

from __future__ import annotations

from penstock.lang.decision.nodes.action import ACTION
from penstock.lang.decision.nodes.approval import APPROVAL
from penstock.lang.decision.nodes.compensation import COMPENSATION
from penstock.lang.decision.nodes.contract import NodeType
from penstock.lang.decision.nodes.data import DATA
from penstock.lang.decision.nodes.judgment import JUDGMENT
from penstock.lang.decision.nodes.mcp import MCP
from penstock.lang.decision.nodes.parallel import PARALLEL
from penstock.lang.decision.nodes.switch import SWITCH
from penstock.lang.decision.nodes.wait import WAIT

NODE_TYPES: dict[str, NodeType] = {
    type.name: type for type in (DATA, JUDGMENT, MCP, ACTION, APPROVAL, WAIT, SWITCH, PARALLEL, COMPENSATION)
}
#: Types of the language that this version does not run.
LATER = ("BI", "DEPLOY", "ROLLBACK", "SIMULATE")

__all__ = ["LATER", "NODE_TYPES", "NodeType"]
