"""What documents may reach of the machine: not the engine's own files, and on a shared one only what is theirs."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from penstock.executors.contract import Services
from penstock.executors.dataset import DatasetExecutor
from penstock.executors.file import FileExecutor
from penstock.executors.http import HttpExecutor
from penstock.executors.llm import LlmExecutor
from penstock.executors.mcp import McpExecutor
from penstock.executors.sql import SqlExecutor
from penstock.executors.stream import StreamExecutor
from penstock.host.secrets import SecretPlaces, places_of
from penstock.host.tenants import Installation, TenantServices, folder_name
from tests.executors.bench import Server, as_json
from tests.executors.desk import Desk
from tests.executors.test_ssrf import Resolver

FILE, SQL, DATASET, MCP = FileExecutor(), SqlExecutor(), DatasetExecutor(), McpExecutor()
HTTP, LLM, STREAM = HttpExecutor(), LlmExecutor(), StreamExecutor()
BESIDE = ("", "-wal", "-shm", ".lock", ".admin-key", ".session-key", ".secret-key", ".checkpoint-key", ".bak")


class House(Desk):
    """A desk beside a store; `shared` says for whom."""

    shared = "none"
    home = "sample"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.store = self.input_dir / "s" / "s.db"

    @property
    def services(self) -> Services:
        installation = Installation(store=self.store, shared=self.shared, home=self.home)  # type: ignore[arg-type]
        return TenantServices(installation, super().services).base.of("t")


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.store.parent.mkdir()
    for end in BESIDE:
        (made.store.parent / f"s.db{end}").write_text("canary")
    (made.store.parent / "settings.toml").write_text("canary")
    (made.store.parent / "notes.txt").write_text("canary")
    return made


def base(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE t (a)")
        made.commit()
    return path


@pytest.mark.parametrize("name", [*(f"s.db{end}" for end in BESIDE), "S.DB.ADMIN-KEY", "settings.toml", "notes.txt"])
def test_the_stores_folder_is_closed(house, name):
    """Z12: the input folder is around the store's, and yet nothing in there is read, found or written."""
    assert house.failed(FILE, {"file": f"s/{name}"}).code == "PATH_REFUSED"
    assert house.failed(FILE, {"file": f"s/{name[:3]}*", "glob": True}).code == "FILE_NOT_FOUND"
    house.output_dir = house.input_dir
    assert house.failed(FILE, {"file": f"s/{name}", "operation": "write", "content": "x"}).code == "PATH_REFUSED"
    assert house.failed(FILE, {"file": f"s/{name}", "operation": "append", "content": "x"}).code == "PATH_REFUSED"


def test_what_is_declared_in_the_stores_folder_is_open(house):
    """D-X.19: the output folder lies beside the store, and an input folder may be the store's own."""
    house.output_dir = house.store.parent / "s.db.output"
    house.done(FILE, {"file": "a.txt", "operation": "write", "content": "x"})
    assert house.done(FILE, {"file": "a.txt"}).body == "x"
    house.input_dir = house.store.parent
    assert house.done(FILE, {"file": "notes.txt"}).body == "canary"
    assert house.failed(FILE, {"file": "s.db.admin-key"}).code == "PATH_REFUSED"
    assert house.failed(FILE, {"file": "settings.toml"}).code == "PATH_REFUSED"


@pytest.mark.parametrize("end", BESIDE)
def test_no_connection_is_the_store(house, end):
    """C-24: on one's own machine too, whatever the path looks like."""
    (house.input_dir / "link").symlink_to(house.store.parent)
    os.link(house.store, house.input_dir / f"hard{end}")
    for path in (f"{house.store}{end}", f"s/../s/s.db{end}", f"link/s.db{end}", f"hard{end}"):
        house.register("connection", "c", type="sqlite", path=path)
        assert house.failed(SQL, {"connection": "c", "query": "SELECT 1"}).code == "PATH_REFUSED", path
    house.register("connection", "f", type="file", root=str(house.store.parent))
    (house.store.parent / f"s.db{end}.json").write_text("[1]")
    assert house.failed(DATASET, {"connection": "f", "path": f"s.db{end}.json"}).code == "PATH_REFUSED"


def test_other_files_beside_the_store_are_connections_on_ones_own_machine(house):
    """C-24: the sample's database lies there."""
    house.register("connection", "c", type="sqlite", path=str(base(house.store.parent / "sample.db")))
    assert house.done(SQL, {"connection": "c", "query": "SELECT * FROM t"}).body == []


