"""References of a document to what its tenant does not have: connections, rule packs, templates, roles, people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.app.access.missing_candidates import held_by_users, unheld
from penstock.app.registry.registry import known_to
from penstock.app.releases.documents import check_source, node_types
from penstock.app.simulation.subject import MissingReference
from penstock.errors import Finding
from penstock.lang.compile import check_document
from penstock.net.model import Net

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_RULE = "missing_dependency"  # of every language's check


def missing_references(door: Queries, net: Net, source: Path | bytes) -> list[MissingReference]:
    """As a check of the document finds them. Secrets are left out: they may lie where only the engine looks."""
    held = known_to(door.store, door.tenant)

    def registered(kind: str, name: str) -> bool:
        return kind == "secret" or held(kind, name)

    if isinstance(source, Path):
        _, findings = check_source(source, registered=registered)
    else:
        _, findings = check_document(source, name=net.name, extra=node_types(), registered=registered)
    missing = [finding for finding in findings if finding.rule == _RULE]
    return [_reference(finding) for finding in [*missing, *unheld(net, held_by_users(door))]]


def _reference(finding: Finding) -> MissingReference:
    return MissingReference(finding.node, finding.where.pointer, finding.message, finding.hint)
