"""Whatever is wrong, there is one clear message with a code and a hint, exit 2, and nothing half-written."""

from __future__ import annotations

import hashlib
import resource
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import EXAMPLES, PROGRAM, SLOW_LOOP, Shell, environment, working

HEAD = "version: light\nnodes:\n  - {label: Start, type: start}\n"
TO_A = "connections: [{from: Start, to: A}]\n"
DEEP = "(" * 5000 + "1" + ")" * 5000
BOMB = "".join(
    f"{a}: &{a} [{', '.join([b] * 9)}]\n" for a, b in (("a", "x"), ("b", "*a"), ("c", "*b"), ("d", "*c"), ("e", "*d"))
)
STEP = "type: template_job, template: x"
ROUND = "connections:\n  - {from: Start, to: A}\n  - {from: A, to: B}\n  - {from: B, to: A}\n"

#: text, rule, part of the place
CASES = {
    "broken": ("version: light\nnodes: [\n", "PS-400-DOCUMENT", "(3:1)"),
    "binary": ("\x00\x01\x02", "PS-400-DOCUMENT", "(1:1)"),
    "empty": ("", "PS-400-DOCUMENT", "(1:1)"),
    "no diagram": ("hello: world\n", "PS-422-LANGUAGE", ""),
    "unknown field": (f"{HEAD}  - {{label: A, type: endpoint, colour: red}}\n{TO_A}", "unknown_field", "(4:"),
    "unknown type": (f"{HEAD}  - {{label: A, type: nothing}}\n{TO_A}", "unknown_type", "(4:"),
    "expression bomb": (
        f"{HEAD}  - {{label: A, type: condition, condition_type: custom, expression: '{DEEP}'}}\n{TO_A}",
        "expression",
        "(4:",
    ),
    "yaml bomb": (BOMB, "PS-400-DOCUMENT", ""),
    "cycle": (f"{HEAD}  - {{label: A, {STEP}}}\n  - {{label: B, {STEP}}}\n{ROUND}", "UNBOUNDED_LOOP", "(4:"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_document(penstock: Shell, case: str) -> None:
    """D-X.29, D-A.11, D-X.15: check and run say what is wrong and where; exit 2, and no store is made."""
    text, rule, where = CASES[case]
    penstock.write("wrong.yaml", text)
    checked = penstock("check", "wrong.yaml", "--json", code=2).json()
    assert checked["ok"] is False
    first = checked["findings"][0]
    assert {"rule", "severity", "where", "message", "hint"} <= first.keys()
    found = [one for one in checked["findings"] if rule.lower() in one["rule"].lower()]
    assert found, checked["findings"]
    assert where in found[0]["where"]
    told = penstock("run", "wrong.yaml", code=2)
    assert told.out == ""
    assert "wrong.yaml" in told.err
    assert found[0]["message"].splitlines()[0] in told.err
    assert not penstock.store.parent.exists()


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_cannot_be_opened(penstock: Shell, name: str) -> None:
    assert penstock("run", name, "--json", code=2).error()["code"] == "PS-400-INPUT"
    checked = penstock("check", name, "--json", code=2).json()
    assert (checked["ok"], checked["language"], len(checked["findings"])) == (False, None, 1)


def test_a_document_of_fifty_megabytes_is_not_read(penstock: Shell) -> None:
    big = penstock.folder / "big.yaml"
    with big.open("wb") as file:
        file.truncate(50 * 1024 * 1024)

    def little_memory() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (200 * 1024 * 1024, resource.RLIM_INFINITY))

    said = penstock.alone("run", "big.yaml", "--json", code=2, preexec_fn=little_memory)
    assert said.error()["code"] == "PS-413-DOCUMENT"
    assert "52428800" in said.error()["message"]
    assert said.error()["where"] == "big.yaml"


@pytest.mark.parametrize("way", ["../outside.yaml", "absolute", "link.yaml", "folder/../../outside.yaml"])
def test_a_document_cannot_reach_out_of_its_folder(penstock: Shell, way: str) -> None:
    """D-X.15, D-X.19: files that a document names are looked for beside it, and nowhere else."""
    outside = penstock.write("outside.yaml", (EXAMPLES / "loop.yaml").read_text(encoding="utf-8"))
    inside = penstock.folder / "inside"
    (inside / "folder").mkdir(parents=True)
    (inside / "link.yaml").symlink_to(outside)
    name = str(outside) if way == "absolute" else way
    text = f"{HEAD}  - {{label: A, type: sub_diagram, diagram_name: '{name}'}}\n{TO_A}"
    (inside / "outer.yaml").write_text(text, encoding="utf-8")
    checked = penstock("check", "inside/outer.yaml", "--json", code=2).json()
    assert "outside the folder" in checked["findings"][0]["message"]
    (inside / "outer.yaml").write_text(text.replace(name, "near.yaml"), encoding="utf-8")
    (inside / "near.yaml").write_bytes(outside.read_bytes())
    assert penstock("check", "inside/outer.yaml", "--json").json()["ok"] is True


def test_a_finding_is_told_once(penstock: Shell) -> None:
    """D-X.29, D-X.15: what is wrong, where, and what to do; and at the end only how many there are."""
    penstock.write("wrong.yaml", f"{HEAD}  - {{label: A, type: nothing}}\n  - {{label: B, type: nothing}}\n{TO_A}")
    found = penstock("check", "wrong.yaml", "--json", code=2).json()["findings"]
    errors = [one for one in found if one["severity"] == "error"]
    told = penstock("run", "wrong.yaml", code=2).err
    for one in errors:
        assert told.count(one["message"]) == len([other for other in errors if other["message"] == one["message"]])
        assert one["hint"] in told
        assert f"wrong.yaml:{one['line']}:{one['column']}" in told
    assert told.splitlines()[-1] == f"error PS-422-DOCUMENT  wrong.yaml has {len(errors)} errors."


# ---- calls -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", [["nonsense"], ["run"], ["run", "a", "b"], ["ps", "--nonsense"], ["fork", "r"], ["bench", "nothing"]]
)
def test_a_wrong_call(penstock: Shell, call: list[str]) -> None:
    said = penstock(*call, "--json", code=2)
    assert said.error()["code"] == "PS-400-USAGE"
    assert "--help" in said.error()["hint"]


