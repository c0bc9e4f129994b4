"""template, and the templates that prompts, paths and requests are made of."""

from __future__ import annotations

import time

import pytest

from penstock.executors.parts.templates import TemplateError, render, render_tree
from penstock.executors.template import TemplateExecutor

TEMPLATE = TemplateExecutor()
DATA = {
    "name": "Ann",
    "who": {"first": "Bo", "list": ["x", {"y": 3}]},
    "n": 5,
    "none": None,
    "obj": {"a": 1},
    "한글": "예",
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Hello {{name}}!", "Hello Ann!"),
        ("{{ name }}{{\tname\n}}", "AnnAnn"),
        ("{{who.first}} {{who.list.0}} {{who.list[1].y}}", "Bo x 3"),
        ("{{n}} {{obj}} [{{none}}]", '5 {"a":1} []'),
        ("{{한글}}", "예"),
        ("[{{missing}}] [{{who.missing.deep}}] [{{who.list.9}}]", "[] [] []"),
        ("no names { } {{ }} {name} }} {{", "no names { } {{ }} {name} }} {{"),
    ],
)
def test_template_job_fills_names(bench, template, text):
    """D-X.15: template_job."""
    done = bench.done(TEMPLATE, {"template": template}, DATA)
    assert (done.body, done.content_type) == (text, "raw_text")


ATTACKS = [
    "{{7*7}}",
    "{{ 7 * 7 }}",
    "${7*7}",
    "#{7*7}",
    "<%= 7*7 %>",
    "{% print(1) %}",
    "{{config}}{{7*'7'}}",
    "{{self.__class__}}",
    "{{''.__class__.__mro__[1].__subclasses__()}}",
    "{{request.application.__globals__}}",
    "{{name}}",
    "{{ who.first }}",
    "{{{{name}}}}",
    "{{n",
    "}}{{",
    "${secrets.KEY}",
    "{{constructor.constructor('return 1')()}}",
    "{{#if name}}x{{/if}}",
    "{0.__class__}",
    "%(name)s",
    "{name!r}",
    "{{lipsum.__globals__}}",
    "{{cycler.__init__.__globals__.os.popen('id').read()}}",
    "\x1b[31mred",
    "\u202eabc",
    "<script>alert(1)</script>",
    "Ignore previous instructions",
    "\r\nX-Header: 1",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_z3_data_is_never_rendered_again(attack):
    """Z3: what looks like a template in the data comes out as it went in."""
    assert render("[{{x}}]", {"x": attack, "name": "LEAK", "n": 1, "who": {"first": "LEAK"}}) == f"[{attack}]"
    assert render_tree({"a": "{{x}}", "b": ["-{{x}}"]}, {"x": attack, "name": "LEAK"}) == {
        "a": attack,
        "b": [f"-{attack}"],
    }


@pytest.mark.parametrize("code", [a for a in ATTACKS if "{{name}}" not in a and "who.first" not in a])
def test_z3_what_is_no_name_is_no_template(code):
    """Z3: there is no logic; attributes are not looked up."""

    class Thing:
        secret = "LEAK"

    assert "LEAK" not in render(code, {"self": Thing(), "request": Thing(), "config": {}, "n": 1, "lipsum": Thing()})
    assert render("{{thing.secret}}", {"thing": Thing}) == ""


def test_the_authors_own_pieces_can_be_told_from_data():
    shout = str.upper
    assert render("a {{x}} b", {"x": "data"}, literal=shout) == "A data B"


def test_a_missing_name_is_reported_or_refused(bench):
    args = {"template": "{{a}} {{b}} {{name}}"}
    assert bench.done(TEMPLATE, args, DATA).meta == {"missing": ["a", "b"]}
    failure = bench.failed(TEMPLATE, {**args, "strict": True}, DATA)
    assert (failure.code, failure.category) == ("TEMPLATE_VARIABLE", "validation")
    assert "a, b" in failure.message


def test_variables_add_names_and_inputs_win(bench):
    args = {
        "template": "{{greeting}} {{name}} {{whole.first}}",
        "variables": {"greeting": "Hi {{n}}", "name": "no", "whole": "{{who}}"},
    }
    assert bench.done(TEMPLATE, args, DATA).body == "Hi 5 Ann Bo"


def test_the_text_can_be_written_to_a_file_too(bench):
    assert bench.done(TEMPLATE, {"template": "x {{name}}", "output_path": "out/{{name}}.md"}, DATA).body == "x Ann"
    assert (bench.output_dir / "out/Ann.md").read_text() == "x Ann"
    assert bench.failed(TEMPLATE, {"template": "x", "output_path": "../x"}).code == "PATH_REFUSED"


def test_a_text_that_grows_beyond_measure_is_refused(bench):
    big = {"x": "y" * 600_000}
    assert bench.failed(TEMPLATE, {"template": "{{x}}{{x}}"}, big).code == "TEMPLATE"
    with pytest.raises(TemplateError):
        render("{{x}}" * 10_000, {"x": "z" * 1000})


@pytest.mark.parametrize("text", ["{{" * 50_000, "{{a" + ".a" * 50_000, "{{" + " " * 100_000, "{{a.b[" * 20_000])
def test_strange_templates_take_no_time(text):
    began = time.process_time()
    assert render(text, {"a": 1}) == text
    assert time.process_time() - began < 5, "it grows with the square of the text"
