"""The pipeline language: stages that process one file, in order and side by side (seed 003)."""

from __future__ import annotations

from penstock.lang.contract import Language
from penstock.lang.pipeline.definition import read, recognise
from penstock.lang.pipeline.lower import lower
from penstock.lang.pipeline.processors import PROCESSORS, ProcessorType

LANGUAGE = Language("pipeline", recognise, read, lower, sound=True)

__all__ = ["LANGUAGE", "PROCESSORS", "ProcessorType"]
