"""What single fields of a Process-GPT definition mean: conditions in several shapes, events, roles, forms."""

from __future__ import annotations

import json
import re
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression
from penstock.lang.process.durations import cycle, milliseconds
from penstock.lang.process.fields import ASSIGNMENT_RULES
from penstock.lang.process.foreign_scripts import as_foreign

_WORDS = "words"  # the language of a condition that only a person or a model could decide
_OPERATORS = {"=": "==", "equals": "==", "<>": "!=", "is": "=="}
_COMPARED = ("==", "!=", "<", "<=", ">", ">=")
_POSITIONS = (("boundary", "boundary"), ("start", "start"), ("end", "end"), ("throw", "throw"), ("catch", "catch"))
_TRIGGERS = ("timer", "message", "signal", "error", "escalation", "conditional", "terminate")
_TARGET = re.compile(r"(user|role|group):\S+\Z")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?\Z")
_CRON = re.compile(r"(\d+) (\d+) (\d+) (\d+) (\d+) \? (\d{4})\Z")
_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\Z")


# ---- conditions ------------------------------------------------------------------------------------------------------


def read_condition(given: Any, flows: list[dict[str, Any]]) -> tuple[dict[str, str], Any]:
    """The conditions of a gateway by its ways, and what of them is not understood. They come as a map by way, as a
    list, or as one text where only one way leads on."""
    if not given:
        return {}, None
    keys = {str(key): str(flow.get("id")) for flow in flows for key in (flow.get("name"), flow.get("target")) if key}
    keys |= {id: id for id in (str(flow.get("id")) for flow in flows)}
    if isinstance(given, dict) and not given.keys() <= {"key", "condition", "operator", "value", "expression", "_type"}:
        pairs = list(given.items())
    elif isinstance(given, list):
        names = ("sequence", "sequenceId", "flow", "id", "target", "name", "to")
        pairs = [(next((one[name] for name in names if one.get(name) in keys), ""), one)
                 for one in given if isinstance(one, dict)]  # fmt: skip
    else:
        pairs = [(str(flows[0].get("id")), given)] if len(flows) == 1 else [("", given)]
    read: dict[str, str] = {}
    rest: dict[str, Any] = {}
    for key, condition in pairs:
        text = _text_of(condition)
        if text and (key in keys or key == "default"):
            read[keys.get(str(key), str(key))] = text
        elif condition not in (None, "", {}, []):
            rest[str(key)] = condition
    return read, rest or None


def condition_of(flow: dict[str, Any]) -> str:
    """The condition of a sequence: its own, or the one among its properties."""
    if text := _text_of(flow.get("condition")):
        return text
    return _text_of(_properties(flow).get("condition"))


def _text_of(condition: Any) -> str:
    """An expression: a text, or what is compared with what. Words of people become a condition that is asked for."""
    if isinstance(condition, bool):
        return "true" if condition else "false"
    if isinstance(condition, dict):
        if condition.get("key") is not None:
            return _comparison(condition)
        return _text_of(condition.get("expression", condition.get("condition")))
    if not isinstance(condition, str) or not condition.strip():
        return ""
    text = condition.strip()
    inner = text[2:-1] if text.startswith("${") and text.endswith("}") else text
    if text.startswith(("=", "#{")) or _is_expression(inner):
        return text
    single = re.sub(r"(?<![=<>!])=(?!=)", "==", text)
    return single if single != text and _is_expression(single) else as_foreign(_WORDS, text)


def _comparison(condition: dict[str, Any]) -> str:
    """{key, condition or operator, value}: a variable, an operator, a value as text."""
    key, value = str(condition["key"]).strip(), condition.get("value")
    operator = str(condition.get("operator") or condition.get("condition") or "==").strip()
    operator = _OPERATORS.get(operator, operator)
    if operator not in _COMPARED or not _is_expression(key):
        return as_foreign(_WORDS, f"{key} {operator} {value}")
    return f"{key} {operator} {_literal(value)}"


def _literal(value: Any) -> str:
    if isinstance(value, str) and (_NUMBER.match(value) or value in ("true", "false", "null")):
        return value
    if isinstance(value, str):
        quote = '"' if '"' not in value else "'"
        return f"{quote}{value.replace(quote, '')}{quote}"
    return json.dumps(value)


def _is_expression(text: str) -> bool:
    """Whether it can be calculated; a single word of people is no variable."""
    try:
        compiled = compile_expression(text, words=True)
    except PenstockError:
        return False
    return bool(compiled.roots) or text in ("true", "false")


# ---- events ----------------------------------------------------------------------------------------------------------


