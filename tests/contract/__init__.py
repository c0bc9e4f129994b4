"""Contract suites: what every store must hold."""
