"""A Python function is an executor: a net names it, the engine calls it, its answer is committed before it goes on."""

from penstock import Blocking, Edge, Effect, Net, Node, Request

NET = Net(
    name="order",
    nodes=(
        Node(id="start", kind="start"),
        Node(id="price", kind="task", effect=Effect(executor="price", args={"discount": 10})),
        Node(id="book", kind="task", effect=Effect(executor="book")),
        Node(id="end", kind="end", result="booked"),
    ),
    edges=(
        Edge(id="start>price", src="start", dst="price", var="order"),
        Edge(id="price>book", src="price", dst="book", var="total"),
        Edge(id="book>end", src="book", dst="end"),
    ),
)

with Blocking("runs.db") as penstock:

    @penstock.executor()
    def price(order: dict[str, int], discount: int) -> float:
        """Parameters are filled by name: from what came along an edge (`var`), else from the effect's arguments."""
        return order["pieces"] * 4.5 * (100 - discount) / 100

    @penstock.executor()
    async def book(total: float, request: Request) -> dict[str, object]:
        """`request.key` is the same on every attempt and after every crash: hand it to whoever receives the effect."""
        return {"total": total, "under": request.key.rpartition("/")[2], "attempt": request.attempt}

    run = penstock.start(penstock.release(NET), {"pieces": 8})
    print(penstock.wait(run).output)

# Prints:
# > {'booked': {'total': 32.4, 'under': 'book@~0#1', 'attempt': 1}}
