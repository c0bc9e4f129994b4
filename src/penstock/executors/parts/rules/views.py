"""What a rule sees: the names of one judgment, over the whole data or for one row of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.errors import ExprTypeError
from penstock.expr.limits import Frame, Meter


class JudgmentNames(dict[str, Any]):
    """The names of one judgment over the whole data."""

    __slots__ = ("outer",)

    def __init__(self, names: dict[str, Any], outer: Mapping[str, Any]) -> None:
        super().__init__(names)
        self.outer = outer

    def __missing__(self, name: str) -> Any:
        if name == "secrets":
            raise KeyError(name)
        return self.outer[name]


class RowNames(Frame):
    """The names for one row: the pack's, then the row's fields, then what is around; a field it lacks is null."""

    __slots__ = ()

    def __init__(self, base: JudgmentNames, item: Any) -> None:
        if isinstance(item, dict):
            self.update(item)
        self.update(base)
        self["item"] = item
        self.outer = base

    @property
    def meter(self) -> Meter:  # type: ignore[override]
        """Every condition is an evaluation of its own, with steps of its own."""
        return Meter()

    def __missing__(self, name: str) -> Any:
        try:
            return self.outer[name]
        except KeyError:
            return None


class JudgedData:
    """The views of one judgment; rows are made when a rule first asks for them, and serve all rules."""

    __slots__ = ("_latest", "_rows", "_whole", "base", "data")

    def __init__(self, data: Any, base: JudgmentNames) -> None:
        self.data, self.base = data, base
        self._whole: list[dict[str, Any]] | None = None
        self._rows: list[dict[str, Any]] | None = None
        self._latest: dict[str, list[dict[str, Any]]] = {}

    def views(self, scope: str, latest_by: str) -> list[dict[str, Any]]:
        if scope == "each":
            if self._rows is None:
                rows = self.data if isinstance(self.data, list | tuple) else [self.data]
                self._rows = [RowNames(self.base, item) for item in rows]
            return self._rows
        if scope == "latest":
            if latest_by not in self._latest:
                self._latest[latest_by] = [RowNames(self.base, _last(self.data, latest_by))]
            return self._latest[latest_by]
        if self._whole is None:
            self._whole = [RowNames(self.base, self.data) if isinstance(self.data, dict) else self.base]
        return self._whole


def _last(data: Any, by: str) -> Any:
    if not isinstance(data, list | tuple):
        return data
    if not by:
        return data[-1]
    having = [row for row in data if isinstance(row, dict) and isinstance(row.get(by), int | float | str)]
    kinds = {isinstance(row[by], str) for row in having}
    if len(kinds) != 1:
        raise ExprTypeError(why=f"the rows have no field «{by}» by which one is the latest")
    best = having[0]
    for row in having[1:]:
        if row[by] >= best[by]:
            best = row
    return best
