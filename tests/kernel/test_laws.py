"""Laws of the kernel on random nets, with a crash before every turn: K1 to K17 of RELIABILITY, L1 to L8 of KERNEL."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import NoBranch, PenstockError, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import decide, flow, quiet, ready, saga
from penstock.kernel import due_timers as ringing
from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.evolve.tokens import take
from penstock.kernel.failure import Failure
from penstock.kernel.replay import fold
from penstock.kernel.run import Run
from penstock.kernel.state import COMPENSATING, decode_state, encode_state, new_state
from penstock.lifecycle import MACHINES
from penstock.net.compiled import Compiled
from penstock.net.model import (
    ALL,
    ANY,
    DIAGRAM,
    INCLUSIVE,
    MERGE,
    Edge,
    Effect,
    Join,
    Net,
    Node,
    Retry,
    RunRetry,
    Trigger,
    Work,
)
from tests.kernel import mutants
from tests.kernel.board import Board
from tests.kernel.nets import S, X, edge, net, task, tasks
from tests.kernel.storm import JOINS, Storm, World, answer, changes_nothing, drive, essence, laws, pick, tangled, told
from tests.model import random_nets as R
from tests.model.bridge import to_product

SEEDS = st.integers(0, 10**9)
INPUTS = st.integers(0, 255).map(R.bits)
TWO = Join(mode="k", k=2, late="absorb")


def spiced(seed: int, input: Any, **more: Any) -> Storm:
    """Everything at once: retries, boundaries, polls, work, undo, run retry, pause, cancel, signals, late answers."""
    sim = Storm(to_product(R.spice(seed)), input, **more)
    World(random.Random(seed)).play(sim)
    return sim


def tangle(seed: int, input: Any, *joins: Join, **more: Any) -> Storm:
    every = more.pop("spiced", False)
    return drive(tangled(seed, joins or JOINS, spiced=every), input, random.Random(seed), noise=True, most=400, **more)


# ---- K1 to K6: the journal, the state, tokens ------------------------------------------------------------------------


@laws()
@given(SEEDS, INPUTS, st.data())
def test_k01_the_state_is_the_fold_of_the_journal_from_zero_and_from_any_snapshot(seed, input, data):
    """K1: byte for byte, from zero and from a checkpoint taken after any turn plus the turns behind it."""
    sim = spiced(seed, input, crash=False)
    cut = data.draw(st.integers(0, len(sim.turns)))
    state = new_state()
    for number, (at, body) in enumerate(sim.turns):
        if number == cut:
            state = decode_state(encode_state(state))
        fold(state, F.decode_facts(body), at)
    assert encode_state(state) == encode_state(sim.st)


@laws()
@given(SEEDS, INPUTS)
def test_k02_facts_are_numbered_without_hole_or_repeat(seed, input):
    """K2: each turn begins with the number behind the last one's."""
    sim = spiced(seed, input)
    numbers = [line.seq for line in sim.lines]
    assert numbers == sorted(numbers)
    assert set(numbers) <= set(range(1, sim.st.n + 1))
    assert sim.st.n == sum(len(F.decode_facts(body)) for _, body in sim.turns)


EVERY_COMMAND = (
    C.tick(), C.signal("new", "SIG", 1), C.cancel(), C.cancel("boundary"), C.pause(), C.resume(), C.retry(),
    C.retry("restart"), C.compensate(), C.resolve(1, 1), C.cancel_firing(1), C.set_variable("v", 1), C.nudge(),
    C.doubt(1, 1), C.start("r1"), C.work(1, "submit", "u", 1), C.done(1, 1), C.failed(1, 1, Failure("X", "permanent")),
)  # fmt: skip


