"""The shelf of processors: one line each; more by `@processor("Name")` and by the entry point `penstock.processors`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import msgspec

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Output", "ProcessorContext", "ProcessorError", "processor", "processor_names", "spec_of"]

ENTRY_POINTS = "penstock.processors"
T = TypeVar("T", bound=Callable[..., object])


class ProcessorSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Where a processor is found. One with `awaits` runs in the engine, since it only waits for others; all the rest
    run in a worker process. What those with `remote` wait for needs no core of this machine."""

    name: str
    module: str
    function: str = "run"
    file: str = ""  # of the module, where it cannot be imported by its name
    awaits: bool = False
    remote: bool = False
    rollback: bool = False  # it can take back what it did
    warm: tuple[str, ...] = ()  # what a worker has imported before it begins


_BELOW = "penstock.executors.processors."


def _line(name: str, module: str, *warm: str, awaits: bool = False, remote: bool = False) -> tuple[str, ProcessorSpec]:
    module = _BELOW + module
    return name, ProcessorSpec(name=name, module=module, warm=(module, *warm), awaits=awaits or remote, remote=remote)


_FORMATS = "Bmp Gif Jpeg Png Ppm Tiff WebP".split()
_PICTURES = ("PIL.Image", "PIL.ImageOps", *(f"PIL.{name}ImagePlugin" for name in _FORMATS))

BUILTIN: dict[str, ProcessorSpec] = dict(
    [
        _line("Archive", "archive"),
        _line("Checksum", "checksum"),
        _line("Command", "command"),
        _line("Copy", "copy_file"),
        _line("CsvToJson", "csv_to_json"),
        _line("HtmlToText", "html_to_text"),
        _line("HttpCall", "http_call", remote=True),
        _line("ImageConverter", "image_converter", *_PICTURES),
        _line("ImageResizer", "image_resizer", *_PICTURES),
        _line("ImageThumbnail", "image_thumbnail", *_PICTURES),
        _line("LlmExtractor", "llm_extractor", remote=True),
        _line("MetadataExtractor", "metadata_extractor", *_PICTURES),
        _line("OcrProcessor", "ocr_processor", *_PICTURES),
        _line("PdfPages", "pdf_pages", *_PICTURES),
        _line("Script", "script", awaits=True),
        _line("TextExtractor", "text_extractor"),
        _line("VirusScan", "virus_scan"),
    ]
)
_OWN: dict[str, ProcessorSpec] = {}


def processor(name: str) -> Callable[[T], T]:
    """Makes a function `(context)`, or a class with `process(context)` and perhaps `rollback(context)`, a processor.

    A worker imports it by its name, so it stands at the top of its module, and the module does nothing when imported.
    """

    def register(made: T) -> T:
        where = f"{made.__module__}.{made.__qualname__}"
        if "<locals>" in where or "." in made.__qualname__:
            raise ValueError(f"the processor «{name}» must stand at the top of its module: a worker imports it")
        known = BUILTIN.get(name) or _OWN.get(name)
        if known is not None and (known.module, known.function) != (made.__module__, made.__qualname__):
            raise ValueError(f"there is a processor «{name}» already: {known.module}.{known.function}")
        module = sys.modules.get(made.__module__)
        file = getattr(module, "__file__", None) or inspect.getfile(made)
        back = hasattr(made, "rollback")
        _OWN[name] = ProcessorSpec(
            name=name, module=made.__module__, function=made.__qualname__, file=file, rollback=back
        )
        return made

    return register


def spec_of(name: str) -> ProcessorSpec | None:
    if name in BUILTIN or name in _OWN:
        return BUILTIN.get(name) or _OWN[name]
    return _offered_spec(name)


def processor_names() -> list[str]:
    """Everything a definition may name."""
    return sorted({*BUILTIN, *_OWN, *(point.name for point in offered())})


@cache
def _offered_spec(name: str) -> ProcessorSpec | None:
    for point in offered():
        if point.name == name:
            back = hasattr(point.load(), "rollback")
            return ProcessorSpec(name=name, module=point.module, function=point.attr, rollback=back)
    return None


@cache
def offered() -> tuple[EntryPoint, ...]:
    """What installed packages offer, looked for once."""
    from importlib.metadata import entry_points

    return tuple(entry_points(group=ENTRY_POINTS))
