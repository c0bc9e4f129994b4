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
from penstock.executors.parts.rules.names import Computed, Texts
from penstock.executors.parts.rules.pack import RANK, Default, Pack, Rule, Test, document_of, read_pack
from penstock.executors.parts.rules.table import NotAllowed, TableConflict
from penstock.executors.parts.rules.views import Base, Ground
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


class Tried(msgspec.Struct, frozen=True):
    """One of the pack's own tests; `wrong` says what was different, and is empty when it passed."""

    name: str
    wrong: str
    verdict: Verdict | None = None


# ---- rules -----------------------------------------------------------------------------------------------------------


class _Rule:
    """A compiled rule."""

    __slots__ = (
        "computed", "confidence", "counts", "decision", "fixed", "id", "latest_by", "own", "priority", "rank",
        "reads_params", "reads_threshold", "reasoning", "recommendations", "run", "scope", "threshold", "title",
    )  # fmt: skip

    def __init__(self, rule: Rule, index: int, shared: Mapping[str, Any] | None, texts: Texts) -> None:
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
            found
            for place, text in enumerate(rule.recommendations)
            if (found := texts.template(text, f"{at}/recommendations/{place}", rule.id, fields=fields)) is not None
        ]
        self.threshold, self.own = rule.threshold, rule.params
        self.computed = texts.ordered({}, rule.params, at, rule.id)
        self.fixed = {**shared, **rule.params} if shared is not None and not self.computed else None
        told = [found for found in (self.reasoning, *self.recommendations) if found is not None]
        roots = {root for found in told for root in found.roots}
        self.counts = "hits" in roots
        roots |= condition.roots if condition is not None else set()
        self.reads_threshold, self.reads_params = "threshold" in roots, "params" in roots

    def bind(self, views: list[dict[str, Any]], base: Base) -> None:
        """The rule's own names, over whatever the rule before has left."""
        if self.reads_params:
            params = self.fixed if self.fixed is not None else self._params(base)
            for view in views:
                view["params"] = params
        if self.reads_threshold:
            threshold = self.threshold
            for view in views:
                view["threshold"] = _field(view, "threshold") if threshold is None else threshold

    def _params(self, base: Base) -> dict[str, Any]:
        params = {**base["params"], **self.own}
        if self.computed:
            view = Base({**base, "params": params, "threshold": self.threshold}, base.outer)
            for one in self.computed:
                params[one.name] = one.run(view)
        return params

    def hit(self, views: list[dict[str, Any]]) -> tuple[dict[str, Any], int] | None:
        """The first view for which the condition holds, and for how many it does where somebody wants to know."""
        run, first, count = self.run, None, 0
        for view in views:
            found = run(view)
            if found is True:
                if not self.counts:
                    return view, 1
                count += 1
                first = view if first is None else first
            elif found is not False and found is not None:
                raise ExprTypeError(why=f"a condition is true or false, not {kind_of(found)}")
        return None if first is None else (first, count)

    def say(self, view: dict[str, Any], count: int, base: Base) -> _Said:
        if self.reads_threshold or self.reads_params:
            self.bind([view], base)
        if self.counts:
            view["hits"] = count
        reasoning = text_of(self.reasoning.run(view)) if self.reasoning is not None else ""
        wanted = [text_of(one.run(view)) for one in self.recommendations]
        return _Said(self.decision, self.confidence, reasoning or self.title, wanted)


