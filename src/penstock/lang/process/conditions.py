"""Which condition a transition has (P-X.9): written in three places, meant once; and the default (P-X.10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.lang.document import child_pointer
from penstock.lang.process.schema import Element, Flow
from penstock.lang.report import did_you_mean

if TYPE_CHECKING:
    from penstock.lang.process.lowering_context import Shared

DEFAULT = "default"


@dataclass
class Choice:
    """The condition of every way out that has one, and the way that is taken when none holds."""

    conditions: dict[str, tuple[str, str]] = field(default_factory=dict)  # flow → text, pointer
    default: str = ""


def unwrapped(text: str) -> str:
    """The expression inside an optional ${…}."""
    inner = text.strip()
    return inner[2:-1].strip() if inner.startswith("${") and inner.endswith("}") and "${" not in inner[2:] else inner


def choice_of(element: Element, shared: Shared) -> Choice:
    """Of a gateway or an activity: conditions by transition id, else by the branch's label, else on the transition."""
    found = Choice()
    flows = shared.graph.outs[element.id]
    gateway = element.gateway
    written: dict[str, Any] = dict(gateway.conditions) if gateway is not None else {}
    used: set[str] = set()
    for flow in flows:
        given = [(key, written[key]) for key in _keys(flow, shared) if key in written and key != DEFAULT]
        used |= {key for key, _ in given}
        texts = [(value, child_pointer(f"{element.pointer}/conditions", key)) for key, value in given]
        if flow.fields.condition is not None:
            texts.append((flow.fields.condition, f"{flow.pointer}/condition"))
        _keep(flow, texts, found, element, shared)
    _strangers(element, written, used, shared)
    _set_default(element, flows, written, found, shared)
    return found


def _keys(flow: Flow, shared: Shared) -> list[str]:
    """What a branch is called: its id, its label, and the name of what it leads to."""
    target = shared.definition.elements[flow.fields.target]
    return list(dict.fromkeys(one for one in (flow.id, flow.fields.name, target.id, target.fields.name) if one))


def _keep(flow: Flow, texts: list[tuple[Any, str]], found: Choice, element: Element, shared: Shared) -> None:
    plain: list[tuple[str, str]] = []
    for text, at in texts:
        if isinstance(text, bool):
            text = "true" if text else "false"
        if isinstance(text, str) and text.strip():
            plain.append((unwrapped(text), at))
        elif text is not None and not isinstance(text, str):
            hint = 'Write the condition as a text: `"has_issue == true"`.'
            shared.report.error("wrong_type", "A condition is a text.", at, hint=hint, node=element.id)
    if not plain:
        return
    if any(_squeezed(text) != _squeezed(plain[0][0]) for text, _ in plain[1:]):
        message = f"The transition «{flow.id}» has two conditions that differ: «{plain[0][0]}» and «{plain[1][0]}»."
        hint = "Write it in one place: at the gateway, or at the transition."
        shared.report.error("condition_conflict", message, plain[1][1], hint=hint, node=element.id)
    found.conditions[flow.id] = plain[0]


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _strangers(element: Element, written: dict[str, Any], used: set[str], shared: Shared) -> None:
    known = [key for flow in shared.graph.outs[element.id] for key in _keys(flow, shared)]
    for key in written:
        if key not in used and key != DEFAULT:
            hint = did_you_mean(key, [*known, DEFAULT], "Name a transition that leaves the gateway.")
            at = child_pointer(f"{element.pointer}/conditions", key)
            message = f"«{key}» is no way out of «{element.name}»."
            shared.report.error("unknown_condition", message, at, hint=hint, node=element.id, key=True)


def _set_default(element: Element, flows: list[Flow], written: dict[str, Any], found: Choice, shared: Shared) -> None:
    asked = [(name, at) for name, at in _defaults(element, written) if name]
    by_key = {key: flow.id for flow in reversed(flows) for key in reversed(_keys(flow, shared))}
    for name, at in asked:
        if name not in by_key:
            hint = did_you_mean(name, list(by_key), "Name a transition that leaves it.")
            message = f"The default «{name}» is no way out of «{element.name}»."
            shared.report.error("unknown_default", message, at, hint=hint, node=element.id)
        elif found.default and found.default != by_key[name]:
            message = f"«{element.name}» has two defaults: «{found.default}» and «{by_key[name]}»."
            shared.report.error("condition_conflict", message, at, hint="Keep one of them.", node=element.id)
        else:
            found.default = by_key[name]
    bare = [flow.id for flow in flows if flow.id not in found.conditions]
    if not asked and len(bare) == 1 and len(flows) > 1 and element.gateway is not None:
        found.default = bare[0]
    if found.default in found.conditions:
        message = f"The condition of the default «{found.default}» is never asked."
        at = found.conditions.pop(found.default)[1]
        shared.report.warning("condition_ignored", message, at, hint="Remove the condition.", node=element.id)


def _defaults(element: Element, written: dict[str, Any]) -> list[tuple[str, str]]:
    named = [(str(getattr(element.fields, "default", "")), f"{element.pointer}/default")]
    if isinstance(written.get(DEFAULT), str):
        named.append((written[DEFAULT], f"{element.pointer}/conditions/{DEFAULT}"))
    return named
