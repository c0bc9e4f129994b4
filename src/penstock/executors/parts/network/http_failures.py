"""Which failure an outgoing call ends with: by what was raised, or by the HTTP status of the answer."""

from __future__ import annotations

from typing import Any

from penstock.executors.contract import Failed, failed
from penstock.executors.parts.network.http_call import CallRefused, HttpReply
from penstock.executors.parts.secrets import SecretMissing, Secrets

#: what `http_client.send` and the filling of secrets before it raise
CALL_ERRORS = (SecretMissing, CallRefused, TimeoutError, ConnectionError)


def call_failure(error: Exception, secrets: Secrets, timeout_code: str = "NODE_TIMEOUT") -> Failed:
    """The failure of a call that got no answer; `error` is one of CALL_ERRORS."""
    if isinstance(error, SecretMissing):
        return failed("SECRET_NOT_FOUND", "authorization", str(error))
    message = secrets.scrub_message(str(error))
    if isinstance(error, CallRefused):
        return failed(error.code, error.category, message)
    if isinstance(error, TimeoutError):
        return failed(timeout_code, "timeout", message)
    return failed("CONNECTION_LOST", "transient", message)


def status_failure(reply: HttpReply) -> Failed | None:
    """What a status means for a retry (C-80); None for success."""
    status = reply.status
    if 200 <= status < 300:
        return None
    detail: dict[str, Any] = {"status": status, "body": reply.body[:1024].decode(errors="replace")}
    message = f"{reply.host} answered {status}"
    if status < 400:
        return failed("HTTP_REDIRECT", "permanent", f"{message}; a redirect is followed for GET and HEAD only", detail)
    if status in (401, 403):
        return failed("HTTP_401_403", "authorization", message, detail)
    if status == 429:
        after = reply.headers.get("retry-after", "")
        if after.isascii() and after.isdigit():
            detail["retry_after_s"] = int(after[:9])
        return failed("HTTP_429", "transient", message, detail)
    if status == 408:  # the receiver was too slow, not the request wrong (W-4.5.8)
        return failed("HTTP_408", "transient", message, detail)
    if status < 500:
        return failed("HTTP_4XX", "permanent", message, detail)
    return failed("HTTP_5XX", "external", message, detail)
