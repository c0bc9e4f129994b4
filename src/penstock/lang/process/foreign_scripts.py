"""Expressions of process files in languages that are not read here: kept with the name of the language."""

from __future__ import annotations

_MARK = "script:"


def as_foreign(language: str, text: str) -> str:
    return f"{_MARK}{language}: {text.strip()}"


def foreign_language(text: str) -> tuple[str, str] | None:
    """The language and the text of what `as_foreign` has made."""
    if not text.startswith(_MARK):
        return None
    language, _, source = text.removeprefix(_MARK).partition(":")
    return language.strip(), source.strip()
