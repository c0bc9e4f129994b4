"""Real servers for tests: each starts on a free port of this machine and is gone with its fixture."""
