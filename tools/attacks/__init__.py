"""Attacks that the product has to stand: one module each, with `run(…) -> AttackResult`."""
