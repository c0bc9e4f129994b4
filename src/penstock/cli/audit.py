"""Commands about the audit: list who changed what, and verify that nobody has changed that since."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.app.access.audit import AuditLog
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, TONES, moment, say, short, tell_json


def verify(json: Json = False, store: Store = STORE) -> int:
    """Check the audit of every tenant: no row was changed, taken out or put in. It exits with 3 when one does not."""
    with reading(store) as door:
        audit = AuditLog(door.store)
        asked = audit.tenants()
        found = [one for name in asked for one in audit.verify(name)]
        heads = [(name, door.store.audit_last(name), audit.head(name)) for name in asked]
    rows = sum(count for _, count, _ in heads)
    if json:
        tenants = [{"tenant": name, "rows": count, "head": head} for name, count, head in heads]
        tell_json({"tenants": tenants, "rows": rows, "breaks": found})
        return FAILED if found else DONE
    for one in found:
        say((f"{one.tenant} {one.no} ", "bold"), (one.why, TONES["failed"]))
    if found:
        say(("The audit does not hold. ", TONES["failed"]), "Keep the store as it is, and compare it with a copy.")
        return FAILED
    say(("The audit holds: ", TONES["done"]), f"{rows} rows of {len(asked)} tenants")
    return DONE


def ls(
    actor: Annotated[str | None, typer.Option("--by", metavar="USER", help="Only what this one did.")] = None,
    action: Annotated[
        str | None, typer.Option("--action", metavar="NAME", help="Only this, such as key.create.")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", metavar="ID", help="Only about this.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 50,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List who changed what, newest first."""
    with reading(store) as door:
        found = AuditLog(door.store).each(door.tenant, limit=limit, actor=actor, action=action, target=target)
    if json:
        tell_json(found)
        return DONE
    if not found:
        say("Nothing is recorded.")
    for one in found:
        said = f"  {short(one.body)}" if one.body not in (None, {}) else ""
        say(
            (f"{one.no:>6} {moment(one.at)} ", "bright_black"), (one.actor, "bold"), f" {one.action} {one.target}{said}"
        )
    return DONE


audit = {"verify": verify, "ls": ls}
