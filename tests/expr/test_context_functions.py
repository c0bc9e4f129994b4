"""The context functions: secrets stay references, settings are read by dotted paths, and a run lends them all."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ExprSecretMissing, ExprTypeError
from penstock.executors.parts.secrets import SecretMissing, Secrets
from penstock.expr import FUNCTIONS
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.view import secret_mark
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task

from .reading import exact, value

NOW = 1_794_744_000_000  # 2026-11-15T12:00:00Z
VIEW: dict[str, Any] = {
    "secrets": {"key": "env:KEY", "deep": {"er": "env:DEEPER"}},
    "$config": {"limits": {"rows": 50}, "a.b": "dotted", "flag": False, "zero": 0},
    "$tenant_config": {"region": {"name": "서울"}, "lines": ["L01", "L02"]},
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("fn.get_config('limits.rows')", 50),
        ("fn.get_config('limits')", {"rows": 50}),
        ("fn.get_config('a.b')", "dotted"),
        ("fn.get_config('flag')", False),
        ("fn.get_config('zero')", 0),
        ("fn.get_config('nope')", None),
        ("fn.get_config('limits.nope.more')", None),
        ("fn.get_config('')", None),
        ("fn.get_config('region.name')", None),  # the tenant's are not the service's
        ("fn.get_tenant_config('region.name')", "서울"),
        ("fn.get_tenant_config('lines')[1]", "L02"),
        ("fn.get_tenant_config('limits')", None),
        ("fn.get_tenant_config(fn.concat('region', '.name'))", "서울"),
        ("[{'$config': {'zero': 9}}].map('fn.get_config(\"zero\")')", [0]),
    ],
)
def test_settings(source: str, expected: object) -> None:
    """W-5.3.6: get_config and get_tenant_config read by name or dotted path; absent is null."""
    assert exact(value(source, VIEW), expected)


def test_settings_where_there_are_none() -> None:
    """W-5.3.6: without settings everything is null; a key is a text."""
    for view in ({}, {"$config": None, "$tenant_config": None}, {"$config": 5, "$tenant_config": []}):
        assert value("fn.get_config('a')", view) is None
        assert value("fn.get_tenant_config('a.b')", view) is None
    for source in ("fn.get_config(1)", "fn.get_tenant_config(null)", "fn.get_secret([])"):
        with pytest.raises(ExprTypeError, match="needs a string"):
            value(source, VIEW)


def test_a_secret_that_is_not_there() -> None:
    """W-5.3.6, C-63: absent is SECRET_NOT_FOUND of the category authorization, and never null."""
    assert value("fn.get_secret('key')", VIEW) == "env:KEY"
    assert value("fn.get_secret('deep.er')", VIEW) == "env:DEEPER"
    for name in ("absent", "deep.absent", "key.more"):
        with pytest.raises(ExprSecretMissing, match=f"There is no secret «{name}»") as caught:
            value(f"fn.get_secret('{name}')", VIEW)
        assert (caught.value.code, caught.value.category) == ("SECRET_NOT_FOUND", "authorization")
    with pytest.raises(ExprTypeError, match="there are no secrets here"):
        value("fn.get_secret('key')", {})


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "1a", "a§b", "a}b", "ä", "a" * 201, ".a", "a\n", "env:HOME", "file:/etc/passwd"]
)
def test_names_that_no_secret_has(name: str) -> None:
    """C-63: a name that could not be filled, or would say itself where a value lies, never becomes a reference."""
    with pytest.raises(ExprTypeError, match="a secret's name has letters"):
        value("fn.get_secret(name)", VIEW, name=name)


def asked(args: Any, **options: Any) -> Any:
    """What an effect of a real run is asked with, and the run's mark for secrets."""
    drawn = net([S, task("a", args=args), X], "s>a a>x")
    sim = Sim(drawn, begin=False)
    sim.now = NOW
    sim.do(C.start("r1", {"name": "erp.key"}, options=options))
    return next(fact[-1] for fact in sim.facts if fact[0] == F.ASKED), secret_mark(sim.run)


def test_what_a_run_lends() -> None:
    """W-5.3.1, W-5.3.6, C-48: time, calendar and settings are the run's own, kept with it, so a replay has the same."""
    args = {
        "now": {"$expr": "fn.now()"},
        "holiday": {"$expr": "fn.is_holiday()"},
        "hour": {"$template": "at ${fn.date_format(fn.now(), 'HH')} h"},
        "sum": {"$expr": "fn.get_config('a.b') + fn.get_tenant_config('c')"},
        "hidden": {"$expr": "fn.get_variable('$tenant_config')"},
    }
    options = {"calendar": {"timezone": "UTC", "holidays": ["2026-11-15"]}, "config": {"a": {"b": 1}}}
    given, _ = asked(args, **options, tenant_config={"c": 2})
    assert given == {
        "now": "2026-11-15T12:00:00.000Z",
        "holiday": True,
        "hour": "at 12 h",
        "sum": 3,
        "hidden": None,
    }
    given, _ = asked({"hour": args["hour"], "none": {"$expr": "fn.get_config('a')"}})
    assert given == {"hour": "at 21 h", "none": None}


def test_a_secret_in_a_run() -> None:
    """W-5.3.6, C-63: in a run get_secret gives the run's own marked reference, also for a dotted name; it is filled for
    the call, and missing then is SecretMissing."""
    text = {"$template": "Bearer ${fn.get_secret(input.name)}"}
    given, mark = asked({"auth": text, "plain": {"$expr": "fn.get_secret('jira')"}, "same": {"$expr": "secrets.jira"}})
    assert given == {"auth": f"Bearer {mark}erp.key{mark}", "plain": f"{mark}jira{mark}", "same": f"{mark}jira{mark}"}
    filled = Secrets({"erp.key": "s3cret", "jira": "hook"}).fill_marked(given, mark)
    assert filled == {"auth": "Bearer s3cret", "plain": "hook", "same": "hook"}
    with pytest.raises(SecretMissing):
        Secrets({"jira": "hook"}).fill_marked(given, mark)


def test_the_family() -> None:
    """W-5.3.6: four functions, each says what it reads."""
    family = {name: function.reads for name, function in FUNCTIONS.items() if function.family == "context"}
    assert family == {
        "get_variable": ("context",),
        "get_secret": ("secrets",),
        "get_config": ("$config",),
        "get_tenant_config": ("$tenant_config",),
    }
