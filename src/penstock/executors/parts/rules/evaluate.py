"""Judging data by a rule pack: compiled once, then 20 rules in some 20 microseconds.

A rule sees `data`, `context`, `threshold`, `params`, the pack's variables and, for a row, `item` and its fields. What
the pack says comes before what the data says: a row with a field «threshold» changes no rule that has its own. A reason
may also read `hits`, the number of rows that match.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from penstock.errors import DocumentInvalid, ExprError, ExprTypeError, Finding
from penstock.executors.parts.rules.decisions import Decisions, compile_decisions
from penstock.executors.parts.rules.dmn.pack_form import ModelDecisions
from penstock.executors.parts.rules.expressions import Computed, ExpressionCompiler
from penstock.executors.parts.rules.hit_policy import NotAllowed, TableConflict
from penstock.executors.parts.rules.pack import RANK, Default, Pack, Rule, Test, document_of, read_pack
from penstock.executors.parts.rules.views import JudgedData, JudgmentNames
from penstock.expr import equal, kind_of, text_of
from penstock.lang.document import Document
from penstock.lang.report import Report

_KEPT = 256  # compiled packs
_NOTHING: Mapping[str, Any] = {}


class Verdict(msgspec.Struct, frozen=True):
    decision: str
    confidence: float
    reasoning: str = ""
    matched_rules: list[str] = []
    recommendations: list[str] = []
    outputs: Any = None  # of a table or of decisions: the result itself, one per row where there are rows


class RuleFailed(Exception):
    """A rule that cannot be applied to this data: code and category as in the journal, and the rule's id."""

    def __init__(self, code: str, category: str, why: str, rule: str) -> None:
        self.code, self.category, self.rule = code, category, rule
        super().__init__(f"Rule «{rule}»: {why}" if rule else why)


class TestResult(msgspec.Struct, frozen=True):
    """One of the pack's own tests; `wrong` says what was different, and is empty when it passed."""

    name: str
    wrong: str
    verdict: Verdict | None = None


# ---- rules -----------------------------------------------------------------------------------------------------------


class _CompiledRule:
    """A compiled rule."""

    __slots__ = (
        "computed", "confidence", "counts", "decision", "fixed", "id", "latest_by", "own", "priority", "rank",
        "reads_params", "reads_threshold", "reasoning", "recommendations", "run", "scope", "threshold", "title",
    )  # fmt: skip

    def __init__(self, rule: Rule, index: int, shared: Mapping[str, Any] | None, texts: ExpressionCompiler) -> None:
        """`shared` are the pack's params where none of them is computed."""
        at, fields = f"/rules/{index}", rule.scope != "dataset"
        self.id, self.title, self.scope, self.latest_by = rule.id, rule.name or rule.id, rule.scope, rule.latest_by
        self.priority = rule.priority
        self.decision, self.confidence, self.rank = rule.decision, rule.confidence, RANK[rule.decision]
        when = rule.when if isinstance(rule.when, str) else str(rule.when).lower()
        condition = texts.expression(when, f"{at}/when", rule.id, fields=fields) if when else None
        self.run = _never if condition is None else condition.run
        self.reasoning = texts.template(rule.reasoning, f"{at}/reasoning", rule.id, fields=fields)
        self.recommendations = [
            template
            for place, text in enumerate(rule.recommendations)
            if (template := texts.template(text, f"{at}/recommendations/{place}", rule.id, fields=fields)) is not None
        ]
        self.threshold, self.own = rule.threshold, rule.params
        self.computed = texts.ordered({}, rule.params, at, rule.id)
        self.fixed = {**shared, **rule.params} if shared is not None and not self.computed else None
        templates = [template for template in (self.reasoning, *self.recommendations) if template is not None]
        roots = {root for template in templates for root in template.roots}
        self.counts = "hits" in roots
        roots |= condition.roots if condition is not None else set()
        self.reads_threshold, self.reads_params = "threshold" in roots, "params" in roots

    def bind(self, views: list[dict[str, Any]], base: JudgmentNames) -> None:
        """The rule's own names, over whatever the rule before has left."""
        if self.reads_params:
            params = self.fixed if self.fixed is not None else self._params(base)
            for view in views:
                view["params"] = params
        if self.reads_threshold:
            threshold = self.threshold
            for view in views:
                view["threshold"] = _field(view, "threshold") if threshold is None else threshold

    def _params(self, base: JudgmentNames) -> dict[str, Any]:
        params = {**base["params"], **self.own}
        if self.computed:
            view = JudgmentNames({**base, "params": params, "threshold": self.threshold}, base.outer)
            for param in self.computed:
                params[param.name] = param.run(view)
        return params

    def hit(self, views: list[dict[str, Any]]) -> tuple[dict[str, Any], int] | None:
        """The first view for which the condition holds, and for how many it does where somebody wants to know."""
        run, first, count = self.run, None, 0
        for view in views:
            holds = run(view)
            if holds is True:
                if not self.counts:
                    return view, 1
                count += 1
                first = view if first is None else first
            elif holds is not False and holds is not None:
                raise ExprTypeError(why=f"a condition is true or false, not {kind_of(holds)}")
        return None if first is None else (first, count)

    def opinion(self, view: dict[str, Any], count: int, base: JudgmentNames) -> _Opinion:
        if self.reads_threshold or self.reads_params:
            self.bind([view], base)
        if self.counts:
            view["hits"] = count
        reasoning = text_of(self.reasoning.run(view)) if self.reasoning is not None else ""
        wanted = [text_of(template.run(view)) for template in self.recommendations]
        return _Opinion(self.decision, self.confidence, reasoning or self.title, wanted)


