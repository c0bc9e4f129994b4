"""The names that a text wants to have filled in: `{{name}}`, and in statements `{% if name %}`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_ENDS = {"{{": "}}", "{%": "%}"}
_TEXT = re.compile(r"""'[^']*'|"[^"]*\"""")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
#: words of statements, and what loops give
_WORDS = frozenset(
    "if elif else endif for endfor in set endset raw endraw not and or is defined none true false None True False "
    "loop recursive".split()
)


def names_in(*trees: Any) -> set[str]:
    """The names in every text of some values."""
    return {name for tree in trees for text in _texts(tree) for name in _names(text)}


def _texts(tree: Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(tree, list | tuple):
        for item in tree:
            yield from _texts(item)


def _tags(text: str) -> Iterator[str]:
    """What stands in `{{ }}` and `{% %}`. An end that is nowhere is looked for once."""
    at, endless = 0, set[str]()
    for start in re.finditer(r"\{(?=[{%])", text):
        begin = text[start.start() : start.start() + 2]
        if start.start() < at or begin in endless:
            continue
        end = text.find(_ENDS[begin], start.start() + 2)
        if end < 0:
            endless.add(begin)
            continue
        yield text[start.start() + 2 : end]
        at = end + 2


def _names(text: str) -> Iterator[str]:
    for tag in _tags(text):
        inside = _TEXT.sub("''", tag)
        for name in _NAME.findall(inside):
            if name not in _WORDS:
                yield name
