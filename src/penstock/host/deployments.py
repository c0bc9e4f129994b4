"""Deployments of one tenant: they are begun, looked at, moved and taken back here, and nowhere else.

Every move is a compare-and-set of one row, with its event, in one commit: whoever comes second sees what has happened
and decides again. So a rollout that is killed at any moment, and one that two people move at once, has one history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from penstock.errors import DeploymentError, NoPreviousVersion, NotInForceBefore, VersionMissing
from penstock.executors.parts.rollout.assessment import assess
from penstock.executors.parts.rollout.model import (
    Artifact,
    Deployment,
    DeploymentRequest,
    Scope,
    Target,
    VersionMetrics,
)
from penstock.executors.parts.rollout.stages import next_look_at, progress_of, stage_begins_at, stage_ends_at, stages_of
from penstock.host.deployment_rows import deployment_id, deployment_of, event_row, row_of
from penstock.host.deployment_scope import check_scope, record_version
from penstock.host.deployment_versions import DeploymentVersions
from penstock.lifecycle.deployment import DEPLOYMENT as LIFE
from penstock.store.deployments import DeploymentEventRow, moved

_TRIES = 20  # somebody else has moved it meanwhile: it is looked at anew so often


class TenantDeployments(DeploymentVersions):
    """All of it is synchronous, and needs no engine that drives the store."""

    # -- beginning -----------------------------------------------------------------------------------------------------

    def begin(
        self, asked: DeploymentRequest, *, key: str, at: int, run: str = "", node: str = "", by: str = ""
    ) -> Deployment:
        """The first stage is live when this returns. The same key again is the same deployment."""
        known = self.find(deployment_id(self.tenant.id, key))
        if known is not None:
            return known
        deployment = self._new(asked, key, at, run=run, node=node, by=by)
        return self._put(deployment, [event_row(deployment, "begin", at, _opening(deployment))])

    def _new(
        self, asked: DeploymentRequest, key: str, at: int, *, run: str, node: str, by: str, before: bool = False
    ) -> Deployment:
        """`before`: the version may be one that was in force before, and is deprecated."""
        lines, warnings = check_scope(self.tenant, asked.target.scope)
        type, name = asked.artifact.type, asked.artifact.id
        version = self._version(asked.artifact, None if before else at)
        environment = asked.target.environment or self.tenant.environment
        if asked.rollback is not None and asked.rollback.to_version == "specific":
            if self._version(Artifact(type, name, _specific(asked))) == version:
                raise DeploymentError(why=f"«specific_version» is {version}, which is what would be taken back")
        stages = stages_of(asked.strategy, lines if lines is not None else self.tenant.artifact_versions.lines())
        previous = self._before(type, name, version, environment, lines)
        first = stages[0]
        deployment = Deployment(
            id=deployment_id(self.tenant.id, key), tenant=self.tenant.id, artifact_type=type, artifact_id=name,
            version=version, previous_version=previous, environment=environment, lines=lines, request=asked,
            status=LIFE.initial, percent=first.percent, progress=progress_of(stages, 0), stage=0, stages=stages,
            live_lines=None if first.lines is None else list(first.lines), number=1, run=run or None,
            node=node or None, rollout=None, by=by or None, reason=asked.reason or None, to_version=None, began_at=at,
            stage_at=at, next_at=None, paused_at=None, ended_at=None, warnings=warnings,
        )  # fmt: skip
        return replace(deployment, next_at=next_look_at(deployment, at))

    def switch(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None, version: str, at: int,
        key: str, by: str = "", run: str = "", node: str = "", reason: str = "",
        others: Mapping[str, list[str]] | None = None,
    ) -> Deployment:  # fmt: skip
        """To a version in a scope at once, as ROLLBACK does: a layer of its own, on top. The deployment that was in
        force in just this scope is rolled back by it. `others`: lines that get another version."""
        environment = environment or self.tenant.environment
        known = self.find(deployment_id(self.tenant.id, key))
        if known is None:
            over = self.live(type, id, environment=environment, lines=lines)
            replaced = over.id if over is not None and over.lines == lines else ""
            scope = Scope(line_ids=lines)
            asked = DeploymentRequest(
                artifact=Artifact(type, id, version),  # type: ignore[arg-type]  # checked by the caller's shape
                target=Target(environment, scope), reason=reason, replaces=replaced, others=dict(others or {}),
            )  # fmt: skip
            known = self._new(asked, key, at, run=run, node=node, by=by, before=True)
            known = self._put_completed(known, at, by)
        self.record(known, at)
        if known.request.replaces:
            self._replaced(known.request.replaces, known.version, at, by, reason)
        for other, some in known.request.others.items():
            self.switch(
                type, id, environment=environment, lines=some, version=other, at=at, key=f"{key}/{other}", by=by,
                run=run, node=node, reason=reason,
            )  # fmt: skip
        return known

    def _replaced(self, id: str, version: str, at: int, by: str, reason: str) -> None:
        """It lies beneath what has just been switched to."""
        for _ in range(_TRIES):
            was = self.get(id)
            if was.status == "rolled_back":
                return
            try:
                self._back(was, version, False, at, by, reason)
                return
            except _MovedMeanwhile:
                continue

    # -- moving --------------------------------------------------------------------------------------------------------

    def attach(self, id: str, run: str) -> Deployment:
        """Its rollout is this run."""
        return self._moved(id, lambda was: None if was.rollout == run else {"rollout": run})

    def advance(self, id: str, *, at: int, healthy: bool | None = None, problems: str = "") -> Deployment:
        """Look at the clock and the metrics, and do what they lead to: as many stages as are over. One that is paused
        can only be taken back, and nothing happens to one that has ended. `needs_check` of the answer: say whether the
        new version is healthy."""
        while True:
            deployment = self.get(id)
            if deployment.ended:
                return deployment
            obsolete = self._obsolete(deployment)
            if obsolete:
                try:
                    return self._failed(deployment, at, obsolete, percent=0)
                except _MovedMeanwhile:
                    continue
            metrics = self._metrics.of(deployment, None, at + 1)
            new = next((item for item in metrics if item.version == deployment.version), None)
            found = assess(
                deployment, new or VersionMetrics(deployment.version), at, healthy=healthy, problems=problems
            )
            looked = replace(deployment, checks=found.checks, warnings=_joined(deployment.warnings, found.warnings))
            if found.what == "verify":
                return replace(looked, needs_check=True, next_at=at)
            try:
                if found.what == "wait":
                    return self._waits(looked, at)
                if found.what == "roll_back":
                    return self._taken_back(looked, at, found.reason, metrics)
                if found.what == "fail":
                    return self._failed(looked, at, found.reason, metrics)
                if found.what == "complete":
                    return self._complete(looked, at, "", metrics)
                self._next(looked, "advance", stage_begins_at(deployment, at), at, "", metrics)
            except _MovedMeanwhile:
                continue
            healthy = None  # it was said of the stage that is over

    def _obsolete(self, deployment: Deployment) -> str:
        """Why it goes no further, whatever it shows: everybody has something later, or nobody may use it any more."""
        later = self._covered_by(deployment)
        if later is not None:
            return f"superseded by {later}"
        d = deployment
        try:
            self.tenant.artifact_versions.checked(d.artifact_type, d.artifact_id, d.version, since=d.began_at)
        except DeploymentError as withdrawn:
            return f"withdrawn: {withdrawn}"
        return ""

    def _waits(self, looked: Deployment, at: int) -> Deployment:
        due = next_look_at(looked, at)
        return self._change(looked, next_at=due, checks=looked.checks, warnings=looked.warnings)

    def pause(self, id: str, *, at: int, by: str = "", reason: str = "") -> Deployment:
        """The share stays, and no stage follows; what takes it back by itself still does."""

        def holds(was: Deployment) -> dict[str, Any]:
            return {"paused_at": at, "next_at": next_look_at(replace(was, status="paused"), at)}

        return self._by_hand(id, "pause", at, by, reason, holds)

    def resume(self, id: str, *, at: int, by: str = "", reason: str = "") -> Deployment:
        """What was left of the stage is waited for."""

        def goes_on(was: Deployment) -> dict[str, Any]:
            stage_at = was.stage_at + (at - (was.paused_at or at))
            due = next_look_at(replace(was, stage_at=stage_at, status="in_progress"), at)
            return {"paused_at": None, "stage_at": stage_at, "next_at": due}

        return self._by_hand(id, "resume", at, by, reason, goes_on)

    def promote(self, id: str, *, at: int, by: str = "", reason: str = "") -> Deployment:
        """The next stage now, whatever the criteria; after the last one it has succeeded. Where the health of the new
        version is to be checked first, that is what comes now: `needs_check`."""
        for _ in range(_TRIES):
            was = self.get(id)
            LIFE.next(was.status, "promote")
            obsolete = self._obsolete(was)
            try:
                if obsolete:
                    return self._failed(was, at, obsolete, percent=0)
                if was.stages[was.stage].check:
                    return self._check_now(was, at, by, reason)
                if was.stage == len(was.stages) - 1:
                    return self._complete(was, at, by, text=reason)
                deployment = self._next(was, "promote", at, at, by, text=reason)
                last = deployment.stage == len(deployment.stages) - 1
                return self.advance(id, at=at) if last else deployment
            except _MovedMeanwhile:
                continue
        raise DeploymentError(why=f"others move «{id}» all the time")

    def _check_now(self, was: Deployment, at: int, by: str, reason: str) -> Deployment:
        """The stage is over; what follows is the check."""
        over_at = at - (stage_ends_at(was) - was.stage_at)
        after = replace(was, status=LIFE.next(was.status, "promote"), stage_at=over_at, next_at=at, paused_at=None)
        return replace(self._write(was, after, "promote", at, by, reason), needs_check=True)

    def roll_back(
        self, id: str, *, at: int, by: str = "", reason: str = "", to_version: str | None = None, key: str = ""
    ) -> Deployment:
        """What lies beneath applies again, or a version that was in force before it. What was rolled back already stays
        as it is. `key`: of the effect that takes it back, see `taken_back_by`."""
        for _ in range(_TRIES):
            was = self.get(id)
            if was.status == "rolled_back":
                return was
            LIFE.next(was.status, "roll_back")
            target = self._specific_target(was) if to_version is None else self._asked_target(was, to_version)
            try:
                return self._to(was, target, at, by, reason, key=key)
            except _MovedMeanwhile:
                continue
        raise DeploymentError(why=f"others move «{id}» all the time")

    def fail(self, id: str, *, at: int, reason: str) -> Deployment:
        """It goes no further; the share stays as it is."""
        for _ in range(_TRIES):
            was = self.get(id)
            if was.ended:
                return was
            try:
                return self._failed(was, at, reason)
            except _MovedMeanwhile:
                continue
        raise DeploymentError(why=f"others move «{id}» all the time")

    # -- moves, one each -----------------------------------------------------------------------------------------------

    def _next(
        self, was: Deployment, event: str, begins_at: int, at: int, by: str,
        metrics: list[VersionMetrics] | None = None, text: str = "",
    ) -> Deployment:  # fmt: skip
        number = was.stage + 1
        stage = was.stages[number]
        after = replace(
            was, status=LIFE.next(was.status, event), stage=number, stage_at=begins_at, percent=stage.percent,
            progress=progress_of(was.stages, number), live_lines=None if stage.lines is None else list(stage.lines),
            paused_at=None,
        )  # fmt: skip
        after = replace(after, next_at=next_look_at(after, at))
        where = f" of {', '.join(stage.lines)}" if stage.lines is not None else ""
        return self._write(was, after, event, at, by, text or f"{stage.percent} %{where}", metrics)

    def _complete(
        self, was: Deployment, at: int, by: str, metrics: list[VersionMetrics] | None = None, text: str = ""
    ) -> Deployment:
        done = self._write(was, _completed(was, at), "complete", at, by, text or _in_force(was), metrics)
        self.record(done, at)
        return done

    def record(self, deployment: Deployment, at: int) -> None:
        """W-4.11.5: the AAS registry says of each line in its scope what is in force there. Again, after a crash, it
        writes what is missing."""
        record_version(self.tenant, deployment, at)

    def _failed(
        self, was: Deployment, at: int, reason: str, metrics: list[VersionMetrics] | None = None,
        percent: int | None = None,
    ) -> Deployment:  # fmt: skip
        after = replace(
            was, status=LIFE.next(was.status, "fail"), reason=reason, ended_at=at, next_at=None, paused_at=None,
            percent=was.percent if percent is None else percent,
        )  # fmt: skip
        return self._write(was, after, "fail", at, "", reason, metrics)

    def _taken_back(self, was: Deployment, at: int, reason: str, metrics: list[VersionMetrics]) -> Deployment:
        """By itself; where there is nothing to go back to it has failed, and has no share all the same."""
        try:
            return self._to(was, self._specific_target(was), at, "", reason, metrics)
        except NoPreviousVersion as error:
            left = self._left_without(was)
            said = f"{reason} {error}" + (f" What applies now is {left}." if left else "")
            return self._failed(was, at, said, metrics, percent=0)

    def _specific_target(self, was: Deployment) -> str | None:
        """The version that the deployment itself names, as long as it can be used."""
        asked = was.request
        if asked.rollback is None or asked.rollback.to_version != "specific":
            return None
        version = _specific(asked)
        return version if self.tenant.artifact_versions.works(was.artifact_type, was.artifact_id, version) else None

    def _asked_target(self, was: Deployment, to_version: str) -> str:
        """Nobody gets by a rollback what only a deployment may bring."""
        type, id = was.artifact_type, was.artifact_id
        version = self.tenant.artifact_versions.checked(type, id, to_version)
        named = self._specific_target(was)
        if version != named and version not in self._in_force_before(was):
            raise NotInForceBefore(type=type, id=id, version=version, own=was.version)
        return version

    def _to(
        self, was: Deployment, target: str | None, at: int, by: str, reason: str,
        metrics: list[VersionMetrics] | None = None, key: str = "",
    ) -> Deployment:  # fmt: skip
        """Its share is gone, and what lies beneath shows. Where that is not the version that is wanted, that takes its
        place."""
        shown = self._shown_without(was)
        if target is not None:
            pinned = any(shown.get(line) != target for line in self.lines_of(was.lines))
            return self._back(was, target, pinned, at, by, reason, metrics, key)
        if not shown:
            raise NoPreviousVersion(type=was.artifact_type, id=was.artifact_id, version=was.version)
        return self._back(was, next(iter(shown.values())), False, at, by, reason, metrics, key)

    def _back(
        self, was: Deployment, to: str, pinned: bool, at: int, by: str, reason: str,
        metrics: list[VersionMetrics] | None = None, key: str = "",
    ) -> Deployment:  # fmt: skip
        after = replace(
            was, status=LIFE.next(was.status, "roll_back"), percent=0, progress=0, live_lines=None,
            reason=reason or None, to_version=to, ended_at=at, next_at=None, paused_at=None,
        )  # fmt: skip
        text = reason or f"Back to {to}."
        done = self._write(was, after, "roll_back", at, by, text, metrics, pinned=int(pinned), key=key)
        self.record(done, at)
        return done

    def _by_hand(
        self, id: str, event: str, at: int, by: str, reason: str, changes: Callable[[Deployment], dict[str, Any]]
    ) -> Deployment:
        for _ in range(_TRIES):
            was = self.get(id)
            after = replace(was, status=LIFE.next(was.status, event), **changes(was))
            try:
                return self._write(was, after, event, at, by, reason)
            except _MovedMeanwhile:
                continue
        raise DeploymentError(why=f"others move «{id}» all the time")

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _put(self, deployment: Deployment, events: list[DeploymentEventRow]) -> Deployment:
        kept = self.store.put_deployment(row_of(deployment), events)
        self.tenant.refresh()
        return deployment_of(kept)

    def _put_completed(self, begun: Deployment, at: int, by: str) -> Deployment:
        """Begun and ended in one commit: killed in between, it would be a rollout that nobody asked for."""
        done = _completed(replace(begun, number=2), at)
        events = [event_row(begun, "begin", at, _opening(begun)), event_row(done, "complete", at, _in_force(done), by)]
        return self._put(done, events)

    def _write(
        self, was: Deployment, after: Deployment, event: str, at: int, by: str, text: str,
        metrics: list[VersionMetrics] | None = None, pinned: int = 0, key: str = "",
    ) -> Deployment:  # fmt: skip
        after = replace(after, number=was.number + 1)
        row = replace(row_of(after), pinned=pinned)
        if not self.store.move_deployment(row, was.number, event_row(after, event, at, text, by, metrics, key)):
            raise _MovedMeanwhile
        self.tenant.refresh()
        return after

    def _change(self, was: Deployment, **changes: Any) -> Deployment:
        """Something that nobody's version depends on."""
        stored = self.store.deployment(self.tenant.id, was.id)
        if stored is None or stored.number != was.number:
            raise _MovedMeanwhile
        after = replace(was, **changes)
        row = replace(row_of(after), pinned=stored.pinned, rank=stored.rank)
        if row == stored:
            return after
        row = moved(row)
        if not self.store.move_deployment(row, was.number):
            raise _MovedMeanwhile
        return replace(after, number=row.number)

    def _moved(self, id: str, changes: Callable[[Deployment], dict[str, Any] | None]) -> Deployment:
        for _ in range(_TRIES):
            was = self.get(id)
            wanted = changes(was)
            try:
                return was if wanted is None else self._change(was, **wanted)
            except _MovedMeanwhile:
                continue
        raise DeploymentError(why=f"others move «{id}» all the time")


class _MovedMeanwhile(Exception):
    """Somebody else has moved it between the look and the move."""


def _completed(was: Deployment, at: int) -> Deployment:
    status = LIFE.next(was.status, "complete")
    return replace(was, status=status, progress=100, ended_at=at, next_at=None, paused_at=None)


def _opening(deployment: Deployment) -> str:
    d = deployment
    return f"{d.artifact_type} {d.artifact_id} {d.version} → {d.environment}: {d.percent} %"


def _in_force(deployment: Deployment) -> str:
    return f"{deployment.version} is in force."


def _specific(asked: DeploymentRequest) -> str:
    wanted = asked.rollback.specific_version if asked.rollback is not None else None
    if wanted is None:
        raise VersionMissing(type=asked.artifact.type, id=asked.artifact.id, version="(specific_version)")
    return str(wanted)


def _joined(*lists: list[str]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))