class _Opinion(NamedTuple):
    decision: str
    confidence: float
    reasoning: str
    recommendations: list[str]


def _never(view: Mapping[str, Any]) -> Any:
    return False


def _field(view: Mapping[str, Any], name: str) -> Any:
    item = view.get("item")
    return item.get(name) if isinstance(item, dict) else None


# ---- the pack --------------------------------------------------------------------------------------------------------


class Judge:
    """A compiled pack. It keeps nothing between judgments and may be used by many threads at once."""

    def __init__(self, pack: Pack, report: Report) -> None:
        self.id, self.version, self.pack = pack.id, str(pack.version), pack
        texts = ExpressionCompiler(report, pack.variables)
        self._computed: list[Computed] = texts.ordered(pack.variables, pack.params)
        shared = None if any(not compiled.is_variable for compiled in self._computed) else pack.params
        rules = [_CompiledRule(rule, index, shared, texts) for index, rule in enumerate(pack.rules)]
        self._rules = [compiled for compiled, rule in zip(rules, pack.rules, strict=True) if rule.enabled]
        if pack.hit_policy == "priority":
            self._rules.sort(key=lambda rule: -rule.priority)
        self._decisions: Decisions | ModelDecisions | None = None
        if pack.table is not None or pack.decisions or pack.dmn is not None:
            self._decisions = compile_decisions(pack, texts, report)
        self.reads = frozenset(texts.reads)
        self.size = len(rules) if self._decisions is None else self._decisions.size  # conditions that a row may cost

    def judge(self, data: Any, context: Any = None, outer: Mapping[str, Any] = _NOTHING) -> Verdict:
        """What the pack says about the data; raises RuleFailed. `outer` has the run's names, if any."""
        if data is None or (isinstance(data, dict | list | tuple | str) and not data):
            return Verdict("unknown", 0.0, "There is no data to judge.")
        base = self._base(data, context, outer)
        return self._by_rules(base) if self._decisions is None else self._by_decisions(self._decisions, base)

    def _base(self, data: Any, context: Any, outer: Mapping[str, Any]) -> JudgmentNames:
        base = JudgmentNames({"data": data, "context": context, "params": self.pack.params}, outer)
        if self._computed:
            base["params"] = dict(self.pack.params)
            for computed in self._computed:
                try:
                    value = computed.run(base)
                except ExprError as error:
                    raise _failed(error, computed.name) from None
                (base if computed.is_variable else base["params"])[computed.name] = value
        return base

    def _by_rules(self, base: JudgmentNames) -> Verdict:
        ground = JudgedData(base["data"], base)
        policy = self.pack.hit_policy
        only_one = policy in ("first", "priority")
        hits: list[tuple[_CompiledRule, dict[str, Any], int]] = []
        rule = None
        try:
            for rule in self._rules:
                views = ground.views(rule.scope, rule.latest_by)
                if rule.reads_threshold or rule.reads_params:
                    rule.bind(views, base)
                matched = rule.hit(views)
                if matched is not None:
                    hits.append((rule, *matched))
                    if only_one:
                        break
            if not hits:
                return self._default(Default())
            top = max([hit[0].rank for hit in hits])
            opinions = []
            for rule, view, count in hits:
                if policy == "collect" or rule.rank == top:
                    opinions.append(rule.opinion(view, count, base))
        except ExprError as error:
            raise _failed(error, rule.id if rule is not None else "") from None
        return _verdict(opinions, [hit[0].id for hit in hits])

    def _by_decisions(self, decisions: Decisions | ModelDecisions, base: JudgmentNames) -> Verdict:
        ground = JudgedData(base["data"], base)
        opinions: list[_Opinion] = []
        matched: dict[str, None] = {}
        outputs: list[Any] = []
        try:
            for view in ground.views(self.pack.scope, ""):
                result, lines = decisions.decide(view)
                outputs.append(result.value)
                matched |= dict.fromkeys(lines)
                names = [line.name for line in result.lines]
                for index, record in enumerate(result.records):
                    if record is not None:
                        opinions.append(_opinion(record, names[index] if len(names) == len(result.records) else ""))
        except TableConflict as wrong:
            raise RuleFailed("BUSINESS_TABLE_CONFLICT", "business", f"In this table {wrong}", wrong.lines[0]) from None
        except NotAllowed as wrong:
            raise RuleFailed("INPUT_INVALID", "validation", f"{wrong}.", "") from None
        except ExprError as error:
            raise _failed(error, "") from None
        rows = self.pack.scope == "each" and isinstance(base["data"], list | tuple)
        verdict = _verdict(opinions, list(matched)) if opinions else self._default(Default("unknown", 0.0))
        return msgspec.structs.replace(verdict, outputs=outputs if rows else outputs[0])

    def _default(self, otherwise: Default) -> Verdict:
        """A table that says nothing has a hole, so it is unknown; rules that say nothing have found nothing."""
        default = self.pack.default or otherwise
        reasoning = default.reasoning or "No rule matched."
        return Verdict(default.decision, float(default.confidence), reasoning, [], list(default.recommendations))