def test_a_shared_machine_has_folders_per_tenant(house):
    """C-66: what lies elsewhere is not read, unless the operator lists it; what documents write is no database."""
    house.shared = "all"
    (house.input_dir / "a.txt").write_text("canary")
    assert house.failed(FILE, {"file": "a.txt"}).code == "FILE_NOT_FOUND"
    house.done(FILE, {"file": "b.txt", "operation": "write", "content": "x"})
    mine = house.store.parent / "tenants" / "t"
    assert (mine / "output" / "b.txt").read_text() == "x" and mine.stat().st_mode & 0o077 in (0, 0o055)
    outside, query = base(house.input_dir / "o" / "o.db"), {"connection": "c", "query": "SELECT * FROM t"}
    for path in (outside, base(mine / "output" / "made.db"), base(house.store.parent / "tenants" / "u" / "x.db")):
        house.register("connection", "c", type="sqlite", path=str(path))
        assert house.failed(SQL, query).code == "PATH_REFUSED"
    house.register("connection", "c", type="sqlite", path=str(outside))
    house.settings["sql.roots"] = [str(outside.parent)]
    assert house.done(SQL, query).body == []
    (outside.parent / "r.json").write_text("[1]")
    house.register("connection", "f", type="file", root=str(outside.parent))
    read = {"connection": "f", "path": "r.json"}
    assert house.failed(DATASET, read).code == "PATH_REFUSED"
    house.settings["file.roots"] = [str(outside.parent)]
    assert house.done(DATASET, read).body == [1]


def test_the_sample_is_the_first_tenants(house):
    """C-81: its database and its files lie beside the store, and are nobody else's."""
    base(house.store.parent / "sample.db")
    house.shared, house.settings["sql.root"] = "all", house.store.parent
    house.register("connection", "c", type="sqlite", path="sample.db")
    query = {"connection": "c", "query": "SELECT * FROM t"}
    assert house.failed(SQL, query).code == "SQL_ERROR"
    house.home = "t"
    assert house.done(SQL, query).body == []
    house.register("connection", "c", type="sqlite", path="s.db")
    assert house.failed(SQL, query).code == "PATH_REFUSED"


def test_at_home_the_first_tenant_keeps_its_folders(house):
    """C-81: `penstock dev` gives folders to the others only."""
    house.shared, house.home = "others", "t"
    (house.input_dir / "a.txt").write_text("here")
    assert house.done(FILE, {"file": "a.txt"}).body == "here"
    assert not (house.store.parent / "tenants").exists()


@pytest.mark.parametrize("tenant", ["", ".", "..", "../x", "a/b", "A", "a.b", "x" * 65, "한", "\ud800", "~x", "con "])
def test_a_tenants_name_is_no_path(tenant):
    made = folder_name(tenant)
    assert made.startswith("~") and len(made) == 65 and "/" not in made and made != folder_name(tenant + "x")
    assert folder_name("tenant_001") == "tenant_001"


# ---- programs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("commands", "env", "command"),
    [
        ([], {}, ["/bin/true"]),
        ("/bin/truelove", {}, ["/bin/true"]),
        ([["/bin/true", "-a"]], {}, ["/bin/true", "-b"]),
        (["/bin/true"], {"LD_PRELOAD": "x.so"}, ["/bin/true"]),
        (["/bin/true"], {"PythonPath": "x"}, ["/bin/true"]),
        (["/bin/true"], {"PATH": "x"}, ["/bin/true"]),
    ],
)
def test_programs_on_a_shared_machine(house, commands, env, command):
    """W-4.4.1: what is listed, as it is listed, and not bent by its environment."""
    house.shared, house.settings["mcp.commands"] = "all", commands
    house.register("mcp_server", "m", transport="stdio", command=command, env=env, version="1.0.0")
    args = {"server": {"id": "m"}, "operation": {"type": "tool", "name": "x"}}
    failure = house.failed(MCP, args)
    assert (failure.code, failure.category) == ("MCP_COMMAND", "authorization")


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def _asks_for_a_password(listening: socket.socket, heard: list[bytes]) -> None:
    """A server that wants a password in clear text, and hears what it is told."""
    listening.settimeout(5)
    try:
        while True:
            one, _ = listening.accept()
            with one:
                one.settimeout(2)
                while (said := one.recv(4096))[:8] in (b"\0\0\0\x08\x04\xd2\x16/", b"\0\0\0\x08\x04\xd2\x160"):
                    one.sendall(b"N")
                heard.append(said)
                one.sendall(b"R\0\0\0\x08\0\0\0\x03")
                heard.append(one.recv(4096))
    except OSError:
        return


