"""One run as a request reads it: row, state and net from one load; what needs the whole journal is folded on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from penstock.app.runs.run_view import RunFold, fold_journal
from penstock.host.blobs import Blobs
from penstock.host.nets import Nets
from penstock.kernel import fact as F
from penstock.kernel.replay import fold
from penstock.kernel.state import State, decode_state, new_state
from penstock.net.compiled import Compiled
from penstock.store.contract import Store
from penstock.store.run_store import JournalRow, RunRow


class RunReading:
    """Made once per request and passed on, so that nobody folds the run again. `state` costs the checkpoint and the
    turns after it; `fold` costs the whole journal, and is the state's source where it is asked for first."""

    def __init__(
        self, store: Store, nets: Nets, row: RunRow, turns: Iterable[JournalRow] | None = None,
        live: RunFold | None = None, keep: Callable[[int, RunFold], None] | None = None,
    ) -> None:  # fmt: skip
        self.row, self._store, self._nets, self._turns, self._keep = row, store, nets, turns, keep
        if live is not None:  # it is kept up to date in this process
            self.fold = live

    @cached_property
    def fold(self) -> RunFold:
        """Every fact as a line, with firings, attempts and prompts."""
        folded = fold_journal(self._net_of, self.journal(), self.resolve)
        if folded.reader.net is None:  # accepted, and its first turn is still to come: PENDING (D-X.8)
            folded.reader.net, folded.reader.st.run = self._nets.get(self.row.net), self.row.id
        elif self._keep is not None:
            self._keep(self.row.no, folded)
        return folded

    def journal(self) -> Iterable[JournalRow]:
        """Every turn of the run, from its first on."""
        return self._store.journal(self.row.no)

    def keep(self, fold: RunFold) -> None:
        """A fold that somebody has made of the whole journal: nobody needs to make it again."""
        if self.__dict__.setdefault("fold", fold) is fold and self._keep is not None:
            self._keep(self.row.no, fold)

    @cached_property
    def state(self) -> State:
        if "fold" in self.__dict__:
            return self.fold.reader.st
        row, turns = self.row, self._turns
        if turns is None:
            row, turns = next(iter(self._store.load([row.no])), (row, ()))
        st = state_of(row, turns)
        st.run = st.run or row.id
        return st

    @cached_property
    def net(self) -> Compiled:
        """The net that the run is on now: it may have been moved to another version since it was started."""
        if "fold" in self.__dict__ and self.fold.reader.net is not None:
            return self.fold.reader.net
        return self._net_of(self.state.net) if self.state.net else self._nets.get(self.row.net)

    def resolve(self, value: Any) -> Any:
        """A value as it is, also where it is kept in the blob store."""
        return self._resolver(value)

    @cached_property
    def _resolver(self) -> Any:
        return Blobs(self._store).of(self.row.tenant)

    def _net_of(self, hash_: str) -> Compiled:
        known = self._nets.by_hash(hash_)
        assert known is not None, "a run's net is in its store"
        return known[1]


def state_of(row: RunRow, turns: Iterable[JournalRow]) -> State:
    """The state of a loaded run: its checkpoint, and the turns after it."""
    st = new_state() if row.checkpoint is None else decode_state(row.checkpoint)
    for turn in turns:
        fold(st, F.decode_facts(turn.body), turn.at)  # type: ignore[arg-type]
    return st
