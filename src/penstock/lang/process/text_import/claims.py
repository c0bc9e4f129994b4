"""Checks what a model says of a manual against the manual itself: what is not in the text is dropped, and reported.

Only fields that can be checked are taken over. An element needs a quote that stands in the text, or a name that does;
every word of its name must stand there, too, however it is inflected.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.lang.process.text_import.builder import mode_said
from penstock.lang.process.text_import.due_times import due_of
from penstock.lang.process.text_import.evidence import SentenceIndex, normalized
from penstock.lang.process.text_import.guards import numbers_in
from penstock.lang.process.text_import.manual_text import ManualText, Sentence

_STOP_WORDS = frozenset(
    "the a an is are was were be been of to in on at by for with and or it its this that then if as from into no "
    "not any all has have had do does".split()
)
_KOREAN_END = re.compile(
    r"(?:하십시오|하시오|하세요|합니다|됩니다|입니다|습니다|하였다|했다|한다|된다|하기|되기|하여|해서|하고|하며|하는"
    r"|되는|한|할|함|된|될|됨|하다|되다"
    r"|에게서|에게|으로|에서|까지|부터|이라|라고|은|는|이|가|을|를|의|에|와|과|로|도|만|다|기)\Z"
)
_ENGLISH_END = re.compile(r"(?:ations?|ings?|ies|ied|es|ed|s|e|y|al|ion|ment)\Z")
_GATEWAYS = ("exclusiveGateway", "parallelGateway", "inclusiveGateway")
_MODES = ("MANUAL", "SUPERVISED", "AUTONOMOUS")
_SPAN = 2000  # characters of a quote


class Dropped(msgspec.Struct, frozen=True):
    """What a model said and the text does not: its kind, its name, what was quoted, and why it was dropped."""

    kind: str
    name: str
    quote: str
    why: str


class CheckedClaims(msgspec.Struct):
    """What is left of a model's answer. `sentences` and `certainty` go by id."""

    definition: dict[str, Any]
    sentences: dict[str, list[str]] = {}
    certainty: dict[str, float] = {}
    data: dict[str, list[str]] = {}
    dropped: list[Dropped] = []


class QuoteIndex:
    """Finds quotes in a manual without regard to spaces, punctuation and capital letters."""

    def __init__(self, manual: ManualText) -> None:
        self.manual = manual
        self.index = SentenceIndex(manual)
        self.text = ""
        self.starts: list[int] = []
        for text, _ in self.index.words:
            self.starts.append(len(self.text))
            self.text += text
        self.numbers = numbers_in(manual.text)

    def sentences_of(self, quote: str) -> list[Sentence]:
        """The sentences that a quote stands in; none where it is not in the text."""
        wanted = normalized(quote[:_SPAN])
        at = self.text.find(wanted) if len(wanted) > 1 else -1
        if at < 0:
            return []
        first, last = bisect_right(self.starts, at) - 1, bisect_left(self.starts, at + len(wanted))
        return self.manual.sentences[first:last]

    def sentences_with(self, name: str) -> list[Sentence]:
        """The first sentence that has every word of a name."""
        return next(([each] for each in self.manual.sentences if not missing_words(name, each.text)), [])


def missing_words(name: str, text: str) -> list[str]:
    """The words of a name that do not stand in a text, in any inflection."""
    known, said = _stems(text), re.findall(r"[^\W_]+", text.lower())
    return [word for word in _words(name) if (stem := _stem(word)) not in known and not _korean_in(stem, said)]


def _korean_in(stem: str, said: list[str]) -> bool:
    """Does a Korean word stand within another one, or over several that the manual writes apart? Not from the end of
    one into the next: «발송 금액» is no 송금."""
    if not re.search(r"[가-힣]", stem) or len(stem) < 2:
        return False
    return any(stem in word or stem.startswith(word) and "".join(said[n : n + 4]).startswith(stem)
               for n, word in enumerate(said))  # fmt: skip


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[^\W_]+", text.lower()) if word not in _STOP_WORDS]


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, re.findall(r"[^\W_]+", text.lower())))


def _stem(word: str) -> str:
    if re.search(r"[가-힣]", word):
        short = _KOREAN_END.sub("", word)
    else:
        short = _ENGLISH_END.sub("", word) if len(word) > 4 else word.removesuffix("s")
    return short if len(short) > 1 else word


