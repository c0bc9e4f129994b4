"""8, persons, people and files in a run (D-X.15, D-X.17 to D-X.19): who answers, who is asked, what is saved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.errors import DocumentInvalid, NodeNotFound, StatusConflict
from tests.conformance.diagram.make import END, START, cond, job, text
from tests.conformance.diagram.running import (
    EXAMPLES,
    PATIENCE_S,
    Ran,
    awaited,
    door,
    drawn,
    go,
    saw,
    script,
    until_settled,
)

# ---- people ----------------------------------------------------------------------------------------------------------


def ask(**fields: Any) -> dict[str, Any]:
    return {"label": "Ask", "type": "user_response", "prompt": "Which?", **fields}


@awaited
async def test_wait_respond_complete(tmp_path: Path) -> None:
    """D-A.16, D-X.18: WAITING, after the answer COMPLETED; the value reached the next node; a second answer is 409."""
    nodes = [START, ask(), saw("Next"), END]
    async with door(tmp_path) as p:
        ran = await until_settled(p, drawn(nodes, ["Start>Ask", ("Ask>Next", {"label": "answer"}), "Next>End"]))
        assert ran.status == "WAITING"
        assert [(w.node, w.for_, w.prompt) for w in ran.look.waiting] == [("Ask", "person", "Which?")]
        assert ran.events[-1].name == "run.waiting"
        await p.respond(ran.id, "Ask", {"choice": 2})
        look = await p.wait(ran.id, timeout=PATIENCE_S)
        assert look.status == "COMPLETED"
        assert look.outputs["End"]["newest"] == {"answer": {"choice": 2}}
        with pytest.raises(StatusConflict) as second:
            await p.respond(ran.id, "Ask", {"choice": 3})
        assert second.value.http == 409
        assert p.view(ran.id).outputs == look.outputs


@awaited
async def test_a_second_answer_while_the_run_goes_on(tmp_path: Path) -> None:
    """D-A.16: also when the run waits for somebody else meanwhile."""
    other = {"label": "Other", "type": "user_response", "prompt": "And?"}
    async with door(tmp_path) as p:
        ran = await until_settled(p, drawn([START, ask(), other, END], ["Start>Ask", "Ask>Other", "Other>End"]))
        await p.respond(ran.id, "Ask", 1)
        with pytest.raises(StatusConflict):
            await p.respond(ran.id, "Ask", 2)
        with pytest.raises(NodeNotFound) as missing:
            await p.respond(ran.id, "Nobody", 2)
        assert missing.value.http == 404
        await p.respond(ran.id, "Other", 3)
        assert (await p.wait(ran.id, timeout=PATIENCE_S)).outputs == {"End": 3}


@awaited
async def test_the_question_is_filled_with_inputs(tmp_path: Path) -> None:
    """D-X.18: `{{name}}` of the prompt is an input, in what the run shows while it waits."""
    nodes = [START, job("Draft", person="Says"), ask(prompt="Is «{{draft}}» good?"), END]
    source = drawn(nodes, ["Start>Draft", "Draft>Ask", "Ask>End"], persons={"Says": script("a rose")})
    async with door(tmp_path) as p:
        ran = await until_settled(p, source)
        assert [w.prompt for w in ran.look.waiting] == ["Is «a rose» good?"]


@awaited
async def test_a_question_in_a_loop(tmp_path: Path) -> None:
    """D-X.18, D-6.2.3: every iteration asks anew and has its own answer."""
    nodes = [START, ask(), cond("Enough", expression="answer == 'stop'"), END]
    ways = ["Start>Ask", ("Ask>Enough", {"label": "answer"}), "Enough[condfalse]>Ask", "Enough[condtrue]>End"]
    async with door(tmp_path) as p:
        ran = await until_settled(p, drawn(nodes, ways))
        for value in ("go", "go", "stop"):
            await p.respond(ran.id, "Ask", value)
        assert (await p.wait(ran.id, timeout=PATIENCE_S)).outputs == {"End": "stop"}
        assert Ran(p, ran.id).output("Ask") == ["go", "go", "stop"]


@pytest.mark.parametrize(
    ("fields", "status"), [({"default": "later"}, "COMPLETED"), ({}, "FAILED")], ids=["default", "none"]
)
def test_nobody_answers(tmp_path: Path, fields: dict[str, Any], status: str) -> None:
    """D-X.18: after `timeout` the default is taken; without one the node is FAILED."""
    source = drawn([START, ask(timeout=0.05, **fields), END], ["Start>Ask", "Ask>End"])

    async def story() -> Ran:
        async with door(tmp_path) as p:
            run = await p.start(p.release(source))
            await p.wait(run, timeout=PATIENCE_S)
            return Ran(p, run)

    import asyncio

    ran = asyncio.run(story())
    assert ran.status == status
    if fields:
        assert ran.look.outputs == {"End": "later"}
    else:
        assert ran.look.nodes["Ask"] == "FAILED"
        assert ran.look.failure is not None
        assert ran.look.failure["code"] == "RESPONSE_TIMEOUT"


@awaited
async def test_an_answer_may_come_after_a_restart(tmp_path: Path) -> None:
    """D-X.18, D-12.8: a question outlives the process that asked it."""
    async with door(tmp_path) as p:
        run = (await until_settled(p, EXAMPLES / "ask.yaml")).id
    async with door(tmp_path) as p:
        assert p.view(run).status == "WAITING"
        await p.respond(run, "Ask name", "Kim")
        assert (await p.wait(run, timeout=PATIENCE_S)).outputs == {"Endpoint": "Hello Kim!"}


# ---- persons ---------------------------------------------------------------------------------------------------------


def test_built_in_persons(tmp_path: Path) -> None:
    """D-X.17: mock, echo and script answer without a network; a script per iteration, the last answer repeats."""
    persons = {"Echo": {"service": "echo"}, "Script": script("one", {"two": 2})}
    nodes = [
        START,
        job("M"),
        job("E", person="Echo", default_prompt="say {{m}}"),
        job("S", person="Script", max_iteration=3),
    ]
    nodes += [cond("C", condition_type="detect_max_iterations"), END]
    ways = ["Start>M", ("M>E", {"label": "m"}), "E>S", "S>C", "C[condfalse]>S", "C[condtrue]>End"]
    ran = go(tmp_path, drawn(nodes, ways, persons=persons))
    (mocked,) = ran.output("M")
    assert ran.output("E") == [f"say {mocked}"]
    assert ran.output("S") == ["one", {"two": 2}, {"two": 2}]
    again = go(tmp_path / "again", drawn(nodes, ways, persons=persons))
    assert again.output("M") == [mocked], "the same prompt has the same answer"


# ---- endpoints and files ---------------------------------------------------------------------------------------------


def save(kind: str, path: str) -> dict[str, Any]:
    return {"label": "End", "type": "endpoint", "save_to_file": True, "file_path": path, "file_format": kind}


@pytest.mark.parametrize(
    ("kind", "read"),
    [("txt", json.loads), ("json", json.loads), ("yaml", yaml.safe_load), ("md", json.loads)],
)
def test_the_result_is_saved(tmp_path: Path, kind: str, read: Any) -> None:
    """D-X.19, D-10.1.9: always in the run's outputs, and in the file below the output directory when told so."""
    value = {"name": "Kim", "rows": [1, 2]}
    ran = go(tmp_path, drawn([START, save(kind, f"deep/er/result.{kind}")], ["Start>End"]), value)
    assert ran.look.outputs == {"End": value}
    assert read((tmp_path / "out" / "deep" / "er" / f"result.{kind}").read_text(encoding="utf-8")) == value


