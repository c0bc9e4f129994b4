"""What a processor is: a function from the context of a stage to its output; it may have a way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

F = TypeVar("F")


class ProcessorError(Exception):
    """A stage that cannot be done, in the words of whoever defined it. `category` decides about retries: a stage is not
    tried again for validation and permanent. Any other exception is transient."""

    def __init__(self, code: str, message: str, category: str = "validation", detail: Any = None) -> None:
        self.code, self.category, self.detail = code, category, detail
        super().__init__(message)


def bad_file(why: str) -> ProcessorError:
    """The file is not what it says it is, or broken."""
    return ProcessorError("FILE_INVALID", why)


def beyond_limit(why: str) -> ProcessorError:
    """The file would unfold to more than anybody wants: pixels, pages, entries."""
    return ProcessorError("FILE_LIMIT", why)


class ProcessorContext(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of one stage. `file` is only read; what is made is written below `folder`."""

    tenant: str
    execution: str
    stage: str
    processor: str
    attempt: int = 1
    trace_id: str = ""
    bucket: str = ""
    key: str = ""
    mime: str = ""
    size: int = 0
    file: Path
    folder: Path
    config: dict[str, Any] = {}
    params: dict[str, Any] = {}
    input: Any = None  # what the stage before has answered
    result: Any = None  # rollback: what this stage has answered
    settings: dict[str, Any] = {}  # of the machine, those of `pipelines.`

    def new_file(self, ending: str) -> Path:
        """Where to write what this stage makes."""
        return self.folder / f"made.{ending.lstrip('.')}"

    def number(self, name: str, otherwise: int, least: int = 0, most: int | None = None) -> int:
        """A whole number of the configuration, else of the settings (`pipelines.NAME`)."""
        value = self.config.get(name)
        usual = self.settings.get(name, otherwise)
        if value is None:
            value = usual
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or value < least
            or (most is not None and value > most)
        ):
            upto = f" to {most}" if most is not None else " or more"
            raise ProcessorError("CONFIG_INVALID", f"«{name}» must be a whole number, {least}{upto}")
        return value

    def bound(self, name: str, otherwise: int) -> int:
        """A limit of the machine, which a configuration may lower and never raise."""
        most = self.settings.get(name)
        most = most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else otherwise
        return min(self.number(name, most, 1), most)

    def text(self, name: str, otherwise: str = "", choices: tuple[str, ...] = ()) -> str:
        value = self.config.get(name)
        if value is None:
            return otherwise
        if not isinstance(value, str) or choices and value not in choices:
            wanted = f"one of {', '.join(choices)}" if choices else "a text"
            raise ProcessorError("CONFIG_INVALID", f"«{name}» must be {wanted}")
        return value

    def flag(self, name: str, otherwise: bool = False) -> bool:
        value = self.config.get(name, otherwise)
        if not isinstance(value, bool):
            raise ProcessorError("CONFIG_INVALID", f"«{name}» must be true or false")
        return value


class Output(msgspec.Struct, kw_only=True):
    """What a stage has made: small JSON, a file or bytes, or both. What makes no file hands its input on."""

    output: Any = None
    file: Path | None = None
    data: bytes | None = None
    mime: str = ""
    extraction: dict[str, Any] | None = None  # extractionType, method, confidence 0 to 1 (F-5.1)
    warnings: list[str] = []
    usage: dict[str, int] = {}


Process = Callable[[ProcessorContext], "Output | Mapping[str, Any] | None"]


def missing_extra(processor: str, extra: str) -> ProcessorError:
    why = f"{processor} needs the extra «{extra}»: pip install 'penstock[{extra}]'."
    return ProcessorError("EXTRA_MISSING", why, "permanent", {"extra": extra})
