"""Where a diagram's files are looked for: beside it as written, in the folders for prompts, with the usual endings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.errors import PenstockError

Resolve = Callable[[str], bytes]
_PROMPT_FOLDERS = ("", "prompts/", "files/prompts/")
_PROMPT_ENDINGS = ("", ".txt", ".md")
_DIAGRAM_ENDINGS = ("", ".light.yaml", ".yaml", ".yml", ".readable.yaml", ".native.json", ".json")
_DIAGRAM_FOLDERS = ("", "files/diagrams/")
_CODE_ENDINGS = ("", ".py")


def prompt_names(path: str) -> Iterator[str]:
    return _names(path, _PROMPT_FOLDERS, _PROMPT_ENDINGS)


def diagram_names(path: str) -> Iterator[str]:
    return _names(path, _DIAGRAM_FOLDERS, _DIAGRAM_ENDINGS)


def code_names(path: str) -> Iterator[str]:
    return _names(path, ("",), _CODE_ENDINGS)


def _names(path: str, folders: tuple[str, ...], endings: tuple[str, ...]) -> Iterator[str]:
    """The path as written first; an ending is completed only where there is none that we know."""
    bare = path.startswith("/") or any(path.endswith(ending) for ending in endings if ending)
    for folder in folders:
        for ending in ("",) if bare else endings:
            yield f"{folder}{path}{ending}"


def first_found(names: Iterator[str], resolve: Resolve) -> tuple[str, bytes]:
    """The first file that is there, with its name. What is wrong with the path as written is raised when none is; a
    file that may not be read is none of them."""
    problem: Exception | None = None
    for name in names:
        try:
            return name, resolve(name)
        except (OSError, PenstockError) as error:
            problem = problem or error
            if not _is_missing(error):
                raise problem from None
    assert problem is not None, "there is always a name"
    raise problem


def _is_missing(error: Exception) -> bool:
    return isinstance(error if isinstance(error, OSError) else error.__cause__, FileNotFoundError | NotADirectoryError)
