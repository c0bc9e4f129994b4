"""penstock pipeline watch: a folder whose files are processed as they come, driven in this process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.app.kept_buckets import keep_bucket
from penstock.app.language import Backgrounds
from penstock.app.own_modules import SETTING
from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define as define_pipeline
from penstock.app.pipeline.executions import Execution
from penstock.app.pipeline.intake.folder_pipeline import FolderPipeline, Moved
from penstock.app.pipeline.intake.watched_folders import SETTING as WATCH
from penstock.cli.drive import until_done
from penstock.cli.identity import identify
from penstock.cli.options import STORE, Json, Profile, SelectedTenant, Store
from penstock.cli.output import DONE, FAILED, INTERRUPTED, TONES, print_finding, print_json, say, status_text
from penstock.cli.serve import PORT, Port, serve_here
from penstock.cli.settings import read_settings
from penstock.errors import BadInput
from penstock.net.draw.marks import Tone

_LOOK_S = 0.25  # seconds between two looks at the folder
_SIGNS: dict[str | None, tuple[str, Tone]] = {
    None: ("·", "idle"), "STARTED": ("…", "moving"), "RUNNING": ("…", "moving"), "COMPLETED": ("✓", "done"),
    "FAILED": ("✗", "failed"), "TIMEOUT": ("✗", "failed"), "SKIPPED": ("–", "idle"),
}  # fmt: skip


def watch(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Files that are put here are processed.")],
    definition: Annotated[
        list[Path] | None,
        typer.Option("--definition", metavar="FILE", help="A pipeline to define before; may be repeated."),
    ] = None,
    processors: Annotated[
        list[str] | None,
        typer.Option(
            "--processors", metavar="FILE|MODULE", help="A module with processors of your own; may be repeated."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop when every file that is there was processed.")] = False,
    console: Annotated[
        bool, typer.Option("--console", help="Serve the console and the API beside it, on this machine only.")
    ] = False,
    port: Port = PORT,
    profile: Profile = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Process the files of a folder as they come. What was made of FILE lies in FILE.results beside it.

    Files that are still being written are left alone until they are whole. After a kill -9 the same command goes on
    where it was."""
    if not folder.is_dir():
        hint = f"Make it with mkdir {folder}." if not folder.exists() else ""
        raise BadInput(what=f"«{folder}»", why="it is no folder", hint=hint)
    watching = _Watching(folder.resolve(), definition or [], store, once=once, json=json, profile=profile)
    watching.modules = processors or []
    if console:
        return watching.serve(port)
    try:
        until_done(watching.work())
    except KeyboardInterrupt:
        watching.tell()
        return DONE if not once else INTERRUPTED
    watching.tell()
    return FAILED if any(look.status != "COMPLETED" for look in watching.ended.values()) else DONE


class _Watching:
    def __init__(
        self, folder: Path, definitions: list[Path], store: Path, *, once: bool, json: bool, profile: str | None
    ) -> None:
        self.folder, self.definitions, self.store = folder, definitions, store
        self.once, self.json, self.profile = once, json, profile
        self.bucket = ""
        self.ended: dict[str, Execution] = {}
        self.told: dict[str, tuple[str, ...]] = {}
        self.unmatched: list[str] = []
        self.modules: list[str] = []

    def _door(self, profile: str | None, **more: Any) -> Penstock:
        settings = read_settings(self.store) | more
        if self.modules:
            known = settings.get(SETTING) or []
            settings[SETTING] = [*([known] if isinstance(known, str) else known), *self.modules]
        return Penstock(self.store, settings=settings, profile=profile, tenant=SelectedTenant.tenant)

    def keep(self, profile: str | None) -> None:
        """Whoever drives the store after this process finds the folder, too."""
        looking = Penstock(self.store, drive=False, profile=profile).open()
        try:
            settings = read_settings(self.store)
            self.bucket = keep_bucket(looking.store, self.folder, SelectedTenant.tenant, settings, looking.now())
        finally:
            looking.close()

    def serve(self, port: int) -> int:
        """The same in a server: its console shows what is done with the files."""
        self.keep("dev")
        door = self._door("dev").open()
        try:
            for file in self.definitions:
                self._define(door, file)
        finally:
            door.close()
        say(("watching ", "bright_black"), str(self.folder), err=True)
        watched = {f"{WATCH}{self.bucket}": SelectedTenant.tenant}
        return serve_here(self._door("dev", **watched), self.store, port)

    async def work(self) -> None:
        self.keep(self.profile)
        async with self._door(self.profile) as door:
            codes = {self._define(door, file) for file in self.definitions}
            pipeline = FolderPipeline(door, self.folder, self.bucket, alone=len(codes) == 1)
            if not self.json:
                say(("watching ", "bright_black"), str(self.folder), (f"  store {self.store}", "bright_black"))
            beside = Backgrounds(door)
            beside.open()
            try:
                await self._watch(door, pipeline, beside)
            finally:
                await beside.close()

    async def _watch(self, door: Penstock, pipeline: FolderPipeline, beside: Backgrounds) -> None:
        looks = 0
        while not (self.once and looks > 1 and pipeline.idle and beside.idle):
            door.raise_if_stopped()
            try:
                moved = await pipeline.step()
            except OSError as error:
                why = f"the folder cannot be read: {error.strerror or error}"
                raise BadInput(what=f"«{self.folder}»", why=why) from error
            for each in moved:
                self._tell_moved(each)
            for key in pipeline.unmatched:
                self._tell_unmatched(key)
            pipeline.unmatched.clear()
            looks += 1
            await asyncio.sleep(_LOOK_S)

    def _define(self, door: Penstock, file: Path) -> str:
        submission = define_pipeline(door, file, by=identify(door, None, "pipeline.admin"))
        for finding in submission.findings if not self.json else ():
            print_finding(finding, file, err=True)
        return submission.release.name

    def _tell_moved(self, moved: Moved) -> None:
        look = moved.execution
        if moved.delivered is not None:
            self.ended[look.execution_id] = look
        now = (look.status, moved.trouble, *(str(stage.status) for stage in look.stages))
        if self.told.get(look.execution_id) == now or self.json:
            return
        self.told[look.execution_id] = now
        print_line(look)
        if moved.trouble:
            say(("  its results are not delivered yet: ", TONES["held"]), moved.trouble)
        if moved.delivered is not None:
            del self.told[look.execution_id]

    def _tell_unmatched(self, key: str) -> None:
        self.unmatched.append(key)
        if not self.json:
            say((key, "bold"), ("  no pipeline takes it", "bright_black"))

    def tell(self) -> None:
        if self.json:
            ended = [
                {"executionId": look.execution_id, "status": look.status, "key": look.file.key if look.file else None}
                for look in self.ended.values()
            ]
            print_json({"ended": ended, "unmatched": self.unmatched})


def print_line(look: Execution) -> None:
    """One line of an execution: its file, its status, its stages."""
    key = look.file.key if look.file is not None else ""
    parts: list[str | tuple[str, str]] = [(look.execution_id, "bright_black"), f"  {key}  ", status_text(look.status)]
    for stage in look.stages:
        sign, tone = _SIGNS[stage.status]
        parts.append((f"  {sign} {stage.stage_code}", TONES[tone]))
    if look.error is not None:
        parts.append((f"  {look.error.code}", TONES["failed"]))
    say(*parts)
