"""dataset: rows of files under one folder and nowhere else."""

from __future__ import annotations

import pytest

from penstock.executors.dataset import DatasetExecutor
from tests.executors.desk import Desk

DATASET = DatasetExecutor()


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    (made.input_dir / "data").mkdir()
    made.register("connection", "default_file", type="file", root="data")
    return made


def write(desk, name, text):
    raw = text if isinstance(text, bytes) else text.encode()
    (desk.input_dir / "data" / name).write_bytes(raw)


@pytest.mark.parametrize(
    ("name", "text", "rows"),
    [
        ("a.csv", 'line,n\nL01,007\n"L,02",\n', [{"line": "L01", "n": "007"}, {"line": "L,02", "n": ""}]),
        ("b.csv", "\ufeffid,id\r\n1,2\r\n\r\n", [{"id": "1", "id_2": "2"}]),
        ("empty.csv", "", []),
        ("a.json", '[{"n": 1}]', [{"n": 1}]),
        ("value.JSON", '{"n": [1.5, null]}', {"n": [1.5, None]}),
        ("a.jsonl", '{"n": 1}\n\n{"n": "ü"}\r\n', [{"n": 1}, {"n": "ü"}]),
    ],
)
def test_formats_go_by_the_ending(desk, name, text, rows):
    """W-4.1.4, C-24: a path under a configured folder; csv, json and jsonl by their ending."""
    write(desk, name, text)
    assert desk.done(DATASET, {"path": name}).body == rows


def test_cells_are_texts_unless_the_connection_says_infer(desk):
    write(desk, "a.csv", "a;b;c;d;e\n1;-2.5e3;true;007;\n")
    desk.register("connection", "typed", type="file", root="data", options={"infer": True, "delimiter": ";"})
    assert desk.done(DATASET, {"connection": "typed", "path": "a.csv"}).body == [
        {"a": 1, "b": -2500.0, "c": True, "d": "007", "e": None}
    ]


def test_parquet(desk):
    """C-24: parquet, when its extra is there; dates and decimals become what JSON can hold."""
    duckdb = pytest.importorskip("duckdb")
    file = desk.input_dir / "data" / "a.parquet"
    select = "SELECT i::INT AS i, DATE '2024-01-02' AS d, 1.50::DECIMAL(5,2) AS m, 'x'::BLOB AS b FROM range(2) t(i)"
    duckdb.sql(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
    done = desk.done(DATASET, {"path": "a.parquet"})
    assert done.body == [{"i": i, "d": "2024-01-02", "m": 1.5, "b": "eA=="} for i in range(2)]
    write(desk, "bad.parquet", b"PAR1 not really PAR1")
    assert desk.failed(DATASET, {"path": "bad.parquet"}).code == "FILE_FORMAT"


def test_a_small_parquet_that_unfolds_has_a_limit(desk):
    duckdb = pytest.importorskip("duckdb")
    file = desk.input_dir / "data" / "bomb.parquet"
    duckdb.sql(f"COPY (SELECT 'x' AS x FROM range(3000000)) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")
    assert file.stat().st_size < 1_000_000
    failure = desk.failed(DATASET, {"path": "bomb.parquet"})
    assert (failure.code, failure.category) == ("FILE_TOO_LARGE", "resource")


@pytest.mark.parametrize(
    "path", ["../secret.csv", "a/../../secret.csv", "/etc/passwd.csv", "link.csv", "dir/x.csv", "~/x.csv"]
)
def test_no_way_out_of_the_folder(desk, path, tmp_path):
    """C-24: no `..`, no absolute path, no link."""
    (desk.input_dir / "secret.csv").write_text("a\n1\n")
    (desk.input_dir / "data" / "link.csv").symlink_to(desk.input_dir / "secret.csv")
    (desk.input_dir / "data" / "dir").symlink_to(tmp_path)
    (tmp_path / "x.csv").write_text("a\n1\n")
    failure = desk.failed(DATASET, {"path": path})
    assert (failure.code, failure.category) == ("PATH_REFUSED", "authorization")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", 'a,b\n1,"2\n'),
        ("a.csv", "a,b\n1\n"),
        ("a.csv", b"a\n\xff\xfe\n"),
        ("a.csv", "a\n" + "x" * 200_000),
        ("a.json", "{"),
        ("a.json", "[" * 100_000),
        ("a.jsonl", '{"a": 1}\nnot json\n'),
    ],
)
def test_files_that_are_not_what_they_say(desk, name, text):
    write(desk, name, text)
    failure = desk.failed(DATASET, {"path": name})
    assert (failure.code, failure.category) == ("FILE_FORMAT", "validation")


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.csv.exe"])
def test_other_endings(desk, name):
    assert desk.failed(DATASET, {"path": name}).code == "FILE_FORMAT"


def test_limits(desk):
    write(desk, "a.csv", "a\n" + "1\n" * 200)
    desk.register("connection", "few", type="file", root="data", options={"max_rows": 100})
    desk.register("connection", "small", type="file", root="data", options={"max_bytes": 100})
    for id in ("few", "small"):
        assert desk.failed(DATASET, {"connection": id, "path": "a.csv"}).code == "FILE_TOO_LARGE"


def test_what_is_missing_is_said(desk):
    assert desk.failed(DATASET, {"path": "none.csv"}).code == "FILE_NOT_FOUND"
    assert desk.failed(DATASET, {"path": None}).code == "INPUT_INVALID"
    assert desk.failed(DATASET, {"path": "a.csv", "connection": "nope"}).code == "CONNECTION_NOT_FOUND"
    desk.register("connection", "rootless", type="file")
    assert desk.failed(DATASET, {"path": "a.csv", "connection": "rootless"}).code == "CONNECTION_NOT_FOUND"


def test_parameters_stand_in_the_path(desk):
    """C-24, C-26: each for its name; a value never leads to another folder."""
    write(desk, "L01_7.csv", "a\n1\n")
    args = {"path": "{line}_{n}.csv", "params": {"line": "L01", "n": 7, "other": 1}}
    assert desk.done(DATASET, args).body == [{"a": "1"}]
    assert desk.failed(DATASET, {"path": "{none}.csv", "params": {"n": 7}}).code == "FILE_NOT_FOUND"
    for bad in ("../x", "..", "a/b", "a\\b", "", None, True, ["x"], "a\0"):
        failure = desk.failed(DATASET, {"path": "{n}.csv", "params": {"n": bad}})
        assert (failure.code, failure.category) == ("INPUT_INVALID", "validation") and "«n»" in failure.message


def test_the_schema_holds(desk):
    """W-4.1.6."""
    write(desk, "a.csv", "n\n1\n")
    schema = {"type": "array", "items": {"properties": {"n": {"type": "integer"}}}}
    assert desk.failed(DATASET, {"path": "a.csv", "output": {"schema": schema}}).detail["pointer"] == "/0/n"
