"""Reads a pipeline definition with its stages, and puts the stages into groups (F-1.1, F-1.2, F-X.15)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from penstock.expr import RESERVED_ROOTS
from penstock.lang.contract import Setting
from penstock.lang.document import Document, child_pointer
from penstock.lang.fields import read_fields, read_top, unknown_fields
from penstock.lang.pipeline.fields import PipelineFields, StageFields
from penstock.lang.report import Report

#: a code is part of idempotency keys and of object keys (F-X.16, F-X.18)
CODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z", re.ASCII)
#: conditions name a stage between dots (F-X.9)
STAGE_CODE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\Z", re.ASCII)
#: names that expressions read, which a stage of that name would hide
RESERVED = RESERVED_ROOTS | {"nodes", "default", "undone", "undoing", "now", "config", "counters", "branches", "epoch"}
MOST_STAGES = 500


@dataclass(frozen=True)
class Stage:
    """One stage, with its place in the document."""

    fields: StageFields
    pointer: str

    @property
    def code(self) -> str:
        return self.fields.stage_code

    @property
    def order(self) -> int:
        return self.fields.sequence_order or 0


@dataclass
class Definition:
    """`complete` is false when a stage could not be read. `raw` is the document as it was written."""

    top: PipelineFields
    raw: dict[str, Any] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    complete: bool = True

    @property
    def groups(self) -> list[list[Stage]]:
        return stage_groups(self.stages)


def recognise(data: Any) -> bool:
    return isinstance(data, dict) and "pipeline_code" in data


def read(document: Document, report: Report, setting: Setting) -> Definition:
    """What was written, as far as it can be understood."""
    data = document.data
    if not isinstance(data, dict):
        hint = 'Begin with {"pipeline_code": …, "stages": […]}.'
        report.error("wrong_type", "A pipeline is a map with `pipeline_code` and `stages`.", hint=hint)
        return Definition(PipelineFields(), complete=False)
    top = read_top(PipelineFields, {k: v for k, v in data.items() if k != "$schema"}, ("stages",), report)
    if top.pipeline_code and not CODE.match(top.pipeline_code):
        message = f"The code «{top.pipeline_code}» has characters that a code cannot have."
        report.error("bad_code", message, "/pipeline_code", hint="Use letters, digits, _ . and - only.")
    definition = Definition(top, data)
    written = data.get("stages")
    if not isinstance(written, list) or not written:
        report.error("no_stages", "A pipeline has at least one stage.", "/stages", hint="List them under `stages`.")
        definition.complete = False
        return definition
    if len(written) > MOST_STAGES:
        message = f"A pipeline has at most {MOST_STAGES} stages; here are {len(written)}."
        report.error("too_many_stages", message, "/stages", hint="Divide it: one pipeline can follow another.")
        definition.complete = False
        return definition
    for number, item in enumerate(written):
        _read_stage(item, child_pointer("/stages", number), definition, report)
    if definition.complete and not any(stage.fields.is_active for stage in definition.stages):
        message = "Every stage is switched off."
        report.error("no_stages", message, "/stages", hint="Set `is_active` of at least one stage to true.")
        definition.complete = False
    return definition


def _read_stage(item: Any, at: str, definition: Definition, report: Report) -> None:
    if not isinstance(item, dict):
        definition.complete = False
        return report.error("wrong_type", "A stage is a map.", at, hint="Write its fields in { }.")
    code = item.get("stage_code")
    node = code if isinstance(code, str) else ""
    fields, rest = read_fields(StageFields, item, at, report, node=node)
    unknown_fields(rest, StageFields, at, report, node=node)
    stage = Stage(fields, at)
    where = child_pointer(at, "stage_code")
    if not fields.stage_code:
        definition.complete = False
        return None
    if not STAGE_CODE.match(fields.stage_code):
        message = f"The code «{fields.stage_code}» has characters that the code of a stage cannot have."
        report.error("bad_code", message, where, hint="Use letters, digits, _ and - only.", node=node)
        definition.complete = False
    elif fields.stage_code in RESERVED:
        message = f"A stage cannot be called «{fields.stage_code}»: expressions read it under this name."
        report.error("reserved_name", message, where, hint="Give it another code.", node=node)
        definition.complete = False
    elif any(fields.stage_code == other.code for other in definition.stages):
        message = f"There are two stages «{fields.stage_code}»."
        report.error("duplicate_stage", message, where, hint="Codes are unique in a pipeline.", node=node)
        definition.complete = False
    else:
        definition.stages.append(stage)
    return None


def stage_groups(stages: list[Stage]) -> list[list[Stage]]:
    """F-X.15: active stages of the same `sequence_order`, and neighbours that are all parallel, run side by side."""
    active = sorted((stage for stage in stages if stage.fields.is_active), key=lambda stage: stage.order)
    groups: list[list[Stage]] = []
    for _, same in groupby(active, key=lambda stage: stage.order):
        members = list(same)
        if groups and all(stage.fields.is_parallel for stage in (*groups[-1], *members)):
            groups[-1] += members
        else:
            groups.append(members)
    return groups