def test_postgresql_hears_nothing_of_the_machine(house, monkeypatch, tmp_path):
    """C-63: neither the environment's password nor the one in a file goes to a server that a tenant names."""
    pytest.importorskip("psycopg")
    (tmp_path / "pass").write_text("*:*:*:*:canary\n")
    (tmp_path / "pass").chmod(0o600)
    for name in ("PGPASSWORD", "PGDATABASE", "PGAPPNAME"):
        monkeypatch.setenv(name, "canary")
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    monkeypatch.setenv("PGOPTIONS", "-c canary=1")
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_asks_for_a_password, args=(listening, heard), daemon=True).start()
        url = f"postgresql://u@127.0.0.1:{listening.getsockname()[1]}"
        house.register("connection", "c", type="postgresql", url=url)
        failure = house.failed(SQL, {"connection": "c", "query": "SELECT 1"}, timeout_ms=5000)
    assert failure.code in ("CONNECTION_LOST", "SQL_DENIED") and "canary" not in str(failure)
    assert heard and b"user\0u\0" in heard[0] and not any(b"canary" in one for one in heard)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("postgresql://u@127.0.0.1:1/x", "HTTP_BLOCKED"),
        ("postgresql://u@localhost/x", "HTTP_BLOCKED"),
        ("postgresql://u@[::1]/x", "HTTP_BLOCKED"),
        ("postgresql://u@10.0.0.1/x", "HTTP_BLOCKED"),
        ("postgresql://u@192.0.2.1,127.0.0.1/x", "HTTP_BLOCKED"),
        ("postgresql://u@8.8.8.8:25/x", "HTTP_BLOCKED"),
        ("postgresql:///x?host=/run&user=u", "HTTP_BLOCKED"),
        ("postgresql://u@/x", "HTTP_BLOCKED"),
        ("host=@abstract user=u", "HTTP_BLOCKED"),
        ("postgresql://8.8.8.8/x", "HTTP_URL"),
        ("postgresql://u@8.8.8.8/x?hostaddr=127.0.0.1", "HTTP_URL"),
        ("postgresql://u@8.8.8.8/x?passfile=/etc/passwd", "HTTP_URL"),
        ("postgresql://u@8.8.8.8/x?sslkey=/etc/passwd", "HTTP_URL"),
        ("postgresql://u@8.8.8.8/x?service=s", "HTTP_URL"),
        ("postgresql://u@8.8.8.8:1,2/x", "HTTP_BLOCKED"),
        ("postgresql://u:se%ret@x", "HTTP_URL"),
    ],
)
def test_where_postgresql_may_be_on_a_shared_machine(house, url, code):
    """C-66: where HTTP may go, and in no other way."""
    pytest.importorskip("psycopg")
    house.shared = "all"
    house.register("connection", "c", type="postgresql", url=url)
    failure = house.failed(SQL, {"connection": "c", "query": "SELECT 1"}, timeout_ms=3000)
    assert failure.code == code and "se%ret" not in failure.message


def test_the_operator_may_list_a_database_inside(house):
    """C-66: `http.allow` is for databases too."""
    pytest.importorskip("psycopg")
    house.shared, house.settings["http.allow"] = "all", ["127.0.0.1:1"]
    house.register("connection", "c", type="postgresql", url="postgresql://u@127.0.0.1:1/x")
    assert house.failed(SQL, {"connection": "c", "query": "SELECT 1"}).code == "CONNECTION_LOST"


def test_services_without_a_store_are_as_they_were(tmp_path):
    services = Services(output_dir=tmp_path, input_dir=tmp_path)
    assert services.of("t") is services and TenantServices(Installation(), services).base is services
    assert not msgspec.structs.replace(services).path_policy.closed(tmp_path)


# ---- what the operator lends to whom ---------------------------------------------------------------------------------


