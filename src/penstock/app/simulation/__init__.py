"""Simulation of whole documents: dry run and Monte Carlo in the kernel, in virtual time, without any side effect."""

from __future__ import annotations

from penstock.app.simulation.release_simulation import replay_release, simulate_release

__all__ = ["replay_release", "simulate_release"]
