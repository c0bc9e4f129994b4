"""`penstock mine`: maps of what really happened, logs from elsewhere, models that are proposed from them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.access.candidates import id_of
from penstock.app.penstock import Penstock
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.error_words import process_words
from penstock.app.process.mining.discovery import Discovery, Proposal, pending_of
from penstock.app.process.mining.histories.logs import EventLogs, Imported, Reading
from penstock.app.process.mining.histories.maps import Source
from penstock.app.process.mining.model_diff import Change
from penstock.app.process.mining.views.map_drawing import span
from penstock.app.process.mining.views.model_evidence import Evidence, evidence_of
from penstock.app.process.mining.views.overview import MinedLine, MinedMap, Overview, map_body, map_of_file, share
from penstock.app.timestamps import moment
from penstock.cli.default_command import DefaultCommands
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By, Claimed, identify
from penstock.cli.options import STORE, Json, SelectedTenant, Store
from penstock.cli.output import DONE, TONES, print_json, print_list, say
from penstock.cli.process.mined_map import print_map, read_bytes, write_file, write_svg
from penstock.cli.process.second_opinion import ask_pm4py, opinion_body, print_opinion
from penstock.cli.settings import read_settings
from penstock.errors import BadInput
from penstock.host.limits import Limits
from penstock.store.event_logs import EventLogRow

Subject = Annotated[str | None, typer.Argument(metavar="[ID|FILE]", help="A process, a log, or the file of a log.")]
LogOf = Annotated[str | None, typer.Option("--log", metavar="ID|FILE", help="A log instead of the instances.")]
First = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Cases that began at this time or later.")]
Last = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Cases that ended before this time.")]
Svg = Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the map into this file, too.")]
Paths = Annotated[int, typer.Option("--paths", metavar="N", min=1, help="Draw so many paths, the most frequent ones.")]
Discover = Annotated[bool, typer.Option("--discover", help="Propose the model that the history shows; it waits.")]
Noise = Annotated[
    float, typer.Option("--noise", metavar="0..1", min=0, max=0.99, help="Leave rare paths out of the model.")
]
Opinion = Annotated[
    bool, typer.Option("--second-opinion", help="Ask pm4py about the fit, too (extra `mining`); a minute at most.")
]
Pm4pyIn = Annotated[
    str, typer.Option("--pm4py-python", metavar="PYTHON", help="The interpreter that has pm4py, if it is another one.")
]
Save = Annotated[bool, typer.Option("--save", help="Keep the file of the log, as `penstock mine import` does.")]
Of = Annotated[str | None, typer.Option("--process", metavar="ID", help="The process whose cases they are.")]
Columns = Annotated[
    list[str] | None, typer.Option("--column", metavar="WHAT=NAME", help="Of CSV: case, activity, time …; repeatable.")
]
Zone = Annotated[str | None, typer.Option("--zone", metavar="ZONE", help="What times without a zone mean.")]


def show(
    subject: Subject = None, log: LogOf = None, first: First = None, last: Last = None, paths: Paths = 60,
    svg: Svg = None, discover: Discover = False, noise: Noise = 0.0, save: Save = False, column: Columns = None,
    zone: Zone = None, opinion: Opinion = False, pm4py_python: Pm4pyIn = "", by: By = None, json: Json = False,
    store: Store = STORE,
) -> int:  # fmt: skip
    """Draw the map of a process: what follows what, how often, where time is lost, its variants, and how far they fit.
    Without ID or FILE: what there is to look at."""
    if subject is None:
        return _list(json, store)
    asked = _Asked(
        subject, log, _moment(first, "--from"), _moment(last, "--to"), _reading(column, zone), discover, noise, save, by
    )
    mined, proposal = until_done(asked.found(store))
    second = ask_pm4py(mined, pm4py_python) if opinion else None
    if svg is not None:
        write_svg(mined, svg, paths)
    if json:
        body = map_body(mined)
        body |= {} if proposal is None else {"proposed": _proposed(proposal)}
        print_json(body | ({} if second is None else {"second_opinion": opinion_body(second)}))
        return DONE
    print_map(mined, paths)
    if second is not None:
        print_opinion(second, mined)
    if proposal is not None:
        _print_proposal(proposal, mined.source)
    return DONE


class _Asked(msgspec.Struct, frozen=True):
    """What is to be mapped: a process, a log that is kept, or a file; and whether a model is proposed from it."""

    subject: str
    log: str | None
    begin: int | None
    end: int | None
    reading: Reading
    discover: bool
    noise: float
    save: bool
    by: str | None

    @property
    def file(self) -> Path | None:
        names = (name for name in (self.log, self.subject) if name is not None)
        return next((Path(name) for name in names if Path(name).is_file()), None)

    @property
    def process(self) -> str | None:
        """None where only a file is named."""
        return None if self.file is not None and str(self.file) == self.subject else self.subject

    async def found(self, store: Path) -> tuple[MinedMap, Proposal | None]:
        async with contextlib.AsyncExitStack() as stack:
            if self.discover or self.save:
                return await self._kept(await driving_or_attached(stack, store, create=True))
            if self.file is not None and self.process is None:
                limits = Limits(read_settings(store)).of(SelectedTenant.tenant)
                return await asyncio.to_thread(map_of_file, self.file, limits, self.reading, self.begin, self.end), None
            overview = Overview(stack.enter_context(attached(store)))
            if self.file is None:
                return await overview.map(self._source(overview, self.log)), None
            row = Processes(overview.door).get(self.subject)
            limits = overview.maps.logs.limits
            mined = await asyncio.to_thread(map_of_file, self.file, limits, self.reading, self.begin, self.end)
            return await overview.held_against(mined, row), None

    async def _kept(self, door: Penstock) -> tuple[MinedMap, Proposal | None]:
        overview, who, log = Overview(door), identify(door, self.by, "definition.write"), self.log
        subject = self.process
        if self.file is not None:
            data = await asyncio.to_thread(read_bytes, self.file)
            done = await overview.maps.logs.add(
                data, self.file.name, process=subject, reading=self.reading, by=who
            )  # fmt: skip
            log = done.log.id
        source = self._source(overview, log) if subject is not None else overview.maps.source(
            log or "", begin=self.begin, end=self.end
        )  # fmt: skip
        if not self.discover:
            return await overview.map(source), None
        proposal = await Discovery(door).propose(source, by=who or Claimed("cli"), noise=self.noise)
        return await overview.map(source), proposal

    def _source(self, overview: Overview, log: str | None) -> Source:
        return overview.maps.source(self.subject, log=log, begin=self.begin, end=self.end)


def bring(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An event log: XES or CSV, also compressed by gzip.")],
    process: Of = None, name: Annotated[str, typer.Option("--name", metavar="TEXT", help="What to call it.")] = "",
    column: Columns = None, zone: Zone = None, by: By = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Keep an event log of cases that ran elsewhere. Nothing is kept of one that cannot be read."""
    reading = _reading(column, zone)

    async def work() -> Imported:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True)
            who = identify(door, by, "definition.write")
            data = await asyncio.to_thread(read_bytes, file)
            return await EventLogs(door).add(data, name or file.name, process=process, reading=reading, by=who)

    done = until_done(work())
    if json:
        print_json({**_log_json(done.log), "new": done.new, "warnings": [each.message for each in done.findings]})
        return DONE
    _print_log(done.log)
    for finding in done.findings:
        say(("  note ", TONES["held"]), finding.message)
    return DONE