def ended_run_stays_ended(sim: Storm) -> None:
    """Every command is refused, ignored, or a move that the table has."""
    machine = MACHINES["run"]
    for command in EVERY_COMMAND:
        status, before, facts = sim.status, essence(sim.st), len(sim.facts)
        try:
            lines = sim.do(command)
        except PenstockError:
            assert len(sim.facts) == facts, f"K3: {C.NAMES[command[0]]} moved a run that is {status}"
            continue
        moves = [line for line in lines if line.fact == "run.moved"]
        if not moves:
            assert essence(sim.st) == before, f"K3: {C.NAMES[command[0]]} changed a run that is {status}"
            continue
        assert machine.next(status, moves[0].data["event"]) == moves[0].data["to"]
        return  # it lives again, as the table allows


@laws()
@given(SEEDS, INPUTS)
def test_k03_a_terminal_status_is_left_only_by_its_table(seed, input):
    """K3, K24: COMPLETED, FAILED, CANCELLED, COMPENSATED are absorbing but for retry and compensate."""
    ended_run_stays_ended(spiced(seed, input))


@laws()
@given(SEEDS, INPUTS)
def test_k04_an_ended_run_has_nothing_and_a_live_one_has_something(seed, input):
    """K4: every token was taken, absorbed or swept; the harness asserts both halves after every turn."""
    sim = spiced(seed, input)
    board = sim.board
    assert not board.places and not board.acts and not board.timers
    assert not sim.st.firings and not sim.st.timers and not sim.st.waits and not sim.st.items


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k05_a_token_is_put_once_and_taken_at_most_once(seed, input, crash):
    """K5: the board counts for itself and agrees with the state after every turn."""
    sim = tangle(seed, input, spiced=True, crash=crash)
    put = len(sim.board.put_ever)
    assert put == sum(line.fact == "put" for line in sim.lines)


@laws()
@given(SEEDS, INPUTS)
def test_k06_no_token_has_the_identity_of_another(seed, input):
    """K6: (edge, scope, epoch, number), also after retries, restarts and scopes that were opened again."""
    sim = spiced(seed, input)
    assert len(sim.board.put_ever) == sum(line.fact == "put" for line in sim.lines)


# ---- K7 to K15: joins, choices, limits -------------------------------------------------------------------------------


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k07_a_firing_takes_only_its_own_epoch(seed, input, crash):
    """K7: and only an edge that raises leads into the next one."""
    tangle(seed, input, spiced=True, crash=crash)


def controller(raises: bool = True) -> Net:
    """Two branches meet at an `all` behind a loop that raises the epoch."""
    nodes = [S, Node(id="m", join=MERGE), *tasks("a", "b"), Node(id="j"), Node(id="g", split="first"), X]
    ways = ["s>m m>a m>b a>j b>j j>g", edge("g>m", guard="epoch < 3", raises=raises), edge("g>x", default=True)]
    return net(nodes, ways)


def test_k07_rounds_of_a_controller_do_not_meet():
    """K7: a token of round 0 that is late does not join with one of round 1."""
    sim = drive(controller(), None, random.Random(1))
    assert sim.status == "COMPLETED" and [x.epoch for x in sim.of("fired") if x.node == "j"] == [0, 1, 2, 3]


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k08_an_all_join_fires_only_with_every_edge_marked(seed, input, crash):
    """K8: once per activation, and never left lying when it is ready."""
    tangle(seed, input, ALL, ALL, MERGE, DIAGRAM, crash=crash)


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k09_two_tokens_on_one_edge_are_not_two_edges(seed, input, crash):
    """K9: merges without joins put several tokens on one edge."""
    tangle(seed, input, ALL, Join(mode="k", k=2), TWO, MERGE, MERGE, crash=crash)


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k10_a_merge_fires_for_each_token_and_any_for_the_first(seed, input, crash):
    """K10: oldest first; later ones of an activation of `any` are absorbed."""
    tangle(seed, input, MERGE, ANY, crash=crash)


