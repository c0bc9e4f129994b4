"""Commands for releases: versions of workflows from submission to force."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.access.candidates import Who
from penstock.app.penstock import Penstock
from penstock.app.releases.diff import Change
from penstock.app.releases.releases import ActiveRelease, Releases, document_of
from penstock.app.releases.version_row import version_row
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By, identify
from penstock.cli.options import STORE, Document, Json, SelectedTenant, Store
from penstock.cli.output import (
    DONE,
    TONES,
    finding_json,
    moment,
    print_finding,
    print_json,
    print_list,
    print_one,
    say,
    short,
    store_option,
)
from penstock.cli.settings import read_settings
from penstock.errors import DocumentInvalid
from penstock.store.releases import ReleaseRow

Name = Annotated[str, typer.Argument(metavar="NAME", help="The id of the workflow.")]
OnlyName = Annotated[str | None, typer.Argument(metavar="NAME", help="Only versions of this workflow.")]
Version = Annotated[int, typer.Argument(metavar="VERSION", help="Which version.")]
Old = Annotated[int, typer.Argument(metavar="OLD", help="The older version.")]
New = Annotated[int, typer.Argument(metavar="NEW", help="The newer version.")]
Feedback = Annotated[str, typer.Option("--feedback", "-m", metavar="TEXT", help="What must be changed.")]
SAME = "They are the same but for their version."
_STYLES = {"active": TONES["done"], "pending_approval": TONES["held"], "draft": TONES["held"]}
#: colours of what differs between two versions
CHANGES = {"added": TONES["done"], "removed": TONES["failed"], "changed": TONES["held"]}


@contextlib.contextmanager
def _opened(store: Path) -> Iterator[Releases]:
    """A store that is made where there is none; nothing is driven."""
    door = Penstock(store, drive=False, tenant=SelectedTenant.tenant, settings=read_settings(store)).open()
    try:
        yield Releases(door)
    finally:
        door.close()


def submit(
    file: Document,
    by: By = None,
    summary: Annotated[str | None, typer.Option("--summary", "-m", metavar="TEXT", help="What is new in it.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Check a workflow, give it its version, and ask for its approval. The same document again changes nothing."""
    with _opened(store) as versions:
        try:
            who = identify(versions.door, by, "definition.write")
            done = versions.submit(file, by=who, change_summary=summary)
        except DocumentInvalid as wrong:
            wrong.facts["file"] = str(file)
            raise
    if json:
        findings = [finding_json(finding) for finding in done.findings]
        print_json({**version_row(done.release), "new": done.new, "findings": findings})
        return DONE
    for finding in done.findings:
        print_finding(finding, file, err=True)
    _print(done.release)
    if not done.new:
        say("  it was submitted before")
    _print_next(done.release, store)
    return DONE


#: what comes next for a version
_NEXT = {"draft": "submit FILE", "pending_approval": "approve {0} {1}", "approved": "activate {0} {1}"}


def _print_next(row: ReleaseRow, store: Path) -> None:
    if row.status in _NEXT:
        then = _NEXT[row.status].format(row.name, row.version)
        say(("  go on with ", "bright_black"), f"penstock releases {then}{store_option(store)}")


def _print(row: ReleaseRow) -> None:
    style = _STYLES.get(row.status, "")
    by = f" by {row.created_by}" if row.created_by else ""
    say((f"{row.name} v{row.version} ", "bold"), (row.status, style), f"  {moment(row.created_at)}{by}")
    say(f"  {row.change_summary}")
    if row.feedback:
        say(("  feedback ", "bright_black"), row.feedback)


def ls(name: OnlyName = None, json: Json = False, store: Store = STORE) -> int:
    """List the versions, by workflow, the oldest first."""
    with attached(store) as door:
        rows = Releases(door).each(name)
    return print_list(rows, json, version_row, _print, empty="Nothing was submitted: penstock releases submit FILE.")


def show(
    name: Name,
    version: Annotated[int | None, typer.Argument(metavar="VERSION", help="Else the active one.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Print the document of a version."""
    with attached(store) as door:
        row = Releases(door).get(name, version)
    if json:
        print_json({**version_row(row), "dsl": document_of(row)})
    else:
        say(msgspec.json.format(msgspec.json.encode(document_of(row)), indent=2).decode())
    return DONE


def approve(name: Name, version: Version, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Approve a version that waits for it. It is in force when it is activated."""
    return _change(store, json, lambda versions: versions.approve(name, version, by=_approver(versions, by)))


def _approver(versions: Releases, by: str | None) -> Who | None:
    return identify(versions.door, by, "definition.approve")


def reject(
    name: Name, version: Version, feedback: Feedback, by: By = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Give a version back to its author, with what must be changed."""
    return _change(
        store, json, lambda versions: versions.reject(name, version, by=_approver(versions, by), feedback=feedback)
    )


def activate(name: Name, version: Version, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Put a version in force: the one before is deprecated, and its trigger goes with it. Runs keep their version; dead
    letters whose document asks for it are replayed with the new one."""
    row = until_done(_activate(store, name, version, by))
    if json:
        print_json({**version_row(row), "replayed": row.replayed})
        return DONE
    _print(row)
    for run in row.replayed:
        say(("  replays ", "bright_black"), f"{run}; penstock work{store_option(store)} drives it")
    return DONE


async def _activate(store: Path, name: str, version: int, by: str | None) -> ActiveRelease:
    async with contextlib.AsyncExitStack() as stack:
        door = await driving_or_attached(stack, store)
        return door.releases.activate(name, version, by=identify(door, by, "definition.activate"))


def deprecate(name: Name, version: Version, json: Json = False, store: Store = STORE) -> int:
    """Take a version out of force: its trigger starts nothing any more."""
    return _change(store, json, lambda versions: versions.deprecate(name, version))


def _change(store: Path, json: bool, move: Callable[[Releases], ReleaseRow]) -> int:
    with attached(store) as door:
        row = move(Releases(door))

    def print_row(row: ReleaseRow) -> None:
        _print(row)
        _print_next(row, store)

    return print_one(row, json, version_row, print_row)


def diff(name: Name, old: Old, new: New, json: Json = False, store: Store = STORE) -> int:
    """Show what differs between two versions: nodes, edges, policies and the rest, by their place."""
    with attached(store) as door:
        changes = Releases(door).diff(name, old, new)
    return print_list(changes, json, msgspec.to_builtins, _print_change, empty=SAME)


def _print_change(change: Change) -> None:
    what = f"  {change.what}" if change.what != change.pointer else ""
    values = f"  {short(change.before)} → {short(change.after)}" if change.change == "changed" else ""
    say((f"{change.change:8}", CHANGES[change.change]), f"{change.pointer}{what}{values}")


releases = {
    "submit": submit, "ls": ls, "show": show, "approve": approve, "reject": reject, "activate": activate,
    "deprecate": deprecate, "diff": diff,
}  # fmt: skip
