"""What a store holds beside its runs, compared with what is known of it.

The database's own check, values by reference, documents, the audit.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator

from penstock.app.access.audit import AuditLog
from penstock.app.releases.releases import dsl_hash
from penstock.errors import StoreAway, StoreBusy
from penstock.host.blobs import is_named
from penstock.store.contract import Store
from penstock.store.run_store import is_whole

#: runs, and rows of the journal of each, that a quick look reads
NEWEST, TURNS = 50, 20
Say = Callable[[str, str], None]


@contextlib.contextmanager
def damage_said(say: Say, check: str, what: str) -> Iterator[None]:
    """Damaged bytes can make any decoder raise anything: it is said, and the next is looked at. A store that is away is
    not damaged."""
    try:
        yield
    except (StoreAway, StoreBusy):
        raise
    except Exception as error:
        say(check, f"{what}: {type(error).__name__}: {error}")


def check_integrity(store: Store, say: Say) -> None:
    with damage_said(say, "D1", "the store cannot be looked through"):
        for line in store.damage():
            say("D1", line)
    tenants: list[str] = []
    with damage_said(say, "D3", "the tenants cannot be read"):
        tenants = store.every_tenant()
    with damage_said(say, "D4", "the blobs cannot be read"):
        _check_blobs(store, tenants, say)
    for tenant in tenants:
        with damage_said(say, "D6", f"the documents of {tenant} cannot be read"):
            _check_releases(store, tenant, say)
        with damage_said(say, "D5", f"the audit of {tenant} cannot be read"):
            for broken in AuditLog(store).verify(tenant):
                say("D5", f"the audit of {tenant} is broken at {broken.no}: {broken.why}")


def _check_blobs(store: Store, tenants: list[str], say: Say) -> None:
    """D4: a value that is stored by reference is what its name says."""
    after = ""
    while names := store.blob_names(after):
        for name in names:
            with damage_said(say, "D4", f"blob {name} cannot be read"):
                body = store.blob(name)
                if body is None or not is_named(name, body, tenants):
                    say("D4", f"blob {name} is not what its name says")
        after = names[-1]


def _check_releases(store: Store, tenant: str, say: Say) -> None:
    """D6: a document is what its hash says."""
    for row in store.releases(tenant):
        with damage_said(say, "D6", f"version {row.version} of {row.name} cannot be read"):
            if dsl_hash(json.loads(row.document)) != row.hash:
                say("D6", f"version {row.version} of {row.name} ({tenant}) is not what its hash says")


def quick_look(store: Store) -> list[str]:
    """Before a server starts: what is wrong in a look that is bounded, whatever the size of the store. The database's
    own quick check, then the newest runs and the first rows of their journals."""
    wrong: list[str] = []

    def say(_: str, detail: str) -> None:
        wrong.append(detail)

    with damage_said(say, "D1", "it cannot be looked through"):
        wrong += store.damage(quick=True)
    with damage_said(say, "D3", "its newest runs cannot be read"):
        last = store.last_run()
        for row, _ in store.load(range(max(last - NEWEST + 1, 1), last + 1)):
            for turn in itertools.islice(store.journal(row.no), TURNS):
                if not is_whole(row.no, turn):
                    say("D2", f"run {row.id}: the row of facts {turn.seq_from}..{turn.seq_to} is not what was written")
    return wrong
