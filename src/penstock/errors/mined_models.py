"""What cannot be done with logs and the models that are made of them."""

from __future__ import annotations

from penstock.errors.base import PenstockError


class LogTooLarge(PenstockError, code="PS-413-LOG"):
    """The log has {count} {what} and cannot be made a model of; {limit} are allowed."""

    hint = "Take a shorter period, leave rare activities out, or give some noise that may be left out."


class MinerFailed(PenstockError, code="PS-503-MINER"):
    """pm4py has given no answer: {why}."""

    hint = "Ask with fewer variants or more time; the model and the conformance of Penstock itself need no pm4py."
