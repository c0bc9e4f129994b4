"""Every form of a diagram converts into every other one, and a converted diagram runs step by step as before (D-X.14).

Ten loops in the shapes that the public tool writes: light, native and readable, older and newer ones.
"""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lang.compile import check_document, compile_document
from penstock.lang.diagram.convert import Converted, convert
from penstock.lang.diagram.forms import Form, form_of
from penstock.lang.diagram.yaml_text import yaml_text
from penstock.lang.read import read_document
from penstock.lang.report import Report
from penstock.net.codec import content_hash
from tests.conformance.diagram.make import END, START, cond, document, job, plain, text
from tests.conformance.diagram.running import EXAMPLES, go

LOOPS = Path(__file__).parent / "loops"
FORMS: tuple[Form, ...] = ("light", "native", "readable")


class Loop(NamedTuple):
    file: Path
    ran: dict[str, int]  # how often these nodes executed
    output: Any


TEN = [
    Loop(EXAMPLES / "count.native.json", {"Begin": 1, "Count": 4, "Enough": 4}, "counted to 5"),
    Loop(
        EXAMPLES / "debate.light.yaml", {"For": 2, "Against": 3, "All said": 3, "Judge": 1},
        "Who was right about Should the hall have more lamps?",
    ),
    Loop(
        EXAMPLES / "revise.readable.yaml", {"Write": 3, "Good enough": 3},
        "Author answers (3, 5d985b0d): Improve this: Author answers (2, 92bb21c1): Improve this: "
        "Author answers (1, 2d15a6b4): Report the broken belt.",
    ),
    Loop(
        LOOPS / "epochs.native.json", {"Work": 4, "Round over": 4, "Enough rounds": 2},
        "Hand answers (2, 82259b2b): go",
    ),
    Loop(LOOPS / "flipped.light.yaml", {"Speak": 2, "Go on": 2}, "hello"),
    Loop(LOOPS / "limits.readable.yaml", {"Left panel": 2, "Right panel": 3, "Judge panel": 1}, "It is a draw."),
    Loop(LOOPS / "older.readable.yaml", {"Draw": 3, "Star": 3}, "star"),
    Loop(LOOPS / "sections.light.yaml", {"Done": 4, "Take": 3, "Keep": 3}, {"path": "sections/2.json", "bytes": 20}),
    Loop(
        LOOPS / "skippable.native.json", {"printer": 3, "condition": 3, "ask": 1},
        "person 1 answers (1, 8fcc8849): How often?",
    ),
    Loop(LOOPS / "state.light.yaml", {"Init": 1, "Add": 3}, {"i": 3, "items": [3, 4, 5], "sum": 12}),
]  # fmt: skip
NAMES = [loop.file.name for loop in TEN]


def converted(source: bytes, to: Form) -> Converted:
    read = read_document(source, name="d")
    report = Report(read)
    made = convert(read, to, report)
    assert made is not None, [str(finding) for finding in report.findings]
    assert form_of(read_document(made.text.encode(), name="d")) == to
    return made


def net_hash(source: bytes) -> str:
    return content_hash(compile_document(source, name="d").net)


