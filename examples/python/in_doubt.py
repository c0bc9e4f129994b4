"""An effect that must not happen twice: the process dies inside the call, and the run waits for somebody who looks."""

import os
import subprocess
import sys

from penstock import Blocking, Edge, Effect, Net, Node

NET = Net(
    name="payment",
    nodes=(
        Node(id="start", kind="start"),
        Node(id="pay", kind="task", effect=Effect(executor="pay", safe="at_most_once")),
        Node(id="end", kind="end", result="receipt"),
    ),
    edges=(Edge(id="start>pay", src="start", dst="pay"), Edge(id="pay>end", src="pay", dst="end")),
)


def pay() -> str:
    os._exit(9)  # the money has left; the answer is lost with the process


def main() -> None:
    subprocess.run([sys.executable, __file__, "and die"])
    with Blocking("runs.db") as penstock:
        run = penstock.start(penstock.release(NET), key="invoice-7")  # the same key: the same run
        look = penstock.wait(run, until_waiting=True)
        print(look.status, look.waiting[0].node, "for", look.waiting[0].for_)
        print([warning["code"] for warning in look.warnings])
        # Somebody has looked at the bank's side: the payment is there. `retry` would ask for it again.
        penstock.respond(run, "pay", {"receipt": "B-1003"})
        print(penstock.wait(run).output)


def die() -> None:
    with Blocking("runs.db") as penstock:
        penstock.executor()(pay)
        penstock.wait(penstock.start(penstock.release(NET), key="invoice-7"))


if __name__ == "__main__":
    die() if sys.argv[1:] else main()

# Prints:
# > WAITING pay for operator
# > ['IN_DOUBT']
# > {'receipt': {'receipt': 'B-1003'}}
