"""file: reading and writing under two folders, whole or not at all, and never anywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import penstock
from penstock.executors.file import FileExecutor
from penstock.executors.parts.files import sandboxed_files

FILE = FileExecutor()


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize(
    ("name", "form", "raw", "body", "kind"),
    [
        ("a.txt", None, "grüß\n".encode(), "grüß\n", "raw_text"),
        ("a.md", None, b"\xef\xbb\xbf# T", "# T", "raw_text"),
        ("a.json", None, b'{"a": [1]}', {"a": [1]}, "object"),
        ("a.json", "text", b'{"a": 1}', '{"a": 1}', "raw_text"),
        ("a.yaml", None, b"a: [1, 2]\nd: 2026-01-02\n", {"a": [1, 2], "d": "2026-01-02"}, "object"),
        ("a.csv", None, b'x,y\r\n1,"a,b"\r\n', [{"x": "1", "y": "a,b"}], "object"),
        ("a.bin", None, b"\x00\xff", b"\x00\xff", "binary"),
        ("a.txt", "binary", b"text", b"text", "binary"),
        ("a.weird", None, b"text", "text", "raw_text"),
    ],
)
def test_db_reads_files_by_their_format(bench, name, form, raw, body, kind):
    """D-X.15, D-2.3.3: db reads; text, JSON and binary."""
    (bench.input_dir / "sub").mkdir()
    (bench.input_dir / "sub" / name).write_bytes(raw)
    args = {"operation": "read", "file": f"sub/{name}"} | ({"format": form} if form else {})
    done = bench.done(FILE, args)
    assert (done.body, done.content_type) == (body, kind)
    assert done.meta["bytes"] == len(raw)


def test_several_files_and_patterns_come_as_an_object(bench):
    for name in ("a.txt", "b.txt", "c.json", ".hidden.txt"):
        (bench.input_dir / name).write_text(name)
    assert bench.done(FILE, {"file": ["a.txt", "b.txt"]}).body == {"a.txt": "a.txt", "b.txt": "b.txt"}
    assert bench.done(FILE, {"file": "*.txt", "glob": True}).body == {"a.txt": "a.txt", "b.txt": "b.txt"}
    assert bench.failed(FILE, {"file": "*.pdf", "glob": True}).code == "FILE_NOT_FOUND"


def test_what_was_written_can_be_read_in_the_same_run(bench):
    bench.done(FILE, {"operation": "write", "file": "x.json", "format": "json"}, {"v": {"a": 1}})
    assert bench.done(FILE, {"operation": "read", "file": "x.json", "format": "json"}).body == {"a": 1}


@pytest.mark.parametrize(
    ("form", "body", "text"),
    [
        ("text", "hello", "hello"),
        ("text", {"a": 1}, '{"a":1}'),
        ("json", {"a": [1]}, '{\n  "a": [\n    1\n  ]\n}\n'),
        ("yaml", {"b": 1, "a": "grüß"}, "b: 1\na: grüß\n"),
        ("md", "# T", "# T"),
    ],
)
def test_an_endpoint_saves_its_result_under_the_output_folder(bench, form, body, text):
    """D-X.19: the file is written, and the value itself goes on to the run's outputs."""
    done = bench.done(FILE, {"operation": "save", "file": "deep/er/out.x", "format": form}, {"v": body})
    assert done.body == body
    assert (bench.output_dir / "deep/er/out.x").read_text() == text
    assert names(bench.output_dir) == ["deep/er/out.x"]


def test_bytes_are_saved_as_they_are(bench):
    bench.done(FILE, {"operation": "write", "file": "x.bin"}, {"v": b"\x00\xff"})
    assert (bench.output_dir / "x.bin").read_bytes() == b"\x00\xff"


def test_a_path_may_name_inputs(bench):
    done = bench.done(
        FILE, {"operation": "write", "file": "r/{{who.name}}.txt", "content": "x"}, {"who": {"name": "ann"}}
    )
    assert done.body == {"path": "r/ann.txt", "bytes": 1}


