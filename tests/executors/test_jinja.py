"""Statements in prompts and templates: what they make of data, and that none of them runs away."""

from __future__ import annotations

import jinja2
import pytest

from penstock.executors.llm import LlmExecutor
from penstock.executors.parts.jinja import render_jinja
from penstock.executors.parts.templates import TemplateError
from penstock.executors.person import PersonExecutor
from penstock.executors.template import TemplateExecutor

TEMPLATE, PERSON, LLM = TemplateExecutor(), PersonExecutor(), LlmExecutor()
DATA = {
    "name": "Kim", "rows": [{"n": 2, "t": "b"}, {"n": 1, "t": "a"}], "on": True, "nothing": None, "empty": [],
    "map": {"items": 3, "x": "y"}, "text": "a b c",
}  # fmt: skip

LIKE_JINJA = [
    "{% if on %}yes{% else %}no{% endif %}",
    "{% if empty %}some{% elif name == 'Kim' %}Kim{% endif %}",
    "{% for row in rows %}{{ loop.index }}:{{ row.t }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for row in empty %}x{% else %}none{% endfor %}",
    "{% for row in rows|sort(attribute='n') %}{{ row.t }}{% endfor %}",
    "{% set all = rows|map(attribute='t')|join('-') %}{{ all }}",
    "{% for word in text.split() if word != 'b' %}{{ word|upper }}{% endfor %}",
    "{%- for row in rows -%} {{ row.n * 2 }} {%- endfor -%}",
    "{% if 'a' in text and rows|length > 1 %}{{ name ~ '!' }}{% endif %}",
    "{% raw %}{{ name }}{% endraw %}{# a comment #}{% if 1 %}{% endif %}",
    "{% if unknown is defined %}a{% else %}b{% endif %}{{ unknown|default('c') }}",
    "{% for key, value in {'a': 1, 'b': 2}.items() %}{{ key }}{{ value }}{% endfor %}",
    "{% for row in rows[:1] %}{{ row.n }}{% endfor %}{{ rows[-1].t }}",
    "{% if 1 %}{{ 42.55|round }} {{ 42.55|round(1, 'floor') }} {{ 42.51|round(1, 'ceil') }}{% endif %}",
    "{% if 1 %}{{ 1234|round(-2) }}{% endif %}",
    "{% if 1 %}{{ rows|sum(attribute='n') }} {{ [1.5, 2]|sum(start=1) }} {{ text.upper() }}{% endif %}",
    "{% if 1 %}{{ [3, 1, 2]|sort|last }} {{ '%s'|replace('%s', name) }} {{ 7 // 2 }} {{ 7 % 4 }}{% endif %}",
]


@pytest.mark.parametrize("template", LIKE_JINJA)
def test_it_is_jinja(template: str) -> None:
    """D-X.15: the same text as the package itself makes of it."""
    assert render_jinja(template, DATA) == jinja2.Template(template, keep_trailing_newline=True).render(DATA)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% if on %}{{ rows }}{% endif %}", '[{"n":2,"t":"b"},{"n":1,"t":"a"}]'),
        ("{% if on %}{{ on }} [{{ nothing }}] [{{ gone.far.away }}]{% endif %}", "true [] []"),
        ("{% if on %}{{ map.items }} {{ map.x }}{% endif %}", "3 y"),
    ],
)
def test_values_look_as_they_do_without_statements(template: str, text: str) -> None:
    """D-X.15: data is JSON, null is nothing, and a member goes before a method of its name."""
    assert render_jinja(template, DATA) == text


