"""Commands about documents: check one, draw one, draw a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from penstock.app.access.missing_candidates import Held, held_by_rows, unheld
from penstock.app.drawing.render import Form, Subject, of_run, render
from penstock.app.registry.registry import known_to, rows_of
from penstock.app.releases.documents import check_source, compile_source
from penstock.app.releases.rehearsal import Level, judge_levels
from penstock.cli.net_text import drawing
from penstock.cli.open_store import reading
from penstock.cli.options import STORE, Document, Json, Root, SelectedTenant, Store
from penstock.cli.output import (
    DONE,
    TONES,
    WRONG,
    console,
    error_json,
    finding_json,
    print_finding,
    print_json,
    say,
)
from penstock.cli.settings import read_settings
from penstock.errors import BadInput, Finding, PenstockError, Place
from penstock.host.secrets import SecretPlaces
from penstock.lang.contract import Compiled
from penstock.lang.soundness import UNSOUND

if TYPE_CHECKING:  # imported by those who draw a chart: every other command is quick
    from penstock.app.drawing.charts import Chart

PictureTo = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE", help="With --sound: draw that way as SVG.")
]


def check(
    file: Document,
    sound: Annotated[bool, typer.Option("--sound", help="Can every run end? If not: the way that shows it.")] = False,
    picture_to: PictureTo = None,
    root: Root = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Say whether a document can be run: every error and warning, with its place and what to do about it."""
    try:
        language, findings = check_source(
            file, registered=_registered(store), sound=sound, settings=read_settings(store), root=root
        )
    except PenstockError as error:
        if not json:
            raise
        finding = Finding(error.code, "error", str(error), Place(), error.hint)
        print_json({"ok": False, "language": None, "findings": [finding_json(finding)], **error_json(error)})
        return WRONG
    errors = [finding for finding in findings if finding.severity == "error"]
    if all(error.rule == UNSOUND for error in errors):
        findings += unheld(compile_named(file, unsound=True, root=root)[0].net, _held(store))
    judge_soundness = sound and all(error.rule == UNSOUND for error in errors)
    levels = judge_levels(compile_named(file, unsound=True, root=root)[0].net) if judge_soundness else []
    if picture_to is not None and levels:
        _write(picture_to, render(levels[0].subject, "svg"))
    if json:
        findings_json = [finding_json(finding) for finding in findings]
        soundness = {"soundness": [level.told() for level in levels]} if judge_soundness else {}
        print_json({"ok": not errors, "language": language, "findings": findings_json, **soundness})
        return WRONG if errors else DONE
    for finding in findings:
        print_finding(finding, file, err=bool(errors))
    for level in levels:
        _print_way(level, err=bool(errors))
    if errors:
        say((f"{file}: ", "bold"), (_count(len(errors), "error"), TONES["failed"]), err=True)
        return WRONG
    counted = [(sum(finding.severity == severity for finding in findings), word) for severity, word in _SEVERITIES]
    more = "".join(f", {_count(number, word)}" for number, word in counted if number)
    more += ", sound" if judge_soundness and not levels else ""
    say((f"{file}: ", "bold"), ("ok", TONES["done"]), f" ({language}{more})")
    return DONE


def _print_way(level: Level, *, err: bool) -> None:
    """The way that shows it, and what became of it when the kernel went it."""
    if not level.found.trace:
        return
    say(("the way that shows it:", "bold"), err=err)
    for number, line in enumerate(level.way, 1):
        say(f"  {number}. {line}", err=err)
    if level.rehearsed is not None:
        say(f"  rehearsed: {level.rehearsed.ending()}", err=err)


_SEVERITIES = (("warning", "warning"), ("info", "remark"))


def _registered(store: Path) -> Callable[[str, str], bool]:
    """What the store's tenant has; where there is no store yet, what a new one is born with. A secret may also lie in
    the environment or in the settings."""
    places = SecretPlaces(read_settings(store)["secrets"])
    if store.exists():
        with reading(store) as door:
            held = known_to(door.store, SelectedTenant.tenant)
    else:
        held = known_to(None, SelectedTenant.tenant)

    def registered(kind: str, name: str) -> bool:
        return held(kind, name) or kind == "secret" and places.find(name, None) is not None

    return registered