OUTSIDE = [
    "", " ", "/", "/etc/passwd", "//etc/passwd", "~/x", "..", "../x", "a/../../x", "a/b/../../../x", "./../x", "a/..",
    "..\\x", "a\\..\\..\\x", "C:\\x", "C:/x", "c:x", "\\\\host\\share", "file:x", "x:stream", "a\x00b", "a\nb", "a\rb",
    "a\tb", "\x1b[31m", "a\u202eb.txt", "a\u2066b", "CON", "con.txt", "NUL", "nul.json", "COM1", "lpt9.txt", "AUX",
    "PRN", "a/CON/b", "x.", "x ", "a./b", "x" * 256, "é" * 128, "a/" * 40 + "x", "y/" * 600 + "x", "a/",
    ".", "./", "a/./", "..%2fx", "..x", ".env", "a/.git/config",
    ".penstock-keys-x", "a/.penstock-x", "\ud800", "a\x7fb", "...", "a/.../b", ". .", ".. /x", " /../x", "COM0.log",
    "a/../b", "\u2028/../x", "x/\x85",
]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE, ids=[f"{n}" for n in range(len(OUTSIDE))])
@pytest.mark.parametrize("operation", ["read", "write", "append"])
def test_z12_paths_that_lead_elsewhere_are_refused(bench, path, operation):
    """Z12, D-X.19: traversal, absolute paths, reserved and unreadable names."""
    failure = bench.failed(FILE, {"operation": operation, "file": path}, {"v": "x"})
    assert (failure.code, failure.category) == ("PATH_REFUSED", "authorization")
    assert failure.message.isprintable()
    assert not bench.output_dir.exists()


def test_there_are_enough_names():
    assert len(OUTSIDE) >= 60


def test_a_path_out_of_data_is_refused_like_any_other(bench):
    failure = bench.failed(FILE, {"operation": "write", "file": "{{x}}", "content": "x"}, {"x": "../../etc/x"})
    assert failure.code == "PATH_REFUSED"


@pytest.mark.parametrize("name", ["%2e%2e%2fx", "a..b", "-rf", "$(id)", ";ls", "한글.txt", "a b", "x" * 255])
def test_odd_names_are_just_names(bench, name):
    bench.done(FILE, {"operation": "write", "file": name, "content": "x"})
    assert names(bench.output_dir) == [name]


def test_links_are_not_followed(bench, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    bench.output_dir.mkdir()
    for root in (bench.input_dir, bench.output_dir):
        (root / "link.txt").symlink_to(secret)
        (root / "folder").symlink_to(tmp_path)
        (root / "dangling").symlink_to(tmp_path / "new.txt")
    for path in ("link.txt", "folder/secret.txt"):
        for operation in ("read", "write", "append"):
            assert bench.failed(FILE, {"operation": operation, "file": path, "content": "x"}).code == "PATH_REFUSED"
    assert bench.failed(FILE, {"operation": "write", "file": "dangling", "content": "x"}).code == "PATH_REFUSED"
    assert bench.failed(FILE, {"file": "*.txt", "glob": True}).code == "FILE_NOT_FOUND"
    assert secret.read_text() == "secret"
    assert not (tmp_path / "new.txt").exists()


def test_pipes_and_folders_are_not_files(bench):
    os.mkfifo(bench.input_dir / "pipe")
    (bench.input_dir / "folder").mkdir()
    for path in ("pipe", "folder"):
        failure = bench.failed(FILE, {"operation": "read", "file": path})
        assert failure.code == "PATH_REFUSED"
    bench.output_dir.mkdir()
    os.mkfifo(bench.output_dir / "pipe")
    for operation in ("write", "append"):
        assert bench.failed(FILE, {"operation": operation, "file": "pipe", "content": "x"}).code == "PATH_REFUSED"


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("x.json", b'{"half": '),
        ("x.json", b"[" * 100_000),
        ("x.json", b"\xff"),
        ("x.yaml", b"a: [1\n"),
        ("x.yaml", b"a: &a [x, x]\nb: [*a, *a]\n"),
        ("x.yaml", b"!!python/object/apply:os.system ['id']"),
        ("x.yaml", b"? [1, 2]\n: x\n"),
        ("x.csv", b'x\n"open\n'),
    ],
)
def test_z9_a_file_that_is_not_what_it_says(bench, name, raw):
    """Z9, Z16: no classes, no aliases that unfold, no endless nesting; a failure that names the file."""
    (bench.input_dir / name).write_bytes(raw)
    failure = bench.failed(FILE, {"operation": "read", "file": name})
    assert (failure.code, failure.category) == ("FILE_FORMAT", "validation")
    assert name in failure.message