BAD = {
    "{% macro f() %}{% endmacro %}": "«macro» is not read here",
    "{% include 'x' %}": "«include» is not read here",
    "{% extends 'x' %}": "«extends» is not read here",
    "{% import 'os' as os %}": "«import» is not read here",
    "{% set ns = namespace() %}": "«namespace()» cannot be called here",
    "{% for x in rows recursive %}{{ loop(rows) }}{% endfor %}": "a loop cannot call itself",
    "{% if 1 %}{{ ''.__class__.__mro__ }}{% endif %}": "begins with _",
    "{% if 1 %}{{ name['__class__'] }}{{ 'x'.format(1) }}{% endif %}": "«format()» cannot be called",
    "{% if 1 %}{{ cycler.__init__.__globals__ }}{% endif %}": "begins with _",
    "{% if 1 %}{{ 'x'|attr('y') }}{% endif %}": "there is no filter «attr»",
    "{% if 1 %}{{ rows|map('attr', '__class__')|list }}{% endif %}": "attr",
    "{% if 1 %}{{ 9 ** 9 ** 9 }}{% endif %}": "«pow» is not read here",
    "{% if 1 %}{{ 'a' * 100000000 }}{% endif %}": "longer than",
    "{% if 1 %}{{ '%999999999d' % 1 }}{% endif %}": "not formatted with %",
    "{% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}": "more than 100000 steps",
    "{% for i in range(9999) %}{{ 'a' * 1000 }}{% endfor %}": "longer than",
    "{% if 1 %}{{ range(10 ** 9) }}{% endif %}": "«pow»",
    "{% for i in range(100000000) %}{% endfor %}": "a range has at most",
    "{% set name = name ~ name %}" * 60 + "{{ name }}": "longer than",
    "{% set rows = rows + rows %}" * 60 + "{{ rows }}": "larger than",
    "{% set rows = [rows, rows] %}" * 60 + "{{ rows }}": "larger than",
    "{% set n = 2147483648 %}" + "{% set n = n * n %}" * 60 + "{{ n }}": "too large",
    "{% if 1 %}{{ text|replace('', 'x' * 1000000) }}{% endif %}": "longer than",
    "{% if 1 %}{{ rows|join('x' * 1048576) }}{% endif %}": "longer",
    "{% if": "end of template",
    "{% if 1 %}": "end of template",
    "{% if 1 %}{{ 1 / 0 }}{% endif %}": "ZeroDivisionError",
    "{% for x in 5 %}{% endfor %}": "not iterable",
    "{% if 1 %}{{ rows.sort() }}{% endif %}": "«sort()» cannot be called",
    "{% if 1 %}{{ 5|round(6000000, 'ceil') }}{% endif %}": "from -15 to 15",
    "{% if 1 %}{{ 5|round(-6000000) }}{% endif %}": "from -15 to 15",
    "{% if 1 %}{{ 5|round('a') }}{% endif %}": "from -15 to 15",
    "{% if 1 %}{{ [5]|map('round', 6000000, 'floor')|list }}{% endif %}": "from -15 to 15",
    "{% if 1 %}{{ 5|round(1, 'up') }}{% endif %}": "common, ceil or floor",
    "{% set t = (1, 2) * 1000000000 %}": "longer than",
    "{% set t = 1000000000 * (1, 2) %}": "longer than",
    "{% set t = [1] * 1000000000 %}": "longer than",
    "{% if 1 %}{{ 0x" + "f" * 900 + " * 0x" + "f" * 900 + " }}{% endif %}": "too large",
    "{% set big = [1] * 1000 %}{% set t = range(9999)|map('default', big, true)|sum(start=[]) %}": "sum adds numbers",
    "{% if 1 %}{{ ('\\n' * 1000000)|indent(80) }}{% endif %}": "longer than",
    "{% set x = [1] * 9999 %}" + "{% set x = [x] %}" * 200 + "{{ x|tojson(indent=8) }}": "longer than",
    "{% if 1 %}{{ 'abc def'|truncate(1) }}{% endif %}": "AssertionError",
    "{% if " + "(" * 250 + "1" + ")" * 250 + " %}{% endif %}": "nested too deeply",
    "{% set x = a" + "|d" * 250 + " %}": "nested too deeply",
    "{% if " + "-" * 3000 + "1 %}{% endif %}": "nested too deeply",
    "{% if 1 %}" + "x" * 70000 + "{% endif %}": "longer than 65536",
    "{% if 1 %}" + "{{ a }}" * 6000 + "{% endif %}": "more than 5000 parts",
    "{% if 1 %}{{ name.upper }}{% endif %}": "«upper» is a method",
    "{% if 1 %}{{ name['upper'] }}{% endif %}": "«upper» is a method",
    "{% if 1 %}{{ [name.upper] }}{% endif %}": "TypeError",
    "{% if 1 %}{{ name.upper ~ '' }}{% endif %}": "«upper» is a method",
    "{% if 1 %}{{ name.upper|string }}{% endif %}": "«upper» is a method",
    "{% if 1 %}{{ range }}{% endif %}": "is a method",
}


@pytest.mark.parametrize("template", BAD, ids=lambda template: template[:50])
def test_nothing_runs_away_or_out(template: str) -> None:
    """D-X.15: bounded in steps, size and time, without attributes of Python, and every refusal says why."""
    with pytest.raises(TemplateError, match=r".*") as refused:
        render_jinja(template, DATA)
    assert BAD[template] in str(refused.value)


def test_data_is_never_a_template(bench) -> None:
    """D-X.15: what an input says is text, whatever it looks like."""
    evil = "{% for x in range(9) %}{{ 7 * 7 }}{% endfor %}"
    done = bench.done(TEMPLATE, {"template": "{% if 1 %}{{ said }}{% endif %}"}, {"said": evil})
    assert done.body == evil


def test_a_text_without_statements_is_filled_in_as_ever(bench) -> None:
    """D-X.15: `{{7*7}}` stays as it is, unless the author asks for the engine."""
    assert bench.done(TEMPLATE, {"template": "{{ 7*7 }} {{ name|upper }}"}, DATA).body == "{{ 7*7 }} {{ name|upper }}"
    asked = bench.done(TEMPLATE, {"template": "{{ 7*7 }} {{ name|upper }}", "engine": "jinja2"}, DATA)
    assert asked.body == "49 KIM"


def test_strict_templates_want_every_name_that_is_not_asked_about(bench) -> None:
    """D-X.15: a name behind `is defined` or with a default may be missing."""
    args = {"template": "{% if a is defined %}{{ a }}{% endif %}{{ b|default('x') }}", "strict": True}
    assert bench.done(TEMPLATE, args, DATA).body == "x"
    failure = bench.failed(TEMPLATE, {"template": "{% if c %}{% endif %}", "strict": True}, DATA)
    assert (failure.code, "c" in failure.message) == ("TEMPLATE_VARIABLE", True)


def test_prompts_have_statements(bench) -> None:
    """D-X.15, D-X.17: of a person_job and of a decision."""
    prompt = "{% for row in rows %}{{ row.t }}{% endfor %}"
    person = {"name": "P", "service": "echo"}
    assert bench.done(PERSON, {"person": person, "default_prompt": prompt}, DATA).body == "ba"
    assert bench.done(LLM, {"person": person, "prompt": prompt}, DATA).body == "ba"
    failure = bench.failed(PERSON, {"person": person, "default_prompt": "{% macro %}"}, DATA)
    assert failure.code == "TEMPLATE"
