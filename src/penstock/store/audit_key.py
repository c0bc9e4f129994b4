"""The key of the audit's chain: a file beside the store, for its owner's eyes only, or the one that a setting names."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from penstock.errors import AuditKeyUnreadable
from penstock.store.audit_chain import SealingKey

#: of each tenant: the number and the hash of the last row that has no seal
Heads = Mapping[str, tuple[int, str]]


class _Kept(msgspec.Struct, frozen=True):
    id: str
    key: str


class _File(msgspec.Struct, frozen=True):
    """`keys`: the last one seals, the others verify. `unsealed`: where chains that were there before the first key
    end; whoever writes to the database alone cannot move it."""

    keys: list[_Kept]
    unsealed: dict[str, tuple[int, str]] = {}


class AuditKeys:
    """Read when a row is first appended or verified, and made when there is none. Without a file it is of this process
    alone."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._read: _File | None = None

    def use(self, path: Path | str | None) -> None:
        """Another place for the file, such as one that several machines share."""
        if path is not None:
            self.path, self._read = Path(path), None

    def current(self, heads: Callable[[], Heads]) -> SealingKey:
        """The key that seals; made, with the ends of the chains as they are, where there is none."""
        held = self._held() or self._made(heads())
        return _key(held.keys[-1])

    def find(self, id: str) -> SealingKey | None:
        held = self._held()
        kept = next((key for key in held.keys if key.id == id), None) if held is not None else None
        return None if kept is None else _key(kept)

    def unsealed(self, tenant: str) -> tuple[int, str] | None:
        """The last row of a chain that may be without a seal; None where there is no key."""
        held = self._held()
        return None if held is None else held.unsealed.get(tenant, (0, ""))

    def _held(self) -> _File | None:
        if self._read is None and self.path is not None:
            try:
                text = self.path.read_bytes()
            except FileNotFoundError:
                return None
            except OSError as error:
                raise AuditKeyUnreadable(file=self.path, why=(error.strerror or str(error)).lower()) from error
            self._read = _decoded(text, self.path)
        return self._read

    def _made(self, heads: Heads) -> _File:
        secret = secrets.token_bytes(32)
        made = _File([_Kept(_id(secret), secret.hex())], dict(heads))
        if self.path is None:
            self._read = made
            return made
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _write_new(self.path, msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
        except OSError as error:
            raise AuditKeyUnreadable(file=self.path, why=(error.strerror or str(error)).lower()) from error
        held = self._held()  # of whoever was first
        assert held is not None, "it was written just now"
        return held


def _write_new(path: Path, text: bytes) -> None:
    """Whole or not at all, and never over one that is there."""
    half = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.link(half, path)
    except FileExistsError:
        pass
    finally:
        half.unlink(missing_ok=True)


def _decoded(text: bytes, path: Path) -> _File:
    try:
        held = msgspec.json.decode(text, type=_File)
        right = bool(held.keys) and all(_id(bytes.fromhex(kept.key)) == kept.id for kept in held.keys)
    except (msgspec.MsgspecError, ValueError) as error:
        raise AuditKeyUnreadable(file=path, why=str(error)) from error
    if not right:
        raise AuditKeyUnreadable(file=path, why="a key in it is not the one that its id names")
    return held


def _id(secret: bytes) -> str:
    return hashlib.sha256(b"audit key\n" + secret).hexdigest()[:12]


def _key(kept: _Kept) -> SealingKey:
    return SealingKey(kept.id, bytes.fromhex(kept.key))