def checked_claims(answer: Mapping[str, Any], index: QuoteIndex, title: str) -> CheckedClaims:
    """What a model answered, without all that the text does not say; `title` is its name where the model's is not in
    the text."""
    return _ClaimCheck(answer, index, title).result()


class _ClaimCheck:
    def __init__(self, answer: Mapping[str, Any], index: QuoteIndex, title: str) -> None:
        self.answer, self.index = answer, index
        self.checked = CheckedClaims({"process_definition_name": title})
        self.gone: set[str] = set()

    def result(self) -> CheckedClaims:
        definition, checked = self.checked.definition, self.checked
        name = _text(self.answer.get("process_definition_name"))
        if name and missing_words(name, self.index.manual.text):
            self._drop("name", name, "", "its words are not in the text")
        elif name:
            definition["process_definition_name"] = name
        definition["roles"] = [role for entry in self._entries("roles") if (role := self._role(entry))]
        roles = {role["id"]: role["name"] for role in definition["roles"]}
        definition["activities"] = [
            activity for entry in self._entries("activities") if (activity := self._activity(entry, roles))
        ]
        flows = self._flows()
        definition["gateways"] = [
            gateway for entry in self._entries("gateways") if (gateway := self._gateway(entry, flows))
        ]
        definition["events"] = [
            {"id": _text(entry.get("id")), "name": "", "position": entry["position"]}
            for entry in self._entries("events") if entry.get("position") in ("start", "end")
        ]  # fmt: skip
        definition["transitions"] = _bridged(flows, self.gone)
        for entry in self._entries("data_items"):
            item = _text(entry.get("name"))
            if found := self._evidence("data item", item, _text(entry.get("quote"))):
                checked.data[item] = [sentence.id for sentence in found]
        return checked

    def _entries(self, collection: str) -> list[dict[str, Any]]:
        listed = self.answer.get(collection)
        return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []

    def _drop(self, kind: str, name: str, quote: str, why: str) -> None:
        self.checked.dropped.append(Dropped(kind, name[:255], quote[:500], why))

    def _evidence(self, kind: str, name: str, quote: str) -> list[Sentence]:
        """The sentences of a quote, or those with the name's words; none, and it is reported, where there are none."""
        if quote:
            found = self.index.sentences_of(quote)
            if not found:
                self._drop(kind, name, quote, "what it quotes is not in the text")
                return []
            missing = missing_words(name, " ".join(sentence.text for sentence in found))
            if not missing:
                return found
            self._drop(kind, name, quote, f"not in what it quotes: {', '.join(missing[:5])}")
            return []
        found = self.index.sentences_with(name) if _words(name) else []
        if not found:
            self._drop(kind, name, "", "its words are not in the text")
        return found

    def _keep(self, id: str, sentences: Iterable[Sentence], certainty: float) -> None:
        self.checked.sentences[id] = [sentence.id for sentence in sentences]
        self.checked.certainty[id] = certainty

    def _role(self, entry: dict[str, Any]) -> dict[str, Any] | None:
        id, name = _text(entry.get("id")), _text(entry.get("name"))
        found = self._evidence("role", name, _text(entry.get("quote")))
        if not found:
            return None
        self._keep(id, found, 1.0)
        return {"id": id, "name": name}

    def _activity(self, entry: dict[str, Any], roles: Mapping[str, str]) -> dict[str, Any] | None:
        id, name, quote = _text(entry.get("id")), _text(entry.get("name")), _text(entry.get("quote"))
        found = self._evidence("activity", name, quote)
        if not found:
            self.gone.add(id)
            return None
        text = " ".join(sentence.text for sentence in found)
        activity: dict[str, Any] = {"id": id, "name": name, "type": "humanTask"}
        nearby = " ".join(each.text for each in self.index.manual.sentences if each.paragraph == found[0].paragraph)
        if entry.get("type") == "serviceTask":
            activity |= self._mode(name, quote, entry.get("agent_mode"), nearby)
        instruction = _text(entry.get("instruction"))
        if instruction and self.index.sentences_of(instruction):
            activity["instruction"] = instruction
        elif instruction:
            self._drop("instruction", name, instruction, "it is not in the text")
        if due := due_of(text):
            activity["due"] = due
        role = _text(entry.get("role"))
        if role in roles:
            activity["role"] = role
        sure = role not in roles or not missing_words(roles[role], nearby)
        self._keep(id, found, (0.95 if quote else 0.8) * (1 if sure else 0.7))
        return activity

    def _mode(self, name: str, quote: str, mode: Any, nearby: str) -> dict[str, str]:
        """That no person does the work has to be in the text; that nobody checks it is not taken from a model alone."""
        said = mode_said(nearby)
        if not said:
            self._drop("agent_mode", name, quote, "the text does not say that a system or an agent does it")
            return {}
        mode = mode if mode in _MODES else said
        return {"type": "serviceTask", "agent_mode": said if mode == "AUTONOMOUS" else mode}

    def _flows(self) -> list[dict[str, Any]]:
        """The flows without those whose condition was made up; one that alone leads somewhere stays, without it."""
        read = [(self._flow(entry), bool(_text(entry.get("condition")))) for entry in self._entries("transitions")]
        kept = [flow for flow, conditional in read if "condition" in flow or not conditional]
        led = {flow["target"] for flow in kept}
        for flow, conditional in read:
            if conditional and "condition" not in flow and flow["target"] not in led:
                led.add(flow["target"])
                kept.append(flow)
        return kept

    def _flow(self, entry: dict[str, Any]) -> dict[str, Any]:
        flow = {name: _text(entry.get(name)) for name in ("id", "source", "target")}
        condition, quote = _text(entry.get("condition")), _text(entry.get("quote"))
        if condition:
            found = self.index.sentences_of(quote) if quote else []
            text = " ".join(sentence.text for sentence in found)
            why = ""
            if quote and not found:
                why = "what it quotes is not in the text"
            elif strange := numbers_in(condition) - (numbers_in(text) if found else self.index.numbers):
                why = f"not in the text: {', '.join(f'{number:g}' for number in sorted(strange))}"
            elif strange_words := _strange_texts(condition, text if found else self.index.manual.text):
                why = f"not in the text: {', '.join(strange_words)}"
            if why:
                self._drop("condition", condition, quote, why)
            else:
                flow["condition"] = condition
                self._keep(flow["id"], found, 0.95 if found else 0.7)
        return flow

    def _gateway(self, entry: dict[str, Any], flows: list[dict[str, Any]]) -> dict[str, Any] | None:
        id, name, kind = _text(entry.get("id")), _text(entry.get("name")), entry.get("type")
        gateway = {"id": id, "name": name, "type": kind if kind in _GATEWAYS else "exclusiveGateway"}
        if default := _text(entry.get("default")):
            gateway["default"] = default
        quote = _text(entry.get("quote"))
        if quote or _words(name):
            found = self._evidence("gateway", name, quote)
        else:  # without a name it says nothing but how its ways meet and part
            ways = [
                said for flow in flows if flow["source"] == id for said in self.checked.sentences.get(flow["id"], [])
            ]
            found = [sentence for sentence in self.index.manual.sentences if sentence.id in ways]
            joins = sum(flow["source"] == id for flow in flows) <= 1
            if not found and not joins:
                self._drop("gateway", id, "", "nothing in the text says that ways part here")
        if not found and (quote or _words(name) or sum(flow["source"] == id for flow in flows) > 1):
            self.gone.add(id)
            return None
        self._keep(id, found, 0.95 if quote else 0.8)
        return gateway


