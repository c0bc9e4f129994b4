"""What an executor is: one attempt in, one outcome out. It takes no token, commits nothing and never retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from penstock.executors.parts.definitions import Definitions
from penstock.executors.parts.files.path_policy import PathPolicy
from penstock.executors.parts.network.self_calls import SelfCalls
from penstock.executors.parts.rollout.model import Deployed, Deployment, DeploymentRequest, VersionMetrics
from penstock.executors.parts.simulation.history import PastJudgment
from penstock.executors.parts.simulation.record import SimulationRecord
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
    environment: str = ""  # where the run is at work; "": where its tenant is
    line: str = ""  # of production, that the run is for, where its input names one (`line_id`)
    used: list[dict[str, Any]] = []  # versions of deployed things that were used: the executor says them here (C-58)
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


class Deployments(Protocol):
    """The deployments of one tenant. Every move is in the store, with its event, when it returns."""

    def begin(
        self, asked: DeploymentRequest, *, key: str, at: int, run: str = "", node: str = "", by: str = ""
    ) -> Deployment:
        """The first stage is live; the same key again is the same deployment."""
        ...

    def get(self, id: str) -> Deployment: ...

    def by_key(self, key: str) -> Deployment | None:
        """The one that was begun, or switched to, with this key."""
        ...

    def every(self, *, type: str = "", artifact: str = "", environment: str = "", limit: int = 50) -> list[Deployment]:
        """Newest first."""
        ...

    def attach(self, id: str, run: str) -> Deployment:
        """Its rollout is this run."""
        ...

    def advance(self, id: str, *, at: int, healthy: bool | None = None, problems: str = "") -> Deployment:
        """Look at the clock and the metrics, and do what they lead to; doing it twice changes nothing."""
        ...

    def fail(self, id: str, *, at: int, reason: str) -> Deployment: ...

    def roll_back(
        self, id: str, *, at: int, by: str = "", reason: str = "", to_version: str | None = None, key: str = ""
    ) -> Deployment: ...

    def taken_back_by(self, key: str, *, type: str, artifact: str) -> Deployment | None:
        """The one that was rolled back with this key."""
        ...

    def switch(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None, version: str, at: int,
        key: str, by: str = "", run: str = "", node: str = "", reason: str = "",
        others: Mapping[str, list[str]] | None = None,
    ) -> Deployment:  # fmt: skip
        """To a version in a scope at once; `others`: versions that some lines get instead."""
        ...

    def current(self, type: str, id: str, *, environment: str = "", line: str = "") -> str | None:
        """The version in force, whatever is being rolled out by parts."""
        ...

    def live(self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None) -> Deployment | None:
        """The topmost deployment in a scope that has a share of it."""
        ...

    def previous(self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None) -> str:
        """The version in force before the present one in the scope; raises NoPreviousVersion."""
        ...

    def last_stable(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None,
        min_uptime_hours: float = 24, max_error_rate: float = 0.01, at: int,
    ) -> str:  # fmt: skip
        """The newest earlier version that has proved itself; raises NoStableVersion."""
        ...

    def previous_by_line(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None
    ) -> dict[str, str]:
        """The same for each line of the scope that has one; "" is any line that is not known."""
        ...

    def last_stable_by_line(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None,
        min_uptime_hours: float = 24, max_error_rate: float = 0.01, at: int,
    ) -> dict[str, str]: ...  # fmt: skip

    def is_top(self, deployment: Deployment) -> bool:
        """No later deployment has taken its whole scope."""
        ...

    def record(self, deployment: Deployment, at: int) -> None:
        """The AAS registry says of each line in its scope what is in force there; doing it twice changes nothing."""
        ...

    def metrics(self, id: str, *, since: int | None = None, until: int | None = None) -> list[VersionMetrics]: ...

    def output(self, deployment: Deployment) -> dict[str, Any]:
        """deploy_result (W-4.11.4)."""
        ...


class Tenant(Protocol):
    """What one tenant has: the only way for an executor to reach anything that belongs to somebody."""

    id: str
    environment: str  # where its runs are at work, when nobody says otherwise

    @property
    def deployments(self) -> Deployments: ...

    def deployed(
        self, type: str, id: str, *, environment: str = "", line: str = "", run: str = "", version: str | None = None
    ) -> Deployed | None:
        """The version of a thing that applies to one use of it (C-58, C-82), or the very version that is asked for."""
        ...

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None:
        """What is registered under a type (connection, rule_pack, template, channel, mcp_server, robot, model, prompt,
        config, aas …) and an id: the version asked for, else the one in force."""
        ...

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]: ...

    def versions(self, type: str, id: str) -> Sequence[tuple[str, str, Mapping[str, Any]]]:
        """Every version of a thing, in whatever status: version, status, body."""
        ...

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

    def judged(self, since: int, until: int, *, limit: int) -> list[PastJudgment]:
        """Judgments whose inputs are known, imported ones too, newest first, with what people have said of them."""
        ...

    def judged_pages(
        self, since: int, until: int, wanted: Callable[[PastJudgment], bool]
    ) -> Iterator[list[PastJudgment]]:
        """All of them page by page, of each page those that are wanted."""
        ...

    def keep_simulation(self, record: SimulationRecord) -> None:
        """The same simulation again takes the place of the first."""
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
    definitions: Definitions = msgspec.field(default_factory=Definitions)

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
