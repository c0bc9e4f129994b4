"""penstock: the command line. Every command, and what happens when one cannot do what it was asked."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import penstock
from penstock.cli.default_command import DefaultCommands, DefaultGroup
from penstock.cli.language import with_languages
from penstock.cli.options import SelectedTenant
from penstock.cli.output import DONE, INTERRUPTED, WRONG, print_error, print_interrupted, print_message
from penstock.errors import PenstockError
from penstock.languages import COMMANDS as LANGUAGE_COMMANDS
from penstock.languages import HOUSE, outside
from penstock.store.address import DEFAULT_TENANT

ABOUT = """Runs diagrams and decision workflows durably: what happened is written down before it goes on, in one store.

Start with `penstock demo`, or with `penstock run FILE`. Exit codes: 0 done, 2 the document or the call is wrong,
3 the run failed, 4 it waits for somebody."""

_OWN = {
    "demo": ("penstock.cli.demo", "See it work: a run is killed half-way, and goes on."),
    "dev": ("penstock.cli.serve", "Serve API and console on this machine, with a sample tenant."),
    "serve": ("penstock.cli.serve", "Serve API and console, and drive the store's runs."),
    "check": ("penstock.cli.documents", "Check a document: errors and warnings with their places."),
    "simulate": ("penstock.cli.simulate", "Try a document without side effects: dry run and forecast."),
    "test": ("penstock.cli.scenarios", "Play scenarios in virtual time: given, when, then, after 2h."),
    "feel": ("penstock.cli.feel", "Evaluate FEEL, the expression language of DMN."),
    "run": ("penstock.cli.run", "Run a document until it ends or waits."),
    "work": ("penstock.cli.run", "Drive all open runs, after a crash too."),
    "ps": ("penstock.cli.inspect_runs", "List the open runs, newest first."),
    "show": ("penstock.cli.inspect_runs", "Show how a run stands and what it waits for."),
    "trace": ("penstock.cli.inspect_runs", "List everything that happened in a run."),
    "replay": ("penstock.cli.inspect_runs", "Show a run as it was after any of its facts."),
    "fork": ("penstock.cli.run", "Start a new run from a moment of another one."),
    "signal": ("penstock.cli.run_commands", "Send a run a signal."),
    "respond": ("penstock.cli.run_commands", "Answer a node that waits for a person."),
    "inbox": ("penstock.cli.inbox", "List what waits for people."),
    "approve": ("penstock.cli.inbox", "Approve what waits, or give a review its verdict."),
    "reject": ("penstock.cli.inbox", "Reject what waits."),
    "jobs": ("penstock.cli.jobs", "Look at jobs of workers outside; take and answer them."),
    "outbox": ("penstock.cli.inbox", "List messages that were kept instead of sent."),
    "events": ("penstock.cli.events", "Send an event, and list those that came."),
    "releases": ("penstock.cli.releases", "Submit, approve and activate versions of workflows."),
    "deployments": ("penstock.cli.deployments", "List what is rolled out, or show how one of them goes."),
    "deploy": ("penstock.cli.deployments", "Roll out a version; pause, promote or take it back."),
    "schedules": ("penstock.cli.schedules", "List, pause and fire what starts by the clock."),
    "registry": ("penstock.cli.registry", "Look at and change what the tenant has registered."),
    "cancel": ("penstock.cli.run_commands", "End a run."),
    "pause": ("penstock.cli.run_commands", "Let a run start nothing new for now."),
    "resume": ("penstock.cli.run_commands", "Let a paused run go on."),
    "retry": ("penstock.cli.run_commands", "Try a failed run again where it failed."),
    "migrate": ("penstock.cli.migrate", "Move a run to another version of its document, or back."),
    "batch": ("penstock.cli.batch", "Do one thing to many runs, and see how far it is."),
    "compensate": ("penstock.cli.run_commands", "Undo what a run has done."),
    "draw": ("penstock.cli.documents", "Draw a document or a run: text, SVG or Mermaid."),
    "verify": ("penstock.cli.maintenance", "Check that a store is whole."),
    "doctor": ("penstock.cli.doctor", "Look whether everything is as it should be."),
    "keys": ("penstock.cli.keys", "API keys: list, make and revoke them."),
    "audit": ("penstock.cli.audit", "Who changed what: list it, and verify its chain."),
    "rebuild": ("penstock.cli.maintenance", "Make the tables for queries anew from the journal."),
    "bench": ("penstock.cli.maintenance", "Measure the engine on this machine."),
    "version": ("penstock.cli.version", "Say which Penstock this is."),
}
#: name → the module it is in, and what the list of commands says about it; those of installed languages come later
COMMANDS = with_languages(_OWN, HOUSE)
_HELP = {"help_option_names": ["-h", "--help"]}
_PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None}


class Commands(dict[str, Any]):
    """Their names are known at once; a command is imported when it is asked for, and packages that bring languages are
    looked for when one is asked for that the house does not have."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(COMMANDS))

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in every_command_there_is()

    def __getitem__(self, name: str) -> Any:
        command = super().get(name)
        if command is None:
            module, short = COMMANDS.get(name) or every_command_there_is()[name]
            function = getattr(import_module(module), name)
            if isinstance(function, dict):  # several commands under one name
                first = isinstance(function, DefaultCommands)
                cls = DefaultGroup if first else TyperGroup
                group = typer.Typer(
                    name=name, cls=cls, no_args_is_help=not first, help=short, context_settings=_HELP, **_PLAIN
                )
                for verb, handler in function.items():
                    group.command(verb, context_settings=_HELP)(handler)
            else:
                group = typer.Typer(**_PLAIN)
                group.command(name, short_help=short, context_settings=_HELP)(function)
            command = self[name] = typer.main.get_command(group)
        return command

    def get(self, name: str, default: Any = None) -> Any:
        return self.__getitem__(name) if name in self else default

    def items(self) -> Any:
        return self._pairs()

    def _pairs(self) -> Iterator[tuple[str, Any]]:
        return ((name, self[name]) for name in self)


