"""Writes changed definitions into the text of the file that they came from, which otherwise stays byte for byte.

What BPMN has a place for is written there: names, conditions, defaults, times, documentation, where things are drawn.
Every other field goes into our own extension element, which the reader lets win. Each round reads the text again and
looks at what still differs; the last one writes down whole what the rounds before could not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.lang.process.bpmn.file_index import FileIndex, tree_of
from penstock.lang.process.bpmn.patch_elements import ENTRIES, ElementEdits, entries_of
from penstock.lang.process.bpmn.patch_words import in_words_of
from penstock.lang.process.bpmn.reader import ReadProcess, read_process
from penstock.lang.process.bpmn.text_edits import TextEdits
from penstock.lang.process.bpmn.vocabulary import BPMN, PENSTOCK
from penstock.lang.process.bpmn.writer import Fragments
from penstock.lang.process.bpmn.xml_tree import XmlElement, as_xml_can_hold, xml_text
from penstock.lang.process.fields import COLLECTIONS

#: what the store knows of a definition, or the file itself
_OF_STORE = ("version", "tenant_id")
_OF_FILE = ("extensions", "diagram", "schema", "$schema")
#: collections that have our settings at each of their elements
_SETTLED = (*ENTRIES, "lanes")
#: rounds: what goes into a new sub-process does so when that is there; a setting may show what else needs one
_DRAWING, _SETTLING = 3, 2
#: a definition, and what the file has of it
_Pair = tuple[Mapping[str, Any], ReadProcess | None]
_BOM = "\ufeff"


def patch(source: str, definitions: Sequence[Mapping[str, Any]]) -> str:
    """The text of the file with the definitions in it as they are now; processes that none of them is stay as they
    are. Raises DocumentUnreadable for a text that is no BPMN file."""
    text, number, index = source, 0, FileIndex(tree_of(source))
    while number <= _DRAWING + _SETTLING and (changed := list(_changed(index, definitions))):
        edits = TextEdits(index.tree)
        while not edits and number <= _DRAWING + _SETTLING:
            _edit(edits, index, changed, number)
            number = number + 1 if edits or number >= _DRAWING else _DRAWING  # nothing more to draw
        if edits:
            text = f"{_BOM if source.startswith(_BOM) else ''}{edits.text()}"
            index = FileIndex(tree_of(text))
    return text


def _edit(edits: TextEdits, index: FileIndex, changed: Sequence[_Pair], number: int) -> None:
    """One round: the first draw, the next settle what could not be drawn, the last replaces."""
    for definition, read in changed:
        if read is None:
            _add_process(edits, index, definition)
        elif number < _DRAWING:
            ElementEdits(edits, index, read, definition).make()
        elif number < _DRAWING + _SETTLING:
            _settle(edits, index, read, definition)
        else:
            _replace(edits, index, read, definition)


def _changed(index: FileIndex, definitions: Sequence[Mapping[str, Any]]) -> Iterator[_Pair]:
    for definition in definitions:
        process = _process_of(definition, index, alone=len(definitions) == 1)
        read = read_process(index, process) if process is not None else None
        if read is None or _differing(read.data, definition) or _drawn_otherwise(read.data, definition):
            yield definition, read


def _process_of(definition: Mapping[str, Any], index: FileIndex, *, alone: bool) -> XmlElement | None:
    """The process of the file that a definition is: by its id in the file, then by its own."""
    extensions = definition.get("extensions")
    file = extensions.get("file") if isinstance(extensions, Mapping) else None
    in_file = file.get("process") if isinstance(file, Mapping) else None
    own = definition.get("process_definition_id")
    processes = index.root.all("process", BPMN)
    by_file = [process for process in processes if (process.get("id") or "process") == in_file]
    by_own = [process for process in processes if index.author_id(process.get("id")) == own]
    only = processes if alone and len(processes) == 1 else index.processes if alone else []
    return next(iter([*by_file, *by_own, *(only if len(only) == 1 else [])]), None)


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The fields of the process itself that are not as they should be."""
    old, new = _without_processes(old), _without_processes(new)
    names = [name for name in {**old, **new} if name not in _OF_FILE and (name in old or name not in _OF_STORE)]
    return [name for name in names if (name in old) is not (name in new) or old.get(name) != new.get(name)]


