"""Roles, groups and users that a document hands work to or lets start it, and nobody here has or is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.access.candidates import targets_of
from penstock.app.access.names import folded
from penstock.app.access.roles import directory
from penstock.errors import Finding
from penstock.net.model import Net, Node

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.store.artifacts import ArtifactRow

#: everything that somebody can act for; None where no users are registered, so that nobody can say
Held = frozenset[str] | None
_HINT = "Give it to somebody: `penstock registry put user ID …`; or correct its name."


def held_by_users(door: Queries) -> Held:
    return _held(directory(door).users)


def held_by_rows(rows: Iterable[ArtifactRow]) -> Held:
    """The same of what is registered, where there is no door."""
    return _held({row.id: msgspec.msgpack.decode(row.body) for row in rows if row.type == "user"})


def _held(users: Mapping[str, Mapping[str, Any]]) -> Held:
    active = {id: body for id, body in users.items() if body.get("active") is not False}
    if not active:
        return None
    named = {f"{kind}:{name}" for body in active.values() for kind in ("role", "group")
             for name in body.get(f"{kind}s") or ()}  # fmt: skip
    people = {f"user:{folded(str(name))}" for id, body in active.items() for name in (id, body.get("email")) if name}
    return frozenset(named | people)


def unheld(net: Net, held: Held) -> list[Finding]:
    """A warning for every target that work goes to and nobody is: it would wait for ever."""
    if held is None:
        return []
    findings: dict[tuple[str, str], Finding] = {}
    for node in net.nodes:
        for targets in _targets(node):
            missing = [target for target in targets if not _is_held(target, held)]
            for target in missing:
                author = node.origin or node.id
                where = net.source_map.get(node.id) or net.source_map.get(author) or Finding("", "", "").where
                finding = Finding("nobody_holds", "warning", _message(target), where, _HINT, author, "semantic")
                findings.setdefault((author, target), finding)
    for target in targets_of(net.declares.policies.get("starters")):
        if not _is_held(target, held):
            finding = Finding("nobody_holds", "warning", _start_message(target), hint=_HINT, category="semantic")
            findings.setdefault(("", target), finding)
    return list(findings.values())


def _targets(node: Node) -> Iterator[list[str]]:
    """The lists of targets of a node that do not depend on a run."""
    work = node.work
    if work is not None:
        prompt = work.prompt if isinstance(work.prompt, Mapping) else {}
        values = [work.candidates, {"targets": prompt.get("approvers")}, *(trigger.value for trigger in node.triggers)]
        for value in values:
            targets = value.get("targets") if isinstance(value, Mapping) else None
            if isinstance(targets, list | tuple):
                yield [target for target in targets if isinstance(target, str)]
    elif node.effect is not None and node.effect.executor == "assign" and isinstance(node.effect.args, Mapping):
        yield [f"role:{node.effect.args.get('role') or node.effect.args.get('role_name')}"]


def _is_held(target: str, held: frozenset[str]) -> bool:
    kind, colon, name = target.partition(":")
    if not colon:
        kind, name = "user" if "@" in target else "role", target
    return f"{kind}:{folded(name) if kind == 'user' else name}" in held


def _start_message(target: str) -> str:
    kind, _, name = target.partition(":")
    if kind == "user":
        return f"There is no user «{name}» here, who may start it."
    return f"Nobody here has the {kind} «{name or target}» and may start it by that."


def _message(target: str) -> str:
    kind, _, name = target.partition(":")
    if kind == "user":
        return f"There is no user «{name}» here, and the work is for nobody else."
    return f"Nobody here has the {kind} «{name or target}»: the work would wait until somebody does."
