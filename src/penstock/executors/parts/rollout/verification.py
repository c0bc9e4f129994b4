"""Verifies that a version of an artifact works (C-83): its health in every line, and a smoke test.

A health check loads and validates the version and lets it answer once for each line of a scope. A smoke test runs the
artifact's own tests and its newest stored inputs. Nothing of it leaves the machine: no model is asked, nothing is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from penstock.errors import DocumentInvalid, PenstockError
from penstock.executors.contract import Tenant
from penstock.executors.parts.json_schema import schema_failure
from penstock.executors.parts.rollout.model import Deployment
from penstock.executors.parts.rules.evaluate import RuleFailed, Verdict, compile_pack, try_pack
from penstock.executors.parts.rules.pack import DECISIONS, RANK
from penstock.executors.parts.simulation.history import PastJudgment
from penstock.executors.parts.threads import in_thread
from penstock.expr import compile_template, equal, text_of

#: C-83: so many stored inputs are tried.
STORED_INPUTS = 20
_LOOKED_AT = 2000  # judgments, for those of one artifact
_LINE = "line."  # begins the name of an asset that is a line


class Probe(msgspec.Struct, frozen=True):
    """One question that a version was asked; `problem` is empty where it has answered."""

    check: str  # health_check, smoke_test
    name: str
    ok: bool
    problem: str = ""


class ProbeFailed(Exception):
    """Why a version does not answer."""


#: What a version answers to data and context. Raises ProbeFailed.
Answer = Callable[[Any, Any], Mapping[str, Any]]


class Candidate(msgspec.Struct, frozen=True):
    """A version that is verified, and where it is to work; `lines` None: in all that the tenant has."""

    type: str
    id: str
    version: str
    lines: Sequence[str] | None = None


async def check_health(deployment: Deployment, tenant: Tenant, at: int) -> list[Probe]:
    """The health of a deployment's version in the lines of its scope."""
    candidate = Candidate(deployment.artifact_type, deployment.artifact_id, deployment.version, deployment.lines)
    return await health_check(candidate, tenant, at)


def problems_of(probes: Iterable[Probe]) -> str:
    """What is wrong, in one text; empty where nothing is."""
    return "; ".join(f"{probe.name}: {probe.problem}" for probe in probes if not probe.ok)


async def health_check(candidate: Candidate, tenant: Tenant, at: int) -> list[Probe]:
    """One probe for every line; a version that cannot be loaded answers none of them."""
    return await in_thread(_health, _load(candidate, tenant, at))


async def smoke_test(candidate: Candidate, tenant: Tenant, at: int) -> list[Probe]:
    """The artifact's own tests, and the newest inputs that it was asked with."""
    return await in_thread(_smoke, _load(candidate, tenant, at))


class _Loaded(msgspec.Struct, frozen=True):
    """What a verification needs of the tenant, which is asked on the engine's loop alone."""

    candidate: Candidate
    body: Mapping[str, Any]
    answer: Answer | ProbeFailed  # how it answers, or why it cannot be loaded
    lines: list[str]
    past: list[PastJudgment]


def _load(candidate: Candidate, tenant: Tenant, at: int) -> _Loaded:
    lines = _lines(candidate, tenant)
    if candidate.type == "workflow":  # it was checked when it was released, and is not asked here
        return _Loaded(candidate, {}, lambda data, context: {}, lines, [])
    body = tenant.find(candidate.type, candidate.id, candidate.version)
    if body is None:
        missing = ProbeFailed(f"there is no version {candidate.version} of it that is approved")
        return _Loaded(candidate, {}, missing, lines, [])
    try:
        answer: Answer | ProbeFailed = _ANSWERS[candidate.type](body, tenant)
    except ProbeFailed as wrong:
        answer = wrong
    return _Loaded(candidate, body, answer, lines, _past(candidate, tenant, at))


def _health(loaded: _Loaded) -> list[Probe]:
    probes = []
    for line in loaded.lines:
        newest = next((judgment for judgment in loaded.past if line in ("", judgment.line)), None)
        data, context = (newest.data, newest.context) if newest is not None else ([], None)
        known = {**(context if isinstance(context, Mapping) else {}), **({"line_id": line} if line else {})}
        probes.append(_probe("health_check", f"line {line}" if line else "all lines", loaded.answer, data, known))
    return probes


def _smoke(loaded: _Loaded) -> list[Probe]:
    stored = [
        _probe("smoke_test", f"stored {judgment.judgment}", loaded.answer, judgment.data, judgment.context)
        for judgment in loaded.past
    ]
    return [*_own_tests(loaded), *stored]


def _probe(
    check: str, name: str, answer: Answer | ProbeFailed, data: Any, context: Any, expected: Mapping[str, Any] = {}
) -> Probe:
    if isinstance(answer, ProbeFailed):
        return Probe(check, name, False, str(answer))
    try:
        answered = answer(data, context)
    except ProbeFailed as wrong:
        return Probe(check, name, False, str(wrong))
    different = [
        f"{field} is {text_of(answered.get(field))}, expected {text_of(value)}"
        for field, value in expected.items()
        if not equal(answered.get(field), value)
    ]
    return Probe(check, name, not different, "; ".join(different))


