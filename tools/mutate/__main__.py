"""Breaks random lines of the code and tells which of them no test notices.

    python -m tools.mutate --cover                      which tests run which line: once, for an hour or so
    python -m tools.mutate --sample 200 --seed 11       breaks 200 lines; goes on where it was interrupted
    python -m tools.mutate --sample 40 --paths kernel   of one room
    python -m tools.mutate --all --only nodes/wait      every mutant of some files
    python -m tools.mutate --sample 200 --seed 11 --again   tries those again that survived, after tests were added

All of it happens in copies of the checkout in build/mutate, and answers are kept there (answers.jsonl).
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

from tools.mutate import cover, sample
from tools.mutate.mutants import Mutant
from tools.mutate.tree import BUILD, ROOMS, ROOT
from tools.mutate.worker import Worker

ANSWERS = BUILD / "answers.jsonl"
#: statuses that are right: a test failed, or hung
NOTICED = ("killed", "timeout")


def main() -> int:
    options = _options()
    if options.cover or options.fresh:
        cover.build(options.only or "", fresh=options.fresh)
        if not options.sample and not options.all:
            return 0
    if not any(cover.PIECES.glob("*.json")):
        raise SystemExit("it is not known which tests run which line: python -m tools.mutate --cover")
    made = sample.every(options.paths, options.only or "")
    picked = made if options.all else sample.chosen(made, options.sample or 200, options.seed)
    known = _answers()
    why = sample.explained()
    left = [one for one in picked if one.key not in known or options.again and known[one.key]["status"] not in NOTICED]
    left = [one for one in left if _key(one) not in why]
    _try(left, known, options)
    rows = [_row(mutant, known, why) for mutant in picked]
    if options.json:
        print(
            json.dumps({"seed": options.seed, "count": len(rows), "figures": _figures(rows), "mutants": rows}, indent=1)
        )
    else:
        _tell(rows)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, metavar="N", help="break so many lines (200)")
    parser.add_argument("--seed", type=int, default=1, help="which lines (1)")
    parser.add_argument("--paths", nargs="+", default=list(ROOMS), metavar="ROOM", help=f"of {', '.join(ROOMS)} (all)")
    parser.add_argument("--only", metavar="PATTERN", help="files whose path matches; with --cover: test files")
    parser.add_argument("--all", action="store_true", help="every mutant instead of a sample")
    parser.add_argument("--again", action="store_true", help="try those again that survived")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once (1)")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for one mutant, as they took before (60)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--cover", action="store_true", help="collect which tests run which line, where it is missing")
    parser.add_argument("--fresh", action="store_true", help="collect it anew")
    return parser.parse_args()


def _try(left: list[Mutant], known: dict[str, dict[str, Any]], options: argparse.Namespace) -> None:
    if not left:
        return
    covered = cover.Cover()
    idle: Queue[Worker] = Queue()
    jobs = min(options.jobs, len(left))
    workers = [Worker(number) for number in range(jobs)]
    for worker in workers:
        idle.put(worker)

    def tried(mutant: Mutant) -> dict[str, Any]:
        worker = idle.get()
        try:
            return worker.tried(mutant, covered, options.seconds)
        finally:
            idle.put(worker)

    BUILD.mkdir(parents=True, exist_ok=True)
    try:
        with ThreadPoolExecutor(jobs) as pool, ANSWERS.open("a", encoding="utf-8") as kept:
            for number, (mutant, answer) in enumerate(zip(left, pool.map(tried, left), strict=True), 1):
                known[mutant.key] = answer
                kept.write(json.dumps({"key": mutant.key, **answer}) + "\n")
                kept.flush()
                told = f"{number}/{len(left)} {answer['status']:9} {mutant.file}:{mutant.line} {mutant.kind}"
                print(told, file=sys.stderr, flush=True)
    finally:
        for worker in workers:
            worker.close()


def _answers() -> dict[str, dict[str, Any]]:
    lines = ANSWERS.read_text("utf-8").splitlines() if ANSWERS.is_file() else []
    return {answer["key"]: answer for answer in map(json.loads, lines)}


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return (mutant.file, *sample.before_after(mutant))


def _row(mutant: Mutant, known: dict[str, dict[str, Any]], why: dict[tuple[str, str, str], str]) -> dict[str, Any]:
    answer = known.get(mutant.key, {"status": "explained", "tests": 0, "by": ""})
    row = {
        "place": f"{mutant.file}:{mutant.line}", "kind": mutant.kind, "status": answer["status"],
        "tests": answer["tests"], "by": answer["by"], "diff": mutant.diff((ROOT / mutant.file).read_bytes()),
    }  # fmt: skip
    if row["status"] not in NOTICED and _key(mutant) in why:
        row |= {"status": "explained", "why": why[_key(mutant)]}
    return row


def _figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    count = {status: sum(row["status"] == status for row in rows) for status in sorted({row["status"] for row in rows})}
    survived = sum(row["status"] in ("survived", "uncovered") for row in rows)
    return {**count, "percent surviving": round(100 * survived / max(len(rows), 1), 1)}


def _tell(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        if row["status"] in NOTICED:
            continue
        print(f"{row['status']}  {row['place']}  {row['kind']}, {row['tests']} tests", row.get("why", ""))
        print("    " + row["diff"].replace("\n", "\n    "))
    print(", ".join(f"{name}: {value}" for name, value in {"mutants": len(rows), **_figures(rows)}.items()))


if __name__ == "__main__":
    sys.exit(main())
