"""Pages of facts: from the checkpoint on nothing before it is read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.runs.timeline.fact_pages import fact_page
from tests.app.scenes import ASK


def test_a_page_after_the_checkpoint_reads_only_what_is_after_it(tmp_path: Path, monkeypatch: Any) -> None:
    """C-66, C-84: the same lines as the whole journal tells, from as many turns as there are since the checkpoint; and
    a page near the beginning does not read to the end."""

    async def scene() -> None:
        async with Penstock(tmp_path / "s.db") as door:
            run = await door.start(door.release(ASK))
            await door.wait(run, until_waiting=True)
            row, whole = door.row(run), door.lines(run)
            assert row.checkpoint_seq > 3, "it waits, so there is one"
            asked: list[int] = []
            read: list[int] = []
            plain = door.store.journal

            def journal(no: int, after: int = 0) -> Iterator[Any]:
                asked.append(after)
                for turn in plain(no, after):
                    read.append(turn.seq_from)
                    yield turn

            monkeypatch.setattr(door.store, "journal", journal)
            for after in range(row.checkpoint_seq, whole[-1].seq + 1):
                page, following, of = fact_page(door, run, after, 100)
                assert page == [line for line in whole if line.seq > after] and following is None
                assert of == whole[-1].seq and asked[-1] == row.checkpoint_seq
            read.clear()
            page, following, _ = fact_page(door, run, 0, 1)
            assert page[0] == whole[0] and following == page[-1].seq and len(read) <= 2

    asyncio.run(scene())
