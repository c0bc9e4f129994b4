"""penstock: the command line. Every command, and what happens when one cannot do what it was asked."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import traceback
from typing import Annotated

import typer

from penstock.cli import demo, documents, keeping, looking, running, steering
from penstock.cli.speak import DONE, INTERRUPTED, WRONG, tell_error, tell_interrupted, tell_plainly
from penstock.errors import PenstockError

app = typer.Typer(
    name="penstock", add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Runs diagrams durably: what happened is written down before it goes on, in one SQLite file.",
)  # fmt: skip

COMMANDS = (
    demo.demo, documents.check, running.run, running.work, looking.ps, looking.show, looking.trace, looking.replay,
    running.fork, steering.signal, steering.respond, steering.cancel, steering.pause, steering.resume, steering.retry,
    documents.draw, keeping.verify, keeping.rebuild, keeping.bench, keeping.version,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)


@app.callback()
def every_command(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an unexpected error came from.")] = False,
) -> None:
    """Runs diagrams durably: what happened is written down before it goes on, in one SQLite file."""


def main(arguments: list[str] | None = None) -> None:
    given = list(sys.argv[1:] if arguments is None else arguments)
    code = _run(given)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.exit(code)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whoever read has gone: nothing is left to flush at the end
    sys.exit(code)


def _run(given: list[str]) -> int:
    json = "--json" in given
    debug = "--debug" in given or bool(os.environ.get("PENSTOCK_DEBUG"))
    try:
        result = app([one for one in given if one != "--debug"], prog_name="penstock", standalone_mode=False)
        return result if isinstance(result, int) else DONE
    except PenstockError as error:
        if debug:
            traceback.print_exc()
        tell_error(error, json=json)
        return WRONG
    except (KeyboardInterrupt, typer.Abort):
        tell_interrupted("Interrupted.", json=json)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return DONE
    except sqlite3.DatabaseError as error:
        hint = "Keep the file as it is and restore a copy; what was committed before the damage may still be read."
        tell_plainly("PS-503-STORE", f"The store cannot be read: {error}.", hint, json=json)
        return WRONG
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error, of whichever library typer is made with
            return _usage(error, json)
        if debug:
            traceback.print_exc()
        tell_plainly("PS-500", f"{type(error).__name__}: {error}; please report", "--debug shows where.", json=json)
        return WRONG


def _usage(error: Exception, json: bool) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "penstock"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return WRONG
    tell_plainly("PS-400-USAGE", message, f"{path} --help", json=json)
    return WRONG
