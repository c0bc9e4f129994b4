"""Live conformance: completed instances held against their versions, beside the engine."""
