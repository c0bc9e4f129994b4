"""FEEL, the expression language of DMN, as far as decision tables and literal expressions are written in it."""

from penstock.executors.parts.rules.feel.reader import compile_test, compile_value
from penstock.executors.parts.rules.feel.refusal import NotSupported

__all__ = ["NotSupported", "compile_test", "compile_value"]
