"""The sentences behind every element of a definition that was read out of a manual."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.lang.process.text_import.lines import ManualLine
from penstock.lang.process.text_import.manual_text import ManualText, Sentence

_COLLECTIONS = ("activities", "roles", "data", "gateways", "events", "transitions")


class Element(msgspec.Struct, frozen=True):
    """`sentences` are the ids of those that it comes from; `confidence` is from 0 to 1."""

    collection: str
    id: str
    name: str
    confidence: float
    sentences: list[str]


class SentenceIndex:
    """Finds the sentences of a manual by their line and words."""

    def __init__(self, manual: ManualText) -> None:
        self.all = manual.sentences
        self.by_line: dict[int, list[Sentence]] = {}
        self.words = [(normalized(sentence.text), sentence) for sentence in manual.sentences]
        for sentence in manual.sentences:
            self.by_line.setdefault(sentence.line, []).append(sentence)

    def of_lines(self, lines: Iterable[ManualLine]) -> list[str]:
        """The sentences that the lines are made of: those of a line that hold its text, or are held by it."""
        found: dict[str, None] = {}
        for line in lines:
            wanted, on_line = normalized(line.said or line.text), self.by_line.get(line.at, [])
            exact = [each for each in on_line if _overlaps(normalized(each.text), wanted)]
            found |= dict.fromkeys(each.id for each in exact or on_line)
        return list(found)

    def naming(self, name: str, most: int = 3) -> list[str]:
        """The first sentences in which a name stands."""
        wanted = normalized(name)
        return [sentence.id for text, sentence in self.words if wanted and wanted in text][:most]


def normalized(text: str) -> str:
    """Letters and digits only, in lower case: what two quotes of the same words have in common."""
    return re.sub(r"[\W_]+", "", text.lower())


def _overlaps(text: str, wanted: str) -> bool:
    return bool(wanted) and (wanted in text or text in wanted and len(text) > 1)


def elements_of(
    definition: Mapping[str, Any], lines: Mapping[str, Sequence[ManualLine]], certainty: Mapping[str, float],
    index: SentenceIndex, data: Mapping[str, Sequence[str]] | None = None,
    sentences_by_id: Mapping[str, Sequence[str]] | None = None,
) -> list[Element]:  # fmt: skip
    """Every element with its sentences. A flow without a sentence of its own has those of both ends; a role has those
    that name it. `data`: the sentences of each data item; `sentences_by_id`: those of elements,
    where they are known."""
    known: dict[str, list[str]] = {id: index.of_lines(entries) for id, entries in lines.items()}
    known |= {id: list(ids) for id, ids in (sentences_by_id or {}).items()}
    found: list[Element] = []
    for collection in _COLLECTIONS:
        for entry in definition.get(collection) or []:
            id, name = str(entry.get("id") or ""), str(entry.get("name") or "")
            sentences = known.get(id) or []
            if collection == "roles" and not sentences:
                sentences = index.naming(name)
            elif not sentences and collection == "transitions":
                ends = [*known.get(entry["source"], [])[:1], *known.get(entry["target"], [])[:1]]
                sentences = list(dict.fromkeys(ends))
            elif not sentences:
                sentences = _neighbours(id, definition, known)
            known.setdefault(id, sentences)
            found.append(Element(collection, id, name, round(certainty.get(id, 1.0), 4), sentences))
    return found + [Element("data", name, name, 1.0, list(ids)) for name, ids in (data or {}).items()]


def _neighbours(id: str, definition: Mapping[str, Any], known: Mapping[str, list[str]]) -> list[str]:
    """The sentences of what leads to an element that no sentence names: a join, or an end."""
    flows = definition.get("transitions") or []
    ids = [flow["source"] for flow in flows if flow["target"] == id]
    ids += [flow["target"] for flow in flows if flow["source"] == id]
    return list(dict.fromkeys(sentence for each in ids for sentence in known.get(each, [])[:1]))[:3]
