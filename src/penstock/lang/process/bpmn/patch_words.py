"""Lines of XML in the words of a file: with the prefixes that it has for the namespaces of BPMN and its drawing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.lang.process.bpmn.file_index import FileIndex
from penstock.lang.process.bpmn.vocabulary import BPMN, STANDARD, XSI
from penstock.lang.process.bpmn.xml_tree import XmlElement

_SPACES = {prefix: space for space, prefix in STANDARD.items()}
_TAG = re.compile(r"(</?)(bpmn|bpmndi|dc|di|penstock):")
_FORMAL = re.compile(r'\A(\s*<bpmn:\w+) xsi:type="bpmn:tFormalExpression"')


def in_words_of(index: FileIndex, parent: XmlElement, lines: Sequence[str]) -> list[str]:
    """Lines of the writer as children of an element. What the file has no prefix for is declared where it stands."""
    prefixes = {space: prefix for prefix, space in reversed(index.tree.declared.items())}
    if parent.space in STANDARD:
        prefixes[parent.space] = parent.prefix
    bpmn = prefixes.get(BPMN, "bpmn")
    type = f"{bpmn}:tFormalExpression" if bpmn else "tFormalExpression"
    xsi = f'{prefixes[XSI]}:type="{type}"' if prefixes.get(XSI) else f'xmlns:xsi="{XSI}" xsi:type="{type}"'
    return [_translated(_FORMAL.sub(rf"\1 {xsi}", line), prefixes) for line in lines]


def _translated(line: str, prefixes: dict[str, str]) -> str:
    def tag(match: re.Match[str]) -> str:
        prefix = prefixes.get(_SPACES[match[2]], match[2])
        return f"{match[1]}{prefix}:" if prefix else match[1]

    missing = {name for _, name in _TAG.findall(line) if _SPACES[name] not in prefixes}
    line = _TAG.sub(tag, line)
    for name in sorted(missing):
        line = re.sub(rf"<({name}:[\w.]+)", rf'<\1 xmlns:{name}="{_SPACES[name]}"', line)
    return line
