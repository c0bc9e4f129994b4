"""Documents that a simulated document calls: each call is a virtual run of its own, inside the caller's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from penstock.app.simulation.virtual.compared_values import Compared, compared_values
from penstock.app.simulation.virtual.history import History
from penstock.net import codec
from penstock.net.calls import called_hashes
from penstock.net.compiled import Compiled
from penstock.net.model import Net

#: calls within calls that are simulated; deeper ones get an assumed answer
DEEPEST = 6


class CalledNet(msgspec.Struct, frozen=True):
    """As it is sent to another process."""

    net: bytes
    history: History


class CalledDocument:
    """A called net made ready, once for all virtual runs."""

    def __init__(self, net: Compiled, history: History) -> None:
        self.net, self.history = net, history
        self.compared: Compared = compared_values(net)


def ready(called: Mapping[str, CalledNet]) -> dict[str, CalledDocument]:
    return {hash_: CalledDocument(Compiled(codec.decode(each.net)), each.history) for hash_, each in called.items()}


def called_by(
    net: Net, find: Callable[[str], Net | None], history_of: Callable[[str], History]
) -> dict[str, CalledNet]:  # fmt: skip
    """Every net that a net calls, and those that they call, by their hashes; what is not there is left out."""
    called: dict[str, CalledNet] = {}
    wanted = list(called_hashes(net))
    while wanted:
        hash_ = wanted.pop()
        known = None if hash_ in called else find(hash_)
        if known is not None:
            called[hash_] = CalledNet(codec.encode(known), history_of(known.name))
            wanted += called_hashes(known)
    return called
