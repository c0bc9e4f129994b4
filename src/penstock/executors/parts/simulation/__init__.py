"""Simulating a change of rules, prompts or models: history, sampling, judging, metrics, tests of difference."""
