"""What commands print: JSON for programs, text for people, one clear message when something is wrong.

Exit codes: 0 done, 2 the document or the call is wrong, 3 the run failed, 4 it waits.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from penstock.errors import DocumentInvalid, ExprSyntaxError, Finding, PenstockError

if TYPE_CHECKING:  # imported where they are used: a command that prints JSON needs none of them
    from rich.console import Console
    from rich.text import Text

    from penstock.app.runs.run_view import RunView
    from penstock.net.draw.marks import Tone

T = TypeVar("T")
DONE, WRONG, FAILED, WAITS = 0, 2, 3, 4
INTERRUPTED = 130

#: The colours of the drawings, in a terminal's words.
TONES: dict[Tone, str] = {
    "idle": "bright_black", "moving": "bold bright_blue", "held": "bold yellow", "failed": "bold red", "done": "green",
    "undone": "magenta",
}  # fmt: skip
_PLAIN_WIDTH = 200


def console(*, err: bool = False) -> Console:
    """Wide when it is no terminal: a program or a file gets whole lines."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    terminal = Console(stderr=err, highlight=False, markup=False, emoji=False)
    if terminal.is_terminal:
        return terminal
    return Console(file=stream, highlight=False, markup=False, emoji=False, width=_PLAIN_WIDTH, soft_wrap=True)


def say(*parts: str | tuple[str, str] | Text, err: bool = False) -> None:
    """One line; a part is a text, or a text with its style."""
    from rich.text import Text

    console(err=err).print(Text.assemble(*(_part(part) for part in parts)))


def _part(part: str | tuple[str, str] | Text) -> tuple[str, str] | Text:
    if isinstance(part, tuple):
        return safe(part[0]), part[1]
    return (safe(part), "") if isinstance(part, str) else part


def safe(text: str) -> str:
    """No control characters but line breaks: text from outside must not steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text.expandtabs(4))


def print_json(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    sys.stdout.buffer.flush()


def print_one(item: T, json: bool, as_json: Callable[[T], Any], print_item: Callable[[T], None]) -> int:
    """Prints one thing that a command shows; the exit code."""
    if json:
        print_json(as_json(item))
    else:
        print_item(item)
    return DONE


def print_list(
    items: Iterable[T], json: bool, as_json: Callable[[T], Any], print_item: Callable[[T], None], *, empty: str = ""
) -> int:
    """Prints what a command lists; the exit code. `empty` is what people read where there is nothing."""
    listed = list(items)
    if json:
        print_json([as_json(item) for item in listed])
        return DONE
    if not listed and empty:
        say(empty)
    for item in listed:
        print_item(item)
    return DONE


def moment(at: int, *, seconds: bool = True) -> str:
    """A time, in the time zone of the machine."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime(f"%Y-%m-%d %H:%M{':%S' if seconds else ''}")


