"""A diagram run from Python, without an event loop: release, start, wait, look."""

from pathlib import Path

from penstock import Blocking

LOOP = Path(__file__).parents[1] / "diagram/loop.yaml"

with Blocking("runs.db") as penstock:  # one SQLite file, made if it is not there
    loop = penstock.release(LOOP)  # read, checked, compiled, kept
    run = penstock.start(loop, key="order-42")
    look = penstock.wait(run)
    print(look.status, look.counters["PersonJob"])

with Blocking("runs.db") as penstock:  # another process, another day: the same key is the same run
    print(penstock.start(penstock.release(LOOP), key="order-42") == run)

# Prints:
# > COMPLETED 3
# > True
