"""Writes where things are drawn into the text of a file: only the numbers that have changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.lang.process.bpmn.diagram_interchange import (
    FLAGS,
    planes_of,
    write_bounds,
    write_edge,
    write_number,
    write_planes,
    write_shape,
)  # fmt: skip
from penstock.lang.process.bpmn.file_index import FileIndex
from penstock.lang.process.bpmn.patch_words import in_words_of
from penstock.lang.process.bpmn.reader import ReadProcess
from penstock.lang.process.bpmn.text_edits import TextEdits
from penstock.lang.process.bpmn.vocabulary import DC, DD, DI
from penstock.lang.process.bpmn.xml_tree import XmlElement

_SIDES = ("x", "y", "width", "height")


def edit_diagram(
    edits: TextEdits, index: FileIndex, read: ReadProcess, new: Mapping[str, Any], there: set[str],
    xml_id: Callable[[str], str],
) -> None:  # fmt: skip
    """Brings the planes of a definition's diagram to what its new form says of them, one after the other. `there`: the
    ids of what the file will have; nothing else is drawn."""
    wanted, known = new.get("diagram"), read.data.get("diagram")
    if not isinstance(wanted, Mapping) or wanted == known:
        return None
    if not known:
        lines = write_planes([wanted, *_list(wanted.get("more"))], read.process.get("id"), xml_id)
        return edits.append(index.root, in_words_of(index, index.root, lines))
    nodes, after = planes_of(index.root), [wanted, *_list(wanted.get("more"))]
    for (number, old_plane), new_plane in zip(index.planes_of(read.process), after, strict=False):
        if isinstance(new_plane, Mapping):
            _Plane(edits, index, nodes[number], there, xml_id).change(old_plane, new_plane)
    return None


class _Plane:
    def __init__(
        self, edits: TextEdits, index: FileIndex, plane: XmlElement, there: set[str], xml_id: Callable[[str], str]
    ) -> None:
        self.edits, self.index, self.plane, self.there, self.xml_id = edits, index, plane, there, xml_id
        self.drawn = {(node.name, index.author_id(node.get("bpmnElement"))): node for node in plane.children}

    def change(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        for part, tag, write in (("shapes", "BPMNShape", write_shape), ("edges", "BPMNEdge", write_edge)):
            before, after = old[part], new.get(part)
            if not isinstance(after, Mapping):
                continue
            for id in [id for id in after if id in self.there]:
                drawn = after[id]
                node = self.drawn.get((tag, id))
                if node is None:
                    lines = write(self.xml_id(id), drawn, 0)
                    self.edits.append(self.plane, self._words(self.plane, lines))
                elif drawn != before.get(id) and isinstance(drawn, Mapping):
                    self._redraw(node, before.get(id) or {}, drawn)
            for id in before:
                if id not in after and (tag, id) in self.drawn:
                    self.edits.cut(self.drawn[tag, id])

    def _redraw(self, node: XmlElement, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        if "bounds" in new:
            self._bounds(node.first("Bounds", DC), old.get("bounds"), new["bounds"])
        for attribute, word in FLAGS.items():
            if old.get(word) != new.get(word):
                self.edits.attribute(node, attribute, str(bool(new[word])).lower() if word in new else None)
        if old.get("points") != new.get("points"):
            self._points(node, _list(new.get("points")))
        if old.get("label") != new.get("label"):
            self._label(node, old.get("label"), new.get("label"))

    def _bounds(self, node: XmlElement | None, old: Any, new: Any) -> None:
        for n, side in enumerate(_SIDES):
            if node is not None and isinstance(new, list) and n < len(new) and (not old or old[n] != new[n]):
                self.edits.attribute(node, side, write_number(new[n]))

    def _points(self, node: XmlElement, points: list[Any]) -> None:
        known = node.all("waypoint", DD)
        if len(known) == len(points):
            for waypoint, point in zip(known, points, strict=True):
                for side, value in zip("xy", point, strict=False):
                    if waypoint.get(side) != write_number(value):
                        self.edits.attribute(waypoint, side, write_number(value))
            return
        for waypoint in known:
            self.edits.cut(waypoint)
        lines = [f'<di:waypoint x="{write_number(x)}" y="{write_number(y)}" />' for x, y in points]
        self.edits.insert(node, self._words(node, lines), known[-1] if known else None)

    def _label(self, node: XmlElement, old: Any, new: Any) -> None:
        label = node.first("BPMNLabel", DI)
        if new is None:
            if label is not None:
                self.edits.cut(label)
        elif label is None:
            lines = ["<bpmndi:BPMNLabel>", write_bounds(new, 1), "</bpmndi:BPMNLabel>"]
            self.edits.append(node, self._words(node, lines))
        elif (bounds := label.first("Bounds", DC)) is not None:
            self._bounds(bounds, old, new)
        else:
            self.edits.append(label, self._words(label, [write_bounds(new, 0)]))

    def _words(self, parent: XmlElement, lines: list[str]) -> list[str]:
        return in_words_of(self.index, parent, lines)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