@laws()
@given(SEEDS, INPUTS)
def test_k11_k_of_n_fires_at_the_kth_edge_and_absorbs_the_late_ones(seed, input):
    """K11: what is owed is what can still come, by search; what can no longer come is released."""
    tangle(seed, input, TWO, ANY, MERGE, crash=True)


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k12_an_inclusive_join_fires_iff_nothing_blocks_it(seed, input, crash):
    """K12: against brute-force reachability on graphs of at most 12 nodes, both ways."""
    tangle(seed, input, INCLUSIVE, INCLUSIVE, MERGE, ALL, crash=crash)


@laws()
@given(SEEDS, INPUTS)
def test_k13_an_exclusive_choice_takes_exactly_one_way(seed, input):
    """K13."""
    sim = drive(to_product(R.structured(seed)), input, random.Random(seed))
    assert sim.status == "COMPLETED"


@pytest.mark.parametrize("no_match", ["incident", "end"])
def test_k13_no_way_at_all_is_never_silence(no_match):
    """K13, P-X.11: an incident waits for an operator; a path that may end settles with no way taken."""
    nodes = [S, task("w"), Node(id="g", split="first", no_match=no_match), X]
    sim = Storm(net(nodes, ["s>w w>g", edge("g>x", guard="w.ok == true")]))
    sim.ok("w", {})
    if no_match == "end":
        assert sim.status == "COMPLETED" and ("g", "done") in sim.settled() and "x" not in sim.fired()
        return
    assert sim.status == "WAITING" and sim.incidents() == ["NO_MATCHING_BRANCH"]
    with pytest.raises(NoBranch):
        sim.do(C.resolve(sim.firing("w").no, {"ok": False}))
    sim.do(C.resolve(sim.firing("w").no, {"ok": True}))
    assert sim.status == "COMPLETED"


def restarting() -> Net:
    return net([S, task("a"), task("b", on_final="restart"), X], "s>a a>b b>x", run_retry=RunRetry(max=2, delay_ms=5))


def test_k14_start_fires_once_per_attempt_of_the_run():
    """K14: a restart fires it again, a retry of the failed firing does not."""
    sim = Storm(restarting())
    for attempt in (1, 2, 3):
        assert sim.fired().count("s") == attempt
        sim.ok("a")
        sim.bad("b")
        if sim.status == "PENDING":
            sim.tick()
    assert sim.status == "FAILED"
    sim.do(C.retry())
    assert sim.fired().count("s") == 3


@laws()
@given(SEEDS, INPUTS)
def test_k14_start_fires_once_on_any_net(seed, input):
    """K14."""
    tangle(seed, input)


@laws()
@given(SEEDS, INPUTS, st.booleans())
def test_k15_max_iteration_holds_per_node_scope_and_epoch(seed, input, crash):
    """K15: at most that many firings; the first token beyond is forwarded, once, and nothing stalls there."""
    tangle(seed, input, spiced=True, crash=crash)


def test_k15_reaching_the_limit_yields_the_last_output_once():
    """K15, D-X.5: marked maxiter."""
    sim = Storm(net([S, task("a", max_iter=2, join=MERGE), task("b", join=MERGE)], ["s>a a>a a>b"]))
    for k in (1, 2):
        sim.ok("a", k)
    assert sim.fired().count("a") == 2 and [x.data["why"] for x in sim.of("absorbed")] == ["max_iteration"] * 2
    assert [x.data["body"] for x in sim.of("put") if x.data.get("maxiter")] == [2, 2]
    for _ in range(3):
        sim.ok("b")
    assert sim.status == "COMPLETED"


# ---- K16, K17: commands that come again, timers ----------------------------------------------------------------------


@laws()
@given(SEEDS, INPUTS)
def test_k16_an_answer_that_comes_again_is_ignored(seed, input):
    """K16, E4: late and double answers, with a crash before each."""
    sim = drive(to_product(R.structured(seed, race=True)), input, random.Random(seed), noise=True)
    assert sim.status == "COMPLETED"


