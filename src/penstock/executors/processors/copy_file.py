"""Copy: the file as it is becomes the stage's output."""

from __future__ import annotations

import shutil

from penstock.executors.processors.contract import Output, ProcessorContext
from penstock.executors.processors.file_kinds import ending_of


def run(context: ProcessorContext) -> Output:
    made = context.new_file(ending_of(context.mime, context.key))
    shutil.copyfile(context.file, made)
    return Output(output={"size": made.stat().st_size}, file=made, mime=context.mime)
