"""Process trees: a model of what happens in cases, in blocks that begin and end as one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

Operator = Literal["activity", "silent", "xor", "sequence", "parallel", "loop"]


class ProcessTree(msgspec.Struct, frozen=True):
    """`loop` has two children: what is done, and what is done before it is done again."""

    operator: Operator
    activity: str = ""
    children: tuple[ProcessTree, ...] = ()

    def __str__(self) -> str:
        """As pm4py writes trees: ->( 'a', X( 'b', tau ) )."""
        if self.operator == "activity":
            return "'" + self.activity.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if self.operator == "silent":
            return "tau"
        return f"{_SIGNS[self.operator]}( {', '.join(map(str, self.children))} )"


_SIGNS = {"xor": "X", "sequence": "->", "parallel": "+", "loop": "*"}
SILENT = ProcessTree("silent")


def leaf(activity: str) -> ProcessTree:
    return ProcessTree("activity", activity)


def block(operator: Operator, *children: ProcessTree) -> ProcessTree:
    """The block with these children; one of one child is the child, and blocks of one kind become one."""
    if operator == "loop":
        return ProcessTree("loop", children=children)
    flat: list[ProcessTree] = []
    for child in children:
        flat += child.children if child.operator == operator else (child,)
    if operator == "xor":
        flat = list(dict.fromkeys(flat))
    elif len(flat) > 1:
        flat = [child for child in flat if child != SILENT] or [SILENT]
    return flat[0] if len(flat) == 1 else ProcessTree(operator, children=tuple(flat))


def activities(tree: ProcessTree) -> Iterator[str]:
    """Their names, from left to right."""
    todo = [tree]
    while todo:
        at = todo.pop()
        if at.operator == "activity":
            yield at.activity
        todo += reversed(at.children)
