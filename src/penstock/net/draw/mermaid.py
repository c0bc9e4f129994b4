"""A net as Mermaid text, for places that draw it themselves: a README, a ticket, a wiki."""

from __future__ import annotations

import re

from penstock.net.analysis import NetAnalysis
from penstock.net.draw.marks import Marks, NodeMark, badge, status_style
from penstock.net.draw.node_shapes import edge_text, node_shape
from penstock.net.draw.theme import THEMES
from penstock.net.model import Net

_SHAPES = {
    "circle": '(("{}"))',
    "ring": '((("{}")))',
    "card": '("{}")',
    "work": '["{}"]',
    "hexagon": '{{{{"{}"}}}}',
    "bar": '["{}"]',
    "capsule": '(["{}"])',
    "call": '[["{}"]]',
    "undo": '("{}")',
    "frame": '["{}"]',
}
_RISKY = re.compile(r"[^\w \-.,?!:/+='·…–—°€×→●]")


def mermaid(net: Net, marks: Marks | None = None) -> str:
    """Nodes are named n0, n1 …, so no name of the document can become syntax; texts are written as entities."""
    analysis = NetAnalysis(net)
    lines = ["flowchart LR"]
    inside: dict[str, list[int]] = {}
    for v, node in enumerate(net.nodes):
        inside.setdefault(node.scope if node.scope in analysis.graph.number else "", []).append(v)
    todo = [(v, 1) for v in reversed(inside.get("", []))]
    seen: set[int] = set()
    while todo:
        v, depth = todo.pop()
        pad = "    " * depth
        if v < 0:
            lines.append(f"{pad}end")
        elif v not in seen:
            seen.add(v)
            shape, text = node_shape(analysis, v).shape, _text(analysis, v, marks)
            if shape == "frame" and (members := inside.get(net.nodes[v].id)):
                lines.append(f'{pad}subgraph n{v}["{text}"]')
                todo.append((-1, depth))
                todo += [(w, depth + 1) for w in reversed(members)]
            else:
                lines.append(f"{pad}n{v}{_SHAPES[shape].format(text)}")
    lines += [_edge(analysis, e, marks) for e in range(len(analysis.graph.edges))]
    number = analysis.graph.number
    lines += [f"    n{v} -.-> n{number[u]}" for v, node in enumerate(net.nodes) for u in node.undo if u in number]
    return "\n".join([*lines, *_classes(analysis, marks)]) + "\n"


def _edge(analysis: NetAnalysis, e: int, marks: Marks | None) -> str:
    edge = analysis.graph.edges[e]
    count = marks.tokens.get(edge.id, 0) if marks else 0
    tokens = "" if not count else "●" if count == 1 else f"●{count}"
    text = " ".join(part for part in (_escape(edge_text(edge)), tokens) if part)
    label = f'|"{text}"|' if text else ""
    return f"    n{analysis.graph.src[e]} -->{label} n{analysis.graph.dst[e]}"


def _text(analysis: NetAnalysis, v: int, marks: Marks | None) -> str:
    node, shown = analysis.net.nodes[v], node_shape(analysis, v)
    title = _escape(shown.title) if shown.shape != "bar" else _escape(node.label) or "#8214;"
    mark = (marks.nodes.get(node.id) if marks else None) or NodeMark()
    words = [status_style(mark.status).word if mark.status else "", badge(mark), mark.note]
    below = _escape(" · ".join(word for word in words if word))
    return f"{title or ' '}<br/>{below}" if below else title or " "


def _escape(text: str) -> str:
    """Everything that could mean something to Mermaid becomes a number."""
    return _RISKY.sub(lambda match: f"#{ord(match[0])};", text)


def _classes(analysis: NetAnalysis, marks: Marks | None) -> list[str]:
    by_tone: dict[str, list[str]] = {}
    for v, node in enumerate(analysis.net.nodes):
        mark = marks.nodes.get(node.id) if marks else None
        if mark is not None and mark.status:
            by_tone.setdefault(status_style(mark.status).tone, []).append(f"n{v}")
    tones, text = THEMES["light"].tones, THEMES["light"].text
    lines = []
    for tone, ink in tones.items():
        if tone in by_tone:
            dashes = ",stroke-dasharray:4 3" if tone == "idle" else ""
            lines.append(f"    classDef {tone} fill:{ink.tint},stroke:{ink.mark},color:{text}{dashes}")
            lines.append(f"    class {','.join(by_tone[tone])} {tone}")
    return lines
