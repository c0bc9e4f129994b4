"""A crash at every point: in fixed scenarios the process dies before or after host call 1, 2, 3, … until there is none.

A host call is a commit, a tidying, an effect that goes out, and an effect that is performed. Seeds find what nobody
thought of; this finds what lies between any two calls of what everybody uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock.kernel import command as C
from tests.sim.faults import Violation
from tests.sim.nets import by_hand
from tests.sim.sim import Result, Sim
from tests.sim.watch import Shadow

MOST_STEPS = 400
VARIANTS = ("before", "after")

Act = Callable[[Sim], bool]


def _first(sim: Sim) -> Shadow | None:
    return sim.shadow_of("key0")


def send(command: C.Command) -> Act:
    """To the first run, once it is there."""

    def act(sim: Sim) -> bool:
        shadow = _first(sim)
        if shadow is not None:
            sim.process.host.send(shadow.no, command, lambda error: None)
        return shadow is not None

    return act


@dataclass(frozen=True)
class Scenario:
    """`after`: number of facts of the first run → what an operator or a client does then."""

    name: str
    works: tuple[str, ...]
    after: dict[int, Act] = field(default_factory=dict)
    fails: frozenset[str] = frozenset()
    batch: int = 512


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("fan", ("fan",)),
    Scenario("a loop of epochs", ("epochs",)),
    Scenario("two of three, three rounds", ("two_of_three",)),
    Scenario("timers", ("timers",)),
    Scenario("at most once", ("once",)),
    Scenario("a saga that fails", ("saga",), fails=frozenset({"pay"})),
    Scenario("a saga that is cancelled", ("saga_continue",), {20: send(C.cancel("now"))}),
    Scenario("cancelled at a boundary", ("fan",), {10: send(C.cancel("boundary"))}),
    Scenario("signals", ("signals",), {5: send(C.signal("s1", "go", 1)), 15: send(C.signal("s1", "go", 1))}),
    Scenario("work", ("work",)),
    Scenario("calls", ("caller",)),
    Scenario("calls, cancelled", ("caller",), {8: send(C.cancel("now"))}),
    Scenario("gated", ("gated",)),
    Scenario("three at once, one turn each", ("poll", "twice", "regions"), batch=1),
    Scenario("paused and resumed", ("timers",), {12: send(C.pause()), 20: send(C.resume())}),
)


def run_once(scenario: Scenario, crash_at: tuple[int, str] | None) -> Result:
    works = [by_hand(name) for name in scenario.works]
    for work in works:
        work.fails |= scenario.fails
    sim = _Scripted(scenario, plan={}, works=works, crash_at=crash_at)
    return sim.run()


def crashes(scenario: Scenario, variant: str) -> Iterator[tuple[int, Result]]:
    """Every run of a scenario in which the crash happened."""
    n = 0
    while True:
        n += 1
        result = run_once(scenario, (n, variant))
        if not result.counters.get("nth_crash"):
            if result.violation:
                yield n, result
            if _calls(scenario) < n:
                return
        else:
            yield n, result


def _calls(scenario: Scenario) -> int:
    """How many host calls it makes when nothing goes wrong."""
    if scenario.name not in _COUNTED:
        sim = _Scripted(scenario, plan={}, works=[by_hand(name) for name in scenario.works])
        sim.run()
        _COUNTED[scenario.name] = sim.calls
    return _COUNTED[scenario.name]


_COUNTED: dict[str, int] = {}


class _Scripted(Sim):
    """The first phase follows a script instead of a draw."""

    def __init__(self, scenario: Scenario, **options: object) -> None:
        super().__init__(1, kind="dict", **options)  # type: ignore[arg-type]
        self.scenario, self.batch, self.checkpoint_every, self.publish = scenario, scenario.batch, 5, True
        self.due = dict(scenario.after)

    def safety(self) -> None:
        for _ in range(MOST_STEPS):
            self.steps += 1
            self.guarded(self._next)
            self.people.read_answers()
            if self.done() and not self.world.pool:
                return
        raise Violation("stuck", "the script does not end")

    def _next(self) -> None:
        """A fixed order: start, script, lap, the oldest effect, the next moment, somebody who helps."""
        for one in self.people.waiting_starts():
            self.people.start(one)
        shadow = _first(self)
        for facts in sorted(self.due):
            if shadow is not None and shadow.st.n >= facts and self.due[facts](self):
                del self.due[facts]
        if self.lap():
            return
        if self.world.pool:
            self.world.answer(self.world.pool[0])
            return
        if self.publish:
            self.deliver()
        self._forward(self.steps)
