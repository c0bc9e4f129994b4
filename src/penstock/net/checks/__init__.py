"""Structural checks of a net: everything that can be said at release in near-linear time, with a place and a hint.

A check is a function from `Facts` to findings. Those of the structure come first; while they have errors the others are
not asked, because what they would say about half a graph only confuses.
"""

from __future__ import annotations

from penstock.errors import Finding
from penstock.net.checks.epochs import epochs
from penstock.net.checks.expressions import expressions
from penstock.net.checks.flow import discriminators, joins, loops
from penstock.net.checks.races import races
from penstock.net.checks.structure import STRUCTURE, unreachable
from penstock.net.facts import Facts
from penstock.net.model import Net

FLOW = (unreachable, joins, loops, epochs, discriminators, races)


def check(net: Net) -> list[Finding]:
    """Every finding about the net, errors of structure first; an empty list means that there is nothing to say."""
    facts = Facts(net)
    found = [finding for one in STRUCTURE for finding in one(facts)]
    found += expressions(facts)
    if not any(f.severity == "error" and f.rule not in ("EXPR_SYNTAX", "EXPR_LIMIT") for f in found):
        found += [finding for one in FLOW for finding in one(facts)]
    return found


__all__ = ["check"]
