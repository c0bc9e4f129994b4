"""Checks Python that a document brings for the sandbox: what it reads and nothing gives it, what it cannot import.

The script is only read here, never run: its names come from Python's own tables of symbols.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches

from penstock.lang.report import PlaceReport, did_you_mean

#: What the sandbox has; a test holds these equal to it.
BUILTINS = frozenset(
    """
    ArithmeticError AssertionError AttributeError BaseException Ellipsis Exception False FileExistsError
    FileNotFoundError ImportError IndexError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError
    ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
    PermissionError RecursionError RuntimeError StopIteration SyntaxError SystemExit TimeoutError True TypeError
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError ValueError ZeroDivisionError __debug__ __file__ __name__ abs
    all any bin bool bytes chr complex dict divmod enumerate eval exec filter float format frozenset getattr hasattr
    hash hex id int isinstance iter len list locals map max min next object oct open ord pow print property range repr
    reversed round set setattr slice sorted str sum tuple type zip
    """.split()
)
MODULES = frozenset(
    """
    asyncio base64 binascii bisect collections copy csv dataclasses datetime decimal functools hashlib itertools json
    math os pathlib posixpath random re sys time tomllib typing unicodedata
    """.split()
)
_LONGEST = 64 * 1024
_NEAR = 0.8


def check_script(
    source: str, known: Collection[str], report: PlaceReport, function: str = "", *, all_known: bool = True
) -> None:
    """Reports what is wrong with a script that is given the known names. Without `all_known` it may be given others,
    too: then only a name that is nearly one of them is told, and one of Python's that the sandbox lacks."""
    if not source.strip() or len(source) > _LONGEST:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes and comparisons: nobody here has asked
            tree = ast.parse(source)
            table = symtable.symtable(source, "script", "exec")
    except SyntaxError as error:
        _report_unreadable(error, report)
        return
    except (ValueError, RecursionError, MemoryError):
        return  # the sandbox says what it cannot read
    _check_modules(tree, report)
    _check_names(tree, table, known, all_known, report)
    if function and function not in (defined := _functions(tree)):
        hint = did_you_mean(function, defined, f"Write `def {function}(…):` in it.")
        report.error("script_function", f"The script has no function «{function}».", hint=hint)


