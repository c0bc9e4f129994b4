"""Checks a pipeline definition beyond the kinds of its fields: processors, schemas, retries, actions (F-X.10..14)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.lang.contract import Setting
from penstock.lang.document import child_pointer
from penstock.lang.pipeline.definition import CODE, Definition, Stage
from penstock.lang.pipeline.fields import INT, Action, Channel
from penstock.lang.pipeline.processors import ProcessorType
from penstock.lang.report import Report, did_you_mean
from penstock.lang.schemas import schema_problem

_WEB_ADDRESS = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[^\s/?#\[\]@:]+)(:\d{1,5})?([/?#]\S*)?\Z")
_EXPRESSIONS = ("$expr", "$template")
#: the member that each type of action, and of channel, must have
_ACTION_NEEDS = {"event": "name", "pipeline": "code", "webhook": "url"}
_CHANNEL_NEEDS = {"webhook": "url", "email": "to"}


def check_definition(
    definition: Definition, processors: Mapping[str, ProcessorType], report: Report, setting: Setting
) -> None:
    for stage in definition.stages:
        _check_processor(stage, processors, report)
        _check_config(stage, report)
        for name in ("input_validation", "output_validation"):
            _check_schema(stage, name, report)
    _check_ends(definition, report)
    _check_dependencies(definition, report, setting)
    _check_literal(definition.raw.get("default_params"), "/default_params", report, "")
    _check_type(definition, report)


def _check_processor(stage: Stage, processors: Mapping[str, ProcessorType], report: Report) -> None:
    """F-X.14: an unknown type is refused."""
    name = stage.fields.processor_type
    if name and name not in processors:
        hint = did_you_mean(name, processors, "The reference of pipelines lists the processors.")
        at = child_pointer(stage.pointer, "processor_type")
        report.error("unknown_processor", f"There is no processor «{name}».", at, hint=hint, node=stage.code)


def _check_config(stage: Stage, report: Report) -> None:
    at = child_pointer(stage.pointer, "processor_config")
    _check_literal(stage.fields.processor_config, at, report, stage.code)
    delay = stage.fields.processor_config.get("retry_delay_seconds")
    if delay is not None and (isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= INT):
        message = "«retry_delay_seconds» must be a number of seconds, at least 0."
        where = child_pointer(at, "retry_delay_seconds")
        report.error("wrong_type", message, where, hint="Write a number such as 5.", node=stage.code)


def _check_literal(value: Any, at: str, report: Report, node: str) -> None:
    """What stands in a definition is handed on as it is: nothing of it may look like an expression of the net."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            reserved = next((name for name in _EXPRESSIONS if name in part), None)
            if reserved:
                message = f"A map cannot have the key «{reserved}» here."
                report.error("reserved_key", message, at, hint="Give the key another name.", node=node)
                return
            pending += part.values()
        elif isinstance(part, list):
            pending += part


def _check_schema(stage: Stage, name: str, report: Report) -> None:
    """F-X.10: a JSON Schema, told before the first file comes."""
    schema = getattr(stage.fields, name)
    if schema is None:
        return
    at = child_pointer(stage.pointer, name)
    _check_literal(schema, at, report, stage.code)
    problem = schema_problem(schema)
    if problem is not None:
        pointer, why = problem
        message = f"«{name}» is no JSON Schema: {why}."
        hint = "Correct the schema; references stay inside it, and nothing is fetched."
        report.error("bad_schema", message, at + pointer, hint=hint, node=stage.code)


def _check_ends(definition: Definition, report: Report) -> None:
    """F-X.13: what is done after the end."""
    top = definition.top
    for name in ("success_actions", "failure_actions"):
        for number, action in enumerate(getattr(top, name)):
            _check_target(action, _ACTION_NEEDS, child_pointer(f"/{name}", number), report)
            if action.type == "pipeline" and action.code == top.pipeline_code and name == "success_actions":
                message = f"«{action.code}» would begin itself again after every success."
                hint = "Name another pipeline, or remove the action."
                report.error("pipeline_cycle", message, child_pointer(f"/{name}", number), hint=hint)
    config = top.notification_config
    for number, channel in enumerate(config.channels if config is not None else ()):
        _check_target(channel, _CHANNEL_NEEDS, child_pointer("/notification_config/channels", number), report)


def _check_target(part: Action | Channel, needs: Mapping[str, str], at: str, report: Report) -> None:
    need = needs.get(part.type or "")
    if need is None:
        return None
    value = getattr(part, need)
    if not value:
        message = f"«{need}» is missing."
        return report.error("missing_field", message, at, hint=f"A {part.type} needs `{need}`.")
    where = child_pointer(at, need)
    if need == "url" and not _WEB_ADDRESS.match(value):
        message = "This is no address of the web."
        return report.error("bad_address", message, where, hint="Write http://… or https://….")
    if need == "to" and not all("@" in one for one in ([value] if isinstance(value, str) else value)):
        return report.error("bad_address", "This is no e-mail address.", where, hint="Write name@example.com.")
    if need == "code" and not CODE.match(value):
        message = f"The code «{value}» has characters that a code cannot have."
        return report.error("bad_code", message, where, hint="Use letters, digits, _ . and - only.")
    return None


def _check_dependencies(definition: Definition, report: Report, setting: Setting) -> None:
    """F-X.12: of one document only its own name can be seen; `dependency_cycle` sees all that are kept."""
    top = definition.top
    after = top.dependencies.after if top.dependencies is not None else []
    for number, code in enumerate(after):
        at = child_pointer("/dependencies/after", number)
        if code == top.pipeline_code:
            message = f"«{code}» waits for itself."
            report.error("pipeline_cycle", message, at, hint="Remove it from `after`.")
        elif code in after[:number]:
            report.warning("duplicate_dependency", f"«{code}» is listed twice.", at, hint="Keep one of them.")
        elif setting.registered is not None and not setting.registered("pipeline", code):
            message = f"There is no pipeline «{code}» yet."
            report.warning("missing_dependency", message, at, hint="Define it before files come.")


def _check_type(definition: Definition, report: Report) -> None:
    """F-X.15: a pipeline that is only run by a schedule asks nothing of uploads."""
    top = definition.top
    if top.pipeline_type != "BATCH" and (
        top.configuration.batch_size is not None or top.configuration.batch_window_seconds is not None
    ):
        message = f"«batch_size» and «batch_window_seconds» count for BATCH; this one is {top.pipeline_type}."
        hint = "Set `pipeline_type` to BATCH, or remove them."
        report.warning("idle_field", message, "/configuration", hint=hint)


def dependency_cycle(after: Mapping[str, list[str]]) -> list[str]:
    """The codes of a circle of pipelines that wait for each other, the first one again at the end; [] if there is none.
    `after` says for every pipeline which ones it waits for."""
    done: set[str] = set()
    for root in after:
        path: list[str] = []
        todo: list[tuple[str, bool]] = [(root, False)]
        while todo:
            code, left = todo.pop()
            if left:
                path.pop()
                done.add(code)
                continue
            if code in path:
                return [*path[path.index(code) :], code]
            if code in done:
                continue
            path.append(code)
            todo.append((code, True))
            todo += [(other, False) for other in reversed(after.get(code, []))]
    return []
