"""The root names that belong to the language itself."""

from __future__ import annotations

DATA_ROOTS = frozenset({"input", "context", "secrets", "aas", "rag", "sys"})
RESERVED_ROOTS = DATA_ROOTS | {"fn", "true", "false", "null"}
