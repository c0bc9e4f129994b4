"""Commands that only look: they take no lock, and work while another process drives the store."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Run, Store
from penstock.cli.output import (
    DONE,
    FAILED,
    TONES,
    console,
    print_json,
    print_run,
    print_undriven,
    run_json,
    safe,
    say,
    short,
    status_text,
    store_option,
    waiting_json,
)

if TYPE_CHECKING:  # imported where they are used: these commands are called often and should start quickly
    from rich.text import Text

    from penstock.app.runs.queries import Queries
    from penstock.app.runs.run_view import RunView
    from penstock.app.runs.timeline.replay import Replay
    from penstock.dialects.transitions import Transition
    from penstock.kernel.fact_lines import FactLine
    from penstock.store.run_store import RunRow

_COUNTED = 1000  # more ended runs than these are not counted
_VALUE = 60  # most characters of a value in a trace, unless all of it is asked for


def ps(
    all: Annotated[bool, typer.Option("--all", "-a", help="Those that have ended, too.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many, the newest.")] = 50,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the runs that are open, newest first; with --all also those that have ended."""
    from penstock.store.address import driver_of

    with reading(store) as door:
        rows = [_row(door, row) for row in door.runs(limit=limit, open_only=not all)]
        hidden = 0 if all else _ended(door)
    driver = driver_of(store)
    for row in rows:
        row["driver"] = int(driver) if driver and driver.isdecimal() else None
    if json:
        print_json(rows)
        return DONE
    if rows:
        _table(rows)
    else:
        say("no runs are open")
    if driver is None and any(row["status"].upper() in ("PENDING", "RUNNING") and not row["paused"] for row in rows):
        hint = f"go on with penstock work{store_option(store)}"
        say(("nobody drives the runs that are RUNNING: ", TONES["held"]), hint)
    if hidden:
        many = f"more than {_COUNTED}" if hidden > _COUNTED else str(hidden)
        say((f"{many} ended run{'' if hidden == 1 else 's'} hidden, -a shows them", "bright_black"))
    return DONE


def _ended(door: Queries) -> int:
    from penstock.kernel.state import COMPLETED, STATUS

    return len(door.store.runs(status=range(COMPLETED, len(STATUS)), limit=_COUNTED + 1, tenant=door.tenant))


