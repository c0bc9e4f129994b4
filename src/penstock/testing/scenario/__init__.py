"""Scenarios: given, when, then, after 2h; YAML for people who do not code, played in virtual time."""

from __future__ import annotations

from penstock.testing.scenario.form import Scenario, ScenarioFile
from penstock.testing.scenario.play import ScenarioResult, play
from penstock.testing.scenario.read import read_scenarios

__all__ = ["Scenario", "ScenarioFile", "ScenarioResult", "play", "read_scenarios"]
