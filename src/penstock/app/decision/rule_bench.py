"""The test bench of rule packs: what a version, or a draft that nobody has saved, would decide about an input.

Nothing is stored and nothing is sent. The same input is judged by the version in force, so that whoever changes a rule
sees what it changes; and the pack's own tests are run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.registry.registry import shown
from penstock.errors import DocumentInvalid, Finding, ThingInvalid, ThingNotFound, TrialTooLarge, VersionMissing
from penstock.executors.contract import Request
from penstock.executors.parts.deployed_versions import only_line
from penstock.executors.parts.rules.evaluate import Judge, RuleFailed, TestResult, Verdict, try_pack
from penstock.executors.parts.rules.outer_names import rule_names
from penstock.executors.parts.rules.pack import Pack, Test, document_of, read_pack
from penstock.host.artifact_versions import version_key
from penstock.host.secrets import places_of
from penstock.host.tenants import StoredTenant, environment_of
from penstock.lang.report import Report

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.store.artifacts import ArtifactRow

PACK = "rule_pack"
#: rows of one input, and conditions over rows that one trial may ask
MOST_ROWS, MOST_CONDITIONS = 1_000, 50_000
#: rules whose reason is worked out; the others that match are named
_EXPLAINED = 50
#: judgments that are looked through for an input to begin with
_LOOKED_AT = 200
_DECISION = re.compile(r"<(?:[\w.-]+:)?decision[\s>]")
#: what is compared with the version in force
_COMPARED = ("decision", "confidence", "reasoning", "recommendations", "matched_rules", "outputs")


class PackVersion(msgspec.Struct, kw_only=True):
    """A version of a rule pack: how large it is, and whether judgments use it."""

    version: str
    status: str
    in_force: bool
    rules: int
    tests: int
    at: int


class PackSummary(msgspec.Struct, kw_only=True):
    """A rule pack in a list; its versions are the newest first."""

    id: str
    name: str
    summary: str
    in_force: str | None
    versions: list[PackVersion]


class FirstInput(msgspec.Struct):
    """An input to begin with, and where it is from: a test of the pack, or a stored judgment."""

    origin: str
    name: str
    data: Any
    context: Any = None


class PackDetail(PackSummary, kw_only=True):
    """A rule pack with the body of one version, and an input to begin with."""

    version: str
    body: dict[str, Any]
    first_input: FirstInput | None


class MatchedRule(msgspec.Struct):
    """A rule that matched, with what it says by itself; None where a model decides as a whole."""

    id: str
    name: str
    decision: str | None = None
    confidence: float | None = None
    reasoning: str = ""


class RuleProblem(msgspec.Struct):
    """Why a pack cannot be applied to this input."""

    code: str
    category: str
    message: str
    rule: str


class Difference(msgspec.Struct):
    field: str
    before: Any
    after: Any


class InForce(msgspec.Struct):
    """What the version in force says of the same input. `same`: it is the version that is tried."""

    version: str
    same: bool
    verdict: Verdict | None
    problem: RuleProblem | None
    differences: list[Difference]


class OwnTest(msgspec.Struct):
    """One of the pack's own tests; `wrong` says what was different."""

    name: str
    ok: bool
    wrong: str
    decision: str | None


class Trial(msgspec.Struct, kw_only=True):
    """What the bench says. `tests_left`: so many tests were too much for one trial."""

    id: str
    version: str
    is_draft: bool
    verdict: Verdict | None
    problem: RuleProblem | None
    matched: list[MatchedRule]
    findings: list[Finding]
    in_force: InForce | None
    tests: list[OwnTest]
    tests_left: int = 0


class TrialInput(msgspec.Struct):
    """The rows, or the value, to be judged; and the context of the judgment."""

    data: Any
    context: Any = None


# ---- what there is ---------------------------------------------------------------------------------------------------


def packs(door: Queries) -> list[PackSummary]:
    """Every rule pack of the tenant, by id."""
    tenant = _tenant(door)
    by_id: dict[str, list[ArtifactRow]] = {}
    for row in door.store.artifacts(door.tenant, PACK):
        by_id.setdefault(row.id, []).append(row)
    return [_summary(tenant, id, by_id[id]) for id in sorted(by_id)]


def pack(door: Queries, id: str, version: str | None = None) -> PackDetail:
    """One of them; None is the version in force, or the newest. Raises ThingNotFound, VersionMissing."""
    rows = _rows(door, id)
    summary = _summary(_tenant(door), id, rows)
    row = _row(rows, id, version or summary.in_force)
    body = shown(row)
    return PackDetail(
        **{name: getattr(summary, name) for name in PackSummary.__struct_fields__},
        version=row.version, body=body, first_input=_first_input(door, id, body),
    )  # fmt: skip