def short(value: Any, most: int = 100) -> str:
    """A value on one line."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def status_text(status: str, paused: bool = False) -> tuple[str, str]:
    """The same word as in JSON; that a run is paused stands beside it, as it does there."""
    from penstock.net.draw.marks import status_style as shown_as

    if paused:
        return f"{status}, paused", TONES["held"]
    return status, TONES[shown_as(status).tone]


# ---- a run -----------------------------------------------------------------------------------------------------------


def exit_code(look: RunView) -> int:
    from penstock.app.runs.queries import waits_for_outside

    if look.internal_status == "COMPLETED":
        return DONE
    if look.internal_status in ("FAILED", "CANCELLED", "COMPENSATED"):
        return FAILED
    return WAITS if waits_for_outside(look) else DONE


def run_json(look: RunView) -> dict[str, Any]:
    """What `run --json` prints. The first seven keys are promised; the others may grow."""
    failure = look.failure
    if failure is not None:
        failure = {"code": "", "category": "", "message": "", "node": None, **failure}
    return {
        "run_id": look.run_id,
        "language": look.language,
        "status": look.status,
        "output": look.output,
        "firings": [
            {
                "node": f.node, "status": f.status, "epoch": f.epoch, "iteration": f.iteration, "attempt": f.attempt,
                "started_at": f.started_at, "ended_at": f.ended_at, "scope": f.scope,
            }
            for f in look.firings
        ],
        "waiting": [waiting_json(w) for w in look.waiting],
        "failure": failure,
        "name": look.name,
        "nodes": look.nodes,
        "counters": look.counters,
        "branches": look.branches,
        "outputs": look.outputs,
        "warnings": look.warnings,
        "tokens": look.tokens,
        "variables": look.variables,
        "facts": look.facts,
        "paused": look.paused,
        "key": look.key,
        "kept_signals": look.kept,
        "parent": look.parent or None,
        "created_at": look.created_at,
        "updated_at": look.updated_at,
    }  # fmt: skip


def waiting_json(waiting: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"node": "", "for": "", "prompt": None, "name": None, "due_at": None}
    return {**empty, **msgspec.to_builtins(waiting)}


def print_run(look: RunView, store: Path) -> None:
    """The status of a run for people: its result or what it waits for, and what can be done now."""
    say(("run ", "bright_black"), look.run_id, "  ", status_text(look.status, look.paused))
    if look.failure is not None:
        node = look.failure.get("node")
        at = f" at «{node}»" if node else ""
        say(("  failure ", "bright_black"), (str(look.failure.get("code", "")), TONES["failed"]), at)
        say(f"    {look.failure.get('message', '')}")
    if look.internal_status == "COMPLETED":
        _print_output(look.output)
    for waiting in look.waiting:
        _print_waiting(look, waiting, store)
    if look.paused:
        say(("  go on with ", "bright_black"), f"penstock resume {look.run_id}{store_option(store)}")
    for name in dict.fromkeys(look.kept):
        say(("  keeps ", "bright_black"), f"the signal «{name}» until a node waits for it")
    for warning in look.warnings:
        say(("  warning ", "bright_black"), (str(warning["code"]), TONES["held"]), f"  {warning['node'] or ''}")


def print_undriven(look: RunView, store: Path) -> None:
    """For a run that could go on by itself, in a store that no process drives."""
    goes_on = look.internal_status in ("CREATED", "PENDING", "RUNNING", "COMPENSATING") and not look.paused
    if goes_on or any(waiting.for_ == "time" for waiting in look.waiting):
        say(("  nobody drives it: ", TONES["held"]), f"go on with penstock work{store_option(store)}")


def _print_output(output: Any) -> None:
    if isinstance(output, dict):
        for name, value in output.items():
            say(("  output ", "bright_black"), (f"{name} ", "bold"), short(value, 200))
    elif output is not None:
        say(("  output ", "bright_black"), short(output, 400))


_WAITED_FOR = {"person": "a person's answer", "operator": "an operator", "time": "a moment"}


def _print_waiting(look: RunView, waiting: Any, store: Path) -> None:
    run, name = waiting.run or look.run_id, _quoted(waiting.node)
    by_worker = waiting.for_ == "worker"
    what = f"a worker of «{waiting.name}»" if by_worker else _WAITED_FOR.get(waiting.for_, f"«{waiting.name}»")
    decision = waiting.prompt if isinstance(waiting.prompt, dict) and waiting.prompt.get("kind") in _DECIDED else None
    if decision is not None:
        what, title = _DECIDED[decision["kind"]], str(decision.get("title") or "")
    elif isinstance(waiting.prompt, dict) and waiting.prompt.get("kind") == "work":
        what = "somebody to do it" if waiting.draft is None else "an approval"
        title = str(waiting.prompt.get("title") or "")
    else:
        title = short(waiting.prompt) if waiting.prompt else ""
    say(("  waits ", "bright_black"), (waiting.node, "bold"), f" for {what}" + (f": {title}" if title else ""))
    if waiting.draft is not None:
        say(("  draft ", "bright_black"), short(waiting.draft, 200))
        say(("  decide with ", "bright_black"), f"penstock approve {run}/{name}, or reject{store_option(store)}")
    elif decision is not None:
        verdict = "" if decision["kind"] == "approval" else " --decision VERDICT"
        say(("  decide with ", "bright_black"), f"penstock approve {run}/{name}{verdict}{store_option(store)}")
    elif waiting.for_ in ("person", "operator"):
        say(("  answer with ", "bright_black"), f"penstock respond {run} {name} ANSWER{store_option(store)}")
    elif waiting.for_ == "signal":
        command = f"penstock signal {run} {_quoted(waiting.name)} JSON{store_option(store)}"
        say(("  send it with ", "bright_black"), command)


#: Work that people decide in the inbox, and what it is called.
_DECIDED = {"approval": "an approval", "review": "a person's verdict"}


def store_option(store: Path) -> str:
    """What a command must be given again to find the same runs."""
    from penstock.cli.options import STORE, SelectedTenant
    from penstock.store.address import DEFAULT_TENANT

    whose = "" if SelectedTenant.tenant == DEFAULT_TENANT else f" --tenant {_quoted(SelectedTenant.tenant)}"
    return whose if store == STORE else f"{whose} --store {_quoted(str(store))}"


def _quoted(text: str) -> str:
    return text if text.replace("_", "").replace("-", "").replace("/", "").replace(".", "").isalnum() else f'"{text}"'


# ---- findings and errors ---------------------------------------------------------------------------------------------


def finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule, "severity": finding.severity, "where": str(finding.where), "message": finding.message,
        "hint": finding.hint, "node": finding.node or None, "pointer": finding.where.pointer,
        "line": finding.where.line or None, "column": finding.where.column or None,
    }  # fmt: skip


def _korean() -> bool:
    """Do people here read Korean? LC_ALL goes before LC_MESSAGES, and that before LANG."""
    from penstock.errors.korean import is_korean

    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    return is_korean(next((os.environ[name] for name in names if os.environ.get(name)), None))


def _spoken(error: PenstockError) -> tuple[str, str]:
    """What an error says to people, and what to do about it."""
    if not _korean():
        return str(error), _hint(error)
    from penstock.errors.korean import error_text

    message, hint = error_text(error)
    return message, f"{hint} ({error.facts['hint']})" if error.facts.get("hint") else hint


def print_finding(finding: Finding, file: Path, *, err: bool = False) -> None:
    if _korean():
        from penstock.errors.korean import finding_text

        finding = finding_text(finding)
    spot = f":{finding.where.line}:{finding.where.column}" if finding.where.line else ""
    style = TONES["failed"] if finding.severity == "error" else TONES["held"]
    pointer = f"  ({finding.where.pointer})" if finding.where.pointer else ""
    place, severity, rule = (f"{file}{spot} ", "bold"), (finding.severity, style), (finding.rule, "cyan")
    say(place, severity, " ", rule, (pointer, "bright_black"), err=err)
    say(f"  {finding.message}", err=err)
    if finding.hint:
        say(("  hint: ", "bright_black"), finding.hint, err=err)


def _where(error: PenstockError) -> str:
    """The place in the document, and which document it is."""
    file = str(error.facts.get("file", ""))
    return error.where if file in error.where else f"{file} {error.where}".strip()


def _hint(error: PenstockError) -> str:
    """The hint of this error, else that of its class."""
    return str(error.facts.get("hint") or error.hint)


def error_json(error: PenstockError) -> dict[str, Any]:
    body: dict[str, Any] = {"code": error.code, "message": str(error), "where": _where(error), "hint": _hint(error)}
    if isinstance(error, DocumentInvalid):
        body["findings"] = [finding_json(finding) for finding in error.findings]
    return {"error": body}


def print_error(error: PenstockError, *, json: bool) -> None:
    """On stderr for people, on stdout as JSON for programs."""
    if json:
        print_json(error_json(error))
        return
    if isinstance(error, DocumentInvalid):
        _print_findings(error)
        return
    message, hint = _spoken(error)
    say(("error ", TONES["failed"]), (error.code, "cyan"), f"  {message}", err=True)
    where = _where(error)
    if where and where not in str(error):
        say(("  at: ", "bright_black"), where, err=True)
    if isinstance(error, ExprSyntaxError) and error.pointer():
        say(error.pointer(), err=True)
    if hint:
        say(("  hint: ", "bright_black"), hint, err=True)


def _print_findings(error: DocumentInvalid) -> None:
    """Each one once, with its place and its hint; then only how many there are."""
    what = error.facts.get("what")  # a thing of the registry, which need not be a file
    file = Path(str(error.facts.get("file") or what or "document"))
    for finding in error.findings:
        print_finding(finding, file, err=True)
    count = error.facts["count"]
    text = f"  {what or file} has {count} error{'' if count == 1 else 's'}."
    say(("error ", TONES["failed"]), (error.code, "cyan"), text, err=True)


def print_interrupted(message: str, hint: str = "", *, json: bool) -> None:
    if json:
        print_json({"error": {"code": "PS-130", "message": message, "where": "", "hint": hint}})
        return
    say((message, TONES["held"]), err=True)
    if hint:
        say(f"  {hint}", err=True)


def print_message(code: str, message: str, hint: str, *, json: bool) -> None:
    """Prints an error that is no PenstockError: a usage error, or a bug."""
    if json:
        print_json({"error": {"code": code, "message": message, "where": "", "hint": hint}})
        return
    say(("error ", TONES["failed"]), (code, "cyan"), f"  {message}", err=True)
    if hint:
        say(("  hint: ", "bright_black"), hint, err=True)
