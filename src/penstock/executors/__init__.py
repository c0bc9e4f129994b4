"""The table of executors: one line each. What is heavy is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from penstock.executors.contract import Executor


def _lazy(module: str, cls: str) -> Callable[[], Executor]:
    def make() -> Executor:
        made: Executor = getattr(import_module(f"penstock.executors.{module}"), cls)()
        return made

    return make


BUILTIN: dict[str, Callable[[], Executor]] = {
    "agent": _lazy("agent", "AgentExecutor"),
    "api": _lazy("api", "ApiExecutor"),
    "assign": _lazy("assign", "AssignExecutor"),
    "bi": _lazy("bi", "BiExecutor"),
    "cli_agent": _lazy("cli_agent", "CliAgentExecutor"),
    "code": _lazy("code", "CodeExecutor"),
    "command": _lazy("command", "CommandExecutor"),
    "context": _lazy("context", "ContextExecutor"),
    "dataset": _lazy("dataset", "DatasetExecutor"),
    "expression": _lazy("expression", "ExpressionExecutor"),
    "file": _lazy("file", "FileExecutor"),
    "handler": _lazy("handler", "HandlerExecutor"),
    "http": _lazy("http", "HttpExecutor"),
    "judgment": _lazy("judgment", "JudgmentExecutor"),
    "llm": _lazy("llm", "LlmExecutor"),
    "mcp": _lazy("mcp", "McpExecutor"),
    "notify": _lazy("notify", "NotifyExecutor"),
    "person": _lazy("person", "PersonExecutor"),
    "processor": _lazy("processor", "ProcessorExecutor"),
    "publish": _lazy("publish", "PublishExecutor"),
    "process_data": _lazy("activity_data", "ActivityDataExecutor"),
    "rollback": _lazy("rollback", "RollbackExecutor"),
    "rollout": _lazy("rollout", "RolloutExecutor"),
    "shape": _lazy("shape", "ShapeExecutor"),
    "simulate": _lazy("simulate", "SimulateExecutor"),
    "sql": _lazy("sql", "SqlExecutor"),
    "stream": _lazy("stream", "StreamExecutor"),
    "template": _lazy("template", "TemplateExecutor"),
    "tool": _lazy("tool", "ToolExecutor"),
}


class ExecutorTable(Mapping[str, Executor]):
    """The caller's executors first, then the built-in ones, made when they are first asked for."""

    def __init__(self, own: dict[str, Executor]) -> None:
        self.own = own
        self.made: dict[str, Executor] = {}

    def __getitem__(self, name: str) -> Executor:
        if name in self.own:
            return self.own[name]
        if name not in self.made:
            self.made[name] = BUILTIN[name]()
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**BUILTIN, **self.own})

    def __len__(self) -> int:
        return len({**BUILTIN, **self.own})
