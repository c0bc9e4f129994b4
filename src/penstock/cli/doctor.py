"""penstock doctor: what is wrong here, and what to do about it."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.app.maintenance.doctor import Check, DoctorOptions, examine
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, TONES, print_json, say
from penstock.cli.settings import read_settings
from penstock.host.clock import SystemClock


def doctor(
    connections: Annotated[
        bool, typer.Option("--connections", help="Also knock at what the tenants' connections name.")
    ] = False,
    all: Annotated[bool, typer.Option("--all", help="Fold every run again, not only the newest 500.")] = False,
    port: Annotated[
        int | None, typer.Option("--port", metavar="N", min=1, max=65535, help="Also look whether a port is free.")
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Look whether everything is as it should be: store, journal, audit, clock, disk, secrets, extras.

    It changes nothing, and exits with 3 when something is wrong."""
    with reading(store) as door:
        settings = {"secrets.key_file": store.with_name(f"{store.name}.secret-key"), **read_settings(store)}
        options = DoctorOptions(
            path=store, store=door.store, settings=settings, now=SystemClock().now(), all_runs=all, reach=connections,
            port=port,
        )  # fmt: skip
        checks = list(examine(options))
    wrong = [check for check in checks if check.state == "wrong"]
    if json:
        print_json({"checks": checks, "wrong": len(wrong)})
        return FAILED if wrong else DONE
    for check in checks:
        _say(check)
    notes = sum(check.state == "note" for check in checks)
    if wrong:
        say((f"{len(wrong)} things are wrong", TONES["failed"]), f", {notes} to know" if notes else "")
        return FAILED
    say(("All is well", TONES["done"]), f", {notes} to know" if notes else "")
    return DONE


def _say(check: Check) -> None:
    tone = TONES["done"] if check.state == "ok" else TONES["held"] if check.state == "note" else TONES["failed"]
    say((f"{check.state:<6}", tone), (f"{check.name:<12}", "bold"), check.says)
    if check.hint:
        say(f"{'':18}{check.hint}")
