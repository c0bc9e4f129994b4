"""The nodes at which levels begin: each level has one, whatever was drawn there."""

from __future__ import annotations

from penstock.lang.process.fields import AdHoc
from penstock.lang.process.graph import ProcessGraph
from penstock.lang.process.lowering_context import steps_scope
from penstock.lang.process.schema import Element


def level_entry(level: str) -> str:
    """The id of the node that is added where the elements of a level begin."""
    return f"{level}.start"


def listening_start(level: str) -> str:
    """The id of the node that is added before the scope of a level with event sub-processes."""
    return f"{level}.begin"


def frame_entry(level: str, graph: ProcessGraph) -> str:
    """Where a level itself begins: an ad-hoc sub-process with the question which of its elements do."""
    if not graph.is_ad_hoc(level):
        return level_entry(level)
    ad_hoc = ad_hoc_of(graph.definition.elements[level])
    if ad_hoc.steps is not None:
        return steps_scope(level)
    return f"{level}.choice" if ad_hoc.ordering == "sequential" else f"{level}.choosing"


def ad_hoc_of(element: Element) -> AdHoc:
    f = element.activity
    assert f is not None, "an ad-hoc sub-process is an activity"
    return f.ad_hoc or AdHoc()
