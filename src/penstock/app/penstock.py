"""Penstock: the one door. Release, start, signal, respond, wait, view; command line and servers come through here."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from penstock.app.language import app_languages
from penstock.app.own_api import answerer
from penstock.app.releases.documents import Release
from penstock.app.releases.triggers import EventReceipt
from penstock.app.runs.run_view import RunView
from penstock.app.runs.runs import Runs
from penstock.store.address import DEFAULT_STORE

if TYPE_CHECKING:  # what runs do not need is imported when it is asked for: a command is quick
    from penstock.app.access.candidates import Who
    from penstock.app.decision.dead_letters import DeadLetter
    from penstock.app.decision.judgments import Judgment
    from penstock.app.deployments.deployments import Deployments
    from penstock.app.inbox.inbox import Inbox
    from penstock.app.jobs.jobs import Jobs
    from penstock.app.releases.releases import Releases
    from penstock.app.releases.schedules import TenantSchedules


class Penstock(Runs):
    """One store and, while it is open, the engine that drives its runs; for one tenant, `of` is for another.

    `drive=False` opens the store for looking and for leaving commands to the process that drives it. `alone` drives
    only the runs that are started, asked for with `go_on` or sent a command here; the others in the store stay as
    they are. `shared` says which tenants are not the operator of this machine: «all» or «others» than the default one.
    They have folders of their own beside the store. `speed` lets time go so many times as fast, for demos. `clock` and
    `executor_table` take the place of the machine's time and of the built-in executors, and with a `seed` the ids of
    runs are the same every time: see `penstock.testing`.
    """

    def open(self) -> Self:
        """Open the store; what runs ask of this program itself is answered from now on, served or not."""
        super().open()
        self.answer_own(answerer(self))
        self.switch_definitions(self._put_in_force)
        return self

    def _put_in_force(self, tenant: str, name: str, version: str) -> None:
        from penstock.app.deployments.definitions import put_in_force

        put_in_force(self.of(tenant), name, version)

    @property
    def deployments(self) -> Deployments:
        """What is rolled out: look, begin, pause, promote, take back."""
        from penstock.app.deployments.deployments import Deployments

        return Deployments(self)

    @property
    def releases(self) -> Releases:
        """Versions of workflows: submit, approve, activate, compare."""
        from penstock.app.releases.releases import Releases

        return Releases(self)

    @property
    def schedules(self) -> TenantSchedules:
        """What starts by the clock: list, pause, fire."""
        from penstock.app.releases.schedules import TenantSchedules

        return TenantSchedules(self)

    @property
    def jobs(self) -> Jobs:
        """What workers outside do: take, extend, answer."""
        from penstock.app.jobs.jobs import Jobs

        return Jobs(self)

    @property
    def inbox(self) -> Inbox:
        """What waits for people, and their decisions."""
        from penstock.app.inbox.inbox import Inbox

        return Inbox(self)

    def judgments(
        self, *, since: int = 0, reviews: bool = False, name: str | None = None, limit: int = 100
    ) -> list[Judgment]:
        """Verdicts, newest first; `reviews`: those that a person should look at."""
        from penstock.app.decision.judgments import judgments

        return judgments(self.store, self.tenant, since=since, reviews=reviews, name=name, limit=limit)

    def letters(self, *, name: str | None = None, since: int = 0, limit: int = 100) -> list[DeadLetter]:
        """Runs that ended badly, newest first; of one document if asked for."""
        from penstock.app.decision.dead_letters import letters

        return letters(self, name=name, since=since, limit=limit)

    async def replay_letter(
        self, run: str, release: Release | str | None = None, *, key: str | None = None
    ) -> str:  # fmt: skip
        """Start a run that ended badly again with its input, of the same net or of a release that mends it; its id.
        The same key again is the same replay."""
        from penstock.app.decision.dead_letters import replay

        return await replay(self, run, release, key)

    async def send_event(
        self, source: str, payload: Any = None, *, id: str | None = None, by: Who | None = None
    ) -> EventReceipt:
        """News for whoever it concerns: it is stored, resumes the runs that wait for it, and starts those that it is
        the trigger of. The same id again changes nothing. Without a driver here it waits a while for the one that
        there is; the receipt says whether it was delivered. PROCESS_DISCOVERED brings a model, which is imported
        and has `by` as its author."""
        imported = list[str]()
        bringing = [language for language in app_languages() if language.brings(source)]
        if bringing and (id is None or self.store.event(self.tenant, id) is None):
            for language in bringing:
                imported += await language.received(self, source, payload, by)
        receipt = await self._commands.send_event(source, payload, id)
        return replace(receipt, imported=imported) if imported else receipt

    # -- replaced names ------------------------------------------------------------------------------------------------

    def furnish(self) -> None:
        """Deprecated: use `load_sample`."""
        warnings.warn("Penstock.furnish is called load_sample now", DeprecationWarning, stacklevel=2)
        self.load_sample()

    def look(self, run: str) -> RunView:
        """Deprecated: use `view`."""
        warnings.warn("Penstock.look is called view now", DeprecationWarning, stacklevel=2)
        return self.view(run)


__all__ = ["DEFAULT_STORE", "Penstock", "Release"]