def script_names(source: str) -> tuple[set[str], set[str]]:
    """The names that a script reads and nothing in it gives, and those that its outermost lines set; none of a script
    that cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source[:_LONGEST])
            table = symtable.symtable(source[:_LONGEST], "script", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()
    changed = _only_changed(tree)
    sets = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() and not symbol.is_imported()}
    sets -= set(_functions(tree)) | {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    return (_free_names(table) | changed) - BUILTINS, sets


def function_arguments(source: str, function: str) -> set[str]:
    """The names of a function's parameters; none when there is no such function."""
    try:
        tree = ast.parse(source[:_LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return {argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    return set()


def calls_main(source: str) -> bool:
    """Whether a script only defines what is to be called: a function `main`, no `result` and no last line with a
    value."""
    try:
        tree = ast.parse(source[:_LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    sets_result = "result" in script_names(source)[1]
    return "main" in _functions(tree) and not sets_result and not isinstance(tree.body[-1], ast.Expr)


def result_names(source: str) -> set[str]:
    """The keys that a script writes out for its `result`, as far as it can be read."""
    try:
        tree = ast.parse(source[:_LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    results = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "result" for target in node.targets)
    ]
    keys = [key for value in results if isinstance(value, ast.Dict) for key in value.keys]
    return {key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def _report_unreadable(error: SyntaxError, report: PlaceReport) -> None:
    """What Python cannot read; the sandbox reads newer f-strings than this Python may."""
    why = str(error.msg or "it is not Python")
    if "f-string" not in why:
        message = f"The script cannot be read: {why} ({_place(error.lineno or 1, (error.offset or 1) - 1)})."
        report.error("script_syntax", message, hint="Correct the line; the script is Python.")


def _place(line: int, column: int) -> str:
    return f"line {line}, column {column + 1}"


def _functions(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


# ---- imports ---------------------------------------------------------------------------------------------------------


def _check_modules(tree: ast.AST, report: PlaceReport) -> None:
    for node in _outside_try(tree):
        named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            named = [node.module or ""]
        for name in named:
            module = name.partition(".")[0]
            if module not in MODULES:
                place = _place(node.lineno, node.col_offset)  # type: ignore[attr-defined]
                hint = did_you_mean(module, MODULES, "The sandbox has math, json, re, datetime and some others.")
                report.error("script_module", f"The sandbox has no module «{module}» ({place}).", hint=hint)


def _outside_try(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those in a `try`, which may expect to fail."""
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.Try):
            yield child
            yield from _outside_try(child)


# ---- names -----------------------------------------------------------------------------------------------------------


def _check_names(
    tree: ast.Module, table: symtable.SymbolTable, known: Collection[str], all_known: bool, report: PlaceReport
) -> None:
    if _expects_name_errors(tree):
        return
    _check_handler_names(tree, known, all_known, report)
    free = (_free_names(table) | _only_changed(tree)) - BUILTINS - set(known)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    for node in _first_reads(ast.walk(tree), free):
        name, place = node.id, _place(node.lineno, node.col_offset)
        near = _nearest(name, {*known, *(BUILTINS if name in called else ())})
        if hasattr(builtins, name):
            hint = did_you_mean(name, BUILTINS, "Write it another way.")
            report.error("script_name", f"The sandbox has no «{name}» ({place}).", hint=hint)
        elif all_known:
            otherwise = "The script knows what its inputs bring, what it sets itself, and Python's own names."
            hint = near or did_you_mean(name, known, otherwise)
            report.error("script_name", f"The script reads «{name}» ({place}), which nothing gives it.", hint=hint)
        elif near:
            message = f"The script reads «{name}» ({place}), which nothing else here names."
            report.warning("script_name", message, hint=near)


def _nearest(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=_NEAR) if len(name) > 2 else []
    return f"Did you mean «{near[0]}»?" if near else ""


def _expects_name_errors(tree: ast.Module) -> bool:
    handled = (node.type for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler))
    return any(
        name.id == "NameError" for type in handled if type for name in ast.walk(type) if isinstance(name, ast.Name)
    )


def _free_names(top: symtable.SymbolTable) -> set[str]:
    """The names that are read and that no line of the script sets."""
    read: set[str] = set()
    set_here: set[str] = set()
    pending = [top]
    while pending:
        table = pending.pop()
        pending += table.get_children()
        for symbol in table.get_symbols():
            outermost = table is top
            if (outermost or symbol.is_declared_global()) and (symbol.is_assigned() or symbol.is_imported()):
                set_here.add(symbol.get_name())
            if symbol.is_referenced() and (outermost or symbol.is_global()):
                read.add(symbol.get_name())
    return read - set_here - {child.get_name() for child in top.get_children()}


def _only_changed(tree: ast.Module) -> set[str]:
    """The names that `x += 1` or `del x` want to be there, and that no line of the script sets."""
    nodes = list(ast.walk(tree))
    changed = [node.target for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)]
    changed += [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)]
    if not changed:
        return set()
    own = {id(name) for name in changed}
    others = [node for node in nodes if id(node) not in own]
    given = {node.id for node in others if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in others:  # imports, functions, classes, arguments, handlers, patterns
        given |= {str(getattr(node, word, None) or "") for word in ("name", "asname", "arg", "rest")}
    return {name.id for name in changed} - {part for name in given for part in (name, name.partition(".")[0])}


def _check_handler_names(tree: ast.Module, known: Collection[str], all_known: bool, report: PlaceReport) -> None:
    """The name of `except … as e` is deleted at the end of its handler: whoever reads it elsewhere finds none."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for scope in (tree, *functions):
        nodes = list(_of_scope(scope.body))
        handlers = [node for node in nodes if isinstance(node, ast.ExceptHandler) and node.name]
        names = {str(handler.name) for handler in handlers} - _given_in(scope)
        if scope is tree:
            names -= set(known) | BUILTINS
        inside = {id(node) for handler in handlers for node in ast.walk(handler)}
        outside = [node for node in nodes if id(node) not in inside]
        for node in _first_reads(outside, names):
            place, certain = _place(node.lineno, node.col_offset), all_known or scope is not tree
            message = f"The script reads «{node.id}» ({place}) outside of the `except … as {node.id}` that names it."
            hint = f"Keep it under another name there: `error = {node.id}`."
            (report.error if certain else report.warning)("script_name", message, hint=hint)


def _of_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a module or function without those of functions and classes in it."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _of_scope(ast.iter_child_nodes(node))


def _given_in(scope: ast.AST) -> set[str]:
    """The names that anything but a handler gives, in a scope or anywhere inside it."""
    given: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            given |= set(node.names)
        elif not isinstance(node, ast.ExceptHandler):  # imports, functions, classes, arguments, patterns
            given |= {str(getattr(node, word, None) or "") for word in ("name", "asname", "arg", "rest")}
    return given


def _first_reads(nodes: Iterable[ast.AST], names: Collection[str]) -> list[ast.Name]:
    """The first place of each name, in the order of the text."""
    reads = [node for node in nodes if isinstance(node, ast.Name) and node.id in names]
    reads.sort(key=lambda node: (node.lineno, node.col_offset))
    return list({node.id: node for node in reversed(reads)}.values())[::-1]