def event_fields(raw: dict[str, Any], flows: list[dict[str, Any]]) -> tuple[dict[str, Any], set[str]]:
    """The event, and the fields of its source that were used. Where it says no position, its flows do."""
    word = f"{raw.get('type') or ''} {raw.get('position') or ''} {raw.get('eventType') or ''}".lower()
    id = raw.get("id")
    entry: dict[str, Any] = {"id": id, "position": _position(word, id, flows)}
    if raw.get("name"):
        entry["name"] = raw["name"]
    trigger = next((name for name in _TRIGGERS if name in f"{word} {raw.get('trigger') or ''}".lower()), "none")
    timer = _timer(raw, entry["position"])
    if timer or trigger == "timer":
        trigger = "timer"
        entry["timer"] = timer
        if entry["position"] == "throw":
            entry["position"] = "catch"  # a timer that is thrown: what is meant is that it waits
    if trigger in ("message", "signal") and (name := raw.get(trigger) or _properties(raw).get(trigger)):
        entry[trigger] = str(name)
    if trigger in ("error", "escalation") and (code := raw.get("code") or _properties(raw).get("code")):
        entry["code"] = str(code)
    if trigger != "none":
        entry["trigger"] = trigger
    if attached := raw.get("attachedToRef") or raw.get("attachedTo"):
        entry |= {"position": "boundary", "attached_to": str(attached)}
    used = {"position", "eventType", "trigger", "attachedToRef", "attachedTo", "message", "signal", "code",
            "expression", "dueDate", "timer"}  # fmt: skip
    return entry, used


def _position(word: str, id: Any, flows: list[dict[str, Any]]) -> str:
    for part, position in _POSITIONS:
        if part in word:
            return position
    if not any(flow.get("target") == id for flow in flows):
        return "start"
    if not any(flow.get("source") == id for flow in flows):
        return "end"
    return "catch" if any(trigger in word for trigger in _TRIGGERS) else "throw"


def _timer(raw: dict[str, Any], position: str) -> dict[str, str]:
    condition = raw.get("condition")
    cron = condition.get("cron") if isinstance(condition, dict) else None
    given = [raw.get("expression"), _properties(raw).get("expression"), cron, raw.get("dueDate"), raw.get("timer")]
    text = next((text.strip() for text in given if isinstance(text, str) and text.strip()), "")
    if not text:
        return {}
    if moment := _CRON.match(text):
        second, minute, hour, day, month, year = (int(part) for part in moment.groups())
        return {"date": f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"}
    if cycle(text) is not None:
        return {"cycle": text}
    if milliseconds(text) is not None:
        return {"duration": text}
    parts = text.replace("?", "*").split()
    if len(parts) in (6, 7) and position == "start":
        return {"cycle": " ".join(parts[1:6])}  # with seconds in front, and perhaps a year
    return {"cycle" if len(parts) > 1 and position == "start" else "date": text}


# ---- people and forms ------------------------------------------------------------------------------------------------


def rule_of(role: dict[str, Any]) -> tuple[str, list[str]]:
    """How a role's work is assigned: a rule of ours, or whom it is for. Without both, whoever has the work."""
    rule = role.get("assignment_rule") or role.get("assignmentRule") or role.get("resolutionRule")
    endpoint = role.get("endpoint") or role.get("default")
    names = [str(name) for name in (endpoint if isinstance(endpoint, list) else [endpoint]) if name]
    if names:
        targets = [name if _TARGET.match(name) else f"user:{name}" for name in names]
        return (targets[0], []) if len(targets) == 1 and _TARGET.match(targets[0]) else ("", targets)
    if not isinstance(rule, str) or not rule.strip():
        return "", []
    rule = rule.strip()
    return (rule, []) if rule in ASSIGNMENT_RULES or _TARGET.match(rule) else ("", [f"resolutionRule {rule}"])


def instruction_of(raw: dict[str, Any]) -> str:
    """What the person or agent is told, with what is to be checked."""
    parts = [str(raw.get("instruction") or raw.get("description") or "")]
    checkpoints = raw.get("checkpoints")
    parts += [f"☐ {point}" for point in checkpoints] if isinstance(checkpoints, list) else []
    return "\n".join(part for part in parts if part)


def form_of(outputs: Any) -> dict[str, Any]:
    """The form of what an activity gives out: names of variables, with dots for those inside of others."""
    form: dict[str, Any] = {"type": "object", "properties": {}}
    for given in outputs if isinstance(outputs, list) else ():
        name = given.get("name") if isinstance(given, dict) else given
        if not isinstance(name, str) or not _PATH.match(name):
            continue
        at = form["properties"]
        *outer, last = name.split(".")
        for part in outer:
            at = at.setdefault(part, {"type": "object", "properties": {}}).setdefault("properties", {})
        at.setdefault(last, {})
    return form if form["properties"] else {}


def _properties(raw: dict[str, Any]) -> dict[str, Any]:
    """The properties of an element, which are JSON in a text."""
    given = raw.get("properties")
    try:
        value = json.loads(given) if isinstance(given, str) and len(given) < 100_000 else given
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
