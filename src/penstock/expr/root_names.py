"""The root names that the expression language reserves."""

from __future__ import annotations

DATA_ROOTS = frozenset({"input", "context", "secrets", "aas", "rag", "sys"})
RESERVED_ROOTS = DATA_ROOTS | {"fn", "true", "false", "null"}
#: What the host lends to functions. No document can write these names, and no document needs to declare them.
HOST_ROOTS = frozenset({"$now", "$random", "$calendar", "$config", "$tenant_config"})
