"""How a change of a model, and a deviation from one, are told in English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


def change_words(shape: str, names: Sequence[str], cases: int, of: int) -> tuple[str, str]:
    """A title and a detail."""
    first = names[0] if names else ""
    second = names[1] if len(names) > 1 else ""
    listed = ", ".join(f"«{name}»" for name in names)
    if shape == "path_back":
        return f"Back to «{first}»", f"Added: a path back to «{first}» after «{second}»; a person says when."
    if shape == "optional":
        return f"«{first}» may be left out", f"Added: a path past «{first}»; a person says when."
    if shape == "beside":
        return f"«{first}» beside «{second}»", f"Changed: «{first}» and «{second}» are done side by side, and meet."
    if shape == "step_added":
        return f"New: {listed}", f"Added: {cases} of {of} cases have it, and the process did not."
    if shape == "step_removed":
        return f"Without {listed}", f"Removed: {cases} of {of} cases went there."
    title = f"Other ways around {listed}" if listed else "Other ways"
    return title, f"Changed: which way is taken around {listed or 'gateways'}."


class DeviationWords(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def activity(self) -> str: ...

    @property
    def before(self) -> str: ...

    @property
    def after(self) -> str: ...


def deviation_words(deviation: DeviationWords) -> str:
    """What cases did otherwise, in one line."""
    name, before, after = (f"«{text}»" for text in (deviation.activity, deviation.before, deviation.after))
    after = after if deviation.after else "the end"
    before = before if deviation.before else "the beginning"
    if deviation.kind == "skipped":
        return f"{name} was skipped between {before} and {after}"
    if deviation.kind == "repeated":
        again = deviation.before == deviation.activity
        return f"{name} was repeated" if again else f"went back to {name} after {before}"
    if deviation.kind == "unknown":
        return f"{name} after {before} is not in the process"
    if deviation.kind == "missing_end":
        return f"ended after {before}, before {name}"
    return f"{name} came before {after}" if deviation.after else f"{name} came after {before}, out of order"
