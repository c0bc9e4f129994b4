"""Every change that a proposal makes has its own words, and the cases that speak for it."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from penstock import sample_tenant
from penstock.app.process.mining.model_diff import model_diff
from penstock.app.process.mining.proposal import propose_model
from penstock.mining.activity_map import activity_map
from penstock.mining.event_logs import read_log
from penstock.sample_tenant.claim_log import claim_log
from tests.conformance.process.make import process, task
from tests.conformance.process.test_mining_models import CHOICE, history

LETTERS = "abcdefgh"
LONG_LINE = process([task(name) for name in LETTERS], [f"{one}>{next}" for one, next in pairwise(LETTERS)])
Planted = tuple[str, tuple[str, ...], int]


def planted(random: Random) -> tuple[dict[tuple[str, ...], int], list[Planted]]:
    """A log of the long line in which some cases do otherwise, and what each of them speaks for."""
    log: dict[tuple[str, ...], int] = {tuple(LETTERS): 500}
    changes: list[Planted] = []
    for number in range(random.randint(1, 4)):
        at, cases, case = random.randrange(1, len(LETTERS) - 2), random.randint(20, 90), list(LETTERS)
        shape = random.choice(["optional", "path_back", "beside", "step_added"])
        names: tuple[str, ...] = (case[at],)
        if shape == "optional":
            del case[at]
        elif shape == "path_back":
            last = random.randrange(at, len(LETTERS) - 1)
            names = (case[at], case[last])
            case[last + 1 : last + 1] = case[at : last + 1]
        elif shape == "beside":
            names = (case[at + 1], case[at])
            case[at], case[at + 1] = case[at + 1], case[at]
        else:
            names = (f"new {number}",)
            case.insert(at, names[0])
        if tuple(case) not in log:
            log[tuple(case)] = cases
            changes.append((shape, names, cases))
    return log, changes


def test_each_change_is_told_as_what_cases_did_with_those_cases() -> None:
    """Console 14.8: a step that was skipped is that step, a way back that way, and the cases are those that did it,
    also where several changes lie beside or inside each other. All are told where the model fits all cases."""
    random, whole = Random(8), 0
    for _ in range(16):
        log, changes = planted(random)
        made = propose_model(LONG_LINE, log)
        diff = model_diff(LONG_LINE, made.definition, log, activity_map(history(log)), steps=made.steps)
        told = [(one.shape, one.activities, one.cases) for one in diff.changes]
        assert set(told) <= set(changes) and len(told) == len(set(told)), (changes, told)
        if diff.model_fit == diff.cases:
            whole += 1
            assert len(told) == len(changes)
        parts = ("activities", "gateways", "events", "transitions")
        old, new = ({e["id"]: e for part in parts for e in one.get(part, ())} for one in (LONG_LINE, made.definition))
        differ = {id for id in {**old, **new} if old.get(id) != new.get(id)}
        assert sorted(differ) == sorted(id for one in diff.changes for id in one.elements)
    assert whole >= 8


@pytest.mark.parametrize("known", [True, False])
def test_the_claims_of_the_sample_change_in_three_ways(known: bool) -> None:
    """Console 14.8, the picture mining-diff: back to the cause, told beside paid with its gateway, nobody drives out;
    also where only the two models are known."""
    base = json.loads((Path(sample_tenant.__file__).parent / "documents" / "claim_handling.json").read_text())
    found = activity_map(read_log(io.BytesIO(claim_log(1_800_000_000_000)), "claims.csv"))
    log = {one.activities: one.cases for one in found.variants}
    made = propose_model(base, log)
    changes = model_diff(base, made.definition, log, found, steps=made.steps if known else ()).changes
    assert [(one.shape, one.activities, one.cases) for one in changes] == [
        ("path_back", ("원인 조사", "책임 판정"), 32), ("beside", ("고객 통보", "보상 처리"), 8),
        ("step_removed", ("현장 방문",), 0),
    ]  # fmt: skip
    assert "granted_gw" in changes[1].elements and "where" in changes[2].elements


def test_another_condition_alone_is_told_by_what_stands_around_it() -> None:
    """Console 14.8: in a model that a person has edited; no case is counted that says nothing of it."""
    edited = deepcopy(CHOICE)
    edited["gateways"][0]["conditions"] = {"b": "x == 2", "default": "c"}
    log = {tuple("abd"): 90, tuple("acd"): 20, tuple("abdd"): 9}
    (change,) = model_diff(CHOICE, edited, log, activity_map(history(log))).changes
    assert (change.shape, change.cases, change.activities) == ("other", 0, ("a", "b", "c"))
    assert change.title == "Other ways around «a», «b», «c»"
