"""Checks the statements of a text, `{% if %}` and `{% for %}`: that they are known, and that each is closed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.lang.diagram.lowering_context import LoweringContext

_WORD = re.compile(r"[-+]?\s*(\w*)")
_UNREAD = re.compile(r"\{#|\{%[-+]?\s*raw\s*[-+]?%\}")
_ENDS = {True: re.compile(r"#\}"), False: re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")}
_OPENS = {"if": "endif", "for": "endfor"}
_INSIDE = {"elif": ("if",), "else": ("if", "for")}
_HINT = "Known are if, elif, else, endif, for, endfor and set; build longer texts in a code_job."


def check_statements(text: str, field: str, context: LoweringContext) -> None:
    """Reports the first statement that cannot be read, with its line in the text."""
    if "{%" not in text:
        return
    text = _without_unread(text)
    problem = _problem(text)
    if problem is not None:
        message, at = problem
        line = text.count("\n", 0, at) + 1
        said = f"The text has a statement that cannot be read: {message} (line {line})."
        context.error("template_logic", said, field, hint=_HINT)


def _without_unread(text: str) -> str:
    """The text without comments and raw parts, but with their lines. An end that is nowhere is looked for once."""
    parts, at, kept, endless = list[str](), 0, 0, set[bool]()
    while start := _UNREAD.search(text, at):
        comment = start[0] == "{#"
        end = None if comment in endless else _ENDS[comment].search(text, start.end())
        at = end.end() if end else start.end()
        if end is None:
            endless.add(comment)
            continue
        parts += [text[kept : start.start()], "\n" * text.count("\n", start.start(), at)]
        kept = at
    return "".join([*parts, text[kept:]])


def _tags(text: str) -> Iterator[tuple[str, str, int]]:
    """The word of every statement, what follows it, and where it begins."""
    at = 0
    while (start := text.find("{%", at)) >= 0 and (end := text.find("%}", start + 2)) >= 0:
        inner = text[start + 2 : end]
        word = _WORD.match(inner)
        assert word is not None, "every part of the pattern may be empty"
        yield word[1], inner[word.end() :].rstrip("-+"), start
        at = end + 2


def _problem(text: str) -> tuple[str, int] | None:
    """What is wrong, and where in the text."""
    open: list[tuple[str, int]] = []
    tags = list(_tags(text))
    for word, rest, start in tags:
        if word in _OPENS:
            open.append((word, start))
            if not rest.strip():
                return f"«{word}» says nothing", start
        elif word in _INSIDE:
            if not open or open[-1][0] not in _INSIDE[word]:
                return f"«{word}» stands outside of what it belongs to", start
        elif word in _OPENS.values():
            if not open or _OPENS[open[-1][0]] != word:
                return f"«{word}» closes nothing that is open", start
            open.pop()
        elif word != "set":
            return f"there is no statement «{word}»", start
    if open:
        return f"«{open[-1][0]}» is not closed", open[-1][1]
    unclosed = text.count("{%") > len(tags)
    return ("a statement does not end with %}", text.rfind("{%")) if unclosed else None
