"""The shelf of executors: one line each. What is heavy is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from penstock.executors.contract import Executor


def _lazy(module: str, cls: str) -> Callable[[], Executor]:
    def make() -> Executor:
        made: Executor = getattr(import_module(f"penstock.executors.{module}"), cls)()
        return made

    return make


BUILTIN: dict[str, Callable[[], Executor]] = {
    "code": _lazy("code", "CodeExecutor"),
    "expression": _lazy("expression", "ExpressionExecutor"),
    "file": _lazy("file", "FileExecutor"),
    "handler": _lazy("handler", "HandlerExecutor"),
    "http": _lazy("http", "HttpExecutor"),
    "llm": _lazy("llm", "LlmExecutor"),
    "person": _lazy("person", "PersonExecutor"),
    "template": _lazy("template", "TemplateExecutor"),
}