def in_file(folder: Path, source: bytes | str, form: Form) -> Path:
    """The document under one name, whatever its form: a diagram without a name is called like its file."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / ("d.json" if form == "native" else "d.yaml")
    file.write_bytes(source if isinstance(source, bytes) else source.encode())
    return file


def test_there_are_ten_of_them_in_all_forms() -> None:
    """D-X.14: written by hand in each of the three forms."""
    assert sorted(path.name for path in LOOPS.iterdir()) == sorted(n for n in NAMES if (LOOPS / n).exists())
    forms = [form_of(read_document(loop.file.read_bytes(), name="d")) for loop in TEN]
    assert len(TEN) == 10 and {form: forms.count(form) for form in FORMS} == {"light": 4, "native": 3, "readable": 3}


@pytest.mark.parametrize("loop", TEN, ids=NAMES)
def test_a_loop_reaches_its_end_and_its_trace_is_the_same_in_every_form(loop: Loop, tmp_path: Path) -> None:
    """D-X.14, D-11.4: the ten loops end, and every conversion of every form gives an equal trace."""
    source = loop.file.read_bytes()
    first = go(tmp_path / "first", in_file(tmp_path / "0", source, form_of(read_document(source, name="d"))))
    assert first.status == "COMPLETED", first.look.failure
    assert {node: first.times(node) for node in loop.ran} == loop.ran
    assert list(first.look.outputs.values()) == [loop.output]
    for one, other in permutations(FORMS, 2):
        made = converted(converted(source, one).text.encode(), other)
        folder = tmp_path / f"{one}-{other}"
        again = go(folder, in_file(folder / "document", made.text, other))
        assert again.trace() == first.trace()


def _is_label(label: str) -> bool:
    """Is it a label that a diagram may have beside Start and End?"""
    source = document([START, text(label), END], [])
    return not any(finding.severity == "error" for finding in check_document(source, name="d")[1])


DOCUMENTS = sorted(file for file in EXAMPLES.iterdir() if not file.name.endswith(".scenario.yaml"))


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_every_example_is_the_same_net_in_every_form(file: Path) -> None:
    """D-X.14: not only loops: the net of every example has one hash, whatever form it is written in."""
    source = file.read_bytes()
    hashes = {net_hash(source)}
    for one in FORMS:
        made = converted(source, one).text.encode()
        hashes |= {net_hash(made), *(net_hash(converted(made, other).text.encode()) for other in FORMS)}
    assert len(hashes) == 1


def test_losses_are_told() -> None:
    """D-X.14: what a form cannot say is said."""
    native = converted((EXAMPLES / "count.native.json").read_bytes(), "light")
    assert native.losses == [
        "the ids of nodes, arrows, handles and persons; here a label is the id", "how arrows are bent in the drawing",
    ]  # fmt: skip
    light = converted((LOOPS / "sections.light.yaml").read_bytes(), "native")
    assert light.losses == ["comments, if there are any", "that nodes have no position: they get one, in a row"]
    assert converted((LOOPS / "skippable.native.json").read_bytes(), "native").losses == []


def test_positions_and_persons_and_what_nobody_reads_are_kept() -> None:
    """D-X.14: a position with a fraction, a person's key, and the author under metadata survive every form."""
    source = (LOOPS / "skippable.native.json").read_bytes()
    for form in ("light", "readable"):
        back = json.loads(converted(converted(source, form).text.encode(), "native").text)
        assert back["nodes"]["node_0"]["position"] == {"x": 0.5, "y": 1.25}
        assert back["nodes"]["node_2"]["data"]["flipped"] == [True, True]
        assert back["persons"]["person_0"]["llm_config"] == {"service": "mock", "model": "", "api_key_id": "APIKEY_1"}
        assert back["persons"]["person_0"]["label"] == "person 1"
        assert back["metadata"] == {"name": "skippable", "author": "somebody"}


def test_a_flipped_condition_of_the_light_form_stays_one() -> None:
    """D-X.16: `flipped: true` swaps the branches in the light form and is only drawn in the others."""
    source = (LOOPS / "flipped.light.yaml").read_bytes()
    native = json.loads(converted(source, "native").text)
    assert native["nodes"]["node_2"]["data"]["negate"] is True
    assert "flipped" not in native["nodes"]["node_2"]["data"]
    drawn = json.loads((EXAMPLES / "count.native.json").read_text())
    assert drawn["nodes"][3]["data"]["flipped"] is True
    light = converted((EXAMPLES / "count.native.json").read_bytes(), "light").text
    assert "negate" not in light and "flipped:\n      - true\n      - true\n" in light


def test_what_cannot_be_read_is_not_converted() -> None:
    """D-X.14: a diagram with a hole is refused with its findings, not written with one."""
    broken = read_document(document([START, END], ["Start>Edn"]), name="d")
    report = Report(broken)
    assert convert(broken, "native", report) is None
    assert [finding.rule for finding in report.findings] == ["dangling_edge"]


