"""Sizes: how large what is sent may be, and from when on a value is kept beside its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.errors import BadInput

KIB, MIB = 1024, 1024 * 1024
#: no reader of documents takes more than this
LARGEST_DOCUMENT = 5 * MIB
#: what SQLite and PostgreSQL take in one value with ease
LARGEST_INLINE = 16 * MIB


class Sizes(msgspec.Struct, frozen=True):
    """In bytes, for the whole house: a body is read before it is known whose it is. The settings are `sizes.NAME`."""

    body_bytes: int = MIB
    document_bytes: int = LARGEST_DOCUMENT
    inline_bytes: int = 64 * KIB


def sizes_of(settings: Mapping[str, Any]) -> Sizes:
    """Raises BadInput for a setting that is none, or too large for what reads it."""
    largest = {"document_bytes": LARGEST_DOCUMENT, "inline_bytes": LARGEST_INLINE}
    known = {field.name: settings.get(f"sizes.{field.name}", field.default) for field in msgspec.structs.fields(Sizes)}
    for name, value in known.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < KIB:
            raise BadInput(what=f"the setting «sizes.{name}»", why=f"it is a number of bytes, at least {KIB}")
        if value > largest.get(name, value):
            raise BadInput(what=f"the setting «sizes.{name}»", why=f"it is at most {largest[name]}")
    return Sizes(**known)