def _held(store: Path) -> Held:
    """Whom the store's tenant can give work to; where there is no store yet, whom a new one is born with."""
    if not store.exists():
        return held_by_rows(rows_of(None, SelectedTenant.tenant))
    with reading(store) as door:
        return held_by_rows(rows_of(door.store, SelectedTenant.tenant))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def compile_named(
    file: Path, *, unsound: bool = False, store: Path | None = None, root: Path | None = None
) -> tuple[Compiled, bytes]:
    """Compile a document, for a store with its settings; its errors know the file's name."""
    settings = read_settings(store) if store is not None else None
    try:
        return compile_source(file, unsound=unsound, settings=settings, root=root)
    except PenstockError as error:
        error.facts["file"] = file
        raise


def draw(
    what: Annotated[str, typer.Argument(metavar="FILE|RUN", help="A document, or a run: then with its tokens.")],
    as_svg: Annotated[bool, typer.Option("--svg", help="An SVG picture.")] = False,
    as_mermaid: Annotated[bool, typer.Option("--mermaid", help="Mermaid text, for a README or a wiki.")] = False,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there instead of to the screen.")
    ] = None,
    theme: Annotated[Literal["light", "dark"], typer.Option("--theme", help="The colours of the SVG.")] = "light",
    chart: Annotated[
        str, typer.Option("--chart", metavar="NAME", help="The chart that a node or a variable of a run has.")
    ] = "",
    as_png: Annotated[bool, typer.Option("--png", help="Of a chart: a PNG picture, with --output.")] = False,
    root: Root = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Draw a document, a run with its tokens, or a chart in its results: for the terminal, as SVG or as Mermaid."""
    if as_svg and as_mermaid:
        raise BadInput(what="the form", why="--svg and --mermaid exclude each other")
    drawn_chart = _chart(what, chart, store)
    if drawn_chart is not None:
        return _draw_chart(drawn_chart, as_png, out, json)
    if as_png:
        raise BadInput(what="the form", why="--png is for charts", hint="Name the chart: --chart NAME.")
    subject = _subject(what, store, root)
    form: Form = "svg" if as_svg else "mermaid" if as_mermaid else "text"
    if form == "text" and out is None and not json:
        console().print(drawing(subject.net, subject.marks))
        return DONE
    drawn = render(subject, form, theme)
    if out is not None:
        _write(out, drawn)
    if json:
        print_json({"form": form, "file": str(out) if out is not None else None, "picture": drawn})
    elif out is not None:
        say("wrote ", (str(out), "bold"))
    else:
        print(drawn.rstrip("\n"))
    return DONE


def _chart(what: str, name: str, store: Path) -> Chart | None:
    """The chart that is asked for: of a run by its name, or a file that holds nothing else."""
    from penstock.app.drawing.charts import chart_file, chart_of

    if Path(what).exists():
        return chart_file(Path(what))
    if not name:
        return None
    with reading(store) as door:
        return chart_of(door, what, name)


def _draw_chart(chart: Chart, as_png: bool, out: Path | None, json: bool) -> int:
    from penstock.app.drawing.charts import png_of, svg_of

    if as_png:
        if out is None:
            raise BadInput(what="the picture", why="PNG is not for the screen", hint="Write -o chart.png.")
        _write(out, png_of(chart))
    picture = "" if as_png else svg_of(chart)
    if out is not None and not as_png:
        _write(out, picture)
    if json:
        form = "png" if as_png else "svg"
        print_json({"form": form, "file": str(out) if out is not None else None, "picture": picture or None})
    elif out is not None:
        say("wrote ", (str(out), "bold"))
    else:
        print(picture.rstrip("\n"))
    return DONE


def _subject(what: str, store: Path, root: Path | None) -> Subject:
    if Path(what).exists() or not what.isalnum():
        net = compile_named(Path(what), root=root)[0].net
        return Subject(net, None, net.name)
    with reading(store) as door:
        return of_run(door, what)


def _write(file: Path, picture: str | bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture.encode() if isinstance(picture, str) else picture)
    except OSError as error:
        why = f"it cannot be written ({(error.strerror or str(error)).lower()})"
        raise BadInput(what=f"«{file}»", why=why) from error
