"""The test bench: rule packs with their versions, what one of them would decide, and FEEL expressions by themselves."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.decision import rule_bench_shapes as shape
from penstock.api.forwarding import answered_beside
from penstock.api.problems import finding_body
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.decision import feel_bench, rule_bench

router = APIRouter(tags=["rules"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=200)]
READ = "registry.read"


@router.get("/rule-bench", response_model=shape.PackSummaryPage, summary="Rule packs, and which version is in force")
async def each_pack(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may(READ)
) -> Response:
    page, after = paging.page_of(rule_bench.packs(door), cursor, limit)
    return reply(shape.PackSummaryPage, {"items": page, "next": after})


@router.get("/rule-bench/{id}", response_model=shape.PackDetailOut, summary="One version, with an input to begin with")
async def one_pack(
    id: Id, door: Door, version: Annotated[str | None, Query(max_length=200)] = None, _: Caller = may(READ)
) -> Response:
    return reply(shape.PackDetailOut, rule_bench.pack(door, id, version))


@router.post(
    "/rule-packs/{id}/test", response_model=shape.TrialOut,
    summary="What it decides about an input, against the version in force; nothing is stored",
)  # fmt: skip
@answered_beside
async def try_rule_pack(id: Id, asked: shape.TrialAsked, door: Door, _: Caller = may(READ)) -> Response:
    given = rule_bench.TrialInput(asked.data, asked.context)
    trial = rule_bench.try_input(door, id, given, version=asked.version, draft=asked.draft)
    findings = [finding_body(finding) for finding in trial.findings]
    return reply(shape.TrialOut, {**msgspec.structs.asdict(trial), "findings": findings})


@router.post("/feel", response_model=shape.FeelOut, summary="The value of a FEEL expression, or of unary tests")
@answered_beside
async def evaluate_feel(asked: shape.FeelAsked, door: Door, _: Caller = may(READ)) -> Response:
    if asked.kind == "expression":
        work = partial(feel_bench.try_expression, asked.text, asked.context)
    else:
        work = partial(feel_bench.try_tests, asked.text, asked.value, asked.context)
    return reply(shape.FeelOut, work(now=door.now(), strict=asked.strict))
