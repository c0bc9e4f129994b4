"""handler: node types that people write as classes (the diagrams' handler pattern, D-7.3, D-X.30).

    @register_handler("shout")
    class Shout(NodeHandler):
        def execute_with_envelopes(request, inputs):
            return EnvelopeFactory.create(inputs["default"].as_text().upper())

The engine has taken the tokens before a handler runs and publishes what it returns: `context.consume_inbound(node_id)`
hands over what was taken. `context` and `node_id` may be imported and used like globals: each attempt sees its own.
Methods may be written with `self` or without, as coroutines or not. A handler is made anew for every attempt: it keeps
no state.
"""

from __future__ import annotations

import base64
import contextvars
import datetime
import hashlib
import inspect
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from penstock.executors.contract import Done, Executor, Input, Outcome, Request, Services, Skipped, failed
from penstock.executors.contract import Failed as _Failed
from penstock.executors.parts.exceptions import exception_failure, secrets_of
from penstock.executors.parts.json_values import NotJson, as_text, json_value
from penstock.executors.parts.threads import in_thread

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "penstock.handlers"
C = TypeVar("C", bound=type)


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What travels (D-X.20): a body with its kind, what is known about it, and where it comes from."""

    body: Any = None
    content_type: str = "object"  # raw_text, object, conversation_state, binary, error
    metadata: dict[str, Any] = {}
    produced_by: str = ""
    trace_id: str = ""
    created_at: str = ""
    id: str = ""

    def as_text(self) -> str:
        return as_text(self.as_bytes() if self.content_type == "binary" else self.body)

    def as_json(self) -> Any:
        """The body as JSON holds it: bytes in base64; a text that is itself a JSON object or list, as that."""
        if self.content_type == "binary":
            return base64.b64encode(self.as_bytes()).decode()
        if isinstance(self.body, str) and self.body.lstrip()[:1] in ("{", "["):
            try:
                return msgspec.json.decode(self.body)
            except (msgspec.DecodeError, RecursionError):
                return self.body
        return self.body

    def as_bytes(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        if self.content_type == "binary" and isinstance(self.body, str):
            return base64.b64decode(self.body)
        return as_text(self.body).encode()

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        if self.content_type == "binary":
            fields["body"] = self.as_json()
        return fields


class EnvelopeFactory:
    """Makes envelopes; inside a handler they know by themselves who produced them."""

    @staticmethod
    def create(
        result: Any = None,
        *,
        content_type: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        produced_by: str | None = None,
        trace_id: str | None = None,
    ) -> Envelope:
        if isinstance(result, Envelope):
            return result
        body = json_value(result)
        kind = content_type or (
            "raw_text" if isinstance(body, str) else "binary" if isinstance(body, bytes) else "object"
        )
        here = _CONTEXT.get(None)
        made_by = produced_by if produced_by is not None else here.node_id if here else ""
        trace = trace_id if trace_id is not None else here.trace_id if here else ""
        return Envelope(
            body=body,
            content_type=kind,
            metadata=dict(metadata or {}),
            produced_by=made_by,
            trace_id=trace,
            created_at=_shown(time.time_ns() // 1_000_000),
            id=here.next_id() if here else "",
        )


class Inputs(dict[str, Envelope]):
    """The newest envelope per name, `default` being the first edge's; `history` has the older ones in order (D-X.7)."""

    history: dict[str, list[Envelope]]

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.history = {}
        for position, input in enumerate(request.inputs):
            made = [_received(input, index, request) for index in range(len(input.bodies))]
            for name in dict.fromkeys([*(["default"] if position == 0 else []), input.var or input.source]):
                self[name] = made[-1]
                self.history[name] = made[:-1]


class Context:
    """What a handler may ask of the run it works in."""

    def __init__(self, request: Request, services: Services) -> None:
        self._request = request
        self._made = 0
        self.services = services
        self.node_id = request.node
        self.run_id = request.run
        self.epoch = request.epoch
        self.iteration = request.visit
        self.trace_id = request.trace_id

    def consume_inbound(self, node: Any = None) -> Inputs:
        """What the engine has taken for this node. A handler never takes tokens by itself, and never another node's."""
        if node is not None and str(node) != self.node_id:
            raise LookupError(f"«{node}» is not the node that works here")
        return Inputs(self._request)

    def service(self, name: str) -> Any:
        """A dependency that the application lends to handlers (`services` among the settings, D-8.2.4)."""
        lent = self.services.settings.get("services") or {}
        if name not in lent:
            raise LookupError(f"the application lends no service «{name}»")
        return lent[name]

    def next_id(self) -> str:
        """The same on every attempt: ids are derived from the effect's key."""
        self._made += 1
        return hashlib.sha256(f"{self._request.key}\0{self._made}".encode()).hexdigest()[:24]


class HandlerRequest:
    """The request as a handler sees it: all fields of the attempt, and `context`, `node_id`, `props`."""

    def __init__(self, request: Request, context: Context) -> None:
        self._request = request
        self.context = context
        self.node_id = request.node
        args = request.args if isinstance(request.args, Mapping) else {}
        self.props: Mapping[str, Any] = args["props"] if isinstance(args.get("props"), Mapping) else args

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


_CONTEXT: contextvars.ContextVar[Context | None] = contextvars.ContextVar("penstock_handler_context", default=None)


def _here() -> Context:
    context = _CONTEXT.get()
    if context is None:
        raise RuntimeError("«context» and «node_id» exist only while a handler works")
    return context