def test_folders_for_one_tenant(house):
    """C-66: what is listed for one is another's no more than before; a wide folder does not hold the others'."""
    house.shared = "all"
    outside = base(house.input_dir / "o" / "o.db")
    (outside.parent / "r.json").write_text("[1]")
    query, read = {"connection": "c", "query": "SELECT * FROM t"}, {"connection": "f", "path": "r.json"}
    house.register("connection", "c", type="sqlite", path=str(outside))
    house.register("connection", "f", type="file", root=str(outside.parent))
    house.settings |= {f"tenants.u.{one}.roots": [str(outside.parent)] for one in ("sql", "file")}
    assert house.failed(SQL, query).code == house.failed(DATASET, read).code == "PATH_REFUSED"
    house.settings |= {f"tenants.t.{one}.roots": str(outside.parent) for one in ("sql", "file")}
    assert house.done(SQL, query).body == [] and house.done(DATASET, read).body == [1]
    theirs = base(house.store.parent / "tenants" / "u" / "files" / "x.db")
    (theirs.parent / "r.json").write_text('["canary"]')
    house.settings |= {f"tenants.t.{one}.roots": [str(house.input_dir)] for one in ("sql", "file")}
    house.register("connection", "c", type="sqlite", path=str(theirs))
    house.register("connection", "f", type="file", root=str(theirs.parent))
    assert house.failed(SQL, query).code == house.failed(DATASET, read).code == "PATH_REFUSED"


@pytest.mark.parametrize("shared", ["all", "others"])
def test_programs_for_one_tenant(house, shared):
    """W-4.4.1: in dev, too, nobody but the operator starts what is not listed."""
    house.shared = shared
    house.register("mcp_server", "m", transport="stdio", command=["/absent/program"], version="1.0.0")
    args = {"server": {"id": "m"}, "operation": {"type": "tool", "name": "x"}}
    house.settings["tenants.u.mcp.commands"] = ["/absent/program"]
    assert house.failed(MCP, args).code == "MCP_COMMAND"
    house.settings["tenants.t.mcp.commands"] = ["/absent/program"]
    assert house.failed(MCP, args).code == "MCP_ERROR", "it is started, and is not there"


def test_hosts_for_one_tenant(house):
    """C-66: an inner host that is listed for one."""
    house.shared = "all"
    house.settings["tenants.u.http.allow"] = ["127.0.0.1:1"]
    assert house.failed(HTTP, {"url": "http://127.0.0.1:1/"}).code == "HTTP_BLOCKED"
    house.settings["tenants.t.http.allow"] = ["127.0.0.1:1"]
    assert house.failed(HTTP, {"url": "http://127.0.0.1:1/"}).code == "CONNECTION_LOST"


OPERATORS = {"token": "canary-of-all", "vault:a#b": "canary-in-vault"}


def places(tmp_path: Path, shared: str, **settings: object) -> SecretPlaces:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "one").write_text("canary-in-file")
    known = {"secrets": OPERATORS, "secrets.folder": tmp_path / "keys", **settings}
    found = places_of(known, Installation(shared=shared, home="home").secret_grants(known))  # type: ignore[arg-type]
    found.environment = {"PENSTOCK_SECRET_TOKEN2": "canary-in-environment", "OTHER": "canary-registered"}
    return found


NAMES = ("token", "token2", "vault:a#b", "file:one", "env:PENSTOCK_SECRET_TOKEN2")


@pytest.mark.parametrize("shared", ["all", "others"])
def test_the_operators_secrets_are_lent_by_name(tmp_path, shared):
    """C-63, C-66: no tenant but the server's own gets one that the settings do not name for it, from whatever place."""
    lists = {"tenants.lucky.secrets": ["token", "file:one"], "tenants.rich.secrets": "*", "tenants.poor.secrets": []}
    found = places(tmp_path, shared, **lists)
    assert [found.find(name, None, "other") for name in NAMES] == [None] * len(NAMES)
    assert [found.find(name, None, "poor") for name in NAMES] == [None] * len(NAMES)
    assert [name for name in NAMES if found.find(name, None, "lucky")] == ["token", "file:one"]
    assert all(found.find(name, None, "home") and found.find(name, None, "rich") for name in NAMES)
    assert found.find("token", {"value": "own"}, "other") == "own"
    assert found.find("token", {"ref": "env:OTHER"}, "other") == "canary-registered", "the operator has registered it"
    assert found.own("token") == "canary-of-all"


def test_the_servers_own_tenant_can_be_kept_from_them(tmp_path):
    """C-63: an empty list is nothing, also at home."""
    found = places(tmp_path, "all", **{"tenants.home.secrets": []})
    assert [found.find(name, None, "home") for name in NAMES] == [None] * len(NAMES)