def twice() -> Net:
    wait = Node(id="w", kind="wait", triggers=(Trigger(kind="signal", name="GO"),))
    person = Node(id="p", kind="work", work=Work())
    return net([S, task("a", retry=Retry(max=2, base_ms=10)), wait, person, X], "s>a a>w w>p p>x")


def every_command_twice() -> Storm:
    sim = Storm(twice())
    first = sim.asked("a")
    assert first is not None
    broken = C.failed(first.no, first.attempt, Failure("T", "transient"))
    sim.do(broken)
    changes_nothing(sim, broken)
    sim.tick()
    changes_nothing(sim, C.tick())
    changes_nothing(sim, broken)
    changes_nothing(sim, C.done(first.no, 1, body="an answer to the attempt before"))
    sim.do(C.pause())
    changes_nothing(sim, C.pause())
    sim.do(C.resume())
    again = sim.asked("a")
    assert again is not None
    sim.do(answer(again, 1))
    changes_nothing(sim, answer(again, 2))
    sim.do(C.signal("one", "GO"))
    changes_nothing(sim, C.signal("one", "GO"))
    item = sim.item("p")
    sim.do(C.work(item, "submit", "u", 1))
    before = essence(sim.st)
    for command in (C.work(item, "submit", "u", 2), C.start("r1"), C.cancel()):
        with pytest.raises(PenstockError):
            sim.do(command)
        assert essence(sim.st) == before
    assert sim.status == "COMPLETED" and sim.output("a") == 1
    return sim


def test_k16_every_command_twice():
    """K16: what is fed twice is ignored with a reason or refused, and nothing changes."""
    every_command_twice()


@laws()
@given(SEEDS, INPUTS)
def test_k17_a_timer_rings_once_and_never_early(seed, input):
    """K17: and once its time has come and the clock ticks, it has rung."""
    spiced(seed, input)


def test_k17_two_timers_of_one_moment_ring_once_each():
    """K17: the board counts; a tick before the time is ignored."""
    waits = [Node(id=n, kind="wait", triggers=(Trigger(after_ms=50),)) for n in "ab"]
    sim = Storm(net([S, *waits, Node(id="j"), X], "s>a s>b a>j b>j j>x"))
    sim.now = 49
    changes_nothing(sim, C.tick())
    sim.tick(50)
    assert sim.status == "COMPLETED" and [x.data["why"] for x in sim.of("timer.gone")] == ["fired"] * 2


def test_the_board_had_something_to_look_at():
    """A law that is never asked holds: count what the board judged."""
    used: set[str] = set()
    for seed in range(60):
        used |= tangle(seed, R.bits(seed), spiced=True, check=False).board.used
        used |= spiced(seed, R.bits(seed), check=False).board.used
    assert used == {f"K{n}" for n in (7, 8, 9, 10, 11, 12, 13, 15, 17)}


# ---- L1 to L8 of KERNEL 10 -------------------------------------------------------------------------------------------


def dead_path_elimination(net_: Net, input: list[bool], fails: set[str]) -> list[str]:
    """The reference: explicit dead tokens in topological order; the nodes that run."""
    live: dict[str, bool] = {}
    ran = []
    for node in net_.nodes:
        ins, outs = [e for e in net_.edges if e.dst == node.id], [e for e in net_.edges if e.src == node.id]
        if ins and not any(live[e.id] for e in ins):
            live.update({e.id: False for e in outs})
            continue
        ran.append(node.id)
        port = "failed" if node.id in fails else "done"
        chosen = [e for e in outs if e.port == port and (e.guard is None or input[int(e.guard[6:-1])])]
        if node.split == "first":
            chosen = chosen[:1]
        live.update({e.id: e in chosen for e in outs})
    return ran


