"""Commands for learned autonomy: proposals to raise or lower an agent's mode are listed, accepted and dismissed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.access.candidates import Who
from penstock.app.penstock import Penstock
from penstock.app.process.autonomy.proposals import Autonomy, Evaluation, Proposal
from penstock.app.process.definitions import approval_of
from penstock.app.process.error_words import process_words
from penstock.app.process.version_writer import Defined
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By, identify
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, TONES, moment, print_json, print_list, say
from penstock.errors import BadInput

Id = Annotated[str, typer.Argument(metavar="ID", help="The proposal: its id, or the beginning of it.")]
Reason = Annotated[str, typer.Option("--reason", "-m", metavar="TEXT", help="Why: it is kept with it.")]
_STYLES = {
    "open": TONES["held"], "accepted": TONES["done"], "dismissed": TONES["failed"], "withdrawn": TONES["failed"],
}  # fmt: skip


def ls(
    process: Annotated[str | None, typer.Option("--process", metavar="ID", help="Only of this process.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the proposals to raise or lower the mode of an agent, newest first."""
    with attached(store) as door:
        proposals = Autonomy(door).each(process=process, status=None if all else "open")
    return print_list(proposals, json, _json, _print, empty="Nothing is proposed: penstock autonomy evaluate.")


def show(id: Id, json: Json = False, store: Store = STORE) -> int:
    """Show a proposal: the counts, the bound, what mistakes have cost, and the cases behind it."""
    with attached(store) as door:
        proposal = _named(door, id)
    if json:
        print_json(_json(proposal))
        return DONE
    _print(proposal)
    found = proposal.found
    counts = (("unchanged", found.unchanged), ("corrected", found.corrected), ("rejected", found.rejected))
    say(f"  {found.decided} decided: ", ", ".join(f"{n} {name}" for name, n in (*counts, ("undone", found.undone))))
    say(f"  between {found.lower:.3f} and {found.upper:.3f}, however often it is looked at; target {found.target}")
    cost = found.cost
    rework = "unknown" if cost.rework_ms is None else f"{cost.rework_ms / 60_000:.1f} min in the median"
    say(f"  {cost.mistakes} mistakes; {cost.reworked} reworked: {rework}; {cost.compensations} compensated")
    if proposal.row.reason:
        say(("  because ", "bright_black"), proposal.row.reason)
    for case in found.cases:
        say(f"  {moment(case.at)}  {case.item:24} {case.outcome}")
    return DONE


def accept(id: Id, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Save the next version of the process with the proposed mode. With four eyes it waits for an approval."""

    async def work() -> tuple[Proposal, Defined]:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            return await Autonomy(door).accept(_named(door, id).row.id, by=_who(door, by))

    proposal, saved = until_done(work())
    if json:
        print_json({**_json(proposal), "approval_status": approval_of(saved.release)})
        return DONE
    _print(proposal)
    say(f"  {saved.release.name} v{saved.release.version} is {approval_of(saved.release)}")
    return DONE


def dismiss(id: Id, reason: Reason, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Leave the mode as it is. It is not proposed again before there is as much new evidence."""
    with attached(store) as door:
        proposal = Autonomy(door).dismiss(_named(door, id).row.id, by=_who(door, by), reason=reason)
    if json:
        print_json(_json(proposal))
    else:
        _print(proposal)
    return DONE


def evaluate(json: Json = False, store: Store = STORE) -> int:
    """Read what has become of agents' drafts since the last time; propose, and withdraw. A server does it by itself."""

    async def work() -> Evaluation:
        async with contextlib.AsyncExitStack() as stack:
            return await Autonomy(await driving_or_attached(stack, store)).evaluate()

    done = until_done(work())
    if json:
        print_json(msgspec.to_builtins(done))
        return DONE
    say(f"{done.runs} runs read, {len(done.proposed)} proposed, {len(done.withdrawn)} withdrawn")
    for id in done.proposed:
        say(f"  {id}")
    return DONE


def _who(door: Penstock, by: str | None) -> Who:
    who = identify(door, by, "definition.write")
    if who is None:
        raise BadInput(what="--by", why="nobody is named", hint="Write --by USER, or set PENSTOCK_KEY.")
    return who


def _named(door: Penstock, id: str) -> Proposal:
    """By its id, or by the beginning of one and only one."""
    autonomy = Autonomy(door)
    begins = [proposal for proposal in autonomy.each() if proposal.row.id.startswith(id)] if id else []
    return begins[0] if len(begins) == 1 else autonomy.get(id)


def _json(proposal: Proposal) -> dict[str, Any]:
    row, found = proposal.row, proposal.found
    shown = ("id", "process", "version", "activity", "name", "agent", "mode", "proposed", "status", "since",
             "ended_at", "ended_by", "reason", "made_version")  # fmt: skip
    return {
        **{name: getattr(row, name) for name in shown}, "direction": proposal.direction, **msgspec.to_builtins(found),
        "since": row.since, "cases_since": found.since,
    }  # fmt: skip


def _print(proposal: Proposal) -> None:
    row, found = proposal.row, proposal.found
    bound = found.lower if proposal.direction == "raise" else found.upper
    say(
        (f"{row.id[:8]} ", "bold"), (f"{row.status:9} ", _STYLES[row.status]),
        f"{row.process} v{row.version} {row.name}: {row.mode} → {row.proposed}  ",
        f"{found.unchanged} of {found.decided} unchanged, bound {bound:.3f}",
    )  # fmt: skip


_COMMANDS: dict[str, Callable[..., int]] = {
    "ls": ls, "show": show, "accept": accept, "dismiss": dismiss, "evaluate": evaluate,
}  # fmt: skip
#: several commands under one name; errors have the codes that they have over HTTP
autonomy = {name: process_words()(command) for name, command in _COMMANDS.items()}
