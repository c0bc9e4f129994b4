"""Commands that only look: they take no lock, and work while another process drives the store."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from penstock.app.look import Look
from penstock.app.penstock import Penstock
from penstock.app.replay import Replay
from penstock.app.replay import replay as replayed
from penstock.cli.drive import reading
from penstock.cli.options import STORE, Json, Run, Store
from penstock.cli.speak import (
    DONE,
    FAILED,
    TONES,
    console,
    run_json,
    safe,
    say,
    short,
    status_text,
    tell_json,
    tell_run,
    waiting_json,
)
from penstock.cli.view import drawing
from penstock.host.children import CALLED
from penstock.kernel.reading import Line
from penstock.kernel.state import COMPLETED, STATUS
from penstock.lang.compile import LANGUAGES
from penstock.store.contract import RunRow

_WORDS = {language.name: language.words.run for language in LANGUAGES}


def ps(
    all: Annotated[bool, typer.Option("--all", "-a", help="Those that have ended too.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, help="The newest so many.")] = 50,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the runs that are open, newest first."""
    with reading(store) as door:
        rows = [_row(door, row) for row in door.runs(limit=limit, open_only=not all)]
        ended = 0 if all or rows else len(door.runs(limit=limit))
    if json:
        tell_json(rows)
        return DONE
    if not rows:
        say("no runs are open", f"; ps --all shows {ended} that have ended" if ended else "")
        return DONE
    table = Table(box=None, pad_edge=False, header_style="bright_black")
    for title in ("RUN", "STATUS", "DOCUMENT", "KEY", "AGE", "WAITS FOR"):
        table.add_column(title, overflow="fold", no_wrap=title in ("RUN", "STATUS", "AGE"))
    for one in rows:
        waits = ", ".join(f"{w['node']} ({w['name'] or w['for']})" for w in one["waiting"])
        status = Text(*status_text("PAUSED" if one["paused"] else one["status"]))
        cells = [one["run_id"], status, safe(one["name"]), safe(one["key"] or ""), _age(one["created_at"]), safe(waits)]
        table.add_row(*cells)
    console().print(table)
    return DONE


def _row(door: Penstock, row: RunRow) -> dict[str, Any]:
    net = door.store.net(row.net)
    status = STATUS[row.status]
    found: dict[str, Any] = {
        "run_id": row.id, "status": _WORDS.get(net.language, {}).get(status, status), "name": net.name,
        "language": net.language, "key": row.key, "created_at": row.created_at, "updated_at": row.updated_at,
        "paused": False, "waiting": [],
    }  # fmt: skip
    if row.status < COMPLETED:
        look = door.look(row.id)
        found |= {"status": look.status, "paused": look.paused, "waiting": [waiting_json(w) for w in look.waiting]}
    return found


def _age(at: int) -> str:
    seconds = max(time.time() - at / 1000, 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def show(run: Run, json: Json = False, store: Store = STORE) -> int:
    """Show how a run stands: its net with the tokens, its status, its variables, what it waits for."""
    with reading(store) as door:
        row = door.row(run)
        look, watcher = door.look(row.id), door.watcher(row)
        if json:
            tell_json({**run_json(look), "key": row.key})
            return DONE
        assert watcher.reader.net is not None, "a run that was started has a net"
        picture = drawing(watcher.reader.net.net, watcher.marks(), indent=2)
    tell_run(look, store)
    say(
        ("  document ", "bright_black"), look.name, ("  started ", "bright_black"), _moment(look.created_at),
        ("  facts ", "bright_black"), str(look.facts), *_parent(look),
    )  # fmt: skip
    console().print("", picture, "", sep="\n")
    _variables(look.variables)
    return DONE


def _parent(look: Look) -> list[str | tuple[str, str]]:
    how = "called by" if look.run_id.startswith(CALLED) else "forked from"
    return [(f"  {how} ", "bright_black"), look.parent] if look.parent else []


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _variables(variables: dict[str, Any]) -> None:
    for name, value in variables.items():
        say(("  variable ", "bright_black"), (f"{name} ", "bold"), short(value, 200))


def trace(
    run: Run,
    events: Annotated[bool, typer.Option("--events", help="What subscribers are told, instead of the facts.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List everything that happened in a run, fact by fact; halves of one fact stand under one number."""
    with reading(store) as door:
        found: list[Any] = list(door.events(run)) if events else door.lines(run)
    if json:
        tell_json([{"name" if events else "fact": "", **msgspec.to_builtins(one)} for one in found])
        return DONE
    screen = console()
    width = screen.width if screen.is_terminal else None
    last = 0
    for one in found:
        number = f"{one.seq:>5}  " if one.seq != last else " " * 7
        last = one.seq
        text = _fact_text(one) if isinstance(one, Line) else _event_text(one)
        line = Text.assemble((number, "bright_black"), text, no_wrap=True, overflow="ellipsis")
        if width is not None:
            line.truncate(width, overflow="ellipsis")
        screen.print(line)
    return DONE


_FACT_TONES = {
    "put": "bright_yellow", "fired": TONES["moving"], "settled": TONES["done"], "effect.asked": "cyan",
    "attempt.failed": TONES["failed"], "incident": TONES["held"], "run.moved": "bold", "run.started": "bold",
}  # fmt: skip


def _fact_text(line: Line) -> Text:
    name, rest = line.text()[:16], line.text()[16:]
    style = TONES["failed"] if line.data.get("status") == "failed" else _FACT_TONES.get(line.fact, "")
    return Text.assemble((safe(name), style), safe(rest).replace("\n", " "))


def _event_text(event: Any) -> Text:
    where = " ".join(part for part in (event.node, event.edge) if part)
    more = [f"~{event.epoch}" if event.epoch else "", f"#{event.iteration}" if event.iteration else ""]
    data = short(event.data, 200) if event.data else ""
    return Text.assemble((f"{event.name:<22} ", "cyan"), safe(" ".join([where, *filter(None, more), data])))


def replay(
    run: Run,
    to: Annotated[int | None, typer.Option("--to", metavar="N", help="Up to this fact, not the last.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Fold a run's facts again, up to any of them: its state at that moment, and whether its checkpoint is equal."""
    with reading(store) as door:
        found = replayed(door, run, to)
    if json:
        told = {"fact": found.fact, "state_sha256": found.digest, "checkpoint": found.checkpoint, "equal": found.equal}
        tell_json({**run_json(found.look), "facts": found.facts, **told})
    else:
        _tell_replay(found)
    return FAILED if found.equal is False else DONE


def _tell_replay(found: Replay) -> None:
    say(
        ("run ", "bright_black"), found.look.run_id, (f"  after fact {found.fact} of {found.facts}  ", "bright_black"),
        status_text(found.look.status),
    )  # fmt: skip
    console().print("", drawing(found.net, found.marks, indent=2), "", sep="\n")
    _variables(found.look.variables)
    say(("  state ", "bright_black"), f"sha256 {found.digest}")
    if found.equal is None:
        say(("  checkpoint ", "bright_black"), "none yet; the fold of the journal is the state")
    elif found.equal:
        said = ("equal to the fold, byte for byte", TONES["done"])
        say(("  checkpoint ", "bright_black"), f"at fact {found.checkpoint}: ", said)
    else:
        said = ("differs from the fold", TONES["failed"])
        say(("  checkpoint ", "bright_black"), f"at fact {found.checkpoint}: ", said)