def _lines(candidate: Candidate, tenant: Tenant) -> list[str]:
    """The lines of the scope; "" stands for all of them where the tenant has none by name."""
    if candidate.lines is not None:
        return list(candidate.lines)
    return sorted(name.removeprefix(_LINE) for name in tenant.each("aas") if name.startswith(_LINE)) or [""]


def _past(candidate: Candidate, tenant: Tenant, at: int) -> list[PastJudgment]:
    """The newest judgments that the artifact took part in."""
    judged = tenant.judged(0, at + 1, limit=_LOOKED_AT)
    return list(islice((past for past in judged if past.used(candidate.type, candidate.id)), STORED_INPUTS))


# ---- what a version answers ------------------------------------------------------------------------------------------


def _rule_pack(body: Mapping[str, Any], tenant: Tenant) -> Answer:
    try:
        judge = compile_pack(body)
    except DocumentInvalid as wrong:
        raise ProbeFailed(f"it has errors: {wrong}") from None

    def answer(data: Any, context: Any) -> Mapping[str, Any]:
        try:
            return _checked(judge.judge(data, context))
        except RuleFailed as wrong:
            raise ProbeFailed(str(wrong)) from None

    return answer


def _checked(verdict: Verdict) -> Mapping[str, Any]:
    if verdict.decision not in RANK or not 0 <= verdict.confidence <= 1:
        raise ProbeFailed(f"its verdict is none: {verdict.decision}, {verdict.confidence}")
    fields: Mapping[str, Any] = msgspec.to_builtins(verdict)
    return fields


def _prompt(body: Mapping[str, Any], tenant: Tenant) -> Answer:
    schema = body.get("output_schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if schema and not (isinstance(properties, Mapping) and {"decision", "confidence"} <= set(properties)):
        raise ProbeFailed("its output_schema has no decision and no confidence")
    unusable = schema_failure({}, schema, "SCHEMA_INVALID") if schema else None
    if unusable is not None and not unusable.failure.detail:
        raise ProbeFailed(unusable.failure.message)
    texts = {name: body[name] for name in ("system", "user") if isinstance(body.get(name), str)}
    if not texts:
        raise ProbeFailed("it has neither «system» nor «user»")

    def answer(data: Any, context: Any) -> Mapping[str, Any]:
        names = {"data": data, "context": context, "decisions": ", ".join(DECISIONS)}
        try:
            return {name: text_of(compile_template(text)(names)) for name, text in texts.items()}
        except PenstockError as wrong:
            raise ProbeFailed(f"it cannot be rendered: {wrong}") from None

    return answer


def _model(body: Mapping[str, Any], tenant: Tenant) -> Answer:
    """Read, and not asked: a call costs money."""
    connection = body.get("connection")
    if connection is not None and tenant.find("connection", str(connection)) is None:
        raise ProbeFailed(f"there is no connection «{connection}»")
    for name, kinds in (("model", str), ("temperature", int | float), ("max_tokens", int)):
        value = body.get(name)
        if value is not None and (not isinstance(value, kinds) or isinstance(value, bool)):
            raise ProbeFailed(f"«{name}» is {text_of(value)}")
    return lambda data, context: body


def _config(body: Mapping[str, Any], tenant: Tenant) -> Answer:
    return lambda data, context: body


_ANSWERS: dict[str, Callable[[Mapping[str, Any], Tenant], Answer]] = {
    "rule_pack": _rule_pack, "prompt": _prompt, "model": _model, "config": _config,
}  # fmt: skip


# ---- the artifact's own tests ----------------------------------------------------------------------------------------


def _own_tests(loaded: _Loaded) -> list[Probe]:
    candidate, body, answer = loaded.candidate, loaded.body, loaded.answer
    if isinstance(answer, ProbeFailed):
        return [Probe("smoke_test", "load", False, str(answer))]
    if candidate.type == "rule_pack":
        results = try_pack(compile_pack(body))
        return [Probe("smoke_test", f"test {test.name}", not test.wrong, test.wrong) for test in results]
    probes = []
    tests = body.get("tests")
    for number, test in enumerate(tests if isinstance(tests, list) else [], 1):
        name = f"test {test.get('name') or f'#{number}'}" if isinstance(test, Mapping) else f"test #{number}"
        given = test.get("input") if isinstance(test, Mapping) else None
        expected = test.get("expected") if isinstance(test, Mapping) else None
        if not isinstance(expected, Mapping):
            probes.append(Probe("smoke_test", name, False, "it has no «expected»"))
            continue
        asked = given if isinstance(given, Mapping) else {}
        probes.append(_probe("smoke_test", name, answer, asked.get("data"), asked.get("context"), expected))
    return probes
