"""Whatever is told is told with its place and with what to do: one broken document per thing that can be said."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any

import msgspec
import pytest

from penstock import errors
from penstock.errors import BadInput, Finding, PenstockError, Place
from penstock.lang.compile import check_document
from penstock.lang.files import LIMIT
from penstock.lang.report import TOO_MANY
from penstock.net.checks import check
from penstock.net.model import ANY, INCLUSIVE, Body, Branch, Effect, Join, Net, Node, OnError, Pool, Set, Trigger
from tests.conformance.diagram.make import END, START, cond, document, found, job, only, plain, text, told_well
from tests.net.make import edges, net
from tools import read_source

FILES = {
    "child.yaml": document([START, text("T"), END], ["Start>T", "T>End"]),
    "self.yaml": document(*plain({"label": "X", "type": "sub_diagram", "diagram_name": "self.yaml"})),
    "big.txt": b"x" * (LIMIT + 1),
    "latin.txt": "\xe9".encode("latin-1"),
}


def resolve(name: str) -> bytes:
    if name in FILES:
        return FILES[name]
    if name == "away.yaml":
        raise BadInput(what="«/srv/away.yaml»", why="permission denied", where="/srv/away.yaml")
    raise FileNotFoundError(2, "No such file or directory", f"/srv/{name}")


def is_set(name: str) -> bool:
    return name == "SET"


def row(*nodes: dict[str, Any], **top: Any) -> bytes:
    return document(*plain(*nodes), **top)


def calls(**fields: Any) -> bytes:
    return row({"label": "X", "type": "sub_diagram", **fields})


def choice(*ways: str, **fields: Any) -> bytes:
    return document([START, cond("C", **fields), text("A"), text("B"), END], ["Start>C", "A>End", "B>End", *ways])


LOOP = ["Start>A", "A>B", "B>A", "B>End"]
BRANCHES = ("C[condtrue]>A", "C[condfalse]>B")
MANY = [text(f"node number {i:04} with a long name") for i in range(60)]
WRITTEN: dict[str, bytes] = {
    "no nodes": b'{"version": "light", "nodes": []}',
    "no start": document([text("A"), END], ["A>End"]),
    "start with input": document([START, text("A")], ["Start>A", "A>Start"]),
    "endless loop": document([START, text("A"), text("B"), END], LOOP),
    "not a map": b'{"version": "light", "nodes": 3, "connections": []}',
    "entries": b'{"version": "light", "nodes": [1], "connections": [2], "persons": {"P": 3}}',
    "props": row(text("A", props=[])),
    "twice in props": row(text("A", props={"template": "B"})),
    "two names": row({"label": "A", "type": "code_job", "code": "1", "file_path": "a.py", "filePath": "b.py"}),
    "label": document([{"type": "start"}, {"label": 3, "type": "start"}, {"label": " a"}, {"label": "a[b]"}], []),
    "label twice": document([START, START], []),
    "no type": document([START, {"label": "A"}], []),
    "unknown type": document([START, {"label": "A", "type": "persno_job"}], []),
    "unknown type, long": document([START, {"label": "A", "type": "x" * 200}], []),
    "unknown field": row(text("A", tmplate="x")),
    "unknown field, long": row(text("A", **{"y" * 200: 1})),
    "idle fields": row(job("A", tools=["x"]), {"label": "U", "type": "user_response", "default": 1, "retry": {}}),
    "idle condition": choice(*BRANCHES, expression="input.yes", judge_by="?"),
    "types of fields": row(
        text("A", max_iteration=0, priority="high", strict="yes", template=3, join_policy="some"),
        text("B" * 201),
        {"label": "H", "type": "api_job", "url": "ftp://x", "method": "FETCH", "timeout": -1, "headers": {"a": []}},
    ),
    "join_k": document(
        [START, text("A", join_k=1), text("B", join_policy="k_of_n"), text("C", join_policy="k_of_n", join_k=3), END],
        ["Start>A", "A>B", "B>C", "C>End"],
    ),
    "dangling": document([START, END], ["Start>Edn", "Start>End", "Strat>End"]),
    "dangling among many": document([START, *MANY, END], ["Start>zzzz"]),
    "handles": document([START, cond("C"), END], ["Start[yes]>C", "C[maybe]>End", "C>End", "Start>C[second]"]),
    "connection twice": document([START, END], ["Start>End", "Start>End"]),
    "labels of connections": document(
        [START, cond("C"), END],
        [("Start>C", {"label": "epoch"}), ("C[condtrue]>End", {"label": "a b"}), "C[condfalse]>End"],
    ),
    "transform": document([START, END], [("Start>End", {"transform": "body +"})]),
    "unread connection": document([START, END], ["Start>End"], connections=[{"from": "Start"}]),
    "after an end": document([START, END, text("A")], ["Start>End", "End>A"]),
    "unreachable": document([START, END, text("A")], ["Start>End"]),
    "no branches": document([START, cond("C"), END], ["Start>C", "Start>End"]),
    "no condition_type": document([START, {"label": "C", "type": "condition"}, END], ["Start>C", "C[condtrue]>End"]),
    "no expression": choice(*BRANCHES, condition_type="custom"),
    "bad expression": choice(*BRANCHES, expression="input.yes and ("),
    "unknown name": choice(*BRANCHES, expression="inptu.yes"),
    "unknown name, long": choice(*BRANCHES, expression="z" * 150),
    "takes any": document(
        [START, text("A"), text("B"), cond("C", expression="a == b"), END],
        ["Start>A", "Start>B", "A>C", "B>C", "C[condtrue]>End"],
    ),
    "no limit": choice(*BRANCHES, condition_type="detect_max_iterations"),
    "no nodes asked": choice(*BRANCHES, condition_type="nodes_executed"),
    "unknown nodes asked": choice(*BRANCHES, condition_type="nodes_executed", node_indices=["Z", 99]),
    "too many asked": row(
        *MANY, cond("C", condition_type="nodes_executed", node_indices=[n["label"] for n in MANY] * 2)
    ),
    "decision": choice(*BRANCHES, condition_type="llm_decision"),
    "exclusive": document([START, cond("C"), text("A"), text("B"), END], ["Start>C", *BRANCHES, "A>End", "B>End"]),
    "epochs": document(
        [START, text("A"), cond("C", loop_controller=True), text("B"), END],
        ["Start>A", "A>C", "C[condtrue]>A", "C[condfalse]>End", "Start>B", "B>End"],
    ),
    "late": document(
        [START, text("A"), cond("C"), text("B"), text("J", join_policy="k_of_n", join_k=1), END],
        ["Start>A", "A>C", "A>J", "C[condtrue]>A", "C[condfalse]>B", "B>J", "J>End"],
    ),
    "person": row(job("A", person="Bob")),
    "persons": row(
        job("A", person=""),
        persons={
            "S": {"service": "script"},
            "K": {"service": "openai", "api_key": "sk-1"},
            "N": {},
            "I": {"service": "openai", "api_key_id": "sk-1!"},
        },
    ),
    "persons twice": json.dumps(
        {
            "nodes": [{"id": "s", "type": "start", "data": {"label": "S"}}],
            "arrows": [],
            "persons": [{"id": "1", "label": "P", "service": "mock"}, {"id": "2", "label": "P", "service": "mock"}],
        }
    ).encode(),
    "no key": row(job("A", person="O"), persons={"O": {"service": "openai"}}),
    "key not set": row(job("A", person="O"), persons={"O": {"service": "openai", "api_key": "${secrets.NOT_SET}"}}),
    "retry of code": row({"label": "A", "type": "code_job", "code": "1/0", "retry": {"max": 3}}),
    "secret": row({"label": "H", "type": "api_job", "url": "https://x", "headers": {"token": "abc"}}),
    "reserved key": row(text("A", variables={"$expr": "1"})),
    "code": row({"label": "A", "type": "code_job"}),
    "code that is no Python": row({"label": "A", "type": "code_job", "code": "if x"}),
    "code that reads what nothing gives": row({"label": "A", "type": "code_job", "code": "nothing"}),
    "code that needs a window": row({"label": "A", "type": "code_job", "code": "input()"}),
    "code that imports": row({"label": "A", "type": "code_job", "code": "import numpy"}),
    "code without its function": row({"label": "A", "type": "code_job", "code": "1", "function_name": "f"}),
    "template": row({"label": "A", "type": "template_job"}, text("B", template="{% if x %}")),
    "files": row(job("A", prompt_file="gone.txt"), job("B", prompt_file="big.txt"), job("C", prompt_file="latin.txt")),
    "write to many": row({"label": "A", "type": "db", "operation": "write", "file": ["a", "b"]}),
    "outside": row({"label": "A", "type": "db", "file": "../a"}),
    "endpoint": document([START, {**END, "file_path": "a.txt"}], ["Start>End"]),
    "endpoint without file": document([START, {**END, "save_to_file": True}], ["Start>End"]),
    "sub-diagram": calls(),
    "sub-diagram, gone": calls(diagram_name="gone.yaml"),
    "sub-diagram, away": calls(diagram_name="away.yaml"),
    "sub-diagram, itself": calls(diagram_name="self.yaml"),
    "sub-diagram, no text": calls(diagram_name="latin.txt"),
    "sub-diagram, no language": calls(diagram={"a": 1}),
    "sub-diagram, endpoint": calls(diagram_name="child.yaml", output_mapping={"Edn": "x"}),
    "refused types": document([START, *({"label": t, "type": t} for t in ("ir_builder", "TypescriptAst", "job"))], []),
    "flow": json.dumps(
        {
            "version": "readable",
            "nodes": [{"Start": None}, {"A": 3}, {"E": {"save_to_file": False}}],
            "flow": [3, {"Start": 'to "A" - as'}, {"A": [{"to": "E"}, 7]}],
        }
    ).encode(),
    "long way": json.dumps({"version": "readable", "nodes": [], "flow": [{"S": "x" * 9000}]}).encode(),
    "no flow": b'{"version": "readable", "nodes": [{"S": {"type": "start"}}], "flow": {}}',
    "persons in one word": document([START, END], ["Start>End"], persons={"P": "openai//", "Q": 3}),
    "persons as a list": document([START, END], ["Start>End"], persons=["P"]),
    "no persons": row(job("A", person="Bob"), persons={}),
    "person for each": row(job("A", batch=True, max_turns=3)),
    "keys": row(
        {"label": "A", "type": "db", "operation": "update", "file": "a.json"},
        {"label": "B", "type": "db", "operation": "write", "file": "a.json", "keys": "a"},
        {"label": "C", "type": "db", "operation": "read", "file": "a.json", "keys": ["a..b"]},
        {"label": "D", "type": "db", "operation": "append", "file": "a.txt", "lines": "1-3"},
    ),
    "statements": row(
        text("A", template="{% if x %}"),
        text("B", template="{% if %}{% endif %}"),
        text("C", template="{% else %}"),
        text("D", template="{% for x in y %}{% endif %}"),
        text("E", template="{% macro m() %}{% endmacro %}"),
        text("F", template="{% if x"),
    ),
    "count": choice(*BRANCHES, expression="input.yes", expose_index_as="epoch"),
    "kept variables": document(
        [
            START,
            {"label": "A", "type": "code_job", "code": "n = 1", "on_error": "continue"},
            {"label": "B", "type": "code_job", "code": "n + 1"},
            END,
        ],
        ["Start>A", "A>B", "B>End"],
    ),
    "hooks": row(
        {"label": "A", "type": "hook"},
        {"label": "B", "type": "hook", "hook_type": "webhook", "config": {"utl": "x"}},
        {"label": "C", "type": "hook", "hook_type": "webhook", "config": {"url": "ftp://x"}},
        {"label": "D", "type": "hook", "hook_type": "python", "config": {}},
        {"label": "E", "type": "hook", "hook_type": "file"},
        {"label": "F", "type": "hook", "hook_type": "shell", "config": {"command": "a | b"}},
        {"label": "G", "type": "hook", "hook_type": "shell", "command": "a 'b"},
        {"label": "H", "type": "hook", "hook_type": "shell", "command": "{{x}} b"},
        {"label": "I", "type": "hook", "hook_type": "webhook", "config": {"subscribe_to": {}}},
        {"label": "J", "type": "hook", "hook_type": "webhook", "url": "https://x.example", "method": "G ET"},
        {"label": "K", "type": "hook", "hook_type": "shell", "command": "a", "args": {"a": "b"}},
    ),
    "providers": row(
        {"label": "A", "type": "integrated_api", "provider": "githib", "operation": "x"},
        {"label": "B", "type": "integrated_api", "provider": "mcp_browser", "operation": "x"},
        {"label": "C", "type": "integrated_api", "provider": "github", "operation": "create_isue"},
        {"label": "D", "type": "integrated_api", "provider": "github", "operation": "create_issue", "config": {"x": 1}},
        {"label": "E", "type": "integrated_api", "provider": "jira", "operation": "add_comment", "api_key": "abc"},
        {"label": "F", "type": "integrated_api", "provider": "slack", "operation": "list_channels", "api_key_id": "a-"},
        {"label": "G", "type": "integrated_api", "provider": "slack", "operation": "send_message"},
        {"label": "H", "type": "integrated_api", "provider": "arxiv", "operation": "search", "base_url": "{{x}}"},
        {
            "label": "I",
            "type": "integrated_api",
            "provider": "notion",
            "operation": "read_page",
            "resource_id": "x",
            "base_url": "http://x",
        },
    ),
    "top": document([START, END], ["Start>End"], max_node_executions=0, nmae="x"),
}
UNREADABLE = (
    b"", b"  \n", b"a: 1", b"[1, 2]", b"{", b'{"a": 1, "a": 2}', b"a:\n\t- b", b"a: [1", b"a: !!x 1", b"a: *b",
    b"\xff\xfe", b"\xef\xbb\xbfa: 1", b"a: \xff", b"a: \x00", b"\x01", b"a: 1\n---\nb: 2", b"[" * 200, b"{a: 1, a: 2}",
    b"<<: 1", b"a: 99999999999999999999", b"a: .inf", b" " * (LIMIT + 1),
)  # fmt: skip
CALL = Effect(executor="http")
TASK = Node(id="t", kind="task", effect=CALL)
NETS: dict[str, Net] = {
    "ids": net("s>x", Node(id="a"), Node(id="a")),
    "dangling": Net(name="n", nodes=(Node(id="s", kind="start"),), edges=edges("s>gone")),
    "scope in itself": net("s>x", Node(id="a", kind="scope", scope="a", body=Body(entry="b"))),
    "no scope": net("s>a a>x", Node(id="a", scope="gone")),
    "crossing": net("s>o s>i i>x", Node(id="o", kind="scope", body=Body(entry="i")), Node(id="i", scope="o")),
    "entry": net("s>o o>x", Node(id="o", kind="scope", body=Body(entry="gone"))),
    "branch": net(
        "s>o o>x", Node(id="o", kind="scope", body=Body(mode="branches", branches=(Branch(key="b", entry="gone"),)))
    ),
    "undo": net("s>t t>x", Node(id="t", kind="task", effect=CALL, undo=("gone",))),
    "parts": net("s>t t>x", Node(id="t", kind="task")),
    "pool": net("s>t t>x", Node(id="t", kind="task", effect=CALL, pool="p")),
    "place": msgspec.structs.replace(
        net("s>t t>x", Node(id="t", kind="task", effect=CALL, pool="p", place="a")), pools={"p": Pool(places=("b",))}
    ),
    "trigger": net(
        "s>t t>x", Node(id="t", kind="task", effect=CALL, triggers=(Trigger(kind="timer", after_ms=1, port="late"),))
    ),
    "error port": net(
        "s>t t>x", Node(id="t", kind="task", effect=CALL, on_error=(OnError(match="*", action="port:e"),))
    ),
    "start": net("a>b b?>a b!>c"),
    "k": net("s>a s>b a>j b>j j>x", Node(id="j", join=Join(mode="k", k=3))),
    "inclusive": net("s>a a^>a a?>j s>j j>x", Node(id="a", join=ANY, max_iter=2), Node(id="j", join=INCLUSIVE)),
    "race": net(
        "s>a s>b a>x b>x", Node(id="a", sets=(Set(name="n", expr="1"),)), Node(id="b", sets=(Set(name="n", expr="2"),))
    ),
    "expression": net("s>a a>x", Node(id="a", port="1 +")),
    "limit": net("s>a a>x", Node(id="a", port="(" * 200 + "1" + ")" * 200)),
}


def at_place(data: Any, where: Place) -> None:
    """The pointer leads to something that stands in the document."""
    for step in where.pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        data = data[int(name)] if isinstance(data, list) else data[name]


@pytest.mark.parametrize("name", WRITTEN)
def test_whatever_is_told_of_a_diagram_has_its_place_and_a_hint(name: str) -> None:
    """D-X.29: each problem of the list names its element and says what to do."""
    _, findings = check_document(WRITTEN[name], name="d.json", resolve=resolve, secret=is_set)
    assert findings
    told_well(findings)
    for finding in findings:
        at_place(json.loads(WRITTEN[name]), finding.where)


@pytest.mark.parametrize("source", UNREADABLE, ids=[repr(one[:12]) for one in UNREADABLE])
def test_whatever_cannot_be_read_is_told_with_its_place_and_a_hint(source: bytes) -> None:
    _, findings = check_document(source, name="document")
    assert findings
    told_well(findings)


@pytest.mark.parametrize("name", NETS)
def test_whatever_is_told_of_a_net_has_its_place_and_a_hint(name: str) -> None:
    one = NETS[name]
    places = {part.id: Place(f"/{part.id}", i + 1, 1) for i, part in enumerate((*one.nodes, *one.edges))}
    findings = check(Net(**{f: getattr(one, f) for f in one.__struct_fields__} | {"source_map": places}))
    assert findings
    told_well(findings)


def test_every_rule_has_a_broken_document() -> None:
    """What the source can say is said by one of the documents or nets above, so that none is told without a hint."""
    said = [
        f for one in WRITTEN.values() for f in check_document(one, name="d.json", resolve=resolve, secret=is_set)[1]
    ]
    said += [f for one in WRITTEN.values() for f in check_document(one, name="d.json")[1]]
    said += [f for one in NETS.values() for f in check(one)]
    said += check_document(b"[1]", name="d.json", language="diagram")[1]
    told_hints(said)
    mine = [one for one in read_source.rules("diagram") if one.rule not in OF_OTHERS]
    missing = [one for one in mine if not any(_says(f, one) for f in said)]
    assert [f"{one.rule}: {one.message}" for one in missing if one.message not in HUGE] == []
    assert [one.rule for one in read_source.rules() if not one.hint] == []


#: Said where documents call each other, of a process or of a language without words of its own for it.
OF_OTHERS = ("recursive_process", "recursive_document")
#: Said of a script whose variables nobody lists.
OF_PROCESSES = ("The script reads «…» (…), which nothing else here names.",)
#: Only a diagram that takes minutes to look through is told this.
HUGE = ("The diagram is too large to find what leads to each of its detect_max_iterations.", *OF_PROCESSES)


def told_hints(findings: list[Finding]) -> None:
    assert [str(f) for f in findings if not f.hint] == []


def _says(finding: Finding, rule: read_source.Rule) -> bool:
    shape = ".*".join(map(re.escape, rule.message.split("…")))
    near = rule.rule == finding.rule and rule.severity == finding.severity
    return near and re.search(shape, finding.message.replace("In «", ""), re.DOTALL) is not None


def test_too_many_findings_are_told_with_a_hint() -> None:
    findings = found([text(f"n{i}", what=1) for i in range(1200)], [])
    assert only(findings, TOO_MANY).hint.startswith("Mend these")


def test_every_error_has_a_hint() -> None:
    """Nothing is refused without a word about what to do instead."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, PenstockError)]
    assert [kind.__name__ for kind in kinds if not kind.hint and kind is not PenstockError] == []


def test_a_sub_diagram_that_is_not_there_is_told_where_it_was_looked_for() -> None:
    """D-X.15: the path as the author wrote it, at its place, and where the file was looked for."""
    _, (gone,) = check_document(WRITTEN["sub-diagram, gone"], name="d.json", resolve=resolve, secret=is_set)
    assert (gone.rule, gone.node, gone.where.pointer) == ("file_not_found", "X", "/nodes/1/diagram_name")
    assert gone.message == "«gone.yaml» cannot be read: no such file or directory."
    assert "looked for at /srv/gone.yaml" in gone.hint
    _, (away,) = check_document(WRITTEN["sub-diagram, away"], name="d.json", resolve=resolve, secret=is_set)
    assert away.message == "«away.yaml» cannot be read: permission denied."
    assert "looked for at /srv/away.yaml" in away.hint