def test_no_command_at_all_shows_the_help(penstock: Shell) -> None:
    assert "Commands" in penstock(code=2).err
    assert "Commands" in penstock("--help").out


@pytest.mark.parametrize(
    "command", [["ps"], ["show", "r"], ["verify"], ["rebuild"], ["work", "--until-idle"], ["pause", "r"]]
)
def test_no_store_is_made_by_looking_for_one(penstock: Shell, command: list[str]) -> None:
    said = penstock(*command, "--json", code=2)
    assert said.error()["code"] == "PS-404-STORE"
    assert not penstock.store.parent.exists()


def test_a_run_that_is_not_there(penstock: Shell) -> None:
    penstock("run", EXAMPLES / "loop.yaml", "--json")
    for command in (["show", "zzz"], ["trace", "no such"], ["replay", "' or 1=1"], ["cancel", "%"]):
        assert penstock(*command, "--json", code=2).error()["code"] == "PS-404-RUN"
    run = penstock("ps", "--all", "--json").json()[0]["run_id"]
    for command in (["replay", run, "--to", "0"], ["replay", run, "--to", "999"], ["fork", run, "--at", "999"]):
        assert penstock(*command, "--json", code=2).error()["code"] == "PS-400-INPUT"


# ---- stores ----------------------------------------------------------------------------------------------------------


def test_a_store_of_a_newer_version_is_left_alone(penstock: Shell) -> None:
    penstock("run", EXAMPLES / "loop.yaml", "--json")
    with sqlite3.connect(penstock.store) as store:
        store.execute("UPDATE mark SET value=999 WHERE name='schema_version'")
    store.close()
    for command in (["run", EXAMPLES / "loop.yaml"], ["ps"]):
        error = penstock(*command, "--json", code=2).error()
        assert error["code"] == "PS-409-STORE-NEWER"
        assert "999" in error["message"]


def test_a_foreign_file_is_left_alone(penstock: Shell) -> None:
    notes = penstock.write("notes.db", "not a database at all\n" * 100)
    other = penstock.folder / "other.db"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine(a)")
    database.close()
    for file in (notes, other):
        before = hashlib.sha256(file.read_bytes()).hexdigest()
        for command in (["run", EXAMPLES / "loop.yaml"], ["ps"], ["verify"]):
            error = penstock(*command, "--store", file, "--json", code=2).error()
            assert error["code"] == "PS-409-STORE-FOREIGN"
        assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert penstock("ps", "--store", penstock.folder, "--json", code=2).error()["code"].startswith("PS-")