class _Said(NamedTuple):
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
        texts = Texts(report, pack.variables)
        self._computed: list[Computed] = texts.ordered(pack.variables, pack.params)
        shared = None if any(not one.is_variable for one in self._computed) else pack.params
        rules = [_Rule(rule, index, shared, texts) for index, rule in enumerate(pack.rules)]
        self._rules = [one for one, rule in zip(rules, pack.rules, strict=True) if rule.enabled]
        if pack.hit_policy == "priority":
            self._rules.sort(key=lambda rule: -rule.priority)
        self._decisions: Decisions | None = None
        if pack.table is not None or pack.decisions:
            self._decisions = compile_decisions(pack, texts, report)
        self.size = len(rules) if self._decisions is None else self._decisions.size  # conditions that a row may cost

    def judge(self, data: Any, context: Any = None, outer: Mapping[str, Any] = _NOTHING) -> Verdict:
        """What the pack says about the data; raises RuleFailed. `outer` has the run's names, if any."""
        if data is None or (isinstance(data, dict | list | tuple | str) and not data):
            return Verdict("unknown", 0.0, "There is no data to judge.")
        base = self._base(data, context, outer)
        return self._by_rules(base) if self._decisions is None else self._by_decisions(self._decisions, base)

    def _base(self, data: Any, context: Any, outer: Mapping[str, Any]) -> Base:
        base = Base({"data": data, "context": context, "params": self.pack.params}, outer)
        if self._computed:
            base["params"] = dict(self.pack.params)
            for one in self._computed:
                try:
                    value = one.run(base)
                except ExprError as error:
                    raise _failed(error, one.name) from None
                (base if one.is_variable else base["params"])[one.name] = value
        return base

    def _by_rules(self, base: Base) -> Verdict:
        ground = Ground(base["data"], base)
        policy = self.pack.hit_policy
        only_one = policy in ("first", "priority")
        hits: list[tuple[_Rule, dict[str, Any], int]] = []
        rule = None
        try:
            for rule in self._rules:
                views = ground.views(rule.scope, rule.latest_by)
                if rule.reads_threshold or rule.reads_params:
                    rule.bind(views, base)
                found = rule.hit(views)
                if found is not None:
                    hits.append((rule, *found))
                    if only_one:
                        break
            if not hits:
                return self._default(Default())
            top = max([hit[0].rank for hit in hits])
            said = []
            for rule, view, count in hits:
                if policy == "collect" or rule.rank == top:
                    said.append(rule.say(view, count, base))
        except ExprError as error:
            raise _failed(error, rule.id if rule is not None else "") from None
        return _verdict(said, [hit[0].id for hit in hits])

    def _by_decisions(self, decisions: Decisions, base: Base) -> Verdict:
        ground = Ground(base["data"], base)
        said: list[_Said] = []
        matched: dict[str, None] = {}
        outputs: list[Any] = []
        try:
            for view in ground.views(self.pack.scope, ""):
                found, lines = decisions.decide(view)
                outputs.append(found.value)
                matched |= dict.fromkeys(lines)
                names = [line.name for line in found.lines]
                for index, record in enumerate(found.records):
                    if record is not None:
                        said.append(_said(record, names[index] if len(names) == len(found.records) else ""))
        except TableConflict as wrong:
            raise RuleFailed("BUSINESS_TABLE_CONFLICT", "business", f"In this table {wrong}", wrong.lines[0]) from None
        except NotAllowed as wrong:
            raise RuleFailed("INPUT_INVALID", "validation", f"{wrong}.", "") from None
        except ExprError as error:
            raise _failed(error, "") from None
        rows = self.pack.scope == "each" and isinstance(base["data"], list | tuple)
        verdict = _verdict(said, list(matched)) if said else self._default(Default("unknown", 0.0))
        return msgspec.structs.replace(verdict, outputs=outputs if rows else outputs[0])

    def _default(self, otherwise: Default) -> Verdict:
        """A table that says nothing has a hole, so it is unknown; rules that say nothing have found nothing."""
        said = self.pack.default or otherwise
        reasoning = said.reasoning or "No rule matched."
        return Verdict(said.decision, float(said.confidence), reasoning, [], list(said.recommendations))


def _failed(error: ExprError, rule: str) -> RuleFailed:
    code = "UNKNOWN_VARIABLE" if error.code == "unresolved_reference" else error.code
    return RuleFailed(code, error.category, str(error), rule)


def _verdict(said: list[_Said], matched: list[str]) -> Verdict:
    """The gravest decision, as sure as the surest that says it; reasons and recommendations of all that are given."""
    decision = max((one.decision for one in said), key=RANK.__getitem__)
    confidence = max(one.confidence for one in said if one.decision == decision)
    reasons = dict.fromkeys(one.reasoning for one in said if one.reasoning)
    wanted = dict.fromkeys(text for one in said for text in one.recommendations if text)
    return Verdict(decision, float(confidence), "\n".join(reasons), matched, list(wanted))


def _said(record: Any, name: str) -> _Said:
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
    return _Said(known, float(confidence), text_of(fields.get("reasoning")) or name, [text_of(one) for one in listed])


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


def try_pack(judge: Judge) -> list[Tried]:
    """The pack's own tests (C-83), in their order."""
    return [_tried(judge, test, test.name or f"#{index + 1}") for index, test in enumerate(judge.pack.tests)]


def _tried(judge: Judge, test: Test, name: str) -> Tried:
    try:
        verdict = judge.judge(test.input.get("data"), test.input.get("context"))
    except RuleFailed as error:
        return Tried(name, str(error))
    said = msgspec.to_builtins(verdict)
    wrong = [
        f"{field} is {text_of(said.get(field))}, expected {text_of(value)}"
        for field, value in test.expected.items()
        if not equal(said.get(field), value)
    ]
    return Tried(name, "; ".join(wrong), verdict)