@laws()
@given(SEEDS, st.integers(2, 12), INPUTS)
def test_l1_inclusive_joins_are_dead_path_elimination_on_acyclic_nets(seed, size, input):
    """L1: each node at most once."""
    one = to_product(R.dag(seed, size))
    rng = random.Random(seed)
    fails = {f"n{i}" for i in range(1, size) if rng.random() < 0.2}
    sim = Storm(one, input)
    while sim.effects():
        node = sim.net.nodes[pick(sim, rng).node].id
        sim.bad(node) if node in fails else sim.ok(node, node)
    assert sim.status == "COMPLETED"
    assert sorted(sim.fired()) == sorted(dead_path_elimination(one, input, fails))


@laws()
@given(SEEDS, INPUTS)
def test_l2_structured_nets_complete_and_are_confluent(seed, input):
    """L2, K20: any order, late and double answers, reload before every turn: equal variables and firings."""
    one = to_product(R.structured(seed))
    quiet = drive(one, input, random.Random(1), crash=False, check=False)
    wild = drive(one, input, random.Random(seed + 7), noise=True)
    assert quiet.status == wild.status == "COMPLETED"
    assert quiet.vars() == wild.vars()
    assert sorted(quiet.fired()) == sorted(wild.fired())


@laws()
@given(SEEDS, INPUTS)
def test_l3_structured_nets_with_races_complete(seed, input):
    """L3."""
    assert (
        drive(to_product(R.structured(seed, race=True)), input, random.Random(seed), noise=True).status == "COMPLETED"
    )


@laws()
@given(SEEDS, INPUTS, st.integers(0, 40))
def test_l4_cancel_anywhere(seed, input, at):
    """L4, C1, C3: everything in flight is dropped; what is answered later is superseded."""
    sim = Storm(to_product(R.structured(seed, race=True)), input)
    rng = random.Random(seed)
    for _ in range(at):
        if sim.effects():
            firing = pick(sim, rng)
            sim.do(answer(firing, told(sim, firing)))
    if not sim.effects():
        assert sim.status == "COMPLETED"
        return
    live = [answer(firing) for firing in sim.effects()]
    sim.do(C.cancel())
    assert sim.status == "CANCELLED" and len(sim.run.stops) == len(live)
    for command in live:
        assert changes_nothing(sim, command).data["why"] == "superseded"
    with pytest.raises(StatusConflict):
        sim.do(C.cancel())


@laws()
@given(SEEDS, INPUTS, st.integers(0, 30))
def test_l5_pause_anywhere_and_resume_gives_the_same_end(seed, input, at):
    """L5: answers that come meanwhile are kept, nothing fires."""
    one = to_product(R.structured(seed))
    straight = drive(one, input, random.Random(3), crash=False, check=False)
    sim = Storm(one, input)
    rng = random.Random(seed)
    count = 0
    while sim.effects() or sim.st.paused:
        if count == at:
            sim.do(C.pause())
        count += 1
        if sim.effects():
            fired, firing = len(sim.fired()), pick(sim, rng)
            sim.do(answer(firing, told(sim, firing)))
            assert not sim.st.paused or len(sim.fired()) == fired
        else:
            sim.do(C.resume())
    assert sim.status == "COMPLETED" and straight.vars() == sim.vars()


def undoable(seed: int) -> Net:
    plain = to_product(R.structured(seed))
    nodes = [msgspec.structs.replace(n, undo=("UNDO",)) if n.kind == "task" else n for n in plain.nodes]
    undo = Node(id="UNDO", kind="task", off_path=True, effect=Effect(executor="x", args={"$expr": "undone"}))
    return msgspec.structs.replace(plain, nodes=(*nodes, undo))