def test_large_files_are_refused_before_they_fill_the_memory(bench):
    bench.settings["file.max_bytes"] = 1000
    with open(bench.input_dir / "sparse", "wb") as file:
        file.truncate(5_000_000_000)
    assert bench.failed(FILE, {"operation": "read", "file": "sparse"}).code == "FILE_TOO_LARGE"
    big = {"v": "x" * 1001}
    assert bench.failed(FILE, {"operation": "write", "file": "x"}, big).code == "FILE_TOO_LARGE"
    assert bench.failed(FILE, {"operation": "append", "file": "x"}, big).code == "FILE_TOO_LARGE"


@pytest.mark.parametrize(
    "args",
    [None, {}, {"file": 5}, {"file": []}, {"file": "x", "operation": "drop"}, {"file": ["a"], "operation": "write"}],
)
def test_bad_arguments(bench, args):
    assert bench.failed(FILE, args).code == "INPUT_INVALID"


def test_a_missing_file_is_named(bench):
    failure = bench.failed(FILE, {"operation": "read", "file": "no/such.txt"})
    assert (failure.code, failure.category) == ("FILE_NOT_FOUND", "permanent")
    assert "no/such.txt" in failure.message


def test_appending_is_once_per_key(bench):
    for key in ("k1", "k2", "k1", "k2", "k1"):
        bench.done(FILE, {"operation": "append", "file": "log.txt", "content": f"by {key}"}, key=key)
    assert (bench.output_dir / "log.txt").read_text() == "by k1\nby k2\n"


def test_the_same_text_by_another_key_is_another_line(bench):
    for key in ("k1", "k2"):
        bench.done(FILE, {"operation": "append", "file": "log.txt", "content": "same"}, key=key)
    assert (bench.output_dir / "log.txt").read_text() == "same\nsame\n"


def test_appending_at_once_loses_nothing(tmp_path):
    def add(n: int) -> None:
        sandboxed_files.append(tmp_path, "log", f"line {n}\n".encode(), f"k{n}")

    threads = [threading.Thread(target=add, args=(n % 20,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((tmp_path / "log").read_text().splitlines()) == sorted(f"line {n}" for n in range(20))


@pytest.mark.parametrize("stop", range(1, 13))
@pytest.mark.parametrize("operation", ["append", "write"])
def test_a_crash_at_any_point_is_repaired_by_the_next_attempt(tmp_path, operation, stop):
    """The process dies at its n-th write, fsync or rename; the next attempts give the file of one attempt."""
    program = """
        import os, sys
        from pathlib import Path
        from penstock.executors.parts.files import sandboxed_files
        left = int(sys.argv[2])
        def dying(call):
            def counted(*args, **kwargs):
                global left
                left -= 1
                if left == 0:
                    if call is real_write and len(args[1]) > 1:
                        real_write(args[0], args[1][: len(args[1]) // 2])
                    os._exit(9)
                return call(*args, **kwargs)
            return counted
        real_write = os.write
        os.write, os.fsync, os.replace = dying(os.write), dying(os.fsync), dying(os.replace)
        getattr(sandboxed_files, sys.argv[3])(Path(sys.argv[1]), "x.txt", b"second line\\n", "k2")
    """
    source = str(Path(penstock.executors.__file__).parents[2])
    sandboxed_files.append(tmp_path, "x.txt", b"first line\n", "k1")
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path), str(stop), operation],
        env={**os.environ, "PYTHONPATH": source},
    )
    if operation == "write":
        assert (tmp_path / "x.txt").read_text() in ("first line\n", "second line\n")
        sandboxed_files.write(tmp_path, "x.txt", b"second line\n", "k2")
        assert (tmp_path / "x.txt").read_text() == "second line\n"
    else:
        sandboxed_files.append(tmp_path, "x.txt", b"third line\n", "k3")  # another branch comes first
        sandboxed_files.append(tmp_path, "x.txt", b"second line\n", "k2")
        sandboxed_files.append(tmp_path, "x.txt", b"first line\n", "k1")
        lines = (tmp_path / "x.txt").read_text().splitlines()
        assert lines[0] == "first line"
        assert sorted(lines[1:]) == ["second line", "third line"]
    assert [n for n in names(tmp_path) if n.endswith(".tmp")] == []


