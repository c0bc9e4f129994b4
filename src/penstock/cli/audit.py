"""Commands about the audit: list who changed what, and verify that nobody has changed that since."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.access.audit import AuditEntry, AuditLog, ChainHead
from penstock.app.releases.documents import read_source
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Limit, Store
from penstock.cli.output import DONE, FAILED, TONES, moment, print_json, print_list, say, short
from penstock.errors import BadInput

Actor = Annotated[str | None, typer.Option("--by", metavar="USER", help="Only what this one did.")]
Action = Annotated[str | None, typer.Option("--action", metavar="NAME", help="Only this, such as key.create.")]
Target = Annotated[str | None, typer.Option("--target", metavar="ID", help="Only about this.")]


def verify(
    head: Annotated[
        Path | None,
        typer.Option("--head", metavar="FILE", help="Heads that `penstock audit head --json` has printed before."),
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Check the audit of every tenant: no row was changed, taken out or put in. It exits with 3 when one does not."""
    noted = {} if head is None else _noted(head)
    with reading(store) as door:
        audit = AuditLog(door.store)
        tenant_names = sorted({*audit.tenants(), *noted})
        breaks = [broken for name in tenant_names for broken in audit.verify(name, noted.get(name))]
        heads = [(name, door.store.audit_last(name), audit.head(name)) for name in tenant_names]
    rows = sum(count for _, count, _ in heads)
    if json:
        tenants = [{"tenant": name, "rows": count, "head": head.hash} for name, count, head in heads]
        print_json({"tenants": tenants, "rows": rows, "breaks": breaks})
        return FAILED if breaks else DONE
    for broken in breaks:
        say((f"{broken.tenant} {broken.no} ", "bold"), (broken.why, TONES["failed"]))
    if breaks:
        say(("The audit does not hold. ", TONES["failed"]), "Keep the store as it is, and compare it with a copy.")
        return FAILED
    say(("The audit holds: ", TONES["done"]), f"{rows} rows of {len(tenant_names)} tenants")
    return DONE


def _noted(file: Path) -> dict[str, ChainHead]:
    try:
        heads = msgspec.json.decode(read_source(file), type=list[ChainHead])
    except msgspec.MsgspecError as error:
        hint = "Print them with penstock audit head --json."
        raise BadInput(what=f"«{file}»", why=f"it holds no heads: {error}", hint=hint) from error
    return {head.tenant: head for head in heads}


def head(json: Json = False, store: Store = STORE) -> int:
    """Print where the audit of every tenant ends. Kept elsewhere, it shows later whether the end was cut off:
    penstock audit verify --head FILE."""
    with reading(store) as door:
        audit = AuditLog(door.store)
        heads = [audit.head(name) for name in audit.tenants()]
    return print_list(heads, json, msgspec.to_builtins, _print_head, empty="Nothing is recorded.")


def _print_head(head: ChainHead) -> None:
    say((f"{head.tenant} {head.no} ", "bold"), head.hash)


def ls(
    actor: Actor = None, action: Action = None, target: Target = None, limit: Limit = 50, json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """List who changed what, newest first."""
    with reading(store) as door:
        entries = AuditLog(door.store).each(door.tenant, limit=limit, actor=actor, action=action, target=target)
    return print_list(entries, json, msgspec.to_builtins, _print, empty="Nothing is recorded.")


def _print(entry: AuditEntry) -> None:
    body = f"  {short(entry.body)}" if entry.body not in (None, {}) else ""
    when = (f"{entry.no:>6} {moment(entry.at)} ", "bright_black")
    say(when, (entry.actor, "bold"), f" {entry.action} {entry.target}{body}")


audit = {"verify": verify, "head": head, "ls": ls}