def compensates_in_reverse(seed: int, input: Any, at: int) -> None:
    sim = Storm(undoable(seed), input)
    rng = random.Random(seed)
    done: list[int] = []
    while sim.effects() and sim.st.status != COMPENSATING:
        firing = pick(sim, rng)
        if len(done) == at:
            sim.do(C.failed(firing.no, firing.attempt, Failure("X", "permanent")))
            break
        sim.do(answer(firing, len(done)))
        done.append(len(done))
    while sim.effects() and sim.status == "RUNNING":  # no fail-fast: the siblings of the failed one go on
        sim.do(answer(pick(sim, rng), len(done)))
        done.append(len(done))
    if len(done) <= at and sim.status == "COMPLETED":
        return
    undone = []
    while sim.effects():
        (firing,) = sim.effects()
        undone.append(firing.args)
        sim.do(answer(firing))
    assert undone == done[::-1], "C5: the reverse of the order of completion"
    assert sim.status == ("COMPENSATED" if done else "FAILED")


@laws()
@given(SEEDS, INPUTS, st.integers(0, 30))
def test_l6_a_failure_anywhere_compensates_in_reverse(seed, input, at):
    """L6, C4, C5, C7: a crash before each undo step, and exactly the reverse order."""
    compensates_in_reverse(seed, input, at)


@laws(4)
@given(SEEDS)
def test_l7_reach_tables_equal_a_search(seed):
    """L7, K12: of every edge and every node, on cyclic graphs of at most 12 nodes."""
    whole = Compiled(tangled(seed))
    board = Board(whole)
    for join in whole.nodes:
        along, at = join.reach()
        for way in whole.edges:
            told_ = {e.no for e in join.ins if along[way.no] & e.bit}
            assert told_ == (set() if way.dst is join else board.reaches(way.dst, join)), (join, way.id)
        for node in whole.nodes:
            assert {e.no for e in join.ins if at[node.no] & e.bit} == board.reaches(node, join), (join, node)


@laws(2)
@given(SEEDS, INPUTS)
def test_l8_no_net_hangs_unnamed(seed, input):
    """L8, K4: any graph with any joins completes, or fails with a name."""
    sim = drive(to_product(R.arbitrary(seed)), input, random.Random(seed), noise=True, most=400)
    named = sim.status == "FAILED" and sim.st.failure.code in ("DEADLOCK", "ITERATION_LIMIT")
    assert sim.status == "COMPLETED" or named


# ---- found by these laws, and kept -----------------------------------------------------------------------------------


def test_epochs_are_not_forgotten_while_their_last_firing_still_puts():
    """K6, E2: a split whose first way raises: its other tokens stay in the old epoch, and so do the counters there."""
    ways = ["s>a", edge("a>x", raises=True), "a>a"]
    sim = Storm(net([S, task("a", join=MERGE), X], ways))
    for _ in range(3):
        sim.ok("a")
    keys = [x.data["key"] for x in sim.of("effect.asked")]
    assert len(keys) == len(set(keys)) == 4


def test_every_start_hands_on_its_own_token():
    """K5, K14: two starts, two branches."""
    starts = [Node(id="s1", kind="start"), Node(id="s2", kind="start", value={"z": 2})]
    sim = Storm(net([*starts, *tasks("a", "b"), X], "s1>a s2>b a>x b>x"), {"q": 1})
    assert [f.takes[0].envelope.body for f in sim.effects()] == [{"q": 1}, {"z": 2}]
    sim.ok("a")
    sim.ok("b")
    assert sim.status == "COMPLETED" and sim.fired().count("x") == 2


def test_a_node_that_takes_no_room_lets_the_next_one_in():
    """K4, K8: a control node of a full group passes at once; who waits behind it is not forgotten."""
    nodes = [S, task("a", group="g"), Node(id="r", group="g"), task("b", group="g"), X]
    sim = Storm(net(nodes, "s>a s>r s>b a>x r>x b>x", limits={"g": 1}), crash=False)
    sim.ok("a")
    assert sim.asked("b") is not None, sim.st.failure