def _failed(error: ExprError, rule: str) -> RuleFailed:
    code = "UNKNOWN_VARIABLE" if error.code == "unresolved_reference" else error.code
    return RuleFailed(code, error.category, str(error), rule)


def _verdict(opinions: list[_Opinion], matched: list[str]) -> Verdict:
    """The gravest decision, as sure as the surest that says it; reasons and recommendations of all that are given."""
    decision = max((opinion.decision for opinion in opinions), key=RANK.__getitem__)
    confidence = max(opinion.confidence for opinion in opinions if opinion.decision == decision)
    reasons = dict.fromkeys(opinion.reasoning for opinion in opinions if opinion.reasoning)
    wanted = dict.fromkeys(text for opinion in opinions for text in opinion.recommendations if text)
    return Verdict(decision, float(confidence), "\n".join(reasons), matched, list(wanted))


def _opinion(record: Any, name: str) -> _Opinion:
    """What a line of a table says: outputs by their names, or the first one as the decision."""
    fields = {str(key).lower(): value for key, value in record.items()} if isinstance(record, dict) else {}
    decision = fields.get("decision", next(iter(fields.values()), None)) if fields else record
    confidence = fields.get("confidence")
    confidence = 1.0 if confidence is None else confidence
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise RuleFailed("EXPR_TYPE", "validation", "The output «confidence» must be a number from 0 to 1.", "")
    wanted = fields.get("recommendations", fields.get("recommendation"))
    listed = wanted if isinstance(wanted, list) else [] if wanted is None else [wanted]
    known = decision if isinstance(decision, str) and decision in RANK else "unknown"
    return _Opinion(
        known, float(confidence), text_of(fields.get("reasoning")) or name, [text_of(text) for text in listed]
    )


# ---- reading, checking, trying ---------------------------------------------------------------------------------------


_judges: dict[tuple[str, str, bytes], Judge] = {}


def check_pack(body: Any) -> list[Finding]:
    """Everything there is to say about a pack: a plain body, or a Document, whose places then have lines."""
    return _built(document_of(body))[1]


def compile_pack(body: Any) -> Judge:
    """The compiled pack; the same id, version and content is compiled once. Raises DocumentInvalid."""
    data = body.data if isinstance(body, Document) else dict(body) if isinstance(body, Mapping) else body
    try:
        digest = hashlib.blake2b(msgspec.json.encode(data), digest_size=16).digest()
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        raise DocumentInvalid([Finding("wrong_type", "error", "The pack is not plain data.")]) from None
    named = data if isinstance(data, Mapping) else {}
    key = (str(named.get("id")), str(named.get("version")), digest)
    if (kept := _judges.get(key)) is not None:
        return kept
    judge, findings = _built(document_of(body))
    if any(finding.severity == "error" for finding in findings):
        raise DocumentInvalid(findings)
    while len(_judges) >= _KEPT:
        _judges.pop(next(iter(_judges)), None)
    _judges[key] = judge
    return judge


def _built(document: Document) -> tuple[Judge, list[Finding]]:
    report = Report(document)
    return Judge(read_pack(document, report), report), report.findings


def try_pack(judge: Judge, most: int | None = None) -> list[TestResult]:
    """The pack's own tests (C-83), in their order; `most`: only so many."""
    tests = judge.pack.tests[:most]
    return [_run_test(judge, test, test.name or f"#{index + 1}") for index, test in enumerate(tests)]


def _run_test(judge: Judge, test: Test, name: str) -> TestResult:
    try:
        verdict = judge.judge(test.input.get("data"), test.input.get("context"))
    except RuleFailed as error:
        return TestResult(name, str(error))
    fields = msgspec.to_builtins(verdict)
    wrong = [
        f"{field} is {text_of(fields.get(field))}, expected {text_of(value)}"
        for field, value in test.expected.items()
        if not equal(fields.get(field), value)
    ]
    return TestResult(name, "; ".join(wrong), verdict)
