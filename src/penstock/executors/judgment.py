"""judgment: a decision about data by rules, by a model, by both, or left to a person (W-4.3, C-51)."""

from __future__ import annotations

import asyncio
import time
from collections import ChainMap
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, cast

import msgspec

from penstock.errors import DocumentInvalid, ExprError, ExprSyntaxError
from penstock.executors.contract import Done, Failed, Outcome, Request, Services, failed
from penstock.executors.parts.deployed_versions import in_use, only_line
from penstock.executors.parts.llm.chat import NoAnswer
from penstock.executors.parts.llm.judgment import ModelVerdict, judge_by_llm
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.rules.evaluate import Judge, RuleFailed, Verdict, compile_pack
from penstock.executors.parts.rules.merging import THRESHOLD, Result, Routing, merge
from penstock.executors.parts.rules.outer_names import rule_names
from penstock.executors.parts.rules.pack import RANK
from penstock.executors.parts.threads import in_thread
from penstock.expr import Expression, compile_expression
from penstock.kernel.failure import Failure

_MANY = 2_000  # conditions over rows; more are asked in a thread, so that the engine's loop goes on


class Policy(msgspec.Struct):
    type: Literal["RULE_ONLY", "LLM_ONLY", "HYBRID", "ESCALATE"]
    rule_pack_id: str | None = None
    rule_pack_version: str | None = None
    llm_config: dict[str, Any] | None = None
    prompt_id: str | None = None
    routing: Routing | None = None


class Audit(msgspec.Struct):
    log_input: bool = True
    log_reasoning: bool = True
    human_review_if: str | bool | None = None


class Args(msgspec.Struct):
    policy: Policy
    data: Any = None
    context: Any = None
    audit: Audit | None = None
    line: str | None = None


class JudgmentExecutor:
    """args: policy, data, context, audit, output. The rules and the model of HYBRID work at the same time."""

    name = "judgment"

    async def run(self, request: Request, services: Services) -> Outcome:
        try:
            args = msgspec.convert(request.args, Args)
            review = _review(args.audit)
        except msgspec.ValidationError as wrong:
            return failed("INPUT_INVALID", "validation", f"The judgment cannot be read: {wrong}.")
        except (ExprSyntaxError, ExprError) as wrong:
            return failed(wrong.code, "validation", f"human_review_if cannot be read: {wrong}")
        request = msgspec.structs.replace(request, line=_line(args, request))
        judge: Judge | None = None
        if args.policy.type in ("RULE_ONLY", "HYBRID"):
            compiled = _compiled_judge(args.policy, request, services)
            if isinstance(compiled, Failed):
                return compiled
            judge = compiled
        meta: dict[str, Any] = {}
        result = await _judge_and_route(args, judge, request, services, meta)
        if isinstance(result, Failed):
            return result
        body = _body(args, judge, result, review, meta, request.names)
        for use in request.used:
            use |= {"decision": body["decision"], "confidence": body["confidence"]}
        if result.escalate:
            return Done(body, meta)  # shape and transform are for what the person decides
        return await finish_output(request, body, meta)


def _line(args: Args, request: Request) -> str:
    """C-82: the line that is judged: as the node says, else its context, the run's input, or the data."""
    context = args.context.get("line_id") if isinstance(args.context, Mapping) else None
    named = context if isinstance(context, str) else ""
    return args.line or named or request.line or only_line(args.data)


def _review(audit: Audit | None) -> Expression | None:
    wanted = audit.human_review_if if audit is not None else None
    text = wanted if isinstance(wanted, str) else "true" if wanted else ""
    return compile_expression(text, words=True) if text.strip() else None


