"""Tests of DMN models: two forms of files, one way to run them."""

from penstock.executors.parts.rules.dmn.cases.contract import REFUSED, RIGHT, WRONG, Case, Outcome, run_case
from penstock.executors.parts.rules.dmn.cases.own_form import read_own_form
from penstock.executors.parts.rules.dmn.cases.suite_form import read_suite_form

__all__ = ["REFUSED", "RIGHT", "WRONG", "Case", "Outcome", "read_own_form", "read_suite_form", "run_case"]
