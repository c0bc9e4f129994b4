"""Writes JSON values as YAML that people read.

Texts of several lines are blocks, and what our reader would take for another value stands in quotes.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_WIDTH = 120
#: A text that may stand without quotes; words with a meaning of their own are quoted all the same.
_PLAIN = re.compile(r"""[^\W\d_][\w .,()/+*°%–—"'\[\]?!-]*(?<![ ])\Z""")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off"})
_FLOW_AT_MOST = 4
_SCALAR = (str, int, float, bool, type(None))


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key, and nothing is written as an alias."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    if "\n" in text:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    plain = _PLAIN.match(text) and text.lower() not in _WORDS
    quotes = "'" if '"' in text and text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else quotes)


def _map(dumper: yaml.SafeDumper, value: dict[Any, Any]) -> yaml.Node:
    """A small map of plain values, such as a position, stands in one line."""
    small = 0 < len(value) <= _FLOW_AT_MOST and set(value) <= {"x", "y"} and all(
        isinstance(item, _SCALAR) for item in value.values()
    )  # fmt: skip
    return dumper.represent_mapping("tag:yaml.org,2002:map", value, flow_style=small or not value)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _map)


def yaml_text(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH))
