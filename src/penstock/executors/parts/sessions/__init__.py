"""Sessions: one attempt of an agent's program, under a supervisor process that outlives the engine (T-8.2, T-X.22)."""