def _strange_texts(condition: str, text: str) -> list[str]:
    """Texts that a condition compares with, and that the manual does not have."""
    return [said for said in re.findall(r"['\"]([^'\"]{1,100})['\"]", condition) if missing_words(said, text)]


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else str(value) if isinstance(value, int) else ""


def _bridged(flows: list[dict[str, Any]], gone: set[str]) -> list[dict[str, Any]]:
    """The flows without those elements; what led to one of them leads to what came after it."""
    for node in gone:
        before = [flow for flow in flows if flow["target"] == node and flow["source"] != node]
        after = [flow for flow in flows if flow["source"] == node and flow["target"] != node]
        flows = [flow for flow in flows if node not in (flow["source"], flow["target"])]
        for first in before:
            for second in after[:1] if len(before) > 1 else after:
                flows.append({**first, "target": second["target"]})
    known: dict[tuple[str, str, str], dict[str, Any]] = {}
    for flow in flows:
        known.setdefault((flow["source"], flow["target"], flow.get("condition", "")), flow)
    used: set[str] = set()
    numbered: list[dict[str, Any]] = []
    for number, flow in enumerate(known.values(), 1):
        id = flow["id"] if flow["id"] and flow["id"] not in used else f"flow_{number}"
        used.add(id)
        numbered.append({**flow, "id": id})
    return numbered
