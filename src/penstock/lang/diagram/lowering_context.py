"""The context in which a node is lowered: its inputs, the diagram's persons and files, and its report."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import PenstockError
from penstock.expr import compile_expression, foreign_constant
from penstock.expr.root_names import HOST_ROOTS
from penstock.lang.contract import Setting
from penstock.lang.diagram.file_names import first_found, prompt_names
from penstock.lang.diagram.persons import Person, person_args
from penstock.lang.diagram.python_words import in_our_words, with_names
from penstock.lang.diagram.template_names import names_in
from penstock.lang.files import LIMIT, why_not_found
from penstock.lang.report import Report, did_you_mean

#: Names every expression of a diagram may use, beside those its inputs bring (D-X.16).
ROOTS = ("default", "input", "epoch", "counters", "branches", "nodes", "context")
_RESERVED_KEYS = ("$expr", "$template")
_SECRET_KEY = re.compile(
    r"(^|[_-])(password|passwd|secret|token|api[_-]?key|private[_-]?key|webhook_url|authorization)$", re.I
)


@dataclass(frozen=True)
class IncomingEdge:
    """A connection that leads to a node."""

    source: str
    var: str


@dataclass(frozen=True)
class LoweringContext:
    """One node of the diagram while it is lowered."""

    label: str
    type: str
    pointer: str
    where: Mapping[str, str]  # field → its pointer, for fields under `props`
    report: Report
    setting: Setting
    persons: Mapping[str, Person]
    labels: tuple[str, ...]  # every node of the diagram, in order
    inputs: tuple[IncomingEdge, ...]
    outputs: int
    conversation: bool  # does a connection want the whole conversation?
    #: The person_jobs that detect_max_iterations watches here (D-X.6).
    limits: Callable[[], list[tuple[str, int]] | None]
    rest: Mapping[str, Any]  # what an open type was given beyond its fields
    shared: frozenset[str] = frozenset()  # variables of the run that every node may read
    taken: frozenset[str] = frozenset()  # of this node's own variables, those that others read
    unnamed: tuple[str, ...] = ()  # inputs without a name of their own: their members are names
    members: frozenset[str] = frozenset()  # of those inputs, the members that are known

    # -- reporting ---------------------------------------------------------------------------------------------------

    def at(self, field: str) -> str:
        """The place of a field as written; of one that is not there, the node's."""
        return self.where.get(field, self.pointer)

    def error(self, rule: str, message: str, field: str = "", *, hint: str) -> None:
        self.report.error(rule, message, self.at(field), hint=hint, node=self.label)

    def warning(self, rule: str, message: str, field: str = "", *, hint: str) -> None:
        self.report.warning(rule, message, self.at(field), hint=hint, node=self.label)

    # -- inputs, persons, files --------------------------------------------------------------------------------------

    @property
    def names(self) -> set[str]:
        """The variables that its inputs bring."""
        return {edge.var for edge in self.inputs if edge.var}

    def variables(self, *texts: Any) -> dict[str, Any]:
        """Arguments that give an executor what these texts name and no connection brings by that name."""
        names = names_in(*texts) - self.names - {"default"}
        return self.variables_named(names)

    def variables_named(self, names: set[str]) -> dict[str, Any]:
        args: dict[str, Any] = {}
        if shared := sorted(names & self.shared):
            args["shared"] = {name: {"$expr": f"context[{quoted(name)}]"} for name in shared}
        if names - self.shared and self.unnamed:
            args["spread"] = list(self.unnamed)
        return args

    def person(self, name: str, field: str = "person") -> dict[str, Any]:
        known = self.persons.get(name)
        if known is None and name and not self.persons:
            message = f"There are no persons, so «{name}» is asked of the model that this machine has."
            hint = f"Write `persons:` and below it `{name}: {{service: openai, model: …}}`."
            self.warning("persons_missing", message, field, hint=hint)
            return {"name": name, "service": "openai"}
        if known is None:
            if name:
                hint = did_you_mean(name, self.persons, "Persons stand under `persons:`.")
                self.error("unknown_person", f"There is no person «{name}».", field, hint=hint)
            return {"name": name}
        args: dict[str, Any] = self.checked_literal(person_args(name, known))
        return args

    def file(self, path: str, field: str, names: Callable[[str], Iterator[str]] | None = None) -> str:
        """The text of a file that the diagram names; it is compiled into the net. `names` are those that it may have,
        the path as written first."""
        if self.setting.resolve is None:
            hint = "Write the text into the diagram."
            self.error("file_not_found", f"«{path}» cannot be read here.", field, hint=hint)
            return ""
        try:
            _, data = first_found(names(path) if names else iter([path]), self.setting.resolve)
            if len(data) > LIMIT:
                message = f"«{path}» has {len(data)} bytes; at most {LIMIT} are read."
                self.error("file_too_large", message, field, hint="Shorten it, or read it in a db node while running.")
                return ""
            return data.decode("utf-8")
        except UnicodeDecodeError:
            self.error("file_unreadable", f"«{path}» is not UTF-8.", field, hint="Save the file as UTF-8.")
        except (OSError, PenstockError) as error:
            why, looked = why_not_found(error)
            self.error("file_not_found", f"«{path}» cannot be read: {why}.", field, hint=looked)
        return ""

    def prompt(self, path: str, field: str) -> str:
        """The text of a prompt file: beside the diagram, or in a folder `prompts`."""
        return self.file(path, field, prompt_names)

    # -- checking ----------------------------------------------------------------------------------------------------

    def expression(self, text: str, field: str, *own: str) -> tuple[str, set[str]] | None:
        """An expression in the language's own words, and the names it uses; None, and reported, when it cannot be read
        or uses an unknown name. `own` are names that the node itself sets before it reads them."""
        text = with_names(in_our_words(text), lambda name: None if name in own else self._meaning(name))
        used = check_expression(text, self.names | {*own} - {""}, self.report, self.at(field), self.label)
        return None if used is None else (text, used)

    def _meaning(self, name: str) -> str | None:
        """What a name stands for that no connection brings."""
        if name in self.names or name in ROOTS:
            return None
        if name in self.shared:
            return f"context[{quoted(name)}]"
        return f"default[{quoted(name)}]" if name in self.members else None

    def check_inside(self, path: str, field: str) -> None:
        """Refuses a path that leaves its directory (D-X.19); what inputs put into it is checked at run time."""
        path = re.sub(r"\{\{[^{}]*\}\}", "x", path)
        single_node = posixpath.normpath(path.replace("\\", "/"))
        if single_node.startswith(("/", "../")) or single_node in ("..", ".") or re.match(r"[A-Za-z]:", single_node):
            hint = "Write a path below the directory, such as results/answer.txt."
            self.error("path_outside", f"The path «{path}» leaves its directory.", field, hint=hint)

    def checked_literal(self, value: Any) -> Any:
        """The author's data, which must not look like an expression of the net: that is reported."""
        if isinstance(value, dict):
            if len(value) == 1 and next(iter(value)) in _RESERVED_KEYS:
                hint = "Give the map a second key, or the key another name."
                self.error("reserved_key", f"A map cannot have {next(iter(value))} as its only key.", hint=hint)
            for item in value.values():
                self.checked_literal(item)
        elif isinstance(value, list):
            for item in value:
                self.checked_literal(item)
        return value

    def warn_of_secrets(self, value: Any, field: str) -> None:
        """Warns of a password, token or key that is written out."""
        if isinstance(value, list):
            for item in value:
                self.warn_of_secrets(item, field)
        if not isinstance(value, dict):
            return
        for key, item in value.items():
            hidden = isinstance(item, str) and (item == "" or "${secrets." in item or "{{" in item)
            if isinstance(item, str) and not hidden and _SECRET_KEY.search(key):
                hint = f"Write `{key}: ${{secrets.NAME}}` and give the secret to the host."
                self.warning("hardcoded_secret", f"«{key}» seems to be a secret written out.", field, hint=hint)
            self.warn_of_secrets(item, field)


def check_expression(text: str, names: set[str], report: Report, at: str, node: str) -> set[str] | None:
    try:
        compiled = compile_expression(text, words=True)
    except PenstockError as error:
        report.error("expression_syntax", f"The expression cannot be read: {error}", at, hint=error.hint, node=node)
        return None
    unknown = sorted(compiled.roots - names - set(ROOTS) - HOST_ROOTS)
    for name in unknown:
        otherwise = "A connection brings a name: its label, or where it comes from."
        hint = foreign_constant(name) or did_you_mean(name, names | set(ROOTS), otherwise)
        message = f"The expression uses «{name}», which nothing brings here."
        report.error("unresolved_reference", message, at, hint=hint, node=node)
    return None if unknown else set(compiled.roots)


def quoted(text: str) -> str:
    """A label as a text literal. The expression language has no escapes, and a label never has both kinds of quotes."""
    return f'"{text}"' if "'" in text else f"'{text}'"
