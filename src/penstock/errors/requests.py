"""Requests that cannot be answered as they were sent."""

from __future__ import annotations

from penstock.errors.base import PenstockError


class RouteMissing(PenstockError, code="PS-404-ROUTE"):
    """There is nothing here."""

    hint = "The page /api/docs lists what there is."


class QueryUnknown(PenstockError, code="PS-400-QUERY"):
    """«{name}» is not asked for here."""

    hint = "The page /api/docs lists what each route takes."


class BodyUnreadable(PenstockError, code="PS-400-JSON"):
    """The body cannot be read: {why}."""

    hint = "Send one JSON value."


class MediaWrong(PenstockError, code="PS-415-MEDIA"):
    """The body is «{given}», and JSON is taken here."""

    hint = "Send «Content-Type: application/json»."


class IdempotencyConflict(PenstockError, code="PS-409-IDEMPOTENCY"):
    """The idempotency key «{key}» belongs to another request."""

    hint = "Use a key once: another request, or another caller, needs another key."


class RequestRunning(PenstockError, code="PS-409-IN-FLIGHT"):
    """The request with the idempotency key «{key}» is still being worked on."""

    hint = "Send the same request again in a moment; it is done once."


class ChangedMeanwhile(PenstockError, code="PS-412-CHANGED"):
    """{what} was changed meanwhile; it is {now} now."""

    hint = "Look at it as it is now, and do it again."


class BadInput(PenstockError, code="PS-400-INPUT"):
    """{what} cannot be read: {why}."""

    hint = "Correct what is named: a path counts from the folder you are in, a value is JSON."


class ReadsTooMany(PenstockError, code="PS-429-READS"):
    """{count} reads of long runs of this tenant wait already."""

    hint = "Wait as long as Retry-After says; ask for pages, and for one run at a time."


class ReaderFailed(PenstockError, code="PS-503-READER"):
    """The long run could not be read: {why}."""

    hint = "The engine goes on; ask again, or ask for an earlier fact or a smaller page."


class ReaderTimeout(ReaderFailed):
    """The long run could not be read: {why}."""


class BatchesTooMany(PenstockError, code="PS-429-BATCHES"):
    """{count} batches of this tenant are under way already."""

    hint = "Wait until one is over, or cancel one."


class BatchNotFound(PenstockError, code="PS-404-BATCH"):
    """There is no batch «{batch}» here."""

    hint = "`penstock batch ls` and `GET /api/v1/batches` list them; one that is over is kept for 30 days."