def _summary(tenant: StoredTenant, id: str, rows: Sequence[ArtifactRow]) -> PackSummary:
    applied = tenant.deployed(PACK, id)
    in_force = applied.version if applied is not None else None
    newest_first = sorted(rows, key=lambda row: version_key(row.version), reverse=True)
    bodies = {row.version: msgspec.msgpack.decode(row.body) for row in newest_first}
    named = bodies.get(in_force or "", bodies[newest_first[0].version])
    return PackSummary(
        id=id, name=str(named.get("name") or id), summary=str(named.get("summary") or ""), in_force=in_force,
        versions=[
            PackVersion(
                version=row.version, status=row.status, in_force=row.version == in_force, at=row.at,
                rules=_size(bodies[row.version]), tests=len(bodies[row.version].get("tests") or ()),
            )
            for row in newest_first
        ],
    )  # fmt: skip


def _size(body: Mapping[str, Any]) -> int:
    """How many rules, lines or decisions it has, without compiling it."""
    table, model = body.get("table"), body.get("dmn")
    if isinstance(model, Mapping):
        return len(_DECISION.findall(str(model.get("model"))))
    lines = table.get("rules") if isinstance(table, Mapping) else None
    return len(body.get("rules") or body.get("decisions") or lines or ())


def _first_input(door: Queries, id: str, body: Mapping[str, Any]) -> FirstInput | None:
    """That of the pack's first test; else what the pack was last asked about."""
    tests = body.get("tests")
    first = tests[0] if isinstance(tests, list) and tests else None
    if isinstance(first, Mapping) and isinstance(first.get("input"), Mapping):
        given = first["input"]
        return FirstInput("test", str(first.get("name") or "#1"), given.get("data"), given.get("context"))
    for row in door.store.judgments(door.tenant, since=0, reviews=False, limit=_LOOKED_AT):
        given = msgspec.msgpack.decode(row.body).get("input")
        policy = given.get("policy") if isinstance(given, Mapping) else None
        if isinstance(policy, Mapping) and policy.get("rule_pack_id") == id:
            return FirstInput("judgment", row.run, given.get("data"), given.get("context"))
    return None


def _tenant(door: Queries) -> StoredTenant:
    where = environment_of(door.settings, door.tenant)
    return StoredTenant(door.tenant, door.store, places_of(door.settings), door.now, where)


def _rows(door: Queries, id: str) -> list[ArtifactRow]:
    rows = [row for row in door.store.artifacts(door.tenant, PACK) if row.id == id]
    if not rows:
        raise ThingNotFound(type=PACK, id=id)
    return rows


def _row(rows: Sequence[ArtifactRow], id: str, version: str | None) -> ArtifactRow:
    if version is None:
        return max(rows, key=lambda row: version_key(row.version))
    row = next((row for row in rows if row.version == version), None)
    if row is None:
        raise VersionMissing(type=PACK, id=id, version=version)
    return row


# ---- trying ----------------------------------------------------------------------------------------------------------


def try_input(
    door: Queries, id: str, given: TrialInput, *, version: str | None = None, draft: Mapping[str, Any] | None = None
) -> Trial:
    """The decision about an input by a version (None: the one in force), or by a draft. Raises ThingNotFound,
    VersionMissing, ThingInvalid with all findings of the draft, TrialTooLarge."""
    rows, tenant = _rows(door, id), _tenant(door)
    applied = tenant.deployed(PACK, id, line=only_line(given.data))
    in_force = applied.version if applied is not None else None
    if draft is None:
        row = _row(rows, id, version or in_force)
        tried, body = row.version, msgspec.msgpack.decode(row.body)
    else:
        tried, body = str(draft.get("version") or ""), {**draft, "id": id}
    judge, findings = _compiled(id, body)
    _limit(judge, given.data)
    names = partial(_names, tenant=tenant, at=door.now(), data=given.data)
    verdict, problem = _judged(judge, given, names(judge))
    compared = None
    if applied is not None:
        same = draft is None and tried == in_force
        compared = _against(applied.version, applied.body, given, (verdict, problem), names, same=same)
    tests, left = _own_tests(judge)
    return Trial(
        id=id, version=tried, is_draft=draft is not None, verdict=verdict, problem=problem, findings=findings,
        matched=_matched(judge, body, given, verdict, names), in_force=compared, tests=tests, tests_left=left,
    )  # fmt: skip


