"""Which activities are controls: what a log shows of them is a deviation, and never a reason to change the process."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Words of approvals and checks in names of activities, Korean and English.
_WORDS = re.compile(
    r"승인|결재|검토|검수|검사|확인|감사|심사|점검"
    r"|\bapprov|\breview|\binspect|\bcheck|\bverif|\baudit|\bsign[ -]?off|\bcontrol",
    re.I,
)


def is_control(activity: Mapping[str, Any]) -> bool:
    """An approval of an agent's draft, named approvers, a decision by rules, or a check by its name. Rather too often
    than not: then a deviation stays a deviation, and a person may still change the process."""
    orchestration = activity.get("orchestration")
    approvers = orchestration.get("approvers") if isinstance(orchestration, Mapping) else None
    rules = activity.get("rule_pack") or activity.get("decision") or activity.get("bpmn") == "businessRuleTask"
    return bool(
        activity.get("agent_mode") == "SUPERVISED" or approvers or rules or _WORDS.search(str(activity.get("name", "")))
    )


def controls_of(definition: Mapping[str, Any]) -> frozenset[str]:
    """The names of its controls."""
    entries = [entry for entry in definition.get("activities") or () if isinstance(entry, Mapping)]
    return frozenset(str(entry.get("name") or entry.get("id")) for entry in entries if is_control(entry))
