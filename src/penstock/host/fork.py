"""A fork: a new run with the same past. The journal up to a fact is copied, in one commit."""

from __future__ import annotations

import msgspec

from penstock.dialects.projection import rows_of
from penstock.host.blobs import Blobs
from penstock.host.nets import Nets
from penstock.kernel import fact as F
from penstock.kernel.replay import fold
from penstock.kernel.state import encode_state, new_state
from penstock.store.run_store import Batch, JournalRow, RunRow


def fork_batch(
    row: RunRow, journal: list[JournalRow], nets: Nets, blobs: Blobs, *, no: int, id: str, now: int, key: str | None
) -> Batch:  # fmt: skip
    """Everything that the new run begins with: its row, its journal, and the rows that its past has left."""
    st = new_state()
    for turn in journal:
        fold(st, F.decode_facts(turn.body), turn.at)  # type: ignore[arg-type]
    last = st.n
    forked = (F.FORKED, id, row.id, last, id)
    copied = [*journal, JournalRow(last + 1, last + 1, now, F.encode_facts([forked]))]
    fold(st, [forked], now)
    batch = Batch()
    net_no = row.net if nets.get(row.net).hash == st.net else (nets.by_hash(st.net) or (row.net,))[0]
    wake_at = None if st.paused else min((timer.due for timer in st.timers.values()), default=None)
    batch.new.append((
        no, id, row.tenant, net_no, key, st.status, row.priority, now, now, wake_at, row.id, st.n,
        bytearray(encode_state(st)),
    ))  # fmt: skip
    batch.journal += [(no, turn.seq_from, turn.seq_to, turn.at, bytearray(turn.body)) for turn in copied]
    new_row = msgspec.structs.replace(row, no=no, id=id, key=key, parent=row.id, created_at=now)
    rows_of(new_row, iter(copied), batch, nets.of, blobs.of(row.tenant))
    return batch
