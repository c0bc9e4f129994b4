"""What a dialect is: what a language means while its runs live. Every default is a language that says nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from penstock.dialects.token_events import Event, TokenEvents
from penstock.errors import PenstockError, StatusConflict

if TYPE_CHECKING:  # a list of runs asks for words, and needs no engine for that
    from penstock.dialects.notice import Notice
    from penstock.dialects.transitions import RunHistory
    from penstock.executors.contract import Tenant
    from penstock.kernel.fact import Fact
    from penstock.kernel.run import Run
    from penstock.net.compiled import Compiled
    from penstock.net.model import Net
    from penstock.store.contract import Store
    from penstock.store.events import EventRow
    from penstock.store.projection import Projector
    from penstock.store.releases import ReleaseRow
    from penstock.store.run_store import Batch


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The audience's words, from the house's: run statuses, firing phases, statuses of approvals, events."""

    run: Mapping[str, str] = {}
    unit: Mapping[str, str] = {}
    approval: Mapping[str, str] = {}
    events: tuple[str, ...] = ()


class Labels(msgspec.Struct, frozen=True, kw_only=True):
    """How people read the language's own words: in English and in Korean; types of nodes have an icon, too."""

    run: Mapping[str, tuple[str, str]] = {}
    node: Mapping[str, tuple[str, str]] = {}
    types: Mapping[str, tuple[str, str, str]] = {}


class EventStart(NamedTuple):
    """What of an event must fit, and the key of the run that it begins. A message begins one run at most, and only
    where nobody takes it."""

    wanted: Any
    message: bool
    key: str
    start_event: str = ""  # in which of several ways it begins


class LiveRun(Protocol):
    """A run in the host's memory, as far as a dialect may see it. `in_store`: the store has a row of it."""

    no: int
    id: str
    tenant: str
    key: str | None
    parent: str | None
    priority: int
    started_at: int
    in_store: bool
    run: Run | None


@dataclass(frozen=True)
class HostServices:
    """What a host hands to a dialect: it never imports the host."""

    store: Store
    now: Callable[[], int]
    tenant: Callable[[str], Tenant]
    notify: Callable[[Notice, int, int, Batch], None]  # the notice, the run's number, its last fact
    net_of: Callable[[str], Compiled]
    resolver: Callable[[str], Callable[[Any], Any]]  # of a tenant: the value of a body that is stored by reference
    settings: Mapping[str, Any]
    operator_secret: Callable[[str], str | None] | None = None


class ProjectedRun(NamedTuple):
    """A run whose rows are derived. `store` is None at a rebuild: then only the batch knows earlier rows."""

    no: int
    id: str
    tenant: str
    net: Compiled
    resolve: Callable[[Any], Any]
    store: Store | None = None
    key: str | None = None
    parent: str | None = None
    priority: int = 1000
    created_at: int = 0


class OutboxEvent(NamedTuple):
    """An event of a language for the outbox, in the place of the facts themselves."""

    seq: int
    topic: str
    payload: dict[str, Any]


class DocumentCheckpoint(msgspec.Struct, kw_only=True):
    """A checkpoint that a document asked for and that could be read. `damaged` are newer ones that could not."""

    run: str
    number: int
    node: str
    status: str
    context_snapshot: Any
    node_outputs: Any = None
    pending_events: Any = None
    at: int
    size: int
    damaged: list[int] = []


class RunEvents(Protocol):
    """What subscribers are told of a run, turn by turn."""

    def turn(self, at: int, facts: list[Any]) -> Iterator[Event]: ...


class Runtime:
    """What a dialect does beside the engine while a host drives its runs. Every default does nothing."""

    #: its rows follow the words of a document: a run whose rows cannot be written is parked alone
    parks_alone = False
    #: there is something for `kick` to do
    wrote = False

    def check(self, net: Compiled, tenant: str) -> None:
        """Raises where a document asks for what this host cannot do: at release, and before a run starts."""

    def write(self, live: LiveRun, run: Run, facts: list[Fact], was: int, now: int, batch: Batch) -> None:
        """Rows in the commit of a turn; `was` is the run's status before it."""

    def publish(self, live: LiveRun, facts: list[Fact], first: int, now: int, batch: Batch) -> list[OutboxEvent] | None:
        """What the world hears of a turn; None: of its published facts."""
        return None

    def rolled_back(self, batch: Batch) -> None:
        """A commit has failed."""

    def kick(self) -> None:
        """Do what is to be done beside the turns, in a task of its own."""

    def tidy(self) -> None:
        """Asked now and then: is there something old to clear away?"""

    def checkpoint(self, tenant: str, run: str, number: int | None) -> Awaitable[DocumentCheckpoint | None]:
        """The newest document checkpoint of a run that can be read, not newer than `number`."""
        return _nothing()

    async def close(self) -> None:
        """The host ends."""


