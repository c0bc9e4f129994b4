"""What only the source can tell: the codes of failures and incidents, the rules of checks, the settings that are read.

Nothing is run: calls are found in the syntax tree, so a code that is written anywhere in the package stands in the
reference. `…` stands for what is filled in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/penstock"
CATEGORIES = set(
    "transient permanent timeout validation authorization business external resource system refused".split()
)
INSIDE = {"DROPPED"}  # said between dispatcher and lane, never to a run
SEVERITIES = {"ERROR": "error", "WARNING": "warning", "error": "error", "warning": "warning"}


class Code(NamedTuple):
    """A failure: its category, and what it says."""

    code: str
    category: str
    message: str
    room: str


class Rule(NamedTuple):
    """A rule of `penstock check`."""

    rule: str
    severity: str
    message: str
    hint: str


class Scope(ast.NodeVisitor):
    """Visits every call and tuple together with what names stood for in the function around it."""

    def __init__(self) -> None:
        self.names: list[dict[str, ast.expr]] = [{}]
        self.found: list[tuple[ast.Call | ast.Tuple, dict[str, ast.expr]]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.append({})
        self.generic_visit(node)
        self.names.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.names.append({})
        self.generic_visit(node)
        self.names.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        targets = node.targets[0]
        if isinstance(targets, ast.Name):
            self.names[-1][targets.id] = node.value
        elif isinstance(targets, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for target, value in zip(targets.elts, node.value.elts, strict=False):
                if isinstance(target, ast.Name):
                    self.names[-1][target.id] = value
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.found.append((node, {**self.names[0], **self.names[-1]}))
        self.generic_visit(node)

    def visit_Tuple(self, node: ast.Tuple) -> None:
        self.found.append((node, {**self.names[0], **self.names[-1]}))
        self.generic_visit(node)


def _calls(*rooms: str, language: str = "") -> Iterator[tuple[str, ast.Call | ast.Tuple, dict[str, ast.expr]]]:
    """(room, call or tuple, names) of every file of some rooms, or of all; of one language, or of all."""
    for file in sorted(SOURCE.rglob("*.py")):
        room, *folders = file.relative_to(SOURCE).parts[:-1] or (file.name,)
        if rooms and room not in rooms or language and room == "lang" and folders and folders[0] != language:
            continue
        scope = Scope()
        scope.visit(ast.parse(file.read_text(encoding="utf-8")))
        for node, names in scope.found:
            yield room, node, names


def _called(node: ast.Call | ast.Tuple) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _text(node: ast.expr | None, names: dict[str, ast.expr]) -> str:
    """The text an expression yields, with … for what is filled in; empty when it is no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        parts = [_text(one, names) if isinstance(one, ast.Constant) else "…" for one in node.values]
        return "".join(parts)
    if isinstance(node, ast.Name):
        known = names.get(node.id)
        return _text(known, {}) if known is not None else "…"
    if isinstance(node, ast.IfExp):
        return _text(node.body, names)
    if isinstance(node, ast.Call) and _called(node) == "extra_message":
        return _extra_message(node, names)
    return "…" if node is not None else ""


def _extra_message(node: ast.Call, names: dict[str, ast.expr]) -> str:
    """What `executors/parts/extras.py` says with these arguments."""
    who_needs, extra = (_text(argument, names) for argument in node.args)
    return f"{who_needs} the extra «{extra}»: pip install 'penstock[{extra}]'."


def _plain(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def failures() -> list[Code]:
    """Every failure with a code of its own, sorted; one that is made in several places stands once per message."""
    found: set[Code] = set()
    for room, node, names in _calls():
        if isinstance(node, ast.Tuple):
            pair = [_plain(one) for one in node.elts]
            if room == "executors" and len(pair) == 2 and pair[0].isupper() and pair[1] in CATEGORIES:
                found.add(Code(pair[0], pair[1], "…", room))
        elif _called(node) == "ProcessorError" and len(node.args) >= 2:
            category = _plain(node.args[2]) if len(node.args) > 2 else "validation"
            found |= {Code(code, category, _text(node.args[1], names), room) for code in _choices(node.args[0], names)}
        elif _called(node) in ("Failure", "failed", "CallRefused", "Problem") and len(node.args) >= 3:
            said = _text(node.args[2], names)
            for code in _choices(node.args[0], names):
                for category in _choices(node.args[1], names):
                    found.add(Code(code, category, said, room))
        elif _called(node) == "extra_missing" and node.args:
            found.add(Code("EXTRA_MISSING", "permanent", _extra_message(node, names), room))
        elif _called(node) == "call_failure" and len(node.args) == 3:  # a timeout with a code of its own
            found |= {Code(code, "timeout", "…", room) for code in _choices(node.args[2], names)}
        elif _called(node) == "_refuse" and len(node.args) == 3:  # the dispatcher's own, all of them permanent
            said = _text(node.args[2], names)
            found |= {Code(code, "permanent", said, room) for code in _choices(node.args[1], names)}
        elif _called(node) == "Trigger":
            codes = [_plain(one.value) for one in node.keywords if one.arg == "code"]
            found |= {Code(code, "timeout", "nothing came in time for «…»", room) for code in codes}
    return sorted(one for one in found if one.code not in INSIDE and not one.message.startswith("… the extra"))


def _choices(node: ast.expr, names: dict[str, ast.expr]) -> list[str]:
    """The texts an expression may yield: one, or those of both branches."""
    if isinstance(node, ast.Name):
        node = names.get(node.id, node)
    if isinstance(node, ast.IfExp):
        return [*_choices(node.body, names), *_choices(node.orelse, names)]
    return [one for one in [_plain(node)] if one]


def incidents() -> list[str]:
    """What an operator should look at: the codes of `incident` facts."""
    found = {
        _plain(node.elts[1])
        for _, node, _ in _calls("kernel")
        if isinstance(node, ast.Tuple) and len(node.elts) > 1 and getattr(node.elts[0], "attr", "") == "INCIDENT"
    }
    return sorted(found - {""})


def rules(language: str = "", rooms: tuple[str, ...] = ("lang", "net")) -> list[Rule]:
    """Every rule that `penstock check` may name, with what it says; for documents of one language, or of all. Those of
    scenario files are in another room."""
    found: set[Rule] = set()
    for _, node, names in _calls(*rooms, language=language):
        if not isinstance(node, ast.Call) or not node.args or not (rule := _plain(node.args[0])):
            continue
        called, args = _called(node), node.args
        hint = next((_text(one.value, names) for one in node.keywords if one.arg == "hint"), "")
        if called in ("error", "warning") and len(args) >= 2:
            found.add(Rule(rule, called, _text(args[1], names), hint))
        elif called in ("finding", "Finding") and len(args) >= 3:
            severity = SEVERITIES.get(getattr(args[1], "id", _plain(args[1])), "")
            at = 3 if called == "finding" else 4
            said = _text(args[at], names) if len(args) > at else hint
            found.add(Rule(rule, severity, _text(args[2], names), said))
    return sorted(found)


def settings() -> list[str]:
    """The dotted names that executors ask `settings` for."""
    found = set()
    for _, node, _ in _calls("executors"):
        if _called(node) == "get" and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked = node.func.value
            named = asked.attr if isinstance(asked, ast.Attribute) else getattr(asked, "id", "")
            if isinstance(asked, ast.Attribute) and getattr(asked.value, "id", "") == "task":
                continue  # what an agent is registered with
            if named == "settings" and node.args:
                found.add(_plain(node.args[0]))
    return sorted(found - {""})
