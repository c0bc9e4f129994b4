"""The seed's own workflows in a whole world: the sample tenant on a store of its own, real servers, a virtual clock.

What the workflows of 11.1 and 11.2 call is here and answers over sockets: Slack, SMS, the ticket system and the lab are
one HTTP server, mail is an SMTP server, the plant's rows lie in a database. Time moves only when a test moves it.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from penstock.app.deployments.rollouts import start_missing
from penstock.app.inbox import inbox, open_items
from penstock.app.own_api import answerer
from penstock.app.penstock import Penstock
from penstock.app.registry.registry import artifact, install_sample
from penstock.app.releases.releases import Releases
from penstock.app.releases.rolled_out import choose_version
from penstock.app.releases.triggers import prepare_with
from penstock.errors import PenstockError
from penstock.executors import ExecutorTable
from penstock.host.clock import ManualClock
from penstock.host.start_requests import ServingHost
from penstock.kernel.fact_lines import FactLine
from penstock.store.address import open_store
from penstock.store.contract import Store
from tests.conformance.decision.make import SEED
from tests.conformance.decision.make import document as small
from tests.conformance.decision.stores import FILES, Base
from tests.executors.bench import Seen, Server, as_json
from tests.host.decisions import TENANT
from tests.host.dying import Killed, Mortal
from tests.house.files import ROOT
from tests.servers.smtp import Mail, SmtpServer

EXAMPLES = ROOT / "examples" / "decision"
DEFECT, CCP = EXAMPLES / "defect_alert.json", EXAMPLES / "ccp_deviation.json"
MANAGER, ADMIN, OTHER = "manager@example.com", "admin@example.com", "qa@example.com"
T0 = int(datetime.datetime(2026, 3, 2, 1, 0, tzinfo=datetime.UTC).timestamp() * 1000)  # a Monday, 10:00 in Seoul
HOUR, MINUTE = 3_600_000, 60_000
PATIENCE_S = 60.0
#: the plant's rows that make 11.1 judge so; nothing at all is `unknown`
DEFECTS = {"critical": 0.08, "warning": 0.03, "normal": 0.004, "unknown": None}
#: and those of 11.2: the limits are 72 to 78
VALUES = {"critical": 90.0, "warning": 79.0, "normal": 75.0, "unknown": None}
PLANT = """
CREATE TABLE fact_daily_defect (line_id TEXT, date TEXT, defect_count INTEGER, defect_rate REAL);
CREATE TABLE fact_ccp (line_id TEXT, timestamp TEXT, ccp_id TEXT, value REAL, lower_limit REAL, upper_limit REAL);
CREATE TABLE quality_log (
  id INTEGER PRIMARY KEY, line_id TEXT, decision TEXT, confidence REAL, checked_at TEXT, idempotency_key TEXT UNIQUE);
