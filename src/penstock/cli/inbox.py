"""Commands for people: what waits for somebody, and their decisions; what was sent instead of being delivered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.access.candidates import for_anybody, targets_of
from penstock.app.inbox import inbox as desk
from penstock.app.inbox import open_items
from penstock.app.language import WorkRules, app_language
from penstock.app.penstock import Penstock
from penstock.app.runs.queries import Queries
from penstock.cli.drive import Started, command_run
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Speed, Store
from penstock.cli.output import DONE, moment, print_list, say, store_option
from penstock.cli.run import finish
from penstock.errors import BadInput, Refused
from penstock.store.messages import MessageRow

_minute = partial(moment, seconds=False)
Item = Annotated[
    str, typer.Argument(metavar="ID", help="What waits: RUN/NODE as the inbox shows it, or RUN if only one waits.")
]
By = Annotated[str | None, typer.Option("--by", metavar="USER", help="Who decides; else the first who may.")]
OnlyRun = Annotated[str | None, typer.Argument(metavar="RUN", help="Only what this run has sent.")]
Verdict = Annotated[
    str | None, typer.Option("--decision", metavar="VERDICT", help="For a review: normal, warning, critical …")
]
Comment = Annotated[str | None, typer.Option("--comment", "-m", metavar="TEXT", help="Why.")]


def inbox(
    by: Annotated[str | None, typer.Option("--by", metavar="USER", help="Only what this user may decide.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List what waits for people, oldest first: approvals, reviews, answers, work."""
    with reading(store) as door:
        waiting = desk.open_items(door, by)
    empty = "Nothing waits for anybody." if by is None else f"Nothing waits for {by}."
    print_list(waiting, json, msgspec.to_builtins, _print_item, empty=empty)
    if json:
        return DONE
    to_do = [item for item in waiting if item.kind == "work" and item.status != "SUBMITTED"]
    if to_do:
        say(("hand in with ", "bright_black"), f"penstock respond RUN NODE RESULT{store_option(store)}")
    if len(to_do) < len(waiting):
        say(("decide with ", "bright_black"), f"penstock approve ID or penstock reject ID{store_option(store)}")
    return DONE


def _print_item(item: open_items.InboxItem) -> None:
    who = ", ".join(targets_of(item.candidates)) or ("anybody" if for_anybody(item.candidates) else "nobody")
    say((item.id, "bold"), f"  {item.kind} of {item.document}: {item.title}")
    due = f", until {_minute(item.due_at)}" if item.due_at is not None else ""
    level = f", escalated {item.escalation_level}x" if item.escalation_level else ""
    say(f"  for {who}; since {_minute(item.opened_at)}{due}{level}; priority {item.priority}")
    if item.description:
        say(f"  {item.description}")
    for name, choices in _choices(item.form or {}):
        say(f"  {name}: {' | '.join(choices)}")
    for user, vote in item.votes.items():
        say(f"  {user}: {vote['vote']}" + (f" ({vote['comment']})" if vote.get("comment") else ""))


def _choices(form: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The fields of a form in which one or several of a few values stand."""
    properties = form.get("properties")
    for name, field in properties.items() if isinstance(properties, dict) else ():
        for place in (field, field.get("items")) if isinstance(field, dict) else ():
            if isinstance(place, dict) and isinstance(place.get("enum"), list):
                yield str(name), [v if isinstance(v, str) else msgspec.json.encode(v).decode() for v in place["enum"]]


def approve(
    id: Item, by: By = None, comment: Comment = None, decision: Verdict = None, speed: Speed = None,
    json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Approve what waits, or give a review its verdict, and drive the run on until it ends or waits."""
    return _decide(id, decision or "approved", by, comment, json, store, speed)


def reject(
    id: Item, by: By = None, comment: Comment = None, speed: Speed = None, json: Json = False, store: Store = STORE
) -> int:
    """Reject what waits, and drive the run on until it ends or waits."""
    return _decide(id, "rejected", by, comment, json, store, speed)


def _decide(
    id: str, verdict: str, by: str | None, comment: str | None, json: bool, store: Path, speed: float | None
) -> int:
    with reading(store) as door:
        item = open_items.find(door, id)
        who = by or desk.anybody(door, item)
        if who is None:
            hint = "Say who decides: --by USER. `penstock inbox` shows who may."
            raise BadInput(what="--by", why="nobody who is registered may decide this", hint=hint)
        rules = _rules_for(door, item, verdict, comment) if item.kind == "work" else None
        command = desk.decision(door, item, verdict, who, comment) if item.kind != "work" else None
    started = Started(item.run)
    started.notes.append(f"{verdict} by {who}")

    async def give(door: Penstock, target: str) -> None:
        if command is not None:
            await door.command(target, command)
            return
        assert rules is not None, "work without rules of its own is refused above"
        with rules.error_words():
            if verdict == "rejected":
                await rules.reject(door, item.run, item.firing, by=who, comment=comment or "")
            else:
                await rules.approve(door, item.run, item.firing, by=who, comment=comment)

    return finish(command_run(store, item.run, give, on=True, quiet=json, speed=speed), started, store, json)


def _rules_for(door: Queries, item: open_items.InboxItem, verdict: str, comment: str | None) -> WorkRules:
    """Of work only a draft is decided, where the language has drafts; what asks for an answer gets one."""
    rules = app_language(door.net_of(door.hash_of(door.row(item.run).net)).net.language).work_rules
    if rules is None:
        hint = f"penstock respond {item.run} {item.node} ANSWER"
        raise Refused(why=f"«{item.id}» is answered, and not {verdict}", hint=hint)
    if verdict not in ("approved", "rejected"):
        raise BadInput(what="--decision", why="a draft is approved or rejected", hint="Leave it out.")
    if verdict == "rejected" and not comment:
        raise BadInput(what="--comment", why="whoever does it again must know why", hint='Say --comment "…".')
    return rules


def outbox(run: OnlyRun = None, json: Json = False, store: Store = STORE) -> int:
    """List the messages that were kept here instead of being sent: those to targets named outbox:…"""
    with reading(store) as door:
        wanted = door.row(run).id if run is not None else None
        messages = door.store.messages(door.tenant, wanted)
    return print_list(messages, json, _message_json, _print_message, empty="The outbox is empty.")


def _message_json(row: MessageRow) -> dict[str, Any]:
    message = msgspec.msgpack.decode(row.body)
    return {"run": row.run, "channel": row.channel, "target": row.target, "at": row.at, "message": message}


def _print_message(row: MessageRow) -> None:
    say((f"{row.channel:9}", "bold"), f" {row.target:18} {_minute(row.at)}  {row.run}")
    say(f"  {_text(msgspec.msgpack.decode(row.body))}")


def _text(message: Any) -> str:
    for name in ("text", "message", "body", "subject"):
        if isinstance(message, dict) and isinstance(message.get(name), str) and message[name]:
            return str(message[name])
    return msgspec.json.encode(message).decode()
