"""Templates: `{{name}}`, `{{a.b.0}}` and `{{rows[:5]}}`, one pass, no logic, and data is never rendered again.

A name nobody has given renders as nothing and is reported. Text that looks like a template but is none (`{{7*7}}`)
stays as it is. A value is looked up in mappings and lists only, never by attribute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.executors.parts.json_values import as_text

MAX_OUTPUT = 1024 * 1024
_NAME = re.compile(r"\{\{\s*([^\W\d]\w*(?:\.\w+|\[\d+\]|\[\d*:\d*\])*)\s*\}\}")
_STEP = re.compile(r"[.\[\]]+")


class TemplateError(ValueError):
    """The template cannot be rendered; the text says why."""


def render(
    template: str,
    variables: Mapping[str, Any],
    *,
    literal: Callable[[str], str] | None = None,
    missing: list[str] | None = None,
) -> str:
    """The text. `literal` is applied to the author's own pieces only: data cannot pass for a secret's reference."""
    parts: list[str] = []
    size = at = 0
    for tag in _NAME.finditer(template):
        value = _look(tag[1], variables)
        if value is _ABSENT and missing is not None:
            missing.append(tag[1])
        own = template[at : tag.start()]
        parts += [literal(own) if literal else own, "" if value is _ABSENT else as_text(value)]
        size += len(parts[-1]) + len(parts[-2])
        if size > MAX_OUTPUT:
            raise TemplateError(f"the rendered text is longer than {MAX_OUTPUT} characters")
        at = tag.end()
    rest = template[at:]
    return "".join([*parts, literal(rest) if literal else rest])


def render_tree(tree: Any, variables: Mapping[str, Any], literal: Callable[[str], str] | None = None) -> Any:
    """Every text of a tree rendered; a text that is nothing but one name yields the value itself, whatever its type."""
    if isinstance(tree, str):
        alone = _NAME.fullmatch(tree.strip())
        if alone is None:
            return render(tree, variables, literal=literal)
        value = _look(alone[1], variables)
        return None if value is _ABSENT else value
    if isinstance(tree, Mapping):
        return {str(key): render_tree(value, variables, literal) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [render_tree(item, variables, literal) for item in tree]
    return tree


_ABSENT: Any = object()


def _look(path: str, variables: Mapping[str, Any]) -> Any:
    first, *rest = [step for step in _STEP.split(path) if step]
    value = variables.get(first, _ABSENT)
    for step in rest:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif ":" in step and isinstance(value, list | str):
            first, _, last = step.partition(":")
            value = value[int(first or 0) : int(last) if last else None]
        else:
            return _ABSENT
    return value