def test_every_endpoint_has_its_output(tmp_path: Path) -> None:
    """D-X.19: `outputs[<label>]`; without save_to_file nothing is written."""
    nodes = [START, job("A"), END, {"label": "Other", "type": "endpoint"}]
    ran = go(tmp_path, drawn(nodes, ["Start>A", "A>End", "Start>Other"]), "in")
    assert ran.look.outputs == {"Other": "in", "End": ran.output("A")[0]}
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").rglob("*"))


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/outside.txt", "a/../../outside.txt"])
def test_paths_stay_inside(tmp_path: Path, path: str) -> None:
    """D-X.19: a path that leaves the output directory is refused when the diagram is released."""
    with pytest.raises(DocumentInvalid):
        go(tmp_path, drawn([START, save("txt", path)], ["Start>End"]))


def test_paths_made_from_inputs_stay_inside(tmp_path: Path) -> None:
    """D-X.19: what an input puts into a path is judged when it is known."""
    write = {"label": "Write", "type": "db", "operation": "write", "file": "{{default.name}}"}
    source = drawn([START, write, END], ["Start>Write", "Write>End"])
    ran = go(tmp_path, source, {"name": "../outside.txt"})
    assert ran.status == "FAILED"
    assert ran.look.nodes["Write"] == "FAILED"
    assert not (tmp_path / "outside.txt").exists()
    assert go(tmp_path, source, {"name": "inside.txt"}).status == "COMPLETED"
    assert (tmp_path / "out" / "inside.txt").exists()


def test_files_are_written_and_read_back(tmp_path: Path) -> None:
    """D-X.15: db writes and reads, a template fills a text, the endpoint saves it."""
    ran = go(tmp_path, EXAMPLES / "files.yaml")
    assert ran.status == "COMPLETED"
    letter = (tmp_path / "out" / "files-example" / "letter.txt").read_text(encoding="utf-8")
    assert letter == ran.look.outputs["Save"] == "Dear Kim,\nyour order comes to 42.\n"


def test_code_and_templates(tmp_path: Path) -> None:
    """D-X.15: code_job sees its inputs by name and gives out `result`; template_job fills a text."""
    code = {"label": "Code", "type": "code_job", "language": "python", "code": "result = {'sum': sum(start['n'])}"}
    nodes = [START, code, text("T", template="It is {{code.sum}}"), END]
    ran = go(tmp_path, drawn(nodes, ["Start>Code", "Code>T", "T>End"]), {"n": [1, 2, 3]})
    assert ran.look.outputs == {"End": "It is 6"}


def test_a_diagram_inside_a_diagram(tmp_path: Path) -> None:
    """D-X.15: a sub_diagram is one node; with `batch` once per item, results in order."""
    ran = go(tmp_path, EXAMPLES / "calls.yaml")
    assert ran.status == "COMPLETED"
    assert ran.times("Greet all") == 1
    assert [list(x.values()) if isinstance(x, dict) else [x] for x in ran.look.outputs["Endpoint"]] == [
        ["Hello Kim!"], ["Hello Lee!"], ["Hello Park!"],
    ]  # fmt: skip
    assert [e.node for e in ran.told("node.started")] == ["Start", "Greet all", "Endpoint"]