def test_a_long_ledger_is_shortened(tmp_path, monkeypatch):
    monkeypatch.setattr(sandboxed_files, "_LEDGER_MAX", 2000)
    for n in range(60):
        sandboxed_files.append(tmp_path, "log", f"{n}\n".encode(), f"k{n}")
        sandboxed_files.append(tmp_path, "log", f"{n}\n".encode(), f"k{n}")
    assert (tmp_path / "log").read_text() == "".join(f"{n}\n" for n in range(60))
    assert all(p.stat().st_size < 4000 for p in tmp_path.glob(".penstock-keys-*"))


def test_a_full_disk_is_said_so(bench, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    failure = bench.failed(FILE, {"operation": "write", "file": "x", "content": "y"})
    assert (failure.code, failure.category) == ("FILE_IO", "resource")


def test_keys_are_parts_of_the_data(bench):
    """D-X.15: one path gives the part, several a map by path; a path that is not there says so."""
    bench.output_dir.mkdir(exist_ok=True)
    (bench.output_dir / "a.json").write_text('{"user": {"name": "Kim", "tags": ["x", "y"]}, "n": 1}')
    read = {"operation": "read", "file": "a.json"}
    assert bench.done(FILE, {**read, "keys": "user.tags.1"}).body == "y"
    assert bench.done(FILE, {**read, "keys": ["n", "user.{{what}}"]}, {"what": "name"}).body == {
        "n": 1,
        "user.name": "Kim",
    }
    for key in ("user.gone", "user.tags.9", "n.x", "a..b"):
        failure = bench.failed(FILE, {**read, "keys": key})
        assert (failure.code, failure.category) == ("FILE_FORMAT", "validation")


def test_an_update_sets_parts_and_leaves_the_rest(bench):
    """D-X.15: of what was written before; a file that is not there begins empty."""
    update = {"operation": "update", "file": "b.json", "keys": "user.name"}
    bench.done(FILE, update, {"default": "Kim"})
    bench.done(
        FILE, {**update, "keys": ["user.age", "n"], "content": {"age": 7, "n": "{{x}}"}, "render": True}, {"x": 3}
    )
    assert bench.done(FILE, {"file": "b.json"}).body == {"user": {"name": "Kim", "age": 7}, "n": 3}
    for wrong in ({"keys": ["gone"]}, {"keys": "n.x.y"}, {"keys": "user..name"}):
        assert bench.failed(FILE, {**update, **wrong}, {"default": {"a": 1}}).code == "FILE_FORMAT"


def test_lines_of_a_text(bench):
    """D-X.15: counted from 1, both ends included."""
    (bench.input_dir / "t.txt").write_text("one\ntwo\nthree\nfour\n")
    read = {"operation": "read", "file": "t.txt"}
    for lines, text in (
        ("2:3", "two\nthree\n"),
        ("4", "four\n"),
        ("3:", "three\nfour\n"),
        (["1", "4:9"], "one\nfour\n"),
    ):
        assert bench.done(FILE, {**read, "lines": lines}).body == text


def test_a_table_is_written_as_csv(bench):
    """D-X.15: maps with their keys as head, lists as they are."""
    write = {"operation": "write", "file": "t.csv"}
    bench.done(FILE, write, {"default": [{"a": 1, "b": "x, y"}, {"a": 2, "c": None}]})
    assert (bench.output_dir / "t.csv").read_text() == 'a,b,c\n1,"x, y",\n2,,\n'
    bench.done(FILE, write, {"default": [[1, 2], ["x"]]})
    assert (bench.output_dir / "t.csv").read_text() == "1,2\nx\n"
    assert bench.failed(FILE, write, {"default": [1, {"a": 1}]}).code == "FILE_FORMAT"
