"""Dialects: what each language means while its runs live. They are found by the name of the language."""

from __future__ import annotations

from functools import cache

from penstock.dialects.contract import Dialect
from penstock.languages import DIALECTS, part_of


@cache
def dialect_of(language: str) -> Dialect:
    """The dialect of a language, without importing the others; a net that was made in Python has a plain one."""
    return part_of(language, DIALECTS) or Dialect()


__all__ = ["Dialect", "dialect_of"]
