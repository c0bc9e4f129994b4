"""What a node type of a workflow is: its traits, and how a node of it becomes a fragment of the net."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.workflow import NodeTraits
from penstock.net.model import Edge, Node

#: The nodes and ports where an outcome leaves a fragment.
Exits = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Fragment:
    """The part of the net that one node becomes. Edges lead to `entry` and leave from `exit`; `core` does the work.
    `ports` says where other outcomes leave: failed, rejected, timeout, alternative, rolled_back. `first` has the
    author's condition, where that is not the core."""

    nodes: tuple[Node, ...]
    entry: str
    exit: str
    core: str
    edges: tuple[Edge, ...] = ()
    ports: Mapping[str, Exits] = field(default_factory=dict)
    first: str = ""


Lower = Callable[[Any, LoweringContext], Fragment]


@dataclass(frozen=True, kw_only=True)
class NodeType(NodeTraits):
    """The traits of a node type, and its lowering."""

    lower: Lower


def id_without(prefix: str, id: str) -> str:
    """The rest of an id after its prefix; empty when it has another one."""
    return id[len(prefix) :] if id.startswith(prefix) else ""


def alias_from(prefix: str, suffix: str = "") -> Callable[[str], str]:
    """Derives an output's name from a node's id: without the prefix, with the suffix; "" for other ids (C-10)."""

    def alias(id: str) -> str:
        rest = id_without(prefix, id)
        return rest + suffix if rest else ""

    return alias
