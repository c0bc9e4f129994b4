"""Secrets at rest: a value that a tenant gives is encrypted with a key that lies beside the store, and not in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.errors import ExtraMissing, SecretSealed
from penstock.store.encryption import Damaged, key_in, kid_of, opened, seal


def sealed(body: dict[str, Any], owner: str, file: Path | None) -> dict[str, Any]:
    """The body of a secret as it is kept. Where nothing here can encrypt it is kept as it is; `penstock doctor` says
    so."""
    value = body.get("value")
    if not isinstance(value, str) or file is None:
        return body
    try:
        closed, _ = seal(value, owner, compress=False, key=key_in(file))
    except ExtraMissing:
        return body
    return {**{name: value for name, value in body.items() if name != "value"}, "sealed": closed.decode()}


def unsealed(closed: str, owner: str, file: Path | None) -> str:
    """Raises SecretSealed where the key is another, or gone."""

    def key_of(kid: str) -> bytes:
        key = key_in(file) if file is not None and file.is_file() else None
        if key is None or kid_of(key) != kid:
            raise Damaged(f"nobody here has the key {kid}")
        return key

    try:
        secret = opened(closed.encode(), owner, key_of)
        if not isinstance(secret, str):
            raise Damaged("it is not what was sealed")
        return secret
    except (Damaged, OSError) as error:
        raise SecretSealed(name=owner.rpartition("/")[2], why=str(error)) from error
