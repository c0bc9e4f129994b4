"""{{name}} in the prompt of a work item, which the kernel fills in; elsewhere an executor does."""

from __future__ import annotations

import re
from typing import Any

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\s*\}\}")


def prompt_value(text: str, names: set[str]) -> Any:
    """The text as a value tree: literal, or a concatenation where it names inputs. Unknown names stay as they stand.

    It is not a template of the net, because `${` in the author's text must stay text.
    """
    parts: list[str] = []
    end = 0
    for match in _PLACEHOLDER.finditer(text):
        if match[1].split(".")[0] in names:
            parts += [*_literals(text[end : match.start()]), match[1]]
            end = match.end()
    if not parts:
        return text
    return {"$expr": f"fn.concat({', '.join([*parts, *_literals(text[end:])])})"}


def _literals(text: str) -> list[str]:
    """Text literals of the expression language, which have no escapes: a text with both quotes becomes several."""
    return [f'"{part}"' if "'" in part else f"'{part}'" for part in re.findall(r"[^']+|'+", text)]