def test_a_debt_is_released_though_its_place_is_not_empty():
    """K11, K19: of two tokens on one edge the one that owed something has left; a reload must not be what notices."""
    nodes = [S, Node(id="r", join=Join(mode="k", k=2)), task("j", join=ANY, split="every")]
    double = [Edge(id=f"{src}>r.2", src=src, dst="r") for src in "sj"]
    one = net(nodes, ["s>r r>j j>j", edge("j>r", guard="visit % 2 == 1"), *double], max_visits=8)
    for crash in (True, False):
        for seed in range(20):
            drive(one, None, random.Random(seed), crash=crash, most=60)


def test_k03_compensate_is_refused_where_the_table_has_no_row():
    """K3, K24: a boundary cancel ended CANCELLED though a step failed; nothing leads out of it."""
    undo = [task(f"u{n}", off_path=True) for n in "ab"]
    sim = Storm(net([S, *[task(n, undo=(f"u{n}",)) for n in "ab"], *undo, X], "s>a a>b b>x"), check=False)
    sim.ok("a")
    sim.do(C.cancel("boundary"))
    sim.ok("b")
    sim.bad("ub")
    assert sim.status == "CANCELLED"
    with pytest.raises(StatusConflict):
        sim.do(C.compensate())
    assert sim.status == "CANCELLED"


def test_compensate_that_finds_nothing_changes_nothing():
    """K16: an open entry that may not be undone by hand is no reason to sweep the run."""
    sim = Storm(
        net([S, task("a", undo=("u",), undo_on=("failure",)), *tasks("b"), X, task("u", off_path=True)], "s>a a>b b>x")
    )
    sim.ok("a")
    changes_nothing(sim, C.compensate())
    assert sim.status == "RUNNING" and sim.asked("b") is not None


def test_a_transform_that_fails_fails_the_run_and_not_the_command():
    """K4: the answer was given; the run says what is wrong, and does not wait for ever."""
    sim = Storm(net([S, *tasks("a", "b"), X], ["s>a b>x", edge("a>b", transform="body * 2")]))
    sim.ok("a", "text")
    assert sim.status == "FAILED" and sim.st.failure.code == "EXPR_TYPE"


def test_a_trigger_value_that_fails_fails_its_firing():
    """K17: a timer whose value cannot be worked out has rung all the same."""
    wait = Node(id="w", kind="wait", triggers=(Trigger(after_ms=5, action="value", value={"$expr": "1 / input"}),))
    sim = Storm(net([S, wait, X], "s>w w>x"), 0)
    sim.tick()
    assert sim.status == "FAILED" and sim.st.failure.code == "EXPR_DIV_ZERO"


def test_a_loop_head_is_asked_again_in_every_epoch_once_it_was_entered():
    """K8, K19: entering a head in one epoch makes it ready in another; a reload must not be what notices."""
    late = Edge(id="c>n", src="c", dst="n", role="cond")
    back = Edge(id="n>n", src="n", dst="n", role="skip")
    nodes = [S, Node(id="c"), Node(id="l"), task("n", join=DIAGRAM, split="first")]
    one = net(nodes, ["s>c s>l", late, back, edge("l>n", raises=True)], max_visits=3)
    for crash in (True, False):
        sim = Storm(one, crash=crash)
        sim.do(C.signal("1", "NOBODY"))
        assert [x.epoch for x in sim.of("fired") if x.node == "n"] == [1, 0]


# ---- mutants: a law that cannot fail is no law -----------------------------------------------------------------------


def of_tangles(*joins: Join, **more: Any) -> Callable[[], None]:
    def find() -> None:
        for seed in range(60):
            drive(tangled(seed, joins or JOINS, **more), R.bits(seed), random.Random(seed), most=400, crash=False)

    return find


def of_spices() -> None:
    for seed in range(25):
        spiced(seed, R.bits(seed), crash=False)


def of_structure() -> None:
    for seed in (*range(20), 35, 374, 423, 657):  # the last four: or in or in a loop
        one = to_product(R.structured(seed, depth=4))
        sim = drive(one, R.bits(seed * 37), random.Random(seed), most=250, crash=False, check=False)
        assert sim.status == "COMPLETED" and not any(x.data.get("relaxed") for x in sim.of("fired"))


