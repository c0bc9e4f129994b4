"""Public names that were replaced still work, and warn."""

from __future__ import annotations

from pathlib import Path

import pytest

import penstock
from penstock import Blocking, Penstock, RunView
from penstock.bench.nets import chain_net


def test_look_is_the_view(tmp_path: Path) -> None:
    with Blocking(tmp_path / "runs.db") as blocking:
        blocking.executor("work", inline=True)(lambda: "done")
        run = blocking.start(blocking.release(chain_net(1)))
        with pytest.warns(DeprecationWarning, match="Blocking.look is called view now"):
            assert blocking.look(run).run_id == run
        with pytest.warns(DeprecationWarning, match="Penstock.look is called view now"):
            assert blocking._call(blocking.inner.look, run).run_id == run


def test_the_type_of_a_view_has_its_old_name() -> None:
    with pytest.warns(DeprecationWarning, match="penstock.Look is called RunView now"):
        assert penstock.Look is RunView
    assert "Look" not in penstock.__all__


def test_furnish_loads_the_sample(tmp_path: Path) -> None:
    door = Penstock(tmp_path / "runs.db", profile="dev").open()
    try:
        with pytest.warns(DeprecationWarning, match="Penstock.furnish is called load_sample now"):
            door.furnish()
    finally:
        door.close()
