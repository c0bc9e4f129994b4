"""The diagram interchange (DI) of a BPMN file: bounds of shapes, waypoints of edges, labels; read and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from penstock.lang.process.bpmn.vocabulary import DC, DD, DI
from penstock.lang.process.bpmn.xml_tree import XmlElement, open_tag

FLAGS = {"isExpanded": "expanded", "isHorizontal": "horizontal", "isMarkerVisible": "marker"}


def read(root: XmlElement, author_id: Callable[[str], str]) -> list[dict[str, Any]]:
    """{element, shapes, edges} of each plane; those behind the first are of collapsed sub-processes, mostly."""
    return [
        {"element": author_id(plane.get("bpmnElement")), **_read_plane(plane, author_id)} for plane in planes_of(root)
    ]


def planes_of(root: XmlElement) -> list[XmlElement]:
    return [plane for diagram in root.all("BPMNDiagram", DI) for plane in diagram.all("BPMNPlane", DI)]


def _read_plane(plane: XmlElement, author_id: Callable[[str], str]) -> dict[str, Any]:
    shapes: dict[str, Any] = {}
    edges: dict[str, Any] = {}
    for element in plane.children:
        if element.space != DI or not element.get("bpmnElement"):
            continue
        label = _read_label(element)
        if element.name == "BPMNShape":
            shape: dict[str, Any] = {"bounds": _read_bounds(element.first("Bounds", DC))}
            for name, word in FLAGS.items():
                if element.get(name):
                    shape[word] = element.get(name) == "true"
            shapes[author_id(element.get("bpmnElement"))] = shape | label
        elif element.name == "BPMNEdge":
            points = [[_number(p.get("x")), _number(p.get("y"))] for p in element.all("waypoint", DD)]
            edges[author_id(element.get("bpmnElement"))] = {"points": points} | label
    return {"shapes": shapes, "edges": edges}


def _read_label(element: XmlElement) -> dict[str, Any]:
    label = element.first("BPMNLabel", DI)
    bounds = label.first("Bounds", DC) if label is not None else None
    return {"label": _read_bounds(bounds)} if bounds is not None else {}


def _read_bounds(node: XmlElement | None) -> list[float]:
    return [_number(node.get(name)) if node is not None else 0 for name in ("x", "y", "width", "height")]


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0
    if not math.isfinite(value):
        return 0
    return int(value) if value == int(value) else value


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_planes(planes: list[Any], root: str, xml_id: Callable[[str], str]) -> list[str]:
    """One BPMNDiagram per plane; `root` is the element that a plane shows when it names none."""
    lines = []
    for n, plane in enumerate(planes):
        element = xml_id(str(plane.get("element") or root))
        inner = [line for id, shape in plane.get("shapes", {}).items() for line in write_shape(xml_id(id), shape, n)]
        inner += [line for id, edge in plane.get("edges", {}).items() for line in write_edge(xml_id(id), edge, n)]
        attributes = {"id": f"plane_{n}", "bpmnElement": element}
        to_xml = ["    " + open_tag("bpmndi:BPMNPlane", attributes), *inner, "    </bpmndi:BPMNPlane>"]
        lines += [f'  <bpmndi:BPMNDiagram id="diagram_{n}">', *to_xml, "  </bpmndi:BPMNDiagram>"]
    return lines


def write_shape(id: str, shape: Any, n: int) -> list[str]:
    bounds = shape.get("bounds") if isinstance(shape, Mapping) else shape
    attributes = {"id": f"{id}_di{n or ''}", "bpmnElement": id}
    if isinstance(shape, Mapping):
        attributes |= {flag: "true" if shape[word] else "false" for flag, word in FLAGS.items() if word in shape}
    inner = [write_bounds(bounds, 4), *_write_label(shape)]
    return ["      " + open_tag("bpmndi:BPMNShape", attributes), *inner, "      </bpmndi:BPMNShape>"]


def write_edge(id: str, edge: Any, n: int) -> list[str]:
    points = edge.get("points", []) if isinstance(edge, Mapping) else edge
    attributes = {"id": f"{id}_di{n or ''}", "bpmnElement": id}
    inner = [f'        <di:waypoint x="{write_number(x)}" y="{write_number(y)}" />' for x, y in points]
    return ["      " + open_tag("bpmndi:BPMNEdge", attributes), *inner, *_write_label(edge), "      </bpmndi:BPMNEdge>"]


def _write_label(shape: Any) -> list[str]:
    if not isinstance(shape, Mapping) or not shape.get("label"):
        return []
    return ["        <bpmndi:BPMNLabel>", write_bounds(shape["label"], 5), "        </bpmndi:BPMNLabel>"]


def write_bounds(bounds: Any, depth: int) -> str:
    x, y, width, height = (write_number(value) for value in [*(bounds or []), 0, 0, 0, 0][:4])
    return f'{"  " * depth}<dc:Bounds x="{x}" y="{y}" width="{width}" height="{height}" />'


def write_number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "0"
    return str(int(value)) if value == int(value) else str(value)