def of_ends() -> None:
    ended_run_stays_ended(drive(net([S, task("a"), X], "s>a a>x"), None, random.Random(1)))


def of_two_epochs() -> None:
    sim = Storm(net([S, Node(id="a"), task("b"), Node(id="j"), X], ["s>a s>b b>j j>x", edge("a>j", raises=True)]))
    sim.ok("b")
    assert sim.status == "FAILED" and sim.st.failure.code == "DEADLOCK", "K7: epochs do not meet"


def of_cancelled_timers() -> None:
    sim = Storm(restarting())
    sim.ok("a")
    sim.bad("b")
    sim.do(C.cancel())


def of_undo() -> None:
    for seed in range(10):
        compensates_in_reverse(seed, R.bits(seed), 3)


MUTANTS: dict[str, tuple[Any, Callable[[Any], Any], Callable[[], Any]]] = {
    "K1 state without a fact": (flow.set_timer, mutants.hidden_state, of_spices),
    "K2 a fact without a number": (EVOLVE[F.NAMED], mutants.unnumbered, of_tangles()),
    "K3 cancel of an ended run": (decide.cancel, mutants.cancel_ended, of_ends),
    "K4 a timer is left behind": (saga.drop_run_timers, mutants.nothing, of_cancelled_timers),
    "K5 tokens are not counted off": (take, mutants.uncounted, of_tangles()),
    "K6 numbers are used again": (EVOLVE[F.PUT], mutants.same_number, of_tangles()),
    "K7 the epoch is not raised": (flow.put, mutants.no_raise, of_two_epochs),
    "K7 marks of all epochs count": (ready.ready, mutants.epochs_mix, of_two_epochs),
    "K8 all but one": (ready.ready, mutants.all_but_one, of_tangles()),
    "K9 tokens count, not edges": (ready.ready, mutants.counts_tokens, of_tangles(TWO, MERGE)),
    "K10 a merge takes all at once": (ready.ready, mutants.merge_takes_all, of_tangles(MERGE)),
    "K11 no debts": (ready.debts, mutants.no_debts, of_tangles(TWO, ANY)),
    "K11 debts are never released": (ready.release_debts, mutants.debts_stay, of_tangles(TWO, ANY)),
    "K12 without the second half": (ready._inclusive, mutants.half_rule, of_structure),
    "K12 never waits": (ready._inclusive, mutants.never_waits, of_tangles(INCLUSIVE)),
    "K13 two branches": (flow.choose, mutants.two_branches, of_structure),
    "K14 start fires twice": (decide.fire_starts, mutants.twice, of_tangles()),
    "K15 one too many": (quiet.at_max, mutants.off_by_one, of_tangles(spiced=True)),
    "K16 stale answers": (decide.outcome, mutants.stale_answers, every_command_twice),
    "K16 a signal twice": (decide.signal, mutants.signals_again, every_command_twice),
    "K17 early": (ringing.next_due, mutants.early, of_spices),
    "K17 not all that is due": (ringing.next_due, mutants.one_per_tick, of_spices),
    "C5 undone forwards": (Run.record, mutants.forwards, of_undo),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_is_found(name, monkeypatch):
    """Each rule broken on purpose: the laws see it within a few nets."""
    right, fault, find = MUTANTS[name]
    if right is Run.record:
        monkeypatch.setattr(Run, "record", fault(right))
    else:
        mutants.plant(monkeypatch, right, fault(right))
    with pytest.raises((AssertionError, PenstockError)):
        find()


@pytest.mark.parametrize("find", {id(f): f for _, _, f in MUTANTS.values()}.values())
def test_the_kernel_as_it_is_holds_where_the_faults_are_found(find):
    """The control: without a fault the same nets show nothing."""
    find()