def _without_processes(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of what was not imported, only parts of elements are the definition's own; whole processes are the file's."""
    left_out = data.get("left_out")
    if not isinstance(left_out, list):
        return data
    own = [entry for entry in left_out if not str(_mapping(entry).get("what")).startswith("the ")]
    rest = {name: value for name, value in data.items() if name != "left_out"}
    return {**rest, "left_out": own} if own else rest


def _drawn_otherwise(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    return "diagram" in new and old.get("diagram") != new["diagram"]


def _settle(edits: TextEdits, index: FileIndex, read: ReadProcess, definition: Mapping[str, Any]) -> None:
    """What BPMN has no place for, into our extension element: of each entry, and of the process."""
    settings, order, instead = index.settings(read.process), {}, {}
    for name in _differing(read.data, definition):
        if name in _SETTLED:
            wanted = entries_of(definition, name)
            known = read.entries.get(name) or []
            for entry, node in known:
                if (new := wanted.get(str(entry.get("id")))) is not None and new != entry:
                    _write_settings(edits, index, node, _settings_for(entry, new, index.settings(node)))
            if list(wanted) != [entry.get("id") for entry, _ in known]:
                order[name] = list(wanted)
        elif name in COLLECTIONS and name not in ("roles", "data") and name in definition:
            instead[name] = definition[name]
        else:
            top = _settings_for(_only(read.data, name), _only(definition, name), settings)
            settings = {("id" if key == "process_definition_id" else key): value for key, value in top.items()}
    if order:
        settings["$order"] = {**_mapping(settings.get("$order")), **order}
    if instead:
        settings["$instead"] = {**_mapping(settings.get("$instead")), **instead}
    _write_settings(edits, index, read.process, settings)


def _replace(edits: TextEdits, index: FileIndex, read: ReadProcess, definition: Mapping[str, Any]) -> None:
    """Whole collections that the file could not be brought to say otherwise."""
    settings = index.settings(read.process)
    differing = _differing(read.data, definition)
    without = settings.get("$without")
    instead = _mapping(settings.get("$instead"))
    instead |= {name: definition[name] for name in differing if name in definition}
    absent = [name for name in differing if name not in definition]
    settings |= {"$instead": instead} if instead else {}
    settings |= {"$without": sorted({*(without if isinstance(without, list) else ()), *absent})} if absent else {}
    _write_settings(edits, index, read.process, settings)


def _settings_for(old: Mapping[str, Any], new: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings by which an entry is read as it should be: those that it has, and what differs."""
    changed = {name: new[name] for name in new if name not in old or old[name] != new[name]}
    without = [name for name in old if name not in new]
    known = settings.get("$without")
    kept = [name for name in known if name not in new] if isinstance(known, list) else []
    result = {name: value for name, value in settings.items() if name not in without and name != "$without"} | changed
    return result | ({"$without": sorted({*kept, *without})} if kept or without else {})


def _write_settings(edits: TextEdits, index: FileIndex, node: XmlElement, settings: Mapping[str, Any]) -> None:
    if settings == index.settings(node):
        return None
    text = as_xml_can_hold(json.dumps(settings, ensure_ascii=False, sort_keys=True))
    extension = node.first("extensionElements", BPMN)
    known = extension.first("settings", PENSTOCK) if extension is not None else None
    if known is not None:
        return edits.content(known, text) if settings else edits.cut(known)
    lines = [f"<penstock:settings>{xml_text(text)}</penstock:settings>"]
    if extension is not None:
        return edits.append(extension, in_words_of(index, extension, lines))
    described = node.all("documentation", BPMN)
    inside = ["<bpmn:extensionElements>", *(f"  {line}" for line in lines), "</bpmn:extensionElements>"]
    return edits.insert(node, in_words_of(index, node, inside), described[-1] if described else None)


def _add_process(edits: TextEdits, index: FileIndex, definition: Mapping[str, Any]) -> None:
    """A process that the file does not have yet."""
    fragments = Fragments(definition, {})
    lines = [*fragments.process(), *fragments.declarations()]
    beside = [child for child in index.root.children if child.space == BPMN]
    edits.insert(index.root, in_words_of(index, index.root, lines), beside[-1] if beside else None)


def _only(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: entry[name]} if name in entry else {}


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
