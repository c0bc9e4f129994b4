"""What an executor is: one attempt in, one outcome out. It takes no token, commits nothing and never retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from penstock.executors.parts.files.path_policy import PathPolicy
from penstock.executors.parts.network.self_calls import SelfCalls
from penstock.kernel.failure import Failure


class Input(msgspec.Struct, frozen=True):
    """What came along one edge: every token that was taken from it, oldest first."""

    edge: str
    source: str  # node id
    var: str
    bodies: tuple[Any, ...]
    content_types: tuple[str, ...]
    metas: tuple[Any, ...]
    seqs: tuple[int, ...] = ()  # the tokens' numbers on this edge
    ats: tuple[int, ...] = ()  # when they were made, in milliseconds since the epoch
    visits: tuple[int, ...] = ()  # the iterations that made them

    @property
    def body(self) -> Any:
        return self.bodies[-1]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of one effect. `key` is the same on every attempt and after every crash: hand it to the receiver."""

    key: str
    tenant: str
    run: str
    node: str
    executor: str
    args: Any
    inputs: tuple[Input, ...] = ()
    epoch: int = 0
    visit: int = 1
    attempt: int = 1
    probe: int = 0
    timeout_ms: int | None = None
    trace_id: str = ""
    result: Any = None  # undo: what the node that is undone had answered
    names: Mapping[str, Any] = {}  # what expressions of this node may read; only for effects that say `sees_run`
    at: int = 0  # when the host asks, in milliseconds since the epoch; no executor has a clock of its own
    place: str = ""  # of the node's pool, that this attempt has
    mark: str = ""  # how this run writes a reference to a secret; nobody outside can guess it
    again: bool = False  # this very attempt was asked for before, maybe by a process that is gone

    def named(self) -> dict[str, Any]:
        """The newest body per variable name; `default` is the first input's."""
        bodies: dict[str, Any] = {}
        if self.inputs:
            bodies["default"] = self.inputs[0].body
        for input in self.inputs:
            if input.var:
                bodies[input.var] = input.body
        return bodies


class StreamBatch(Protocol):
    """Messages of a source that nobody else gets meanwhile."""

    messages: list[Any]

    def give_back(self) -> None:
        """They were not used, and come again."""
        ...


class News(msgspec.Struct, frozen=True):
    """What an effect has told everybody."""

    id: str
    name: str
    payload: Any = None


class Done(msgspec.Struct, frozen=True):
    """`content_type` is raw_text, object, conversation_state, binary or error; None means: by the body's type. What
    was `taken` for it counts as read when the outcome is committed, and not before. What was `told` reaches whoever
    waits for it now, the run itself included, before the run goes on."""

    body: Any = None
    meta: dict[str, Any] | None = None
    content_type: str | None = None
    taken: StreamBatch | None = None
    told: News | None = None


class Failed(msgspec.Struct, frozen=True):
    failure: Failure


class Skipped(msgspec.Struct, frozen=True):
    reason: str = "policy"


class Returned(msgspec.Struct, frozen=True):
    """What was asked for is not under way any more, and nobody knows that it has failed: it may be asked for anew, and
    that counts as no retry. For effects that outlive the host, such as processes of the machine."""

    reason: str = ""


Outcome = Done | Failed | Skipped | Returned


class Tenant(Protocol):
    """What one tenant has: the only way for an executor to reach anything that belongs to somebody."""

    id: str

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        """What is registered under a type (connection, rule_pack, template, channel, mcp_server, robot, model, prompt,
        config, aas …) and an id: the version asked for, else the one in force."""
        ...

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]: ...

    def secret(self, name: str) -> str | None: ...

    def keep(self, key: str, channel: str, target: str, message: Any, run: str) -> None:
        """Put a message into the local outbox instead of sending it; the same key again changes nothing."""
        ...

    def turn(self, name: str, key: str, names: Sequence[str]) -> str:
        """The next of several, one after another; for the same key the same one again."""
        ...

    def loads(self) -> Mapping[str, int]:
        """How many open work items each person has who is named for them by name."""
        ...

    async def search(self, collection: str, query: Any, top_k: int) -> list[Any]:
        """The most similar things of a collection: stored judgments, documents."""
        ...

    async def take(self, source: str, most: int, wait_ms: int) -> StreamBatch | None:
        """Events of a source that nobody has read, oldest first; None where there are none. Whoever takes them hands
        them on with its outcome, or gives them back."""
        ...


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What the host lends to executors. No executor reads the environment by itself."""

    output_dir: Path
    input_dir: Path
    settings: Mapping[str, Any] = {}
    machine: Mapping[str, Any] | None = None  # the operator's settings, where those are as a tenant may see them
    tenant: Callable[[str], Tenant] | None = None
    executors: Mapping[str, Executor] = {}  # by name; `agent:ID` and `tool:NAME` are agents and tools of the program
    path_policy: PathPolicy = PathPolicy()
    lend: Callable[[str], Services] | None = None  # where tenants have folders of their own
    self_calls: SelfCalls = msgspec.field(default_factory=SelfCalls)

    def of(self, tenant: str) -> Services:
        """What is lent for an effect of one tenant."""
        return self if self.lend is None else self.lend(tenant)


class Executor(Protocol):
    """`inline` executors are called on the engine's own loop and must not block; all others are awaited."""

    name: str

    async def run(self, request: Request, services: Services) -> Outcome: ...


@runtime_checkable
class Stoppable(Protocol):
    """An executor whose effects are ended and not just left: what it does goes on when nobody waits for it any more,
    and when the host ends."""

    def stop(self, key: str, attempt: int, why: str) -> None:
        """End this attempt, begun or not. `cancel`, `put_back`: it is still waited for, and answers when it has ended;
        `dropped`: nobody waits for it. Called on the engine's loop: it must not block."""
        ...


class Lane(NamedTuple):
    """Effects of an executor that share a queue; `width` of them are performed at once."""

    name: str  # "": the executor's own
    width: int


@runtime_checkable
class InLanes(Protocol):
    """An executor whose effects do not all need the same: those of one lane never take the places of another's."""

    def lane(self, args: Any) -> Lane:
        """Of the effects of a node, by the arguments that its document has, expressions in them unread."""
        ...


def failed(code: str, category: str, message: str, detail: Any = None) -> Failed:
    return Failed(Failure(code, category, message, "", detail))
