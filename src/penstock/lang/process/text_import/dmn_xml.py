"""Writes decision tables as DMN 1.3 XML."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from penstock.lang.process.text_import.rule_tables import DecisionTable

_NAMESPACE = "https://www.omg.org/spec/DMN/20191111/MODEL/"


def write_dmn(tables: Sequence[DecisionTable], name: str) -> str:
    """One decision for each table; each input is an input data element, which several tables may need."""
    digest = hashlib.sha256("\n".join((name, *(table.name for table in tables))).encode(errors="replace")).hexdigest()[
        :12
    ]
    inputs = {column.name: column.type for table in tables for column in table.inputs}
    ids = {input: f"input{number}" for number, input in enumerate(inputs, 1)}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        (
            f'<definitions xmlns="{_NAMESPACE}" id="manual_{digest}" name={quoteattr(name or "manual")} '
            f'namespace="urn:penstock:manual:{digest}">'
        ),
    ]
    for input, type in inputs.items():
        lines += [f'  <inputData id="{ids[input]}" name={quoteattr(input)}>',
                  f'    <variable name={quoteattr(input)} typeRef="{type}"/>', "  </inputData>"]  # fmt: skip
    names: dict[str, int] = {}
    for table in tables:
        names[table.name] = count = names.get(table.name, 0) + 1
        lines += _decision(table, table.name if count == 1 else f"{table.name} {count}", ids)
    return "\n".join([*lines, "</definitions>", ""])


def _decision(table: DecisionTable, name: str, ids: dict[str, str]) -> list[str]:
    single = table.outputs[0].type if len(table.outputs) == 1 else ""
    typed = f' typeRef="{single}"' if single else ""
    lines = [f'  <decision id="{table.id}" name={quoteattr(name)}>', f"    <variable name={quoteattr(name)}{typed}/>"]
    for column in table.inputs:
        lines += ["    <informationRequirement>", f'      <requiredInput href="#{ids[column.name]}"/>',
                  "    </informationRequirement>"]  # fmt: skip
    lines.append(f'    <decisionTable id="{table.id}_table" hitPolicy="{table.hit_policy}">')
    for number, column in enumerate(table.inputs, 1):
        lines += [
            f'      <input id="{table.id}_in{number}" label={quoteattr(column.label)}>',
            f'        <inputExpression typeRef="{column.type}"><text>{escape(column.name)}</text></inputExpression>',
            "      </input>",
        ]
    for number, column in enumerate(table.outputs, 1):
        name_of_output = f" name={quoteattr(column.name)}" if len(table.outputs) > 1 else ""
        lines.append(
            f'      <output id="{table.id}_out{number}" label={quoteattr(column.label)}{name_of_output} '
            f'typeRef="{column.type}"/>'
        )
    for number, rule in enumerate(table.rules, 1):
        lines.append(f'      <rule id="{table.id}_rule{number}">')
        lines += [f"        <inputEntry><text>{escape(test)}</text></inputEntry>" for test in rule.tests]
        lines += [f"        <outputEntry><text>{escape(value)}</text></outputEntry>" for value in rule.values]
        lines.append("      </rule>")
    return [*lines, "    </decisionTable>", "  </decision>"]