"""


def block(section: str) -> str:
    """The one JSON block of a section of the seed, byte for byte."""
    text = SEED.read_text(encoding="utf-8")
    begins = text.index(f"### {section} ")
    begins = text.index("```json\n", begins) + len("```json\n")
    return text[begins : text.index("```", begins)]


def moment(ms: int) -> str:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


class Wire:
    """Everybody who is called. `answers` says what a place answers instead of what it usually does; `trouble` makes it
    fail so many times, or always."""

    def __init__(self) -> None:
        self.server, self.smtp = Server(self._answer), SmtpServer(self._refuse)
        self.answers: dict[str, Callable[[Seen], Any]] = {}
        self.trouble: dict[str, float] = {}
        self.hangs: set[str] = set()  # places that answer only when `going` is set
        self.said: list[tuple[str, int]] = []  # place, status, in the order of the answers
        self.going = threading.Event()

    def _answer(self, seen: Seen) -> Any:
        place = seen.path.strip("/")
        if place in self.hangs:
            self.going.wait(PATIENCE_S)
        if self.trouble.get(place, 0) > 0:
            self.trouble[place] -= 1
            said: Any = as_json({"error": "down"}, 503)
        elif place in self.answers:
            said = self.answers[place](seen)
        elif place == "lab":
            said = as_json({"id": f"S-{seen.json['line_id']}"}, 201)
        else:
            said = as_json({"ok": place})
        if isinstance(said, tuple):
            self.said.append((place, said[0]))
        return said

    def _refuse(self, stage: str, value: str) -> str | None:
        if "mail" in self.hangs:
            self.going.wait(PATIENCE_S)
        if stage == "DATA" and self.trouble.get("mail", 0) > 0:
            self.trouble["mail"] -= 1
            return "451 later"
        return None

    def to(self, place: str) -> list[Seen]:
        """Every call of a place, also of those that failed."""
        return [seen for seen in list(self.server.seen) if seen.path.strip("/") == place]

    def keys(self, place: str) -> list[str]:
        return [seen.headers["idempotency-key"] for seen in self.to(place)]

    def counts(self) -> dict[str, int]:
        """How many calls each place had."""
        found: dict[str, int] = {}
        for seen in list(self.server.seen):
            found[seen.path.strip("/")] = found.get(seen.path.strip("/"), 0) + 1
        return found

    def mails(self, subject: str = "") -> list[Mail]:
        return [mail for mail in self.smtp.mails if subject in str(mail.message["Subject"])]

    def forget(self) -> None:
        """Nobody was called yet, and everybody is well."""
        for held in (self.server.seen, self.smtp.mails, self.said, self.answers, self.trouble, self.hangs):
            held.clear()
        self.going.clear()

    def close(self) -> None:
        self.going.set()
        self.server.close()
        self.smtp.close()


class Door(Penstock):
    """A Penstock whose clock is the test's; the store may be one that dies."""

    def __init__(self, world: World, store: Store | None = None) -> None:
        super().__init__(world.path, settings=world.settings, output_dir=world.folder / "output")
        self.world, self._given = world, store

    def open(self) -> Door:
        engine = self._engine
        store = engine.store = self._given or open_store(self.path)
        engine.host = host = ServingHost(
            store, ExecutorTable(engine.executors), clock=self.world.clock, output_dir=self.world.folder / "output",
            settings=engine.settings(),
        )  # fmt: skip
        engine.nets = host.nets
        host.starter.prepare = prepare_with(store, host.nets, host.tenants)
        host.starter.choose = partial(choose_version, store, host.tenants)
        host.on_look = (partial(start_missing, host),)
        host.turns.on_facts.append(engine._on_facts)
        host.turns.on_end.append(lambda live: engine._wake(live.id))
        self.answer_own(answerer(self))
        self.switch_definitions(self._put_in_force)
        return self

    # -- waiting -------------------------------------------------------------------------------------------------------

    async def until(self, condition: Callable[[], Any], why: str = "") -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.raise_if_stopped()
            if isinstance(self._given, Mortal) and self._given.left < 0:
                raise Killed  # in a task that nobody waits for
            assert time.monotonic() < end, why or "it did not come about"
            await asyncio.sleep(0.002)

    async def quiet(self) -> None:
        """Nothing is to be done at this moment: no turn, no call on its way, no event, no notice."""
        host = self.host

        def still() -> bool:
            busy = host.turns.ready or host.dispatch.in_flight or host.intake.busy
            return not busy and not host.store.notices(self.world.clock.now(), 1)

        for _ in range(3):
            await self.until(still, "it does not come to rest")
            await asyncio.sleep(0.001)

    async def to(self, at: int) -> None:
        """Let time pass until then, through every moment at which a timer is due."""
        host, clock = self.host, self.world.clock
        while True:
            await self.quiet()
            due = self._due(at)
            clock.at = max(clock.at, min(due, default=at))
            host.wake_up()
            if not due:
                await self.quiet()
                return
            first = min(due)
            await self.until(lambda: not self._due(first), "a timer does not ring")  # noqa: B023 (it is awaited)

    def _due(self, at: int) -> list[int]:
        """When runs have something to do, up to then."""
        host = self.host
        near = [due for due in host.timers.due.values() if due <= at]
        return [due for _, due, _ in host.store.due(at, 1000)] + near

    async def later(self, ms: int) -> None:
        await self.to(self.world.clock.at + ms)

    # -- doing ---------------------------------------------------------------------------------------------------------

    async def run(self, document: Path, line: str = "L01", key: str | None = None) -> str:
        """Start one by hand and wait until it has ended, waits or backs off."""
        run = await self.start(self.release(document), {"line_id": line}, key=key)
        await self.quiet()
        return run

    async def play(self, nodes: list[dict[str, Any]], *ways: Any, given: Any = None, **top: Any) -> str:
        """The same with a small workflow, written as for the kernel's tests."""
        run = await self.start(self.release(json.dumps(small(nodes, ways, **top)).encode()), given)
        await self.quiet()
        return run

    async def decide(self, run: str, verdict: str = "approved", by: str = MANAGER, comment: str | None = None) -> None:
        item = open_items.find(self, run)
        await self.command(item.run, inbox.decision(self, item, verdict, by, comment))
        await self.quiet()

    def put_in_force(self, document: Path) -> None:
        versions = Releases(self, self.world.clock)
        row = versions.submit(document).release
        versions.approve(row.name, row.version)
        versions.activate(row.name, row.version)

    # -- looking -------------------------------------------------------------------------------------------------------

    def ran(self, run: str) -> dict[str, str]:
        """The author's nodes that were executed, and how they stand."""
        found: dict[str, str] = {}
        for one in self.view(run).firings:
            if one.node != "end" and one.type != "NOTIFY":  # the way out (C-12), and messages about an approval
                found[one.node] = one.status
        return found

    def moves(self, run: str) -> list[str]:
        """How the engine itself has moved it."""
        return [line.data["to"] for line in self.lines(run) if line.fact == "run.moved"]

    def life(self, run: str, of: str = "instance") -> list[str]:
        """Its statuses in the words of the seed's tables, one after the other."""
        return [one.to for one in self.history(run) if one.of == of and one.event != "node_complete"]

    def told(self, run: str, fact: str) -> list[FactLine]:
        return [line for line in self.lines(run) if line.fact == fact]

    def failure(self, run: str) -> tuple[str, str]:
        found = self.view(run).failure
        assert found is not None
        return found["code"], found["category"]


