"""What the command line says: JSON for programs, text for people, one clear message when something is wrong.

Exit codes: 0 done, 2 the document or the call is wrong, 3 the run failed, 4 it waits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import DocumentInvalid, ExprSyntaxError, Finding, PenstockError

if TYPE_CHECKING:  # imported where they are used: a command that prints JSON needs none of them
    from rich.console import Console
    from rich.text import Text

    from penstock.app.runs.run_view import RunView
    from penstock.net.draw.marks import Tone

DONE, WRONG, FAILED, WAITS = 0, 2, 3, 4
INTERRUPTED = 130

#: The colours of the drawings, in a terminal's words.
TONES: dict[Tone, str] = {
    "idle": "bright_black", "moving": "bold bright_blue", "held": "bold yellow", "failed": "bold red", "done": "green",
    "undone": "magenta",
}  # fmt: skip
_PLAIN_WIDTH = 200


def console(*, err: bool = False) -> Console:
    """Wide when nobody looks: a program or a file gets whole lines."""
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    seen = Console(stderr=err, highlight=False, markup=False, emoji=False)
    if seen.is_terminal:
        return seen
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
    """No control characters but line breaks: what a stranger wrote must not steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text.expandtabs(4))


def tell_json(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    sys.stdout.buffer.flush()


def moment(at: int) -> str:
    """A time, in the zone of whoever reads it."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


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


def waiting_json(one: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"node": "", "for": "", "prompt": None, "name": None, "due_at": None}
    return {**found, **msgspec.to_builtins(one)}


def tell_run(look: RunView, store: Path) -> None:
    """How a run stands, for people: its status, its result or what is missing, and what can be done now."""
    say(("run ", "bright_black"), look.run_id, "  ", status_text(look.status, look.paused))
    if look.failure is not None:
        node = look.failure.get("node")
        at = f" at «{node}»" if node else ""
        say(("  failure ", "bright_black"), (str(look.failure.get("code", "")), TONES["failed"]), at)
        say(f"    {look.failure.get('message', '')}")
    if look.internal_status == "COMPLETED":
        _tell_output(look.output)
    for one in look.waiting:
        _tell_waiting(look, one, store)
    if look.paused:
        say(("  go on with ", "bright_black"), f"penstock resume {look.run_id}{store_option(store)}")
    for name in dict.fromkeys(look.kept):
        say(("  keeps ", "bright_black"), f"the signal «{name}» until a node waits for it")
    for warning in look.warnings:
        say(("  warning ", "bright_black"), (str(warning["code"]), TONES["held"]), f"  {warning['node'] or ''}")


def tell_undriven(look: RunView, store: Path) -> None:
    """For a run that could go on by itself, in a store that no process drives."""
    goes_on = look.internal_status in ("CREATED", "PENDING", "RUNNING", "COMPENSATING") and not look.paused
    if goes_on or any(one.for_ == "time" for one in look.waiting):
        say(("  nobody drives it: ", TONES["held"]), f"go on with penstock work{store_option(store)}")


def _tell_output(output: Any) -> None:
    if isinstance(output, dict):
        for name, value in output.items():
            say(("  output ", "bright_black"), (f"{name} ", "bold"), short(value, 200))
    elif output is not None:
        say(("  output ", "bright_black"), short(output, 400))


def _tell_waiting(look: RunView, one: Any, store: Path) -> None:
    run, name = one.run or look.run_id, _quoted(one.node)
    what = {"person": "a person's answer", "operator": "an operator", "time": "a moment"}.get(one.for_, f"«{one.name}»")
    asked = one.prompt if isinstance(one.prompt, dict) and one.prompt.get("kind") in _DECIDED else None
    if asked is not None:
        what, shown = _DECIDED[asked["kind"]], str(asked.get("title") or "")
    elif isinstance(one.prompt, dict) and one.prompt.get("kind") == "work":
        what = "somebody to do it" if one.draft is None else "an approval"
        shown = str(one.prompt.get("title") or "")
    else:
        shown = short(one.prompt) if one.prompt else ""
    say(("  waits ", "bright_black"), (one.node, "bold"), f" for {what}" + (f": {shown}" if shown else ""))
    if one.draft is not None:
        say(("  draft ", "bright_black"), short(one.draft, 200))
        say(("  decide with ", "bright_black"), f"penstock approve {run}/{name}, or reject{store_option(store)}")
    elif asked is not None:
        given = "" if asked["kind"] == "approval" else " --decision VERDICT"
        say(("  decide with ", "bright_black"), f"penstock approve {run}/{name}{given}{store_option(store)}")
    elif one.for_ in ("person", "operator"):
        say(("  answer with ", "bright_black"), f"penstock respond {run} {name} ANSWER{store_option(store)}")
    elif one.for_ == "signal":
        say(("  send it with ", "bright_black"), f"penstock signal {run} {_quoted(one.name)} JSON{store_option(store)}")


#: Work that people decide in the inbox, and what it is called.
_DECIDED = {"approval": "an approval", "review": "a person's verdict"}


def store_option(store: Path) -> str:
    """What a command must be given again to find the same runs."""
    from penstock.app.defaults import DEFAULT_TENANT
    from penstock.cli.options import STORE, Whose

    whose = "" if Whose.tenant == DEFAULT_TENANT else f" --tenant {_quoted(Whose.tenant)}"
    return whose if store == STORE else f"{whose} --store {_quoted(str(store))}"


def _quoted(text: str) -> str:
    return text if text.replace("_", "").replace("-", "").replace("/", "").replace(".", "").isalnum() else f'"{text}"'


# ---- findings and errors ---------------------------------------------------------------------------------------------


def finding_json(one: Finding) -> dict[str, Any]:
    return {
        "rule": one.rule, "severity": one.severity, "where": str(one.where), "message": one.message, "hint": one.hint,
        "node": one.node or None, "pointer": one.where.pointer, "line": one.where.line or None,
        "column": one.where.column or None,
    }  # fmt: skip


def tell_finding(one: Finding, file: Path, *, err: bool = False) -> None:
    spot = f":{one.where.line}:{one.where.column}" if one.where.line else ""
    style = TONES["failed"] if one.severity == "error" else TONES["held"]
    pointer = f"  ({one.where.pointer})" if one.where.pointer else ""
    say((f"{file}{spot} ", "bold"), (one.severity, style), " ", (one.rule, "cyan"), (pointer, "bright_black"), err=err)
    say(f"  {one.message}", err=err)
    if one.hint:
        say(("  hint: ", "bright_black"), one.hint, err=err)


def _where(error: PenstockError) -> str:
    """The place in the document, and which document it is."""
    file = str(error.facts.get("file", ""))
    return error.where if file in error.where else f"{file} {error.where}".strip()


def _hint(error: PenstockError) -> str:
    """What can be done in this very case, or else what can be done in general."""
    return str(error.facts.get("hint") or error.hint)


def error_json(error: PenstockError) -> dict[str, Any]:
    told: dict[str, Any] = {"code": error.code, "message": str(error), "where": _where(error), "hint": _hint(error)}
    if isinstance(error, DocumentInvalid):
        told["findings"] = [finding_json(one) for one in error.findings]
    return {"error": told}


def tell_error(error: PenstockError, *, json: bool) -> None:
    """On stderr for people, on stdout as JSON for programs."""
    if json:
        tell_json(error_json(error))
        return
    if isinstance(error, DocumentInvalid):
        _tell_findings(error)
        return
    say(("error ", TONES["failed"]), (error.code, "cyan"), f"  {error}", err=True)
    where = _where(error)
    if where and where not in str(error):
        say(("  at: ", "bright_black"), where, err=True)
    if isinstance(error, ExprSyntaxError) and error.pointer():
        say(error.pointer(), err=True)
    if hint := _hint(error):
        say(("  hint: ", "bright_black"), hint, err=True)


def _tell_findings(error: DocumentInvalid) -> None:
    """Each one once, with its place and its hint; then only how many there are."""
    what = error.facts.get("what")  # a thing of the registry, which need not be a file
    file = Path(str(error.facts.get("file") or what or "document"))
    for one in error.findings:
        tell_finding(one, file, err=True)
    count = error.facts["count"]
    text = f"  {what or file} has {count} error{'' if count == 1 else 's'}."
    say(("error ", TONES["failed"]), (error.code, "cyan"), text, err=True)


def tell_interrupted(message: str, hint: str = "", *, json: bool) -> None:
    if json:
        tell_json({"error": {"code": "PS-130", "message": message, "where": "", "hint": hint}})
        return
    say((message, TONES["held"]), err=True)
    if hint:
        say(f"  {hint}", err=True)


def tell_plainly(code: str, message: str, hint: str, *, json: bool) -> None:
    """An error that is no PenstockError: a usage error, or a bug."""
    if json:
        tell_json({"error": {"code": code, "message": message, "where": "", "hint": hint}})
        return
    say(("error ", TONES["failed"]), (code, "cyan"), f"  {message}", err=True)
    if hint:
        say(("  hint: ", "bright_black"), hint, err=True)
