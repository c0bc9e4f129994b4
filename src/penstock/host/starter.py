"""The starter: begins runs for events and schedules, each once by its key, however often it is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError
from penstock.host.loaded_run import InternalReply
from penstock.host.start_limits import StartLimits
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED
from penstock.store.run_store import RunStore
from penstock.store.use_projection import USED

#: tenant, number of the net, what is given, id of the new run → the input with its defaults, and the run's options;
#: raises InputInvalid
Prepare = Callable[[str, int, Any, str], tuple[Any, dict[str, Any]]]
#: tenant, number of the active net, id of the new run → the net of the version that it gets, and more options
ChooseVersion = Callable[[str, int, str], tuple[int, dict[str, Any]]]
#: told the id of the run, or why there is none
Begun = Callable[[str, PenstockError | None], None]


class Starter:
    def __init__(
        self, store: RunStore, turns: Turns, new_id: Callable[[], str], resume_run: Callable[[int], None],
        start_limits: StartLimits,
    ) -> None:  # fmt: skip
        self.store, self.turns, self.new_id, self.resume_run = store, turns, new_id, resume_run
        self.start_limits = start_limits
        self.prepare: Prepare | None = None
        self.choose: ChooseVersion | None = None

    def begin(self, tenant: str, net: int, given: Any, key: str, trigger: dict[str, Any], begun: Begun) -> None:
        """`begun` is called when the run is in the store: at once when it was there. Raises what refuses the input."""
        unborn = self.turns.starting.get((tenant, key))
        if unborn is not None:
            self.turns.send(
                unborn.no, C.nudge(), InternalReply(lambda error: begun(unborn.id, None))
            )  # after its first turn
            return
        row = self.store.run_by_key(tenant, key)
        if row is not None:
            if row.status < COMPLETED:
                self.resume_run(row.no)
            begun(row.id, None)
            return
        id = self.new_id()
        net, chosen = (net, dict[str, Any]()) if self.choose is None else self.choose(tenant, net, id)
        input, options = (given, dict[str, Any]()) if self.prepare is None else self.prepare(tenant, net, given, id)
        used = [*options.get(USED, ()), *chosen.get(USED, ())]
        more = {**chosen, **({USED: used} if used else {}), "trigger": trigger}
        self.turns.start(
            id, net, input, tenant=tenant, key=key, options={**options, **more},
            reply=InternalReply(lambda error: begun(id, error)),
        )  # fmt: skip
