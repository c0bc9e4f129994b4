"""penstock migrate: a run that goes on is moved to another version, and back."""

from __future__ import annotations

from tests.app.test_migration import LATER
from tests.cli.shell import EXAMPLES, Shell


def test_migrate_on_the_command_line(penstock: Shell) -> None:
    penstock.write("later.yaml", LATER)
    run = penstock("run", EXAMPLES / "ask.yaml", "--key", "k", "--json", code=4).json()["run_id"]
    words = ("migrate", "k", "later.yaml", "--map", "Ask name=Ask for a name")
    dry = penstock(*words, "--dry-run", "--json").json()
    assert (dry["run"], dry["added"], dry["done"]) == (run, ["Thank"], False)
    assert "in the way" in penstock("migrate", "k", "later.yaml", "--dry-run", code=2).out
    assert "moved" in penstock(*words).out
    assert "Ask for a name" in penstock("show", "k").out
    assert "moved" in penstock("migrate", "k", "--undo").out
    assert "OLD=NEW" in penstock("migrate", "k", "later.yaml", "--map", "x", code=2).err
    assert "--undo" in penstock("migrate", "k", code=2).err
    penstock("respond", "k", "Ask name", "Kim")
