"""Results of scenarios as JUnit XML, which every CI server reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from penstock.errors import Finding
from penstock.testing.scenario.play import ScenarioResult

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(results: Iterable[ScenarioResult], unread: Iterable[tuple[Path, list[Finding]]]) -> str:
    """A suite per file; a file that could not be read is an error of its suite."""
    suites: dict[Path, list[ScenarioResult]] = {}
    for result in results:
        suites.setdefault(result.file, []).append(result)
    parts = [_suite(file, cases) for file, cases in suites.items()]
    parts += [_unread(file, findings) for file, findings in unread]
    return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n' + "".join(parts) + "</testsuites>\n"


def _suite(file: Path, cases: list[ScenarioResult]) -> str:
    failures, wall = sum(not case.ok for case in cases), sum(case.wall_s for case in cases)
    head = f'name={_attribute(str(file))} tests="{len(cases)}" failures="{failures}" errors="0" time="{wall:.3f}"'
    return f"  <testsuite {head}>\n" + "".join(_case(file, case) for case in cases) + "  </testsuite>\n"


def _case(file: Path, case: ScenarioResult) -> str:
    head = f'classname={_attribute(str(file))} name={_attribute(case.name)} time="{case.wall_s:.3f}"'
    head += f' file={_attribute(str(file))} line="{case.line}"'
    if case.ok:
        return f"    <testcase {head}/>\n"
    first = case.problems[0].message.splitlines()[0]
    text = "\n".join(f"{file}:{each.where.line}: {each.message}" for each in case.problems)
    body = _text(f"{text}\n\n{case.timeline}")
    return f"    <testcase {head}>\n      <failure message={_attribute(first)}>{body}</failure>\n    </testcase>\n"


def _unread(file: Path, findings: list[Finding]) -> str:
    name = _attribute(str(file))
    body = _text("\n".join(f"{file}:{each.where.line}:{each.where.column}: {each.message}" for each in findings))
    case = f'    <testcase classname={name} name="read">\n      <error message="it cannot be read">{body}</error>\n'
    return f'  <testsuite name={name} tests="1" failures="0" errors="1">\n{case}    </testcase>\n  </testsuite>\n'


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))