def _compiled_judge(policy: Policy, request: Request, services: Services) -> Judge | Failed:
    if not policy.rule_pack_id:
        return failed("INPUT_INVALID", "validation", f"A policy of type {policy.type} needs a rule_pack_id.")
    tenant = services.tenant(request.tenant) if services.tenant is not None else None
    wanted = (policy.rule_pack_id, request, policy.rule_pack_version)
    body = in_use(tenant, "rule_pack", *wanted) if tenant is not None else None
    if body is None:
        return failed("RULE_PACK_NOT_FOUND", "validation", f"There is no rule pack «{policy.rule_pack_id}».")
    try:
        return compile_pack(body)
    except DocumentInvalid as wrong:
        errors = [str(finding) for finding in wrong.findings if finding.severity == "error"][:20]
        message = f"The rule pack «{policy.rule_pack_id}» has errors: {wrong}"
        return failed("SCHEMA_INVALID", "validation", message, {"findings": errors})


# ---- judging ---------------------------------------------------------------------------------------------------------


async def _judge_and_route(
    args: Args, judge: Judge | None, request: Request, services: Services, meta: dict[str, Any]
) -> Result | Failed:
    """The judgment; a node with `routing` asks a person where it is not sure enough."""
    routing = args.policy.routing
    if args.policy.type == "ESCALATE":
        return Result(Verdict("unknown", 0.0), "human", "The policy leaves the decision to a person.")
    result = await _judge_by_policy(args, judge, request, services, meta)
    if routing is None or isinstance(result, Failed) or result.escalate:
        return result
    if result.verdict.confidence < routing.confidence_threshold:
        result.escalate = f"The confidence {result.verdict.confidence:.2f} is below {routing.confidence_threshold:g}."
    return result


async def _judge_by_policy(
    args: Args, judge: Judge | None, request: Request, services: Services, meta: dict[str, Any]
) -> Result | Failed:
    routing = args.policy.routing
    if judge is None:
        model = await _judge_by_model(args, request, services, meta)
        if isinstance(model, Failure):
            return _no_decision(routing, None, model)
        return Result(model, "llm")
    if args.policy.type == "RULE_ONLY":
        rules = await _judge_by_rules(args, judge, request, services, meta)
        return Failed(rules) if isinstance(rules, Failure) else Result(rules, "rule")
    asking = asyncio.ensure_future(_judge_by_model(args, request, services, meta))
    try:
        await asyncio.sleep(0)  # the question leaves before the rules begin
        rules = await _judge_by_rules(args, judge, request, services, meta)
        model = await asking
    finally:
        asking.cancel()
    if isinstance(rules, Failure):
        return (
            _no_decision(routing, rules, model) if isinstance(model, Failure) else _single_verdict(model, "llm", rules)
        )
    return _single_verdict(rules, "rule", model) if isinstance(model, Failure) else merge(rules, model, routing)


async def _judge_by_rules(
    args: Args, judge: Judge, request: Request, services: Services, meta: dict[str, Any]
) -> Verdict | Failure:
    tenant = services.tenant(request.tenant) if judge.reads and services.tenant is not None else None
    names = rule_names(judge.reads, request, tenant) if judge.reads else request.names
    began = time.perf_counter()
    work = partial(judge.judge, args.data, args.context, names)
    rows = len(args.data) if isinstance(args.data, list) else 1
    try:
        return await in_thread(work) if rows * judge.size > _MANY else work()
    except RuleFailed as wrong:
        detail = {"rule_pack": {"id": judge.id, "version": judge.version}, "rule": wrong.rule}
        return Failure(wrong.code, wrong.category, str(wrong), "", detail)
    finally:
        meta["rule_ms"] = round((time.perf_counter() - began) * 1000, 3)


