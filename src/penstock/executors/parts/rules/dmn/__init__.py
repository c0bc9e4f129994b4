"""DMN 1.1 to 1.5: files are read, their decisions compiled when they are needed, and evaluated with FEEL.

`read_model(content).evaluate("Decision", {"Input": 1}).value` is the use; `import_dmn` makes a rule pack of a file.
"""

from penstock.errors import DocumentUnreadable
from penstock.executors.parts.rules.dmn.engine import Answer, Model, read_model
from penstock.executors.parts.rules.dmn.pack_form import import_dmn
from penstock.executors.parts.rules.dmn.read import read_definitions
from penstock.executors.parts.rules.dmn.xml import MAX_BYTES

__all__ = [
    "MAX_BYTES",
    "Answer",
    "DocumentUnreadable",
    "Model",
    "import_dmn",
    "read_definitions",
    "read_model",
]
