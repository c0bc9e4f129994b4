"""Who may do a work item, and who may start the process: what is not understood is for nobody."""

from __future__ import annotations

import re
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.process.fields import ActivityFields, ProcessRole
from penstock.lang.process.lowering_context import LoweringContext, SharedContext
from penstock.lang.process.nodes.contract import core_id, node_base
from penstock.net.model import Effect, Node

CHOSEN_BY_HOST = ("round_robin", "least_loaded")
INITIATOR = "sys.trigger.initiator"
_NOBODY = "{'type': 'any_of', 'targets': []}"
_TARGET = re.compile(r"(user|role|group):\S")
#: whom a variable names when the item opens
_COMPUTED = re.compile(r"(user|role|group):\s*\$\{(.*)\}\s*\Z", re.S)


def candidates_of(f: ActivityFields, context: LoweringContext) -> tuple[Node | None, Any]:
    """P-X.13: the candidates of a work item, and a node that chooses the user where the rule asks the host to. None:
    nobody is named, so anybody who may work can take it."""
    if f.candidates is not None:
        return None, _named(f, context)
    role = role_of(f, context)
    rule = role.assignment_rule if role is not None else None
    if role is None or not rule:
        return None, None
    if rule == "initiator":
        return None, {"$expr": only_user(INITIATOR)}
    if rule in CHOSEN_BY_HOST:
        args = {"rule": rule, "role": role.id, "role_name": role.name, "activity_id": context.id}
        id = f"{core_id(context.element)}.assign"
        chosen = Node(**node_base(context, id), kind="task", effect=Effect(executor="assign", args=args))
        return chosen, {"$expr": f"fn.if(fn.is_null(assigned.user), {_holders(role)}, {_chosen('assigned.user')})"}
    return None, {"type": "any_of", "targets": [rule]}


def candidates_of_item(f: ActivityFields, context: LoweringContext) -> Any:
    """The candidates of an item before which nothing can be asked: where the host would choose one of a role's people,
    they are all of them."""
    chosen_by_host, candidates = candidates_of(f, context)
    role = role_of(f, context)
    if chosen_by_host is None or role is None:
        return candidates
    return {"type": "any_of", "targets": [f"role:{name}" for name in dict.fromkeys((role.id, role.name)) if name]}


def role_of(f: ActivityFields, context: LoweringContext) -> ProcessRole | None:
    """The role that an activity names by id, by name or by lane; else that of its lane."""
    definition = context.shared.definition
    role_name = f.role or definition.lane_roles.get(context.id)
    if not role_name:
        return None
    lanes = {lane.id: lane.role or lane.name for lane in definition.lanes}
    for name in (role_name, lanes.get(role_name, "")):
        if name in definition.roles:
            return definition.roles[name]
        by_name = [role for role in definition.roles.values() if role.name == name]
        if by_name:
            return by_name[0]
    return None


def targets_of(targets: list[str], path: str, context: LoweringContext) -> list[str]:
    for i, target in enumerate(targets):
        if not _TARGET.match(target):
            hint = "Write user:ID, role:NAME or group:NAME."
            context.error("bad_target", f"«{target}» names nobody.", f"{path}/{i}", hint=hint)
    return list(targets)


# ---- candidates by name ----------------------------------------------------------------------------------------------


def _named(f: ActivityFields, context: LoweringContext) -> Any:
    """Those whom `candidates` names, of which some may be known only when the item opens."""
    known: list[str] = []
    computed: list[str] = []
    for i, text in enumerate(f.candidates or ()):
        match = _COMPUTED.match(text)
        names = _expression(match[2].strip(), f, context) if match else None
        if match and names is not None:
            computed.append(_names(match[1], names))
        elif match is None and is_target(text):
            known.append(text.strip())
        else:
            message = f"Who may do «{context.element.name}» is not understood: «{text}» is for nobody."
            hint = "Write user:ID, role:NAME or group:NAME; or user:${…} with a variable that names the user."
            context.warning("assignment_not_understood", message, f"candidates/{i}", hint=hint)
    if not computed:
        return {"type": "any_of", "targets": known}
    return {"$expr": _any_of([f"[{', '.join(map(_quoted, known))}]", *computed] if known else computed)}


def starters_of(shared: SharedContext) -> dict[str, Any] | None:
    """Who may start the process by hand; None: nothing is said. There are no variables yet that could name somebody."""
    top = shared.definition.top
    for i, text in enumerate(top.starters or ()):
        if not is_target(text):
            message = f"Who may start «{top.process_definition_name}» is not understood: «{text}» is nobody."
            hint = "Write user:ID, role:NAME or group:NAME."
            shared.report.warning("starters_not_understood", message, f"/starters/{i}", hint=hint)
    if top.starters is None:
        return None
    return {"type": "any_of", "targets": [text.strip() for text in top.starters if is_target(text)]}


def is_target(text: str) -> bool:
    """Does it name somebody: user:ID, role:NAME or group:NAME?"""
    return "${" not in text and _TARGET.match(text) is not None and not {"'", '"'} <= set(text)


def _expression(text: str, f: ActivityFields, context: LoweringContext) -> str | None:
    if text == "initiator":
        return INITIATOR
    try:
        compile_expression(text, words=True)
    except PenstockError:
        return None  # another language's, most likely
    item = f.multi.item or "item" if f.multi is not None else "item"
    return context.expression(text, "candidates", item)


# ---- as expressions --------------------------------------------------------------------------------------------------


def _any_of(lists: list[str]) -> str:
    return f"{{'type': 'any_of', 'targets': fn.flatten([{', '.join(lists)}])}}"


def _names(kind: str, expr: str) -> str:
    """The targets that a value names: a text, of several names with commas, or a list. What is neither names nobody."""
    names = f"fn.flatten([fn.if(fn.type_of({expr}) == 'string', fn.split({expr}, ','), {expr})])"
    named = f"fn.filter({names}, t => fn.type_of(t) == 'string' && fn.trim(t) != '')"
    return f"fn.map({named}, t => fn.concat('{kind}:', fn.trim(t)))"


def _chosen(expr: str) -> str:
    return f"{{'type': 'any_of', 'targets': [fn.concat('user:', {expr})]}}"


def only_user(expr: str) -> str:
    """The user that a value names; nobody where it names none."""
    return f"fn.if(fn.is_null({expr}), {_NOBODY}, {_chosen(expr)})"


def _holders(role: ProcessRole) -> str:
    """Nobody has the role now: it is for those who will."""
    names = [_quoted(f"role:{name}") for name in dict.fromkeys((role.id, role.name)) if name]
    return f"{{'type': 'any_of', 'targets': [{', '.join(names)}]}}"


def _quoted(text: str) -> str:
    """Text literals have no escapes; a name with both quotes is nobody's."""
    return f"'{text}'" if "'" not in text else '"' + text.replace('"', "") + '"'