async def _judge_by_model(args: Args, request: Request, services: Services, meta: dict[str, Any]) -> Verdict | Failure:
    began = time.perf_counter()
    policy = {"llm_config": args.policy.llm_config, "prompt_id": args.policy.prompt_id}
    try:
        verdict: ModelVerdict = await judge_by_llm(policy, args.data, args.context, request, services)
    except NoAnswer as none:
        failure = none.outcome.failure
        if isinstance(failure.detail, Mapping) and "tokens_used" in failure.detail:
            meta["tokens_used"] = failure.detail["tokens_used"]
        return failure
    finally:
        meta["llm_ms"] = round((time.perf_counter() - began) * 1000, 3)
    meta["model"], meta["tokens_used"] = verdict.model, verdict.tokens
    if args.policy.type == "HYBRID":  # a replay with other rules merges them with what the model has said
        meta["llm"] = {"decision": verdict.verdict.decision, "confidence": verdict.verdict.confidence}
    return verdict.verdict


def _single_verdict(verdict: Verdict, by: str, other: Failure) -> Result:
    """One of the two failed: the other's verdict, with what went wrong."""
    return Result(verdict, by, llm_error=other if by == "rule" else None, rule_error=other if by == "llm" else None)


def _no_decision(routing: Routing | None, rules: Failure | None, model: Failure) -> Result | Failed:
    """Nobody could decide: the fallback where there is one. Without rules the model's own failure says more."""
    if routing is not None and (rules is not None or model.category not in ("validation", "authorization")):
        reason = "No automatic decision was possible."
        return Result(Verdict("unknown", 0.0), "human", reason, llm_error=model, rule_error=rules)
    if rules is None:
        return Failed(model)
    message = f"Neither rules nor model could decide. {rules.message} {model.message}"
    detail = {"rule_error": _failure_fields(rules), "llm_error": _failure_fields(model), "tokens_used": _tokens(model)}
    return failed("LLM_ERROR", "external", message, detail)


def _tokens(failure: Failure) -> int:
    return int(failure.detail.get("tokens_used", 0)) if isinstance(failure.detail, Mapping) else 0


# ---- what goes out ---------------------------------------------------------------------------------------------------


def _body(
    args: Args, judge: Judge | None, result: Result, review: Expression | None, meta: dict[str, Any],
    names: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    verdict, routing = result.verdict, args.policy.routing
    threshold = routing.confidence_threshold if routing is not None else THRESHOLD
    body: dict[str, Any] = {
        "decision": verdict.decision if verdict.decision in RANK else "unknown",
        "confidence": verdict.confidence,
        "reasoning": verdict.reasoning,
        "matched_rules": list(verdict.matched_rules),
        "recommendations": list(verdict.recommendations),
        "decided_by": result.decided_by,
        "needs_review": bool(result.escalate) or result.rule_error is not None or verdict.confidence < threshold,
    }
    if verdict.outputs is not None:
        body["outputs"] = verdict.outputs
    if judge is not None:
        body["rule_pack"] = meta["rule_pack"] = {"id": judge.id, "version": judge.version}
    if result.escalate:
        body["escalate"] = {"reason": result.escalate}
    if result.llm_error is not None:
        body["llm_error"] = _failure_fields(result.llm_error)
    if result.rule_error is not None:
        body["rule_error"] = _failure_fields(result.rule_error)
    if review is not None:
        body["needs_review"] = _needs_review(review, body, names, meta) or body["needs_review"]
    audit = args.audit or Audit()
    meta |= {"log_input": audit.log_input, "log_reasoning": audit.log_reasoning}
    if not audit.log_reasoning:
        body["reasoning"] = ""  # what goes out is what is stored
    return body


def _failure_fields(failure: Failure) -> dict[str, str]:
    return {"code": failure.code, "category": failure.category, "message": failure.message}


def _needs_review(review: Expression, body: dict[str, Any], names: Mapping[str, Any], meta: dict[str, Any]) -> bool:
    """Whether somebody should look at it: the verdict's fields come before what the run knows. Where the condition
    cannot be asked, somebody should."""
    try:
        reviewed = review(ChainMap(body, cast(Any, names)))
    except ExprError as wrong:
        meta["review_error"] = str(wrong)
        return True
    return reviewed is True
