"""Structural checks of a net: everything that can be said at release in near-linear time, with a place and a hint.

A check is a function from `Facts` to findings. Those of the structure come first; while they have errors the others are
not asked, because what they would say about half a graph only confuses.
"""

from __future__ import annotations

from penstock.errors import Finding
from penstock.net.analysis import NetAnalysis
from penstock.net.checks.epochs import epochs
from penstock.net.checks.expressions import expressions
from penstock.net.checks.flow import discriminators, joins, loops
from penstock.net.checks.races import races
from penstock.net.checks.structure import STRUCTURE, unreachable
from penstock.net.model import Net

FLOW = (unreachable, joins, loops, epochs, discriminators, races)


def check(net: Net) -> list[Finding]:
    """Every finding about the net, errors of structure first; an empty list means that there is nothing to say."""
    analysis = NetAnalysis(net)
    findings = [finding for rule in STRUCTURE for finding in rule(analysis)]
    findings += expressions(analysis)
    if not any(f.severity == "error" and f.rule not in ("EXPR_SYNTAX", "EXPR_LIMIT") for f in findings):
        findings += [finding for rule in FLOW for finding in rule(analysis)]
    return findings


__all__ = ["check"]
