"""What-if changes of a rule pack (C-59): the baseline with some rules, params or its default changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from typing import Any

#: fields of a rule that a `rule_change` may set; `new_NAME` is accepted for each
RULE_FIELDS = ("threshold", "params", "when", "decision", "confidence", "priority", "enabled", "scope")


class ChangeRefused(Exception):
    """A modification that does not fit the pack; `hint` says what to do."""

    def __init__(self, why: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(why)


def apply_changes(pack: Mapping[str, Any], modifications: Sequence[Any]) -> dict[str, Any]:
    """The pack with all modifications, in their order. Raises ChangeRefused."""
    changed = deepcopy(dict(pack))
    if not modifications:
        raise ChangeRefused("There are no modifications.", "Write what_if.modifications: [{type, rule_id, …}].")
    for index, modification in enumerate(modifications):
        if not isinstance(modification, Mapping):
            raise ChangeRefused(f"Modification {index + 1} is no object.", "Write {type, rule_id, new_threshold}.")
        kind = str(modification.get("type") or "")
        change = CHANGES.get(kind)
        if change is None:
            raise ChangeRefused(f"There is no modification «{kind}».", f"Types are {', '.join(CHANGES)}.")
        change(changed, modification)
    return changed


def _rule(pack: dict[str, Any], modification: Mapping[str, Any]) -> dict[str, Any]:
    wanted = modification.get("rule_id")
    rules = [rule for rule in pack.get("rules") or [] if isinstance(rule, dict)]
    for rule in rules:
        if rule.get("id") == wanted and wanted is not None:
            return rule
    known = [str(rule.get("id")) for rule in rules]
    close = get_close_matches(str(wanted), known, 1)
    hint = f"Did you mean «{close[0]}»?" if close else f"It has: {', '.join(known[:20]) or 'no rules'}."
    raise ChangeRefused(f"The rule pack «{pack.get('id')}» has no rule «{wanted}».", hint)


def _change_rule(pack: dict[str, Any], modification: Mapping[str, Any]) -> None:
    rule = _rule(pack, modification)
    values = {
        name: modification[key] for name in RULE_FIELDS for key in (name, f"new_{name}") if key in modification
    }  # fmt: skip
    if not values:
        hint = f"Write one of new_{', new_'.join(RULE_FIELDS)}."
        raise ChangeRefused(f"The change of rule «{rule.get('id')}» changes nothing.", hint)
    if isinstance(values.get("params"), Mapping):
        values["params"] = {**(rule.get("params") or {}), **values["params"]}
    rule |= values


def _enable(enabled: bool) -> Callable[[dict[str, Any], Mapping[str, Any]], None]:
    def change(pack: dict[str, Any], modification: Mapping[str, Any]) -> None:
        _rule(pack, modification)["enabled"] = enabled

    return change


def _add_rule(pack: dict[str, Any], modification: Mapping[str, Any]) -> None:
    rule = modification.get("rule")
    if not isinstance(rule, Mapping):
        raise ChangeRefused("A rule_add names no rule.", "Write rule: {id, when, decision}.")
    pack["rules"] = [*(pack.get("rules") or []), dict(rule)]


def _remove_rule(pack: dict[str, Any], modification: Mapping[str, Any]) -> None:
    gone = _rule(pack, modification)
    pack["rules"] = [rule for rule in pack["rules"] if rule is not gone]


def _change_param(pack: dict[str, Any], modification: Mapping[str, Any]) -> None:
    name = modification.get("name")
    if not isinstance(name, str) or "value" not in modification:
        raise ChangeRefused("A param_change needs a name and a value.", "Write {type, name, value}.")
    pack["params"] = {**(pack.get("params") or {}), name: modification["value"]}


def _change_default(pack: dict[str, Any], modification: Mapping[str, Any]) -> None:
    values = {name: modification[name] for name in ("decision", "confidence", "reasoning") if name in modification}
    if not values:
        raise ChangeRefused("A default_change changes nothing.", "Write decision, confidence or reasoning.")
    pack["default"] = {**(pack.get("default") or {}), **values}


CHANGES: dict[str, Callable[[dict[str, Any], Mapping[str, Any]], None]] = {
    "rule_change": _change_rule,
    "rule_disable": _enable(False),
    "rule_enable": _enable(True),
    "rule_add": _add_rule,
    "rule_remove": _remove_rule,
    "param_change": _change_param,
    "default_change": _change_default,
}