class World:
    """One store, and the things that its tenant has registered when it is first opened."""

    def __init__(self, folder: Path, wire: Wire, base: Base = FILES, path: Path | None = None) -> None:
        self.folder, self.wire, self.base = folder, wire, base
        self.path, self.clock = path or base.make(folder), ManualClock(T0)
        keys = {f"{what}.key_file": folder / f"store.{what}-key" for what in ("secrets", "checkpoint")}
        self.settings: dict[str, Any] = {"http.allow": ["127.0.0.1"], "sql.root": folder, **keys}
        self.things: dict[tuple[str, str], dict[str, Any]] = {}
        url = wire.server.url
        plant = {"type": "sqlite", "path": "plant.db", "options": {"tables": ["quality_log"]}}
        for name in ("postgres_main", "default_sql"):
            self.register("connection", name, **plant)
        self.register("connection", "default_api", type="http", base_url=url)
        self.register("connection", "default_sms", type="http", url=f"{url}/sms", options={"from": "15880000"})
        self.register("connection", "default_smtp", type="smtp", url=wire.smtp.url,
                      options={"from": "penstock@example.com", "starttls": False})  # fmt: skip
        self.register("channel", "slack", webhook_url=f"{url}/slack", channel="#quality-alerts")
        self.register("channel", "sms", to=["+82-10-0000-0000"])
        self.register("channel", "webhook", url=f"{url}/lab", method="POST")
        self.register("channel", "email", to=["quality@example.com"])
        self.register("secret", "jira_webhook", value=f"{url}/jira")
        self.register("template", "lab_sample_request", channel="webhook",
                      body={"line_id": "${input.line_id}", "reason": "${judgment_result.reasoning}"})  # fmt: skip

    def register(self, what: str, name: str, /, **body: Any) -> None:
        self.things[what, name] = body

    def sure(self, confidence: float) -> None:
        """The model agrees with the rules, whose own confidence is 0.75, and is so sure of it."""
        answer = {"decision": "critical", "confidence": confidence}
        self.register("connection", "default_llm", type="stub", options={"answer": answer})

    def plant(self, decision: str = "critical", lines: Iterable[str] = ("L01",)) -> World:
        """The rows by which both workflows come to a decision; yesterday's and last hour's do not count."""
        path = self.folder / "plant.db"
        path.unlink(missing_ok=True)
        rate, value, at = DEFECTS[decision], VALUES[decision], self.clock.at
        with contextlib.closing(sqlite3.connect(path)) as c:
            c.executescript(PLANT)
            for line in lines:
                old, very_old = moment(at - 90 * MINUTE), moment(at - 25 * HOUR)
                c.execute("INSERT INTO fact_daily_defect VALUES (?, ?, 99, 0.99)", (line, very_old))
                c.execute("INSERT INTO fact_ccp VALUES (?, ?, 'CCP-1', 200, 72, 78)", (line, old))
                if rate is not None:
                    c.execute("INSERT INTO fact_daily_defect VALUES (?, ?, 7, ?)", (line, moment(at - HOUR), rate))
                if value is not None:
                    now = moment(at - 10 * MINUTE)
                    c.execute("INSERT INTO fact_ccp VALUES (?, ?, 'CCP-1', ?, 72, 78)", (line, now, value))
            c.commit()
        return self

    def log(self) -> list[tuple[Any, ...]]:
        """What the plant's database was told."""
        with contextlib.closing(sqlite3.connect(self.folder / "plant.db")) as c:
            return c.execute("SELECT line_id, decision, confidence FROM quality_log").fetchall()

    def furnish(self) -> None:
        """A store that is born with the sample tenant, and then changed to what is registered here."""
        store = open_store(self.path)
        try:
            install_sample(store, self.folder, self.clock.at)
            store.put_artifacts(
                [artifact(TENANT, type, id, body, self.clock.at) for (type, id), body in self.things.items()]
            )
        finally:
            store.close()

    @contextlib.asynccontextmanager
    async def open(self, *, again: bool = False) -> AsyncIterator[Door]:
        """`again`: as it was left, nothing registered anew."""
        if not again:
            self.furnish()
        async with Door(self) as door:
            assert isinstance(door, Door)
            yield door

    def copy(self, folder: Path) -> World:
        """The same, at this moment, in another folder."""
        folder.mkdir()
        for file in self.folder.iterdir():
            if file.is_file():
                shutil.copy(file, folder / file.name)
        other = World(folder, self.wire, self.base, self.base.copy(self.path, folder))
        other.things, other.clock.at = dict(self.things), self.clock.at
        return other


def deaths(
    world: World, scene: Callable[[Door], Any], *, prepare: Callable[[], None], some: bool = False
) -> Iterator[World]:
    """The world as every death leaves it, from the first write on; the last time nobody dies. `prepare` is done before
    each; what the servers have heard until the death is kept. `some`: where a death is dear, only every third."""
    for at in range(0, 1000, world.base.every if some else 1):
        other = world.copy(world.folder / f"dies_at_{at}")
        world.wire.forget()
        prepare()
        store = world.base.dying(other.path, at)

        async def act(other: World = other, store: Any = store) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda loop, told: None)  # the dead say nothing
            door = Door(other, store).open()
            door.begin()
            await scene(door)
            await door.aclose()

        try:
            go(act())
        except (Killed, PenstockError):
            assert store.left < 0, "it fails by itself"
        dead = store.left < 0
        store.close()
        yield other
        world.base.drop(other.path)
        if not dead:
            assert at > 10, "nothing was written"
            return


def go(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))
