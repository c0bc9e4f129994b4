"""The context in which a node is lowered: it compiles the node's templates and reports what is wrong with them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import FUNCTIONS, Expression, compile_expression, compile_template, foreign_constant
from penstock.expr.nodes import Call, HostCall, Literal, Name, Node, Path, Template
from penstock.lang.contract import Setting
from penstock.lang.decision.expression_literals import expression_literal
from penstock.lang.decision.member_checks import MemberCheck, known_shapes
from penstock.lang.decision.shapes import Shape
from penstock.lang.decision.symbols import ROOTS, SymbolTable
from penstock.lang.decision.workflow import Workflow, WorkflowNode
from penstock.lang.document import child_pointer
from penstock.lang.report import ElementReport, PlaceReport, Report, did_you_mean
from penstock.net.model import Net

_NO_SHAPES: Mapping[str, Shape] = {}
_RESERVED_KEYS = ("$expr", "$template")
_HOST = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*\Z|//[^/?#]*\Z")
_SYNTAX_HINT = "Correct the text at the character named; texts are quoted with ' or \"."
#: Roots that hold settings of the tenant, and the names under which a run takes them along from its start.
_CARRIED = {"$calendar": "calendar", "$config": "config", "$tenant_config": "tenant_config"}
#: Roots whose values are fetched or sent by an effect.
_EXTERNAL_ROOTS = ("aas", "rag", "secrets")


@dataclass
class ExternalReads:
    """What a node's expressions read from outside the run; an effect before the node fetches it."""

    aas: list[Any] = field(default_factory=list)
    rag: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.aas or self.rag or self.calls)

    def args(self) -> dict[str, Any]:
        reads = {"aas": _distinct(self.aas), "rag": _distinct(self.rag), "calls": _distinct(self.calls)}
        return {name: value for name, value in reads.items() if value}


@dataclass
class SharedContext:
    """What all nodes of one lowering share."""

    workflow: Workflow
    symbols: SymbolTable
    report: Report
    setting: Setting
    carried: set[str] = field(default_factory=set)  # settings of the tenant that a run takes along from its start
    reported: set[tuple[str, str]] = field(default_factory=set)  # findings that are reported once for all nodes
    dependencies: list[tuple[str, str, str]] = field(default_factory=list)  # type, id, pointer
    prefetched: list[Any] = field(default_factory=list)  # assets that are fetched when a run starts
    children: dict[str, Net] = field(default_factory=dict)  # nets that nodes call, by content hash
    following: Mapping[str, Collection[str]] = field(default_factory=dict)  # node → those that come after it
    result_names: frozenset[str] | None = None  # the outputs that are the run's result; None: all of them

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        return known_shapes(self.workflow, self.symbols)


