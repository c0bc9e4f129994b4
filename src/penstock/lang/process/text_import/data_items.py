"""The data items of a manual (P-6.1.3): what its activities receive, write, compare or send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.lang.process.text_import.evidence import SentenceIndex
from penstock.lang.process.text_import.manual_text import ManualText

#: words of a name have at most so many letters: a longer one would be looked at from each of them
_KOREAN = re.compile(r"(?<![가-힣A-Za-z0-9])(?:[가-힣A-Za-z0-9]{1,40}\s)?[가-힣A-Za-z0-9]{2,40}(?=[을를](?:\s|$))")
_KOREAN_DATA = re.compile(
    r"(?:서|서류|표|자료|데이터|기록|정보|내역|명세|명세서|송장|문서|양식|대장|목록|보고서|계획서|결과|내용|번호|주문"
    r"|청구|계약|파일|영수증|견적)\Z"
)
_NOT_A_MODIFIER = re.compile(
    r"(?:은|는|이|가|에|고|며|여|에게|께|에서|으로|로|하고|하여|한|된|하는|되는|의|및|와|과|을|를)\s"
)
_ENGLISH = re.compile(r"\b(?:the|a|an|its|their|each|every)\s+((?:[a-z][\w-]*\s+){0,2}?[a-z][\w-]*)\b", re.I)
_ENGLISH_DATA = re.compile(
    r"(?:form|request|invoice|order|report|record|document|file|data|list|letter|contract|receipt|application|claim"
    r"|offer"
    r"|quote|certificate|ticket|budget|statement|note|plan|result|entry|table|number|card|bill|message|mail"
    r"|registration)s?\Z",
    re.I,
)


def data_items(definition: Mapping[str, Any], manual: ManualText) -> dict[str, list[str]]:
    """The name of each data item that activities name, with the first sentences in which it stands."""
    index = SentenceIndex(manual)
    found: dict[str, list[str]] = {}
    for activity in definition.get("activities") or []:
        text = f"{activity.get('name') or ''}. {activity.get('instruction') or ''}"
        for name in dict.fromkeys(_named(text)):
            if name not in found and (sentences := index.naming(name)):
                found[name] = sentences
    return found


def _named(text: str) -> list[str]:
    names: list[str] = []
    for match in _KOREAN.finditer(text):
        name = _NOT_A_MODIFIER.sub("", match[0], count=1) if _NOT_A_MODIFIER.search(match[0]) else match[0]
        name = name.split()[-1] if _NOT_A_MODIFIER.search(match[0]) else name
        if _KOREAN_DATA.search(name):
            names.append(name)
    for match in _ENGLISH.finditer(text):
        words = match[1].split()
        for count in range(1, len(words) + 1):
            if _ENGLISH_DATA.search(words[count - 1]):
                names.append(" ".join(words[:count]).lower())
                break
    return names
