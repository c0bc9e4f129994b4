"""Decisions of a DMN model that are not there, or that have no value in strict mode."""

from __future__ import annotations

from penstock.errors.base import PenstockError
from penstock.errors.expressions import ExprError


class DecisionUnknown(PenstockError, code="PS-404-DECISION"):
    """There is no decision «{name}» in «{model}»."""

    hint = "Ask for a decision, a decision service or a business knowledge model by its name or id."


class DecisionNull(ExprError, code="DMN_NULL"):
    """{where}: {why}."""

    hint = "Strict mode fails where the standard gives null. Guard the value, or evaluate without strict."