async def _nothing() -> None:
    return None


class Dialect:
    """A language while its runs live. A subclass says what differs; its `name` is that of the language."""

    name = ""
    words = Words()
    #: its documents use what a tenant has registered: a store of the dev profile gets the sample tenant for them
    loads_sample = False
    #: types of nodes that a language puts beside an author's node: who is told of it, where its way ends
    companion_types: frozenset[str] = frozenset()
    #: types that nobody can write in a document
    synthetic_types: frozenset[str] = frozenset()
    #: of these, those that fetch something for a node
    fetching_types: frozenset[str] = frozenset()

    #: an error that a called run ends with by its author's word is the error of the call, too
    errors_pass_calls = False
    #: what undoes an activity is a part of it for people, and no node of its own
    undo_is_part_of_activity = False

    #: after a restart its runs begin nothing in their pools until somebody says so
    rests_after_restart = False

    #: how a command is refused that a run's status does not allow
    conflict: type[PenstockError] = StatusConflict
    #: the statuses and node types in English and Korean
    labels = Labels()

    # -- in the engine -------------------------------------------------------------------------------------------------

    def runtime(self, services: HostServices) -> Runtime | None:
        """What is done beside the engine; None: nothing."""
        return None

    def projector(self, of: ProjectedRun) -> Projector | None:
        """Rows that are derived from a run's facts, live and at a rebuild."""
        return None

    def error(self, error: PenstockError) -> PenstockError:
        """A refusal of the engine in the language's own words and codes."""
        own = type(error) is StatusConflict and self.conflict is not StatusConflict
        return self.conflict(**error.facts) if own else error

    def span_attributes(self, answer: Mapping[str, Any]) -> dict[str, int | float]:
        """Numbers that the span of a node has, of what its executor has answered."""
        return {}

    # -- what starts runs ----------------------------------------------------------------------------------------------

    def begins(self, net: Net) -> Sequence[Mapping[str, Any]]:
        """What begins a run without anybody's doing, where the net itself says so, each with `trigger`, `name`,
        `correlation`, `timer`."""
        return ()

    def event_starts(self, event: EventRow, release: ReleaseRow, net: Net) -> list[EventStart]:
        """How an event begins a run of a release that listens to it; by default as its document's `trigger` says."""
        wanted = msgspec.json.decode(release.document)["trigger"].get("config", {}).get("filter")
        return [EventStart(wanted, False, f"event:{event.id}:{release.name}:{release.version}")]

    def schedule_text(self, timer: Mapping[str, Any], zone: str, now: int) -> str:
        """The schedule of a timer that `begins` names, from now on."""
        raise NotImplementedError

    def trigger_problems(self, kind: str, config: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """What is wrong with a document's `trigger` for whoever registers it: rule, message, pointer in its config."""
        return []

    def started_by(self, user: str) -> dict[str, Any]:
        """What a run that a person starts remembers of them, beside its trigger."""
        return {}

    def node_types(self) -> dict[str, Any]:
        """Node types of the language that handlers and installed packages bring."""
        return {}

    # -- what people read ----------------------------------------------------------------------------------------------

    def events(self, net_of: Callable[[str], Compiled], run_id: str) -> RunEvents:
        """Events for subscribers; by default each tells of one fact."""
        return TokenEvents(net_of, run_id)

    def history(self, net_of: Callable[[str], Compiled], created_at: int) -> RunHistory:
        """Transitions; by default of the run alone."""
        from penstock.dialects.transitions import PlainHistory

        return PlainHistory(net_of, self.words.run)

    def title(self, net: Net, source: Callable[[], bytes | None]) -> str:
        """The name that a document gives itself for people; "": it has none."""
        return ""

    def node_state(
        self, unit: str | None, *, runs: int = 0, max_iter: int | None = None, cyclic: bool = True, ended: bool = False
    ) -> str:
        """How a node stands. `unit` is the house's word for its last firing, None if it never fired; `runs` counts its
        firings in the epoch of the last one; `cyclic`: it lies on a cycle; `ended`: the run has."""
        return unit or ("SKIPPED" if ended else "PENDING")

    def node_status(
        self, unit: str, *, runs: int, max_iter: int | None, cyclic: bool, ended: bool, item: str | None
    ) -> str:
        """The word that people see for a node; `item` is the status of the work item that it waits with."""
        return self.words.unit.get(unit, unit)
