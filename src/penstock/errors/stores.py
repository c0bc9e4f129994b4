"""The store, and what the host needs to drive it."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.errors.base import PenstockError


class StoreError(PenstockError):
    """The store failed: {why}."""

    code, http, exit_code = "PS-503-STORE", 503, 2
    passing: ClassVar[bool] = False  # may it pass by itself? Then the engine waits, and goes on
    hint = "Keep the file as it is and restore a copy, or name another one with --store."


class StoreMissing(StoreError):
    """There is no store at {path}."""

    code, http = "PS-404-STORE", 404
    hint = "`penstock run FILE` makes one; another one is named with --store."


class StoreNewer(StoreError):
    """The store has schema version {found}; this Penstock knows versions up to {known}."""

    code, http = "PS-409-STORE-NEWER", 409
    hint = "Upgrade Penstock, or open another store with --store."


class StoreNotOurs(StoreError):
    """«{path}» is not a Penstock store."""

    code, http = "PS-409-STORE-FOREIGN", 409
    hint = "Name another file with --store."


class StoreBusy(StoreError):
    """Another Penstock process{who} drives this store."""

    code, http, passing = "PS-409-STORE-BUSY", 409, True
    hint = "Stop it, or give it time to finish; reading commands work meanwhile."

    def __init__(self, pid: str = "", **facts: Any) -> None:
        super().__init__(who=f" (pid {pid})" if pid else "", **facts)


class NotTaken(StoreBusy):
    """The process{who} that drives this store has not taken what was left for it in {seconds} s."""

    hint = "It is kept, and done by whoever drives the store next: stop that process, then `penstock work`."


class StoreFull(StoreError):
    """The disk is full; nothing of this turn was written."""

    code, http, passing = "PS-507-STORE-FULL", 507, True
    hint = "Free some space and run the same command again: it goes on where it was."


class StoreAway(StoreError):
    """The store cannot be reached: {why}."""

    code, passing = "PS-503-STORE-AWAY", True
    hint = "Is its disk there, and may it be written to? Nothing that was acknowledged is lost."


class StoreDenied(StoreError):
    """The server does not open the store: {why}."""

    code, http = "PS-403-STORE", 403
    hint = "Correct user, password and database; the password may stand in PGPASSWORD or ~/.pgpass."


class Fenced(StoreError):
    """Another host owns this store now; nothing was written."""

    code, http = "PS-409-FENCED", 409
    hint = "Nothing is lost: drive the store from one host at a time."


class ExecutorUnknown(PenstockError):
    """No executor is called «{name}»."""

    code, http = "PS-422-EXECUTOR", 422
    hint = "Correct the name, or give the executor to the host that runs this."


class ExtraMissing(PenstockError):
    """This needs the extra «{extra}»: pip install 'penstock[{extra}]'."""

    code, http = "PS-501-EXTRA", 501
    hint = "Install it with that command and start again."


class SecretSealed(PenstockError):
    """The secret «{name}» cannot be opened: {why}."""

    code, http = "PS-500-SECRET", 500
    hint = "Put the file …secret-key back beside the store, or give the secret anew."
