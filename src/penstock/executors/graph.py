"""graph: a compiled LangGraph graph, or anything that is called like one, is an agent (extra `langgraph`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.raised import raised, secrets_of
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.values import NotPlain, plain


class GraphExecutor:
    """`graph.ainvoke(state, config)` gets {instruction, input_data, tools, messages}; `read` makes the result of what
    it gives back: `result` of the state, else its last message, else the whole state.

    The thread of its checkpointer, where it has one, is the effect's key: after a crash it goes on where it was.
    """

    def __init__(self, name: str, graph: Any, read: Callable[[Any], Any] | None = None) -> None:
        self.name, self.graph, self.read = name, graph, read or _result

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        text = str(args.get("instruction") or "")
        state = {
            "instruction": text, "input_data": args.get("input_data"), "tools": args.get("tools") or [],
            "remarks": args.get("remarks"), "messages": [{"role": "user", "content": text}],
        }  # fmt: skip
        config = {"configurable": {"thread_id": request.key}, "metadata": {"run": request.run, "node": request.node}}
        try:
            if hasattr(self.graph, "ainvoke"):
                given = await self.graph.ainvoke(state, config)
            else:
                given = await in_thread(self.graph.invoke, state, config)
            result = self.read(given)
            result = await result if inspect.isawaitable(result) else result
        except Exception as error:
            return raised(error, secrets_of(services))
        try:
            return Done(plain(result), {"transcript": plain(_messages(given)), "model": self.name})
        except NotPlain as error:
            return failed("OUTPUT_INVALID", "permanent", f"«{self.name}» gave back what JSON cannot hold: {error}.")


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
    return [{"role": _role(one), "content": _text(one)} for one in messages] if isinstance(messages, list) else []


def _role(message: Any) -> str:
    return str(message.get("role") if isinstance(message, Mapping) else getattr(message, "type", "assistant"))


def _text(message: Any) -> str:
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    return content if isinstance(content, str) else str(content)
