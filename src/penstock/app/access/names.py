"""Names of users: two spellings of one name are one user."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

#: letters that nobody sees: joiners, fillers and selectors that are no format characters by their category
_UNSEEN = frozenset(
    chr(c)
    for c in (
        0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0,
        *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0),
    )
)  # fmt: skip
_LEFT_OUT = ("Cf", "Cc", "Cn", "Co")


@lru_cache(4096)
def folded(name: str) -> str:
    """The one form of a name's spellings: NFKC, case-folded, without what nobody sees, with single spaces."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(c for c in text if c.isspace() or c not in _UNSEEN and unicodedata.category(c) not in _LEFT_OUT)
    return " ".join(unicodedata.normalize("NFC", seen).split())


def same_user(one_name: str | None, other: str | None) -> bool:
    """Whether two names mean one user. Nobody is nobody's other spelling."""
    return one_name is not None and other is not None and folded(one_name) == folded(other)
