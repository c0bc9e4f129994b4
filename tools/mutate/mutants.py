"""What can be broken in a file: each mutant changes one small place, and says how.

Not broken is what no test should notice: docstrings and texts for people, annotations that nobody reads at run time,
imports, asserts, decorators, `__slots__` and what stands under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"), ast.BitXor: ("^", "&"), ast.Pow: ("**", "*"),
}  # fmt: skip
#: a text that is a name, a key or a code; anything with a space is for people
NAME = re.compile(r"[\w.:$/\-]+")
#: arguments that people read
FOR_PEOPLE = {"hint", "message", "description", "label", "doc", "title", "help", "summary", "detail"}
#: calls that people read
TELLING = {"error", "warning", "info", "debug", "exception", "log", "print", "TypeVar", "cast", "NewType"}
#: of `Annotated[…, Meta(…)]`: what is for people
META_TEXTS = {"description", "title", "examples"}
NEVER = {"__slots__", "__all__", "__match_args__"}


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of a file become `text`."""

    file: str
    line: int
    last_line: int
    statement: int
    function: str
    names: tuple[str, ...]
    kind: str
    start: int
    end: int
    text: str
    key: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]

    def is_valid(self, source: bytes) -> bool:
        try:
            compile(self.apply(source), self.file, "exec")
        except (SyntaxError, ValueError):
            return False
        return True

    def diff(self, source: bytes) -> str:
        before, after = (text.decode().splitlines() for text in (source, self.apply(source)))
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def mutants(file: str, source: bytes) -> list[Mutant]:
    """All of a file, each with a key that stays when lines above it move."""
    places = _Places(file, source)
    seen: dict[str, int] = {}
    made = []
    texts = source.decode().splitlines()
    for place in places.walk():
        before, old = texts[place.line - 1].strip(), source[place.start : place.end].decode()
        content = repr((file, place.function, before, place.kind, old, place.text))
        number = seen[content] = seen.get(content, 0) + 1
        key = hashlib.sha256(f"{content}{number}".encode()).hexdigest()[:16]
        made.append(
            Mutant(
                file, place.line, place.last_line, place.statement, place.function, place.names, place.kind,
                place.start, place.end, place.text, key,
            )
        )  # fmt: skip
    return made


@dataclass(frozen=True)
class _Place:
    line: int
    last_line: int
    statement: int
    function: str
    names: tuple[str, ...]
    kind: str
    start: int
    end: int
    text: str


