"""Commands for deployments: look at them, begin one, pause it, let it go on, take it back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from penstock.app.deployments.definitions import TYPE
from penstock.app.deployments.deployments import Deployments
from penstock.app.deployments.views import DeploymentSummary, DeploymentView, Measured, StageView
from penstock.app.penstock import Penstock
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By, identify
from penstock.cli.options import STORE, Json, Limit, Speed, Store, read_value
from penstock.cli.output import DONE, FAILED, TONES, moment, print_list, print_one, say, store_option
from penstock.errors import BadInput
from penstock.executors.parts.rollout.model import Deployment, DeploymentRequest

Id = Annotated[str, typer.Argument(metavar="ID", help="The deployment: `penstock deployments` lists them.")]
Reason = Annotated[str, typer.Option("--reason", "-m", metavar="TEXT", help="Why.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Drive or follow it until it has ended.")]
_STYLES = {
    "in_progress": TONES["moving"], "paused": TONES["held"], "succeeded": TONES["done"], "failed": TONES["failed"],
    "rolled_back": TONES["undone"],
}  # fmt: skip
_MARKS = {"done": "✓", "now": "▶", "next": "·", "stopped": "✗"}

_LOOK_S = 0.1


def deployments(
    id: Annotated[str | None, typer.Argument(metavar="ID", help="Show this one.")] = None,
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="STATUS", help="Only those: in_progress, paused …")
    ] = None,
    environment: Annotated[str, typer.Option("--environment", metavar="NAME", help="Only those of one.")] = "",
    follow: Follow = False,
    speed: Speed = None,
    limit: Limit = 20,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the deployments, newest first; or show one with its stages, metrics and history."""
    if id is not None and follow:
        return _finish(until_done(_followed(store, id, quiet=json, speed=speed)), json, store)
    with attached(store) as door:
        if id is not None:
            return print_one(door.deployments.get(id), json, msgspec.to_builtins, _print_view)
        rows = door.deployments.each(status=status or (), environment=environment, limit=limit)
    empty = "Nothing was deployed: penstock deploy begin TYPE NAME, or a DEPLOY node does."
    return print_list(rows, json, msgspec.to_builtins, _print_summary, empty=empty)


