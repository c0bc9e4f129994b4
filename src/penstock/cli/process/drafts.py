"""Commands for drawings that are not complete: brought as drafts, answered, released."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from penstock.app.access.candidates import Who
from penstock.app.process.definitions import approval_of
from penstock.app.process.drafts.answers import DraftReply
from penstock.app.process.drafts.drafts import Drafts, ReleasedDraft
from penstock.app.process.drafts.views import Draft, DraftLine
from penstock.app.process.version_writer import Defined
from penstock.app.releases.documents import read_source
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By, identify
from penstock.cli.options import STORE, Json, Store, read_value
from penstock.cli.output import DONE, TONES, finding_json, moment, print_finding, print_json, print_list, say
from penstock.cli.process.draft_asking import asked, print_todo
from penstock.errors import BadInput

T = TypeVar("T")
Id = Annotated[str, typer.Argument(metavar="ID", help="The draft: its id, its beginning, or the id of its process.")]
Key = Annotated[str, typer.Argument(metavar="TODO", help="The to-do: its number, or its key.")]
Unsound = Annotated[bool, typer.Option("--unsound", help="Although not every instance can end.")]
Pending = Annotated[bool, typer.Option("--pending", help="It waits for an approval, although nobody asks for one.")]
_STYLES = {
    "open": TONES["held"], "finished": TONES["done"], "released": TONES["done"], "approved": TONES["done"],
    "pending": TONES["held"], "rejected": TONES["failed"],
}  # fmt: skip


def _done(store: Path, by: str | None, work: Callable[[Drafts, Who | None], Awaitable[T]]) -> T:
    """With the drafts of the store, by whoever writes definitions there."""

    async def run() -> T:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True)
            return await work(Drafts(door), identify(door, by, "definition.write"))

    return until_done(run())


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The drawing: BPMN 2.0 XML, or a definition in JSON.")],
    accept: Annotated[bool, typer.Option("--accept", help="Take all that is proposed.")] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Ask what is missing, one by one.")] = False,
    release: Annotated[bool, typer.Option("--release", help="Release it when nothing is missing.")] = False,
    unsound: Unsound = False,
    pending: Pending = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """Bring a drawing as it is: it is kept as a draft with what is missing before it runs. The same file again is the
    same draft; a changed one takes its place, and keeps the answers."""
    if ask and json:
        raise BadInput(what="--ask", why="there is nobody to ask where --json is read", hint="Leave one of them out.")
    source = read_source(file)

    async def work(drafts: Drafts, who: Who | None) -> tuple[Draft, ReleasedDraft | None]:
        brought = await drafts.bring(source, file=file.name, by=who, accept=accept)
        draft = brought.draft
        if ask:
            draft = await asked(draft, lambda draft, reply: drafts.answer(
                draft.id, [reply], number=draft.number, by=who
            ))  # fmt: skip
        if not json:
            _print(draft)
        if not release:
            return draft, None
        done = await drafts.release(draft.id, number=draft.number, by=who, unsound=unsound, pending=pending)
        return done.draft, done

    draft, done = _done(store, by, work)
    return _released(done, json) if done is not None else _shown(draft, json) if json else DONE


def drafts(json: Json = False, store: Store = STORE) -> int:
    """List the drawings that were brought, those touched last first."""
    with attached(store) as door:
        lines = Drafts(door).each()
    empty = "There is no draft: penstock process import FILE."
    return print_list(lines, json, msgspec.to_builtins, _print_line, empty=empty)


def draft(id: Id, json: Json = False, store: Store = STORE) -> int:
    """Show a draft: what is missing, with proposals, and what was answered."""

    async def work() -> Draft:
        with attached(store) as door:
            return await Drafts(door).get(id)

    return _shown(until_done(work()), json)


def answer(
    id: Id,
    key: Key,
    proposal: Annotated[
        int | None, typer.Option("--proposal", metavar="N", min=1, help="Take this of its proposals, else the first.")
    ] = None,
    given: Annotated[
        str | None, typer.Option("--answer", metavar="JSON", help="An answer of your own: JSON, @FILE, or -.")
    ] = None,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Answer a to-do of a draft: with its proposal, unless an answer is given. What was answered before is answered
    anew."""
    value = read_value(given, "--answer")
    if given is not None and (proposal is not None or not isinstance(value, dict)):
        why = "it is one of --proposal N and --answer JSON, which is an object"
        raise BadInput(what="the answer", why=why, hint="`penstock process draft ID` shows the proposals.")

    async def work(drafts: Drafts, who: Who | None) -> Draft:
        seen = await drafts.get(id)
        reply = DraftReply(_key(seen, key), (proposal or 1) - 1 if given is None else None, value)
        return await drafts.answer(seen.id, [reply], number=seen.number, by=who)

    return _shown(_done(store, by, work), json)


