"""Dependencies: what is blocked and why, the order, circles and their weakest links."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from penstock.lang.plan.dependencies import (
    Dependency,
    Removed,
    blocked,
    components,
    cycles,
    dependencies_of,
    executable,
    order_key,
    removable,
)
from tests.conformance.plan.make import edges, findings, lowered, plan, task


def on(*ids: str, **optional: int) -> list[Dependency]:
    """Required ones by id, optional ones with their weights."""
    return [*map(Dependency, ids), *(Dependency(id, True, weight) for id, weight in optional.items())]


def test_entries_are_ids_or_maps() -> None:
    """T-X.29: id or {id, optional, weight}."""
    entries = ["a", {"id": "b"}, {"id": "c", "optional": True, "weight": 5}, "a", 3, {}]
    assert dependencies_of(entries) == [Dependency("a"), Dependency("b"), Dependency("c", True, 5)]
    assert dependencies_of(None) == []


@pytest.mark.parametrize(
    ("status", "can", "reason"),
    [
        ("completed", True, ""),
        ("pending", False, "dependencies_not_met"),
        ("in_progress", False, "dependencies_not_met"),
        ("failed", False, "dependency_failed"),
        ("cancelled", False, "dependency_cancelled"),
    ],
)
def test_a_required_dependency(status: str, can: bool, reason: str) -> None:
    """T-5.1.3, T-5.2.3, T-X.29: resolved is completed; else the reason and the tasks in the way."""
    found = blocked("b", {"a": status, "b": "pending"}, {"a": [], "b": on("a")})
    assert (found.can_execute, found.reason) == (can, reason)
    assert found.blocking_tasks == ([] if can else ["a"])


@pytest.mark.parametrize(
    ("status", "can"),
    [("completed", True), ("failed", True), ("cancelled", True), ("pending", False), ("in_progress", False)],
)
def test_an_optional_dependency(status: str, can: bool) -> None:
    """T-X.29: resolved is any end."""
    assert blocked("b", {"a": status, "b": "pending"}, {"a": [], "b": on(a=1)}).can_execute is can


def test_the_worst_reason_is_told_and_all_that_block() -> None:
    """T-5.2.3: blockingTasks."""
    statuses = {"a": "pending", "b": "failed", "c": "completed", "d": "pending"}
    found = blocked("d", statuses, {"d": on("a", "b", "c")})
    assert found.reason == "dependency_failed" and sorted(found.blocking_tasks) == ["a", "b"]
    assert blocked("c", statuses, {}).reason == "task_completed"
    assert blocked("d", statuses, {"d": on("gone")}).reason == "dependency_unknown"


def test_the_order_of_what_can_run() -> None:
    """T-5.1.2, T-7.1.5, T-X.28: a priority first, the smaller before; then created; then the id."""
    tasks = {"z": (1, None), "y": (2, 5), "x": (2, 3), "w": (None, 1), "v": (None, None), "u": (None, 1), "a": (-1, 9)}
    keys = {id: order_key(priority, created, id) for id, (priority, created) in tasks.items()}
    expected = ["a", "z", "x", "y", "u", "w", "v"]
    for some in list(permutations(tasks))[::97]:
        assert executable(dict.fromkeys(some, "pending"), {}, keys) == expected
    statuses = dict.fromkeys(tasks, "pending") | {"a": "completed", "z": "in_progress"}
    assert executable(statuses, {"x": on("z")}, keys) == ["y", "u", "w", "v"]


def test_the_three_tasks_of_the_seed() -> None:
    """T-8.3.1, T-8.3.2, T-8.3.3, T-A.13: a on b, b on c (optional), c on a: b does not wait for c any more."""
    depends_on = {"a": on("b"), "b": on(c=1), "c": on("a")}
    (cycle,) = cycles(depends_on)
    assert cycle.tasks == ["a", "b", "c"] and cycle.optional
    assert removable(depends_on) == [Removed("b", "c", 1)]


def test_a_circle_without_optional_dependencies_is_shown() -> None:
    """T-8.3.4, T-8.3.5, T-A.14: with what a person can do."""
    depends_on = {"a": on("b"), "b": on("a"), "c": on("a")}
    (cycle,) = cycles(depends_on)
    assert (cycle.tasks, cycle.members, cycle.optional) == (["a", "b"], ["a", "b"], False)
    assert removable(depends_on) == []
    suggested = " ".join(cycle.suggestions)
    assert all(word in suggested for word in ("depends_on", "force-complete", "Cancel"))


def test_the_smallest_weight_goes_first_then_the_newest() -> None:
    """T-X.29: smallest weight first, then newest."""
    ring = {"a": on(b=2), "b": on(c=1), "c": on(a=3)}
    assert removable(ring) == [Removed("b", "c", 1)]
    same = {"a": on(b=1), "b": on(c=1), "c": on(a=1)}
    assert removable(same, {"a": 1.0, "b": 3.0, "c": 2.0}) == [Removed("b", "c", 1)]
    assert removable(same, {"a": 1.0, "b": 3.0, "c": None}) == [Removed("c", "a", 1)]


def test_an_edge_that_would_not_help_is_kept() -> None:
    """T-8.3.3: a circle of required edges stays one without its optional edge; outside of it edges are not touched."""
    assert removable({"a": on("b", c=1), "b": on("a"), "c": on(a=5)}) == [Removed("a", "c", 1)]
    assert removable({"a": on("b"), "b": on("a", c=1), "c": []}) == []
    assert removable({"a": [Dependency("b"), Dependency("c", True)], "b": on("a", "c"), "c": on("a")}) == []


def _by_hand(depends_on: dict[str, list[Dependency]], age: dict[str, float]) -> list[tuple[str, str]]:
    """The weakest of all optional edges that lie on a circle is removed, until none is left that helps."""
    required = {id: [d.id for d in some if not d.optional] for id, some in depends_on.items()}
    hard = [{*group} for group in components(required)]
    left = {id: list(some) for id, some in depends_on.items()}
    removed: list[tuple[str, str]] = []
    while True:
        groups = [{*group} for group in components({id: [d.id for d in some] for id, some in left.items()})]
        found = [
            (d.weight, -age[id], id, d.id)
            for id, some in left.items()
            for d in some
            if d.optional
            and any(id in group and d.id in group for group in groups)
            and not any(id in group and d.id in group for group in hard)
        ]
        if not found:
            return sorted(removed)
        _, _, id, other = min(found)
        left[id] = [d for d in left[id] if d.id != other]
        removed.append((id, other))


def test_random_graphs_lose_the_edges_that_the_rule_names() -> None:
    """T-8.3.3, T-X.29: the fast way gives what the rule gives, step by step."""
    chance, some_removed = random.Random(13), 0
    for _ in range(400):
        names = [f"t{n}" for n in range(chance.randint(2, 9))]
        age = {name: float(chance.randint(0, 3)) for name in names}
        depends_on = {
            name: [
                Dependency(other, chance.random() < 0.7, chance.randint(1, 3))
                for other in chance.sample(names, chance.randint(0, min(3, len(names))))
                if other != name
            ]
            for name in names
        }
        expected = _by_hand(depends_on, age)
        some_removed += bool(expected)
        assert sorted((r.task, r.on) for r in removable(depends_on, age)) == expected, depends_on
    assert some_removed > 100


def test_a_long_chain_and_a_long_ring_need_no_stack() -> None:
    """T-8.3.1: strongly connected components without recursion."""
    names = [f"t{n}" for n in range(20_000)]
    chain = {name: [before] for before, name in zip(names, names[1:], strict=False)} | {"t0": []}
    assert components(chain) == []
    (ring,) = components(chain | {"t0": ["t19999"]})
    assert len(ring) == 20_000


def test_many_weak_links_are_found_at_once() -> None:
    """T-8.3.3: not one search of the whole plan for each."""
    names = [f"t{n:04}" for n in range(2000)]
    chance = random.Random(1)
    depends_on = {
        name: [Dependency(o, True, chance.randint(1, 9)) for o in {*chance.sample(names, 3)} - {name}] for name in names
    }
    gone = {(r.task, r.on) for r in removable(depends_on)}
    left = {name: [d.id for d in some if (name, d.id) not in gone] for name, some in depends_on.items()}
    assert gone and components(left) == []


def test_a_removed_dependency_is_told_and_not_in_the_net() -> None:
    """T-8.3.3, T-A.13, T-X.29: a warning with its line, a record for the incident, no edge."""
    document = plan(task("a", "b"), task("b", {"id": "c", "optional": True}), task("c", "a"))
    (finding,) = findings(document)
    assert (finding.rule, finding.severity, finding.where.pointer) == (
        "dependency_removed", "warning", "/tasks/1/depends_on/0",
    )  # fmt: skip
    net = lowered(document)
    assert net.declares.policies["plan"]["removed"] == [{"task": "b", "on": "c", "weight": 1}]
    assert edges(net) == {"start>a", "start>b", "start>c", "b>a", "a>c"}


def test_a_circle_that_stays_is_a_warning() -> None:
    """T-8.3.4, T-A.14: the plan can be released; it will stop there."""
    (finding,) = findings(plan(task("a", "b"), task("b", "a")))
    assert (finding.rule, finding.severity) == ("dependency_cycle", "warning")
    assert "a → b → a" in finding.message
