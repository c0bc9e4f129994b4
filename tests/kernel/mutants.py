"""Faults to be planted in the kernel: each breaks one rule, and the laws must see it (test_laws, test_determinism)."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from penstock.kernel import fact as F
from penstock.kernel.ready import tokens_at
from penstock.kernel.state import COMPLETED
from penstock.net import compiled


def plant(monkeypatch: pytest.MonkeyPatch, right: Any, wrong: Any) -> None:
    """Puts a fault in the place of a function wherever the kernel holds it: by name, in a table, in a tuple."""
    found = False
    for name, module in list(sys.modules.items()):
        if not name.startswith("penstock.kernel"):
            continue
        for attribute, held in list(vars(module).items()):
            if held is right:
                monkeypatch.setattr(module, attribute, wrong)
            elif type(held) is dict and right in [v for v in held.values() if callable(v)]:
                for key in [k for k, v in held.items() if v is right]:
                    monkeypatch.setitem(held, key, wrong)
            elif type(held) is tuple and any(v is right for v in held):
                monkeypatch.setattr(module, attribute, tuple(wrong if v is right else v for v in held))
            else:
                continue
            found = True
    assert found, "the fault was planted nowhere"


def hidden_state(right: Any) -> Any:
    def wrong(r: Any, *args: Any, **more: Any) -> Any:
        r.st.vars["hidden"] = r.st.n
        return right(r, *args, **more)

    return wrong


def unnumbered(right: Any) -> Any:
    def wrong(st: Any, fact: Any) -> None:
        right(st, fact)
        st.n -= 1

    return wrong


def cancel_ended(right: Any) -> Any:
    def wrong(r: Any, c: Any) -> None:
        if r.st.status == COMPLETED:
            return r.record((F.MOVED, "CANCELLED", "cancel_requested", None))
        return right(r, c)

    return wrong


def nothing(right: Any) -> Any:
    return lambda *args, **more: None


def uncounted(right: Any) -> Any:
    def wrong(sc: Any, edges: Any, epoch: int) -> Any:
        sc.live += 1
        return right(sc, edges, epoch)

    return wrong


def same_number(right: Any) -> Any:
    def wrong(st: Any, fact: Any) -> None:
        right(st, fact)
        st.scopes[fact[2]].seqs.clear()

    return wrong


def no_raise(right: Any) -> Any:
    def wrong(r: Any, way: Any, scope: Any, epoch: int, **more: Any) -> None:
        right(r, way, scope, epoch - way.raises, **more)

    return wrong


def epochs_mix(right: Any) -> Any:
    def wrong(r: Any, node: Any, scope: Any, epoch: int, relaxed: bool = False) -> Any:
        if node.join != compiled.ALL or node.lone:
            return right(r, node, scope, epoch, relaxed)
        marks = {m for (s, n, _), m in r.marks.items() if (s, n) == (scope.no, node.no)}
        return tokens_at(node, scope, epoch) if sum(marks) >= node.full else None

    return wrong


def all_but_one(right: Any) -> Any:
    def wrong(r: Any, node: Any, scope: Any, epoch: int, relaxed: bool = False) -> Any:
        marks = r.marks.get((scope.no, node.no, epoch), 0)
        if node.join == compiled.ALL and not node.lone and marks.bit_count() >= len(node.ins) - 1 > 0:
            return tokens_at(node, scope, epoch)
        return right(r, node, scope, epoch, relaxed)

    return wrong


def counts_tokens(right: Any) -> Any:
    def wrong(r: Any, node: Any, scope: Any, epoch: int, relaxed: bool = False) -> Any:
        lying = sum(len(scope.tokens.get(e.no + (epoch << compiled.EPOCH), ())) for e in node.ins)
        if node.join == compiled.K and not node.lone and not node.merge and lying >= node.k:
            return tokens_at(node, scope, epoch)
        return right(r, node, scope, epoch, relaxed)

    return wrong


def merge_takes_all(right: Any) -> Any:
    def wrong(r: Any, node: Any, scope: Any, epoch: int, relaxed: bool = False) -> Any:
        takes = right(r, node, scope, epoch, relaxed)
        return tokens_at(node, scope, epoch) if takes and node.merge and not node.lone else takes

    return wrong


def no_debts(right: Any) -> Any:
    return lambda *args, **more: []


def debts_stay(right: Any) -> Any:
    def wrong(r: Any) -> bool:
        r.unsure.clear()
        return False

    return wrong


def half_rule(right: Any) -> Any:
    def wrong(r: Any, node: Any, scope: Any, epoch: int, marks: int, relaxed: bool) -> bool:
        along, at = node.reach()
        ways = [r.net.edges[place & (compiled.MOST - 1)] for place in scope.tokens]
        held = [along[e.no] for e in ways if e.dst is not node]
        held += [at[f.node] for f in r.by_scope.get(scope.no, {}).values() if f.comp < 0]
        return relaxed or not any(reached & ~marks for reached in held)

    return wrong


def never_waits(right: Any) -> Any:
    return lambda *args, **more: True


def two_branches(right: Any) -> Any:
    def wrong(r: Any, node: Any, outs: Any, view: Any) -> Any:
        chosen = right(r, node, outs, view)
        return [*chosen, *[e for e in outs if e.default and e not in chosen]]

    return wrong


def twice(right: Any) -> Any:
    def wrong(*args: Any, **more: Any) -> Any:
        right(*args, **more)
        return right(*args, **more)

    return wrong


def off_by_one(right: Any) -> Any:
    def wrong(node: Any, scope: Any, epoch: int) -> bool:
        return node.max_iter is not None and scope.visits.get(node.no + (epoch << compiled.EPOCH), 0) > node.max_iter

    return wrong


def stale_answers(right: Any) -> Any:
    def wrong(r: Any, c: Any) -> None:
        firing = r.st.firings.get(c[1])
        right(r, c if firing is None else (c[0], firing.no, firing.attempt, firing.probe, *c[4:]))

    return wrong


def signals_again(right: Any) -> Any:
    def wrong(r: Any, c: Any) -> None:
        right(r, (c[0], "", *c[2:]))

    return wrong


def early(right: Any) -> Any:
    def wrong(r: Any) -> Any:
        r.now += 10
        due = right(r)
        r.now -= 10
        return due

    return wrong


def one_per_tick(right: Any) -> Any:
    def wrong(r: Any) -> Any:
        rung = any(f[0] == F.TIMER_GONE and f[2] == "fired" for f in r.facts)
        return None if rung else right(r)

    return wrong


def forwards(right: Any) -> Any:
    def wrong(self: Any, fact: Any) -> None:
        right(self, (fact[0], fact[1][::-1], *fact[2:]) if fact[0] == F.UNDO_PLANNED else fact)

    return wrong


def never_shared(right: Any) -> Any:
    def wrong(passed: Any) -> Any:
        found = right(passed)
        return {k: 1 if k < 0 else v for k, v in found.items()} if found else found

    return wrong


def never_sealed(right: Any) -> Any:
    def wrong(st: Any, firing: Any) -> Any:
        return {k: v for k, v in (firing.passed or {}).items() if k >= 0} or None

    return wrong


def mode_of_the_net(right: Any) -> Any:
    return lambda node, mode: node.spec.work is not None and node.spec.work.agent


def same_attempt(right: Any) -> Any:
    return lambda firing, item: firing.attempt
