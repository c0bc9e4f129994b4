"""Rollouts of artifacts: what is asked for, its stages, what is measured, and what is decided by it. Pure."""
