"""The nets that the workloads of `bench` run."""

from __future__ import annotations

from penstock.net.model import MERGE, Edge, Effect, Join, Net, Node, Set, Trigger


def chain_net(length: int = 10) -> Net:
    ids = ["start", *(f"n{i}" for i in range(length)), "end"]
    nodes = [Node(id=i, kind="task", effect=Effect(executor="work")) for i in ids[1:-1]]
    return Net(
        name="chain",
        nodes=(Node(id="start", kind="start"), *nodes, Node(id="end", kind="end")),
        edges=tuple(Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in zip(ids, ids[1:], strict=False)),
    )


def rich_net(length: int = 10) -> Net:
    """Per step: a task, an assignment, an exclusive choice, one of two branches, a merge."""
    nodes = [Node(id="start", kind="start")]
    edges: list[Edge] = []
    before = "start"
    for i in range(length):
        nodes += [
            Node(
                id=f"t{i}",
                kind="task",
                effect=Effect(executor="work"),
                sets=(Set(name="total", expr="fn.coalesce(context.total, 0) + 1"),),
            ),
            Node(id=f"s{i}", sets=(Set(name="x", expr="context.total * 2"),)),
            Node(id=f"c{i}", split="first"),
            Node(id=f"a{i}"),
            Node(id=f"b{i}"),
            Node(id=f"m{i}", join=MERGE),
        ]
        ways = [(before, f"t{i}"), (f"t{i}", f"s{i}"), (f"s{i}", f"c{i}"), (f"a{i}", f"m{i}"), (f"b{i}", f"m{i}")]
        edges += [Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in ways]
        edges += [
            Edge(id=f"c{i}>a{i}", src=f"c{i}", dst=f"a{i}", guard="context.x % 4 == 0"),
            Edge(id=f"c{i}>b{i}", src=f"c{i}", dst=f"b{i}", default=True),
        ]
        before = f"m{i}"
    edges.append(Edge(id=f"{before}>end", src=before, dst="end"))
    return Net(name="rich", nodes=(*nodes, Node(id="end", kind="end")), edges=tuple(edges))


def fan_net(width: int) -> Net:
    middle = [f"f{i}" for i in range(width)]
    nodes = [Node(id=i, kind="task", effect=Effect(executor="work")) for i in middle]
    ways = [("start", i) for i in middle] + [(i, "join") for i in middle] + [("join", "end")]
    return Net(
        name="fan",
        nodes=(Node(id="start", kind="start"), *nodes, Node(id="join"), Node(id="end", kind="end")),
        edges=tuple(Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in ways),
    )


def loop_net(rounds: int) -> Net:
    again = Edge(id="gate>work", src="gate", dst="work", guard=f"visit < {rounds}", role="cond")
    return Net(
        name="loop",
        nodes=(
            Node(id="start", kind="start"),
            Node(id="work", kind="task", join=Join(mode="k", take="all"), effect=Effect(executor="work")),
            Node(id="gate", split="first"),
            Node(id="end", kind="end"),
        ),
        edges=(
            Edge(id="start>work", src="start", dst="work"),
            Edge(id="work>gate", src="work", dst="gate"),
            again,
            Edge(id="gate>end", src="gate", dst="end", default=True),
        ),
        max_visits=rounds + 1,
    )


def waiting_net() -> Net:
    day = Trigger(port="late", after_ms=86_400_000)
    return Net(
        name="waiting",
        nodes=(
            Node(id="start", kind="start"),
            Node(id="wait", kind="wait", triggers=(Trigger(kind="signal", name="go"), day)),
            Node(id="work", kind="task", effect=Effect(executor="work")),
            Node(id="end", kind="end"),
        ),
        edges=tuple(
            Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in (("start", "wait"), ("wait", "work"), ("work", "end"))
        ),
    )
