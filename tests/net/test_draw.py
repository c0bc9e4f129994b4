"""Pictures: what they show, that they never trust a text, that they are the same every time, and how they look."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from penstock.net.analysis import NetAnalysis
from penstock.net.draw import Marks, NodeMark, mermaid, recording, svg, terminal
from penstock.net.draw.layout import PlacedNode, layout
from penstock.net.draw.marks import status_style
from penstock.net.draw.text_width import cells, cut, cut_cells, width
from penstock.net.model import DIAGRAM, MERGE, Body, Branch, Edge, Join, Net, Node, Trigger
from tests.counted import grows_evenly
from tests.net.make import net

GOLDEN = Path(__file__).parent / "golden"
NS = "{http://www.w3.org/2000/svg}"
Golden = Callable[[Path, str], None]

LOOP = Net(
    name="answer",
    nodes=(
        Node(id="s", kind="start", label="Start"),
        Node(id="w", kind="task", type="person_job", label="Writer", join=DIAGRAM, max_iter=3),
        Node(id="c", type="condition", label="Good enough?", split="first", join=MERGE, port="true"),
        Node(id="x", kind="task", type="endpoint", label="답변 저장"),
    ),
    edges=(
        Edge(id="1", src="s", dst="w", role="start"),
        Edge(id="2", src="w", dst="c"),
        Edge(id="3", src="c", dst="w", port="condfalse", role="cond"),
        Edge(id="4", src="c", dst="x", port="condtrue", role="cond"),
    ),
)
RUN = Marks(
    tokens={"3": 2},
    nodes={
        "s": NodeMark(status="COMPLETED"),
        "w": NodeMark(status="RUNNING", count=2, limit=3, note="1.4 s"),
        "c": NodeMark(status="COMPLETED", count=2),
    },
    taken={"1": 1, "2": 2, "3": 2},
)


def parse(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def words(text: str) -> list[str]:
    return ["".join(t.itertext()) for t in parse(text).iter(f"{NS}text")]


def titles(text: str) -> list[str]:
    return [t.text or "" for t in parse(text).iter(f"{NS}title")]


# ---- what is shown ---------------------------------------------------------------------------------------------------


def test_the_loop_as_svg(golden: Golden) -> None:
    golden(GOLDEN / "loop.svg", svg(LOOP, RUN, title="Answer"))


def test_the_loop_as_mermaid(golden: Golden) -> None:
    golden(GOLDEN / "loop.mmd", mermaid(LOOP, RUN))


def test_the_loop_in_a_terminal(golden: Golden) -> None:
    golden(GOLDEN / "loop.txt", "".join(f"{line}\n" for line in terminal(LOOP, RUN)))


def test_a_recording(golden: Golden) -> None:
    frames = ["$ penstock run answer.yaml", "$ penstock run answer.yaml\n\x1b[32m✓\x1b[0m Start"]
    golden(GOLDEN / "recording.svg", recording(frames, "penstock"))


def test_a_status_is_icon_word_and_colour() -> None:
    """The word beside the name, a badge in its tone, the counter as a badge."""
    shown = svg(LOOP, RUN)
    assert "running · 1.4 s" in words(shown)
    assert "completed" in words(shown)
    assert "2/3" in words(shown)
    assert "×2" in words(shown)
    assert "Writer · running" in titles(shown)
    assert "#1B6FDB" in shown  # the mark of what moves


def test_tokens_are_dots_on_edges_with_a_number_above_one() -> None:
    """Tokens are seen on the edge they rest on."""
    one = svg(LOOP, Marks(tokens={"1": 1}))
    assert "1 token" in titles(one)
    assert "2 tokens" in titles(svg(LOOP, RUN))
    assert "2" in words(svg(LOOP, RUN))
    assert "99+" in words(svg(LOOP, Marks(tokens={"1": 500})))
    assert "token" not in " ".join(titles(svg(LOOP)))


def test_branches_are_labelled_on_their_edges() -> None:
    """condtrue and condfalse are written on the edges."""
    assert {"condtrue", "condfalse"} <= set(words(svg(LOOP)))


@pytest.mark.parametrize(
    ("status", "tone", "word"),
    [
        ("PENDING", "idle", "pending"),
        ("RUNNING", "moving", "running"),
        ("COMPLETED", "done", "completed"),
        ("FAILED", "failed", "failed"),
        ("MAXITER_REACHED", "done", "limit reached"),
        ("SKIPPED", "idle", "skipped"),
        ("WAITING", "held", "waiting"),
        ("COMPENSATED", "undone", "compensated"),
        ("SOMETHING_NEW", "idle", "something new"),
    ],
)
def test_statuses_have_a_tone_and_a_word(status: str, tone: str, word: str) -> None:
    """D-8.1.1, D-8.1.2, D-8.1.3, D-8.1.4, D-8.1.5, D-8.1.6: each state looks its own way."""
    assert (status_style(status).tone, status_style(status).word) == (tone, word)
    shown = svg(LOOP, Marks(nodes={"w": NodeMark(status=status)}))
    assert word in words(shown)


def test_themes() -> None:
    assert 'fill="#F6F8F9"' in svg(LOOP)
    dark = svg(LOOP, theme="dark")
    assert 'fill="#0D1418"' in dark
    assert "#F6F8F9" not in dark


def test_a_picture_does_not_jump_while_tokens_move() -> None:
    """The layout looks at the net alone."""
    empty, full = parse(svg(LOOP)), parse(svg(LOOP, RUN))
    assert empty.attrib["viewBox"] == full.attrib["viewBox"]
    assert len(terminal(LOOP)) == len(terminal(LOOP, RUN))


# ---- trust nothing ---------------------------------------------------------------------------------------------------

EVIL = "</text><script>alert('x')</script>\"'&\u0000\u202e\ud800]]>"


def evil() -> tuple[Net, Marks]:
    one = Net(
        name=EVIL,
        nodes=(
            Node(id=EVIL, kind="task", type=EVIL, label=EVIL),
            Node(id="b", kind="end", label=EVIL),
            Node(id="p", kind="scope", label=EVIL, body=Body(entry="i")),
            Node(id="i", scope="p", label=EVIL),
        ),
        edges=(Edge(id="1", src=EVIL, dst="b", label=EVIL), Edge(id="2", src=EVIL, dst="p", guard=EVIL)),
    )
    mark = NodeMark(status=EVIL, count=3, note=EVIL)
    return one, Marks(tokens={"1": 3}, nodes={EVIL: mark, "b": mark, "p": mark, "i": mark})


def test_hostile_texts_stay_texts_in_svg() -> None:
    one, marks = evil()
    for theme in ("light", "dark"):
        shown = svg(one, marks, theme=theme, title=EVIL)  # type: ignore[arg-type]
        shown.encode()
        allowed = {"svg", "title", "style", "defs", "pattern", "circle", "rect", "path", "g", "text", "tspan"}
        assert {e.tag.removeprefix(NS) for e in parse(shown).iter()} <= allowed
        names = {key for e in parse(shown).iter() for key in e.attrib}
        assert not any(key.lower().startswith("on") or "href" in key for key in names)
        assert any("<script>" in word for word in words(shown))


def test_hostile_texts_stay_texts_in_mermaid() -> None:
    one, marks = evil()
    nasty = 'x"] --> y; click n0 "javascript:alert(1)" %%{init: {}}%% `md` #quot;'
    two = Net(
        name="m",
        nodes=(Node(id="a", kind="task", label=nasty), Node(id="b")),
        edges=(Edge(id="1", src="a", dst="b", label=nasty),),
    )
    for text, nodes, ways in ((mermaid(one, marks), 4, 2), (mermaid(two), 2, 1)):
        lines = text.splitlines()
        assert sum("-->" in line for line in lines) == ways
        assert sum(bool(re.match(r"\s+(subgraph )?n\d+[\[({]", line)) for line in lines) == nodes
        assert "<script" not in text
        assert "%%{" not in text
        assert "javascript:alert(" not in text
        assert all(line.count('"') in (0, 2) for line in lines)
        text.encode()


def test_hostile_texts_stay_in_their_line_of_a_terminal() -> None:
    one, marks = evil()
    lines = terminal(one, marks)
    assert all(line.text.isprintable() for line in lines)
    assert "\x1b" not in "".join(line.text for line in terminal(Net(name="n", nodes=(Node(id="a", label="\x1b[2J"),))))


def test_recordings_drop_what_is_not_a_colour() -> None:
    frame = "\x1b[2J\x1b]0;title\x07\x1b[31;1mred\x1b[0m <b>&\x00\x1b[38;2;1;2;3mrgb"
    frame += "\x1b[38;5;196mcube\x1b[3;2mit\x1b[39;22;23mend"
    shown = recording([frame], "<t>")
    assert words(shown) == ["red", "<b>&", "rgb", "cube", "it", "end", "<t>"]
    assert 'fill="#010203"' in shown
    assert 'fill="#ff0000"' in shown
    assert "script" not in {e.tag.removeprefix(NS) for e in parse(shown).iter()}


# ---- the same every time ---------------------------------------------------------------------------------------------


def test_the_same_bytes_under_every_hash_seed() -> None:
    code = (
        "from tests.net.test_draw import *; import hashlib;"
        "made=[draw(random_net(s)) for s in range(8) for draw in (svg, mermaid, lambda n: str(terminal(n)))];"
        "print(hashlib.sha256(''.join(made).encode()).hexdigest())"
    )
    found = set()
    for seed in ("0", "1", "77"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


# ---- how it looks ----------------------------------------------------------------------------------------------------


def random_net(seed: int) -> Net:
    """A graph of every kind of node, with loops, long edges, nested scopes and undo nodes."""
    rng = random.Random(seed)
    nodes: list[Node] = []
    ways: list[Edge] = []

    def level(scope: str, size: int, depth: int) -> str:
        ids = [f"{scope}/{i}" if scope else f"n{i}" for i in range(size)]
        for i, id in enumerate(ids):
            kind = (
                "start"
                if i == 0 and not scope
                else rng.choice(["task", "route", "work", "wait", "call", "end", "scope"])
            )
            label = rng.choice(["", "Fetch", "아주 긴 이름의 작업", "A rather long name for a node, really"])
            body = None
            if kind == "scope":
                if depth == 0:
                    kind = "task"
                else:
                    body = Body(entry=level(id, rng.randrange(1, 5), depth - 1))
            undo = (f"{id}/u",) if rng.random() < 0.15 else ()
            wait = (Trigger(after_ms=1),) if kind == "wait" else ()
            nodes.append(Node(id=id, kind=kind, label=label, scope=scope, body=body, undo=undo, triggers=wait))  # type: ignore[arg-type]
            if undo:
                nodes.append(Node(id=undo[0], kind="task", scope=scope, off_path=True))
        for _ in range(rng.randrange(size, 2 * size + 1)):
            a, b = rng.choice(ids), rng.choice(ids)
            label = rng.choice(["", "", "yes", "조건이 맞음"])
            ways.append(Edge(id=f"e{len(ways)}", src=a, dst=b, label=label))
        return ids[0]

    level("", rng.randrange(2, 9), 2)
    return Net(name=f"r{seed}", nodes=tuple(nodes), edges=tuple(ways))


def overlap(a: PlacedNode, b: PlacedNode) -> bool:
    across = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
    return across > 0.5 and min(a.y + a.height, b.y + b.height) - max(a.y, b.y) > 0.5


@pytest.mark.parametrize("seed", range(60))
def test_no_node_covers_another_and_edges_end_at_their_nodes(seed: int) -> None:
    one = random_net(seed)
    facts = NetAnalysis(one)
    picture = layout(facts)
    assert len(picture.spots) == len(one.nodes)
    assert len(picture.routes) == len(one.edges)
    spots = picture.spots
    for a in spots:
        for b in spots:
            if a < b and one.nodes[a].scope == one.nodes[b].scope:
                assert not overlap(spots[a], spots[b]), (one.nodes[a].id, one.nodes[b].id)
        if one.nodes[a].scope:
            around, inner = spots[facts.graph.number[one.nodes[a].scope]], spots[a]
            assert around.x <= inner.x
            assert around.y < inner.y
            assert inner.x + inner.width <= around.x + around.width + 0.1
            assert inner.y + inner.height <= around.y + around.height + 0.1
    for e, way in picture.routes.items():
        for end, v in ((way.points[0], facts.graph.src[e]), (way.points[-1], facts.graph.dst[e])):
            spot = spots[v]
            assert spot.x - 0.1 <= end[0] <= spot.x + spot.width + 0.1
            assert spot.y - 0.1 <= end[1] <= spot.y + spot.height + 0.1
        for (x1, y1), (x2, y2) in zip(way.points, way.points[1:], strict=False):
            assert abs(x1 - x2) < 0.1 or abs(y1 - y2) < 0.1, "right angles only"
            assert min(x1, x2) >= -0.1
            assert max(x1, x2) <= picture.width + 0.1
            assert max(y1, y2) <= picture.height + 0.1
    parse(svg(one))


def middle(one: Net, *ids: str) -> list[float]:
    facts = NetAnalysis(one)
    spots = layout(facts).spots
    return [round(spots[facts.graph.number[id]].line, 1) for id in ids]


def test_the_main_line_is_straight() -> None:
    """A choice goes on straight ahead; what leaves the line stands beside it and comes back to it."""
    one = net("s>c c?>a c!>b a>j b>j j>x", Node(id="c", split="first"), Node(id="j", join=MERGE))
    line = middle(one, "s", "c", "a", "j", "x")
    assert len(set(line)) == 1
    assert middle(one, "b") != line[:1]


def test_parallel_ways_are_even() -> None:
    one = net("s>f f>a f>b a>j b>j j>x")
    upper, lower, fork, join = middle(one, "a", "b", "f", "j")
    assert upper < fork < lower
    assert fork == join == pytest.approx((upper + lower) / 2, abs=0.2)


def test_loops_are_led_around_below_and_inner_ones_stay_inside() -> None:
    nodes = (Node(id="c", split="first"), Node(id="d", split="first"), Node(id="a", join=MERGE))
    one = net("s>a a>b b>c c?>a c!>d d?>a d!>x", *nodes)
    facts = NetAnalysis(one)
    picture = layout(facts)
    back = [way for way in picture.routes.values() if way.back]
    inner, outer = sorted(back, key=lambda way: max(y for _, y in way.points))
    assert max(y for _, y in inner.points) > max(s.y + s.height for s in picture.spots.values())
    assert outer.points[-1][0] < inner.points[-1][0]


def test_korean_is_measured_double() -> None:
    assert cells("한글 ab") == 7
    assert cells("e\u0301") == 1
    assert width("한글", 10) == pytest.approx(20)
    assert width("ab", 10) < 13
    assert cells(cut_cells("품질 관리자의 승인을 기다려요", 10)) <= 10
    assert width(cut("품질 관리자의 승인을 기다려요", 60, 12), 12) <= 60
    narrow, wide = (
        layout(NetAnalysis(net("s>a", Node(id="a", kind="task", label=text)))).spots[1].width
        for text in ("x" * 13, "가" * 13)
    )
    assert wide > narrow


def test_lanes_in_a_terminal() -> None:
    fork = [str(line) for line in terminal(net("s>f f>a f>b a>j b>j j>x"))]
    assert [line[:4].rstrip() for line in fork] == [
        "○",
        "│",
        "○",
        "├─╮",
        "○ │",
        "│ │",
        "│ ○",
        "│ │",
        "├─╯",
        "○",
        "│",
        "○",
    ]
    crossing = "\n".join(str(line) for line in terminal(net("s>a s>b a>p b>p a>q b>q")))
    assert "┼" in crossing


def test_scopes_stand_inside_in_a_terminal() -> None:
    body = Body(mode="branches", branches=(Branch(key="1", entry="i"), Branch(key="2", entry="k")))
    inner = (Node(id="i", scope="p", label="Inner one"), Node(id="k", scope="p", label="Inner two"))
    lines = [str(line) for line in terminal(net("s>p p>x", Node(id="p", kind="scope", body=body), *inner))]
    assert [line.split("  ")[0].strip() for line in lines] == ["○", "│", "○", "┆ ○", "┆ ○", "│", "○"]


def test_a_wide_fan_is_named_not_drawn() -> None:
    lines = terminal(net(" ".join(f"s>n{i}" for i in range(40))))
    assert len(lines) == 42
    assert "→ n0" in lines[1].text
    assert max(len(line.text.split("n0")[0]) for line in lines) < 60


@pytest.mark.parametrize("seed", range(20))
def test_spans_name_places_inside_their_line(seed: int) -> None:
    one = random_net(seed)
    marks = Marks(
        tokens={e.id: 1 for e in one.edges}, nodes={n.id: NodeMark(status="RUNNING", count=2) for n in one.nodes}
    )
    lines = terminal(one, marks)
    for line in lines:
        at = 0
        for span in line.spans:
            assert at <= span.start < span.end <= len(line.text)
            at = span.end
    assert sum(line.text.count("●") for line in lines) == len(one.edges)
    names = sum(any(span.style == "title" for span in line.spans) for line in lines)
    assert names == len(one.nodes)


def test_a_recording_plays_every_frame_for_its_time() -> None:
    shown = recording(["a", "b", "c"], frame_ms=[500, 1000, 500])
    assert "animation:play 2000ms step-end infinite" in shown
    assert "25.000%{" in shown
    assert "75.000%{" in shown
    assert "prefers-reduced-motion" in shown


def test_lines_that_frames_share_are_written_once() -> None:
    shown = recording(["same\none", "same\ntwo", "same\n한글 셋"])
    assert words(shown) == ["same", "one", "two", "한글 셋"]
    assert len(list(parse(shown).iter(f"{NS}use"))) == 6


def test_nets_that_are_wrong_are_drawn_all_the_same() -> None:
    """A drawing helps to see the mistake, so it may not fail on it."""
    wrong = Net(
        name="w",
        nodes=(
            Node(id="a"),
            Node(id="a", label="twice"),
            Node(id="p", kind="scope", scope="q"),
            Node(id="q", kind="scope", scope="p"),
            Node(id="b", scope="nobody"),
        ),
        edges=(Edge(id="1", src="a", dst="gone"), Edge(id="2", src="a", dst="p"), Edge(id="3", src="a", dst="a")),
    )
    for one in (wrong, Net(name="empty")):
        parse(svg(one))
        assert mermaid(one).startswith("flowchart LR")
        assert isinstance(terminal(one), list)


@pytest.mark.parametrize(
    "text",
    ["n{0}>n{1}", "s>n{0} n{0}>j", "c{0}>c{1} c{0}>m{0} m{0}>m{1}"],
    ids=["chain", "fan", "ladder"],
)
def test_drawing_grows_evenly_with_the_nodes(text: str) -> None:
    def large(count: int) -> Callable[[], Any]:
        made = net(" ".join(text.format(i, i + 1) for i in range(count)))
        return lambda: (svg(made), terminal(made), mermaid(made))

    assert grows_evenly(large, 60)
    large(1000)()


def test_what_a_join_waits_for_is_written_where_it_is_not_everything() -> None:
    """`any` and `k of n` are seen in the picture, and so is an edge that raises the epoch."""
    text = "s>a s>b s>c a>j b>j c>j j>x"
    quorum = Node(id="j", kind="task", type="person_job", join=Join(mode="k", k=2, late="absorb"))
    assert "person job · 2 of 3" in words(svg(net(text, quorum)))
    assert "2 of 3" in "\n".join(str(line) for line in terminal(net(text, quorum)))
    assert "task · any" in words(svg(net(text, Node(id="j", kind="task", join=MERGE))))
    assert "epoch +1" in words(svg(net("s>a a>b b^>a b!>x")))
