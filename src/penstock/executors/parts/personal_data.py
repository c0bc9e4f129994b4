"""Personal data in texts of the engine: e-mail addresses, phone and Korean resident numbers are masked (F-X.34)."""

from __future__ import annotations

import hashlib
import re

#: an execution's id may hold digits that look like a phone number, and a reference with a masked id leads nowhere
_ID = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
#: the first that fits wins: a resident number looks like a phone number to the last one
_MASKS = (
    (
        re.compile(r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}"),
        "[e-mail]",
    ),
    (re.compile(r"(?<!\d)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-. ]?[1-8]\d{6}(?!\d)"), "[resident number]"),
    (
        re.compile(
            r"(?<![\d.])(?:\+\d{1,3}[-. ]?)?\(?0?\d{1,3}\)?[-. ]\d{3,4}[-. ]\d{4}(?![\d.])"
            r"|(?<![\d.])0(?:1[016-9]|2|[3-6]\d)\d{7,8}(?!\d)"
            r"|(?<![\d.])\+\d{8,15}(?!\d)"
        ),
        "[phone]",
    ),
)


def masked(text: str) -> str:
    """Ids of executions stay as they are."""
    parts = re.split(f"({_ID})", text)
    return "".join(part if number % 2 else _without_personal_data(part) for number, part in enumerate(parts))


def _without_personal_data(text: str) -> str:
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def hashed(name: str) -> str:
    """How the engine's logs name a file: the same name is the same hash, and the name is not told."""
    return f"sha256:{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:16]}"