def test_on_ones_own_machine_every_tenant_is_the_operator(tmp_path):
    """C-63: the command line and programs keep what they have."""
    found = places(tmp_path, "none")
    assert all(found.find(name, None, "other") for name in NAMES)


def test_a_diagram_gets_the_tenants_secrets_and_not_the_operators(house):
    """C-63, C-66: what is named in a diagram is looked for where a workflow looks for it."""
    heard = Server(lambda seen: as_json({}))
    house.shared = "all"
    house.settings |= {"http.allow": ["127.0.0.1"], "secrets": dict(OPERATORS)}
    args = {"url": heard.url, "headers": {"X-Token": "${secrets.token}"}}
    assert house.failed(HTTP, args).code == "SECRET_NOT_FOUND"
    house.tenant.secrets["token"] = "own-token"
    house.done(HTTP, args)
    heard.close()
    assert [seen.headers["x-token"] for seen in heard.seen] == ["own-token"]


def test_the_operators_model_is_asked_with_the_operators_key_alone(house):
    """Z10: everybody may ask it; the key goes there and nowhere else, and no document can name it."""
    said = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "model": "m"}
    model = Server(lambda seen: as_json(said))
    house.shared = "all"
    house.settings |= {
        "llm.base_url": model.url, "llm.api_key": "${secrets.token}", "secrets": dict(OPERATORS),
        "http.allow": ["127.0.0.1"],
    }  # fmt: skip
    assert house.done(LLM, {"prompt": "?", "person": {"service": "openai"}}).body
    for person in ({"base_url": model.url}, {"api_key": "${secrets.token}"}):
        house.run(LLM, {"prompt": "?", "person": {"service": "openai", **person}})
    model.close()
    told = [seen.headers.get("authorization") for seen in model.seen]
    assert told[0] == "Bearer canary-of-all" and not any(told[1:])


# ---- names that mean another address a moment later ------------------------------------------------------------------


def test_a_queue_is_reached_at_the_address_that_was_checked(house, monkeypatch):
    """Z1: the client of SQS asks no resolver by itself."""
    pytest.importorskip("boto3")
    inside = Server(lambda seen: as_json({"QueueUrl": "http://127.0.0.1/q"}))
    resolver = Resolver(monkeypatch, rebind_test=[["127.0.0.2"], ["127.0.0.1"]])
    house.settings |= {"http.allow": ["127.0.0.2"], "http.ports": [inside.port]}
    house.tenant.secrets["aws"] = "KEY:WORD-1234"
    options = {"endpoint_url": f"http://rebind.test:{inside.port}"}
    house.register("connection", "aws", type="sqs", secret="aws", options=options)
    args = {"connection": "aws", "name": "orders", "max_wait_ms": 0}
    assert house.failed(STREAM, args).code == "CONNECTION_LOST", "nobody listens at the address that was checked"
    assert resolver.asked == ["rebind.test"]
    assert house.failed(STREAM, args).code == "HTTP_BLOCKED"
    inside.close()
    assert inside.seen == []


def test_a_broker_is_reached_at_the_address_that_was_checked(house, monkeypatch):
    """Z1: with TLS too."""
    pytest.importorskip("aiomqtt")
    resolver = Resolver(monkeypatch, rebind_test=[["127.0.0.2"], ["127.0.0.1"]])
    with socket.create_server(("127.0.0.1", 0)) as inside:
        inside.settimeout(0.3)
        house.settings["http.allow"] = ["127.0.0.2"]
        house.register("connection", "m", type="mqtt", url=f"mqtts://rebind.test:{inside.getsockname()[1]}")
        failure = house.failed(STREAM, {"connection": "m", "name": "x", "max_wait_ms": 0}, timeout_ms=20_000)
        with pytest.raises(TimeoutError):
            inside.accept()
    assert failure.code == "CONNECTION_LOST" and resolver.asked == ["rebind.test"]


@pytest.mark.parametrize("address", ["192.0.0.192", "168.63.129.16", "169.254.169.254", "100.100.100.200"])
def test_where_clouds_tell_machines_about_themselves(house, address):
    """Z1: some of these look like public addresses."""
    house.shared = "all"
    assert house.failed(HTTP, {"url": f"http://{address}/"}).code == "HTTP_BLOCKED"
