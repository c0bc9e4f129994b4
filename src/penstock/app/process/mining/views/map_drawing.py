"""The map of a process as a picture: in a terminal or as SVG, drawn by what draws nets."""

from __future__ import annotations

import msgspec

from penstock.mining.activity_map import ActivityMap, ActivityStats, FlowStats
from penstock.net.draw.svg import svg
from penstock.net.draw.terminal import TextLine, terminal
from penstock.net.draw.text_width import clean
from penstock.net.model import Edge, Net, Node

_BEGIN, _END = "_begin", "_end"
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))
#: activities and flows that are drawn without being asked for more
ACTIVITIES, FLOWS = 40, 60


class MapPicture(msgspec.Struct, frozen=True):
    """`flows_left_out` and `activities_left_out` are hidden, and every count is that of the whole history."""

    net: Net
    activities_left_out: int
    flows_left_out: int

    def lines(self) -> list[TextLine]:
        return terminal(self.net)

    def as_svg(self, title: str) -> str:
        return svg(self.net, title=title)


def map_picture(found: ActivityMap, name: str, activities: int = ACTIVITIES, flows: int = FLOWS) -> MapPicture:
    """The most frequent ones. Rare flows are hidden first, and what no flow leads to with them."""
    shown = {each.name for each in found.activities[:activities]} | {""}
    drawn = [flow for flow in found.flows if flow.source in shown and flow.target in shown][:flows]
    linked = {flow.source for flow in drawn} | {flow.target for flow in drawn}
    stats = [each for each in found.activities if each.name in linked]
    ids = {each.name: f"a{number}" for number, each in enumerate(stats)}
    nodes = [
        Node(id=_BEGIN, kind="start", label=" ", type=_times(found.cases)),
        *(_node(ids[each.name], each) for each in stats),
        Node(id=_END, kind="end", label=" ", type=_times(found.cases)),
    ]
    edges = [_edge(number, flow, ids) for number, flow in enumerate(drawn)]
    net = Net(name=clean(name) or "map", nodes=tuple(nodes), edges=tuple(edges))
    return MapPicture(net, len(found.activities) - len(stats), len(found.flows) - len(drawn))


def _node(id: str, each: ActivityStats) -> Node:
    words = [_times(each.count)]
    if each.median_work_ms:
        words.append(span(each.median_work_ms))
    if each.agent:
        words.append("agent" if not each.human else f"agent {each.agent / each.count:.0%}")
    return Node(id=id, kind="task" if each.agent else "work", label=each.name, type=" · ".join(words))


def _edge(number: int, flow: FlowStats, ids: dict[str, str]) -> Edge:
    words = f"{flow.count:,}"
    if flow.median_wait_ms is not None and flow.source and flow.target:
        words = f"{words} · {span(flow.median_wait_ms)}"
    source, target = ids.get(flow.source, _BEGIN), ids.get(flow.target, _END)
    return Edge(id=f"f{number}", src=source, dst=target, label=words)


def _times(count: int) -> str:
    return f"{count:,}×"


def span(ms: int) -> str:
    """As people say it: 31 hours and 5 minutes are 1d 7h, 47 minutes and 56 seconds are 48min."""
    for i, (unit, length) in enumerate(_UNITS):
        if ms >= 10 * length or ms >= length and i == len(_UNITS) - 1:
            return f"{round(ms / length)}{unit}"
        if ms >= length:
            less, smaller = _UNITS[i + 1]
            count, rest = divmod(round(ms / smaller) * smaller, length)
            return f"{count}{unit} {rest // smaller}{less}" if rest else f"{count}{unit}"
    return f"{max(ms, 0)}ms"
