"""Command: a program of this machine that the operator has allowed. Off unless the settings name it."""

from __future__ import annotations

import shutil

from penstock.executors.processors.contract import Output, ProcessorContext, ProcessorError
from penstock.executors.processors.file_kinds import ending_of
from penstock.executors.processors.programs import find_program, run_program

_PRINTED_MAX = 64 * 1024 * 1024


def run(context: ProcessorContext) -> Output:
    """config: command, a list: the program and its arguments, in which {input} and {output} stand for files; mime of
    what it makes. Without {output} what it prints is the output. The setting `pipelines.commands` lists the programs
    that may be started. There is no shell."""
    allowed = context.settings.get("commands")
    allowed = [allowed] if isinstance(allowed, str) else allowed if isinstance(allowed, list) else []
    if not allowed:
        why = 'Command is off; the operator may list programs: commands = ["name"] under [pipelines]'
        raise ProcessorError("PROCESSOR_DISABLED", why, "authorization")
    line = context.config.get("command")
    if not isinstance(line, list) or not line or any(not isinstance(word, str) or "\0" in word for word in line):
        raise ProcessorError("CONFIG_INVALID", "«command» must be a list of texts: the program and its arguments")
    if line[0] not in allowed:
        raise ProcessorError(
            "PROCESSOR_DISABLED", f"«{line[0][:100]}» is not listed in pipelines.commands", "authorization"
        )
    program = find_program(context.processor, line[0], "install it, or take it from the list")
    mime = context.text("mime", "text/plain")
    made = context.new_file(ending_of(mime))
    given = context.folder / f"given.{ending_of(context.mime, context.key)}"
    shutil.copyfile(context.file, given)  # a program gets a name of ours, and a file that it may spoil
    names = {"{input}": str(given), "{output}": str(made)}
    words = [str(names.get(word, word)) for word in line[1:]]
    printed = run_program([program, *words], _PRINTED_MAX)
    if "{output}" not in line:
        made.write_bytes(printed)
    elif not made.is_file():
        raise ProcessorError("PROGRAM_FAILED", "the program has made no {output}", "external")
    return Output(output={"size": made.stat().st_size}, file=made, mime=mime)
