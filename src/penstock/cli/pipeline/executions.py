"""Commands that look at executions: list, show one with its stages, and its stage logs."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import typer

from penstock.app.pipeline import executions as view
from penstock.app.pipeline.execution_lists import ExecutionFilter, executions
from penstock.app.pipeline.measures.correlation import correlation
from penstock.app.pipeline.measures.usage import DayUsage
from penstock.app.pipeline.measures.usage import usage as usage_of
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Json, Limit, Store
from penstock.cli.output import DONE, TONES, moment, print_json, print_list, say, short, status_text
from penstock.cli.pipeline.watch import print_line
from penstock.dialects.pipeline.words import EXECUTION
from penstock.errors import BadInput

Id = Annotated[str, typer.Argument(metavar="ID", help="The execution: its id, or a unique beginning of it.")]


def ls(
    status: Annotated[str | None, typer.Option("--status", metavar="STATUS", help="Only those, as FAILED.")] = None,
    code: Annotated[str | None, typer.Option("--pipeline", metavar="CODE", help="Only of this pipeline.")] = None,
    limit: Limit = 20,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List executions, the newest first."""
    if status is not None and status.upper() not in EXECUTION:
        raise BadInput(what="--status", why=f"«{status}» is none", hint=f"Choose one of {', '.join(EXECUTION)}.")
    wanted = ExecutionFilter(status=(status.upper(),) if status is not None else (), pipeline=code)
    with reading(store) as door:
        looks = list(executions(door, wanted, 0, limit))
    return print_list(looks, json, msgspec.to_builtins, print_line, empty="There are no executions.")


def show(id: Id, json: Json = False, store: Store = STORE) -> int:
    """Show an execution: its file, its stages, and why it failed."""
    with reading(store) as door:
        look = view.execution(door, id)
    if json:
        print_json(look)
        return DONE
    say(("execution ", "bright_black"), look.execution_id, "  ", status_text(look.status))
    about = f"{look.pipeline_code} v{look.version}"
    took = f", took {look.duration_ms} ms" if look.duration_ms is not None else ""
    say(("  of ", "bright_black"), (about, "bold"), f", {look.trigger_type} {moment(look.created_at)}{took}")
    if look.file is not None:
        size = f"{look.file.size} bytes"
        say(("  file ", "bright_black"), f"{look.file.bucket}/{look.file.key}", f"  {look.file.mime}, {size}")
    say(("  trace ", "bright_black"), look.trace_id, f"  priority {look.priority}, retries {look.retry_count}")
    for stage in look.stages:
        _print_stage(stage)
    if look.error is not None:
        at = f" at «{look.error_stage}»" if look.error_stage else ""
        say(("  failure ", "bright_black"), (look.error.code, TONES["failed"]), at)
        say(f"    {look.error.message}")
    for warning in look.warnings:
        say(("  warning ", "bright_black"), (str(warning["code"]), TONES["held"]), f"  {warning['stage']}")
    return DONE


def logs(id: Id, json: Json = False, store: Store = STORE) -> int:
    """List the stage logs of an execution, attempt by attempt; what is large is named by its key."""
    with reading(store) as door:
        rows = view.logs(door, id)
    return print_list(rows, json, msgspec.to_builtins, _print_log, empty="No stage has begun.")


def _print_log(log: view.StageLog) -> None:
    at = moment(log.started_at) if log.started_at is not None else ""
    say((f"{at}  attempt {log.attempt}", "bright_black"))
    _print_stage(log)


def _print_stage(stage: view.StageLog) -> None:
    status: Any = status_text(stage.status) if stage.status is not None else ("to come", TONES["idle"])
    took = f"  {stage.duration_ms} ms" if stage.duration_ms is not None else ""
    tries = f"  {stage.retry_count} retries" if stage.retry_count else ""
    say(f"  {stage.sequence_order:3} ", (stage.stage_code, "bold"), f"  {stage.processor_type}  ", status, took, tries)
    if stage.error is not None:
        say(f"      {stage.error.code}: {stage.error.message}")
    if stage.output_ref:
        say((f"      {stage.output_ref}", "bright_black"), f"  {stage.mime or ''} {stage.size or 0} bytes")
    elif stage.output is not None:
        say(("      ", ""), short(stage.output, 160))


def trace(
    id: Annotated[str, typer.Argument(metavar="TRACE", help="A trace id, as `show` has it.")],
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Show everything with one trace id: file, executions, stages, extractions."""
    with reading(store) as door:
        told = correlation(door, id)
    if json:
        print_json(msgspec.to_builtins(told))
        return DONE
    for file in told.files:
        say(("file ", "bright_black"), (f"{file.bucket}/{file.key}", "bold"), f"  {file.mime} {file.size} bytes")
    for look in told.executions:
        say((look.execution_id, "bold"), f"  {look.pipeline_code}  ", status_text(look.status))
        for stage in look.stages:
            status: Any = status_text(stage.status) if stage.status is not None else ("to come", TONES["idle"])
            say(f"  {stage.stage_code}  ", status, (f"  {stage.output_ref or ''}", "bright_black"))
    for each in told.extractions:
        say(f"extraction  {each.stage_code}  {each.extraction_type}  {each.method}  {each.confidence}")
    return DONE


def usage(
    days: Annotated[int, typer.Option("--days", metavar="N", min=1, help="Of the last so many days.")] = 30,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Sum what executions have used, by tenant and day."""
    with reading(store) as door:
        summed = usage_of(door, since=door.now() - days * 86_400_000)
    return print_list(summed, json, msgspec.to_builtins, _print_usage, empty="Nothing was used.")


def _print_usage(day: DayUsage) -> None:
    cost = f"  cost {day.cost:.4f}" if day.cost is not None else ""
    used = f"{day.cpu_ms} ms of processors, {day.bytes_in} bytes in, {day.bytes_out} bytes out"
    failed = f" ({day.failed} failed)" if day.failed else ""
    say((day.day, "bold"), f"  {day.tenant_id}  {day.executions} executions{failed}  {used}{cost}")