@cache
def every_command_there_is() -> dict[str, tuple[str, str]]:
    """Also those that installed languages bring."""
    return with_languages(COMMANDS, outside(LANGUAGE_COMMANDS))


class Group(TyperGroup):
    """The list of commands is shown without importing them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": Commands()})

    def list_commands(self, ctx: Any) -> list[str]:
        return list(every_command_there_is())

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in every_command_there_is().items()])


app = typer.Typer(
    name="penstock", cls=Group, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
    rich_markup_mode=None, context_settings=_HELP, help=ABOUT,
)  # fmt: skip


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"penstock {penstock.__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def every_command(
    debug: Annotated[bool, typer.Option("--debug", help="Show where an unexpected error came from.")] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Say which Penstock this is.")
    ] = False,
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="NAME", envvar="PENSTOCK_TENANT", help="Whose runs and things.")
    ] = DEFAULT_TENANT,
) -> None:
    """Everything that is common to all commands; `main` looks for them itself, so that they may stand anywhere."""
    SelectedTenant.tenant = tenant


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
        result = app(_in_front(given), prog_name="penstock", standalone_mode=False)
        return result if isinstance(result, int) else DONE
    except PenstockError as error:
        if debug:
            traceback.print_exc()
        print_error(error, json=json)
        return WRONG
    except (KeyboardInterrupt, typer.Abort):
        print_interrupted("Interrupted.", json=json)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return DONE
    except sqlite3.DatabaseError as error:
        hint = "Keep the file as it is and restore a copy; what was committed before the damage may still be read."
        print_message("PS-503-STORE", f"The store cannot be read: {error}.", hint, json=json)
        return WRONG
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error, of whichever library typer is made with
            return _usage(error, json)
        if debug:
            traceback.print_exc()
        print_message("PS-500", f"{type(error).__name__}: {error}; please report", "--debug shows where.", json=json)
        return WRONG


def _in_front(given: list[str]) -> list[str]:
    """What is common to all commands stands before the command, wherever it was written."""
    rest, front = [word for word in given if word != "--debug"], list[str]()
    for i, word in enumerate(rest):
        if word == "--":
            break
        if word == "--tenant" or word.startswith("--tenant="):
            count = 2 if word == "--tenant" else 1
            front, rest = rest[i : i + count], rest[:i] + rest[i + count :]
            break
    return [*front, *rest]


def _usage(error: Exception, json: bool) -> int:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "penstock"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return WRONG
    print_message("PS-400-USAGE", message, f"{path} --help", json=json)
    return WRONG
