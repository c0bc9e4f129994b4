"""graph: a compiled LangGraph graph, or anything that is called like one, is an agent (extra `langgraph`)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.exceptions import exception_failure, secrets_of
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.tools import Tool, Toolbox, ToolFailed, reported_failure

Call = Callable[..., Awaitable[Any]]


class GraphExecutor:
    """`graph.ainvoke(state, config)` gets {instruction, input_data, tools, messages}; `read` makes the result of what
    it gives back: `result` of the state, else its last message, else the whole state.

    `config["configurable"]["tools"]` holds the tools that the activity allows, and no others: name → async function
    of the tool's arguments, which raises ToolFailed. `tools` of the state are their names.
    The thread of its checkpointer, where it has one, is the effect's key: after a crash it goes on where it was.
    """

    def __init__(self, name: str, graph: Any, read: Callable[[Any], Any] | None = None) -> None:
        self.name, self.graph, self.read = name, graph, read or _result

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        names = [str(tool) for tool in args.get("tools") or ()]
        try:
            async with Toolbox(request, services) as box:
                # every server is reached here: it must be left by the task that has entered it, and nodes are others
                tools = {name: _lent_tool(name, tool, box) for name, tool in (await box.by_name(names)).items()}
                given = await self._invoked(args, tools, request)
                result = self.read(given)
                result = await result if inspect.isawaitable(result) else result
        except ToolFailed as error:
            return error.outcome
        except Exception as error:
            return exception_failure(error, secrets_of(services))
        try:
            return Done(json_value(result), {"transcript": json_value(_messages(given)), "model": self.name})
        except NotJson as error:
            return failed("OUTPUT_INVALID", "permanent", f"«{self.name}» gave back what JSON cannot hold: {error}.")

    async def _invoked(self, args: Mapping[str, Any], tools: dict[str, Call], request: Request) -> Any:
        text = str(args.get("instruction") or "")
        state = {
            "instruction": text, "input_data": args.get("input_data"), "tools": list(tools),
            "remarks": args.get("remarks"), "draft": args.get("draft"), "messages": [{"role": "user", "content": text}],
        }  # fmt: skip
        config = {
            "configurable": {"thread_id": request.key, "tools": tools},
            "metadata": {"run": request.run, "node": request.node},
        }
        if hasattr(self.graph, "ainvoke"):
            return await self.graph.ainvoke(state, config)
        return await in_thread(self.graph.invoke, state, config)


def _lent_tool(name: str, tool: Tool, box: Toolbox) -> Call:
    async def call(**arguments: Any) -> Any:
        result = await tool.call(arguments, box.key(tool.name, arguments))
        wrong = reported_failure(tool.name, result)
        if wrong is not None:
            raise ToolFailed(wrong)
        return result

    call.__name__, call.__doc__ = name, tool.description
    return call


def _result(state: Any) -> Any:
    if not isinstance(state, Mapping):
        return state
    if "result" in state:
        return state["result"]
    messages = state.get("messages")
    if isinstance(messages, list) and messages:
        return {"result": _text(messages[-1])}
    return {name: value for name, value in state.items() if name not in ("instruction", "tools", "messages")}


def _messages(state: Any) -> list[dict[str, Any]]:
    messages = state.get("messages") if isinstance(state, Mapping) else None
    return (
        [{"role": _role(message), "content": _text(message)} for message in messages]
        if isinstance(messages, list)
        else []
    )


def _role(message: Any) -> str:
    return str(message.get("role") if isinstance(message, Mapping) else getattr(message, "type", "assistant"))


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    return content if isinstance(content, str) else str(content)
