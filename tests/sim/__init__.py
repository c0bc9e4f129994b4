"""Deterministic simulation: the real host, kernel and store code under a seeded scheduler and faults."""
