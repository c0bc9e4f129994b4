"""A definition held against cases: which fit, and what the others have done otherwise (P-7.2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.app.process.mining.controls import controls_of
from penstock.app.process.mining.definition_model import definition_model
from penstock.mining import conformance as of_model
from penstock.mining.conformance import Conformance

Variants = Mapping[tuple[str, ...], int]


def check_conformance(
    definition: Mapping[str, Any], variants: Variants, most: int = of_model.MOST_STATES_IN_ALL
) -> Conformance:
    """`variants`: the names of a case's activities in their order, with how many cases had them. Activities are known
    by their names. Raises DocumentInvalid for a definition that cannot be read."""
    return of_model.conformance(definition_model(definition), variants, most, controls_of(definition))
