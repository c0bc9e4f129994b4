"""Which name comes first, node views, the context, system variables, assignments."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ExprUnknownRoot
from penstock.expr import (
    NODE_MEMBERS,
    RESERVED_ROOTS,
    SYSTEM_MEMBERS,
    Names,
    NodeView,
    compile_expression,
    compile_template,
    context_view,
    evaluate_all,
    system_view,
)

from .reading import exact

LAYERS = ("local", "outputs", "nodes", "variables", "aliases")


def read(source: str, view: Any) -> Any:
    return compile_expression(source)(view)


@pytest.mark.parametrize("first", range(len(LAYERS)))
def test_the_inner_name_wins(first: int) -> None:
    """W-6.1.1, W-6.2.2: locals, then output variables, node ids, context variables, derived aliases."""
    layers: dict[str, Any] = {
        name: {"x": {"output": f"from {name}"} if name == "nodes" else f"from {name}"} for name in LAYERS[first:]
    }
    found = read("x", Names(**layers))
    winner = LAYERS[first]
    assert (found["output"] if winner == "nodes" else found) == f"from {winner}"


def test_lookup_by_prefix() -> None:
    """W-6.2.1: every scope by its own prefix: none, node_id., input., context., secrets., aas., rag., sys."""
    view = Names(
        local={"my_var": 1},
        nodes={"data_node": {"output": 2}},
        roots={
            "input": {"line_id": 3},
            "secrets": {"api_key": 5},
            "aas": {"line": {"L01": 6}},
            "rag": {"similar_cases": 7},
            "sys": {"workflow_id": 8},
        },
        variables={"threshold": 4},
    )
    sources = (
        "${my_var} ${data_node.output} ${input.line_id} ${context.threshold} ${secrets.api_key} ${aas.line.L01} "
        "${rag.similar_cases} ${sys.workflow_id} ${threshold}"
    )
    assert compile_template(sources)(view) == "1 2 3 4 5 6 7 8 4"


def test_reserved_roots_come_before_context_variables_and_aliases() -> None:
    """W-6.2.2: a context variable or alias called `input` does not hide the input; a local does."""
    layers: dict[str, Any] = {
        "roots": {"input": "root"},
        "variables": {"input": "variable"},
        "aliases": {"input": "alias"},
    }
    assert read("input", Names(**layers)) == "root"
    assert read("input", Names(local={"input": "local"}, **layers)) == "local"
    assert read("context", Names(**layers)) == {"input": "variable"}
    assert {"input", "context", "secrets", "aas", "rag", "sys", "fn", "true", "false", "null"} == RESERVED_ROOTS


def test_known_but_not_yet_set_is_null() -> None:
    """C-09, W-6.2.2: a name that will be set later is null; a name nobody knows is an error."""
    view = Names(known={"later"})
    assert read("later.deeper", view) is None
    assert read("aas.line", view) is None
    with pytest.raises(ExprUnknownRoot):
        read("never", view)


def test_a_name_is_looked_up_once() -> None:
    calls = []

    class Roots(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            calls.append(name)
            return super().__getitem__(name)

    view = Names(roots=Roots(input={"a": 1}))
    assert read("input.a + input.a", view) == 2
    assert calls == ["input"]


CONTEXT = [
    ("context.threshold", 5),
    ("context.variables.threshold", 5),
    ("context['threshold']", 5),
    ("context.variables.nope", None),
    ("context.nope", None),
    ("fn.get_variable('threshold')", 5),
    ("fn.length(context)", 2),
    ("context == {'threshold': 5, 'o': {'k': 1}}", True),
    ("context.variables.o.k", 1),
]


@pytest.mark.parametrize(("source", "expected"), CONTEXT)
def test_both_ways_to_a_context_variable(source: str, expected: object) -> None:
    """W-6.2.3: context.X and context.variables.X address the same variable."""
    assert exact(read(source, {"context": context_view({"threshold": 5, "o": {"k": 1}})}), expected)


def test_a_variable_called_variables() -> None:
    """W-6.2.3: `context.variables` is always the whole; a variable of that name is below it."""
    view = {"context": context_view({"variables": 1, "x": 2})}
    assert read("context.variables.variables", view) == 1
    assert read("context.variables.x", view) == 2


RECORD = {
    "output": {"reservation_id": "R-1", "status": "from the output", "deployment_id": "D-9"},
    "status": "succeeded",
    "error": None,
    "retry_count": 2,
    "started_at": "2024-01-01T00:00:00Z",
    "completed_at": "2024-01-01T00:00:05Z",
    "duration_ms": 5000,
    "internal": "not shown",
}
NODE = [
    ("node.output.reservation_id", "R-1"),
    ("node.reservation_id", "R-1"),
    ("node.deployment_id", "D-9"),
    ("node.status == 'succeeded'", True),
    ("node.output.status", "from the output"),
    ("node.error", None),
    ("node.retry_count + 1", 3),
    ("node.started_at < node.completed_at", True),
    ("node.duration_ms / 1000", 5.0),
    ("node.internal", None),
    ("node['deployment_id']", "D-9"),
    ("node.nope.deeper", None),
    ("list_node[1].x", 2),
    ("list_node[-1].x", 2),
    ("list_node[-2].x", 1),
    ("list_node[2]", None),
    ("list_node[-3]", None),
    ("list_node.output[0].x", 1),
    ("list_node.x", None),
    ("text_node.output", "done"),
    ("text_node.x", None),
    ("waiting.status", None),
    ("waiting.output.x", None),
    ("waiting.x", None),
]


@pytest.mark.parametrize(("source", "expected"), NODE)
def test_a_node_view(source: str, expected: object) -> None:
    """W-6.2.4: reserved members come from the execution record, any other member falls through to the output."""
    nodes: dict[str, Any] = {
        "node": RECORD,
        "list_node": {"output": [{"x": 1}, {"x": 2}]},
        "text_node": {"output": "done"},
        "waiting": {},
    }
    assert exact(read(source, Names(nodes=nodes)), expected)
    assert exact(read(source, {name: NodeView(record) for name, record in nodes.items()}), expected)


def test_the_members_of_a_node_view() -> None:
    """W-6.2.4: exactly seven members are reserved; the variable of the same output has none of them."""
    assert NODE_MEMBERS == ("output", "status", "error", "retry_count", "started_at", "completed_at", "duration_ms")
    assert read("v.retry_count", Names(outputs={"v": RECORD["output"]})) is None
    assert read("v.status", Names(outputs={"v": RECORD["output"]})) == "from the output"


def test_a_computed_variable() -> None:
    """W-6.3.1: output.expression computes a variable from other variables."""
    view = Names(outputs={"defect_data": [{"defect_rate": 0.02}, {"defect_rate": 0.04}]})
    assert read("fn.avg(defect_data.map(d => d.defect_rate)) * 1.5", view) == pytest.approx(0.045)


def test_all_values_before_any_is_written() -> None:
    """W-6.3.2: set_variables evaluates every value against the same view, then writes."""
    variables = {"check_count": 3, "a": 1, "b": 2}
    assignments = {
        name: compile_template(text)
        for name, text in {
            "check_count": "${fn.coalesce(context.check_count, 0) + 1}",
            "a": "${context.b}",
            "b": "${context.a}",
            "note": "was ${context.check_count}",
            "fresh": "${fn.coalesce(context.fresh, 0) + 1}",
        }.items()
    }
    written = evaluate_all(assignments, Names(variables=variables))
    assert written == {"check_count": 4, "a": 2, "b": 1, "note": "was 3", "fresh": 1}
    assert variables == {"check_count": 3, "a": 1, "b": 2}


def test_nothing_is_written_when_one_value_fails() -> None:
    """W-6.3.2: an error in one value means no value."""
    with pytest.raises(ExprUnknownRoot):
        evaluate_all({"a": compile_expression("1"), "b": compile_expression("nope")}, {})


SYSTEM = (
    "workflow_id", "workflow_version", "instance_id", "tenant_id", "execution_start", "current_node", "retry_count",
    "parent_instance_id",
)  # fmt: skip


def test_system_variables() -> None:
    """W-6.4.1: the eight sys. variables; the first attempt is retry 0, the parent is null unless there is one."""
    facts = {name: f"the {name}" for name in SYSTEM if name not in ("retry_count", "parent_instance_id")}
    view = Names(roots={"sys": system_view({**facts, "internal": 1})})
    for name, expected in facts.items():
        assert read(f"sys.{name}", view) == expected
    assert read("sys.retry_count", view) == 0
    assert read("sys.parent_instance_id", view) is None
    assert read("sys.internal", view) is None
    assert sorted(SYSTEM_MEMBERS) == sorted(SYSTEM) and len(SYSTEM) == 8
    again = Names(roots={"sys": system_view({"retry_count": 2, "parent_instance_id": "p"})})
    assert read("sys.retry_count + sys.parent_instance_id", again) == "2p"
