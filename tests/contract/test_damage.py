"""A store that is not whole: damage is named, never raised, and a server does not start on it."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.integrity import quick_look
from penstock.app.maintenance.verify import verify
from penstock.cli.main import main
from penstock.store.sqlite import Sqlite
from penstock.store.sqlite_checks import SqliteChecks
from tests.contract.store_suite import Kit, a_net, started
from tools.attacks.damaged_pages import ALONE, NOTICED, SILENT, UNUSED, attack, copy_of, make_store, noticed

SEED = 11


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "penstock.db"
    make_store(path)
    return path


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return copy_of(whole, tmp_path / "penstock.db")


def test_a_whole_store_is_whole(whole: Path, copy: Path) -> None:
    assert noticed(whole) == "" and noticed(copy) == ""


@pytest.mark.parametrize("kind", ["page", "byte"])
def test_every_damage_that_changes_what_a_store_says_is_named(whole: Path, tmp_path: Path, kind: Any) -> None:
    """K1, K2, H1, H9, V1: 30 whole pages and 30 single bytes. What is not named changes nothing that can be read, or
    one value of a row that is written down nowhere else."""
    damages = attack(whole, tmp_path, 30, SEED, kind)
    outcomes = [damage.outcome for damage in damages]
    assert [damage for damage in damages if damage.outcome == SILENT and damage.tables - ALONE] == []
    # about one page in eight holds rows that are written down nowhere else
    assert outcomes.count(NOTICED) >= 5 and outcomes.count(SILENT) <= 8
    if kind == "page":
        unused = [damage for damage in damages if damage.outcome == UNUSED]
        assert {damage.why for damage in unused} <= {"a free page"} and SILENT not in outcomes


#: what is changed by hand, as SQL, and what verify calls it
CHANGED = {
    "a fact": ("UPDATE journal SET body=CAST(substr(body, 1, 5) || 'x' || substr(body, 7) AS BLOB) WHERE lsn=3", "D2"),
    "the time of a turn": ("UPDATE journal SET at=at+1 WHERE lsn=3", "D2"),
    "a lost turn": ("DELETE FROM journal WHERE run=2 AND seq_from=(SELECT max(seq_from) FROM journal WHERE run=2)", ""),
    "a run's tenant": ("UPDATE run SET tenant='other' WHERE no=2", "K1"),
    "a run's status": ("UPDATE run SET status=CASE status WHEN 5 THEN 6 ELSE 5 END WHERE no=1", "H9"),
    "a work item": ("UPDATE item SET by='thief'", "H9"),
    "a wait": ("DELETE FROM waiting", "H9"),
    "a blob": ("UPDATE blob SET body=x'c0'", "D4"),
    "a document": ("UPDATE release SET document=CAST(replace(CAST(document AS TEXT), 'a', 'e') AS BLOB)", "D6"),
    "an audit row": ("UPDATE audit SET actor='nobody' WHERE no=2", "D5"),
    "a net": ("UPDATE net SET body=x'00'", ""),
}


def test_an_index_that_is_declared_otherwise_is_named(copy: Path) -> None:
    """K1: its pages are whole, and no query can use it any more: one letter of the schema's own text is enough."""
    with closing(sqlite3.connect(copy, isolation_level=None)) as c:
        c.execute("PRAGMA writable_schema=ON")
        changed = "UPDATE sqlite_master SET sql=replace(sql, 'running', 'runnin') WHERE type='index' AND name=?"
        assert c.execute(changed, ("batch_open",)).rowcount == 1
    assert "batch_open" in noticed(copy)


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_behind_the_engines_back_is_named(copy: Path, what: str) -> None:
    statement, check = CHANGED[what]
    with closing(sqlite3.connect(copy)) as c:
        assert c.execute(statement).rowcount > 0
        c.commit()
    store = Sqlite(copy, engine=False)
    checks = {violation.check for violation in verify(store).violations}
    store.close()
    assert checks and (not check or check in checks), checks


def test_a_changed_row_of_a_journal_is_named_by_run_and_number(kit: Kit) -> None:
    """H1: on every store; rows that are older than checksums are taken as they are."""
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    (row,) = store.journal(1)
    assert [v for v in verify(store).violations if v.check == "D2"] == []
    if not hasattr(kit, "ask"):
        return
    kit.ask("UPDATE journal SET at=at+1 WHERE run=1")
    (wrong,) = [v for v in verify(store).violations if v.check == "D2"]
    assert wrong.run and f"{row.seq_from}..{row.seq_to}" in wrong.detail
    kit.ask("UPDATE journal SET checksum=NULL")
    assert [v for v in verify(store).violations if v.check == "D2"] == []


def test_a_store_that_answers_is_not_damaged(kit: Kit) -> None:
    """The database's own look, whole and bounded, on every store."""
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    assert list(store.damage()) == [] and list(store.damage(quick=True)) == [] and quick_look(store) == []


def noise(path: Path, first: int, count: int) -> None:
    dice = random.Random(SEED)
    with path.open("r+b") as file:
        file.seek(first * 4096)
        file.write(dice.randbytes(count * 4096))


def test_the_commands_end_with_a_code_and_no_traceback(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half of the file is noise: verify and doctor say so, serve does not start."""
    pages = copy.stat().st_size // 4096
    noise(copy, pages // 2, pages // 2)
    for words in (["verify"], ["doctor", "--all"], ["serve", "--port", "0"], ["dev", "--port", "0"]):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--store", str(copy)])
        printed = capsys.readouterr()
        assert ended.value.code in (2, 3), words
        assert "Traceback" not in printed.out + printed.err
    assert "PS-503-STORE-DAMAGED" in printed.err + printed.out and "penstock verify" in printed.err + printed.out


def test_a_header_of_noise_is_refused_with_a_code(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise(copy, 0, 1)
    with pytest.raises(SystemExit) as ended:
        main(["verify", "--store", str(copy)])
    assert ended.value.code == 2 and "PS-409-STORE-FOREIGN" in capsys.readouterr().err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    pragmas: list[str] = []
    right = SqliteChecks._said

    def said(self: SqliteChecks, pragma: str, of: str) -> list[str]:
        pragmas.append(f"{pragma}({of})")
        return right(self, pragma, of)

    monkeypatch.setattr(SqliteChecks, "_said", said)
    return pragmas


def test_a_start_looks_through_a_small_file_and_not_through_a_large_one(
    whole: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at the start is bounded: of a large file it asks for its small tables."""
    store = Sqlite(whole, engine=False)
    assert quick_look(store) == [] and asked == ["quick_check(100)", "quick_check(sqlite_master)"]
    asked.clear()
    monkeypatch.setattr("penstock.store.sqlite_checks.QUICK_BYTES", 1)
    assert quick_look(store) == [] and "quick_check(100)" not in asked and "quick_check(mark)" in asked
    store.close()
