"""The history of a definition: how long its nodes took and how they ended, out of the journals of its earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import COMPLETED, DONE, STATUS
from penstock.kernel.work_item import for_agent
from penstock.net.compiled import WAIT, CNode, Compiled
from penstock.store.run_lists import RunFilter

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries
    from penstock.store.run_store import RunRow

#: runs whose journals are read at most, the newest first, and facts of a run that is read at all
MOST_RUNS, MOST_FACTS = 500, 20_000
#: samples of a node that are kept, and the largest body of one in bytes
MOST_SAMPLES, LARGEST_BODY = 2_000, 64 * 1024
_ENDED = tuple(range(COMPLETED, len(STATUS)))
_pack = msgspec.msgpack.Encoder().encode


class AskedEffect(msgspec.Struct, array_like=True, gc=False):
    """What an effect was asked with: `written` are its arguments as the document has them, `args` their values."""

    executor: str
    written: Any = None
    args: Any = None


class EffectSample(msgspec.Struct, array_like=True, gc=False):
    """One attempt of an effect: how long it took, and what it answered or failed with."""

    ms: int
    body: Any = None
    failure: Failure | None = None
    order: int = 0  # among all effects of its run, by when they were asked
    asked: AskedEffect | None = None  # where somebody wants to compare it


class PersonSample(msgspec.Struct, array_like=True, gc=False):
    """What somebody did with a work item after so long; without a verb nobody did anything in time. Of votes `data` is
    the list: by, vote, target, comment."""

    ms: int
    verb: str = ""
    data: Any = None


class NewsSample(msgspec.Struct, array_like=True, gc=False):
    """News that came after so long; `came` False: they did not come in time."""

    ms: int
    came: bool = True
    payload: Any = None


class History(msgspec.Struct, gc=False):
    """By node id. `approvals` are decisions about drafts of agents. `inputs` are what runs were started with."""

    effects: dict[str, list[EffectSample]] = {}
    people: dict[str, list[PersonSample]] = {}
    approvals: dict[str, list[PersonSample]] = {}
    news: dict[str, list[NewsSample]] = {}
    inputs: list[Any] = []
    runs: int = 0
    since: int = 0
    until: int = 0

    def samples(self, node: str) -> int:
        """How many samples there are of a node."""
        kinds: tuple[dict[str, list[Any]], ...] = (self.effects, self.people, self.approvals, self.news)
        return max(len(kind.get(node, ())) for kind in kinds)


def read_history(door: Queries, name: str, *, limit: int = MOST_RUNS, hashes: Iterable[str] = ()) -> History:
    """Of the newest ended runs of a definition in this store, of all its versions; with `hashes` of these only."""
    wanted = frozenset(hashes)
    nets = [
        number for number, hash_, named, _ in door.store.nets() if named == name and (not wanted or hash_ in wanted)
    ]
    history = History()
    if not nets:
        return history
    for row in ended_runs(door, nets, limit):
        read_run(door, row, history)
    return history


def ended_runs(door: Queries, nets: list[int], limit: int) -> list[RunRow]:
    """The newest runs of these nets that have ended, the newest first; long ones are left out."""
    asked = RunFilter(tenant=door.tenant, below=door.store.last_run() + 1, status=_ENDED, nets=tuple(nets))
    rows = door.store.find_runs(asked, limit)
    return [row for row in rows if door.store.facts_of(row.no) <= MOST_FACTS]


def read_run(door: Queries, row: RunRow, history: History) -> None:
    """Add what one run shows to a history."""
    turns = ((turn.at, F.decode_facts(turn.body)) for turn in door.store.journal(row.no))
    reader = JournalReader(history, door.nets.get(row.net), door.net_of, Blobs(door.store).of(row.tenant))
    reader.read(turns)
    history.runs += 1
    history.since = min(history.since or row.created_at, row.created_at)
    history.until = max(history.until, row.created_at)


class JournalReader:
    """Reads the facts of one run: every effect, work item and wait becomes a sample."""

    def __init__(
        self, history: History, net: Compiled, net_of: Callable[[str], Compiled], resolve: Callable[[Any], Any],
        keep_args: bool = False,
    ) -> None:  # fmt: skip
        self.history, self.net, self.net_of, self.resolve = history, net, net_of, resolve
        self.keep_args = keep_args
        self.args: dict[int, AskedEffect] = {}  # firing → what its effect was asked with
        self.nodes: dict[int, CNode] = {}  # firing → node
        self.asked: dict[int, tuple[int, int]] = {}  # firing → when its effect was asked, and after how many others
        self.asks = 0
        self.items: dict[int, int] = {}  # firing → since when a person has it
        self.submitted: dict[int, int] = {}  # firing → since when its draft waits for an approval
        self.votes: dict[int, list[dict[str, Any]]] = {}  # firing → who voted what, so far
        self.waits: dict[int, tuple[int, int]] = {}  # wait → firing, since when
        self.waiting: dict[int, int] = {}  # firing → since when
        self.used: set[int] = set()  # firings that news have ended
        self.at = 0

    def read(self, turns: Iterable[tuple[int, list[list[Any]]]]) -> None:
        for self.at, facts in turns:
            for fact in facts:
                read = _READ.get(fact[0])
                if read is not None:
                    read(self, fact)
        self._end()

    def _end(self) -> None:
        """What was under way when something else ended it was never answered."""
        for number, node in self.nodes.items():
            if number in self.items:
                _add(self.history.people, node.id, PersonSample(self.at - self.items[number]))
            if number in self.asked:
                self.history.effects.setdefault(node.id, [])
            if number in self.waiting and node.kind == WAIT:
                _add(self.history.news, node.id, NewsSample(self.at - self.waiting[number], False))

    def started(self, fact: list[Any]) -> None:
        known = self.net_of(fact[3])
        self.net = known
        if len(self.history.inputs) < MOST_SAMPLES:
            self.history.inputs.append(self._value(fact[7]))

    def fired(self, fact: list[Any]) -> None:
        self.nodes[fact[1]] = self.net.nodes[fact[2]]

    def migrated(self, fact: list[Any]) -> None:
        self.net = self.net_of(fact[1])

    def ask(self, fact: list[Any]) -> None:
        node = self.nodes.get(fact[1])
        if node is None or node.spec.poll is None or fact[1] not in self.asked:  # all probes of a poll are one sample
            self.asks += 1
            self.asked[fact[1]] = (self.at, self.asks)
            if self.keep_args and node is not None and node.effect is not None:
                args = node.effect.args if node.args_static else fact[4]
                self.args[fact[1]] = AskedEffect(node.effect.executor, node.effect.args, args)

    def answered(self, fact: list[Any]) -> None:
        _, number, _, probe, status, _, failure = fact[:7]
        node = self.nodes.get(number)
        if node is None or status != "failed" or node.spec.poll is not None and probe >= 0:
            return
        self._add_effect(number, node, None, failure)

    def work_opened(self, fact: list[Any]) -> None:
        node = self.nodes.get(fact[1])
        if node is None or for_agent(node, fact[6] if len(fact) > 6 else ""):
            return
        if fact[1] in self.items:  # it goes to others, since nobody has decided
            _add(self.history.people, node.id, PersonSample(self.at - self.items[fact[1]]))
        self.items[fact[1]] = self.at

    def work_moved(self, fact: list[Any]) -> None:
        _, number, to, event = fact[:4]
        node = self.nodes.get(number)
        if node is None:
            return
        if to == "SUBMITTED":
            self.submitted[number] = self.at
            if number in self.asked:
                self._add_effect(number, node, fact[5], None)
        elif event == "vote":
            votes = fact[6] if len(fact) > 6 and isinstance(fact[6], dict) else {}
            self.votes[number] = [{"by": voter, **vote} for voter, vote in votes.items()]
        elif event in ("approve", "reject", "rework") and number in self.submitted:
            since = self.submitted.pop(number)
            verb = "approve" if event == "approve" else "reject"
            _add(self.history.approvals, node.id, PersonSample(self.at - since, verb))

    def wait_opened(self, fact: list[Any]) -> None:
        self.waits[fact[1]] = (fact[2], self.at)
        self.waiting.setdefault(fact[2], self.at)

    def signal_used(self, fact: list[Any]) -> None:
        opened = self.waits.get(fact[2])
        if opened is not None:
            self.used.add(opened[0])

    def settled(self, fact: list[Any]) -> None:
        number, status = fact[1], fact[2]
        node = self.nodes.pop(number, None)
        if node is None:
            return
        body = fact[7]
        if number in self.items:
            self._person_done(number, node, status, body)
        elif number in self.asked and status == DONE:
            self._add_effect(number, node, body, None)
        since = self.waiting.pop(number, None)
        if since is not None and node.kind == WAIT:
            came = number in self.used
            _add(self.history.news, node.id, NewsSample(self.at - since, came, self._value(body) if came else None))

    def _person_done(self, number: int, node: CNode, status: int, body: Any) -> None:
        since, votes = self.items.pop(number), self.votes.pop(number, None)
        work = node.spec.work
        by_vote = work is not None and bool(work.quorum or work.all_of)
        if status != DONE or by_vote and not self._is_decided(votes, body):
            sample = PersonSample(self.at - since)
        elif by_vote:
            sample = PersonSample(self.at - since, "vote", votes)
        else:
            sample = PersonSample(self.at - since, "submit", self._value(body))
        _add(self.history.people, node.id, sample)

    def _is_decided(self, votes: list[dict[str, Any]] | None, body: Any) -> bool:
        """By votes, and not by the end of its time."""
        value = self.resolve(body) if type(body) is dict else body
        return bool(votes) and not (isinstance(value, dict) and value.get("timed_out"))

    def _add_effect(self, number: int, node: CNode, body: Any, failure: Any) -> None:
        asked = self.asked.pop(number, None)
        if asked is None or node.effect is None:
            return
        value = Failure(*failure) if isinstance(failure, list | tuple) else failure
        args = self.args.pop(number, None)
        _add(self.history.effects, node.id, EffectSample(self.at - asked[0], self._value(body), value, asked[1], args))

    def _value(self, body: Any) -> Any:
        value = self.resolve(body) if type(body) is dict else body
        return value if len(_pack(value)) <= LARGEST_BODY else None


def _add(samples: dict[str, list[Any]], node: str, sample: Any) -> None:
    mine = samples.setdefault(node, [])
    if len(mine) < MOST_SAMPLES:
        mine.append(sample)


_READ: dict[int, Callable[[JournalReader, list[Any]], None]] = {
    F.STARTED: JournalReader.started, F.FIRED: JournalReader.fired, F.FIRED_VIA: JournalReader.fired,
    F.MIGRATED: JournalReader.migrated, F.ASKED: JournalReader.ask, F.ANSWERED: JournalReader.answered,
    F.WORK_OPENED: JournalReader.work_opened, F.WORK_MOVED: JournalReader.work_moved,
    F.WAIT_OPENED: JournalReader.wait_opened, F.SIGNAL_USED: JournalReader.signal_used,
    F.SETTLED: JournalReader.settled,
}  # fmt: skip