def test_handles_and_options_of_connections_are_kept() -> None:
    """D-X.14, D-X.23: first and dead handles, labels, priorities and transforms."""
    ways = [
        "Start>C", ("C[condtrue]>J[first]", {"label": 'a "b" c', "priority": 3}), ("C[condfalse]>T", {"ttl_s": 2.5}),
        ("T[dead]>End", {"transform": "body.x"}), "J>End", ("T>End", {"content_type": "raw_text", "capacity": 2}),
    ]  # fmt: skip
    source = document([START, cond("C"), job("J"), text("T"), END], ways)
    for form in FORMS:
        assert net_hash(converted(source, form).text.encode()) == net_hash(source)


AWKWARD = {
    "an alias of a field": (
        [START, text("W"), cond("C", condition_type="nodes_executed", expression="", nodes=["W"]), END],
        ["Start>W", "W>C", "C[condtrue]>End", "C[condfalse]>W"],
    ),
    "a label like a position": plain(text("Try @(1,2)")),
    "a label like a position, with one": plain(text("Try @(1,2)", position={"x": 3, "y": 4})),
    "a name with a separator": ([START, END], [("Start>End", {"target_input": "a - to "})]),
    "an alias of a connection": ([START, END], [("Start>End", {"type": "raw_text", "target_input": "x"})]),
    "labels like words": plain(text("to"), text('to "x"'), text("<<"), text("null"), text("1")),
    "labels like handles": plain(text("A"), text("A_first"), text("node_0"), text("A (raw_text)")),
    "a person like an id": plain(job("A", person="person_B"), job("B", person="B"), job("C", person="person_1")),
}  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_what_looks_like_something_else_survives_every_form(name: str) -> None:
    """D-X.14: aliases, and labels, names and persons that a form could read as something else."""
    persons = {"B": {"service": "mock"}, "person_B": {"service": "echo"}, "person_1": {"service": "mock"}}
    source = document(*AWKWARD[name], persons=persons)
    for one in FORMS:
        made = converted(source, one).text.encode()
        assert net_hash(made) == net_hash(source), one
        for other in FORMS:
            assert net_hash(converted(made, other).text.encode()) == net_hash(source), (one, other)


def test_the_nodes_of_a_native_condition_may_have_their_other_name() -> None:
    """D-X.14: ids are labels there as well."""
    source = document(*AWKWARD["an alias of a field"])
    native = json.loads(converted(source, "native").text)
    data = native["nodes"]["node_2"]["data"]
    data["nodes"] = data.pop("node_indices")
    assert data["nodes"] == ["node_1"]
    assert net_hash(json.dumps(native).encode()) == net_hash(source)


awkward_labels = st.text("aA1 @(,)[]_-\"'>:.{}#", min_size=1, max_size=12).map(str.strip).filter(_is_label)


@given(st.lists(awkward_labels, min_size=1, max_size=3, unique=True), awkward_labels)
def test_every_label_survives_every_form(labels: list[str], name: str) -> None:
    """D-X.14: whatever a label or the name of a connection is made of."""
    nodes = [START, *(text(label) for label in labels), END]
    row = [node["label"] for node in nodes]
    ends = zip(row, row[1:], strict=False)
    source = json.dumps({
        "version": "light", "nodes": nodes, "connections": [{"from": a, "to": b, "label": name} for a, b in ends],
    }).encode()  # fmt: skip
    for one in FORMS:
        made = converted(source, one).text.encode()
        assert net_hash(made) == net_hash(source)
        for other in FORMS:
            assert net_hash(converted(made, other).text.encode()) == net_hash(source)


letters = st.characters(exclude_categories=["Cc", "Cs", "Co", "Cn"]) | st.sampled_from("\n:#-{}[]'\"0")
keys = st.text("abyn: '#0", min_size=1, max_size=6)
numbers = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(letters, max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_whatever_is_written_as_yaml_is_read_back(value: Any) -> None:
    """Texts that look like numbers, words, dates or syntax come back as the texts they are."""
    assert read_document(yaml_text({"value": value}).encode(), name="d").data == {"value": value}