def begin(
    type: Annotated[
        str, typer.Argument(metavar="TYPE", help="What it is: rule_pack, prompt, model, config or workflow.")
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The id of what is rolled out.")],
    version: Annotated[str | None, typer.Option("--version", metavar="V", help="Else the newest approved.")] = None,
    environment: Annotated[str, typer.Option("--environment", metavar="NAME", help="Else the tenant's own.")] = "",
    line: Annotated[
        list[str] | None, typer.Option("--line", metavar="ID", help="Only for this line; may be there several times.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", metavar="NAME", help="immediate, canary, blue_green or rolling.")
    ] = None,
    how: Annotated[
        str | None,
        typer.Option("--with", metavar="JSON", help="Blocks of a DEPLOY node: strategy, rollback …; JSON or @FILE."),
    ] = None,
    reason: Reason = "",
    by: By = None,
    follow: Follow = False,
    speed: Speed = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Roll out a version: its first stage is live at once, and the process that drives the store moves it on."""
    artifact = {"type": type, "id": name, "version": version}
    asked = _request(artifact, environment, line, strategy, read_value(how, "--with"), reason)

    async def work() -> DeploymentView:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store, create=True, speed=speed)
            door.load_sample()
            if type == TYPE:
                identify(door, by, "definition.activate")
            begun = await door.deployments.begin(asked, by=identify(door, by, "deploy.write"))
            if follow or asked.strategy.type == "immediate" and door.drives:
                await _ended(door, begun.id, quiet=json)
            return door.deployments.get(begun.id)

    return _finish(until_done(work()), json, store)


def _request(
    artifact: dict[str, Any], environment: str, lines: list[str] | None, strategy: str | None, blocks: Any, reason: str
) -> DeploymentRequest:
    """Raises BadInput."""
    given = {} if blocks is None else blocks
    if not isinstance(given, dict):
        raise BadInput(what="--with", why="it is no object", hint='Write \'{"strategy": {"type": "canary"}}\'.')
    unknown = [name for name in given if name not in ("strategy", "rollback", "notification")]
    if unknown:
        raise BadInput(what="--with", why=f"it has «{unknown[0]}»; known are strategy, rollback and notification")
    block = given.get("strategy")
    if block is not None and not isinstance(block, dict):
        hint = 'Write \'{"strategy": {"type": "canary"}}\'.'
        raise BadInput(what="--with", why="its «strategy» is no object", hint=hint)
    if strategy is not None:
        given = {**given, "strategy": {**(block or {}), "type": strategy}}
    target = {"environment": environment, "scope": {"line_ids": lines or None}}
    try:
        return msgspec.convert({**given, "artifact": artifact, "target": target, "reason": reason}, DeploymentRequest)
    except msgspec.ValidationError as error:
        raise BadInput(what="the deployment", why=str(error)) from error


def pause(id: Id, reason: Reason = "", by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Let no stage follow until it is resumed; the share stays."""
    return _move(store, json, id, by, "deploy.pause", lambda kept, who: kept.pause(id, by=who, reason=reason))


def resume(id: Id, reason: Reason = "", by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Let a paused deployment go on."""
    return _move(store, json, id, by, "deploy.pause", lambda kept, who: kept.resume(id, by=who, reason=reason))


def promote(id: Id, reason: Reason = "", by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Begin the next stage now, whatever the criteria say."""
    return _move(store, json, id, by, "deploy.promote", lambda kept, who: kept.promote(id, by=who, reason=reason))


def rollback(
    id: Id,
    to: Annotated[str | None, typer.Option("--to", metavar="V", help="Else the version before.")] = None,
    reason: Reason = "",
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Take a deployment back: what was before applies again at once, or another version."""
    return _move(
        store, json, id, by, "deploy.rollback",
        lambda kept, who: kept.roll_back(id, by=who, reason=reason, to_version=to), to,
    )  # fmt: skip


def _move(
    store: Path, json: bool, id: str, by: str | None, permission: str,
    move: Callable[[Deployments, Any], Awaitable[Deployment]], to: str | None = None,
) -> int:  # fmt: skip
    async def work() -> DeploymentView:
        async with contextlib.AsyncExitStack() as stack:
            door = await driving_or_attached(stack, store)
            if to is not None and door.deployments.get(id).artifact.type == TYPE:
                identify(door, by, "definition.activate")
            await move(door.deployments, identify(door, by, permission))
            return door.deployments.get(id)

    _finish(until_done(work()), json, store)
    return DONE


# ---- following -------------------------------------------------------------------------------------------------------


async def _followed(store: Path, id: str, *, quiet: bool, speed: float | None) -> DeploymentView:
    async with contextlib.AsyncExitStack() as stack:
        door = await driving_or_attached(stack, store, speed=speed)
        await _ended(door, id, quiet=quiet)
        return door.deployments.get(id)


async def _ended(door: Penstock, id: str, *, quiet: bool) -> None:
    """Until it has ended; each change is a line. Where nobody else drives, its run is driven here."""
    shown: tuple[str, int] | None = None
    driven: str | None = None
    while True:
        door.raise_if_stopped()
        deployment = door.deployments.kept.get(id)
        state = deployment.status, deployment.percent
        if state != shown and not quiet:
            at = moment(door.deployments.now(), seconds=False)
            say(f"{at}  ", _status(deployment.status), f"  {deployment.percent} %")
        shown = state
        if deployment.ended:
            return
        if door.drives:
            await door.deployments.watch(id)
        if door.drives and deployment.rollout is not None and driven != deployment.rollout:
            driven = door.go_on(deployment.rollout)
        await asyncio.sleep(_LOOK_S)


# ---- printing --------------------------------------------------------------------------------------------------------


def _finish(view: DeploymentView, json: bool, store: Path) -> int:
    """Prints how it stands; the exit code says whether it was taken back or has failed."""
    print_one(view, json, msgspec.to_builtins, _print_view)
    if not json and view.status == "in_progress":
        say(
            ("  follow it with ", "bright_black"),
            f"penstock deployments {view.deployment_id} --follow",
            store_option(store),
        )
    return FAILED if view.status in ("failed", "rolled_back") else DONE


def _status(status: str) -> tuple[str, str]:
    return status, _STYLES.get(status, "")


def _print_summary(row: DeploymentSummary) -> None:
    versions = f"{row.previous_version} → {row.version}" if row.previous_version else row.version
    say(
        (row.deployment_id, "bold"), f"  {row.artifact.type} {row.artifact.id}  {versions}  ", _status(row.status),
        f"  {row.percent} %",
    )  # fmt: skip
    lines = ", ".join(row.scope.line_ids) if row.scope.line_ids is not None else "all lines"
    ended = f", ended {moment(row.ended_at)}" if row.ended_at is not None else ""
    due = f", next stage {moment(row.next_at)}" if row.next_at is not None else ""
    say(f"  {row.strategy} in {row.environment}, {lines}; since {moment(row.started_at)}{ended}{due}")


def _print_view(view: DeploymentView) -> None:
    _print_summary(view)
    if view.reason is not None:
        say(("  because ", "bright_black"), view.reason.text, f" ({view.reason.by})" if view.reason.by else "")
    for stage in view.stages:
        _print_stage(stage)
    for measured in view.versions:
        _print_measured(measured)
    for warning in view.warnings:
        say(("  warning ", TONES["held"]), warning)
    for event in view.events:
        say((f"  {moment(event.at)} ", "bright_black"), f"{event.percent:3} %  {event.text}", f"  {event.who or ''}")


def _print_stage(stage: StageView) -> None:
    begins = moment(stage.begins_at, seconds=False) if stage.begins_at is not None else "–"
    lines = f"  {', '.join(stage.lines)}" if stage.lines else ""
    counted = f"  {stage.counted} of {stage.total}" if stage.total else ""
    say(f"  {_MARKS[stage.status]} {stage.percent:3} %  {begins}{lines}{counted}")


def _print_measured(measured: Measured) -> None:
    rate = "–" if measured.error_rate is None else f"{measured.error_rate:.2%}"
    p99 = "–" if measured.latency_p99_ms is None else f"{measured.latency_p99_ms} ms"
    score = "" if measured.anomaly_score is None else f", anomaly {measured.anomaly_score:.2f}"
    say(f"  {measured.version} ({measured.role}): {measured.samples} samples, errors {rate}, p99 {p99}{score}")


deploy = {"begin": begin, "pause": pause, "resume": resume, "promote": promote, "rollback": rollback}