def _table(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bright_black")
    for title in ("RUN", "STATUS", "DOCUMENT", "KEY", "AGE", "WAITS FOR"):
        table.add_column(title, overflow="fold", no_wrap=title in ("RUN", "STATUS", "AGE"))
    for row in rows:
        waits = ", ".join(f"{w['node']} ({w['name'] or w['for']})" for w in row["waiting"])
        status = Text(*status_text(row["status"], row["paused"]))
        cells = [row["run_id"], status, safe(row["name"]), safe(row["key"] or ""), _age(row["created_at"]), safe(waits)]
        table.add_row(*cells)
    console().print(table)


def _row(door: Queries, row: RunRow) -> dict[str, Any]:
    from penstock.app.runs.run_view import run_word
    from penstock.kernel.state import COMPLETED, STATUS

    net = door.store.net(row.net)
    row_json: dict[str, Any] = {
        "run_id": row.id, "status": run_word(net.language, STATUS[row.status]), "name": net.name,
        "language": net.language, "key": row.key, "created_at": row.created_at, "updated_at": row.updated_at,
        "paused": False, "waiting": [],
    }  # fmt: skip
    if row.status < COMPLETED:
        look = door.view(row.id)
        row_json |= {"status": look.status, "paused": look.paused, "waiting": [waiting_json(w) for w in look.waiting]}
    return row_json


def _age(at: int) -> str:
    seconds = max(time.time() - at / 1000, 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def show(run: Run, json: Json = False, store: Store = STORE) -> int:
    """Show how a run stands: its net with the tokens, its status, its variables, what it waits for."""
    from penstock.store.address import driver_of

    driver = driver_of(store)
    with reading(store) as door:
        row = door.row(run)
        look, watcher = door.view(row.id), door.fold(row)
        if json:
            past = [msgspec.to_builtins(transition) for transition in door.history(row.id)]
            driven = int(driver) if driver and driver.isdecimal() else None
            print_json({**run_json(look), "history": past, "driver": driven})
            return DONE
        from penstock.cli.net_text import drawing

        assert watcher.reader.net is not None, "a run that was started has a net"
        picture = drawing(watcher.reader.net.net, watcher.marks(), indent=2)
    print_run(look, store)
    if driver is None:
        print_undriven(look, store)
    say(
        ("  document ", "bright_black"), look.name, *_key(look), ("  started ", "bright_black"),
        _moment(look.created_at), ("  facts ", "bright_black"), str(look.facts), *_parent(look),
    )  # fmt: skip
    console().print("", picture, "", sep="\n")
    _variables(look.variables)
    return DONE


def _key(look: RunView) -> list[str | tuple[str, str]]:
    return [("  key ", "bright_black"), look.key] if look.key else []


def _parent(look: RunView) -> list[str | tuple[str, str]]:
    if not look.parent:
        return []
    from penstock.host.children import CALLED

    how = "called by" if look.run_id.startswith(CALLED) else "forked from"
    return [(f"  {how} ", "bright_black"), look.parent]


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _variables(variables: dict[str, Any]) -> None:
    for name, value in variables.items():
        say(("  variable ", "bright_black"), (f"{name} ", "bold"), short(value, 200))


def trace(
    run: Run,
    events: Annotated[bool, typer.Option("--events", help="What subscribers are told, instead of the facts.")] = False,
    history: Annotated[
        bool,
        typer.Option("--history", help="The transitions of the run, its nodes and approvals, instead of the facts."),
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="Long values whole, not only their beginning.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List everything that happened in a run: the number of each fact, as `fork --at` and `replay --to` take it, and
    the turn in which it was committed.

    A fact that tells of several things, such as a token that is put and taken at once, has several lines under one
    number. With --json the lines have `seq` (the number of the fact), `turn`, and an `index` that is never repeated."""
    with reading(store) as door:
        if events:
            _trace_events(list(door.events(run)), json)
            return DONE
        if history:
            _trace_history(door.history(run), json)
            return DONE
        turns = door.turns(run)
    lines = [(turn, line) for turn, facts in enumerate(turns, 1) for line in facts]
    if json:
        facts = [
            {"index": index, "turn": turn, "fact": "", **msgspec.to_builtins(line)}
            for index, (turn, line) in enumerate(lines, 1)
        ]
        print_json(facts)
        return DONE
    before: tuple[int, int] = (0, 0)
    printed: list[tuple[str, str, str | Text]] = [("FACT  TURN  ", "bright_black", "WHAT")]
    for turn, line in lines:
        number = f"{line.seq:>4}" if line.seq != before[1] else " " * 4
        within = f"{turn:>4}" if turn != before[0] else " " * 4
        printed.append((f"{number}  {within}  ", "bright_black", _fact_text(line, full)))
        before = (turn, line.seq)
    _print(printed, full)
    return DONE


def _trace_events(events: list[Any], json: bool) -> None:
    if json:
        print_json([{"name": "", **msgspec.to_builtins(event)} for event in events])
    else:
        _print([(f"{event.seq:>5}  ", "bright_black", _event_text(event)) for event in events], False)


def _trace_history(transitions: list[Transition], json: bool) -> None:
    if json:
        print_json([msgspec.to_builtins(step) for step in transitions])
    else:
        _print([(f"{step.at}  ", "bright_black", _transition_text(step)) for step in transitions], False)


def _transition_text(step: Transition) -> Text:
    from rich.text import Text

    who = step.of if step.of == "instance" else f"{step.of} {step.node_id}"
    where = step.node_id if step.of == "instance" else None
    more = " ".join(part for part in (where, step.reason, f"by {step.by}" if step.by else None) if part)
    way = step.to if step.from_ is None else f"{step.from_} → {step.to}"
    tone = TONES["failed"] if step.to in ("failed", "timeout") else "bold" if step.of == "instance" else ""
    return Text.assemble(
        f"{safe(who):<28} ", (f"{way:<24} ", tone), (f"{step.event:<20} ", "cyan"), safe(more).replace("\n", " ")
    )


def _print(lines: list[tuple[str, str, str | Text]], full: bool) -> None:
    """Cut where the terminal ends; a file gets whole lines."""
    from rich.text import Text

    screen = console()
    width = screen.width if screen.is_terminal and not full else None
    for number, style, text in lines:
        line = Text.assemble((number, style), text, no_wrap=width is not None, overflow="ellipsis")
        if width is not None:
            line.truncate(width, overflow="ellipsis")
        screen.print(line)


_FACT_TONES = {
    "put": "bright_yellow", "fired": TONES["moving"], "settled": TONES["done"], "effect.asked": "cyan",
    "attempt.failed": TONES["failed"], "incident": TONES["held"], "run.moved": "bold", "run.started": "bold",
}  # fmt: skip


def _fact_text(line: FactLine, full: bool) -> Text:
    from rich.text import Text

    style = TONES["failed"] if line.data.get("status") == "failed" else _FACT_TONES.get(line.fact, "")
    where = [line.node, line.edge, f"@{line.scope}" if line.scope else ""]
    epoch = f"epoch={line.epoch}" if line.epoch >= 0 else ""
    data = (f"{k}={_value(k, v, full)}" for k, v in line.data.items() if v is not None and v != [] and v != {})
    rest = " ".join(part for part in (*where, epoch, *data) if part)
    return Text.assemble((f"{safe(line.fact):<16} ", style), safe(rest).replace("\n", " "))


def _value(name: str, value: Any, full: bool) -> str:
    """On one line; names of things are short enough and always whole."""
    return short(value, 1 << 30 if full or name in ("key", "firing") else _VALUE)


def _event_text(event: Any) -> Text:
    from rich.text import Text

    where = " ".join(part for part in (event.node, event.edge) if part)
    more = [f"~{event.epoch}" if event.epoch else "", f"#{event.iteration}" if event.iteration else ""]
    data = short(event.data, 200) if event.data else ""
    return Text.assemble((f"{event.name:<22} ", "cyan"), safe(" ".join([where, *filter(None, more), data])))


def replay(
    run: Run,
    to: Annotated[
        int | None,
        typer.Option("--to", metavar="N", help="As it was after fact N of its trace; the last one if not given."),
    ] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Show a run as it was after any of its facts. Nothing is run again: its facts are folded anew, and what is
    saved of its state is compared with them."""
    from penstock.app.runs.timeline.replay import replay as replayed

    with reading(store) as door:
        result = replayed(door, run, to)
    if json:
        body = {
            "fact": result.fact,
            "state_sha256": result.digest,
            "checkpoint": result.checkpoint,
            "equal": result.equal,
        }
        print_json({**run_json(result.look), "facts": result.facts, **body})
    else:
        _print_replay(result)
    return FAILED if result.equal is False else DONE


def _print_replay(result: Replay) -> None:
    from penstock.cli.net_text import drawing

    place = (f"  after fact {result.fact} of {result.facts}  ", "bright_black")
    say(("run ", "bright_black"), result.look.run_id, place, status_text(result.look.status, result.look.paused))
    console().print("", drawing(result.net, result.marks, indent=2), "", sep="\n")
    _variables(result.look.variables)
    say(("  state ", "bright_black"), f"sha256 {result.digest}")
    if result.equal is None:
        say(("  checkpoint ", "bright_black"), "none yet; the fold of the journal is the state")
    elif result.equal:
        verdict = ("equal to the fold, byte for byte", TONES["done"])
        say(("  checkpoint ", "bright_black"), f"at fact {result.checkpoint}: ", verdict)
    else:
        verdict = ("differs from the fold", TONES["failed"])
        say(("  checkpoint ", "bright_black"), f"at fact {result.checkpoint}: ", verdict)