@dataclass
class LoweringContext(ElementReport):
    """One node of the document while it is lowered. `as_id` is the id of a copy: the fallback of another node."""

    node: WorkflowNode
    shared: SharedContext
    scope: str = ""  # the scope around it
    external_reads: ExternalReads = field(default_factory=ExternalReads)
    as_id: str = ""
    wrapped: bool = False  # an inner node does the work, and the author's node yields what is made of its answer
    fallback: bool = False  # another node runs instead while its breaker is open

    @property
    def id(self) -> str:
        return self.as_id or self.node.id

    @property
    def pointer(self) -> str:
        return self.node.pointer

    @property
    def core(self) -> str:
        """The node that does the work."""
        return f"{self.id}.do" if self.wrapped else self.id

    @property
    def origin(self) -> str:
        return self.node.id if self.wrapped or self.as_id else ""

    @property
    def workflow(self) -> Workflow:
        return self.shared.workflow

    # -- reporting -----------------------------------------------------------------------------------------------------

    def error_once_at(self, rule: str, message: str, at: str, *, hint: str) -> None:
        """For texts that several nodes share, such as policies and edges: the same error is reported once."""
        if (rule, at + message) not in self.shared.reported:
            self.shared.reported.add((rule, at + message))
            self.shared.report.error(rule, message, at, hint=hint, node=self.node.id)

    def depend(self, type: str, id: Any, path: str) -> None:
        """C-55: something of the tenant's that a run will ask for. A name that only a run knows is left out."""
        if isinstance(id, str) and id and "${" not in id:
            self.shared.dependencies.append((type, id, self.at(path)))

    # -- expressions and templates -------------------------------------------------------------------------------------

    def expression(
        self, text: str | None, path: str, *local: str, shapes: Mapping[str, Shape] = _NO_SHAPES
    ) -> str | None:
        """The text of an expression field; None, and reported, when it cannot be read. `shapes` are those of local
        names."""
        return self.expression_at(text, self.at(path), *local, shapes=shapes)

    def expression_at(
        self, text: str | None, at: str, *local: str, shapes: Mapping[str, Shape] = _NO_SHAPES
    ) -> str | None:
        if text is None:
            return None
        try:
            compiled = compile_expression(text, words=True)
        except PenstockError as error:
            self._report_unreadable(error, at)
            return None
        self._check_reads(compiled, at, local, secrets=False)
        known = {**{name: shape for name, shape in self.shared.shapes.items() if name not in local}, **shapes}
        self.member_check(compiled.source, at, known).check(compiled.tree)
        return text

    def member_check(self, source: str, at: str, shapes: Mapping[str, Shape] | None = None) -> MemberCheck:
        """A check of what an expression reads of outputs whose shape is known."""
        report = PlaceReport(self.shared.report, at, self.node.id, self.shared.reported)
        return MemberCheck(self.shared.shapes if shapes is None else shapes, source, report)

    @staticmethod
    def reads_outside(text: str) -> bool:
        """Does an expression read something that must be fetched first?"""
        return bool(compile_expression(text, words=True).roots & {"aas", "rag"})

    def url_expression(self, text: str, path: str) -> Any:
        """C-28: a URL template as an expression that escapes its values, so that none leaves its segment."""
        template = self._template(text, self.at(path), (), secrets=False)
        if not isinstance(template, dict):
            return template
        tree = compile_template(text).tree
        parts, before = [], ""
        for part in tree.children if isinstance(tree, Template) else (tree,):
            if isinstance(part, Literal) and isinstance(tree, Template):
                before += str(part.value)
                parts.append(expression_literal(part.value))
                continue
            if _HOST.match(before):
                hint = "Write the host out, or register a connection."
                self.error("address_outside", "A value cannot choose the host that is called.", path, hint=hint)
            function = "url_encode" if "?" in before else "path_segment"
            parts.append(f"fn.{function}({text[part.start : part.end]})")
        return {"$expr": f"fn.concat({', '.join(parts)})"}

    def fixed_host(self, text: str, path: str) -> None:
        """Where a secret is sent, the host must be written or a setting of the tenant: data does not choose it."""
        if "${" not in text:
            return
        try:
            tree = compile_template(text).tree
        except PenstockError:
            return  # reported where the text itself is read
        before = ""
        for part in tree.children if isinstance(tree, Template) else (tree,):
            if isinstance(part, Literal) and isinstance(tree, Template):
                before += str(part.value)
                continue
            roots = compile_expression(text[part.start : part.end], words=True).roots
            if (not before or _HOST.match(before)) and not roots <= {"secrets", *_CARRIED}:
                hint = "Write the host out, or take the whole address from a secret or the tenant's settings."
                message = "A value cannot choose the host that gets a secret."
                self.error("address_outside", message, path, hint=hint)
            before = before + "x" if before else "any://x"  # a whole address may end in its host

    def template_expression(self, text: str, path: str) -> str:
        """A template as the text of an expression."""
        template = self._template(text, self.at(path), (), secrets=False)
        if not isinstance(template, dict):
            return expression_literal(template)
        tree = compile_template(text).tree
        if not isinstance(tree, Template):
            return f"({text[tree.start : tree.end]})"
        parts = [
            expression_literal(part.value) if isinstance(part, Literal) else text[part.start : part.end]
            for part in tree.children
        ]
        return f"fn.concat({', '.join(parts)})"

    def template_tree(self, value: Any, path: str, *local: str, secrets: bool = False) -> Any:
        """The author's data with every text in it as a template (W-4.0.6)."""
        if isinstance(value, str):
            return self._template(value, self.at(path), local, secrets)
        if isinstance(value, list):
            return [self.template_tree(item, f"{path}/{i}", *local, secrets=secrets) for i, item in enumerate(value)]
        if isinstance(value, dict):
            if len(value) == 1 and next(iter(value)) in _RESERVED_KEYS:
                hint = "Give the map a second key, or the key another name."
                self.error("reserved_key", f"A map cannot have {next(iter(value))} as its only key.", path, hint=hint)
                return None
            return {
                name: self.template_tree(item, child_pointer(path, name), *local, secrets=secrets)
                for name, item in value.items()
            }
        return value

    def template_at(self, text: str, at: str) -> Any:
        return self._template(text, at, (), secrets=False)

    def _template(self, text: str, at: str, local: Collection[str], secrets: bool) -> Any:
        if "${" not in text:
            return text
        try:
            compiled = compile_template(text)
        except PenstockError as error:
            self._report_unreadable(error, at)
            return None
        self._check_reads(compiled, at, local, secrets=secrets)
        self.member_check(text, at).check(compiled.tree, local)
        return {"$template": text}

    def _report_unreadable(self, error: PenstockError, at: str) -> None:
        why = str(error.facts.get("why", ""))
        rule = "unknown_function" if why.startswith(("Unknown function", "Unknown method")) else "expression_syntax"
        self.error_once_at(rule, f"The expression cannot be read: {error}", at, hint=error.hint or _SYNTAX_HINT)

    # -- what an expression reads --------------------------------------------------------------------------------------

    def _check_reads(self, compiled: Expression, at: str, local: Collection[str], *, secrets: bool) -> None:
        symbols = self.shared.symbols
        for name in sorted(compiled.roots):
            if name in _CARRIED:
                self.shared.carried.add(_CARRIED[name])
            elif name == "secrets" and not secrets:
                message = "A secret cannot be read here: it would be stored with what this makes of it."
                hint = "Secrets may stand in the settings of a channel, a connection or a request."
                self.error_once_at("secret_not_allowed", message, at, hint=hint)
            elif name not in symbols.known and name not in local and not name.startswith("$"):
                self._report_unknown(name, at, local)
            elif name in symbols.ambiguous and name not in local:
                self._report_ambiguous(name, at)
        if compiled.functions or not compiled.roots.isdisjoint(_EXTERNAL_ROOTS):
            self._collect_reads(compiled.tree, compiled.source, at)

    def _report_unknown(self, name: str, at: str, local: Collection[str]) -> None:
        known = {*self.shared.symbols.known, *local} - ROOTS
        hint = foreign_constant(name) or did_you_mean(name, known, "Names are node ids and variables.")
        self.error_once_at(
            "unresolved_reference", f"«{name}» is not the name of anything in this workflow.", at, hint=hint
        )

    def _report_ambiguous(self, name: str, at: str) -> None:
        if ("ambiguous", name) in self.shared.reported:
            return
        self.shared.reported.add(("ambiguous", name))
        message = f"Several nodes give out «{name}» by default; the one that ended last is read."
        hint = "Give their outputs names: output.variable."
        self.shared.report.warning("ambiguous_default_output", message, at, hint=hint, node=self.node.id)

    def _collect_reads(self, node: Node, text: str, at: str) -> None:
        """Collects the AAS paths, searches and secrets that a part of an expression reads."""
        if isinstance(node, Path) and isinstance(node.target, Name):
            if node.target.name == "aas":
                asset = _asset(node, text)
                if asset not in self.shared.prefetched:
                    self.external_reads.aas.append(asset)
            elif node.target.name == "rag" and isinstance(node.steps[0], Literal):
                self.external_reads.rag.append(self._rag_search(str(node.steps[0].value)))
            elif node.target.name == "secrets":
                self._check_secret_name(node.steps[0], at)
                for member in node.steps:
                    self._collect_reads(member, text, at)
                return
        elif isinstance(node, Name) and node.name == "secrets":
            self._check_secret_name(None, at)
        elif isinstance(node, HostCall):
            args = [{"$expr": text[argument.start : argument.end]} for argument in node.children]
            self.external_reads.calls.append({"name": node.member, "args": args})
        elif isinstance(node, Call) and node.function in FUNCTIONS:
            if node.function == "get_secret":
                self._check_secret_name(node.children[0] if node.children else None, at)
            for root in FUNCTIONS[node.function].reads:
                if root in _CARRIED:
                    self.shared.carried.add(_CARRIED[root])
        for child in node.children:
            self._collect_reads(child, text, at)

    def _check_secret_name(self, name: Node | None, at: str) -> None:
        """The name of a secret must be written: data that could choose it could send away any of them."""
        if not isinstance(name, Literal) or not isinstance(name.value, str):
            message = "The name of a secret must be written here: it cannot come from data."
            self.error_once_at("secret_not_allowed", message, at, hint="Write ${secrets.NAME}.")
        elif name.value not in self.workflow.context.secrets:
            self.shared.dependencies.append(("secret", name.value, at))

    def _rag_search(self, name: str) -> dict[str, Any]:
        """C-64: `rag.name` searches with the query that the context declares, by default the run's input."""
        for search in self.workflow.context.rag_context:
            if isinstance(search, dict) and search.get("name") == name:
                query = search.get("query", "${input}")
                query_value = {"$template": query} if isinstance(query, str) and "${" in query else query
                return {"name": name, "query": query_value, "top_k": search.get("top_k", 5)}
        return {"name": name, "query": {"$expr": "input"}, "top_k": 5}


def _asset(node: Path, text: str) -> Any:
    """The name of an asset such as line.L01, or a template of it."""
    name = ".".join(
        str(part.value) if isinstance(part, Literal) else _placeholder(part, text) for part in node.steps[:2]
    )
    return {"$template": name} if "${" in name else name


def _placeholder(node: Node, text: str) -> str:
    source = text[node.start : node.end]
    return source if source.startswith("${") else "${" + source + "}"


def _distinct(values: list[Any]) -> list[Any]:
    return list({json.dumps(value, sort_keys=True, ensure_ascii=False): value for value in values}.values())