def test_a_full_disk_stops_the_run_and_nothing_is_half_written(penstock: Shell) -> None:
    """D-X.23: no room for the next turn: one message, exit 2; with room the same command goes on where it was."""
    penstock("run", "slow.yaml", "--key", "k0", "--json")
    wal = penstock.store.with_name("penstock.db-wal")
    limit = max(penstock.store.stat().st_size, wal.stat().st_size if wal.exists() else 0) + 100_000
    big = "x" * (limit // 2)  # an empty store has grown with its tables
    penstock.write("wide.yaml", SLOW_LOOP.replace("again", big).replace("400", "50"))

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    said = penstock.alone("run", "wide.yaml", "--key", "k1", "--json", code=2, preexec_fn=little_room)
    assert said.error()["code"] in ("PS-503-STORE-AWAY", "PS-507-STORE-FULL")
    assert penstock("verify", "--json").json()["violations"] == []
    ended = penstock("run", "wide.yaml", "--key", "k1", "--json").json()
    assert (ended["status"], ended["counters"]["Work"]) == ("COMPLETED", 3)


def test_a_full_file_system(penstock: Shell) -> None:
    """The same on a real one that is full, where a small one can be mounted."""
    small = penstock.folder / "small"
    small.mkdir()
    penstock.write("full.yaml", SLOW_LOOP.replace("again", "y" * 50_000).replace("400", "1"))
    call = f"{' '.join(PROGRAM)} run full.yaml --key k --store small/p.db --json"
    room = "mount -t tmpfs -o size=2m none small && dd if=/dev/zero of=small/rest bs=1k count=1700 2>/dev/null"
    script = f"{room}; {call}; code=$?; rm small/rest; {call} >&2; exit $code"
    shell = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script]
    try:
        done = subprocess.run(shell, cwd=penstock.folder, env=environment(), capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no unshare here")
    if "PS-507-STORE-FULL" not in done.stdout and ("mount" in done.stderr or "unshare" in done.stderr):
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()[:200]}")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "PS-507-STORE-FULL" in done.stdout
    assert '"COMPLETED"' in done.stderr


def test_another_process_drives_the_store(penstock: Shell) -> None:
    """D-X.27: one process drives; one that must drive itself says who it is, and readers are not in the way."""
    process = penstock.start("run", "long.yaml", "--key", "k")
    try:
        penstock.until("k", working(1), process)
        error = penstock("fork", "k", "--at", "2", "--json", code=2).error()
        assert error["code"] == "PS-409-STORE-BUSY"
        assert str(process.pid) in error["message"]
        assert penstock("ps", "--json").json()[0]["key"] == "k"
        assert process.poll() is None, "the reader has been quick enough to see it"
    finally:
        process.kill()
        process.communicate()


def test_a_damaged_store_is_one_line_too(penstock: Shell, tmp_path: Path) -> None:
    """An error that nobody thought of: one line that asks to report it, and the traceback only with --debug."""
    run = penstock("run", EXAMPLES / "ask.yaml", "--json", code=4).json()["run_id"]
    with sqlite3.connect(penstock.store) as store:
        store.execute("UPDATE journal SET body=x'93c1'")
    store.close()
    said = penstock("trace", run, code=2)
    assert said.err.startswith("error PS-")
    assert len(said.err.splitlines()) <= 2
    debugged = subprocess.run(
        [*PROGRAM, "trace", run, "--debug"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert debugged.returncode == 2
    assert "Traceback" in debugged.stderr


def test_pages_that_the_disk_has_eaten_are_told_as_such(penstock: Shell) -> None:
    """One clear message with code and hint, no traceback and no request to report a bug."""
    penstock("run", EXAMPLES / "loop.yaml", code=0)
    store = Path(penstock.store)
    with sqlite3.connect(store) as c:
        c.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    c.close()
    body = bytearray(store.read_bytes())
    body[8192:] = b"\xff" * (len(body) - 8192)
    store.write_bytes(body)
    said = penstock("ps", "-a", code=2)
    assert "PS-503-STORE" in said.err and "restore" in said.err
