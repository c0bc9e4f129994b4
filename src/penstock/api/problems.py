"""One error body for everyone: RFC 9457 problem+json with the house's code, where it is and what to do about it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock.api.bodies import StructBody
from penstock.api.locale import korean
from penstock.errors import DocumentInvalid, Finding, ItemDecided, PenstockError, Place, StoreError
from penstock.errors.korean import error_text, finding_text, problem_text

log = logging.getLogger("penstock.api")

MEDIA = "application/problem+json"
_TITLES = {
    400: "Bad request", 401: "Who are you?", 403: "Not allowed", 404: "Not found", 405: "Method not allowed",
    406: "Not acceptable", 409: "Conflict", 412: "Changed meanwhile", 413: "Too large", 415: "Unsupported media type",
    422: "Not valid", 428: "Condition required", 429: "Too many requests", 500: "Unexpected error",
    503: "Not available", 507: "No room",
}  # fmt: skip
_TITLES_KO = {
    400: "잘못된 요청", 401: "누구세요?", 403: "허락되지 않음", 404: "없음", 405: "할 수 없는 방법",
    406: "줄 수 없는 형식", 409: "맞부딪힘", 412: "그사이에 바뀜", 413: "너무 큼", 415: "받지 않는 형식",
    422: "맞지 않음", 428: "조건이 필요함", 429: "요청이 너무 많음", 500: "뜻밖의 오류", 503: "쓸 수 없음",
    507: "자리가 없음",
}  # fmt: skip
_CODES = {404: "PS-404-ROUTE", 405: "PS-405", 406: "PS-406", 413: "PS-413", 415: "PS-415"}
_RETRY_S = "2"


class Where(StructBody, of=Place, defaults=True):
    """A place in the caller's document."""


class FoundOut(StructBody, of=Finding, defaults=True):
    """One thing a check has to say."""

    where: Where


class DecidedBy(BaseModel):
    """Who closed an item, how and when; nobody, where it ended without a decision."""

    by: str | None
    decision: str | None = Field(examples=["approved", "rejected"])
    at: str = Field(examples=["2026-03-02T09:30:00Z"])


class Problem(BaseModel):
    """What went wrong, for people and programs."""

    type: str = Field(examples=["about:blank"])
    title: str
    status: int
    code: str = Field(examples=["PS-404-RUN"])
    detail: str
    where: str | None = None
    hint: str | None = None
    reason: str | None = None
    state: str | None = None
    findings: list[FoundOut] | None = None
    decided: DecidedBy | None = None
    blocking_tasks: list[str] | None = Field(None, alias="blockingTasks", examples=[["t1"]])
    before: str | None = Field(None, alias="from", examples=["completed"])
    after: str | None = Field(None, alias="to", examples=["pending"])
    position: int | None = Field(None, description="The character of the expression, counted from 1.", examples=[5])
    trace_id: str | None = None


def problem(
    request: Request, status: int, code: str, detail: str, *, hint: str = "", where: str = "", reason: str = "",
    state: str = "", findings: list[Finding] | None = None, decided: Mapping[str, Any] | None = None,
    told: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    titles = _TITLES_KO if korean() else _TITLES
    body: dict[str, Any] = {
        "type": "about:blank", "title": titles.get(status, "Error"), "status": status, "code": code, "detail": detail,
    }  # fmt: skip
    more = {"where": where, "hint": hint, "reason": reason, "state": state}
    body |= {name: value for name, value in more.items() if value}
    if findings is not None:
        body["findings"] = [finding_body(finding) for finding in findings]
    if decided is not None:
        body["decided"] = decided
    body |= told or {}
    trace = getattr(request.state, "trace_id", None)
    if trace:
        body["trace_id"] = trace
    return Response(msgspec.json.encode(body), status, headers=dict(headers or {}), media_type=MEDIA)


def finding_body(finding: Finding) -> dict[str, Any]:
    finding = finding_text(finding) if korean() else finding
    where = finding.where
    return {
        "rule": finding.rule, "severity": finding.severity, "message": finding.message, "hint": finding.hint,
        "where": {"pointer": where.pointer, "line": where.line, "column": where.column},
        "node": finding.node, "category": finding.category,
    }  # fmt: skip


def of_error(request: Request, error: PenstockError) -> Response:
    headers = {}
    if error.http == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, StoreError) and error.passing or "retry_s" in error.facts:
        headers["Retry-After"] = str(error.facts.get("retry_s", _RETRY_S))
    findings = getattr(error, "findings", None)
    decided = {name: error.facts.get(name) or None for name in ("by", "decision", "at")}
    message, hint = error.message, str(error.facts.get("hint") or error.hint)
    if korean():
        message, general = error_text(error)
        hint = f"{general} ({hint})" if error.facts.get("hint") else general
    return problem(
        request, error.http, error.code, message, hint=hint,
        where=error.where, reason=str(error.facts.get("reason") or error.facts.get("why") or ""),
        state=str(error.facts.get("status") or ""), findings=findings,
        decided=decided if isinstance(error, ItemDecided) else None,
        told={name: error.facts[name] for name in error.told if error.facts.get(name) is not None}, headers=headers,
    )  # fmt: skip


def _coded(
    request: Request, status: int, code: str, detail: str, *, hint: str, where: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    """A problem of which there is only a code."""
    message, hint = problem_text(code, detail, hint) if korean() else (detail, hint)
    return problem(request, status, code, message, hint=hint, where=where, headers=headers)


def _of_validation(request: Request, error: RequestValidationError) -> Response:
    """Where in the request it is, as a pointer into the body or the name of a parameter."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    kind, rest = place[0], place[1:]
    if first["type"] == "json_invalid":
        why = str(first.get("ctx", {}).get("error", "it is not JSON"))
        return _coded(request, 400, "PS-400-JSON", f"The body is not JSON: {why}.", hint="Send one JSON value.")
    where = "/" + "/".join(rest) if kind == "body" else f"{kind}:{'.'.join(rest)}"
    detail = f"{where}: {first['msg']}."
    return _coded(request, 422, "PS-422-REQUEST", detail, where=where, hint="The page /api/docs shows what is taken.")


def of_bug(request: Request, error: Exception) -> Response:
    log.error("unexpected error in %s %s", request.method, request.url.path, exc_info=error)
    hint = "Look whether it was done before you send it again, and please report it with the trace id."
    return _coded(request, 500, "PS-500", "Something unexpected went wrong.", hint=hint)


def install(app: FastAPI) -> None:
    @app.exception_handler(PenstockError)
    async def _penstock_error(request: Request, error: PenstockError) -> Response:
        return of_error(request, error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        return _of_validation(request, error)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        code = _CODES.get(error.status_code, f"PS-{error.status_code}")
        detail = str(error.detail) if error.status_code != 404 else f"There is nothing at {request.url.path}."
        hint = "The page /api/docs lists what there is." if error.status_code in (404, 405) else ""
        return _coded(request, error.status_code, code, detail, hint=hint, headers=error.headers)

    @app.exception_handler(Exception)
    async def _bug(request: Request, error: Exception) -> Response:
        return of_bug(request, error)


#: for the OpenAPI document: every response that is not a success has this form
RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "content": {MEDIA: {}}, "description": "What is wrong with the request"},
    "5XX": {"model": Problem, "content": {MEDIA: {}}, "description": "What is wrong with the server"},
}

__all__ = [
    "MEDIA",
    "RESPONSES",
    "DocumentInvalid",
    "Problem",
    "finding_body",
    "install",
    "of_bug",
    "of_error",
    "problem",
]  # fmt: skip
