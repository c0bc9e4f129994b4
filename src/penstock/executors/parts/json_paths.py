"""Parts of data by dotted paths (`user.name`, `rows.0`), and lines of a text by ranges (`1:120`)."""

from __future__ import annotations

from typing import Any

#: the steps of one path; deeper data is none that a person wrote
_DEEPEST = 64


class BadPath(ValueError):
    """The data has no such part; the text says why."""


def selected_keys(value: Any, keys: str | list[str]) -> Any:
    """The part that a path names; of several paths a map by path."""
    if isinstance(keys, str):
        return _get(value, keys)
    return {key: _get(value, key) for key in keys}


def with_keys(value: Any, keys: str | list[str], content: Any) -> Any:
    """The data with parts set: one path gets the content; of several each gets the content's member that is called
    like the path, or like its last step. Maps on the way are made."""
    if isinstance(keys, str):
        return _set(value, _steps(keys), content)
    for key in keys:
        last = _steps(key)[-1]
        if not isinstance(content, dict) or (key not in content and last not in content):
            raise BadPath(f"nothing is given for «{key}»")
        value = _set(value, _steps(key), content[key] if key in content else content[last])
    return value


def selected_lines(value: Any, ranges: str | list[str]) -> str:
    """The lines of a text, counted from 1, both ends included."""
    if not isinstance(value, str):
        raise BadPath("only a text has lines")
    lines, out = value.splitlines(keepends=True), []
    for text in [ranges] if isinstance(ranges, str) else ranges:
        first, colon, last = str(text).partition(":")
        start = int(first or 1)
        end = int(last) if last else (len(lines) if colon else start)
        out += lines[max(0, start - 1) : end]
    return "".join(out)


def _steps(path: str) -> list[str]:
    steps = path.split(".")
    if not all(steps) or len(steps) > _DEEPEST:
        raise BadPath(f"«{path[:80]}» is no path into data")
    return steps


def _get(value: Any, path: str) -> Any:
    for step in _steps(path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise BadPath(f"the data has no «{path[:80]}»")
    return value


def _set(value: Any, steps: list[str], content: Any) -> Any:
    """The same data with one part set; nothing is changed in place."""
    if not steps:
        return content
    first, rest = steps[0], steps[1:]
    if isinstance(value, list):
        if not first.isascii() or not first.isdigit() or int(first) >= len(value):
            raise BadPath(f"a list has no «{first[:80]}»")
        return [_set(item, rest, content) if number == int(first) else item for number, item in enumerate(value)]
    if value is not None and not isinstance(value, dict):
        raise BadPath(f"«{first[:80]}» cannot be set in what is neither a map nor a list")
    return {**(value or {}), first: _set((value or {}).get(first), rest, content)}
