"""Starting runs: what is wrong is said before anything is started; the same key again is the same run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from penstock.app.engine import Engine
from penstock.app.metrics.logs import TRACE
from penstock.app.releases.documents import Release
from penstock.app.runs.commands.run_commands import RunCommands
from penstock.app.runs.queries import Queries
from penstock.app.runs.start_input import (
    checked_input,
    checked_tenant,
    deployed_options,
    is_split,
    run_options,
    with_used,
)
from penstock.errors import BadInput, KeyConflict
from penstock.host.embedded import ReplyWaiter
from penstock.host.start_requests import NO_RUN, Start, new_id
from penstock.kernel import command as C

#: names of environments: staging, production …
ENVIRONMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class StartRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the runs that are asked for have in common."""

    release: Release | str
    max_concurrent: int | None = None
    priority: int = 1000
    trigger: Mapping[str, Any] | None = None
    parent: str = ""
    modes: Mapping[str, str] | None = None  # P-X.40: activity → mode
    environment: str = ""  # C-82: whose deployed versions it uses; "": the tenant's own
    id: str = ""  # of the one run, where it is known before it is started
    used: Sequence[Mapping[str, str]] = ()  # the version of its definition, where one is rolled out


class RunStarter:
    """Of one door's tenant: here, or by the process that drives the store."""

    def __init__(self, engine: Engine, door: Queries, steering: RunCommands) -> None:
        self.engine, self.door, self.steering = engine, door, steering

    async def many(self, asked: StartRequest, inputs: Iterable[Any], keys: Iterable[str] | None) -> list[str]:
        given = list(inputs)
        named: list[str | None] = [None] * len(given) if keys is None else list(keys)
        if len(named) != len(given):
            raise BadInput(what="the keys", why=f"there are {len(named)} for {len(given)} runs")
        if keys is not None and len(set(named)) != len(named):
            raise BadInput(what="the keys", why="one of them is there twice")
        host, tenant, net, options = self.engine.driver(), self.door.tenant, 0, dict[str, Any]()
        number = self.door.nets.number_of(_hash(asked))
        if number is not None:
            await self.door.nets.prepare(number)
        new = 0
        for i, key in enumerate(named):
            net, options, given[i] = self._checked(asked, given[i], key)
            new += self._same_key(key, net, given[i]) is None
        if new:
            host.start_limits.check(tenant, asked.parent, new)
        self.engine.begin()
        waiter, ids = ReplyWaiter(len(given)), []
        for input, key in zip(given, named, strict=True):
            known = self._same_key(key, net, input)
            if known is None:
                run, more = self._of_run(asked, net, input, options)
                ids.append(
                    host.start(
                        net, input, key=key, tenant=tenant, options=more, priority=asked.priority, reply=waiter,
                        parent=asked.parent, trace=TRACE.get(), id=run or None,
                    )
                )  # fmt: skip
                continue
            ids.append(known)
            unborn = host.turns.starting.get((tenant, key or ""))
            if unborn is None:
                waiter(None)
            else:
                host.send(unborn.no, C.nudge(), waiter)  # it is in the store when this is done
        await self.engine.heard(waiter)
        return ids

    def soon(self, asked: StartRequest, input: Any, key: str | None) -> str:
        """Not waited for: it is started with the next turn here, or by whoever drives the store next."""
        net, options, input = self._checked(asked, input, key)
        known = self._same_key(key, net, input)
        if known is not None:
            return known
        host, tenant = self.engine.host, self.door.tenant
        if host is not None:
            host.start_limits.check(tenant, asked.parent)
        if host is not None and self.engine.task is not None:
            more: dict[str, Any] = {"priority": asked.priority, "parent": asked.parent, "trace": TRACE.get()}
            run, options = self._of_run(asked, net, input, options)
            return host.start(net, input, key=key, tenant=tenant, options=options, id=run or None, **more)
        start = self._left(asked, net, input, key, options)
        self.door.store.put_inbox(NO_RUN, msgspec.msgpack.encode(start), self.engine.now())
        return start.id

    def _left(self, asked: StartRequest, net: int, input: Any, key: str | None, options: dict[str, Any]) -> Start:
        run, options = self._of_run(asked, net, input, options)
        id, hash_ = run or new_id(self.engine.now()), self.door.hash_of(net)
        return Start(id, hash_, input, self.door.tenant, key, options, asked.priority, asked.parent, TRACE.get())

    def _of_run(self, asked: StartRequest, net: int, input: Any, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The run's id, where it says which version of the tenant's settings the run gets, and its options."""
        compiled, tenant = self.door.nets.get(net), self.engine.tenants().of(self.door.tenant)
        if not is_split(compiled, tenant, asked.environment):
            return asked.id, options
        run = asked.id or new_id(self.engine.now())
        return run, with_used(options, deployed_options(compiled, tenant, input, run, asked.environment))

    async def hand_in(self, asked: StartRequest, input: Any, key: str | None) -> str:
        net, options, input = self._checked(asked, input, key)
        known = self._same_key(key, net, input)
        if known is not None:
            await self.steering.wake_up(known)
            return known
        start = self._left(asked, net, input, key, options)
        await self.leave(start)
        return (self._same_key(key, net, input) or start.id) if key is not None else start.id

    async def leave(self, start: Start) -> None:
        await self.steering.leave(NO_RUN, msgspec.msgpack.encode(start), start.id)

    def _checked(self, asked: StartRequest, input: Any, key: str | None) -> tuple[int, dict[str, Any], Any]:
        """The number of the net, the run's options and its input; whatever is wrong with them is said here."""
        assert self.engine.nets is not None
        hash_ = _hash(asked)
        known = self.engine.nets.by_hash(hash_)
        if known is None:
            raise BadInput(what="the release", why=f"no net has the hash {hash_}")
        options: dict[str, Any] = {}
        if asked.max_concurrent is not None:
            if asked.max_concurrent < 1:
                raise BadInput(what="max_concurrent", why="at least one node must be able to run")
            options["limits"] = dict.fromkeys(known[1].limits or ("diagram",), asked.max_concurrent)
        checked_tenant(known[1].net, self.door.store, self.door.tenant)
        self.engine.runtime(known[1].net.language).check(known[1], self.door.tenant)
        options |= run_options(known[1], self.door.store, self.door.tenant)
        if asked.environment:
            if not ENVIRONMENT.fullmatch(asked.environment):
                why = "it is a name of up to 64 letters, digits, «_», «.» and «-»"
                raise BadInput(what="the environment", why=why)
            options["environment"] = asked.environment
        if asked.used:
            options["used"] = [dict(use) for use in asked.used]
        if asked.modes is not None:
            options["modes"] = dict(asked.modes)
        if asked.trigger is not None:
            options["trigger"] = dict(asked.trigger)
            if "replay_of" in asked.trigger:
                options["replay_of"] = asked.trigger["replay_of"]
        try:
            msgspec.msgpack.encode(input)
        except (TypeError, OverflowError, ValueError, RecursionError) as error:
            raise BadInput(what="the input", why=str(error)) from error
        if key == "":
            raise BadInput(what="the key", why="it is empty")
        return known[0], options, checked_input(known[1], input)

    def _same_key(self, key: str | None, net: int, input: Any) -> str | None:
        """The run that has the key already; it must be of this net and this input."""
        known = self._by_key(key) if key is not None else None
        if known is None:
            return None
        id, its_net, given = known
        if its_net != net or input is not None and input != given:
            raise KeyConflict(key=key, run=id)
        return id

    def _by_key(self, key: str) -> tuple[str, int, Any] | None:
        """The run with this key, its net and its input; it may have been started so lately that no row has it yet."""
        host = self.engine.host
        live = host.turns.starting.get((self.door.tenant, key)) if host is not None else None
        if live is not None:
            return live.id, live.net_no, live.commands[0][6]
        row = self.door.store.run_by_key(self.door.tenant, key)
        return None if row is None else (row.id, row.net, self.door.input_of(row))


def _hash(asked: StartRequest) -> str:
    return asked.release.hash if isinstance(asked.release, Release) else asked.release