def logs(
    process: Of = None,
    remove: Annotated[str | None, typer.Option("--remove", metavar="ID", help="Throw this one away.")] = None,
    by: By = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """List the event logs that were brought, newest first."""
    with attached(store) as door:
        held = EventLogs(door)
        if remove is not None:
            identify(door, by, "definition.write")
            held.drop(remove)
        listed = held.each(process)
    return print_list(listed, json, _log_json, _print_log, empty="No event log was brought: penstock mine import FILE.")


def diff(
    id: Annotated[str, typer.Argument(metavar="ID", help="The process.")],
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", help="The model; the one that waits.")] = None,
    bpmn: Annotated[Path | None, typer.Option("--bpmn", metavar="FILE", help="Write both as one drawing.")] = None,
    by: By = None, json: Json = False, store: Store = STORE,
) -> int:  # fmt: skip
    """Show what a discovered model would change, with its evidence, and what becomes of running instances."""

    async def work() -> Evidence:
        with attached(store) as door:
            who = identify(door, by, "definition.read")
            found = model or _waiting(door, id)
            user = "" if who is None else id_of(who)
            return await evidence_of(door, id, found, user=user, permissions=getattr(who, "permissions", ()))

    found = until_done(work())
    if bpmn is not None:
        write_file(bpmn, found.merged_bpmn)
    if json:
        print_json(msgspec.to_builtins(found))
    else:
        _print_evidence(found)
    return DONE


def _waiting(door: Penstock, id: str) -> str:
    row = pending_of(door, Processes(door).get(id).name)
    if row is None:
        raise BadInput(what=f"«{id}»", why="no model of it waits", hint="`penstock mine ID --discover` proposes one.")
    return row.name


def _list(json: bool, store: Path) -> int:
    async def work() -> list[MinedLine]:
        with attached(store) as door:
            overview = Overview(door)
            return [line async for line in overview.lines(overview.sources())]

    empty = "There is no history yet: no instance has ended, and no log was brought (penstock mine import FILE)."
    return print_list(until_done(work()), json, msgspec.to_builtins, _print_line, empty=empty)


def _print_line(line: MinedLine) -> None:
    fits = "" if line.fitness is None else f"  {line.fitness:.1%} fit v{line.version}"
    say((f"{line.id:24} ", "bold"), f"{line.cases:,} cases, {line.events:,} events  {span(line.median_case_ms)}{fits}")
    slow = line.bottleneck
    if slow is not None:
        say(("  waits longest for ", "bright_black"), f"{slow.target}: {span(slow.median_wait_ms)}")
    if line.pending_model is not None:
        say(("  a model waits: ", TONES["held"]), f"penstock mine diff {line.id}")


def _proposed(proposal: Proposal) -> dict[str, Any]:
    row = proposal.saved.release
    return {
        "model_id": row.name, "version": row.version, "new": proposal.saved.new, "approval_status": approval_of(row),
        "fitness": share(proposal.conformance), "precision": proposal.conformance.precision,
        "changes": 0 if proposal.diff is None else len(proposal.diff.changes),
    }  # fmt: skip


def _print_proposal(proposal: Proposal, source: Source) -> None:
    row, fits = proposal.saved.release, proposal.conformance
    say()
    say(
        ("proposed ", TONES["held"]), (f"{row.name} v{row.version}", "bold"), f" is {approval_of(row)}: ",
        f"{fits.fitting:,} of {fits.cases:,} cases fit it, precision {fits.precision:.2f}",
    )  # fmt: skip
    if proposal.diff is not None and source.row is not None:
        for change in proposal.diff.changes:
            _print_change(change)
        say((f"  penstock mine diff {source.row.name}", "bright_black"), " shows the evidence; then either of")
        say(f"  penstock process approve {row.name} --into {source.row.name}")
        say(f"  penstock process reject {row.name} --comment TEXT")


def _print_change(change: Change) -> None:
    sign, tone = _SIGNS[change.kind]
    saved = "" if not change.saved_ms_per_week else f", saves {span(change.saved_ms_per_week)} a week"
    say((f"  {sign} ", tone), change.title, (f"  {change.cases:,} cases{saved}", "bright_black"))


def _print_evidence(found: Evidence) -> None:
    say((f"{found.name} ", "bold"), f"v{found.base_version} → {found.model_id} v{found.model_version} ",
        (f"({found.approval_status})", TONES["held"]), f"  {found.algorithm}, {found.cases:,} cases")  # fmt: skip
    for change in found.changes:
        _print_change(change)
        if change.detail:
            say((f"      {change.detail}", "bright_black"))
    replay = found.replay
    say(f"  fit: {replay.base_fit:,} of {replay.cases:,} before, {replay.model_fit:,} after")
    for each in replay.still[:5]:
        rule = ", which is a rule and is not unlearned" if each.rule else ""
        say((f"    still not: {each.title}, {each.cases:,} cases{rule}", "bright_black"))
    if found.saved_ms_per_week:
        say(f"  saves {span(found.saved_ms_per_week)} a week")
    running = found.running
    at = ", ".join(f"{each.activity} {each.count}" for each in running.at)
    say(f"  running: {running.total}, of which {running.can_move} can move ({at or 'none'})")
    for refused in running.cannot:
        say(("    cannot: ", TONES["failed"]), f"{refused.count} because {refused.reason}")


def _log_json(row: EventLogRow) -> dict[str, Any]:
    unsaid = ("tenant", "reading", "body")
    return {name: getattr(row, name) for name in EventLogRow.__struct_fields__ if name not in unsaid}


def _print_log(row: EventLogRow) -> None:
    of = "" if row.process is None else f"  of {row.process}"
    say((f"{row.id} ", "bold"), f"{row.name}  {row.cases:,} cases, {row.events:,} events{of}")


def _reading(columns: list[str] | None, zone: str | None) -> Reading:
    named = {}
    for pair in columns or ():
        what, equals, name = pair.partition("=")
        if not (what and equals and name):
            raise BadInput(what=f"--column «{pair}»", why="it is WHAT=NAME", hint="Write --column case=OrderNo.")
        named[what] = name
    return Reading(named, zone)


def _moment(text: str | None, option: str) -> int | None:
    return None if text is None else moment(text, option)


_SIGNS = {"added": ("+", TONES["done"]), "removed": ("−", TONES["failed"]), "changed": ("~", TONES["held"])}
_COMMANDS: dict[str, Callable[..., int]] = {"show": show, "import": bring, "logs": logs, "diff": diff}
#: several commands under one name; errors have the codes that they have over HTTP
mine = DefaultCommands({name: process_words()(command) for name, command in _COMMANDS.items()})
