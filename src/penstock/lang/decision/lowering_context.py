"""Where a node stands: its author's texts become value trees, and what they read from outside is gathered."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.expr import FUNCTIONS, Expression, compile_expression, compile_template
from penstock.expr.nodes import Call, HostCall, Literal, Name, Node, Path, Template
from penstock.lang.contract import Setting
from penstock.lang.decision.names import ROOTS, Names
from penstock.lang.decision.texts import text_literal
from penstock.lang.document import step
from penstock.lang.report import Report, did_you_mean

if TYPE_CHECKING:
    from penstock.lang.decision.schema import Workflow, WorkflowNode

_MAPS = ("$expr", "$template")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*\Z|//[^/?#]*\Z")
_READ = "Correct the text at the character named; texts are quoted with ' or \"."
#: Roots of the view that hold what a tenant has set, and the names under which a run takes them along.
_CARRIED = {"$calendar": "calendar", "$config": "config", "$tenant_config": "tenant_config"}
#: Roots below which something is fetched or sent.
_GATHERED = ("aas", "rag", "secrets")


@dataclass
class Needs:
    """What a node's expressions read from outside the run. It is fetched by an effect before the node, or (calendar and
    configuration) taken along from the start."""

    aas: list[Any] = field(default_factory=list)
    rag: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.aas or self.rag or self.calls)

    def args(self) -> dict[str, Any]:
        found = {"aas": _distinct(self.aas), "rag": _distinct(self.rag), "calls": _distinct(self.calls)}
        return {name: value for name, value in found.items() if value}


@dataclass
class Shared:
    """What all nodes of one lowering share."""

    workflow: Workflow
    names: Names
    report: Report
    setting: Setting
    carried: set[str] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)
    depends: list[tuple[str, str, str]] = field(default_factory=list)  # type, id, pointer
    prefetched: list[Any] = field(default_factory=list)  # assets that are fetched when a run starts
    shown: frozenset[str] | None = None  # the outputs that are the run's result; None: all of them


@dataclass
class LoweringContext:
    """One node of the document while it is lowered. `as_id` is given to a copy that stands in for another node."""

    step: WorkflowNode
    shared: Shared
    scope: str = ""  # the scope around it
    needs: Needs = field(default_factory=Needs)
    as_id: str = ""
    framed: bool = False  # the author's node stands behind an inner one
    fallback: bool = False  # another node stands in for it

    @property
    def id(self) -> str:
        return self.as_id or self.step.id

    @property
    def core(self) -> str:
        """The node that does the work."""
        return f"{self.id}.do" if self.framed else self.id

    @property
    def origin(self) -> str:
        return self.step.id if self.framed or self.as_id else ""

    @property
    def workflow(self) -> Workflow:
        return self.shared.workflow

    # -- saying --------------------------------------------------------------------------------------------------------

    def at(self, path: str = "") -> str:
        return f"{self.step.pointer}/{path}" if path else self.step.pointer

    def error(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.error(rule, message, self.at(path), hint=hint, node=self.id)

    def warning(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.warning(rule, message, self.at(path), hint=hint, node=self.id)

    def info(self, rule: str, message: str, path: str = "", *, hint: str) -> None:
        self.shared.report.info(rule, message, self.at(path), hint=hint, node=self.id)

    def tell_at(self, rule: str, message: str, at: str, *, hint: str) -> None:
        """About something that stands elsewhere in the document: policies, edges."""
        if (rule, at + message) not in self.shared.told:
            self.shared.told.add((rule, at + message))
            self.shared.report.error(rule, message, at, hint=hint, node=self.step.id)

    def depend(self, type: str, id: Any, path: str) -> None:
        """C-55 and others: something of the tenant's that a run will ask for. What only a run knows is not told."""
        if isinstance(id, str) and id and "${" not in id:
            self.shared.depends.append((type, id, self.at(path)))

    # -- texts ---------------------------------------------------------------------------------------------------------

    def expression(self, text: str | None, path: str, *local: str) -> str | None:
        """An expression field; None, and told, when it cannot be read."""
        return self.expression_at(text, self.at(path), *local)

    def expression_at(self, text: str | None, at: str, *local: str) -> str | None:
        if text is None:
            return None
        try:
            made = compile_expression(text, words=True)
        except PenstockError as wrong:
            self._unreadable(wrong, at)
            return None
        self._look(made, at, local, secrets=False)
        return text

    @staticmethod
    def outside(text: str) -> bool:
        """Does an expression read what must be fetched first?"""
        return bool(compile_expression(text, words=True).roots & {"aas", "rag"})

    def address(self, text: str, path: str) -> Any:
        """C-28: what is written into a path stays in its segment, and what is written into a query in its value."""
        made = self._text(text, self.at(path), (), secrets=False)
        if not isinstance(made, dict):
            return made
        tree = compile_template(text).tree
        parts, before = [], ""
        for one in tree.children if isinstance(tree, Template) else (tree,):
            if isinstance(one, Literal) and isinstance(tree, Template):
                before += str(one.value)
                parts.append(text_literal(one.value))
                continue
            if _HOST.match(before):
                hint = "Write the host out, or register a connection."
                self.error("address_outside", "A value cannot choose the host that is called.", path, hint=hint)
            function = "url_encode" if "?" in before else "path_segment"
            parts.append(f"fn.{function}({text[one.start : one.end]})")
        return {"$expr": f"fn.concat({', '.join(parts)})"}

    def fixed_host(self, text: str, path: str) -> None:
        """Where a secret is sent along, the host is the author's or the tenant's word: data does not choose it."""
        if "${" not in text:
            return
        try:
            tree = compile_template(text).tree
        except PenstockError:
            return  # told where the text itself is read
        before = ""
        for one in tree.children if isinstance(tree, Template) else (tree,):
            if isinstance(one, Literal) and isinstance(tree, Template):
                before += str(one.value)
                continue
            roots = compile_expression(text[one.start : one.end], words=True).roots
            if (not before or _HOST.match(before)) and not roots <= {"secrets", *_CARRIED}:
                hint = "Write the host out, or take the whole address from a secret or the tenant's settings."
                message = "A value cannot choose the host that gets a secret."
                self.error("address_outside", message, path, hint=hint)
            before = before + "x" if before else "any://x"  # a whole address may end in its host

    def moment(self, text: str, path: str) -> str:
        """A template as an expression."""
        made = self._text(text, self.at(path), (), secrets=False)
        if not isinstance(made, dict):
            return text_literal(made)
        tree = compile_template(text).tree
        if not isinstance(tree, Template):
            return f"({text[tree.start : tree.end]})"
        parts = [
            text_literal(one.value) if isinstance(one, Literal) else text[one.start : one.end] for one in tree.children
        ]
        return f"fn.concat({', '.join(parts)})"

    def tree(self, value: Any, path: str, *local: str, secrets: bool = False) -> Any:
        """The author's data: every text in it is a template (W-4.0.6)."""
        if isinstance(value, str):
            return self._text(value, self.at(path), local, secrets)
        if isinstance(value, list):
            return [self.tree(one, f"{path}/{i}", *local, secrets=secrets) for i, one in enumerate(value)]
        if isinstance(value, dict):
            if len(value) == 1 and next(iter(value)) in _MAPS:
                hint = "Give the map a second key, or the key another name."
                self.error("reserved_key", f"A map cannot have {next(iter(value))} as its only key.", path, hint=hint)
                return None
            return {name: self.tree(one, step(path, name), *local, secrets=secrets) for name, one in value.items()}
        return value

    def text_at(self, text: str, at: str) -> Any:
        return self._text(text, at, (), secrets=False)

    def _text(self, text: str, at: str, local: Collection[str], secrets: bool) -> Any:
        if "${" not in text:
            return text
        try:
            made = compile_template(text)
        except PenstockError as wrong:
            self._unreadable(wrong, at)
            return None
        self._look(made, at, local, secrets=secrets)
        return {"$template": text}

    def _unreadable(self, wrong: PenstockError, at: str) -> None:
        why = str(wrong.facts.get("why", ""))
        rule = "unknown_function" if why.startswith(("Unknown function", "Unknown method")) else "expression_syntax"
        self.tell_at(rule, f"The expression cannot be read: {wrong}", at, hint=wrong.hint or _READ)

    # -- what a text reads ---------------------------------------------------------------------------------------------

    def _look(self, made: Expression, at: str, local: Collection[str], *, secrets: bool) -> None:
        names = self.shared.names
        for name in sorted(made.roots):
            if name in _CARRIED:
                self.shared.carried.add(_CARRIED[name])
            elif name == "secrets" and not secrets:
                message = "A secret cannot be read here: it would be stored with what this makes of it."
                hint = "Secrets may stand in the settings of a channel, a connection or a request."
                self.tell_at("secret_not_allowed", message, at, hint=hint)
            elif name not in names.known and name not in local and not name.startswith("$"):
                self._unknown(name, at, local)
            elif name in names.ambiguous and name not in local:
                self._ambiguous(name, at)
        if made.functions or not made.roots.isdisjoint(_GATHERED):
            self._gather(made.tree, made.source, at)

    def _unknown(self, name: str, at: str, local: Collection[str]) -> None:
        hint = did_you_mean(name, {*self.shared.names.known, *local} - ROOTS, "Names are node ids and variables.")
        self.tell_at("unresolved_reference", f"«{name}» is not the name of anything in this workflow.", at, hint=hint)

    def _ambiguous(self, name: str, at: str) -> None:
        if ("ambiguous", name) in self.shared.told:
            return
        self.shared.told.add(("ambiguous", name))
        message = f"Several nodes give out «{name}» by default; the one that ended last is read."
        hint = "Give their outputs names: output.variable."
        self.shared.report.warning("ambiguous_default_output", message, at, hint=hint, node=self.step.id)

    def _gather(self, node: Node, text: str, at: str) -> None:
        """AAS paths, searches and secrets below a node of the tree."""
        if isinstance(node, Path) and isinstance(node.target, Name):
            if node.target.name == "aas":
                asset = _asset(node, text)
                if asset not in self.shared.prefetched:
                    self.needs.aas.append(asset)
            elif node.target.name == "rag" and isinstance(node.steps[0], Literal):
                self.needs.rag.append(self._search(str(node.steps[0].value)))
            elif node.target.name == "secrets":
                self._named_secret(node.steps[0], at)
                for step_ in node.steps:
                    self._gather(step_, text, at)
                return
        elif isinstance(node, Name) and node.name == "secrets":
            self._named_secret(None, at)
        elif isinstance(node, HostCall):
            given = [{"$expr": text[one.start : one.end]} for one in node.children]
            self.needs.calls.append({"name": node.member, "args": given})
        elif isinstance(node, Call) and node.function in FUNCTIONS:
            if node.function == "get_secret":
                self._named_secret(node.children[0] if node.children else None, at)
            for root in FUNCTIONS[node.function].reads:
                if root in _CARRIED:
                    self.shared.carried.add(_CARRIED[root])
        for child in node.children:
            self._gather(child, text, at)

    def _named_secret(self, name: Node | None, at: str) -> None:
        """Which secret is sent is the author's word: data that could choose it could have any of them sent away."""
        if not isinstance(name, Literal) or not isinstance(name.value, str):
            message = "The name of a secret must be written here: it cannot come from data."
            self.tell_at("secret_not_allowed", message, at, hint="Write ${secrets.NAME}.")
        elif name.value not in self.workflow.context.secrets:
            self.shared.depends.append(("secret", name.value, at))

    def _search(self, name: str) -> dict[str, Any]:
        """C-64: `rag.name` searches with the query that the context declares, by default the run's input."""
        for one in self.workflow.context.rag_context:
            if isinstance(one, dict) and one.get("name") == name:
                query = one.get("query", "${input}")
                asked = {"$template": query} if isinstance(query, str) and "${" in query else query
                return {"name": name, "query": asked, "top_k": one.get("top_k", 5)}
        return {"name": name, "query": {"$expr": "input"}, "top_k": 5}


def _asset(node: Path, text: str) -> Any:
    """«line.L01», or a template that gives it."""
    whole = ".".join(str(one.value) if isinstance(one, Literal) else _written(one, text) for one in node.steps[:2])
    return {"$template": whole} if "${" in whole else whole


def _written(node: Node, text: str) -> str:
    said = text[node.start : node.end]
    return said if said.startswith("${") else "${" + said + "}"


def _distinct(values: list[Any]) -> list[Any]:
    return list({json.dumps(one, sort_keys=True, ensure_ascii=False): one for one in values}.values())
