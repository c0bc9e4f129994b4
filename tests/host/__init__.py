"""Tests of the host: turns, effects, gate, outbox, blobs, children, timers, kills."""
