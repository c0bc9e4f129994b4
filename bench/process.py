"""What processes cost: release of a long one, soundness of nested gateways, from a submit to the next work item, and
an event log.

    python -m bench.process [--activities 1000] [--items 10000] [--submits 500] [--events 100000]
                            [--store postgresql://…]

Prints one line of JSON. `fsync_ms` is what one durable write costs on this disk in the same run: a submit is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.event_log import MEDIA, Wanted, written
from penstock.app.process.work_items import WorkItems
from penstock.lang.compile import compile_document
from penstock.net.soundness import verdict
from penstock.store.run_store import Batch


def chain(count: int, id: str = "chain") -> dict[str, Any]:
    activities = [{"id": f"a{i}", "name": f"a{i}", "type": "humanTask"} for i in range(count)]
    flows = [{"id": f"t{i}", "source": f"a{i}", "target": f"a{i + 1}"} for i in range(count - 1)]
    return {"process_definition_id": id, "process_definition_name": id, "activities": activities, "transitions": flows}


def nested(depth: int) -> dict[str, Any]:
    """Blocks in blocks, two ways each: parallel, inclusive, exclusive in turn. Depth 4 has 46 nodes."""
    activities: list[dict[str, Any]] = []
    gateways: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []

    def flow(source: str, target: str, condition: str = "") -> None:
        more = {"condition": condition} if condition else {}
        flows.append({"id": f"t{len(flows)}", "source": source, "target": target, **more})

    def block(level: int, name: str) -> tuple[str, str]:
        if not level:
            activities.append({"id": name, "name": name, "type": "humanTask"})
            return name, name
        kind = ("parallelGateway", "inclusiveGateway", "exclusiveGateway")[level % 3]
        gateways.extend({"id": f"{name}.{end}", "name": "", "type": kind} for end in ("split", "join"))
        for n in range(2):
            first, last = block(level - 1, f"{name}{n}")
            flow(f"{name}.split", first, "" if kind == "parallelGateway" else f"v{n} == true")
            flow(last, f"{name}.join")
        return f"{name}.split", f"{name}.join"

    block(depth, "n")
    return {"process_definition_id": "nested", "process_definition_name": "nested", "activities": activities,
            "gateways": gateways, "transitions": flows}  # fmt: skip


def best(call: Callable[[], Any], times: int = 3) -> float:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        spent.append(time.perf_counter() - began)
    return round(min(spent) * 1000, 2)


def compiled(activities: int) -> dict[str, Any]:
    long, deep = json.dumps(chain(activities)).encode(), json.dumps(nested(4)).encode()
    tenth = json.dumps(chain(activities // 10)).encode()
    net = compile_document(deep, name="nested.json").net
    return {
        "release_ms": best(lambda: compile_document(long, name="chain.json")),
        "release_tenth_ms": best(lambda: compile_document(tenth, name="chain.json")),
        "sound_nodes": len(net.nodes),
        "sound_ms": best(lambda: verdict(net)),
        "sound_without_reductions_ms": best(lambda: verdict(net, reductions=False)),
    }


async def submits(store: str, items: int, count: int) -> dict[str, Any]:
    """With `items` open: one is submitted, and the next one of its instance is looked up among what is open."""
    async with Penstock(store, profile="dev") as door:
        door.load_sample()
        work = WorkItems(door)
        row = (await Processes(door).define(chain(3, "bench"), by="bench")).release
        hash = door.hash_of(row.net)
        ids: list[str] = []
        for first in range(0, items, 2000):
            ids += await door.start_many(hash, [{} for _ in range(min(2000, items - first))])
        spent, looked = [], []
        for id in ids[:count]:
            first_item = next(one for one in door.store.work_of(door.row(id).no))
            began = time.perf_counter()
            await work.submit(f"{id}~{first_item.firing}", {}, by="bench")
            middle = time.perf_counter()
            assert any(one.status == "TODO" for one in door.store.work_of(door.row(id).no))
            page = work.each(status=["TODO"], limit=50)
            ended = time.perf_counter()
            assert len(page) == 50
            spent.append((ended - began) * 1000)
            looked.append((ended - middle) * 1000)
    return {"open": items, "submits": count, **told("submit_to_visible", spent), **told("list", looked)}


async def exports(store: str, events: int) -> dict[str, Any]:
    """Cases of five items each; the most memory that Python has in use for a tenth of them, and for all."""
    async with Penstock(store, profile="dev") as door:
        row = (await Processes(door).define(chain(5, "logged"), by="bench")).release
        first = door.store.last_run() + 1
        for begin in range(0, events, 10_000):
            batch = Batch()
            for n in range(begin, min(begin + 10_000, events)):
                run, item = first + n // 5, n % 5
                if not item:
                    batch.new.append(
                        (run, f"logged{n:012}", door.tenant, row.net, None, 5, 1000, n, n, None, None, 0, None)
                    )
                prompt = msgspec.msgpack.encode({"title": f"a{item}", "activity_id": f"a{item}"})
                batch.item_new.append((run, item, item, "DONE", prompt, None, None, n, n))
                batch.work_new.append((run, item, door.tenant, "DONE", None, "kim", "MANUAL", n))
            door.store.commit(batch)
        found: dict[str, Any] = {"events": events}
        for format in MEDIA:
            whole, tenth = (Wanted(id="logged", end=end) for end in (events, events // 10))
            began = time.perf_counter()
            size = sum(map(len, written(door, whole, format)))
            found |= {f"export_{format}_s": round(time.perf_counter() - began, 2), f"export_{format}_mb": size >> 20}
            for name, asked in (("tenth", tenth), ("whole", whole)):
                tracemalloc.start()
                assert sum(map(len, written(door, asked, format)))
                found[f"export_{format}_{name}_peak_kb"] = tracemalloc.get_traced_memory()[1] >> 10
                tracemalloc.stop()
        return found


def told(name: str, spent: list[float]) -> dict[str, float]:
    cut = statistics.quantiles(spent, n=100)
    return {f"{name}_p50_ms": round(cut[49], 2), f"{name}_p95_ms": round(cut[94], 2)}


def fsync(folder: Path) -> float:
    with (folder / "sync").open("wb") as file:

        def once() -> None:
            file.write(b"x" * 4096)
            file.flush()
            os.fdatasync(file.fileno())

        return best(once, 20)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--activities", type=int, default=1000)
    ask.add_argument("--items", type=int, default=10_000)
    ask.add_argument("--submits", type=int, default=500)
    ask.add_argument("--events", type=int, default=100_000)
    ask.add_argument("--store", default="")
    given = ask.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        store = given.store or str(Path(folder) / "bench.db")
        figures = {"fsync_ms": fsync(Path(folder)), **compiled(given.activities)}
        figures |= asyncio.run(submits(store, given.items, given.submits))
        figures |= asyncio.run(exports(store, given.events))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