def _key(draft: Draft, key: str) -> str:
    return next((todo.key for todo in draft.todos if str(todo.no) == key), key)


def accept(
    id: Id,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would come of it.")] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Take all that is proposed for a draft."""

    async def work(drafts: Drafts, who: Who | None) -> Draft:
        return await drafts.accept(id, by=who, dry_run=dry_run)

    return _shown(_done(store, by, work), json)


def undo(
    id: Id,
    key: Annotated[str | None, typer.Argument(metavar="[TODO]", help="The to-do; else the last answer.")] = None,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Take an answer back: the last one, or that to one to-do."""

    async def work(drafts: Drafts, who: Who | None) -> Draft:
        seen = await drafts.get(id)
        return await drafts.undo(seen.id, None if key is None else _key(seen, key), number=seen.number, by=who)

    return _shown(_done(store, by, work), json)


def release(
    id: Id, unsound: Unsound = False, pending: Pending = False, by: By = None, json: Json = False, store: Store = STORE
) -> int:
    """Release a finished draft: all its processes in one commit."""

    async def work(drafts: Drafts, who: Who | None) -> ReleasedDraft:
        return await drafts.release(id, by=who, unsound=unsound, pending=pending)

    return _released(_done(store, by, work), json)


def discard(id: Id, by: By = None, store: Store = STORE) -> int:
    """Throw a draft away. What was released of it stays."""

    async def work(drafts: Drafts, who: Who | None) -> None:
        drafts.discard(id)

    _done(store, by, work)
    return DONE


# ---- printing --------------------------------------------------------------------------------------------------------


def _json(draft: Draft) -> dict[str, Any]:
    findings = [finding_json(finding) for finding in draft.findings]
    soundness = [finding_json(finding) for finding in draft.soundness.findings]
    shown: dict[str, Any] = msgspec.to_builtins(draft)
    return {**shown, "findings": findings, "soundness": {**shown["soundness"], "findings": soundness}}


def _shown(draft: Draft, json: bool) -> int:
    if json:
        print_json(_json(draft))
    else:
        _print(draft)
    return DONE


def _released(done: ReleasedDraft, json: bool) -> int:
    if json:
        print_json({"draft": _json(done.draft), "definitions": [_saved(saved) for saved in done.definitions]})
        return DONE
    for saved in done.definitions:
        row, same = saved.release, "" if saved.new else "  the same as before"
        say((f"{row.name} v{row.version} ", "bold"), (approval_of(row), _STYLES[approval_of(row)]), same)
    return DONE


def _saved(saved: Defined) -> dict[str, Any]:
    row = saved.release
    status = {"approval_status": approval_of(row), "status": row.status}
    return {"id": row.name, "version": row.version, **status, "new": saved.new, "diff": saved.diff}


def _print_line(line: DraftLine) -> None:
    missing = f", {line.open} to-do{'' if line.open == 1 else 's'} open" if line.status == "open" else ""
    versions = ", ".join(f"{one.id} v{one.version}" for one in line.released)
    when = f"  {line.file}  {moment(line.updated_at, seconds=False)}"
    status = (line.status, _STYLES[line.status])
    parts = (f"{line.id} ", "bold"), status, missing, f"  {line.name}", (when, "bright_black")
    say(*parts, f"  {versions}" if versions else "")


def _print(draft: Draft) -> None:
    _print_line(draft)
    counts = draft.counts
    drawn = ("pools", counts.pools), ("steps", counts.steps), ("flows", counts.flows), ("messages", counts.messages)
    text = ", ".join(f"{count} {what.removesuffix('s') if count == 1 else what}" for what, count in drawn if count)
    sound = f"{draft.soundness.status}{' with all proposals' if draft.soundness.with_proposals else ''}"
    say(("  drawn ", "bright_black"), f"{text}; {counts.lost} lost; {sound}")
    for todo in draft.todos:
        print_todo(todo)
    for finding in (*draft.findings, *draft.soundness.findings):
        print_finding(finding, Path(draft.file or draft.name))
    if draft.status == "finished":
        say(("  release with ", "bright_black"), f"penstock process release {draft.id}")
    elif "accept" in draft.moves:
        say(("  take what is proposed with ", "bright_black"), f"penstock process accept {draft.id}")


COMMANDS: dict[str, Callable[..., int]] = {
    "import": import_, "drafts": drafts, "draft": draft, "answer": answer, "accept": accept, "undo": undo,
    "release": release, "discard": discard,
}  # fmt: skip