def _compiled(id: str, body: Mapping[str, Any]) -> tuple[Judge, list[Finding]]:
    """Compiled for this trial alone: drafts do not push packs that are in force out of their cache."""
    report = Report(document_of(dict(body)))
    try:
        judge = Judge(read_pack(document_of(dict(body)), report), report)
    except RecursionError:
        findings = [Finding("wrong_type", "error", "The pack is nested too deeply.")]
        raise ThingInvalid(findings, what=f"{PACK} «{id}»") from None
    except DocumentInvalid as wrong:
        raise ThingInvalid(wrong.findings, what=f"{PACK} «{id}»") from None
    if any(finding.severity == "error" for finding in report.findings):
        raise ThingInvalid(report.findings, what=f"{PACK} «{id}»")
    return judge, report.findings


def _rows_of(data: Any) -> int:
    return len(data) if isinstance(data, list) else 1


def _limit(judge: Judge, data: Any) -> None:
    rows = _rows_of(data)
    if rows > MOST_ROWS or rows * judge.size > MOST_CONDITIONS:
        raise TrialTooLarge(rows=rows, conditions=judge.size, most_rows=MOST_ROWS, most=MOST_CONDITIONS)


def _names(judge: Judge, *, tenant: StoredTenant, at: int, data: Any) -> Mapping[str, Any]:
    """The clock, the calendar and the configuration, as a judgment of a run reads them."""
    request = Request(key="", tenant=tenant.id, run="", node="", executor="", args=None, at=at, line=only_line(data))
    return rule_names(judge.reads, request, tenant)


def _judged(judge: Judge, given: TrialInput, names: Mapping[str, Any]) -> tuple[Verdict | None, RuleProblem | None]:
    try:
        return judge.judge(given.data, given.context, names), None
    except RuleFailed as wrong:
        return None, RuleProblem(wrong.code, wrong.category, str(wrong), wrong.rule)


def _against(
    version: str, body: Mapping[str, Any], given: TrialInput, tried: tuple[Verdict | None, RuleProblem | None],
    names: Any, *, same: bool,
) -> InForce:  # fmt: skip
    if same:
        return InForce(version, True, *tried, [])
    try:
        judge, _ = _compiled("", body)
    except ThingInvalid as wrong:
        return InForce(version, False, None, RuleProblem("SCHEMA_INVALID", "validation", wrong.message, ""), [])
    _limit(judge, given.data)
    verdict, problem = _judged(judge, given, names(judge))
    return InForce(version, False, verdict, problem, _differences(verdict, tried[0]))


def _differences(before: Verdict | None, after: Verdict | None) -> list[Difference]:
    if before is None or after is None:
        return []
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return [Difference(name, old[name], new[name]) for name in _COMPARED if old[name] != new[name]]


def _matched(
    judge: Judge, body: Mapping[str, Any], given: TrialInput, verdict: Verdict | None, names: Any
) -> list[MatchedRule]:
    """What each rule that matched says when it is asked alone; lines of tables are named."""
    if verdict is None:
        return []
    rules = {rule.id: (rule, index) for index, rule in enumerate(judge.pack.rules)}
    matched = []
    for position, id in enumerate(verdict.matched_rules):
        if id not in rules:
            matched.append(MatchedRule(id, _line_name(judge.pack, id)))
            continue
        rule, index = rules[id]
        said = MatchedRule(id, rule.name or id, rule.decision, rule.confidence)
        if position < _EXPLAINED:
            alone, _ = _compiled("", {**body, "rules": [body["rules"][index]], "tests": []})
            opinion, _ = _judged(alone, given, names(alone))
            said.reasoning = opinion.reasoning if opinion is not None else ""
        matched.append(said)
    return matched


def _line_name(pack: Pack, id: str) -> str:
    """The name of a table's line; its id where it has none."""
    lines = (pack.table or {}).get("rules") or ()
    names = {line.get("id"): line.get("name") for line in lines if isinstance(line, Mapping)}
    return str(names.get(id) or id)


def _own_tests(judge: Judge) -> tuple[list[OwnTest], int]:
    """As many of the pack's tests as fit into one trial, and how many are left."""
    tests: list[Test] = judge.pack.tests
    fitting, cost = 0, 0
    for test in tests:
        cost += _rows_of(test.input.get("data")) * max(judge.size, 1)
        if cost > MOST_CONDITIONS:
            break
        fitting += 1
    return [_own_test(result) for result in try_pack(judge, most=fitting)], len(tests) - fitting


def _own_test(result: TestResult) -> OwnTest:
    decision = result.verdict.decision if result.verdict is not None else None
    return OwnTest(result.name, not result.wrong, result.wrong, decision)
