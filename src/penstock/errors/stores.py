"""The store, and what the host needs to drive it."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.errors.base import PenstockError


class StoreError(PenstockError, code="PS-503-STORE"):
    """The store failed: {why}."""

    passing: ClassVar[bool] = False  # may it pass by itself? Then the engine waits, and goes on
    hint = "Keep the file as it is and restore a copy, or name another one with --store."


class StoreMissing(StoreError, code="PS-404-STORE"):
    """There is no store at {path}."""

    hint = "`penstock run FILE` makes one; another one is named with --store."


class StoreNewer(StoreError, code="PS-409-STORE-NEWER"):
    """The store has schema version {found}; this Penstock knows versions up to {known}."""

    hint = "Upgrade Penstock, or open another store with --store."


class StoreNotOurs(StoreError, code="PS-409-STORE-FOREIGN"):
    """«{path}» is not a Penstock store."""

    hint = "Name another file with --store."


class StoreBusy(StoreError, code="PS-409-STORE-BUSY"):
    """Another Penstock process{who} drives this store."""

    passing = True
    hint = "Stop it, or give it time to finish; reading commands work meanwhile."

    def __init__(self, pid: str = "", **facts: Any) -> None:
        super().__init__(who=f" (pid {pid})" if pid else "", **facts)


class NotTaken(StoreBusy):
    """The process{who} that drives this store has not taken what was left for it in {seconds} s."""

    hint = "It is kept, and done by whoever drives the store next: stop that process, then `penstock work`."


class StoreFull(StoreError, code="PS-507-STORE-FULL"):
    """The disk is full; nothing of this turn was written."""

    passing = True
    hint = "Free some space and run the same command again: it goes on where it was."


class StoreAway(StoreError, code="PS-503-STORE-AWAY"):
    """The store cannot be reached: {why}."""

    passing = True
    hint = "Is its disk there, and may it be written to? Nothing that was acknowledged is lost."


class StoreGone(StoreAway, code="PS-503-STORE-GONE"):
    """The store is not where it was opened: {why}."""

    hint = (
        "Nothing was acknowledged since. Put the same file back and it goes on; where it is gone, stop the server and "
        "restore a copy."
    )


class StoreDamaged(StoreError, code="PS-503-STORE-DAMAGED"):
    """The store is damaged: {why}."""

    hint = "Keep the file as it is. `penstock verify` says what is wrong; restore a copy: docs/howto/back-up.md."


class StoreDenied(StoreError, code="PS-403-STORE"):
    """The server does not open the store: {why}."""

    hint = "Correct user, password and database; the password may stand in PGPASSWORD or ~/.pgpass."


class Fenced(StoreError, code="PS-409-FENCED"):
    """Another host owns this store now; nothing was written."""

    hint = "Nothing is lost: drive the store from one host at a time."


class ExecutorUnknown(PenstockError, code="PS-422-EXECUTOR"):
    """No executor is called «{name}»."""

    hint = "Correct the name, or give the executor to the host that runs this."


class ExtraMissing(PenstockError, code="PS-501-EXTRA"):
    """This needs the extra «{extra}»: pip install 'penstock[{extra}]'."""

    hint = "Install it with that command and start again."


class SecretSealed(PenstockError, code="PS-500-SECRET"):
    """The secret «{name}» cannot be opened: {why}."""

    hint = "Put the file …secret-key back beside the store, or give the secret anew."
