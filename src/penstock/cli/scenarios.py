"""The command that plays scenario files in virtual time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from penstock.app.own_modules import SETTING as OWN_MODULES
from penstock.app.own_modules import import_modules
from penstock.cli.options import Json
from penstock.cli.output import DONE, FAILED, TONES, WRONG, finding_json, print_finding, print_json, say
from penstock.errors import BadInput, DocumentInvalid, Finding, PenstockError, Place

if TYPE_CHECKING:
    from penstock.testing.scenario import ScenarioResult

ENDING = ".scenario.yaml"
_MOST_FILES = 10_000
_UNREAD = "Nothing of it was played."


def play_files(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE…", help="Scenario files, or folders that are searched for *.scenario.yaml."),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="TEXT", help="Only scenarios that have this in their name.")
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Write the snapshots of timelines anew.")] = False,
    junit: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the results as JUnit XML, too.")
    ] = None,
    module: Annotated[
        list[str] | None,
        typer.Option("--module", metavar="NAME", help="Import this first: a module or FILE.py with types of your own."),
    ] = None,
    real: Annotated[
        bool, typer.Option("--real", help="Let what a file calls `real` reach the world: databases, models, programs.")
    ] = False,
    timeline: Annotated[bool, typer.Option("--timeline", help="Show the timeline of every scenario.")] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files, for editors, and stop.")
    ] = False,
    json: Json = False,
) -> int:
    """Play scenarios: how a document goes, told as given, when, then, after 2h. No time passes but virtual time.

    Each has a store of its own that is thrown away, and nothing reaches the world: stubs answer, messages are recorded.
    Exit codes: 0 all as expected, 2 a file is wrong, 3 something was not as expected."""
    if schema:
        from penstock.testing.scenario.schema import schema_text

        print(schema_text(), end="")
        return DONE
    import_modules({OWN_MODULES: module or []})
    session = _Session(only or "", update=update, real=real, timeline=timeline, json=json)
    began = time.perf_counter()
    try:
        for file in _files(files or []):
            session.play(file)
    finally:
        session.close()
    if junit is not None:
        session.write_junit(junit)
    return session.finish(time.perf_counter() - began)


test = play_files


def _files(given: list[Path]) -> Iterator[Path]:
    """Each once; of a folder all below it. Raises BadInput."""
    if not given:
        hint = "For example: penstock test examples"
        raise BadInput(what="the call", why="it names no scenario file and no folder", hint=hint)
    seen: set[Path] = set()
    for path in given:
        files = sorted(path.rglob(f"*{ENDING}")) if path.is_dir() else [path]
        if not files:
            raise BadInput(what=f"«{path}»", why=f"no file in it ends with {ENDING}")
        for file in files[:_MOST_FILES]:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield file


class _Session:
    """What was played, and what it came to."""

    def __init__(self, only: str, *, update: bool, real: bool, timeline: bool, json: bool) -> None:
        self.only, self.update, self.real, self.timeline, self.json = only, update, real, timeline, json
        self.results: list[ScenarioResult] = []
        self.unread: list[tuple[Path, list[Finding]]] = []
        self.warnings: list[tuple[Path, Finding]] = []

    def close(self) -> None:
        """Nothing is left on the machine, however the process ends."""
        from penstock.testing.stores import drop_templates

        drop_templates()

    def play(self, file: Path) -> None:
        from penstock.testing.scenario import play, read_scenarios

        try:
            read = read_scenarios(file, real=self.real)
        except DocumentInvalid as error:
            self._refuse(file, error.findings)
            return
        except PenstockError as error:
            where = error.facts.get("where")
            place = where if isinstance(where, Place) else Place()
            hint = str(error.facts.get("hint") or error.hint)
            self._refuse(file, [Finding(error.code, "error", str(error), place, hint)])
            return
        except Exception as error:  # a fault of ours: other files are still played
            message, hint = f"{type(error).__name__}: {error}", "Please report it, with the file."
            self._refuse(file, [Finding(PenstockError.code, "error", message, Place(), hint)])
            return
        self._warn(file, read.warnings)
        for scenario in read.scenarios:
            if self.only in scenario.name:
                result = asyncio.run(play(read, scenario, update=self.update))
                self.results.append(result)
                if not self.json:
                    self._print(result)

    def _warn(self, file: Path, findings: list[Finding]) -> None:
        self.warnings += [(file, finding) for finding in findings]
        if not self.json:
            for finding in findings:
                print_finding(finding, file)

    def _refuse(self, file: Path, findings: list[Finding]) -> None:
        self.unread.append((file, findings))
        if not self.json:
            for finding in findings:
                print_finding(finding, file)
            say((f"{file}: ", "bold"), ("wrong", TONES["failed"]), f"  {_UNREAD}")

    def _print(self, result: ScenarioResult) -> None:
        from penstock.app.durations import duration_words

        mark, tone = ("✓", TONES["done"]) if result.ok else ("✗", TONES["failed"])
        spans = f"  {duration_words(result.virtual_ms)} in {result.wall_s * 1000:.0f} ms"
        say((mark, tone), " ", (result.name, "bold"), (f"  {result.file}:{result.line}{spans}", "bright_black"))
        for problem in result.problems:
            place = f"{result.file}:{problem.where.line}:{problem.where.column}"
            say(("  " + place, "bold"), "" if problem.rule == "expected" else f"  {problem.rule}")
            for line in problem.message.splitlines():
                say(f"    {line}")
            if problem.hint:
                say(("    hint: ", "bright_black"), problem.hint)
        if result.timeline and (self.timeline or not result.ok):
            say(("  timeline", "bright_black"))
            for line in result.timeline.splitlines():
                say(f"    {line}")
        if result.unused_stubs:
            say(("  stubs never asked: ", "bright_black"), ", ".join(result.unused_stubs))
        for file in result.updated:
            say(("  wrote ", "bright_black"), file)

    def write_junit(self, file: Path) -> None:
        from penstock.testing.scenario.junit import junit_xml

        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(junit_xml(self.results, self.unread), encoding="utf-8")
        except OSError as error:
            why = f"it cannot be written ({(error.strerror or str(error)).lower()})"
            raise BadInput(what=f"«{file}»", why=why) from error

    def finish(self, wall_s: float) -> int:
        failed = sum(not result.ok for result in self.results)
        if self.json:
            print_json({
                "ok": not failed and not self.unread,
                "scenarios": [_result_json(result) for result in self.results],
                "unread": [
                    {"file": str(file), "findings": [finding_json(each) for each in findings]}
                    for file, findings in self.unread
                ],
                "warnings": [{"file": str(file), **finding_json(finding)} for file, finding in self.warnings],
            })  # fmt: skip
        else:
            parts = [f"{len(self.results) - failed} as expected"]
            parts += [f"{failed} not"] if failed else []
            parts += [f"{len(self.unread)} files wrong"] if self.unread else []
            say((f"{', '.join(parts)} in {wall_s:.2f} s", "bright_black"))
        if not self.results and not self.unread:
            raise BadInput(what="--only", why=f"no scenario has «{self.only}» in its name")
        return WRONG if self.unread else FAILED if failed else DONE


def _result_json(result: ScenarioResult) -> dict[str, Any]:
    return {
        "file": str(result.file), "line": result.line, "name": result.name, "ok": result.ok,
        "problems": [msgspec.to_builtins(problem) for problem in result.problems], "timeline": result.timeline,
        "wall_ms": round(result.wall_s * 1000), "virtual_ms": result.virtual_ms,
        "unused_stubs": result.unused_stubs,
    }  # fmt: skip
