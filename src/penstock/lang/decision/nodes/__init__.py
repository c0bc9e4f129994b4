"""The node types of workflows: one line each."""

from __future__ import annotations

from penstock.lang.decision.nodes.action import ACTION
from penstock.lang.decision.nodes.approval import APPROVAL
from penstock.lang.decision.nodes.bi import BI
from penstock.lang.decision.nodes.compensation import COMPENSATION
from penstock.lang.decision.nodes.contract import NodeType
from penstock.lang.decision.nodes.data import DATA
from penstock.lang.decision.nodes.deploy import DEPLOY
from penstock.lang.decision.nodes.judgment import JUDGMENT
from penstock.lang.decision.nodes.mcp import MCP
from penstock.lang.decision.nodes.parallel import PARALLEL
from penstock.lang.decision.nodes.rollback import ROLLBACK
from penstock.lang.decision.nodes.simulate import SIMULATE
from penstock.lang.decision.nodes.switch import SWITCH
from penstock.lang.decision.nodes.wait import WAIT

NODE_TYPES: dict[str, NodeType] = {
    type.name: type
    for type in (
        DATA,
        BI,
        JUDGMENT,
        MCP,
        ACTION,
        APPROVAL,
        WAIT,
        SWITCH,
        PARALLEL,
        COMPENSATION,
        DEPLOY,
        ROLLBACK,
        SIMULATE,
    )
}

__all__ = ["NODE_TYPES", "NodeType"]
