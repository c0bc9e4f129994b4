"""Relations: rows of a table as a list of contexts (10.2.1.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.executors.parts.rules.dmn.boxed.contract import (
    Box,
    Compiler,
    Names,
    ReadBox,
    Run,
    Scope,
    Spot,
    Value,
    common,
)
from penstock.executors.parts.rules.dmn.xml import Element, children, own_children


@dataclass(frozen=True, slots=True)
class RelationBox(Box):
    columns: tuple[tuple[str, str], ...]  # (name, typeRef)
    rows: tuple[tuple[Box, ...], ...]


def read(element: Element, read_box: ReadBox) -> RelationBox:
    columns = tuple(
        ((column.get("name") or "").strip(), column.get("typeRef") or "") for column in children(element, "column")
    )
    rows = tuple(
        tuple(box for child in own_children(row) if (box := read_box(child)) is not None)
        for row in children(element, "row")
    )
    return RelationBox(**common(element), columns=columns, rows=rows)


def compile(box: RelationBox, compiler: Compiler, names: Names, spot: Spot) -> Value:
    coercions = [
        compiler.coerce(type_ref, spot.inner(f"column «{name}»", f"columns/{index}"))
        for index, (name, type_ref) in enumerate(box.columns)
    ]
    rows = []
    for number, row in enumerate(box.rows):
        if len(row) != len(box.columns):
            inner = spot.inner(f"row {number + 1}", f"rows/{number}", row[0].line if row else box.line)
            message = f"The row {number + 1} has {len(row)} cells, the relation {len(box.columns)} columns."
            compiler.error("table_width", message, inner, "Write one cell for every column.")
        cells = []
        for (name, _), coerce, cell in zip(box.columns, coercions, row, strict=False):
            inner = spot.inner(f"row {number + 1}, column «{name}»", f"rows/{number}", cell.line)
            cells.append((name, compiler.box(cell, names, inner), coerce))
        rows.append(cells)

    def evaluate(scope: Scope, run: Run) -> Any:
        run.step(len(rows))
        relation = []
        for cells in rows:
            record: dict[str, Any] = {}
            for name, cell, coerce in cells:
                value = cell(scope, run)
                record[name] = value if coerce is None else coerce(value, run)
            relation.append(record)
        return relation

    return evaluate
