"""Requests that cannot be answered as they were sent."""

from __future__ import annotations

from penstock.errors.base import PenstockError


class RouteMissing(PenstockError):
    """There is nothing here."""

    code, http = "PS-404-ROUTE", 404
    hint = "The page /api/docs lists what there is."


class QueryUnknown(PenstockError):
    """«{name}» is not asked for here."""

    code, http = "PS-400-QUERY", 400
    hint = "The page /api/docs lists what each route takes."


class BodyUnreadable(PenstockError):
    """The body cannot be read: {why}."""

    code, http = "PS-400-JSON", 400
    hint = "Send one JSON value."


class MediaWrong(PenstockError):
    """The body is «{given}», and JSON is taken here."""

    code, http = "PS-415-MEDIA", 415
    hint = "Send «Content-Type: application/json»."


class IdempotencyConflict(PenstockError):
    """The idempotency key «{key}» belongs to another request."""

    code, http = "PS-409-IDEMPOTENCY", 409
    hint = "Use a key once: another request, or another caller, needs another key."


class RequestRunning(PenstockError):
    """The request with the idempotency key «{key}» is still being worked on."""

    code, http = "PS-409-IN-FLIGHT", 409
    hint = "Send the same request again in a moment; it is done once."


class ChangedMeanwhile(PenstockError):
    """{what} was changed meanwhile; it is {now} now."""

    code, http = "PS-412-CHANGED", 412
    hint = "Look at it as it is now, and do it again."


class BadInput(PenstockError):
    """{what} cannot be read: {why}."""

    code, http = "PS-400-INPUT", 400
    hint = "Correct what is named: a path counts from the folder you are in, a value is JSON."
