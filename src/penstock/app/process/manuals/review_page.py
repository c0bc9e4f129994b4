"""A manual and the process that was read out of it, side by side in one HTML file without scripts.

What is clicked in the drawing is marked in the text, and the other way round. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from penstock.app.process.models import Proposed
from penstock.lang.process.bpmn.layout import auto_layout
from penstock.lang.process.text_import.evidence import Element

_STYLE = """
:root{color-scheme:light dark;--line:#8a93a3;--shape:#f4f6fa;--mark:#ffe9a8;--text:#1b2230;--page:#fff;--weak:#b8541a}
@media(prefers-color-scheme:dark){:root{--shape:#252c3a;--mark:#6b5510;--text:#e7eaf0;--page:#141922;--weak:#f0a06a}}
body{margin:0;font:15px/1.6 system-ui,sans-serif;color:var(--text);background:var(--page)}
header{padding:12px 20px;border-bottom:1px solid var(--line)}h1{font-size:20px;margin:0}
main{display:grid;grid-template-columns:minmax(280px,2fr) 3fr;height:calc(100vh - 76px)}
section{overflow:auto;padding:12px 20px}section+section{border-left:1px solid var(--line)}
h2{font-size:15px}.page{color:var(--line);font-size:12px;margin-top:14px}
a{color:inherit;text-decoration:none}.sentence:target,.sentence:target a,li:target{background:var(--mark)}
.found a{border-bottom:1px dotted var(--line)}.low{color:var(--weak)}
svg a:hover .shape,svg a:focus .shape{stroke-width:3}
.shape{fill:var(--shape);stroke:var(--text);stroke-width:1.3}.flow{fill:none;stroke:var(--line);stroke-width:1.4}
.unsure .shape{stroke:var(--weak);stroke-dasharray:5 3}
text{fill:var(--text);font-size:12px}g:target .shape{fill:var(--mark)}
table{border-collapse:collapse;font-size:13px}td,th{border:1px solid var(--line);padding:2px 8px;text-align:left}
@media(max-width:800px){main{display:block;height:auto}}"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LINE = 15  # a line of a name in a box: letters, of which a Korean one is as wide as two
_SURE = 0.8
_CHARACTERS = {"activities": "□", "gateways": "◇", "events": "○", "transitions": "→", "roles": "♟", "data": "▤",
               "decisions": "▦"}  # fmt: skip


def review_page(done: Proposed) -> str:
    title = escape(str(done.definition.get("process_definition_name") or done.id))
    about = f"{escape(done.id)} · {done.confidence:.0%} · {escape(done.source)} · {escape(done.approval_status)}"
    return (
        f'<!doctype html>\n<html lang="{_language(done)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title><style>{_STYLE}</style></head><body>'
        f"<header><h1>{title}</h1><div>{about}</div></header><main><section>{_text(done)}</section>"
        f"<section>{_drawing(done)}{_elements(done)}{_dropped(done)}{_findings(done)}</section></main></body></html>\n"
    )


def _language(done: Proposed) -> str:
    korean = sum("\uac00" <= letter <= "\ud7a3" for letter in done.reading.text)
    return "ko" if 5 * korean > len(done.reading.text) else "en"


def _text(done: Proposed) -> str:
    """The sentences, page by page, each with a link to the element that comes from it."""
    first: dict[str, Element] = {}
    for element in sorted(done.reading.elements, key=lambda each: each.collection != "activities"):
        for id in element.sentences:
            first.setdefault(id, element)
    parts: list[str] = []
    page = paragraph = 0
    for sentence in done.reading.sentences:
        if sentence.page != page:
            parts.append(f'{"</p>" if parts else ""}<div class="page">{sentence.page}</div><p>')
        elif sentence.paragraph != paragraph:
            parts.append("</p><p>")
        page, paragraph = sentence.page, sentence.paragraph
        behind = first.get(sentence.id)
        text = escape(sentence.text)
        linked = f'<a href="#{_anchor(behind)}">{text}</a>' if behind is not None else text
        kind = "sentence found" if behind is not None else "sentence"
        parts.append(f'<span class="{kind}" id="{sentence.id}">{linked}</span> ')
    return "".join([*parts, "</p>"] if parts else [])


def _anchor(element: Element) -> str:
    return f"e-{element.collection}-{escape(element.id)}".replace(" ", "-")


def _drawing(done: Proposed) -> str:
    definition = done.definition
    try:
        layout = auto_layout(definition)
    except (KeyError, TypeError):  # what has errors may have no ends
        return ""
    shapes, edges = layout["shapes"], layout["edges"]
    if not shapes:
        return ""
    known = {element.id: element for element in done.reading.elements}
    width = max(box["bounds"][0] + box["bounds"][2] for box in shapes.values()) + 20
    height = max(box["bounds"][1] + box["bounds"][3] for box in shapes.values()) + 60
    flows = {flow["id"]: flow for flow in definition.get("transitions") or []}
    drawn = [_flow(flows[id], edge["points"]) for id, edge in edges.items()]
    entries = {
        entry["id"]: (collection, entry)
        for collection in ("activities", "gateways", "events") for entry in definition.get(collection) or []
    }  # fmt: skip
    drawn += [_shape(*entries[id], shape["bounds"], known.get(id)) for id, shape in shapes.items()]
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L10 5L0 10z" fill="currentColor"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img">{arrow}{"".join(drawn)}</svg>'
    )


def _flow(flow: dict[str, Any], points: list[list[float]]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    label = str(flow.get("name") or flow.get("condition") or "")
    middle = points[len(points) // 2]
    shown = _wrapped(str(flow.get("name") or ""))[:1]
    said = f'<text x="{middle[0] - 60:g}" y="{middle[1] - 6:g}">{escape(shown[0])}</text>' if shown else ""
    return (
        f'<g><title>{escape(label)}</title><polyline class="flow" marker-end="url(#arrow)" points="{path}"/>{said}</g>'
    )


def _shape(collection: str, entry: dict[str, Any], bounds: list[float], element: Element | None) -> str:
    x, y, width, height = bounds
    name = str(entry.get("name") or "")
    if collection == "activities":
        body = f'<rect class="shape" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8"/>'
        lines = _wrapped(name)
        top = y + height / 2 - 8 * (len(lines) - 1) + 4
        texts = "".join(
            f'<text x="{x + width / 2:g}" y="{top + 16 * number:g}" text-anchor="middle">{escape(line)}</text>'
            for number, line in enumerate(lines)
        )
    elif collection == "gateways":
        points = ((x + width / 2, y), (x + width, y + height / 2), (x + width / 2, y + height), (x, y + height / 2))
        body = f'<polygon class="shape" points="{" ".join(f"{a:g},{b:g}" for a, b in points)}"/>'
        mark = {"parallelGateway": "+", "inclusiveGateway": "○"}.get(str(entry.get("type")), "×")
        texts = f'<text x="{x + width / 2:g}" y="{y + height / 2 + 5:g}" text-anchor="middle">{mark}</text>'
        texts += f'<text x="{x + width / 2:g}" y="{y + height + 14:g}" text-anchor="middle">{escape(name[:24])}</text>'
    else:
        body = f'<circle class="shape" cx="{x + width / 2:g}" cy="{y + height / 2:g}" r="{width / 2:g}"/>'
        texts = ""
    unsure = element is not None and element.confidence < _SURE
    drawn = f'<g class="{"unsure" if unsure else "sure"}"><title>{escape(name)}</title>{body}{texts}</g>'
    if element is None or not element.sentences:
        return drawn
    return f'<a href="#{element.sentences[0]}">{drawn}</a>'


def _wrapped(name: str) -> list[str]:
    """The first four lines of a name, broken at its words where it can be."""
    lines, line = list[str](), ""
    for word in name.split():
        longer = f"{line} {word}".strip()
        if line and _width(longer) > _LINE:
            lines.append(line)
            longer = word
        while _width(longer) > _LINE:
            cut = next(n for n in range(len(longer), 0, -1) if _width(longer[:n]) <= _LINE)
            lines.append(longer[:cut])
            longer = longer[cut:]
        line = longer
    lines += [line] if line else []
    return lines if len(lines) <= 4 else [*lines[:3], f"{lines[3][:-1]}…"]


def _width(text: str) -> int:
    return sum(2 if letter > "\u1100" else 1 for letter in text)


def _elements(done: Proposed) -> str:
    sentences = {sentence.id: sentence for sentence in done.reading.sentences}
    items = []
    for element in done.reading.elements:
        if element.collection == "transitions" and not element.name:
            continue
        links = " ".join(
            f'<a href="#{id}">«{escape(sentences[id].text[:90])}» ({sentences[id].page})</a>'
            for id in element.sentences[:3]
        )  # fmt: skip
        low = ' class="low"' if element.confidence < _SURE else ""
        name = escape(element.name or element.id)
        items.append(f'<li id="{_anchor(element)}"{low}>{_CHARACTERS[element.collection]} <b>{name}</b> '
                     f"{element.confidence:.0%} {links}</li>")  # fmt: skip
    return f"<ul>{''.join(items)}</ul>"


def _dropped(done: Proposed) -> str:
    rows = ((each.kind, each.name, each.quote, each.why) for each in done.reading.dropped)
    return _table(rows) if done.reading.dropped else ""


def _findings(done: Proposed) -> str:
    items = "".join(f"<li>{escape(finding.severity)}: {escape(finding.message)}</li>" for finding in done.findings)
    return f"<ul>{items}</ul>" if items else ""


def _table(rows: Iterable[Iterable[str]]) -> str:
    written = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{written}</table>"