class _ContextProxy:
    def __getattr__(self, name: str) -> Any:
        return getattr(_here(), name)


class _NodeIdProxy:
    def __str__(self) -> str:
        return _here().node_id

    def __repr__(self) -> str:
        return repr(str(self))

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


context: Any = _ContextProxy()
node_id: Any = _NodeIdProxy()


class NodeHandler:
    """What a node type does. Override `execute_with_envelopes`; the rest may stay."""

    def consume_token_inputs(self, request: Any, inputs: Any) -> Any:
        return request.context.consume_inbound(request.node_id)

    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        raise NotImplementedError("a handler must have execute_with_envelopes(request, inputs)")


HANDLERS: dict[str, type] = {}


def register_handler(node_type: str) -> Callable[[C], C]:
    """Makes a class the handler of a node type."""

    def register(cls: C) -> C:
        known = HANDLERS.get(node_type)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"the node type «{node_type}» already has the handler {known.__qualname__}")
        HANDLERS[node_type] = cls
        return cls

    return register


def load_handlers() -> dict[str, type]:
    """All handlers: those registered here, and those that installed packages offer as entry points."""
    for point in offered():
        if point.name not in HANDLERS:
            HANDLERS[point.name] = point.load()
    return dict(HANDLERS)


def registered_here() -> set[str]:
    """Node types of this process alone: another one would not know them."""
    return set(HANDLERS) - {point.name for point in offered()}


@cache
def offered() -> tuple[EntryPoint, ...]:
    """What installed packages offer, looked for once: it reads the metadata of all of them, and every check asks."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINTS))


class HandlerExecutor:
    """Runs the handler of the type that the arguments name, or the one it was made for."""

    def __init__(self, name: str = "handler", handler: type | None = None) -> None:
        self.name = name
        self._handler = handler

    async def run(self, request: Request, services: Services) -> Outcome:
        wanted = request.args.get("type") if isinstance(request.args, Mapping) else None
        handler = self._handler or HANDLERS.get(str(wanted or request.executor))
        if handler is None:
            return failed(
                "HANDLER_UNKNOWN", "validation", f"No handler is registered for «{wanted or request.executor}»."
            )
        here = Context(request, services)
        token = _CONTEXT.set(here)
        try:
            instance, asked = handler(), HandlerRequest(request, here)
            given: Any = Inputs(request)
            if hasattr(handler, "consume_token_inputs"):
                given = await _method(handler, instance, "consume_token_inputs", asked, given)
            result = await _method(handler, instance, "execute_with_envelopes", asked, given)
            if isinstance(result, Done | _Failed | Skipped):
                return result
            made = EnvelopeFactory.create(result)
            return Done(
                made.as_bytes() if made.content_type == "binary" else made.body,
                json_value(made.metadata),
                made.content_type,
            )
        except NotJson as error:
            return failed("OUTPUT_INVALID", "permanent", f"The handler returned what JSON cannot hold: {error}.")
        except Exception as error:
            return exception_failure(error, secrets_of(services))
        finally:
            _CONTEXT.reset(token)


def handler_executors() -> dict[str, Callable[[], Executor]]:
    """One executor per handler, by node type."""

    def maker(node_type: str, handler: type) -> Callable[[], Executor]:
        return lambda: HandlerExecutor(node_type, handler)

    return {node_type: maker(node_type, handler) for node_type, handler in load_handlers().items()}


async def _method(handler: type, instance: Any, name: str, request: HandlerRequest, inputs: Any) -> Any:
    """Call a method that was written with `self` or, as the pattern shows it, without; a plain one in a thread."""
    written = inspect.getattr_static(handler, name)
    bound = getattr(instance, name)
    if not isinstance(written, staticmethod | classmethod):
        parameters = list(inspect.signature(written).parameters.values())
        named = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(named) == 2 and named[0].name != "self":
            bound = written
    if inspect.iscoroutinefunction(bound):
        return await bound(request, inputs)
    result = await in_thread(bound, request, inputs)
    return await result if inspect.isawaitable(result) else result


def _received(input: Input, index: int, request: Request) -> Envelope:
    meta = input.metas[index] if index < len(input.metas) and isinstance(input.metas[index], Mapping) else {}
    body = input.bodies[index]
    kind = input.content_types[index] if index < len(input.content_types) else None
    return Envelope(
        body=body,
        content_type=kind
        or ("raw_text" if isinstance(body, str) else "binary" if isinstance(body, bytes) else "object"),
        metadata=metadata_of(meta, input.visits[index] if index < len(input.visits) else None),
        produced_by=input.source,
        trace_id=request.trace_id,
        created_at=_shown(input.ats[index]) if index < len(input.ats) else "",
        id=f"{input.edge}/{request.epoch}/{input.seqs[index]}" if index < len(input.seqs) else "",
    )


def metadata_of(meta: Mapping[str, Any], visit: int | None) -> dict[str, Any]:
    """What is known about an envelope, by the names of D-X.20: the journal has the time that the work took as `ms`."""
    known = {name: value for name, value in meta.items() if name != "ms"}
    if visit is None:
        return {"execution_time_ms": meta["ms"], **known} if "ms" in meta else known
    return {"execution_time_ms": meta.get("ms", 0), "iteration": visit, **known}


def _shown(milliseconds: int) -> str:
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC).isoformat(timespec="milliseconds")
