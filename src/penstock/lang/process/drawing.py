"""A drawing as it was brought: one file with the definitions that it holds, one for each process with elements."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.errors import DocumentUnreadable, Place
from penstock.lang.process import process_gpt
from penstock.lang.process.bpmn import whole_file
from penstock.lang.process.bpmn.encodings import source_text
from penstock.lang.process.bpmn.file_index import FileIndex, tree_of
from penstock.lang.process.bpmn.patch import patch
from penstock.lang.process.bpmn.reader import read_processes, recognise
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.read import read_document


class Drawing(msgspec.Struct, frozen=True):
    """`definitions` are ProcessDefinitions as the language reads them. An answer makes a new drawing. `source` is the
    text of the BPMN file, "" of one that came as JSON; what follows it stands in that file beside the processes."""

    definitions: tuple[dict[str, Any], ...]
    source: str = ""
    pools: tuple[dict[str, str], ...] = ()  # id, name, process: the id in the file; a black box has none
    message_flows: tuple[dict[str, str], ...] = ()  # id, name, source, target, message
    left_out: tuple[dict[str, str], ...] = ()  # what, id, name, why: a process without elements, a choreography …

    def definition(self, id: str) -> dict[str, Any]:
        return next(data for data in self.definitions if data.get("process_definition_id") == id)

    def changed(self, id: str, data: dict[str, Any]) -> Drawing:
        """The same drawing with one definition in another form."""
        new = (data if old.get("process_definition_id") == id else old for old in self.definitions)
        return msgspec.structs.replace(self, definitions=tuple(new))


def read_drawing(text: str | bytes, name: str) -> Drawing:
    """The drawing of a BPMN file, or of a definition in JSON. Raises DocumentUnreadable and DocumentTooLarge."""
    source = source_text(text)
    if not recognise(source):
        document = read_document(source.encode(), name=name)
        if process_gpt.recognise(document.data):
            document = process_gpt.rewritten(document)
        given = document.data if isinstance(document.data, list) else [document.data]
        if not given or not all(isinstance(data, dict) and "process_definition_id" in data for data in given):
            why = "it is neither a BPMN file nor a definition with «process_definition_id»"
            raise DocumentUnreadable(why=why, where=Place("", 1, 1))
        return Drawing(tuple(given))
    index = FileIndex(tree_of(source))
    root = index.root
    whole_file.refuse_unreadable(index)
    return Drawing(
        tuple(read.data for read in read_processes(index)), source, tuple(whole_file.pools(root)),
        tuple(whole_file.message_flows(root)), tuple(whole_file.left_out(index)),
    )  # fmt: skip


def write_drawing(drawing: Drawing) -> str:
    """The text of the file: its source where nothing has changed, else the source with what has."""
    if drawing.source:
        return patch(drawing.source, drawing.definitions)
    text = write_bpmn(drawing.definitions[0])
    return patch(text, drawing.definitions) if len(drawing.definitions) > 1 else text