class _Places:
    def __init__(self, file: str, source: bytes) -> None:
        self.source, self.tree = source, ast.parse(source)
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.function: list[str] = []
        self.in_class = False
        self.statement: ast.stmt | None = None
        self.names: tuple[str, ...] = ()

    def walk(self) -> Iterator[_Place]:
        yield from self._body(self.tree.body)

    # ---- statements ----------------------------------------------------------------------------------------------

    def _body(self, body: list[ast.stmt]) -> Iterator[_Place]:
        for i, statement in enumerate(body):
            if i == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            outer, self.statement = self.statement, statement
            names = self.names
            if not self.function or self.in_class:
                self.names = tuple(_assigned(statement)) or names
            yield from self._statement(statement)
            self.statement, self.names = outer, names

    def _statement(self, node: ast.stmt) -> Iterator[_Place]:
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.Global | ast.Nonlocal | ast.Pass):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self._function(node)
        elif isinstance(node, ast.ClassDef):
            in_class, self.in_class = self.in_class, bool(node.bases) or self.in_class
            self.function.append(node.name)
            names, self.names = self.names, (node.name,)
            yield from self._body(node.body)
            self.names = names
            self.function.pop()
            self.in_class = in_class
        elif not (_is_not_run(node) or NEVER & set(_assigned(node))):
            yield from self._plain(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[_Place]:
        if node.name in ("__repr__", "__str__"):
            return
        in_class, self.in_class = self.in_class, False
        self.function.append(node.name)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            for place in self._expression(default):  # read at import; who runs the function sees it
                yield replace(place, last_line=node.end_lineno or place.last_line)
        yield from self._body(node.body)
        self.function.pop()
        self.in_class = in_class

    def _plain(self, node: ast.stmt) -> Iterator[_Place]:
        yield from self._deleted(node)
        if isinstance(node, ast.AnnAssign):
            if self.in_class:
                yield from self._annotation(node.annotation)
            if node.value is not None:
                yield from self._expression(node.value)
            return
        if isinstance(node, ast.AugAssign) and type(node.op) in ARITHMETIC:
            old, new = ARITHMETIC[type(node.op)]
            yield from self._between(node.target, node.value, old + "=", new + "=", "operator")
        if isinstance(node, ast.If | ast.While):
            yield self._place(node.test, f"not ({self._text(node.test)})", "condition")
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.Raise) and name == "exc":
                continue  # what is raised is a text for people; that it is raised is another mutant
            if isinstance(value, ast.expr):
                yield from self._expression(value)
            elif isinstance(value, list):
                statements = [part for part in value if isinstance(part, ast.stmt)]
                if statements:
                    yield from self._body(statements)
                for part in value:
                    if isinstance(part, ast.expr):
                        yield from self._expression(part)
                    elif isinstance(part, ast.ExceptHandler):
                        yield from self._body(part.body)
                    elif isinstance(part, ast.withitem):
                        yield from self._expression(part.context_expr)
                    elif isinstance(part, ast.match_case):
                        if part.guard is not None:
                            yield self._place(part.guard, f"not ({self._text(part.guard)})", "condition")
                            yield from self._expression(part.guard)
                        yield from self._body(part.body)

    def _deleted(self, node: ast.stmt) -> Iterator[_Place]:
        if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
            yield self._place(node.value, "None", "return")
        elif isinstance(node, ast.Break):
            yield self._place(node, "continue", "statement")
        elif isinstance(node, ast.Continue):
            yield self._place(node, "break", "statement")
        elif isinstance(node, ast.Raise | ast.AugAssign | ast.Delete):
            yield self._place(node, "pass", "deleted")
        elif isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom):
            if not _is_telling(node.value, logs_only=True):
                yield self._place(node, "pass", "deleted")
        elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets):
            yield self._place(node, "pass", "deleted")

    # ---- expressions ---------------------------------------------------------------------------------------------

    def _annotation(self, node: ast.expr) -> Iterator[_Place]:
        """Bounds and choices of a field are read at run time; the rest of an annotation is for the type checker."""
        if isinstance(node, ast.Subscript):
            if ast.unparse(node.value).endswith("Literal"):
                yield from self._expression(node.slice)
            elif not ast.unparse(node.value).endswith("ClassVar"):
                yield from self._annotation(node.slice)
        elif isinstance(node, ast.Tuple):
            for part in node.elts:
                yield from self._annotation(part)
        elif isinstance(node, ast.BinOp):
            yield from self._annotation(node.left)
            yield from self._annotation(node.right)
        elif isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg not in META_TEXTS:
                    yield from self._expression(keyword.value)

    def _expression(self, node: ast.expr) -> Iterator[_Place]:
        if isinstance(node, ast.Lambda):
            yield from self._expression(node.body)
            return
        if isinstance(node, ast.Constant):
            yield from self._constant(node)
        elif isinstance(node, ast.Compare):
            yield from self._compare(node)
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from self._between(left, right, old, new, "logic")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield self._place(node, f"({self._text(node.operand)})", "condition")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield self._place(node, f"({self._text(node.operand)})", "operator")
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            yield from self._between(node.left, node.right, *ARITHMETIC[type(node.op)], "operator")
        elif isinstance(node, ast.IfExp):
            yield self._place(node.test, f"not ({self._text(node.test)})", "condition")
        elif isinstance(node, ast.Call):
            yield from self._call(node)
            return
        if isinstance(node, ast.JoinedStr):
            return
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self._expression(child)
            elif isinstance(child, ast.comprehension):
                yield from self._expression(child.iter)
                for test in child.ifs:
                    yield self._place(test, f"not ({self._text(test)})", "condition")
                    yield from self._expression(test)
            elif isinstance(child, ast.keyword):
                yield from self._expression(child.value)

    def _call(self, node: ast.Call) -> Iterator[_Place]:
        if _is_telling(node, logs_only=True):
            return
        yield from self._expression(node.func)
        if len(node.args) > 1 and not any(isinstance(one, ast.Starred) for one in node.args[:2]):
            first, second = node.args[:2]
            if ast.unparse(first) != ast.unparse(second) and not _is_telling(node):
                gap = self.source[self._end(first) : self._start(second)].decode()
                whole = self._text(second) + gap + self._text(first)
                yield self._made(first, self._start(first), self._end(second), whole, "arguments", second)
        for value in node.args:
            if not (_is_telling(node) and isinstance(value, ast.Constant)):
                yield from self._expression(value)
        for keyword in node.keywords:
            if keyword.arg not in FOR_PEOPLE:
                yield from self._expression(keyword.value)

    def _constant(self, node: ast.Constant) -> Iterator[_Place]:
        value = node.value
        if value is True or value is False:
            yield self._place(node, str(not value), "constant")
        elif isinstance(value, int):
            yield self._place(node, str(value + 1), "off by one")
            if value > 0:
                yield self._place(node, str(value - 1), "off by one")
        elif isinstance(value, float):
            yield self._place(node, repr(value * 2 + 1), "constant")
        elif isinstance(value, str) and NAME.fullmatch(value):
            yield self._place(node, repr(value + "_"), "constant")

    def _compare(self, node: ast.Compare) -> Iterator[_Place]:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            old, new = COMPARISONS[type(op)]
            yield from self._between(left, right, old, new, "comparison")

    def _between(self, left: ast.expr, right: ast.expr, old: str, new: str, kind: str) -> Iterator[_Place]:
        """The operator between two operands, which may stand in brackets."""
        start, end = self._end(left), self._start(right)
        gap = self.source[start:end].decode()
        pattern = r"\s+".join(map(re.escape, old.split()))
        match = re.search(rf"(?<![\w])({pattern})(?![\w])" if old[0].isalpha() else f"({pattern})", gap)
        if match:
            at = start + len(gap[: match.start()].encode())
            yield self._made(left, at, at + len(match[0].encode()), new, kind, right)

    # ---- places --------------------------------------------------------------------------------------------------

    def _place(self, node: ast.expr | ast.stmt, text: str, kind: str) -> _Place:
        return self._made(node, self._start(node), self._end(node), text, kind, node)

    def _made(
        self, first: ast.expr | ast.stmt, start: int, end: int, text: str, kind: str, last: ast.expr | ast.stmt
    ) -> _Place:
        statement = self.statement.lineno if self.statement is not None else first.lineno
        at_import = not self.function or self.in_class
        return _Place(
            first.lineno, last.end_lineno or last.lineno, statement, ".".join(self.function),
            self.names if at_import else (), kind, start, end, text,
        )  # fmt: skip

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None, "parsed from a text"
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        return self.source[self._start(node) : self._end(node)].decode()


def _is_telling(node: ast.expr, logs_only: bool = False) -> bool:
    """A call whose texts are for people; with `logs_only`, one that does nothing else."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if logs_only:
        owner = ast.unparse(node.func.value).lower() if isinstance(node.func, ast.Attribute) else ""
        return name in TELLING and (
            owner.endswith(("log", "logger", "logging")) or name in ("print", "TypeVar", "NewType")
        )
    return name in TELLING


def _assigned(node: ast.stmt) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _is_not_run(node: ast.stmt) -> bool:
    """For the type checker, or for who starts the file as a program."""
    test = ast.unparse(node.test) if isinstance(node, ast.If) else ""
    return "TYPE_CHECKING" in test or test.startswith("__name__ ==")
