"""Keys for the checkpoints of workflows (C-47): a tenant's own, the operator's, or one that a dev profile makes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.executors.contract import Tenant
from penstock.store.encryption import Damaged, key_from, key_in, kid_of

SECRET = "checkpoint_key"  # noqa: S105 (its name)


class CheckpointKeys:
    """A tenant's key is its secret `checkpoint_key`, else the operator's; `file` is where a dev profile makes one
    of its own."""

    def __init__(
        self, tenant: Callable[[str], Tenant], file: Path | None = None,
        operators: Callable[[str], str | None] | None = None,
    ) -> None:  # fmt: skip
        self.tenant, self.file, self.operators = tenant, file, operators

    def current(self, tenant: str) -> bytes | None:
        secret = self._secret(tenant, SECRET)
        if secret is not None:
            return key_from(secret)
        return key_in(self.file) if self.file is not None else None

    def by_id(self, tenant: str, kid: str) -> bytes:
        """The key that was used: the current one, or an older one kept as `checkpoint_key.KID`."""
        older = self._secret(tenant, f"{SECRET}.{kid}")
        for key in (self.current(tenant), key_from(older) if older is not None else None):
            if key is not None and kid_of(key) == kid:
                return key
        raise Damaged(f"nobody here has the key {kid}")

    def _secret(self, tenant: str, name: str) -> str | None:
        """The operator's is used here for every tenant, and shown to none."""
        own = self.tenant(tenant).secret(name)
        return own if own is not None or self.operators is None else self.operators(name)
